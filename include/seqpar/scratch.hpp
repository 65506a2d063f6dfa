// Scratch memory for CUDA execs: an allocator over memory that the caller has, and the bounds that …_scratch_bytes are made of.
// Needs no CUDA. Not here: …_scratch_bytes of an operation; see its own header.
#pragma once

#include <seqpar/layout/status.hpp>

#include <cuda/cmath>

#include <cstddef>
#include <cstdint>

namespace seqpar {

// An allocator over memory that the caller has, for the scratch of CUDA execs: thrust::cuda::par_nosync(scratch).on(stream).
// An operation takes from its beginning and gives back when its launches are made: operations on one stream may share it.
class ScratchSpan {
public:
    using value_type = char;
    static constexpr std::int64_t unit = 256;  // what is given is a multiple of it

    // `bytes` bytes of device memory at `data`, aligned to 256.
    ScratchSpan(void* data, std::int64_t bytes) : data_(static_cast<char*>(data)), bytes_(bytes) {}

    // Error (scratch) where there is not enough left.
    char* allocate(std::ptrdiff_t bytes) {
        const std::int64_t rounded = cuda::round_up(std::int64_t{bytes}, unit);
        if (rounded > bytes_ - used_) throw_if_bad(make_status(Kind::scratch, 0, 0, rounded, bytes_ - used_));
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

namespace detail {

// An upper bound of what CUB's scan asks for: the state of each tile, of two sums and a flag, and what rounds it up. A tile is
// at least 128 sums.
constexpr std::int64_t scan_scratch_bytes(std::int64_t total, std::int64_t sum_bytes) {
    const std::int64_t tiles = cuda::ceil_div(total, std::int64_t{128}) + 32;
    return tiles * (2 * sum_bytes + 16) + 4 * ScratchSpan::unit;
}
// The same of CUB's radix sort of `total` pairs between two buffers each.
constexpr std::int64_t sort_scratch_bytes(std::int64_t total) {
    return total + (total / 1024 + 64) * 2048 + (std::int64_t{1} << 16);
}

}  // namespace detail

}  // namespace seqpar
