// Plans of exchanges, each computed by every rank alone from layouts (and rows): relayout, undo and redo of the balance, halos,
// rolls, and the rows of a bank that is encoded on many ranks. Both sides order rows by the slots of the rank that gets them.
// Every function here: Synchronises: never. Allocates: the result and what it is sorted from. Launches: none. Reads offsets on:
// the host.
#pragma once

#include <seqpar/exchange/plan.hpp>
#include <seqpar/index/detail/samples.hpp>
#include <seqpar/index/halo.hpp>
#include <seqpar/index/roll.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/move/vision_gather.hpp>

#include <span>

namespace seqpar {

namespace detail {

// `length` rows from `row` here, which belong to rank `other`. Sorted by (other, key).
struct PlanPiece {
    int other;
    std::int64_t key;
    std::int64_t row;
    std::int64_t length;
    bool operator<(const PlanPiece& b) const { return other != b.other ? other < b.other : key < b.key; }
};
using PlanPieces = std::vector<PlanPiece>;

// Of `length` consecutive positions, the first of which is at `place`, how many follow it there in consecutive slots.
template <Layout L>
std::int64_t together(const L& layout, const Place& place, std::int64_t length) {
    if constexpr (RunLayout<L>) {
        return (std::min)(length, layout.run_at(place.rank, place.slot).length);
    } else {
        return 1;
    }
}

// What `rank` holds under `here`, cut where it stops being a run of `there`; by rank there and, there or here, slot.
template <Layout Here, Layout There>
PlanPieces relayout_pieces(const Here& here, const There& there, int rank, bool by_slot_there) {
    PlanPieces pieces;
    if (rank >= here.ranks()) return pieces;
    auto cursor = runs(here, rank, 0, here.slots(rank));
    for (Run run; cursor.next(run);) {
        while (run.length > 0) {
            const Place place = there.place(run.position);
            const std::int64_t length = together(there, place, run.length);
            pieces.push_back({place.rank, by_slot_there ? place.slot : run.slot, run.slot, length});
            run = {run.position + length, run.slot + length, run.length - length};
        }
    }
    return pieces;
}

inline void append_pieces(PlanPieces pieces, std::vector<std::int64_t>& rows, std::vector<std::int64_t>& splits) {
    std::sort(pieces.begin(), pieces.end());
    for (const PlanPiece& piece : pieces) {
        for (std::int64_t i = 0; i < piece.length; ++i)
            rows.push_back(piece.row + i);
        splits[static_cast<std::size_t>(piece.other)] += piece.length;
    }
}

inline ExchangePlan plan_of(int rank, int ranks, std::int64_t rows_in, PlanPieces sent, std::int64_t rows_out,
                            PlanPieces received) {
    const auto group = static_cast<std::size_t>(ranks);
    ExchangePlan plan{rank, rows_in, rows_out, {}, std::vector<std::int64_t>(group), {}, {}, {}};
    plan.receive_splits.resize(group);
    append_pieces(std::move(sent), plan.send_rows, plan.send_splits);
    append_pieces(std::move(received), plan.receive_rows, plan.receive_splits);
    return with_repeats(std::move(plan));
}

template <Layout L>
std::int64_t slots_or_none(const L& layout, int rank) {
    return rank < layout.ranks() ? layout.slots(rank) : 0;
}

}  // namespace detail

// The plan of `rank` from its shard under `from` to its shard under `to`: two layouts over the same positions (those of the padded
// axis), with any offsets, over groups of any sizes: the exchange's group is the larger. The way back is relayout(to, from, rank),
// or reversed. Each row crosses once at most. Source: docs/design.md. Errors: an illegal layout, layouts of different size, a rank
// outside the group. Cost: linear in the rank's slots, and for each stretch of consecutive slots on both sides a search and its
// part in a sort.
template <Layout From, Layout To>
[[nodiscard]] ExchangePlan relayout(const From& from, const To& to, int rank) {
    static_assert(is_bijective<From> && is_bijective<To>, "relayout needs layouts that hold every entry once");
    throw_if_bad(check(from));
    throw_if_bad(check(to));
    if (from.size() != to.size()) throw_if_bad(make_status(Kind::extent, 1, 0, from.size(), to.size()));
    const int ranks = (std::max)(from.ranks(), to.ranks());
    if (rank < 0 || rank >= ranks) throw_if_bad(make_status(Kind::rank, 0, 0, ranks - 1, rank));
    return detail::plan_of(rank, ranks, detail::slots_or_none(from, rank),
                           detail::relayout_pieces(from, to, rank, true), detail::slots_or_none(to, rank),
                           detail::relayout_pieces(to, from, rank, false));
}

// From the balanced order to the sequence's own, in contiguous shards (the first ranks one longer), for layers that need it
// (SSM, linear attention). The redo is reversed(…). Errors: as relayout.
template <Layout L>
[[nodiscard]] ExchangePlan plan_undo(const L& layout, int rank) {
    throw_if_bad(check(layout));
    return relayout(layout, UnevenContiguous{}(layout.size(), layout.ranks()), rank);
}

namespace detail {

// Makes a plan out of the positions whose rows each rank gets (-1: none), told rank by rank.
template <Layout L>
class FetchPlan {
public:
    FetchPlan(const L& layout, int rank) : layout_(layout), rank_(rank) {
        throw_if_bad(check(layout));
        throw_if_bad(check_rank(layout, rank));
    }

    void add(int q, const std::vector<std::int64_t>& positions) {
        const auto count = static_cast<std::int64_t>(positions.size());
        if (q == rank_) rows_out_ = count;
        const std::int64_t* const position = positions.data();
        for (std::int64_t t = 0; t < count;) {
            if (position[t] < -1 || position[t] >= layout_.size())
                throw_if_bad(make_status(Kind::table, 0, t, layout_.size() - 1, position[t], q));
            std::int64_t length = 1;
            if (position[t] >= 0) {
                while (t + length < count && position[t + length] == position[t] + length)
                    ++length;
                if (position[t] + length > layout_.size()) length = layout_.size() - position[t];
                const Place place = layout_.place(position[t]);
                length = together(layout_, place, length);
                if (q == rank_) received_.push_back({place.rank, t, t, length});
                if (place.rank == rank_) sent_.push_back({q, t, place.slot, length});
            }
            t += length;
        }
    }

    ExchangePlan done() {
        return plan_of(rank_, layout_.ranks(), layout_.slots(rank_), std::move(sent_), rows_out_, std::move(received_));
    }

private:
    const L& layout_;
    int rank_;
    PlanPieces sent_{};
    PlanPieces received_{};
    std::int64_t rows_out_ = 0;
};

}  // namespace detail

// What each rank lacks: row t of what rank q gets is that of position wanted(q)[t], from the shards under `layout`; -1: nothing
// comes there. wanted: rank -> std::vector<std::int64_t>, the same on every rank. A row crosses once for each entry that names it.
// Errors: an illegal layout, a rank outside the group, a position that there is not. Cost: linear in what all ranks want.
template <Layout L, class Wanted>
[[nodiscard]] ExchangePlan plan_fetch(const L& layout, int rank, const Wanted& wanted) {
    detail::FetchPlan<L> plan(layout, rank);
    for (int q = 0; q < layout.ranks(); ++q)
        plan.add(q, wanted(q));
    return plan.done();
}

// From a shard to its halo [runs, window] (halo_positions; with cu_seqlens as the last argument, inside documents): what
// convolutions need besides the shard. Rows of the shard itself are copied; rows beyond an end are left as they are.
template <Layout L, OffsetArray... R>
    requires(sizeof...(R) <= 1)
[[nodiscard]] ExchangePlan plan_halo(const L& layout, int rank, Side side, std::int64_t window,
                                     const R&... cu_seqlens) {
    detail::FetchPlan<L> plan(layout, rank);
    for (int q = 0; q < layout.ranks(); ++q)
        plan.add(q, halo_positions(layout, q, side, window, offsets(cu_seqlens)...));
    return plan.done();
}

// From a shard to that of the sequence rolled by `by` (roll_index; with cu_seqlens, inside documents): by -1 each slot gets the
// next token's row, which for the last of a run lies on another rank. Rows that get none are left as they are.
template <Layout L, OffsetArray... R>
    requires(sizeof...(R) <= 1)
[[nodiscard]] ExchangePlan plan_roll(const L& layout, int rank, std::int64_t by, const R&... cu_seqlens) {
    detail::FetchPlan<L> plan(layout, rank);
    for (int q = 0; q < layout.ranks(); ++q) {
        std::vector<std::int64_t> index(static_cast<std::size_t>(layout.slots(q)));
        roll_index(thrust::seq, layout, q, cu_seqlens..., by, index);
        plan.add(q, index);
    }
    return plan.done();
}

namespace detail {

inline Status check_cuts(std::span<const std::int64_t> cuts, int rank) {
    const auto ranks = static_cast<std::int64_t>(cuts.size()) - 1;
    if (ranks < 1) return make_status(Kind::ranks, 0, 0, 1, ranks < 0 ? 0 : ranks);
    if (rank < 0 || rank >= ranks) return make_status(Kind::rank, 0, 0, ranks - 1, rank);
    return check(Offsets<std::int64_t>(cuts.data(), ranks + 1), cuts.back());
}

}  // namespace detail

// From the bank rows that each rank encoded, [cuts[r], cuts[r + 1]) of a bank, to the whole bank on every rank. Reversed, adding
// to zeroed rows, it is the reduce-scatter of the bank's gradient. Errors: illegal cuts, a rank outside their group.
[[nodiscard]] inline ExchangePlan plan_all_gather_v(std::span<const std::int64_t> cuts, int rank) {
    throw_if_bad(detail::check_cuts(cuts, rank));
    const int ranks = static_cast<int>(cuts.size()) - 1;
    const std::int64_t rows = cuts[static_cast<std::size_t>(rank) + 1] - cuts[static_cast<std::size_t>(rank)];
    detail::PlanPieces sent;
    detail::PlanPieces received;
    for (int r = 0; r < ranks; ++r) {
        const std::int64_t first = cuts[static_cast<std::size_t>(r)];
        sent.push_back({r, 0, 0, rows});
        received.push_back({r, 0, first, cuts[static_cast<std::size_t>(r) + 1] - first});
    }
    return detail::plan_of(rank, ranks, rows, std::move(sent), cuts.back(), std::move(received));
}

namespace detail {

// The rows of a rank's shard, sample by sample: -1 text, other_bank a token of another bank than the one asked for.
inline constexpr std::int32_t other_bank = -2;

template <Layout L, class Rows, class Banks>
std::vector<std::int32_t> rows_of_shard(const L& layout, int rank, const Rows& rows, const Banks& banks, int bank,
                                        std::int64_t bank_rows) {
    std::vector<std::int32_t> result;
    for (std::int64_t sample = 0; sample < samples_of(rows); ++sample) {
        auto cursor = source_runs(layout, rank, 0, layout.slots(rank));
        for (Run run; cursor.next(run);) {
            for (std::int64_t i = 0; i < run.length; ++i) {
                const std::int64_t token = run.position + i;
                const std::int32_t row = run.position < 0 ? -1 : entry(rows, sample, token);
                bool other = false;
                if constexpr (!std::is_same_v<Banks, NoArray>) other = row != -1 && entry(banks, sample, token) != bank;
                if (!other && (row < -1 || row >= bank_rows))
                    throw_if_bad(make_status(Kind::row_range, bank, sample * length_of(rows) + token, bank_rows, row));
                result.push_back(other ? other_bank : row);
            }
        }
    }
    return result;
}

template <Layout L, class Rows, class Banks, class Out>
ExchangePlan owned_plan(const L& layout, int rank, const Rows& rows, const Banks& banks, int bank,
                        std::span<const std::int64_t> cuts, Out out) {
    static_assert(std::is_same_v<typename Rows::value_type, std::int32_t> && Rows::rank() <= 2,
                  "rows are int32, [S] or [B, S]");
    static_assert(std::is_same_v<typename Out::value_type, std::int32_t> && Rows::rank() == Out::rank(),
                  "local rows are int32, with the axes of the rows");
    throw_if_bad(check(layout));
    throw_if_bad(check_rank(layout, rank));
    throw_if_bad(check_cuts(cuts, rank));
    const int ranks = static_cast<int>(cuts.size()) - 1;
    if (ranks != layout.ranks()) throw_if_bad(make_status(Kind::shard_count, 0, 0, layout.ranks(), ranks));
    constexpr auto axis = static_cast<std::int64_t>(Rows::rank()) - 1;
    if (length_of(rows) != layout.source_size())
        throw_if_bad(make_status(Kind::axis_extent, 0, 0, layout.source_size(), length_of(rows), axis));
    if (length_of(out) != layout.slots(rank))
        throw_if_bad(make_status(Kind::axis_extent, 1, 0, layout.slots(rank), length_of(out), axis));
    if (samples_of(out) != samples_of(rows))
        throw_if_bad(make_status(Kind::extent, 1, 0, samples_of(rows), samples_of(out), 0));

    const std::int64_t first = cuts[static_cast<std::size_t>(rank)];
    const std::int64_t last = cuts[static_cast<std::size_t>(rank) + 1];
    PlanPieces sent;
    PlanPieces received;
    std::vector<std::int32_t> tokens;  // of this rank
    std::vector<std::int32_t> owned;   // the rows that they refer to
    for (int q = 0; q < ranks; ++q) {
        std::vector<std::int32_t> of_shard = rows_of_shard(layout, q, rows, banks, bank, cuts.back());
        std::vector<std::int32_t> wanted;
        for (const std::int32_t row : of_shard) {
            if (row >= 0 && (q == rank || (row >= first && row < last))) wanted.push_back(row);
        }
        std::sort(wanted.begin(), wanted.end());
        wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
        for (const std::int32_t row : wanted) {
            if (row >= first && row < last) sent.push_back({q, row, row - first, 1});
        }
        if (q != rank) continue;
        tokens.swap(of_shard);
        owned.swap(wanted);
    }
    for (std::size_t i = 0; i < owned.size(); ++i) {
        const auto from = std::upper_bound(cuts.begin(), cuts.end(), owned[i]) - cuts.begin() - 1;
        received.push_back({static_cast<int>(from), owned[i], static_cast<std::int64_t>(i), 1});
    }
    std::size_t token = 0;
    for (std::int64_t sample = 0; sample < samples_of(out); ++sample) {
        for (std::int64_t slot = 0; slot < length_of(out); ++slot, ++token) {
            const std::int32_t row = tokens[token];
            if (row == other_bank) continue;
            const auto at = std::lower_bound(owned.begin(), owned.end(), row) - owned.begin();
            entry(out, sample, slot) = row < 0 ? -1 : static_cast<std::int32_t>(at);
        }
    }
    return plan_of(rank, ranks, last - first, std::move(sent), static_cast<std::int64_t>(owned.size()),
                   std::move(received));
}

}  // namespace detail

// From the bank rows that each rank encoded to the rows that each rank's own tokens refer to, in the bank's order and each once: c
// times fewer than the bank. The plan serves the bank, all its levels and, reversed, their gradients; VisionGather then reads
// local_rows, which is written: what rows of the shard become there (-1 text). Shapes: rows [S] or [B, S], int32, of the whole
// sequence (source_size()); local_rows the same with slots(rank). Errors: an illegal layout, illegal cuts, ranks that differ, a row
// outside the bank. Cost: linear in the tokens of all ranks, and a sort of the rows that come and go.
template <Layout L, StridedTensor Rows, WritableTensor Out>
[[nodiscard]] ExchangePlan plan_owned(const L& layout, int rank, const Rows& rows, std::span<const std::int64_t> cuts,
                                      Out&& local_rows) {
    return detail::owned_plan(layout, rank, view(rows), no_array, 0, cuts, view(local_rows));
}

// The same of one bank of several: rows is row_array(rows, banks), and of local_rows only text and the tokens of `bank` are
// written, so that a call for each bank gives them all.
template <Layout L, class Rows, class Banks, WritableTensor Out>
[[nodiscard]] ExchangePlan plan_owned(const L& layout, int rank, const detail::BankedRows<Rows, Banks>& rows, int bank,
                                      std::span<const std::int64_t> cuts, Out&& local_rows) {
    return detail::owned_plan(layout, rank, rows.rows, rows.banks, bank, cuts, view(local_rows));
}

}  // namespace seqpar
