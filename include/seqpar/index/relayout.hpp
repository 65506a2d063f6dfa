// Relayout: what one rank sends, and where it puts what it receives, when a sequence goes from one layout to another by one
// all-to-all. Every rank computes its own arrays alone. Not here: the exchange.
#pragma once

#include <seqpar/layout/runs.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace seqpar {

// The group of the exchange is as large as the larger of the two layouts' groups.
struct RelayoutPlan {
    std::vector<std::int64_t> send_rows;       // slots of the layout before, by (destination rank, destination slot)
    std::vector<std::int64_t> send_splits;     // [group] how many of them go to each rank, itself included
    std::vector<std::int64_t> receive_slots;   // slots of the layout after, by (source rank, slot here)
    std::vector<std::int64_t> receive_splits;  // [group] how many come from each rank
};

namespace detail {

// `length` slots from `slot` here, which rank `other` of the other layout holds in a row. Sorted by (other, key).
struct RelayoutPiece {
    int other;
    std::int64_t key;
    std::int64_t slot;
    std::int64_t length;
    bool operator<(const RelayoutPiece& b) const { return other != b.other ? other < b.other : key < b.key; }
};

// What `rank` holds under `here`, cut where it stops being a run of `there`; by rank there and, there or here, slot.
template <Layout Here, Layout There>
std::vector<RelayoutPiece> relayout_pieces(const Here& here, const There& there, int rank, bool by_slot_there) {
    std::vector<RelayoutPiece> pieces;
    if (rank >= here.ranks()) return pieces;
    auto cursor = runs(here, rank, 0, here.slots(rank));
    for (Run run; cursor.next(run);) {
        while (run.length > 0) {
            const Place place = there.place(run.position);
            std::int64_t length = 1;
            if constexpr (RunLayout<There>)
                length = (std::min)(run.length, there.run_at(place.rank, place.slot).length);
            pieces.push_back({place.rank, by_slot_there ? place.slot : run.slot, run.slot, length});
            run = {run.position + length, run.slot + length, run.length - length};
        }
    }
    std::sort(pieces.begin(), pieces.end());
    return pieces;
}

inline void append_pieces(const std::vector<RelayoutPiece>& pieces, std::vector<std::int64_t>& slots,
                          std::vector<std::int64_t>& splits) {
    for (const RelayoutPiece& piece : pieces) {
        for (std::int64_t i = 0; i < piece.length; ++i)
            slots.push_back(piece.slot + i);
        splits[static_cast<std::size_t>(piece.other)] += piece.length;
    }
}

}  // namespace detail

// The arrays of `rank` for the way from `from` to `to`, two layouts over the same positions (those of the padded axis) with
// groups of any sizes; the way back is relayout(to, from, rank). The rows that arrive from one rank are in the order of
// their slots here, so both sides agree for every pair of layouts. Source: docs/design.md. Errors: an illegal layout,
// layouts of different size, a rank outside the larger group. Synchronises: never. Allocates: the result and 32 bytes a
// piece, which is a stretch of consecutive slots on both sides. Cost: linear in slots, and for each piece a search and
// its part in a sort. Reads offsets on: the host.
template <Layout From, Layout To>
[[nodiscard]] RelayoutPlan relayout(const From& from, const To& to, int rank) {
    static_assert(is_bijective<From> && is_bijective<To>, "relayout needs layouts that hold every entry once");
    throw_if_bad(check(from));
    throw_if_bad(check(to));
    if (from.size() != to.size()) throw_if_bad(make_status(Kind::extent, 1, 0, from.size(), to.size()));
    const int ranks = (std::max)(from.ranks(), to.ranks());
    if (rank < 0 || rank >= ranks) throw_if_bad(make_status(Kind::rank, 0, 0, ranks - 1, rank));
    const auto group = static_cast<std::size_t>(ranks);
    RelayoutPlan plan{{}, std::vector<std::int64_t>(group), {}, std::vector<std::int64_t>(group)};
    detail::append_pieces(detail::relayout_pieces(from, to, rank, true), plan.send_rows, plan.send_splits);
    detail::append_pieces(detail::relayout_pieces(to, from, rank, false), plan.receive_slots, plan.receive_splits);
    return plan;
}

}  // namespace seqpar
