// Indexed: any index array as what a shard reads, so that shard() is also a gather by index: for a roll, a halo, a list of tokens.
// Not here: making the indices; see index/roll.hpp, index/halo.hpp. No bijection: an entry may be named twice or never.
#pragma once

#include <seqpar/layout/offsets.hpp>

namespace seqpar {

// One rank whose slot t has source index[t], or is a pad slot where that is -1. A move with it is
// out[…, t, …] = in[…, index[t], …]. The index is borrowed and read where the layout is used. The adjoint,
// shard_adjoint, is defined only where no entry is named twice. unshard, restore_index, relayout and rows of local tokens need a
// bijection and do not compile.
template <OffsetInteger Int>
class Indexed {
public:
    static constexpr bool padded = true;
    static constexpr bool bijective = false;

    Indexed() = default;
    SEQPAR_HD constexpr Indexed(Offsets<Int> index, std::int64_t source_size)
        : index_(index), source_size_(source_size) {}

    SEQPAR_HD constexpr std::int64_t size() const { return index_.count(); }
    SEQPAR_HD constexpr std::int64_t source_size() const { return source_size_; }
    SEQPAR_HD constexpr int ranks() const { return 1; }
    SEQPAR_HD constexpr std::int64_t slots(int) const { return index_.count(); }
    SEQPAR_HD constexpr std::int64_t position(int, std::int64_t slot) const { return slot; }
    SEQPAR_HD constexpr Place place(std::int64_t position) const { return {0, position}; }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return index_[position]; }

    SEQPAR_HD constexpr Run run_at(int, std::int64_t slot) const { return {slot, slot, size() - slot}; }

    // A stretch of consecutive sources (or of pad slots, position -1) that begins at `position`, of at most 256: it is found
    // by reading, and whoever asks may want no more.
    SEQPAR_HD constexpr Run source_run(std::int64_t position, std::int64_t&) const {
        const std::int64_t first = index_[position];
        const std::int64_t step = first < 0 ? 0 : 1;
        const std::int64_t most = size() - position < 256 ? size() - position : 256;
        std::int64_t length = 1;
        while (length < most && index_[position + length] == first + step * length)
            ++length;
        return {first, position, length};
    }

    // Every index an entry of the array, or -1.
    [[nodiscard]] SEQPAR_HD constexpr Status check() const {
        for (std::int64_t t = 0; t < entries(); ++t) {
            if (const Status status = check_entry(t); !status.ok()) return status;
        }
        return {};
    }
    [[nodiscard]] SEQPAR_HD constexpr std::int64_t entries() const { return size(); }
    [[nodiscard]] SEQPAR_HD constexpr Status check_entry(std::int64_t t) const {
        return index_[t] < -1 || index_[t] >= source_size_
                   ? make_status(Kind::index_range, 0, t, source_size_ - 1, index_[t])
                   : Status{};
    }

private:
    Offsets<Int> index_{};
    std::int64_t source_size_ = 0;
};

// The layout of an index array: a contiguous container or span of int32 or int64, borrowed. source_size: the length of the
// axis that is read.
template <class R>
[[nodiscard]] constexpr auto indexed(R&& index, std::int64_t source_size) {
    return Indexed(offsets(std::forward<R>(index)), source_size);
}

}  // namespace seqpar
