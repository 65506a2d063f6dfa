// build_rows, expand_rows, compact and padded_offsets on CUDA: one scan of CUB over the tokens, two launches. Compiles under nvcc alone.
#pragma once

#include <seqpar/detail/cuda_exec.hpp>
#include <seqpar/index/expand_rows.hpp>
#include <seqpar/index/padding.hpp>

#include <thrust/detail/temporary_array.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/tabulate_output_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>
#include <cuda/cmath>
#include <cuda/functional>

namespace seqpar {

namespace detail {

namespace cub = CUB_NS_QUALIFIER;  // a project may wrap it into a namespace of its own

template <class D>
inline constexpr bool has_allocator = false;
template <class A, template <class> class Base>
inline constexpr bool has_allocator<thrust::detail::execute_with_allocator<A, Base>> = true;
template <class D>
inline constexpr bool has_allocator<Reporting<D>> = has_allocator<D>;

// Uninitialised bytes from the exec's allocator, until the end of the scope.
template <CudaExec D>
class Scratch {
    static_assert(has_allocator<D>,
                  "this operation needs scratch: give the execution policy an allocator, as "
                  "thrust::cuda::par_nosync(allocator).on(stream), seqpar::ScratchSpan for one");
    using Exec = std::remove_cvref_t<decltype(thrust_exec(std::declval<const D&>()))>;

public:
    Scratch(const D& exec, std::size_t bytes) : exec_(thrust_exec(exec)), memory_(exec_, bytes) {}
    void* data() { return thrust::raw_pointer_cast(memory_.data()); }

private:
    Exec exec_;
    thrust::detail::temporary_array<std::uint8_t, Exec> memory_;
};

// Nothing that comes before a scan.
struct NoLaunch {
    void operator()() const {}
};

// Exclusive sums of count(i) over [0, total), given to write(i, sum). Two launches. `before`() launches what has to come before them:
// scratch is taken first, so that where it is too small nothing has begun.
template <CudaExec D, class Count, class Write, class Sum, class Before = NoLaunch>
void scan_tokens(const D& exec, std::int64_t total, const Count& count, const Write& write, const Sum& first,
                 const char* operation, const Before& before = {}) {
    if (total == 0) {
        before();
        return finish(exec, operation);
    }
    const auto in = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), count);
    const auto out = thrust::make_tabulate_output_iterator(write);
    std::size_t bytes = 0;
    throw_if_cuda_failed(
        cub::DeviceScan::ExclusiveScan(nullptr, bytes, in, out, cuda::std::plus<>{}, first, total, stream_of(exec)),
        operation);
    Scratch<D> scratch(exec, bytes);
    before();
    throw_if_cuda_failed(cub::DeviceScan::ExclusiveScan(scratch.data(), bytes, in, out, cuda::std::plus<>{}, first,
                                                        total, stream_of(exec)),
                         operation);
    finish(exec, operation);
}

// Placeholders of each bank so far.
template <std::size_t Banks>
struct BankCounts {
    std::int64_t bank[Banks] = {};

    friend SEQPAR_HD BankCounts operator+(const BankCounts& a, const BankCounts& b) {
        BankCounts sum;
        for (std::size_t k = 0; k < Banks; ++k)
            sum.bank[k] = a.bank[k] + b.bank[k];
        return sum;
    }
};

template <std::size_t Banks, class Job>
struct CountToken {
    Job job;
    SEQPAR_HD BankCounts<Banks> operator()(std::int64_t i) const {
        BankCounts<Banks> counts;
        const int bank = job.bank_at(i);
        for (std::size_t k = 0; k < Banks; ++k)
            counts.bank[k] = static_cast<int>(k) == bank ? 1 : 0;
        return counts;
    }
};

template <std::size_t Banks, class Job>
struct WriteRow {
    Job job;
    Line<std::int64_t> counts;  // null: not wanted
    BankCounts<Banks> first;
    int banks;
    std::int64_t total;
    Status* status;

    SEQPAR_HD void operator()(std::int64_t i, const BankCounts<Banks>& next) const {
        if (status != nullptr) check_layouts(job, status, i, total);
        const std::int64_t sample = i / job.length();
        const std::int64_t token = i - sample * job.length();
        const int bank = job.bank_at(i);
        std::int64_t row = -1;
        for (std::size_t k = 0; k < Banks; ++k)
            row = static_cast<int>(k) == bank ? next.bank[k] : row;
        constexpr std::int64_t most = INT32_MAX;
        if (row > most) {
            report(status, make_status(Kind::value_lost, bank, i, most, row));
            row = -1;
        }
        entry(job.rows, sample, token) = static_cast<std::int32_t>(row);
        if constexpr (Job::with_banks) entry(job.banks, sample, token) = bank;
        if (counts.data != nullptr && i == total - 1) {
            for (int k = 0; k < static_cast<int>(Banks); ++k) {
                if (k < banks) counts[k] = next.bank[k] - first.bank[k] + (k == bank ? 1 : 0);
            }
        }
    }
};

// As WriteRow, for expand_rows and expanded_offsets: a thread writes all that its token leads to.
template <std::size_t Banks, class Job>
struct WriteExpanded {
    Job job;
    int banks;
    std::int64_t total;
    Status* status;

    SEQPAR_HD void operator()(std::int64_t i, const BankCounts<Banks>& before) const {
        NextRows next;
        for (std::size_t k = 0; k < Banks; ++k)
            next.bank[k] = before.bank[k];
        job.write(i, i + 1, next);
        if (status == nullptr) return;
        check_layouts(job.expansion().tokens, status, i, total);
        if constexpr (requires { job.offset_count(); }) {
            for (std::int64_t k = i; k < job.offset_count(); k += total)
                report(status, job.check_offset(k));
        }
        for (int b = 0; b < banks; ++b) {
            const Offsets<std::int64_t>& items = job.expansion().items[b];
            for (std::int64_t k = i; k < items.count(); k += total)
                report(status, check_offset(items, items.last(), k, b));
        }
        if (i == total - 1) report(status, job.check_all(next, banks));
    }
};

template <std::size_t Banks, CudaExec D, class Job>
    requires requires(const Job& job) { job.expansion(); }
void scan_rows_of(const D& exec, const Job& job, const PlaceholderRules& rules, const Line<std::int64_t>&) {
    using Tokens = std::remove_cvref_t<decltype(job.expansion().tokens)>;
    scan_tokens(exec, job.total(), CountToken<Banks, Tokens>{job.expansion().tokens},
                WriteExpanded<Banks, Job>{job, rules.banks(), job.total(), sink_of(exec)}, BankCounts<Banks>{},
                Job::operation);
}

template <std::size_t Banks, CudaExec D, class Job>
void scan_rows_of(const D& exec, const Job& job, const PlaceholderRules& rules, const Line<std::int64_t>& counts) {
    BankCounts<Banks> first;
    for (int bank = 0; bank < rules.banks(); ++bank)
        first.bank[bank] = rules.first_row(bank);
    scan_tokens(exec, job.total(), CountToken<Banks, Job>{job},
                WriteRow<Banks, Job>{job, counts, first, rules.banks(), job.total(), sink_of(exec)}, first,
                "seqpar::build_rows");
}

template <CudaExec D, class Job, class Counts>
void run_rows(Dispatch, const D& exec, const Job& job, const PlaceholderRules& rules, Counts& counts) {
    Line<std::int64_t> to;
    if constexpr (!is_no_array<Counts>) {
        to = line(counts);
        if (job.total() == 0) {
            for (int bank = 0; bank < rules.banks(); ++bank)
                throw_if_cuda_failed(cudaMemsetAsync(&to[bank], 0, sizeof(std::int64_t), stream_of(exec)),
                                     "seqpar::build_rows");
        }
    }
    if (rules.banks() <= 1) {
        scan_rows_of<1>(exec, job, rules, to);
    } else {
        scan_rows_of<max_banks>(exec, job, rules, to);
    }
}

// Entry i of padded_offsets: what the documents before it are padded to.
template <OffsetInteger Int>
struct PaddedLength {
    Offsets<Int> from;
    std::int64_t multiple;
    SEQPAR_HD std::int64_t operator()(std::int64_t i) const {
        return i < from.documents() ? round_up(from[i + 1] - from[i], multiple) : 0;
    }
};
template <OffsetInteger Int, class T>
struct WritePadded {
    Offsets<Int> from;
    Line<T> out;
    Status* status;
    SEQPAR_HD void operator()(std::int64_t i, std::int64_t before) const {
        out[i] = static_cast<T>(before);
        if (status == nullptr) return;
        report(status, check_offset(from, from.last(), i));
        constexpr std::int64_t most = greatest_of<T>;
        if (before > most) report(status, make_status(Kind::value_lost, 0, i - 1, most, before));
    }
};
template <CudaExec D, OffsetInteger Int, class T>
void pad_documents(Dispatch, const D& exec, Offsets<Int> from, std::int64_t multiple, const Line<T>& to) {
    scan_tokens(exec, from.count(), PaddedLength<Int>{from, multiple}, WritePadded<Int, T>{from, to, sink_of(exec)},
                std::int64_t{0}, "seqpar::padded_offsets");
}

}  // namespace detail

}  // namespace seqpar
