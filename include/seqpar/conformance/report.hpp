// The laws of the conformance suites by name, and the report of the first that is broken. Not here: the laws themselves; see
// layout.hpp, tensor.hpp and communicator.hpp.
#pragma once

#include <seqpar/detail/config.hpp>

#include <cstdint>
#include <string>

namespace seqpar::conformance {

enum class Law : unsigned char {
    none,
    shards_partition,  // ranks >= 1, slots add up to size(), positions lie in [0, size()); none twice by the next law
    place_inverts_position,       // place(position(rank, slot)) == (rank, slot)
    position_inverts_place,       // position(place(p)) == p for every p
    run_at_agrees,                // run_at is never empty, stays in the shard and agrees with position
    runs_join,                    // the runs of [first, last) join to it, are not empty and agree with position
    source_runs_join,             // the same of source_runs, which agree with source
    sources_once,                 // every source in [0, source_size()) occurs once, every other slot is a pad (-1)
    packed_is_its_documents,      // Packed deals each document as its policy does
    nested_is_its_parts,          // Nested equals the outer layout after the inner one
    padded_is_its_base,           // Padded deals as its base does and numbers the real tokens in order
    one_rank_is_identity,         // one rank holds every length, in order; multiple(1) is 1
    policy_gives_what_was_asked,  // the layout of policy(length, ranks) has that length and those ranks
    multiples_are_legal,          // multiple(ranks) >= 1, and its multiples pass check
    others_are_refused,           // lengths in between do not, and the policy throws for them
    equal_shards_hold,            // where P::equal_shards, all ranks hold equally many
    // of tensors
    extents_are_lengths,      // no extent is negative, and there are 1 to 8 axes
    elements_are_distinct,    // no two elements share a byte
    view_is_stable,           // two views of one tensor are the same extents, strides and memory: no copy
    const_view_agrees,        // the view of the const tensor is the same memory
    const_view_is_read_only,  // and does not write to it (of a type that owns its elements)
    shard_agrees,             // shard along every axis gives the elements that the layout says, bit for bit
    unshard_restores,         // unshard puts them back, bit for bit, each where it was
    // of communicators; none writes past its output
    ranks_agree,  // rank() lies in [0, size())
    messages_arrive,  // every message, of no elements too, arrives whole, and two of a pair in their order
    all_gather_joins,  // all_gather(_v) gives the parts of all ranks in order, in place as well
    all_to_all_v_transposes,  // part r goes to rank r
    reduce_scatter_reduces,  // reduce_scatter(_v) gives the own part, reduced over ranks
    all_reduce_reduces,  // all_reduce gives the same to all, in place as well
    maxima_reach_hosts,  // max_of_host, or an all_reduce of host memory
};

// The name of a law, as above.
[[nodiscard]] SEQPAR_HD constexpr const char* name(Law law) {
    switch (law) {
        case Law::none: return "none";
        case Law::shards_partition: return "shards_partition";
        case Law::place_inverts_position: return "place_inverts_position";
        case Law::position_inverts_place: return "position_inverts_place";
        case Law::run_at_agrees: return "run_at_agrees";
        case Law::runs_join: return "runs_join";
        case Law::source_runs_join: return "source_runs_join";
        case Law::sources_once: return "sources_once";
        case Law::packed_is_its_documents: return "packed_is_its_documents";
        case Law::nested_is_its_parts: return "nested_is_its_parts";
        case Law::padded_is_its_base: return "padded_is_its_base";
        case Law::one_rank_is_identity: return "one_rank_is_identity";
        case Law::policy_gives_what_was_asked: return "policy_gives_what_was_asked";
        case Law::multiples_are_legal: return "multiples_are_legal";
        case Law::others_are_refused: return "others_are_refused";
        case Law::equal_shards_hold: return "equal_shards_hold";
        case Law::extents_are_lengths: return "extents_are_lengths";
        case Law::elements_are_distinct: return "elements_are_distinct";
        case Law::view_is_stable: return "view_is_stable";
        case Law::const_view_agrees: return "const_view_agrees";
        case Law::const_view_is_read_only: return "const_view_is_read_only";
        case Law::shard_agrees: return "shard_agrees";
        case Law::unshard_restores: return "unshard_restores";
        case Law::ranks_agree: return "ranks_agree";
        case Law::messages_arrive: return "messages_arrive";
        case Law::all_gather_joins: return "all_gather_joins";
        case Law::all_to_all_v_transposes: return "all_to_all_v_transposes";
        case Law::reduce_scatter_reduces: return "reduce_scatter_reduces";
        case Law::all_reduce_reduces: return "all_reduce_reduces";
        case Law::maxima_reach_hosts: return "maxima_reach_hosts";
    }
    return "unknown";
}

// The first place where a law is broken, or nothing (law none). -1: plays no part.
struct Report {
    Law law = Law::none;
    const char* what = "";     // what `expected` and `got` count: rank, slot, position, length, …
    std::int64_t length = -1;  // of the layout: its size and number of ranks
    int ranks = -1;
    int rank = -1;  // where: rank and slot, or position
    std::int64_t slot = -1;
    std::int64_t position = -1;
    std::int64_t expected = 0;
    std::int64_t got = 0;
    int axis = -1;              // of a tensor
    std::int64_t element = -1;  // its number in row-major order, or in a message

    [[nodiscard]] SEQPAR_HD constexpr bool ok() const { return law == Law::none; }
};

// One line that says which law is broken, where, what was expected and what came. Host only.
[[nodiscard]] inline std::string describe(const Report& report) {
    if (report.ok()) return "every law holds";
    std::string line = std::string(name(report.law)) + " is broken";
    const std::int64_t numbers[] = {report.length,   report.ranks, report.rank,   report.slot,
                                    report.position, report.axis,  report.element};
    const char* const names[] = {"length", "ranks", "rank", "slot", "position", "axis", "element"};
    for (int i = 0; i < 7; ++i) {
        if (numbers[i] >= 0) line += std::string(", ") + names[i] + " " + std::to_string(numbers[i]);
    }
    return line + ": expected " + report.what + " " + std::to_string(report.expected) + ", got " +
           std::to_string(report.got);
}

}  // namespace seqpar::conformance
