// The laws that every layout and policy keeps, as functions: run them on a layout or policy of your own, in a test of any
// framework, in a static_assert or in a kernel. Not here: any layout, and checks of a caller's input (those give a Status).
//
//     const auto report = seqpar::conformance::check_policy(MyPolicy{});
//     if (!report.ok()) std::puts(seqpar::conformance::describe(report).c_str());
//
// Synchronises: never. Allocates: never. Reads offsets and tables: where it is called. Cost: linear in slots and stretches.
#pragma once

#include <seqpar/conformance/report.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>

#include <cstdint>

namespace seqpar::conformance {

namespace detail {

// Where in a layout a test stands; gives the report of a value that differs.
struct Spot {
    Law law;
    std::int64_t length;
    int ranks;
    int rank = -1;
    std::int64_t slot = -1;
    std::int64_t position = -1;

    SEQPAR_HD constexpr Report broken(const char* what, std::int64_t expected, std::int64_t got) const {
        return {law, what, length, ranks, rank, slot, position, expected, got};
    }
    SEQPAR_HD constexpr Spot at(int rank_, std::int64_t slot_) const { return {law, length, ranks, rank_, slot_, -1}; }
    SEQPAR_HD constexpr Spot at_position(std::int64_t position_) const {
        return {law, length, ranks, -1, -1, position_};
    }
};

template <Layout L>
SEQPAR_HD constexpr Spot spot(Law law, const L& layout) {
    return {law, layout.size(), layout.ranks()};
}

// End `i` of `count` for the stretches of a shard, in order, all of them where it has at most `count` slots; odd ones moved
// off the borders that powers of two have in common.
SEQPAR_HD constexpr std::int64_t stretch_end(std::int64_t slots, int i, int count) {
    const std::int64_t end = slots / count * i + slots % count * i / count;
    return slots > 2 * std::int64_t{count} && i % 2 == 1 ? end + 1 : end;
}

// Runs of one cursor against what `value(slot)` says; `constant` is a value that does not count up along a run.
template <class Cursor, class Value>
SEQPAR_HD constexpr Report runs_agree(Cursor cursor, Spot here, std::int64_t first, std::int64_t last,
                                      const Value& value) {
    std::int64_t slot = first;
    Run run{};
    while (cursor.next(run)) {
        here.slot = slot;
        if (run.slot != slot) return here.broken("slot", slot, run.slot);
        if (run.length < 1 || run.length > last - slot)
            return here.broken("length of at most", last - slot, run.length);
        for (std::int64_t k = 0; k < run.length; ++k) {
            here.slot = slot + k;
            const std::int64_t expected = value(slot + k);
            const std::int64_t got = run.position < 0 ? run.position : run.position + k;
            if (got != expected) return here.broken(here.law == Law::runs_join ? "position" : "source", expected, got);
        }
        slot += run.length;
    }
    here.slot = slot;
    if (slot != last) return here.broken("end", last, slot);
    if (cursor.next(run)) return here.broken("runs after the end", 0, 1);
    return {};
}

template <Layout L>
struct PositionOf {
    const L& layout;
    int rank;
    SEQPAR_HD constexpr std::int64_t operator()(std::int64_t slot) const { return layout.position(rank, slot); }
};

template <Layout L>
struct SourceOf {
    const L& layout;
    int rank;
    SEQPAR_HD constexpr std::int64_t operator()(std::int64_t slot) const {
        return layout.source(layout.position(rank, slot));
    }
};

}  // namespace detail

// --- laws of a layout -------------------------------------------------------------------------------------------------------

// Slots add up to the positions, and every position lies in range. With place_inverts_position (no position twice) this says
// that the shards partition the positions.
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Report shards_partition(const L& layout) {
    const detail::Spot here = detail::spot(Law::shards_partition, layout);
    if (layout.ranks() < 1) return here.broken("ranks of at least", 1, layout.ranks());
    if (layout.size() < 0) return here.broken("a size of at least", 0, layout.size());
    std::int64_t rest = layout.size();
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const std::int64_t slots = layout.slots(rank);
        if (slots < 0 || slots > rest) return here.at(rank, -1).broken("slots of at most", rest, slots);
        rest -= slots;
    }
    if (rest != 0) return here.broken("positions without a slot", 0, rest);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        for (std::int64_t slot = 0; slot < layout.slots(rank); ++slot) {
            const std::int64_t position = layout.position(rank, slot);
            if (position < 0 || position >= layout.size()) {
                return here.at(rank, slot).broken("a position below", layout.size(), position);
            }
        }
    }
    return {};
}

// place(position(rank, slot)) == (rank, slot). Positions in range are a precondition: run shards_partition first.
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Report place_inverts_position(const L& layout) {
    const detail::Spot start = detail::spot(Law::place_inverts_position, layout);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        for (std::int64_t slot = 0; slot < layout.slots(rank); ++slot) {
            const Place place = layout.place(layout.position(rank, slot));
            if (place.rank != rank) return start.at(rank, slot).broken("rank", rank, place.rank);
            if (place.slot != slot) return start.at(rank, slot).broken("slot", slot, place.slot);
        }
    }
    return {};
}

// position(place(p)) == p for every p.
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Report position_inverts_place(const L& layout) {
    const detail::Spot start = detail::spot(Law::position_inverts_place, layout);
    for (std::int64_t position = 0; position < layout.size(); ++position) {
        const detail::Spot here = start.at_position(position);
        const Place place = layout.place(position);
        if (place.rank < 0 || place.rank >= layout.ranks())
            return here.broken("a rank below", layout.ranks(), place.rank);
        if (place.slot < 0 || place.slot >= layout.slots(place.rank)) {
            return here.broken("a slot below", layout.slots(place.rank), place.slot);
        }
        const std::int64_t back = layout.position(place.rank, place.slot);
        if (back != position) return here.broken("position", position, back);
    }
    return {};
}

// run_at(rank, slot) starts at that slot, is not empty, stays inside the shard and agrees with position.
template <RunLayout L>
[[nodiscard]] SEQPAR_HD constexpr Report run_at_agrees(const L& layout) {
    const detail::Spot start = detail::spot(Law::run_at_agrees, layout);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const std::int64_t slots = layout.slots(rank);
        for (std::int64_t slot = 0; slot < slots; ++slot) {
            const detail::Spot here = start.at(rank, slot);
            const Run run = layout.run_at(rank, slot);
            if (run.slot != slot) return here.broken("slot", slot, run.slot);
            if (run.length < 1 || run.length > slots - slot)
                return here.broken("length of at most", slots - slot, run.length);
            for (std::int64_t k = 0; k < run.length; ++k) {
                const std::int64_t position = layout.position(rank, slot + k);
                if (run.position + k != position)
                    return start.at(rank, slot + k).broken("position", position, run.position + k);
            }
        }
    }
    return {};
}

// The runs of slots [first, last) of a rank join to them, none is empty, and positions agree.
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Report runs_join(const L& layout, int rank, std::int64_t first, std::int64_t last) {
    return detail::runs_agree(seqpar::runs(layout, rank, first, last),
                              detail::spot(Law::runs_join, layout).at(rank, first), first, last,
                              detail::PositionOf<L>{layout, rank});
}

// The same of source_runs: stretches of consecutive sources, or of pad slots (-1).
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Report source_runs_join(const L& layout, int rank, std::int64_t first,
                                                          std::int64_t last) {
    return detail::runs_agree(seqpar::source_runs(layout, rank, first, last),
                              detail::spot(Law::source_runs_join, layout).at(rank, first), first, last,
                              detail::SourceOf<L>{layout, rank});
}

// Both of the above for stretches of every shard: all of them where a shard has at most `ends` slots, else ends*ends/2. Fewer
// ends where a compiler's limit on constant expressions is reached.
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Report runs_join_everywhere(const L& layout, int ends = 8) {
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const std::int64_t slots = layout.slots(rank);
        const int count = slots < ends ? static_cast<int>(slots < 1 ? 1 : slots) : ends;
        for (int i = 0; i <= count; ++i) {
            for (int j = i; j <= count; ++j) {
                const std::int64_t first = detail::stretch_end(slots, i, count);
                const std::int64_t last = j == count ? slots : detail::stretch_end(slots, j, count);
                if (first > last) continue;
                const Report positions = runs_join(layout, rank, first, last);
                if (!positions.ok()) return positions;
                if (!is_padded<L> && j - i < count) continue;  // source_runs are the runs
                const Report sources = source_runs_join(layout, rank, first, last);
                if (!sources.ok()) return sources;
            }
        }
    }
    return {};
}

// Every source in [0, source_size()) belongs to one position; the others are pads, which only a padded layout has. Linear
// where sources grow with positions, else quadratic.
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Report sources_once(const L& layout) {
    const detail::Spot start = detail::spot(Law::sources_once, layout);
    if (layout.source_size() < 0 || layout.source_size() > layout.size()) {
        return start.broken("a source_size of at most", layout.size(), layout.source_size());
    }
    std::int64_t count = 0;
    std::int64_t greatest = -1;
    for (std::int64_t position = 0; position < layout.size(); ++position) {
        const detail::Spot here = start.at_position(position);
        const std::int64_t source = layout.source(position);
        if (source < -1 || source >= layout.source_size())
            return here.broken("a source below", layout.source_size(), source);
        if (!is_padded<L> && source != position) return here.broken("source", position, source);
        if (source == -1) continue;
        ++count;
        if (source <= greatest) {
            for (std::int64_t before = 0; before < position; ++before) {
                if (layout.source(before) == source) return here.broken("positions with this source", 1, 2);
            }
        } else {
            greatest = source;
        }
    }
    if (count != layout.source_size()) return start.broken("sources", layout.source_size(), count);
    return {};
}

// Every law of a layout. It must be legal: check(layout) is good.
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Report check_layout(const L& layout, int ends = 8) {
    Report report = shards_partition(layout);
    if (report.ok()) report = place_inverts_position(layout);
    if (report.ok()) report = position_inverts_place(layout);
    if constexpr (RunLayout<L>) {
        if (report.ok()) report = run_at_agrees(layout);
    }
    if (report.ok()) report = runs_join_everywhere(layout, ends);
    if (report.ok()) report = sources_once(layout);
    return report;
}

// One rank holds every position in order.
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Report one_rank_is_identity(const L& layout) {
    const detail::Spot start = detail::spot(Law::one_rank_is_identity, layout);
    if (layout.ranks() != 1) return start.broken("ranks", 1, layout.ranks());
    if (layout.slots(0) != layout.size()) return start.broken("slots", layout.size(), layout.slots(0));
    for (std::int64_t slot = 0; slot < layout.size(); ++slot) {
        if (layout.position(0, slot) != slot)
            return start.at(0, slot).broken("position", slot, layout.position(0, slot));
    }
    return {};
}

// --- laws of compositions ---------------------------------------------------------------------------------------------------

// packed(policy, cu_seqlens, total, ranks) deals document d as policy(its length, ranks) does, moved by cu[d] and cu[d]/ranks.
template <LayoutPolicy P, OffsetInteger Int>
[[nodiscard]] SEQPAR_HD constexpr Report packed_is_its_documents(const P& policy, Offsets<Int> cu_seqlens,
                                                                 std::int64_t total, int ranks) {
    const auto layout = seqpar::packed(policy, cu_seqlens, total, ranks);
    const detail::Spot start = detail::spot(Law::packed_is_its_documents, layout);
    std::int64_t slots = 0;
    for (std::int64_t d = 0; d < cu_seqlens.documents(); ++d) {
        const std::int64_t begin = cu_seqlens[d];
        const auto inside = policy(cu_seqlens[d + 1] - begin, ranks);
        for (int rank = 0; rank < ranks; ++rank) {
            for (std::int64_t slot = 0; slot < inside.slots(rank); ++slot) {
                const std::int64_t expected = begin + inside.position(rank, slot);
                const std::int64_t got = layout.position(rank, slots + slot);
                if (got != expected) return start.at(rank, slots + slot).broken("position", expected, got);
            }
        }
        slots += inside.slots(0);
    }
    for (int rank = 0; rank < ranks; ++rank) {
        if (layout.slots(rank) != slots) return start.at(rank, -1).broken("slots", slots, layout.slots(rank));
    }
    return {};
}

// nested(outer, inner, parts): rank r * parts + t holds what part t of inner(outer.slots(r), parts) holds of outer's shard r.
template <Layout L, LayoutPolicy P>
[[nodiscard]] SEQPAR_HD constexpr Report nested_is_its_parts(const L& outer, const P& inner, int parts) {
    const auto layout = seqpar::nested(outer, inner, parts);
    const detail::Spot start = detail::spot(Law::nested_is_its_parts, layout);
    if (layout.ranks() != outer.ranks() * parts) return start.broken("ranks", outer.ranks() * parts, layout.ranks());
    if (layout.size() != outer.size()) return start.broken("size", outer.size(), layout.size());
    if (layout.source_size() != outer.source_size()) {
        return start.broken("source_size", outer.source_size(), layout.source_size());
    }
    for (int outer_rank = 0; outer_rank < outer.ranks(); ++outer_rank) {
        const auto part_layout = inner(outer.slots(outer_rank), parts);
        for (int part = 0; part < parts; ++part) {
            const int rank = outer_rank * parts + part;
            const std::int64_t slots = part_layout.slots(part);
            if (layout.slots(rank) != slots) return start.at(rank, -1).broken("slots", slots, layout.slots(rank));
            for (std::int64_t slot = 0; slot < slots; ++slot) {
                const std::int64_t expected = outer.position(outer_rank, part_layout.position(part, slot));
                const std::int64_t got = layout.position(rank, slot);
                if (got != expected) return start.at(rank, slot).broken("position", expected, got);
                if (layout.source(got) != outer.source(expected)) {
                    return start.at(rank, slot).broken("source", outer.source(expected), layout.source(got));
                }
            }
        }
    }
    return {};
}

// padded(base, real, padded, real_total) deals as base does; the first tokens of document d, as many as real says, have the
// sources real[d], real[d] + 1, …, and the rest of it is pads.
template <Layout L, OffsetInteger Int, OffsetInteger J>
[[nodiscard]] SEQPAR_HD constexpr Report padded_is_its_base(const L& base, Offsets<Int> real, Offsets<J> padded_offsets,
                                                            std::int64_t real_total) {
    const auto layout = seqpar::padded(base, real, padded_offsets, real_total);
    const detail::Spot start = detail::spot(Law::padded_is_its_base, layout);
    if (layout.size() != base.size()) return start.broken("size", base.size(), layout.size());
    if (layout.source_size() != real_total) return start.broken("source_size", real_total, layout.source_size());
    for (int rank = 0; rank < base.ranks(); ++rank) {
        if (layout.slots(rank) != base.slots(rank))
            return start.at(rank, -1).broken("slots", base.slots(rank), layout.slots(rank));
        for (std::int64_t slot = 0; slot < base.slots(rank); ++slot) {
            const std::int64_t expected = base.position(rank, slot);
            const std::int64_t got = layout.position(rank, slot);
            if (got != expected) return start.at(rank, slot).broken("position", expected, got);
        }
    }
    for (std::int64_t d = 0; d < padded_offsets.documents(); ++d) {
        const std::int64_t length = real[d + 1] - real[d];
        for (std::int64_t position = padded_offsets[d]; position < padded_offsets[d + 1]; ++position) {
            const std::int64_t inside = position - padded_offsets[d];
            const std::int64_t expected = inside < length ? real[d] + inside : -1;
            const std::int64_t got = layout.source(position);
            if (got != expected) return start.at_position(position).broken("source", expected, got);
        }
    }
    return {};
}

// --- laws of a policy -------------------------------------------------------------------------------------------------------

// Every law of policy(length, ranks), which must be a legal length, and that it is what was asked for.
template <LayoutPolicy P>
[[nodiscard]] SEQPAR_HD constexpr Report check_policy_at(const P& policy, std::int64_t length, int ranks,
                                                         int ends = 8) {
    const detail::Spot asked{Law::policy_gives_what_was_asked, length, ranks};
    const auto layout = policy(length, ranks);
    if (layout.size() != length) return asked.broken("size", length, layout.size());
    if (layout.ranks() != ranks) return asked.broken("ranks", ranks, layout.ranks());
    Report report = check_layout(layout, ends);
    if (report.ok() && ranks == 1) report = one_rank_is_identity(layout);
    if constexpr (P::equal_shards) {
        for (int rank = 1; report.ok() && rank < ranks; ++rank) {
            if (layout.slots(rank) != layout.slots(0)) {
                report = detail::spot(Law::equal_shards_hold, layout)
                             .at(rank, -1)
                             .broken("slots", layout.slots(0), layout.slots(rank));
            }
        }
    }
    return report;
}

// Every law of a policy over 1 to max_ranks ranks, for lengths of 0 to max_units multiples, and that lengths in between are
// refused by check. One rank takes every length.
template <LayoutPolicy P>
[[nodiscard]] SEQPAR_HD constexpr Report check_policy(const P& policy, int max_ranks = 8, int max_units = 3,
                                                      int ends = 8) {
    if (policy.multiple(1) != 1) {
        return detail::Spot{Law::one_rank_is_identity, -1, 1}.broken("multiple", 1, policy.multiple(1));
    }
    for (int ranks = 1; ranks <= max_ranks; ++ranks) {
        const std::int64_t multiple = policy.multiple(ranks);
        if (multiple < 1) {
            return detail::Spot{Law::multiples_are_legal, -1, ranks}.broken("a multiple of at least", 1, multiple);
        }
        // One rank has no lengths in between, so as many lengths as the others have.
        const std::int64_t units = ranks == 1 ? max_units * policy.multiple(max_ranks) : max_units;
        for (std::int64_t unit = 0; unit <= units; ++unit) {
            const std::int64_t length = unit * multiple;
            const Status status = seqpar::check(policy, length, ranks);
            if (!status.ok()) {
                return detail::Spot{Law::multiples_are_legal, length, ranks}.broken(
                    "kind", 0, static_cast<std::int64_t>(status.kind()));
            }
            const Report report = check_policy_at(policy, length, ranks, ends);
            if (!report.ok()) return report;
            for (std::int64_t more = 1; more < multiple; ++more) {
                const Kind kind = seqpar::check(policy, length + more, ranks).kind();
                if (kind != Kind::multiple) {
                    return detail::Spot{Law::others_are_refused, length + more, ranks}.broken(
                        "kind", static_cast<std::int64_t>(Kind::multiple), static_cast<std::int64_t>(kind));
                }
            }
        }
    }
    return {};
}

// Whether policy(length, ranks) throws Error for all that check refuses: lengths in between, negative ones, no rank. Host only.
template <LayoutPolicy P>
[[nodiscard]] Report check_refusals(const P& policy, int max_ranks = 8, int max_units = 3) {
    for (int ranks = -1; ranks <= max_ranks; ++ranks) {
        const std::int64_t longest = ranks < 1 ? 1 : max_units * policy.multiple(ranks);
        for (std::int64_t length = -1; length <= longest; ++length) {
            if (seqpar::check(policy, length, ranks).ok()) continue;
            bool refused = false;
            try {
                static_cast<void>(policy(length, ranks));
            } catch (const Error&) {
                refused = true;
            }
            if (!refused) return detail::Spot{Law::others_are_refused, length, ranks}.broken("exceptions", 1, 0);
        }
    }
    return {};
}

}  // namespace seqpar::conformance
