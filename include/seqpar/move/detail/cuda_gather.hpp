// VisionGather and levels on CUDA, forward and backward: one launch over the tokens. Compiles under nvcc alone.
// Not here: sums over rows that several tokens refer to; see cuda_rows.hpp.
#pragma once

#include <seqpar/move/detail/cuda_tiles.hpp>
#include <seqpar/move/levels.hpp>
#include <seqpar/move/vision_gather.hpp>

#include <cuda/std/bit>

namespace seqpar::detail {

// E neighbouring elements of a vector, to compute with.
template <class T, std::size_t E>
struct Chunk {
    T element[E];
};
// The same as it is read and written, at once: elements would take a register each.
template <class T, std::size_t E>
struct raw_chunk {
    using type = Chunk<T, E>;
};
template <class T, std::size_t E>
    requires requires { typename access<sizeof(T) * E>::type; }
struct raw_chunk<T, E> {
    using type = typename access<sizeof(T) * E>::type;
};
template <class T, std::size_t E>
using RawChunk = typename raw_chunk<std::remove_const_t<T>, E>::type;

template <std::size_t E, class T>
__device__ RawChunk<T, E> load_chunk(const T* from) {
    return *reinterpret_cast<const RawChunk<T, E>*>(from);
}
template <std::size_t E, class T>
__device__ Chunk<T, E> elements_of(const RawChunk<T, E>& raw) {
    Chunk<T, E> chunk;
    memcpy(&chunk, &raw, sizeof(chunk));
    return chunk;
}
template <class T, std::size_t E>
__device__ RawChunk<T, E> raw_of(const Chunk<T, E>& chunk) {
    RawChunk<T, E> raw;
    memcpy(&raw, &chunk, sizeof(raw));
    return raw;
}
template <std::size_t E, class To, class From>
__device__ RawChunk<To, E> convert_chunk(const RawChunk<From, E>& raw) {
    if constexpr (std::is_same_v<To, From>) {
        return raw;
    } else {
        const Chunk<From, E> from = elements_of<E, From>(raw);
        Chunk<To, E> to;
#pragma unroll
        for (std::size_t k = 0; k < E; ++k)
            to.element[k] = convert<To>(from.element[k]);
        return raw_of(to);
    }
}
template <std::size_t E, class T>
__device__ void store_chunk(T* to, const RawChunk<T, E>& raw) {
    *reinterpret_cast<RawChunk<T, E>*>(to) = raw;
}

// Two neighbouring elements plus two others, each rounded once: the bits that add_value gives, since a float is more than twice
// as exact as these types.
template <class T>
__device__ std::uint32_t add_pair(std::uint32_t a, std::uint32_t b) {
    std::uint32_t sum = 0;
    if constexpr (std::is_same_v<T, f16>) {
        asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    } else {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
        asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
#elif __CUDA_ARCH__ >= 800
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(0x3F803F80u), "r"(b));  // a * 1 + b
#else
        for (int shift = 0; shift < 32; shift += 16) {
            bf16 element = bf16::from_bits(static_cast<std::uint16_t>(a >> shift));
            add_value(element, bf16::from_bits(static_cast<std::uint16_t>(b >> shift)));
            sum |= std::uint32_t{element.bits} << shift;
        }
#endif
    }
    return sum;
}
// a + b as add_value gives it.
template <std::size_t E, class T, class B>
__device__ RawChunk<T, E> add_chunks(const RawChunk<T, E>& a, const RawChunk<B, E>& b) {
    if constexpr (std::is_same_v<T, B> && (std::is_same_v<T, bf16> || std::is_same_v<T, f16>)&&E % 2 == 0) {
        using Pairs = Chunk<std::uint32_t, E / 2>;
        const auto x = cuda::std::bit_cast<Pairs>(a);
        const auto y = cuda::std::bit_cast<Pairs>(b);
        Pairs sum;
#pragma unroll
        for (std::size_t k = 0; k < E / 2; ++k)
            sum.element[k] = add_pair<T>(x.element[k], y.element[k]);
        return cuda::std::bit_cast<RawChunk<T, E>>(sum);
    } else {
        Chunk<T, E> sum = elements_of<E, T>(a);
        const Chunk<B, E> more = elements_of<E, B>(b);
#pragma unroll
        for (std::size_t k = 0; k < E; ++k)
            add_value(sum.element[k], more.element[k]);
        return raw_of(sum);
    }
}

// What is done to a vector, a chunk of E elements at a time, `at` elements from where it stands: load, and then store. `loads`: of
// a chunk.
template <std::size_t E, class T>
struct ZeroVector {
    struct Loaded {};
    static constexpr std::size_t loads = 1;
    T* to;

    __device__ void advance(std::int64_t by) { to += by; }
    __device__ Loaded load(std::int64_t) const { return {}; }
    __device__ void store(std::int64_t at, const Loaded&) const { store_chunk<E>(to + at, raw_of(Chunk<T, E>{})); }
};

// A vector of tokens and those of a row in L levels, all of which are loaded.
template <std::size_t E, class One, class Many, std::size_t L>
struct OneAndMany {
    struct Loaded {
        RawChunk<One, E> one;
        RawChunk<Many, E> many[L];
    };
    static constexpr std::size_t loads = 1 + L;
    Many* many[L];
    One* one;

    __device__ void advance(std::int64_t by) {
        one += by;
#pragma unroll
        for (std::size_t l = 0; l < L; ++l)
            many[l] += by;
    }
    __device__ Loaded load(std::int64_t at) const {
        Loaded loaded;
        loaded.one = load_chunk<E>(one + at);
#pragma unroll
        for (std::size_t l = 0; l < L; ++l)
            loaded.many[l] = load_chunk<E>(many[l] + at);
        return loaded;
    }
};

// One onto many.
template <std::size_t E, class To, class From, std::size_t L>
struct StoreVectors : OneAndMany<E, const From, To, L> {
    using Loaded = RawChunk<From, E>;
    static constexpr std::size_t loads = 1;

    __device__ Loaded load(std::int64_t at) const { return load_chunk<E>(this->one + at); }
    __device__ void store(std::int64_t at, const Loaded& raw) const {
#pragma unroll
        for (std::size_t l = 0; l < L; ++l)
            store_chunk<E>(this->many[l] + at, convert_chunk<E, To, From>(raw));
    }
};
// One added to many.
template <std::size_t E, class To, class From, std::size_t L>
struct AddToVectors : OneAndMany<E, const From, To, L> {
    using Loaded = typename OneAndMany<E, const From, To, L>::Loaded;

    __device__ void store(std::int64_t at, const Loaded& loaded) const {
#pragma unroll
        for (std::size_t l = 0; l < L; ++l)
            store_chunk<E>(this->many[l] + at, add_chunks<E, To, From>(loaded.many[l], loaded.one));
    }
};
// Many added to one.
template <std::size_t E, class T, class B, std::size_t L>
struct AddLevels : OneAndMany<E, T, const B, L> {
    using Loaded = typename OneAndMany<E, T, const B, L>::Loaded;

    __device__ void store(std::int64_t at, const Loaded& loaded) const {
        RawChunk<T, E> sum = loaded.one;
#pragma unroll
        for (std::size_t l = 0; l < L; ++l)
            sum = add_chunks<E, T, T>(sum, convert_chunk<E, T, B>(loaded.many[l]));
        store_chunk<E>(this->one + at, sum);
    }
};

// The chunks of a vector that are this thread's: `count` of them from element `first` on, `step` elements apart.
struct ChunkShare {
    std::int64_t first = 0;
    int count = 0;
    int step = 0;
};

// At least four loads are on their way before the first store.
template <class Work>
__device__ void for_chunks(Work work, const ChunkShare& share) {
    constexpr int ahead = static_cast<int>((4 + Work::loads - 1) / Work::loads);
    const std::int64_t step = share.step;
    int count = share.count;
    work.advance(share.first);  // and so on: addresses are added to, not made of rows and strides again in every round
    if constexpr (ahead > 1) {
#pragma unroll 1
        for (; count >= ahead; count -= ahead) {
            typename Work::Loaded loaded[ahead];
#pragma unroll
            for (int i = 0; i < ahead; ++i)
                loaded[i] = work.load(i * step);
#pragma unroll
            for (int i = 0; i < ahead; ++i)
                work.store(i * step, loaded[i]);
            work.advance(ahead * step);
        }
    }
#pragma unroll 1
    for (; count > 0; --count) {
        work.store(0, work.load(0));
        work.advance(step);
    }
}

template <class T, std::size_t N>
__device__ T* bank_vector(const BankList<T, N>& list, std::int64_t bank, std::int64_t row) {
    const VectorArray<T>& array = list.bank[bank];
    return array.data + row * array.strides[0];
}

// What an op does for one token. `row` is -1 for text; what it refers to is in its bank.
template <int Axes, std::size_t E, class T, class B, std::size_t N>
__device__ void run_token(const Forward<T, B, N>& op, const TokenIndex& index, std::int64_t bank, std::int64_t row,
                          const ChunkShare& share) {
    T* const to = op.out.template vector_of<Axes>(index);
    const bool is_vision = row >= 0 && op.banks.bank[bank].axes > 0;
    if constexpr (!std::is_same_v<T, B>) {
        if (is_vision) return for_chunks(StoreVectors<E, T, B, 1>{{{to}, bank_vector(op.banks, bank, row)}}, share);
    }
    if (!is_vision && op.zero_text) return for_chunks(ZeroVector<E, T>{to}, share);
    if (!is_vision && op.in_place) return;
    const T* from = op.embeddings.template vector_of<Axes>(index);
    if constexpr (std::is_same_v<T, B>) {
        if (is_vision) from = bank_vector(op.banks, bank, row);
    }
    for_chunks(StoreVectors<E, T, T, 1>{{{to}, from}}, share);
}

template <int Axes, std::size_t E, class G, class D, class B, std::size_t N, std::size_t L, class Mode>
__device__ void run_token(const Backward<G, D, B, N, L, Mode>& op, const TokenIndex& index, std::int64_t bank,
                          std::int64_t row, const ChunkShare& share) {
    const G* const from = op.d_out.template vector_of<Axes>(index);
    if (row >= 0 && op.want_banks && op.d_banks.level[0].bank[bank].axes > 0) {
        using Work =
            std::conditional_t<std::is_same_v<Mode, Store>, StoreVectors<E, B, G, L>, AddToVectors<E, B, G, L>>;
        Work work;
        work.one = from;
        for (std::size_t l = 0; l < L; ++l)
            work.many[l] = bank_vector(op.d_banks.level[l], bank, row);
        for_chunks(work, share);
    }
    if (!op.want_embeddings || (row < 0 && op.in_place)) return;
    D* const to = op.d_embeddings.template vector_of<Axes>(index);
    if (row >= 0) return for_chunks(ZeroVector<E, D>{to}, share);
    for_chunks(StoreVectors<E, D, G, 1>{{{to}, from}}, share);
}

template <int Axes, std::size_t E, class T, class B, std::size_t N, std::size_t L>
__device__ void run_token(const AddRows<T, B, N, L>& op, const TokenIndex& index, std::int64_t bank, std::int64_t row,
                          const ChunkShare& share) {
    if (row < 0 || op.levels.level[0].bank[bank].axes == 0) return;
    AddLevels<E, T, B, L> work;
    work.one = op.h.template vector_of<Axes>(index);
    for (std::size_t l = 0; l < L; ++l)
        work.many[l] = bank_vector(op.levels.level[l], bank, row);
    for_chunks(work, share);
}

// What decides the length of a chunk: all that addresses of vectors are made of, in elements, or-ed together.
struct Granularity {
    std::uint64_t together = 16;

    template <class T>
    void operator()(const VectorArray<T>& array) {
        if (array.axes == 0) return;
        together |= reinterpret_cast<std::uintptr_t>(array.data) / sizeof(T) | static_cast<std::uint64_t>(array.width);
        for (int i = 0; i < array.axes; ++i)
            together |= array.extents[i] > 1 ? static_cast<std::uint64_t>(array.strides[i]) : 0;
    }
    template <class T, std::size_t N>
    void operator()(const BankList<T, N>& list) {
        for (const auto& bank : list.bank)
            (*this)(bank);
    }
    template <class T, std::size_t N, std::size_t L>
    void operator()(const LevelList<T, N, L>& list) {
        for (const auto& level : list.level)
            (*this)(level);
    }
};

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

// Blocks that a multiprocessor is to hold, which bounds registers: 40, and more for the many addresses of several levels and for what is
// added to.
template <class Op>
inline constexpr int resident_blocks = 6;
template <class G, class E, class B, std::size_t N, std::size_t L, class Mode>
    requires(L > 1)
inline constexpr int resident_blocks<Backward<G, E, B, N, L, Mode>> = std::is_same_v<Mode, Add> ? 4 : 5;
template <class G, class E, class B, std::size_t N>
inline constexpr int resident_blocks<Backward<G, E, B, N, 1, Add>> = 5;
template <class T, class B, std::size_t N, std::size_t L>
    requires(L > 1)
inline constexpr int resident_blocks<AddRows<T, B, N, L>> = 5;

template <std::size_t E, class Tokens, class Op>
__global__ void __launch_bounds__(block_threads, resident(resident_blocks<Op>))
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
            const std::int64_t bank = row == -1 ? 0 : launch.tokens.banks.number(index);
            if (const Status status = launch.op.check_token(token, bank, row); !status.ok()) {
                if (share.first == 0) report(launch.status, status);
                row = -1;  // stays inside the arrays
            }
            run_token<Tokens::axes, E>(
                launch.op, index, row < 0 ? 0 : bank, row,
                {share.first * static_cast<int>(E), share.count, static_cast<int>(E) * launch.tiles.lanes()});
        }
    }
    if (launch.status != nullptr)
        check_layouts(launch.tokens, launch.status, thread_number(), thread_count());
}

// Chunks as long as all arrays allow, of up to 16 bytes of the widest element.
template <std::size_t E, CudaExec D, class Tokens, class Op>
void launch_gather(const D& exec, const Granularity& granularity, GatherLaunch<Tokens, Op>& launch,
                   std::int64_t vector_bytes) {
    if constexpr (E > 1) {
        if (granularity.together % E != 0) return launch_gather<E / 2>(exec, granularity, launch, vector_bytes);
    }
    launch.tiles = row_tiles(launch.tokens.loops() * launch.tokens.length(), vector_bytes,
                             static_cast<int>(vector_bytes / launch.op.width()) * static_cast<int>(E));
    const std::int64_t blocks = launch.tiles.row_blocks * launch.tiles.parts;
    if (blocks == 0) return;
    detail::launch(exec, Op::operation, blocks, gather_kernel<E, Tokens, Op>, launch);
    finish(exec, Op::operation);
}

template <CudaExec D, class Tokens, class Op>
void gather_rows(Dispatch, const D& exec, const Tokens& tokens, const Op& op, std::int64_t vector_bytes) {
    if (vector_bytes == 0) return;
    Granularity granularity;
    op.each_array(granularity);
    GatherLaunch<Tokens, Op> launch{tokens, op, {}, sink_of(exec)};
    constexpr std::size_t longest = Op::widest > 16 ? 1 : 16 / cuda::std::bit_ceil(Op::widest);
    launch_gather<longest>(exec, granularity, launch, vector_bytes);
}

}  // namespace seqpar::detail
