// Faults reported in public against projects that do this job, as far as layouts can have them: each test is named after what
// it shows, with the number that the fault has in our list. Not here: faults of labels, moves and exchanges.
#include "lists.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/multiples.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace seqpar;
using test::List;
using test::Lists;
using test::shard;
using test::shards;

namespace {

template <Layout L>
std::int64_t valid_slots(const L& layout, int rank) {
    const List sources = test::sources(layout, rank);
    return static_cast<std::int64_t>(sources.size()) - std::count(sources.begin(), sources.end(), -1);
}

// Causal work: position inside the document + 1, summed over a shard.
std::int64_t work(const List& shard, const List& cu) {
    std::int64_t sum = 0;
    for (std::int64_t position : shard) {
        sum += position - *(std::upper_bound(cu.begin(), cu.end(), position) - 1) + 1;
    }
    return sum;
}

}  // namespace

// --- A. divisibility and short inputs -----------------------------------------------------------------------------------

TEST_CASE("1: the last real token of an odd length is not lost") {
    const List real{0, 7};
    const List cu{0, 8};
    const auto layout = padded(packed(ZigZag{}, cu, 8, 2), real, cu, 7);
    REQUIRE(check(layout).ok());
    CHECK(shards(layout) == Lists{{0, 1, 6, 7}, {2, 3, 4, 5}});
    CHECK(valid_slots(layout, 0) == 3);
    CHECK(valid_slots(layout, 1) == 4);
}

TEST_CASE("4: a stream padded to C is not aligned for two chunks a rank") {
    CHECK(check(ZigZag{}, 24, 8).kind() == Kind::multiple);
    CHECK(check(ZigZag{}, 24, 8).expected == 16);
    CHECK(pad_multiple(ZigZag{}, 8) == 16);
    CHECK(round_up(24, pad_multiple(ZigZag{}, 8)) == 32);
    CHECK(shard(ZigZag{}(32, 8), 0) == List{0, 1, 30, 31});
}

TEST_CASE("5: no chunk of the remainder is dropped") {
    CHECK(check(Contiguous{}, 56700, 8).kind() == Kind::multiple);
    const std::int64_t length = round_up(56700, pad_multiple(ZigZag{}, 8));
    CHECK(length == 56704);
    const List real{0, 56700};
    const List cu{0, length};
    const auto contiguous = padded(Contiguous{}(length, 8), real, cu, 56700);
    CHECK(contiguous.slots(7) == 7088);
    std::int64_t valid = 0;
    for (int rank = 0; rank < 8; ++rank) {
        valid += valid_slots(contiguous, rank);
    }
    CHECK(valid == 56700);
    CHECK(ZigZag{}(length, 8).run_at(0, 0).length == 3544);
}

TEST_CASE("6: a length that would give uneven chunks is an error, and padded it is even") {
    CHECK(check(ZigZag{}, 2999, 4).kind() == Kind::multiple);
    const List real{0, 2999};
    const List cu{0, 3000};
    const auto layout = padded(ZigZag{}(3000, 4), real, cu, 2999);
    for (int rank = 0; rank < 4; ++rank) {
        CHECK(layout.slots(rank) == 750);
    }
    CHECK(shard(layout, 0) == test::joined(test::range(0, 375), test::range(2625, 3000)));
    CHECK(layout.source(2999) == -1);
    CHECK(layout.source(2998) == 2998);
}

TEST_CASE("8: an array of cu_seqlens is no sequence of tokens") {
    const Status status = check(ZigZag{}, 5, 32);
    CHECK(status.kind() == Kind::multiple);
    CHECK(status.expected == 64);
    CHECK(status.got == 5);
    CHECK(ZigZag{}(256, 32).slots(31) == 8);
}

TEST_CASE("9: uneven shards are an error, or asked for and of known sizes") {
    CHECK(check(Contiguous{}, 3, 2).kind() == Kind::multiple);
    const auto layout = UnevenContiguous{}(3, 2);
    CHECK(layout.slots(0) == 2);
    CHECK(layout.slots(1) == 1);
    CHECK(test::restore(layout) == List{0, 1, 2});  // displacements 0 and 2
}

// --- B. the shape and content of cu_seqlens -------------------------------------------------------------------------------

TEST_CASE("11: a last offset that repeats is no fault, and an empty document inside adds nothing") {
    const List repeated{0, 16, 40, 40, 40};
    const auto layout = packed(ZigZag{}, repeated, 40, 2);
    REQUIRE(check(layout).ok());
    CHECK(shard(layout, 0) == List{0, 1, 2, 3, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 34, 35, 36, 37, 38, 39});
    const List inner{0, 4, 4, 12};
    const auto with_empty = packed(ZigZag{}, inner, 12, 2);
    REQUIRE(check(with_empty).ok());
    CHECK(shards(with_empty) == Lists{{0, 3, 4, 5, 10, 11}, {1, 2, 6, 7, 8, 9}});
}

TEST_CASE("13: every entry counts where there is no sentinel, and a sentinel is refused") {
    const List cu{0, 5, 9};
    CHECK(offsets(cu).count() == 3);
    CHECK(offsets(cu).documents() == 2);
    CHECK(check(offsets(cu), 9).ok());
    const List sentinel{0, 5, 9, -1, -1};
    CHECK(check(offsets(sentinel), 9).kind() == Kind::offsets_order);
    CHECK(check(Offsets<std::int64_t>{sentinel.data(), 3}, 9).ok());
}

// --- C. padded versus actual boundaries -----------------------------------------------------------------------------------

TEST_CASE("22: rows start at the padded offsets") {
    const List real{0, 3, 5, 9};
    const List cu{0, 4, 8, 13};
    const auto layout = padded(packed(ZigZag{}, cu, 13, 1), real, cu, 9);
    REQUIRE(check(layout).ok());
    List rows;
    for (std::int64_t position = 0; position < 13; ++position) {
        if (layout.source(position) >= 0) {
            rows.push_back(position);
        }
    }
    CHECK(rows == List{0, 1, 2, 4, 5, 8, 9, 10, 11});
    CHECK(layout.source(4) == 3);
}

TEST_CASE("25: offsets equal to the padded ones leave no pad slot") {
    const List cu{0, 4, 8};
    for (const int ranks : {1, 2}) {
        const auto layout = padded(packed(ZigZag{}, cu, 8, ranks), cu, cu, 8);
        CHECK(layout.source_size() == layout.size());
        CHECK(shards(layout) == shards(packed(ZigZag{}, cu, 8, ranks)));
        for (std::int64_t position = 0; position < 8; ++position) {
            CHECK(layout.source(position) == position);
        }
    }
}

TEST_CASE("28: a packed row is not one document") {
    const List cu{0, 4, 8};
    const auto row = packed(ZigZag{}, cu, 8, 2);
    CHECK(shards(row) == Lists{{0, 3, 4, 7}, {1, 2, 5, 6}});
    CHECK(shard(ZigZag{}(8, 2), 0) == List{0, 1, 6, 7});
}

// --- D. axes --------------------------------------------------------------------------------------------------------------

TEST_CASE("33: a layout knows no axis: the same shard whichever way it is named") {
    CHECK(shard(ZigZag{}(8, 2), 0) == List{0, 1, 6, 7});
}

// --- E. overflow and many documents ---------------------------------------------------------------------------------------

TEST_CASE("37: int32 offsets are widened before they are multiplied") {
    const std::int32_t cu[] = {0, 1048576, 1048580};
    const auto layout = packed(ZigZag{}, cu, 1048580, 2);
    REQUIRE(check(layout).ok());
    const std::int64_t begin = layout.position(0, 524288);  // document 1
    CHECK(begin == 1048576);
    CHECK(begin * 16 * 128 == 2147483648);
}

TEST_CASE("42: 70000 documents are two half runs joined") {
    constexpr std::int64_t documents = 70000;
    std::vector<std::int32_t> cu;
    for (std::int32_t d = 0; d <= documents; ++d) {
        cu.push_back(4 * d);
    }
    const auto layout = packed(ZigZag{}, cu, 4 * documents, 2);
    REQUIRE(check(layout).ok());
    CHECK(layout.slots(0) == 140000);
    List rank0;
    List rank1;
    for (std::int64_t d = 0; d < documents; ++d) {
        rank0.insert(rank0.end(), {4 * d, 4 * d + 3});
        rank1.insert(rank1.end(), {4 * d + 1, 4 * d + 2});
    }
    CHECK(shards(layout) == Lists{rank0, rank1});
    const std::vector<std::int32_t> first_half(cu.begin(), cu.begin() + documents / 2 + 1);
    const List first = shard(packed(ZigZag{}, first_half, 2 * documents, 2), 0);
    CHECK(test::joined(first, test::moved(first, 2 * documents)) == rank0);
}

// --- F. cp = 1 --------------------------------------------------------------------------------------------------------------

TEST_CASE("46: -1 and 0 ranks are errors, one rank is everything") {
    CHECK(check(ZigZag{}, 8, -1).kind() == Kind::ranks);
    CHECK(check(ZigZag{}, 8, 0).kind() == Kind::ranks);
    CHECK(shards(ZigZag{}(8, 1)) == Lists{test::range(0, 8)});
    CHECK(shards(ZigZag{}(7, 1)) == Lists{test::range(0, 7)});
}

// --- J. order -----------------------------------------------------------------------------------------------------------------

TEST_CASE("64: contiguous shards are restored as contiguous, and the layout makes the difference") {
    const List gathered = test::joined(shard(Contiguous{}(8, 2), 0), shard(Contiguous{}(8, 2), 1));
    const auto restored = [&](const List& index) {
        List full;
        for (std::int64_t at : index) {
            full.push_back(gathered[static_cast<std::size_t>(at)]);
        }
        return full;
    };
    CHECK(restored(test::restore(Contiguous{}(8, 2))) == test::range(0, 8));
    CHECK(restored(test::restore(ZigZag{}(8, 2))) != test::range(0, 8));
}

TEST_CASE("65: ring x Ulysses folds over the ring, not over the world") {
    const auto layout = nested(ZigZag{}(16, 2), Contiguous{}, 2);
    CHECK(shards(layout) == Lists{{0, 1, 2, 3}, {12, 13, 14, 15}, {4, 5, 6, 7}, {8, 9, 10, 11}});
    CHECK(shards(layout) != shards(ZigZag{}(16, 4)));
}

TEST_CASE("67: the inner group is the fast one: rank = outer * parts + part") {
    const auto layout = nested(ZigZag{}(8, 2), Contiguous{}, 2);
    CHECK(layout.ranks() == 4);
    for (int outer = 0; outer < 2; ++outer) {
        CHECK(test::joined(shard(layout, 2 * outer), shard(layout, 2 * outer + 1)) == shard(layout.outer(), outer));
    }
}

TEST_CASE("68: a world rank is no rank of a smaller group") {
    const auto layout = ZigZag{}(8, 2);
    CHECK(check_rank(layout, 3).kind() == Kind::rank);
    CHECK(shard(layout, 1) == List{2, 3, 4, 5});
}

TEST_CASE("70: one TP rank changes nothing, two CP ranks do") {
    const auto layout = nested(ZigZag{}(8, 2), Contiguous{}, 1);
    CHECK(shards(layout) == Lists{{0, 1, 6, 7}, {2, 3, 4, 5}});
}

TEST_CASE("71: every stream of C x T ranks holds N / (C T) rows, by the same list") {
    const auto one = nested(ZigZag{}(3904, 2), Contiguous{}, 1);
    const auto two = nested(ZigZag{}(3904, 2), Contiguous{}, 2);
    CHECK(one.slots(1) == 1952);
    CHECK(two.slots(3) == 976);
    CHECK(test::joined(shard(two, 2), shard(two, 3)) == shard(one, 1));
}

TEST_CASE("72: offsets of the whole sequence do not fit a shard of it") {
    const List cu{0, 16};
    const Status status = check(packed(ZigZag{}, cu, 8, 2));
    CHECK(status.kind() == Kind::offsets_total);
    CHECK(status.expected == 8);
    CHECK(status.got == 16);
}

TEST_CASE("74: positions follow the group in use, not the largest one") {
    CHECK(shard(ZigZag{}(16, 2), 0) == List{0, 1, 2, 3, 12, 13, 14, 15});
}

TEST_CASE("75: groups of no power of two deal out a permutation") {
    const List first_of_last{0, 420, 560, 630, 672, 700, 720, 735};
    for (int ranks = 1; ranks <= 8; ++ranks) {
        const auto layout = ZigZag{}(1680, ranks);
        CHECK(layout.position(ranks - 1, 0) == first_of_last[static_cast<std::size_t>(ranks - 1)]);
        List all;
        for (int rank = 0; rank < ranks; ++rank) {
            all = test::joined(all, shard(layout, rank));
        }
        std::sort(all.begin(), all.end());
        CHECK(all == test::range(0, 1680));
    }
}

// --- M and N ------------------------------------------------------------------------------------------------------------------

TEST_CASE("88: zigzag inside documents gives equal causal work") {
    const List cu{0, 4, 16};
    const auto layout = packed(ZigZag{}, cu, 16, 2);
    CHECK(shards(layout) == Lists{{0, 3, 4, 5, 6, 13, 14, 15}, {1, 2, 7, 8, 9, 10, 11, 12}});
    CHECK(work(shard(layout, 0), cu) == 44);
    CHECK(work(shard(layout, 1), cu) == 44);
}

TEST_CASE("93: 8-bit blocks ask for more than the layout does") {
    CHECK(round_up(11486, common_multiple(2, 32)) == 11488);
    CHECK(round_up(31936, common_multiple(4, 128)) == 32000);
    CHECK(common_multiple(pad_multiple(ZigZag{}, 2, 2), 32) == 32);
    CHECK(common_multiple(pad_multiple(ZigZag{}, 1, 1), 16) == 16);
    CHECK(common_multiple(pad_multiple(ZigZag{}, 2, 3), 32) == 96);
    CHECK(pad_multiple(ZigZag{}, 2, 3) == 12);
    CHECK(pad_multiple(ZigZag{}, 2, 2) == 4);  // lcm(2P, P T): the customary 2 P T is more than is needed
    CHECK(pad_multiple(ZigZag{}, 1, 3) == 3);
    CHECK(pad_multiple(ZigZag{}, 1) == 1);
}
