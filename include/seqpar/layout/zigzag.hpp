// ZigZag: rank r holds chunk r and chunk 2P-1-r of 2P equal chunks, which evens out causal attention (layout A; also known
// as head-tail, dual chunk swap or load-balanced). Not here: documents; see packed.hpp.
#pragma once

#include <seqpar/layout/concepts.hpp>

namespace seqpar {

// With c = S/(2P): positions [r c, (r+1) c), then [(2P-1-r) c, (2P-r) c). One rank holds everything, of any length.
class ZigZagLayout {
public:
    ZigZagLayout() = default;
    SEQPAR_HD constexpr ZigZagLayout(std::int64_t length, int ranks)
        : length_(length), chunk_(ranks == 1 ? length : length / (2 * std::int64_t{ranks})), ranks_(ranks) {}

    SEQPAR_HD constexpr std::int64_t size() const { return length_; }
    SEQPAR_HD constexpr std::int64_t source_size() const { return length_; }
    SEQPAR_HD constexpr int ranks() const { return ranks_; }
    SEQPAR_HD constexpr std::int64_t slots(int) const { return ranks_ == 1 ? length_ : 2 * chunk_; }
    SEQPAR_HD constexpr std::int64_t position(int rank, std::int64_t slot) const {
        return slot < chunk_ ? rank * chunk_ + slot : (2 * std::int64_t{ranks_} - 2 - rank) * chunk_ + slot;
    }
    SEQPAR_HD constexpr Place place(std::int64_t position) const {
        const std::int64_t chunk = position / chunk_;
        const std::int64_t inside = position - chunk * chunk_;
        if (chunk < ranks_) return {static_cast<int>(chunk), inside};
        return {static_cast<int>(2 * std::int64_t{ranks_} - 1 - chunk), chunk_ + inside};
    }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return position; }
    SEQPAR_HD constexpr Run run_at(int rank, std::int64_t slot) const {
        // A run is a chunk, on the last rank too, where the two chunks are neighbours.
        return {position(rank, slot), slot, (slot < chunk_ ? chunk_ : 2 * chunk_) - slot};
    }

private:
    std::int64_t length_ = 0;
    std::int64_t chunk_ = 0;
    int ranks_ = 1;
};

struct ZigZag {
    static constexpr bool equal_shards = true;

    SEQPAR_HD constexpr std::int64_t multiple(int ranks) const { return ranks == 1 ? 1 : 2 * std::int64_t{ranks}; }
    SEQPAR_HD constexpr ZigZagLayout operator()(std::int64_t length, int ranks) const {
        detail::require(check(*this, length, ranks));
        return bind(length, ranks);
    }
    // Without the check, for lengths that have passed it.
    SEQPAR_HD constexpr ZigZagLayout bind(std::int64_t length, int ranks) const { return {length, ranks}; }
};

}  // namespace seqpar
