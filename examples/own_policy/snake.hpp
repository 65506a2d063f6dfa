// A rule that the library does not know: a layout of some 20 lines and its policy. Not here: what it is used for (main.cpp).
#pragma once

#include <seqpar/conformance/layout.hpp>

#include <cstdint>

namespace sp = seqpar;

// Tokens are dealt like cards, one a rank, to ranks 0, 1, .., P-1 and back, P-1, .., 1, 0. SEQPAR_HD makes it callable in
// kernels. There is no run_at: runs are one token long anyway.
struct SnakeLayout {
    std::int64_t length = 0;
    int group = 1;

    SEQPAR_HD constexpr std::int64_t size() const { return length; }
    SEQPAR_HD constexpr std::int64_t source_size() const { return length; }
    SEQPAR_HD constexpr int ranks() const { return group; }
    SEQPAR_HD constexpr std::int64_t slots(int) const { return length / group; }
    SEQPAR_HD constexpr std::int64_t position(int rank, std::int64_t slot) const {
        return slot * group + (slot % 2 == 0 ? rank : group - 1 - rank);
    }
    SEQPAR_HD constexpr sp::Place place(std::int64_t position) const {
        const std::int64_t slot = position / group;
        const int turn = static_cast<int>(position - slot * group);
        return {slot % 2 == 0 ? turn : group - 1 - turn, slot};
    }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return position; }
};

struct Snake {
    static constexpr bool equal_shards = true;  // so Packed takes it

    SEQPAR_HD constexpr std::int64_t multiple(int ranks) const { return ranks; }
    SEQPAR_HD constexpr SnakeLayout operator()(std::int64_t length, int ranks) const {
        sp::throw_if_bad(sp::check(*this, length, ranks));  // an Error that names length and multiple
        return {length, ranks};
    }
};

static_assert(sp::LayoutPolicy<Snake>);
static_assert(sp::conformance::check_policy(Snake{}, 4, 2).ok());  // at compile time too
