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

// Exclusive sums of count(i) over [0, total), given to write(i, sum). Two launches.
template <CudaExec D, class Count, class Write, class Sum>
void scan_tokens(const D& exec, std::int64_t total, const Count& count, const Write& write, const Sum& first,
                 const char* operation) {
    if (total == 0) return;
    const auto in = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), count);
    const auto out = thrust::make_tabulate_output_iterator(write);
    std::size_t bytes = 0;
    throw_if_cuda_failed(
        cub::DeviceScan::ExclusiveScan(nullptr, bytes, in, out, cuda::std::plus<>{}, first, total, stream_of(exec)),
        operation);
    Scratch<D> scratch(exec, bytes);
    throw_if_cuda_failed(cub::DeviceScan::ExclusiveScan(scratch.data(), bytes, in, out, cuda::std::plus<>{}, first,
                                                        total, stream_of(exec)),
                         operation);
    finish_launch(exec, operation);
}

// An upper bound of what CUB's scan asks for: the state of each tile, of two sums and a flag, and what rounds it up. A tile is
// at least 128 sums.
constexpr std::int64_t scan_scratch_bytes(std::int64_t total, std::int64_t sum_bytes) {
    const std::int64_t tiles = cuda::ceil_div(total, std::int64_t{128}) + 32;
    return tiles * (2 * sum_bytes + 16) + 4 * 256;
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

// As WriteRow, for expand_rows: a thread writes all rows of its item.
template <std::size_t Banks, class Job>
struct WriteItem {
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
        for (int b = 0; b < banks; ++b) {
            const Offsets<std::int64_t>& items = job.items[b];
            for (std::int64_t k = i; k < items.count(); k += total)
                report(status, check_offset(items, items.last(), k, b));
        }
        if (i < total - 1) return;
        for (int b = 0; b < banks; ++b) {
            report(status, job.check_count(next, b));
            report(status, job.check_last_row(next, b));
        }
        const std::int64_t length = job.place(total, next);
        if (length != job.length) report(status, make_status(Kind::extent, 1, 0, length, job.length));
    }
};

template <std::size_t Banks, CudaExec D, class V, class M>
void scan_rows_of(const D& exec, const ExpandJob<V, M>& job, const PlaceholderRules& rules, const Line<std::int64_t>&) {
    using Tokens = std::remove_cvref_t<decltype(job.tokens)>;
    scan_tokens(exec, job.total(), CountToken<Banks, Tokens>{job.tokens},
                WriteItem<Banks, ExpandJob<V, M>>{job, rules.banks(), job.total(), sink_of(exec)}, BankCounts<Banks>{},
                "seqpar::expand_rows");
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

// The most scratch that build_rows and expand_rows take from a CUDA exec's allocator for `tokens` tokens under rules of `banks` banks.
[[nodiscard]] constexpr std::int64_t build_rows_scratch_bytes(std::int64_t tokens, int banks) {
    return detail::scan_scratch_bytes(tokens, (banks <= 1 ? 1 : detail::max_banks) * 8);
}

// The same of padded_offsets for `documents` documents.
[[nodiscard]] constexpr std::int64_t padded_offsets_scratch_bytes(std::int64_t documents) {
    return detail::scan_scratch_bytes(documents + 1, 8);
}

// An allocator over memory that the caller has, for the scratch of CUDA execs: thrust::cuda::par_nosync(scratch).on(stream).
// An operation takes from its beginning and gives back when its launches are made: operations on one stream may share it.
class ScratchSpan {
public:
    using value_type = char;

    // `bytes` bytes of device memory at `data`, aligned to 256.
    ScratchSpan(void* data, std::int64_t bytes) : data_(static_cast<char*>(data)), bytes_(bytes) {}

    // Error where there is not enough left.
    char* allocate(std::ptrdiff_t bytes) {
        const std::int64_t rounded = cuda::round_up(std::int64_t{bytes}, std::int64_t{256});
        throw_if_bad(rounded > bytes_ - used_ ? make_status(Kind::scratch, 0, 0, rounded, bytes_ - used_) : Status{});
        used_ += rounded;
        return data_ + (used_ - rounded);
    }
    void deallocate(char* block, std::size_t) {
        const std::int64_t at = block - data_;
        used_ = at < used_ ? at : used_;  // the last that was given is the first given back
    }
    [[nodiscard]] std::int64_t used() const { return used_; }

private:
    char* data_;
    std::int64_t bytes_;
    std::int64_t used_ = 0;
};

}  // namespace seqpar
