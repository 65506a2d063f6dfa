// How the threads of a launch share rows of bytes (slots, token vectors), and the accesses that they make. Compiles under nvcc
// alone. Not here: any kernel.
#pragma once

#include <seqpar/detail/cuda_exec.hpp>

#include <cuda/cmath>

#include <cstddef>

namespace seqpar::detail {

inline constexpr int accesses_a_thread = 16;  // of a wide row, at most
inline constexpr int warp_bits = 5;

// How many blocks a multiprocessor is to hold, for __launch_bounds__: a bound on registers. Turing's holds 1024 threads.
SEQPAR_HD constexpr int resident(int blocks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
    return blocks < 4 ? blocks : 4;
#else
    return blocks;
#endif
}

// The widest access, up to 16 bytes, that divides all that is or-ed together.
inline int access_width(std::uint64_t together) {
    const std::uint64_t all = together | 16;
    return static_cast<int>(all & (~all + 1));
}

// A block does one tile: some rows of one part. Wide rows, of 16 bytes and more: 2^lane_bits threads share a row, up to 16
// accesses a thread and part. Narrow ones: a thread does up to 4 rows.
struct RowTiles {
    std::int64_t rows = 0;
    std::int64_t accesses = 0;  // of a row
    std::int64_t parts = 1;     // of a row
    std::int64_t row_blocks = 0;
    int lane_bits = 0;
    int rows_a_thread = 1;

    __device__ int lanes() const { return 1 << lane_bits; }
    // The first row of this thread in row block `block`.
    __device__ std::int64_t row(std::int64_t block) const {
        return block * (block_threads >> lane_bits) * rows_a_thread + (threadIdx.x >> lane_bits);
    }
};

inline RowTiles row_tiles(std::int64_t rows, std::int64_t row_bytes, int width) {
    RowTiles tiles;
    tiles.rows = rows;
    tiles.accesses = row_bytes / width;
    if (row_bytes >= 16) {
        // As few lanes as give each four accesses; so many that sectors of 32 bytes are whole, and a lane for each access where
        // a row is not made of sectors.
        const std::int64_t each = row_bytes % 32 == 0 ? 4 : 1;
        while (tiles.lane_bits < warp_bits && tiles.accesses > std::int64_t{1} << tiles.lane_bits &&
               (tiles.accesses > each << tiles.lane_bits || width << tiles.lane_bits < 32))
            ++tiles.lane_bits;
        tiles.parts = cuda::ceil_div(tiles.accesses, std::int64_t{accesses_a_thread} << tiles.lane_bits);
    } else {
        tiles.rows_a_thread = 4;
    }
    tiles.row_blocks = cuda::ceil_div(rows, std::int64_t{block_threads >> tiles.lane_bits} * tiles.rows_a_thread);
    return tiles;
}

// The accesses of a row that are this thread's: `count` of them, lanes() apart.
struct LaneShare {
    std::int64_t first = 0;
    int count = 0;
};

// Takes the part of a row from the number of a tile.
inline __device__ LaneShare lane_share(const RowTiles& tiles, std::int64_t& tile) {
    LaneShare share;
    share.first = threadIdx.x & (tiles.lanes() - 1);
    if (tiles.parts > 1) {
        const std::int64_t rest = tile / tiles.parts;
        share.first += (tile - rest * tiles.parts) * (accesses_a_thread << tiles.lane_bits);
        tile = rest;
    }
    const std::int64_t rest = tiles.accesses - share.first;
    share.count = accesses_a_thread;
    if (rest < accesses_a_thread << tiles.lane_bits) {
        share.count = rest <= 0 ? 0 : static_cast<int>((rest + tiles.lanes() - 1) >> tiles.lane_bits);
    }
    return share;
}

template <std::size_t Bytes>
struct access {};
template <>
struct access<16> {
    using type = uint4;
};
template <>
struct access<8> {
    using type = uint2;
};
template <>
struct access<4> {
    using type = std::uint32_t;
};
template <>
struct access<2> {
    using type = std::uint16_t;
};
template <>
struct access<1> {
    using type = std::uint8_t;
};

}  // namespace seqpar::detail
