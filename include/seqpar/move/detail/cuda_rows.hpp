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
    Job job;
    decltype(Job::tokens) tokens;  // whose layouts are looked at here
    std::int64_t total;

    SEQPAR_HD void operator()(std::int64_t first, std::int64_t last) const {
        for (std::int64_t i = first; i < last; ++i)
            job.put(i, -1, -1);
    }
};

// Three launches: what is left over is cleared first.
template <CudaExec D, class Job, class Count>
void run_compact(Dispatch tag, const D& exec, const Job& job, std::int64_t capacity, Count& count) {
    run_index_work(tag, exec, ClearKept<Job>{job, job.tokens, capacity});
    Line<std::int64_t> to;
    if constexpr (!is_no_array<Count>) {
        to = line(count);
        if (job.total() == 0)
            throw_if_cuda_failed(cudaMemsetAsync(to.data, 0, sizeof(std::int64_t), stream_of(exec)), "seqpar::compact");
    }
    scan_tokens(exec, job.total(), CountKept<Job>{job}, WriteKept<Job>{job, to, capacity, job.total(), sink_of(exec)},
                std::int64_t{0}, "seqpar::compact");
}

// For each token the number of its row through all banks (one past the last: none) and where its gradient lies.
template <class Tokens, class T, class B, std::size_t N>
struct RowKeys {
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
            const std::int64_t bank = row < 0 ? 0 : tokens.banks.number(index);
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
    sum_kernel<E><<<grid_for(blocks), block_threads, 0, stream_of(exec)>>>(work, rows);
}

// Scratch of Summed: keys and places, sorted and not, and where rows begin; and what the sort asks for, bounded from above.
constexpr std::int64_t sort_scratch_bytes(std::int64_t tokens) {
    return tokens + (tokens / 1024 + 64) * 2048 + (std::int64_t{1} << 16);
}

template <CudaExec D, class Tokens, class G, class B, std::size_t N, std::size_t L, class Mode, class Sum>
void sum_rows(Dispatch tag, const D& exec, const Tokens& tokens, const VectorArray<const G>& d_out,
              const LevelList<B, N, L>& d_banks, Summed<Mode, Sum> mode) {
    constexpr const char* operation = "seqpar, a backward with Summed";
    auto work = sum_rows_work(d_out, d_banks, mode);
    const std::int64_t rows = work.start[N];
    const std::int64_t count = tokens.loops() * tokens.length();
    if (rows == 0 || count == 0) return;
    Scratch<D> memory(exec, static_cast<std::size_t>((4 * count + rows + 1) * 8));
    auto* const keys = static_cast<std::int64_t*>(memory.data());
    std::int64_t* const uses = keys + 2 * count;
    std::int64_t* const begins = uses + 2 * count;

    RowKeys<Tokens, G, B, N> key_work{tokens, d_out, d_banks.level[0], {}, keys, uses, sink_of(exec), count};
    std::copy(work.start, work.start + N + 1, key_work.start);
    run_index_work(tag, exec, key_work);
    int bits = 1;
    while (bits < 62 && rows >> bits != 0)
        ++bits;
    // Sorted to and fro between two buffers each: between arrays of which one is kept, CUB would take a third.
    cub::DoubleBuffer<std::int64_t> key_buffers(keys, keys + count);
    cub::DoubleBuffer<std::int64_t> use_buffers(uses, uses + count);
    std::size_t bytes = 0;
    throw_if_cuda_failed(
        cub::DeviceRadixSort::SortPairs(nullptr, bytes, key_buffers, use_buffers, count, 0, bits, stream_of(exec)),
        operation);
    Scratch<D> sort(exec, bytes);
    throw_if_cuda_failed(
        cub::DeviceRadixSort::SortPairs(sort.data(), bytes, key_buffers, use_buffers, count, 0, bits, stream_of(exec)),
        operation);
    run_index_work(tag, exec, RowBegins{key_buffers.Current(), count, begins, rows + 1});
    work.first = begins;
    work.uses = use_buffers.Current();
    Granularity granularity;
    granularity(d_out);
    granularity(d_banks);
    constexpr std::size_t widest = (std::max)(sizeof(G), sizeof(B));
    launch_sum<widest >= 16 ? 1 : 16 / cuda::std::bit_ceil(widest)>(exec, granularity, work, rows);
    finish_launch(exec, operation);
}

}  // namespace detail

// The most scratch that a backward with Summed takes from a CUDA exec's allocator, for `tokens` tokens and `rows` bank rows.
[[nodiscard]] constexpr std::int64_t summed_scratch_bytes(std::int64_t tokens, std::int64_t rows) {
    return (4 * tokens + rows + 1) * 8 + 512 + detail::sort_scratch_bytes(tokens);
}
// The same of compact.
[[nodiscard]] constexpr std::int64_t compact_scratch_bytes(std::int64_t tokens) {
    return detail::scan_scratch_bytes(tokens, 8);
}

}  // namespace seqpar
