// The laws of every layout at compile time, over families of small layouts: if this file compiles, they hold. The one test
// case runs the same families once more, so that sanitizers see them. Not here: large or random layouts.
#include <seqpar/conformance/layout.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/permuted.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace seqpar;
using namespace seqpar::conformance;

namespace {

// --- what they are ------------------------------------------------------------------------------------------------------

static_assert(LayoutPolicy<ZigZag> && LayoutPolicy<Contiguous> && LayoutPolicy<UnevenContiguous> &&
              LayoutPolicy<Striped>);
static_assert(RunLayout<ZigZagLayout> && RunLayout<ContiguousLayout>);
static_assert(RunLayout<StripedLayout> && RunLayout<Permuted>);
static_assert(RunLayout<Packed<ZigZag, std::int32_t>> && RunLayout<Packed<Striped, std::int64_t>>);
static_assert(RunLayout<Nested<Packed<ZigZag, std::int32_t>, Contiguous>>);
static_assert(RunLayout<Padded<ZigZagLayout, std::int32_t, std::int64_t>>);
static_assert(std::is_empty_v<ZigZag> && std::is_empty_v<Contiguous> && std::is_empty_v<UnevenContiguous>);
static_assert(ZigZag::equal_shards && Contiguous::equal_shards && Striped::equal_shards &&
              !UnevenContiguous::equal_shards);

// Near misses: a layout is no policy, a policy no layout, a number neither.
static_assert(!LayoutPolicy<ZigZagLayout> && !Layout<ZigZag> && !Layout<int> && !LayoutPolicy<int>);

// Only Padded and what is nested over it have pad slots.
static_assert(is_padded<Padded<ZigZagLayout, std::int32_t, std::int32_t>>);
static_assert(is_padded<Nested<Padded<ZigZagLayout, std::int32_t, std::int32_t>, Contiguous>>);
static_assert(!is_padded<ZigZagLayout> && !is_padded<Nested<ZigZagLayout, Contiguous>>);

// --- policies -----------------------------------------------------------------------------------------------------------

constexpr int ends =
    4;  // stretches of a shard begin and end at 5 slots: more would reach clang's limit on constant expressions

constexpr bool holds(auto policy, int max_ranks, int units) {
    return check_policy(policy, max_ranks, units, ends).ok();
}
static_assert(holds(ZigZag{}, 5, 2));
static_assert(holds(ZigZag{}, 7, 1));
static_assert(holds(Contiguous{}, 5, 2));
static_assert(holds(UnevenContiguous{}, 5, 13));
static_assert(holds(Striped{}, 4, 3));
static_assert(holds(Striped{3}, 3, 2));

// --- compositions -------------------------------------------------------------------------------------------------------

// Documents of 4, 0, 8, an empty one inside and the last offset repeated; and the same three times as long.
constexpr std::int32_t cu32[] = {0, 4, 4, 12, 12, 12};
constexpr std::int64_t cu64[] = {0, 4, 4, 12, 12, 12};
constexpr std::int32_t long_cu32[] = {0, 12, 12, 36, 36, 36};
constexpr std::int32_t real32[] = {0, 3, 3, 10, 10, 10};  // a pad in each document
constexpr std::int64_t real64[] = {0, 0, 0, 8, 8, 8};     // a document of pads, and one without
constexpr Offsets<std::int32_t> offsets32{cu32, 6};
constexpr Offsets<std::int64_t> offsets64{cu64, 6};
constexpr Offsets<std::int32_t> long_offsets32{long_cu32, 6};
constexpr Offsets<std::int32_t> real_offsets32{real32, 6};
constexpr Offsets<std::int64_t> real_offsets64{real64, 6};

template <class P, class I>
constexpr bool packed_holds(P policy, Offsets<I> cu_seqlens, std::int64_t total, int ranks) {
    const auto layout = packed(policy, cu_seqlens, total, ranks);
    return check(layout).ok() && check_layout(layout, ends).ok() &&
           packed_is_its_documents(policy, cu_seqlens, total, ranks).ok() &&
           (ranks != 1 || one_rank_is_identity(layout).ok());
}
static_assert(packed_holds(ZigZag{}, offsets32, 12, 1));
static_assert(packed_holds(ZigZag{}, offsets32, 12, 2));
static_assert(packed_holds(ZigZag{}, offsets64, 12, 2));
static_assert(packed_holds(ZigZag{}, long_offsets32, 36, 3));
static_assert(packed_holds(ZigZag{}, long_offsets32, 36, 6));
static_assert(packed_holds(Contiguous{}, offsets32, 12, 4));
static_assert(packed_holds(Striped{2}, offsets64, 12, 2));
static_assert(packed_holds(Striped{1}, offsets32, 12, 4));

template <class L, class P>
constexpr bool nested_holds(const L& outer, P inner, int parts) {
    const auto layout = nested(outer, inner, parts);
    return check(layout).ok() && check_layout(layout, ends).ok() && nested_is_its_parts(outer, inner, parts).ok();
}
static_assert(nested_holds(ZigZag{}(12, 2), Contiguous{}, 3));  // TP-SP, the cut inside a chunk
static_assert(nested_holds(ZigZag{}(16, 2), ZigZag{}, 2));
static_assert(nested_holds(Striped{}(12, 3), Contiguous{}, 2));                    // ring x Ulysses, striped
static_assert(nested_holds(UnevenContiguous{}(11, 3), UnevenContiguous{}, 2));     // shards of 4, 4, 3
static_assert(nested_holds(UnevenContiguous{}(2, 3), UnevenContiguous{}, 2));      // a shard of nothing
static_assert(nested_holds(packed(ZigZag{}, offsets32, 12, 2), Contiguous{}, 3));  // TP-SP on documents
static_assert(nested_holds(packed(ZigZag{}, offsets64, 12, 2), Striped{}, 2));
static_assert(nested_holds(packed(ZigZag{}, offsets32, 12, 2), Contiguous{}, 1));
// Two deep.
static_assert(nested_holds(nested(ZigZag{}(24, 2), Contiguous{}, 2), Contiguous{}, 3));
static_assert(nested_holds(nested(packed(ZigZag{}, offsets32, 12, 2), Contiguous{}, 2), UnevenContiguous{}, 2));

template <class L, class I, class J>
constexpr bool padded_holds(const L& base, Offsets<I> real, Offsets<J> padded_offsets, std::int64_t real_total) {
    const auto layout = padded(base, real, padded_offsets, real_total);
    return check(layout).ok() && check_layout(layout, ends).ok() &&
           padded_is_its_base(base, real, padded_offsets, real_total).ok();
}
static_assert(padded_holds(packed(ZigZag{}, offsets32, 12, 2), real_offsets32, offsets32, 10));
static_assert(padded_holds(packed(Contiguous{}, offsets64, 12, 4), real_offsets64, offsets32, 8));
static_assert(padded_holds(ZigZag{}(12, 3), real_offsets32, offsets64, 10));
static_assert(padded_holds(nested(packed(ZigZag{}, offsets32, 12, 2), Contiguous{}, 2), real_offsets64, offsets64, 8));
static_assert(nested_holds(padded(packed(ZigZag{}, offsets32, 12, 2), real_offsets32, offsets32, 10), Contiguous{}, 3));
static_assert(nested_holds(padded(ZigZag{}(12, 2), real_offsets64, offsets64, 8), UnevenContiguous{}, 4));

// Positions 0..10 in runs of 3, 2, 1, 5; rank 1 of 3 holds nothing, and two neighbours of rank 2 stay two runs.
constexpr Run runs_of_table[] = {{5, 0, 1}, {0, 1, 3}, {6, 0, 2}, {8, 2, 3}, {3, 5, 2}};
constexpr std::int64_t rank_runs[] = {0, 2, 2, 5};
constexpr std::int64_t by_position[] = {1, 4, 0, 2, 3};
constexpr Permuted permuted{RunTableView{runs_of_table, rank_runs, by_position, 5, 11, 3}};
static_assert(check(permuted).ok());
static_assert(check_layout(permuted).ok());
static_assert(permuted.slots(0) == 4 && permuted.slots(1) == 0 && permuted.slots(2) == 7);
static_assert(nested_holds(permuted, UnevenContiguous{}, 3));

// --- no layout at all -----------------------------------------------------------------------------------------------------

static_assert(check_layout(ZigZagLayout{}).ok() && check_layout(ContiguousLayout{}).ok() &&
              check_layout(StripedLayout{}).ok());
static_assert(check_layout(packed(ZigZag{}, Offsets<std::int32_t>{cu32, 1}, 0, 4)).ok());  // no document

}  // namespace

// `ranks` and the like are variables so that g++ does not work the checks out while it compiles, once more and bigger.
TEST_CASE("the laws hold at run time as they do at compile time") {
    int ranks = 12;
    int units = 4;
    CHECK(check_policy(ZigZag{}, ranks, units, 16).ok());
    CHECK(check_policy(Contiguous{}, ranks, 2 * units, 16).ok());
    CHECK(check_policy(UnevenContiguous{}, ranks, 10 * units, 16).ok());
    CHECK(check_policy(Striped{}, ranks, 2 * units, 16).ok());
    CHECK(check_policy(Striped{3}, ranks, units, 16).ok());
    for (ranks = 1; ranks <= 6; ++ranks) {
        if (12 % ZigZag{}.multiple(ranks) != 0) {
            continue;
        }
        CHECK(packed_holds(ZigZag{}, long_offsets32, 36, ranks));
        CHECK(packed_holds(Striped{2}, long_offsets32, 36, ranks));
    }
    CHECK(check_layout(permuted, units).ok());
}

TEST_CASE("what a policy cannot deal out throws") {
    CHECK(check_refusals(ZigZag{}).ok());
    CHECK(check_refusals(Contiguous{}).ok());
    CHECK(check_refusals(UnevenContiguous{}).ok());
    CHECK(check_refusals(Striped{3}).ok());
}
