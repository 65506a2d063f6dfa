// What needs scratch on CUDA: the compact form of a row array (one scan), and gradients of bank rows that several tokens refer to
// (one stable sort by row, so that sums run in slot order). Compiles under nvcc alone.
#pragma once

#include <seqpar/index/detail/cuda_scan.hpp>
#include <seqpar/move/detail/cuda_gather.hpp>

#include <cub/device/device_radix_sort.cuh>

namespace seqpar {

namespace detail {

template <class Job>
struct CountKept {
    Job job;
    SEQPAR_HD std::int64_t operator()(std::int64_t token) const {
        const TokenIndex index = token_index(job.tokens.rows, token);
        return job.keeps(job.tokens.rows.number(index), job.tokens.banks.number(index)) ? 1 : 0;
    }
};

template <class Job>
struct WriteKept {
    Job job;
    Line<std::int64_t> count;  // null: not wanted
    std::int64_t capacity;
    std::int64_t total;
    Status* status;

    SEQPAR_HD void operator()(std::int64_t token, std::int64_t before) const {
        if (status != nullptr) check_layouts(job.tokens, status, token, total);
        const TokenIndex index = token_index(job.tokens.rows, token);
        const std::int32_t row = job.tokens.rows.number(index);
        const std::int32_t bank = job.tokens.banks.number(index);
        const bool kept = job.keeps(row, bank);
        job.put_mask(index, kept);
        if (kept && before < capacity) job.put(before, row, bank);
        if (token != total - 1) return;
        const std::int64_t all = before + (kept ? 1 : 0);
        if (count.data != nullptr) count[0] = all;
        if (all > capacity) report(status, make_status(Kind::extent, 2, 0, all, capacity));
    }
};

// Entries without a token.
template <class Job>
struct ClearKept {
    static constexpr const char* operation = "seqpar::compact";
    Job job;
    std::int64_t total;

    SEQPAR_HD void operator()(std::int64_t first, std::int64_t last) const {
        for (std::int64_t i = first; i < last; ++i)
            job.put(i, -1, -1);
    }
};

// What comes before the scan: entries that will be left over, and the count of no token.
template <CudaExec D, class Job>
struct ClearFirst {
    const D& exec;
    ClearKept<Job> clear;
    std::int64_t* count;  // null: it is written, or not wanted

    void operator()() const {
        launch_index_work(exec, clear);
        if (count != nullptr)
            throw_if_cuda_failed(cudaMemsetAsync(count, 0, sizeof(std::int64_t), stream_of(exec)), clear.operation);
    }
};

template <CudaExec D, class Job, class Count>
void run_compact(Dispatch, const D& exec, const Job& job, std::int64_t capacity, Count& count) {
    Line<std::int64_t> to;
    if constexpr (!is_no_array<Count>) to = line(count);
    scan_tokens(exec, job.total(), CountKept<Job>{job}, WriteKept<Job>{job, to, capacity, job.total(), sink_of(exec)},
                std::int64_t{0}, ClearKept<Job>::operation,
                ClearFirst<D, Job>{exec, {job, capacity}, job.total() == 0 ? to.data : nullptr});
}

// For each token the number of its row through all banks (one past the last: none) and where its gradient lies.
template <class Tokens, class T, class B, std::size_t N>
struct RowKeys {
    static constexpr const char* operation = "seqpar, a backward with Summed";
    Tokens tokens;
    VectorArray<const T> d_out;
    BankList<B, N> banks;
    std::int64_t start[N + 1];
    std::int64_t* keys;
    std::int64_t* uses;
    Status* status;
    std::int64_t total;

    SEQPAR_HD void operator()(std::int64_t first, std::int64_t last) const {
        for (std::int64_t token = first; token < last; ++token) {
            const TokenIndex index = token_index(tokens.rows, token);
            const std::int64_t row = tokens.rows.number(index);
            const std::int64_t bank = row == -1 ? 0 : tokens.banks.number(index);
            const Status number = check_row_number(banks, token, bank, row);
            report(status, number);
            const bool counts = row >= 0 && number.ok() && banks.rows(bank) != any_rows;
            keys[token] = counts ? start[bank] + row : start[N];
            uses[token] = d_out.template vector_of<Tokens::axes>(index) - d_out.data;
        }
    }
};

// Where the tokens of each row begin among the sorted ones.
struct RowBegins {
    static constexpr const char* operation = "seqpar, a backward with Summed";
    struct Key {
        const std::int64_t* keys;
        SEQPAR_HD std::int64_t operator()(std::int64_t i) const { return i < 0 ? -1 : keys[i]; }
    };
    const std::int64_t* keys;
    std::int64_t tokens;
    std::int64_t* begins;
    std::int64_t total;  // rows and one more

    SEQPAR_HD void operator()(std::int64_t first, std::int64_t last) const {
        for (std::int64_t row = first; row < last; ++row)
            begins[row] = last_at_most(Key{keys}, -1, tokens + 1, row - 1) + 1;
    }
};

// E elements of row `number` from `at` on, added up as SumRows does it on a host.
template <std::size_t E, class G, class B, std::size_t N, std::size_t L, class Mode, class Sum>
__device__ void sum_chunk(const SumRows<G, B, N, L, Mode, Sum>& work, std::int64_t begin, std::int64_t end,
                          std::size_t bank, std::int64_t row, std::int64_t at) {
    arithmetic_of<Sum> sum[E];
    const Chunk<G, E> one = elements_of<E, G>(load_chunk<E>(work.d_out + work.uses[begin] + at));
#pragma unroll
    for (std::size_t k = 0; k < E; ++k)
        sum[k] = value_as<Sum>(one.element[k]);
#pragma unroll 1
    for (std::int64_t use = begin + 1; use < end; ++use) {
        const Chunk<G, E> more = elements_of<E, G>(load_chunk<E>(work.d_out + work.uses[use] + at));
#pragma unroll
        for (std::size_t k = 0; k < E; ++k)
            sum[k] = add_as<Sum>(sum[k], value_as<Sum>(more.element[k]));
    }
#pragma unroll
    for (std::size_t l = 0; l < L; ++l) {
        B* const to = bank_vector(work.d_banks.level[l], static_cast<std::int64_t>(bank), row) + at;
        Chunk<B, E> result{};
        if constexpr (!std::is_same_v<Mode, Store>) result = elements_of<E, B>(load_chunk<E>(to));
#pragma unroll
        for (std::size_t k = 0; k < E; ++k) {
            if constexpr (std::is_same_v<Mode, Store>) {
                result.element[k] = convert<B>(sum_as<Sum>(sum[k]));
            } else {
                add_value(result.element[k], sum_as<Sum>(sum[k]));
            }
        }
        store_chunk<E>(to, raw_of(result));
    }
}

// A warp a row of a bank: each lane some chunks of E of its elements.
template <std::size_t E, class Work>
__global__ void __launch_bounds__(block_threads, resident(6))
    sum_kernel(const __grid_constant__ Work work, std::int64_t rows) {
    constexpr int lanes = 1 << warp_bits;
    const std::int64_t step = std::int64_t{gridDim.x} * (block_threads >> warp_bits);
    for (std::int64_t number = std::int64_t{blockIdx.x} * (block_threads >> warp_bits) + (threadIdx.x >> warp_bits);
         number < rows; number += step) {
        const std::int64_t begin = work.first[number];
        const std::int64_t end = work.first[number + 1];
        if (begin == end) continue;
        std::size_t bank = 0;
        while (number >= work.start[bank + 1])
            ++bank;
        for (std::int64_t at = threadIdx.x % lanes * E; at < work.width; at += lanes * E)
            sum_chunk<E>(work, begin, end, bank, number - work.start[bank], at);
    }
}

// Chunks as long as the arrays allow.
template <std::size_t E, CudaExec D, class Work>
void launch_sum(const D& exec, const Granularity& granularity, const Work& work, std::int64_t rows) {
    if constexpr (E > 1) {
        if (granularity.together % E != 0) return launch_sum<E / 2>(exec, granularity, work, rows);
    }
    const std::int64_t blocks = cuda::ceil_div(rows, std::int64_t{block_threads >> warp_bits});
    launch(exec, RowBegins::operation, blocks, sum_kernel<E, Work>, work, rows);
}

// Scratch, taken at once: where rows begin, keys and places, sorted and not, and what the sort asks for.
template <CudaExec D, class Tokens, class G, class B, std::size_t N, std::size_t L, class Mode, class Sum>
void sum_rows(Dispatch, const D& exec, const Tokens& tokens, const VectorArray<const G>& d_out,
              const LevelList<B, N, L>& d_banks, Summed<Mode, Sum> mode, bool last) {
    constexpr const char* operation = RowBegins::operation;
    auto work = sum_rows_work(d_out, d_banks, mode);
    const std::int64_t rows = work.start[N];
    const std::int64_t count = tokens.loops() * tokens.length();
    if (count == 0 || d_out.width == 0) return;
    // Sorted to and fro between two buffers each: between arrays of which one is kept, CUB would take a third.
    cub::DoubleBuffer<std::int64_t> key_buffers, use_buffers;
    const auto bits = static_cast<int>(cuda::std::bit_width(static_cast<std::uint64_t>(rows)));
    std::size_t sort_bytes = 0;
    throw_if_cuda_failed(
        cub::DeviceRadixSort::SortPairs(nullptr, sort_bytes, key_buffers, use_buffers, count, 0, bits, stream_of(exec)),
        operation);
    const std::int64_t arrays = cuda::round_up((4 * count + rows + 1) * 8, ScratchSpan::unit);
    Scratch<D> memory(exec, static_cast<std::size_t>(arrays) + sort_bytes);
    auto* const keys = static_cast<std::int64_t*>(memory.data());
    std::int64_t* const uses = keys + 2 * count;
    std::int64_t* const begins = uses + 2 * count;

    RowKeys<Tokens, G, B, N> key_work{tokens, d_out, d_banks.level[0], {}, keys, uses, sink_of(exec), count};
    std::copy(work.start, work.start + N + 1, key_work.start);
    launch_index_work(exec, key_work);
    if (rows > 0) {
        key_buffers = {keys, keys + count};
        use_buffers = {uses, uses + count};
        throw_if_cuda_failed(cub::DeviceRadixSort::SortPairs(static_cast<char*>(memory.data()) + arrays, sort_bytes,
                                                             key_buffers, use_buffers, count, 0, bits, stream_of(exec)),
                             operation);
        launch_index_work(exec, RowBegins{key_buffers.Current(), count, begins, rows + 1});
        work.first = begins;
        work.uses = use_buffers.Current();
        Granularity granularity;
        granularity(d_out);
        granularity(d_banks);
        constexpr std::size_t widest = (std::max)(sizeof(G), sizeof(B));
        launch_sum<widest >= 16 ? 1 : 16 / cuda::std::bit_ceil(widest)>(exec, granularity, work, rows);
    }
    if (last) finish(exec, operation);
}

}  // namespace detail

}  // namespace seqpar
