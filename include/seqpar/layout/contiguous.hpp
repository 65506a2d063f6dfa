// Contiguous: rank r holds the r-th equal part (layout F), and UnevenContiguous, the same for any length.
#pragma once

#include <seqpar/layout/concepts.hpp>

namespace seqpar {

// Rank r holds S/P positions, the first S mod P ranks one more: [r S/P, (r+1) S/P) where P divides S.
class ContiguousLayout {
public:
    ContiguousLayout() = default;
    SEQPAR_HD constexpr ContiguousLayout(std::int64_t length, int ranks)
        : length_(length), share_(length / ranks), longer_(static_cast<int>(length % ranks)), ranks_(ranks) {}

    SEQPAR_HD constexpr std::int64_t size() const { return length_; }
    SEQPAR_HD constexpr std::int64_t source_size() const { return length_; }
    SEQPAR_HD constexpr int ranks() const { return ranks_; }
    SEQPAR_HD constexpr std::int64_t slots(int rank) const { return share_ + (rank < longer_ ? 1 : 0); }
    SEQPAR_HD constexpr std::int64_t position(int rank, std::int64_t slot) const {
        return rank * share_ + (rank < longer_ ? rank : longer_) + slot;
    }
    SEQPAR_HD constexpr Place place(std::int64_t position) const {
        const std::int64_t in_longer = longer_ * (share_ + 1);
        if (position < in_longer) {
            const std::int64_t rank = position / (share_ + 1);
            return {static_cast<int>(rank), position - rank * (share_ + 1)};
        }
        const std::int64_t rank = (position - in_longer) / share_;
        return {static_cast<int>(rank) + longer_, position - in_longer - rank * share_};
    }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return position; }
    SEQPAR_HD constexpr Run run_at(int rank, std::int64_t slot) const {
        return {position(rank, slot), slot, slots(rank) - slot};
    }

private:
    std::int64_t length_ = 0;
    std::int64_t share_ = 0;
    int longer_ = 0;
    int ranks_ = 1;
};

struct Contiguous {
    static constexpr bool equal_shards = true;

    SEQPAR_HD constexpr std::int64_t multiple(int ranks) const { return ranks; }
    SEQPAR_HD constexpr ContiguousLayout operator()(std::int64_t length, int ranks) const {
        detail::require(check(*this, length, ranks));
        return bind(length, ranks);
    }
    // Without the check, for lengths that have passed it.
    SEQPAR_HD constexpr ContiguousLayout bind(std::int64_t length, int ranks) const { return {length, ranks}; }
};

// Any length.
struct UnevenContiguous {
    static constexpr bool equal_shards = false;

    SEQPAR_HD constexpr std::int64_t multiple(int) const { return 1; }
    SEQPAR_HD constexpr ContiguousLayout operator()(std::int64_t length, int ranks) const {
        detail::require(check(*this, length, ranks));
        return {length, ranks};
    }
};

}  // namespace seqpar
