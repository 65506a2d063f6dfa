// VisionGather and levels on CUDA, forward and backward: one launch over the tokens. Compiles under nvcc alone.
// Not here: sums over rows that several tokens refer to; see cuda_rows.hpp.
#pragma once

#include <seqpar/move/detail/cuda_tiles.hpp>
#include <seqpar/move/levels.hpp>
#include <seqpar/move/vision_gather.hpp>

#include <cuda/std/bit>

namespace seqpar::detail {

// E neighbouring elements of a vector, read and written at once.
template <class T, std::size_t E>
struct Chunk {
    T element[E];
};
template <class T, std::size_t E>
__device__ Chunk<T, E> load_chunk(const T* from) {
    Chunk<T, E> chunk;
    if constexpr (requires { typename access<sizeof(chunk)>::type; }) {
        const auto bytes = *reinterpret_cast<const typename access<sizeof(chunk)>::type*>(from);
        memcpy(&chunk, &bytes, sizeof(chunk));
    } else {
        for (std::size_t k = 0; k < E; ++k)
            chunk.element[k] = from[k];
    }
    return chunk;
}
template <class T, std::size_t E>
__device__ void store_chunk(T* to, const Chunk<T, E>& chunk) {
    if constexpr (requires { typename access<sizeof(chunk)>::type; }) {
        typename access<sizeof(chunk)>::type bytes;
        memcpy(&bytes, &chunk, sizeof(chunk));
        *reinterpret_cast<typename access<sizeof(chunk)>::type*>(to) = bytes;
    } else {
        for (std::size_t k = 0; k < E; ++k)
            to[k] = chunk.element[k];
    }
}
template <class To, class From, std::size_t E>
__device__ Chunk<To, E> convert_chunk(const Chunk<From, E>& from) {
    if constexpr (std::is_same_v<To, From>) {
        return from;
    } else {
        Chunk<To, E> to;
#pragma unroll
        for (std::size_t k = 0; k < E; ++k)
            to.element[k] = convert<To>(from.element[k]);
        return to;
    }
}

template <class T, std::size_t N>
__device__ T* bank_vector(const BankList<T, N>& list, std::int64_t bank, std::int64_t row) {
    const VectorArray<T>& array = list.bank[bank];
    return array.data + row * array.strides[0];
}

// What one token of an op is to do, on chunks of E elements from number `at` of its vector on: load, and then store. `row` is -1
// for text; what it refers to is in its bank.
template <int Axes, std::size_t E, class Op>
struct TokenWork;

template <int Axes, std::size_t E, class T, class B, std::size_t N>
struct TokenWork<Axes, E, Forward<T, B, N>> {
    using Loaded = Chunk<T, E>;
    T* to;
    const void* from;  // null: zeros
    bool converts;     // from a B, not a T
    bool idle;

    __device__ TokenWork(const Forward<T, B, N>& op, const TokenIndex& index, std::int64_t bank, std::int64_t row)
        : to(op.out.template vector_of<Axes>(index)), from(nullptr), converts(false), idle(false) {
        if (row >= 0 && op.banks.bank[bank].axes > 0) {
            from = bank_vector(op.banks, bank, row);
            converts = !std::is_same_v<T, B>;
        } else if (!op.zero_text) {
            from = op.embeddings.template vector_of<Axes>(index);
            idle = op.in_place;
        }
    }
    __device__ Loaded load(std::int64_t at) const {
        if (from == nullptr) return {};
        if constexpr (!std::is_same_v<T, B>) {
            if (converts) return convert_chunk<T>(load_chunk<B, E>(static_cast<const B*>(from) + at));
        }
        return load_chunk<T, E>(static_cast<const T*>(from) + at);
    }
    __device__ void store(std::int64_t at, const Loaded& chunk) const { store_chunk(to + at, chunk); }
};

template <int Axes, std::size_t E, class G, class D, class B, std::size_t N, std::size_t L, class Mode>
struct TokenWork<Axes, E, Backward<G, D, B, N, L, Mode>> {
    using Op = Backward<G, D, B, N, L, Mode>;
    using Loaded = Chunk<G, E>;
    const Op& op;
    const G* from;
    D* d_embeddings;
    std::int64_t bank;
    std::int64_t row;
    bool idle;

    __device__ TokenWork(const Op& o, const TokenIndex& index, std::int64_t of_bank, std::int64_t of_row)
        : op(o),
          from(o.d_out.template vector_of<Axes>(index)),
          d_embeddings(o.want_embeddings ? o.d_embeddings.template vector_of<Axes>(index) : nullptr),
          bank(of_bank),
          row(o.want_banks && of_row >= 0 && o.d_banks.level[0].bank[of_bank].axes > 0 ? of_row : -1),
          idle(row < 0 && (!o.want_embeddings || (of_row < 0 && o.in_place))) {
        text_ = of_row < 0;
    }
    __device__ Loaded load(std::int64_t at) const { return load_chunk<G, E>(from + at); }
    __device__ void store(std::int64_t at, const Loaded& chunk) const {
        if (row >= 0) {
            for (std::size_t level = 0; level < L; ++level) {
                B* const to = bank_vector(op.d_banks.level[level], bank, row) + at;
                if constexpr (std::is_same_v<Mode, Store>) {
                    store_chunk(to, convert_chunk<B>(chunk));
                } else {
                    Chunk<B, E> sum = load_chunk<B, E>(to);
#pragma unroll
                    for (std::size_t k = 0; k < E; ++k)
                        add_value(sum.element[k], chunk.element[k]);
                    store_chunk(to, sum);
                }
            }
        }
        if (d_embeddings == nullptr || (text_ && op.in_place)) return;
        store_chunk(d_embeddings + at, text_ ? convert_chunk<D>(chunk) : Chunk<D, E>{});
    }

private:
    bool text_;
};

template <int Axes, std::size_t E, class T, class B, std::size_t N, std::size_t L>
struct TokenWork<Axes, E, AddRows<T, B, N, L>> {
    using Op = AddRows<T, B, N, L>;
    using Loaded = Chunk<T, E>;
    const Op& op;
    T* h;
    std::int64_t bank;
    std::int64_t row;
    bool idle;

    __device__ TokenWork(const Op& o, const TokenIndex& index, std::int64_t of_bank, std::int64_t of_row)
        : op(o),
          h(o.h.template vector_of<Axes>(index)),
          bank(of_bank),
          row(of_row),
          idle(of_row < 0 || o.levels.level[0].bank[of_bank].axes == 0) {}
    __device__ Loaded load(std::int64_t at) const {
        const Chunk<T, E> before = load_chunk<T, E>(h + at);
        arithmetic_of<T> sum[E];
#pragma unroll
        for (std::size_t k = 0; k < E; ++k)
            sum[k] = convert<arithmetic_of<T>>(before.element[k]);
        for (std::size_t l = 0; l < L; ++l) {
            const Chunk<B, E> level = load_chunk<B, E>(bank_vector(op.levels.level[l], bank, row) + at);
#pragma unroll
            for (std::size_t k = 0; k < E; ++k)
                sum[k] = add_as<T>(sum[k], value_as<T>(level.element[k]));
        }
        Loaded result;
#pragma unroll
        for (std::size_t k = 0; k < E; ++k)
            result.element[k] = convert<T>(sum[k]);
        return result;
    }
    __device__ void store(std::int64_t at, const Loaded& chunk) const { store_chunk(h + at, chunk); }
};

// What decides the length of a chunk: all that addresses of vectors are made of, in elements, or-ed together.
struct Granularity {
    std::uint64_t together = 16;

    template <class T>
    void add(const VectorArray<T>& array) {
        if (array.axes == 0) return;
        together |= reinterpret_cast<std::uintptr_t>(array.data) / sizeof(T) | static_cast<std::uint64_t>(array.width);
        for (int i = 0; i < array.axes; ++i)
            together |= array.extents[i] > 1 ? static_cast<std::uint64_t>(array.strides[i]) : 0;
    }
    template <class T, std::size_t N>
    void add(const BankList<T, N>& list) {
        for (const auto& bank : list.bank)
            add(bank);
    }
    template <class T, std::size_t N, std::size_t L>
    void add(const LevelList<T, N, L>& list) {
        for (const auto& level : list.level)
            add(level);
    }
};
template <class T, class B, std::size_t N>
void add_arrays(Granularity& g, const Forward<T, B, N>& op) {
    g.add(op.out);
    g.add(op.embeddings);
    g.add(op.banks);
}
template <class G, class E, class B, std::size_t N, std::size_t L, class Mode>
void add_arrays(Granularity& g, const Backward<G, E, B, N, L, Mode>& op) {
    g.add(op.d_out);
    if (op.want_embeddings) g.add(op.d_embeddings);
    if (op.want_banks) g.add(op.d_banks);
}
template <class T, class B, std::size_t N, std::size_t L>
void add_arrays(Granularity& g, const AddRows<T, B, N, L>& op) {
    g.add(op.h);
    g.add(op.levels);
}

// The rows of bank `bank`: -1 where there is no such bank, any_rows where none is asked for.
template <class T, std::size_t N>
SEQPAR_HD std::int64_t rows_of(const BankList<T, N>& list, std::int64_t bank) {
    if (bank < 0 || bank >= static_cast<std::int64_t>(N)) return -1;
    return list.bank[bank].axes == 0 ? any_rows : list.bank[bank].extents[0];
}
template <class T, class B, std::size_t N>
SEQPAR_HD std::int64_t rows_of(const Forward<T, B, N>& op, std::int64_t bank) {
    return rows_of(op.banks, bank);
}
template <class G, class E, class B, std::size_t N, std::size_t L, class Mode>
SEQPAR_HD std::int64_t rows_of(const Backward<G, E, B, N, L, Mode>& op, std::int64_t bank) {
    if (!op.want_banks) return AnyBankRows{}(bank);
    return rows_of(op.d_banks.level[0], bank);
}
template <class T, class B, std::size_t N, std::size_t L>
SEQPAR_HD std::int64_t rows_of(const AddRows<T, B, N, L>& op, std::int64_t bank) {
    return rows_of(op.levels.level[0], bank);
}

template <class Tokens, class Op>
struct GatherLaunch {
    Tokens tokens;
    Op op;
    RowTiles tiles;
    Status* status;
};

// A token by its number in row-major order.
template <class Rows>
SEQPAR_HD TokenIndex token_index(const Rows& rows, std::int64_t number) {
    TokenIndex index;
    for (int i = Rows::axes - 1; i > 0; --i) {
        const std::int64_t rest = number / rows.extent(i);
        index.at[i] = number - rest * rows.extent(i);
        number = rest;
    }
    index.at[0] = number;
    return index;
}

// Whether the row and bank number of a token name a row.
template <class Op>
SEQPAR_HD Status check_token(const Op& op, std::int64_t token, std::int64_t bank, std::int64_t row) {
    if (row == -1) return {};
    const std::int64_t rows = rows_of(op, bank);
    if (rows < 0) {
        std::int64_t banks = 0;
        while (rows_of(op, banks) >= 0 && banks < 256)
            ++banks;
        return make_status(Kind::bank_range, 0, token, banks, bank);
    }
    if (row < 0 || row >= rows) return make_status(Kind::row_range, static_cast<int>(bank), token, rows, row);
    return {};
}

template <std::size_t E, class Tokens, class Op>
__global__ void __launch_bounds__(block_threads, 5)
    gather_kernel(const __grid_constant__ GatherLaunch<Tokens, Op> launch) {
    const std::int64_t blocks = launch.tiles.row_blocks * launch.tiles.parts;
    for (std::int64_t tile = blockIdx.x; tile < blocks; tile += gridDim.x) {
        std::int64_t row_block = tile;
        const LaneShare share = lane_share(launch.tiles, row_block);
        std::int64_t token = launch.tiles.row(row_block);
#pragma unroll 1
        for (int i = 0; i < launch.tiles.rows_a_thread; ++i, token += block_threads) {
            if (token >= launch.tiles.rows) break;
            const TokenIndex index = token_index(launch.tokens.rows, token);
            std::int64_t row = launch.tokens.rows.number(index);
            const std::int64_t bank = row < 0 ? 0 : launch.tokens.banks.number(index);
            if (const Status status = check_token(launch.op, token, bank, row); !status.ok()) {
                if (share.first == 0) report(launch.status, status);
                row = -1;  // stays inside the arrays
            }
            const TokenWork<Tokens::axes, E, Op> work(launch.op, index, row < 0 ? 0 : bank, row);
            if (work.idle) continue;
            const int step = static_cast<int>(E) * launch.tiles.lanes();
            std::int64_t at = share.first * static_cast<int>(E);
            int count = share.count;
#pragma unroll 1
            for (; count >= 4; count -= 4, at += 4 * step) {
                const auto a = work.load(at);
                const auto b = work.load(at + step);
                const auto c = work.load(at + 2 * step);
                const auto d = work.load(at + 3 * step);
                work.store(at, a);
                work.store(at + step, b);
                work.store(at + 2 * step, c);
                work.store(at + 3 * step, d);
            }
#pragma unroll 1
            for (; count > 0; --count, at += step)
                work.store(at, work.load(at));
        }
    }
}

// Chunks as long as all arrays allow, of up to 16 bytes of the widest element.
template <std::size_t E, CudaExec D, class Tokens, class Op>
void launch_gather(const D& exec, const Granularity& granularity, GatherLaunch<Tokens, Op>& launch, std::int64_t width,
                   std::int64_t vector_bytes) {
    if constexpr (E > 1) {
        if (granularity.together % E != 0) return launch_gather<E / 2>(exec, granularity, launch, width, vector_bytes);
    }
    launch.tiles = row_tiles(launch.tokens.loops() * launch.tokens.length(), vector_bytes,
                             static_cast<int>(vector_bytes / width) * static_cast<int>(E));
    const std::int64_t blocks = launch.tiles.row_blocks * launch.tiles.parts;
    if (blocks == 0) return;
    gather_kernel<E><<<grid_for(blocks), block_threads, 0, stream_of(exec)>>>(launch);
    finish_launch(exec, "seqpar::VisionGather");
}

// The widest element of an op's arrays, and the elements of a vector.
template <class... Ts>
inline constexpr std::size_t widest_of = (std::max)({sizeof(Ts)...});
template <class T, class B, std::size_t N>
constexpr std::size_t widest_element(const Forward<T, B, N>*) {
    return widest_of<T, B>;
}
template <class G, class E, class B, std::size_t N, std::size_t L, class Mode>
constexpr std::size_t widest_element(const Backward<G, E, B, N, L, Mode>*) {
    return widest_of<G, E, B>;
}
template <class T, class B, std::size_t N, std::size_t L>
constexpr std::size_t widest_element(const AddRows<T, B, N, L>*) {
    return widest_of<T, B>;
}
template <class T, class B, std::size_t N>
std::int64_t vector_width(const Forward<T, B, N>& op) {
    return op.out.width;
}
template <class G, class E, class B, std::size_t N, std::size_t L, class Mode>
std::int64_t vector_width(const Backward<G, E, B, N, L, Mode>& op) {
    return op.d_out.width;
}
template <class T, class B, std::size_t N, std::size_t L>
std::int64_t vector_width(const AddRows<T, B, N, L>& op) {
    return op.h.width;
}

template <CudaExec D, class Tokens, class Op>
void gather_rows(Dispatch, const D& exec, const Tokens& tokens, const Op& op, std::int64_t vector_bytes) {
    if (vector_bytes == 0) return;
    Granularity granularity;
    add_arrays(granularity, op);
    GatherLaunch<Tokens, Op> launch{tokens, op, {}, sink_of(exec)};
    constexpr std::size_t widest = widest_element(static_cast<const Op*>(nullptr));
    constexpr std::size_t longest = widest > 8 ? 1 : widest > 4 ? 2 : widest > 2 ? 4 : widest > 1 ? 8 : 16;
    launch_gather<longest>(exec, granularity, launch, vector_width(op), vector_bytes);
}

}  // namespace seqpar::detail
