// Moves on CUDA: a batch of arrays, each with its own layout, strides and fill, in one launch. Compiles under nvcc alone.
#pragma once

#include <seqpar/move/detail/cuda_tiles.hpp>
#include <seqpar/move/unshard.hpp>

#include <cuda/std/bit>
#include <cuda/std/tuple>

namespace seqpar::detail {

// One array of a batch, with the launch's decisions. Its rows are the slots, once for each index of the loop axes.
template <Layout L>
struct DeviceMove {
    alignas(16) std::byte fill[16] = {};  // of pad slots, repeated if it is shorter
    SlotMove<L> move;
    RowTiles tiles;
    std::int64_t source_size = 0;
    std::int64_t blocks = 0;  // tiles in all
    int width = 1;            // bytes of an access
    bool checked = false;     // whether this one is to look at its layout's offsets or table: the first that has it
};

inline std::uint64_t alignment_of(const MoveSide& side, int loops) {
    std::uint64_t together = reinterpret_cast<std::uintptr_t>(side.data) | static_cast<std::uint64_t>(side.stride);
    for (int i = 0; i < loops; ++i)
        together |= static_cast<std::uint64_t>(side.strides[i]);
    return together;
}

template <Layout L>
DeviceMove<L> device_move(const SlotMove<L>& move) {
    DeviceMove<L> result;
    result.move = move;
    const SlotCopy& copy = move.copy;
    result.source_size = move.layout.source_size();
    for (int i = 0; i < 16 && move.fill.size > 0; ++i)
        result.fill[i] = move.fill.bytes[i % move.fill.size];
    const std::uint64_t together = alignment_of(copy.whole, copy.loops) | alignment_of(copy.shard, copy.loops) |
                                   static_cast<std::uint64_t>(copy.part);
    // A fill whose size is no power of two is not one pattern of 16 bytes: an access lies inside an element then.
    const auto fill_size = static_cast<std::uint64_t>(move.fill.size);
    result.width = access_width(cuda::std::has_single_bit(fill_size) ? together : together | fill_size);
    result.tiles = row_tiles(copy.loop_count == 0 ? 0 : move.layout.slots(move.rank), copy.part, result.width);
    result.blocks = result.tiles.row_blocks * result.tiles.parts * copy.loop_count;
    return result;
}

// `count` accesses of a slot, `lanes` apart. Four loads are on their way before the first store (an unrolled loop keeps one), and two
// where a slot is not a warp's: four at any distance take more than 40 registers.
template <class V>
__device__ void copy_vectors(std::byte* to_bytes, const std::byte* from_bytes, int count, int lanes) {
    V* to = reinterpret_cast<V*>(to_bytes);
    const V* from = reinterpret_cast<const V*>(from_bytes);
    constexpr int step = 1 << warp_bits;
    if (lanes == step) {
#pragma unroll 1
        for (; count >= 4; count -= 4, to += 4 * step, from += 4 * step) {
            const V a = from[0];
            const V b = from[step];
            const V c = from[2 * step];
            const V d = from[3 * step];
            to[0] = a;
            to[step] = b;
            to[2 * step] = c;
            to[3 * step] = d;
        }
    }
#pragma unroll 1
    for (; count >= 2; count -= 2, to += 2 * lanes, from += 2 * lanes) {
        const V a = from[0];
        const V b = from[lanes];
        to[0] = a;
        to[lanes] = b;
    }
    if (count > 0) *to = *from;
}

// The same of the fill; `first` is the number of the first access in the slot.
template <class V>
__device__ void fill_vectors(std::byte* to_bytes, const std::byte* fill, int size, std::int64_t first, int count,
                             int lanes) {
    V* const to = reinterpret_cast<V*>(to_bytes);
    for (int i = 0; i < count; ++i) {
        std::int64_t at = 0;
        if (static_cast<int>(sizeof(V)) < size)
            at = (first + std::int64_t{i} * lanes) * static_cast<int>(sizeof(V)) % size;
        to[std::int64_t{i} * lanes] = *reinterpret_cast<const V*>(fill + at);
    }
}

template <Direction To, Layout L>
__device__ void move_tile(const DeviceMove<L>& array, std::int64_t tile) {
    const SlotCopy& copy = array.move.copy;
    const LaneShare share = lane_share(array.tiles, tile);
    std::byte* whole = copy.whole.data + share.first * array.width;
    std::byte* shard = copy.shard.data + share.first * array.width;
    if (copy.loop_count > 1) {
        std::int64_t loop = tile / array.tiles.row_blocks;
        tile -= loop * array.tiles.row_blocks;
#pragma unroll 1
        for (int i = copy.loops - 1; i >= 0; --i) {
            const std::int64_t rest = loop / copy.extents[i];
            const std::int64_t index = loop - rest * copy.extents[i];
            loop = rest;
            whole += index * copy.whole.strides[i];
            shard += index * copy.shard.strides[i];
        }
    }
    const int lanes = array.tiles.lanes();
    std::int64_t slot = array.tiles.row(tile);
#pragma unroll 1
    for (int i = 0; i < array.tiles.rows_a_thread; ++i, slot += block_threads) {
        if (slot >= array.tiles.rows) return;
        const L& layout = array.move.layout;
        const std::int64_t source = layout.source(layout.position(array.move.rank, slot));
        std::byte* const in_shard = shard + slot * copy.shard.stride;
        if (source >= 0 && source < array.source_size) {  // illegal offsets may name any
            std::byte* const in_whole = whole + source * copy.whole.stride;
            std::byte* const to = To == Direction::to_shard ? in_shard : in_whole;
            const std::byte* const from = To == Direction::to_shard ? in_whole : in_shard;
            switch (array.width) {
                case 16: copy_vectors<uint4>(to, from, share.count, lanes); break;
                case 8: copy_vectors<uint2>(to, from, share.count, lanes); break;
                case 4: copy_vectors<std::uint32_t>(to, from, share.count, lanes); break;
                case 2: copy_vectors<std::uint16_t>(to, from, share.count, lanes); break;
                default: copy_vectors<std::uint8_t>(to, from, share.count, lanes);
            }
        } else if constexpr (is_padded<L> && To == Direction::to_shard) {
            const int size = array.move.fill.size;
            switch (array.width) {
                case 16: fill_vectors<uint4>(in_shard, array.fill, size, share.first, share.count, lanes); break;
                case 8: fill_vectors<uint2>(in_shard, array.fill, size, share.first, share.count, lanes); break;
                case 4: fill_vectors<std::uint32_t>(in_shard, array.fill, size, share.first, share.count, lanes); break;
                case 2: fill_vectors<std::uint16_t>(in_shard, array.fill, size, share.first, share.count, lanes); break;
                default: fill_vectors<std::uint8_t>(in_shard, array.fill, size, share.first, share.count, lanes);
            }
        }
    }
}

// Up to N arrays with layouts of one type.
template <class L, std::size_t N>
struct MoveGroup {
    using layout_type = L;
    DeviceMove<L> arrays[N];
    int count = 0;
};

// The tile, if it is one of this group's (`tile` counts on into the next group's otherwise), and the check of its layouts.
template <Direction To, class L, std::size_t N>
__device__ bool run_group(const MoveGroup<L, N>& group, std::int64_t& tile) {
    for (int i = 0; i < group.count; ++i) {
        if (tile < group.arrays[i].blocks) {
            move_tile<To>(group.arrays[i], tile);
            return true;
        }
        tile -= group.arrays[i].blocks;
    }
    return false;
}
template <class L, std::size_t N>
__device__ void check_group(const MoveGroup<L, N>& group, Status* status) {
    for (int i = 0; i < group.count; ++i) {
        if (group.arrays[i].checked)
            check_layouts(group.arrays[i].move.layout, status, thread_number(), thread_count());
    }
}

template <Direction To, class... Groups>
struct MoveBatch {
    cuda::std::tuple<Groups...> groups;
    std::int64_t blocks = 0;
    Status* status = nullptr;
};

template <Direction To, class... Groups, std::size_t... Int>
__device__ void run_batch(const MoveBatch<To, Groups...>& batch, std::int64_t tile, std::index_sequence<Int...>) {
    (void)(run_group<To>(cuda::std::get<Int>(batch.groups), tile) || ...);
}
template <Direction To, class... Groups, std::size_t... Int>
__device__ void check_batch(const MoveBatch<To, Groups...>& batch, std::index_sequence<Int...>) {
    (check_group(cuda::std::get<Int>(batch.groups), batch.status), ...);
}

template <Direction To, class... Groups>
inline constexpr bool fills_pads = To == Direction::to_shard && (is_padded<typename Groups::layout_type> || ...);

// 40 registers, and 48 where pad slots are filled.
template <Direction To, class... Groups>
__global__ void __launch_bounds__(block_threads, resident(fills_pads<To, Groups...> ? 5 : 6))
    move_kernel(const __grid_constant__ MoveBatch<To, Groups...> batch) {
    using Numbers = std::index_sequence_for<Groups...>;
    for (std::int64_t tile = blockIdx.x; tile < batch.blocks; tile += gridDim.x)
        run_batch(batch, tile, Numbers{});
    if (batch.status != nullptr) check_batch(batch, Numbers{});
}

template <class L, std::size_t N>
std::int64_t add_to_group(MoveGroup<L, N>& group, const SlotMove<L>& move) {
    DeviceMove<L>& array = group.arrays[group.count++];
    array = device_move(move);
    array.checked = true;
    for (int i = 0; i + 1 < group.count; ++i)
        array.checked = array.checked && std::memcmp(&group.arrays[i].move.layout, &move.layout, sizeof(L)) != 0;
    return array.blocks;
}

template <Direction To, CudaExec D, class... Groups>
void launch_batch(const D& exec, MoveBatch<To, Groups...>& batch, const char* operation) {
    if (batch.blocks == 0) return;
    batch.status = sink_of(exec);
    launch(exec, operation, batch.blocks, move_kernel<To, Groups...>, batch);
}

// The distinct types of a pack, as a MoveGroup each, with as many places as the pack has of it.
template <class Done, class... Rest>
struct group_types {
    using type = Done;
};
template <Direction To, class... Groups, class L, class... Rest>
struct group_types<MoveBatch<To, Groups...>, L, Rest...> {
    static constexpr bool known = (std::is_same_v<typename Groups::layout_type, L> || ...);
    static constexpr std::size_t places = 1 + (std::size_t{std::is_same_v<L, Rest>} + ... + 0);
    using Next = std::conditional_t<known, MoveBatch<To, Groups...>, MoveBatch<To, Groups..., MoveGroup<L, places>>>;
    using type = typename group_types<Next, Rest...>::type;
};

template <class L, class Batch, std::size_t Int = 0>
auto& group_of(Batch& batch) {
    auto& group = cuda::std::get<Int>(batch.groups);
    if constexpr (std::is_same_v<typename std::remove_reference_t<decltype(group)>::layout_type, L>) {
        return group;
    } else {
        return group_of<L, Batch, Int + 1>(batch);
    }
}

inline constexpr std::size_t most_arrays = 16;  // of a launch

// Moves First, First + 1, … of a tuple of them, in one launch.
template <Direction To, std::size_t First, CudaExec D, class Moves, std::size_t... Int>
void launch_moves(const D& exec, const Moves& moves, std::index_sequence<Int...>) {
    typename group_types<MoveBatch<To>, std::remove_cvref_t<decltype(std::get<First + Int>(moves).layout)>...>::type
        batch;
    ((batch.blocks += add_to_group(group_of<std::remove_cvref_t<decltype(std::get<First + Int>(moves).layout)>>(batch),
                                   std::get<First + Int>(moves))),
     ...);
    launch_batch(exec, batch, "seqpar::shard_batch");
}
template <Direction To, std::size_t First, CudaExec D, class Moves>
void launch_from(const D& exec, const Moves& moves) {
    constexpr std::size_t rest = std::tuple_size_v<Moves> - First;
    if constexpr (rest > 0) {
        constexpr std::size_t count = rest < most_arrays ? rest : most_arrays;
        launch_moves<To, First>(exec, moves, std::make_index_sequence<count>{});
        launch_from<To, First + count>(exec, moves);
    }
}

// The moves of a batch on CUDA: one launch for up to 16 arrays.
template <Direction To, CudaExec D, Layout... Ls>
void run_moves(Dispatch, const D& exec, const SlotMove<Ls>&... moves) {
    launch_from<To, 0>(exec, std::tie(moves...));
    finish(exec, "seqpar::shard_batch");
}

// The shards of all ranks on CUDA: a launch for every 16.
template <CudaExec D, Layout L, class S>
void move_ranks(Dispatch, const D& exec, std::int64_t, int ranks, const MoveOfRank<L, S>& move_of) {
    constexpr int most = static_cast<int>(most_arrays);
    for (int first = 0; first < ranks; first += most) {
        MoveBatch<Direction::to_whole, MoveGroup<L, most_arrays>> batch;
        for (int rank = first; rank < ranks && rank < first + most; ++rank)
            batch.blocks += add_to_group(cuda::std::get<0>(batch.groups), move_of(rank));
        launch_batch(exec, batch, "seqpar::unshard");
    }
    finish(exec, "seqpar::unshard");
}

}  // namespace seqpar::detail
