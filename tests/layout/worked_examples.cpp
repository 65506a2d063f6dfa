// The worked examples of docs/design.md, number by number: two documents of 8 and 4 on two ranks, rings, local offsets. C, D and J
// have no planner here: their tables are written by hand and show that Permuted gives any list.
#include "lists.hpp"
#include "table_of.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/permuted.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <doctest/doctest.h>

using namespace seqpar;
using test::List;
using test::Lists;
using test::restore;
using test::shards;

namespace {

constexpr std::int32_t cu[] = {0, 8, 12};

void check_table(const Lists& lists, const List& index) {
    const test::Table table = test::table_of(lists);
    const Permuted layout(table.view());
    REQUIRE(check(layout).ok());
    CHECK(shards(layout) == lists);
    if (!index.empty()) {
        CHECK(restore(layout) == index);
    }
}

}  // namespace

TEST_CASE("A: zigzag over the whole sequence") {
    const auto layout = ZigZag{}(12, 2);
    CHECK(shards(layout) == Lists{{0, 1, 2, 9, 10, 11}, {3, 4, 5, 6, 7, 8}});
    CHECK(restore(layout) == List{0, 1, 2, 6, 7, 8, 9, 10, 11, 3, 4, 5});
}

TEST_CASE("B: zigzag inside each document") {
    const auto layout = packed(ZigZag{}, cu, 12, 2);
    CHECK(shards(layout) == Lists{{0, 1, 6, 7, 8, 11}, {2, 3, 4, 5, 9, 10}});
    CHECK(restore(layout) == List{0, 1, 6, 7, 8, 9, 2, 3, 4, 10, 11, 5});
}

TEST_CASE("C: older torch, as a table") {
    check_table({{0, 1, 6, 7, 2, 3}, {4, 5, 8, 11, 9, 10}}, {0, 1, 4, 5, 6, 7, 2, 3, 8, 10, 11, 9});
}

TEST_CASE("D: PTRR, as a table") {
    check_table({{1, 3, 4, 7, 8, 10}, {0, 2, 5, 6, 9, 11}}, {6, 0, 7, 1, 2, 8, 9, 3, 4, 10, 5, 11});
}

TEST_CASE("E: striped, width 1 and width 3") {
    CHECK(shards(Striped{}(12, 2)) == Lists{{0, 2, 4, 6, 8, 10}, {1, 3, 5, 7, 9, 11}});
    CHECK(shards(Striped{3}(12, 2)) == Lists{{0, 1, 2, 6, 7, 8}, {3, 4, 5, 9, 10, 11}});
}

TEST_CASE("F: contiguous") {
    const auto layout = Contiguous{}(12, 2);
    CHECK(shards(layout) == Lists{test::range(0, 6), test::range(6, 12)});
    CHECK(restore(layout) == test::range(0, 12));
}

TEST_CASE("G: contiguous inside each document") {
    CHECK(shards(packed(Contiguous{}, cu, 12, 2)) == Lists{{0, 1, 2, 3, 8, 9}, {4, 5, 6, 7, 10, 11}});
}

TEST_CASE("J: chunk dispatch with chunks of 1 and 2, as tables") {
    check_table({{4, 7, 8, 9, 10, 11}, {0, 1, 2, 3, 5, 6}}, {});
    check_table({{0, 1, 2, 3, 6, 7}, {4, 5, 8, 9, 10, 11}}, {});
}

TEST_CASE("H: zigzag over the ring, contiguous over Ulysses, over 16 tokens") {
    const auto layout = nested(ZigZag{}(16, 2), Contiguous{}, 2);
    CHECK(shards(layout) == Lists{{0, 1, 2, 3}, {12, 13, 14, 15}, {4, 5, 6, 7}, {8, 9, 10, 11}});
}

TEST_CASE("H: over documents of 8 and 8") {
    const List documents{0, 8, 16};
    const auto layout = nested(packed(ZigZag{}, documents, 16, 2), Contiguous{}, 2);
    CHECK(shards(layout) == Lists{{0, 1, 6, 7}, {8, 9, 14, 15}, {2, 3, 4, 5}, {10, 11, 12, 13}});
}

TEST_CASE("I: striped over the ring, contiguous over Ulysses") {
    const auto layout = nested(Striped{}(16, 2), Contiguous{}, 2);
    CHECK(shards(layout) == Lists{{0, 2, 4, 6}, {8, 10, 12, 14}, {1, 3, 5, 7}, {9, 11, 13, 15}});
}

TEST_CASE("H: the Ulysses cut may fall inside a chunk") {
    // 12 tokens over a ring of 2: chunks of 3, shards of 6, parts of 2.
    const auto layout = nested(ZigZag{}(12, 2), Contiguous{}, 3);
    REQUIRE(check(layout).ok());
    CHECK(shards(layout) == Lists{{0, 1}, {2, 9}, {10, 11}, {3, 4}, {5, 6}, {7, 8}});
}

TEST_CASE("M: TP-SP takes contiguous parts of the CP shard") {
    const auto layout = nested(packed(ZigZag{}, cu, 12, 2), Contiguous{}, 2);
    CHECK(shards(layout) == Lists{{0, 1, 6}, {7, 8, 11}, {2, 3, 4}, {5, 9, 10}});
}

TEST_CASE("the restore order of A is chunk 0, 2, .., 2P-2, 2P-1, .., 3, 1") {
    for (int P = 2; P <= 8; ++P) {
        const std::int64_t c = 3;
        const std::int64_t chunks = 2 * std::int64_t{P};
        List expected;
        for (std::int64_t chunk = 0; chunk < chunks; chunk += 2) {
            expected = test::joined(expected, test::range(chunk * c, (chunk + 1) * c));
        }
        for (std::int64_t chunk = chunks - 1; chunk > 0; chunk -= 2) {
            expected = test::joined(expected, test::range(chunk * c, (chunk + 1) * c));
        }
        CHECK(restore(ZigZag{}(chunks * c, P)) == expected);
    }
}

TEST_CASE("the even variant of F gives the first S mod P ranks one more") {
    CHECK(shards(UnevenContiguous{}(11, 4)) == Lists{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10}});
    CHECK(shards(UnevenContiguous{}(2, 4)) == Lists{{0}, {1}, {}, {}});
}

TEST_CASE("documents of equal length tell contiguous and zigzag apart, one document does not tell B from A") {
    const List one{0, 12};
    CHECK(shards(packed(ZigZag{}, one, 12, 2)) == shards(ZigZag{}(12, 2)));
    CHECK(shards(packed(ZigZag{}, cu, 12, 2)) != shards(ZigZag{}(12, 2)));
    CHECK(shards(packed(Contiguous{}, one, 12, 2)) == shards(Contiguous{}(12, 2)));
    CHECK(shards(packed(Contiguous{}, cu, 12, 2)) != shards(Contiguous{}(12, 2)));
}

TEST_CASE("pads: real lengths 7 and 3 in documents of 8 and 4") {
    const List real{0, 7, 10};
    const auto layout = padded(packed(ZigZag{}, cu, 12, 2), real, cu, 10);
    REQUIRE(check(layout).ok());
    CHECK(layout.size() == 12);
    CHECK(layout.source_size() == 10);
    CHECK(test::sources(layout, 0) == List{0, 1, 6, -1, 7, -1});
    CHECK(test::sources(layout, 1) == List{2, 3, 4, 5, 8, 9});
}
