// Striped: stripes of `width` tokens dealt to the ranks in turn (layout E).
#pragma once

#include <seqpar/layout/concepts.hpp>

namespace seqpar {

// Slot k w + o of rank r is position (k P + r) w + o, for stripe k and offset o in [0, w).
class StripedLayout {
public:
    StripedLayout() = default;
    SEQPAR_HD constexpr StripedLayout(std::int64_t length, int ranks, std::int64_t width)
        : length_(length), share_(length / ranks), width_(ranks == 1 ? length : width), ranks_(ranks) {}

    SEQPAR_HD constexpr std::int64_t size() const { return length_; }
    SEQPAR_HD constexpr std::int64_t source_size() const { return length_; }
    SEQPAR_HD constexpr int ranks() const { return ranks_; }
    SEQPAR_HD constexpr std::int64_t slots(int) const { return share_; }
    SEQPAR_HD constexpr std::int64_t position(int rank, std::int64_t slot) const {
        const std::int64_t stripe = slot / width_;
        return (stripe * (ranks_ - 1) + rank) * width_ + slot;
    }
    SEQPAR_HD constexpr Place place(std::int64_t position) const {
        const std::int64_t stripe = position / width_;
        const std::int64_t turn = stripe / ranks_;
        return {static_cast<int>(stripe - turn * ranks_), turn * width_ + (position - stripe * width_)};
    }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return position; }
    SEQPAR_HD constexpr Run run_at(int rank, std::int64_t slot) const {
        return {position(rank, slot), slot, width_ - slot % width_};
    }

private:
    std::int64_t length_ = 0;
    std::int64_t share_ = 0;
    std::int64_t width_ = 1;
    int ranks_ = 1;
};

struct Striped {
    static constexpr bool equal_shards = true;

    std::int64_t width = 1;

    SEQPAR_HD constexpr std::int64_t multiple(int ranks) const {
        if (width < 1) return 0;
        return ranks == 1 ? 1 : detail::saturating_product(width, ranks);
    }
    SEQPAR_HD constexpr StripedLayout operator()(std::int64_t length, int ranks) const {
        detail::require(check(*this, length, ranks));
        return bind(length, ranks);
    }
    // Without the check, for lengths that have passed it.
    SEQPAR_HD constexpr StripedLayout bind(std::int64_t length, int ranks) const { return {length, ranks, width}; }
};

}  // namespace seqpar
