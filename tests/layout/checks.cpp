// What every check of a layout says about illegal input: kind, document, expected, got and the line for people. Most inputs
// are those that trainers accept today (docs/design.md). Not here: Status itself (status.cpp).
#include "table_of.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/multiples.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/permuted.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace seqpar;
using test::List;

namespace {

constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();

void check_status(const Status& status, Kind kind, std::int64_t index, std::int64_t expected, std::int64_t got) {
    CHECK(name(status.kind()) == name(kind));
    CHECK(status.index() == index);
    CHECK(status.expected == expected);
    CHECK(status.got == got);
}

Status of_documents(const List& cu, std::int64_t total, int ranks) { return check(packed(ZigZag{}, cu, total, ranks)); }

}  // namespace

// --- documents --------------------------------------------------------------------------------------------------------------

TEST_CASE("documents of 6 and 6 on 2 ranks: refused, where TE doubles 3 and 9 and loses 5 and 11") {
    const Status status = of_documents({0, 6, 12}, 12, 2);
    check_status(status, Kind::document_multiple, 0, 4, 6);
    CHECK(describe(status) ==
          "a document's length is not what the layout can deal out: document 0, expected a multiple of 4, got 6");
}

TEST_CASE("the first document that cannot be dealt out is named") {
    check_status(of_documents({0, 8, 14}, 14, 2), Kind::document_multiple, 1, 4, 6);
    check_status(of_documents({0, 0, 8, 8, 14, 17}, 17, 2), Kind::document_multiple, 3, 4, 6);
}

TEST_CASE("documents of 2 and 6 on 2 ranks: refused, where 0 and 5 come twice and 1 and 7 are lost") {
    check_status(of_documents({0, 2, 8}, 8, 2), Kind::document_multiple, 0, 4, 2);
}

TEST_CASE("documents of 12 and 4 on 4 ranks: refused, where token 12 lands on all four") {
    check_status(of_documents({0, 12, 16}, 16, 4), Kind::document_multiple, 0, 8, 12);
}

TEST_CASE("a total that is a multiple does not make up for documents that are not") {
    check_status(of_documents({0, 3, 8}, 8, 2), Kind::document_multiple, 0, 4, 3);
    check_status(of_documents({0, 9, 12}, 12, 3), Kind::document_multiple, 0, 6, 9);
}

TEST_CASE("contiguous inside documents needs multiples of the ranks, not of twice as many") {
    const List cu{0, 6, 12};
    CHECK(check(packed(Contiguous{}, cu, 12, 2)).ok());
    check_status(check(packed(Contiguous{}, cu, 12, 4)), Kind::document_multiple, 0, 4, 6);
}

TEST_CASE("offsets that end before the tokens do: refused, where TE doubles 6 and 7 and loses 10 and 11") {
    const Status status = of_documents({0, 8}, 12, 2);
    check_status(status, Kind::offsets_total, 0, 12, 8);
    CHECK(describe(status) == "the last entry of cu_seqlens is not the total: array 0, expected 12, got 8");
}

TEST_CASE("offsets that end after the tokens do are refused") {
    check_status(of_documents({0, 8, 16}, 12, 2), Kind::offsets_total, 0, 12, 16);
}

TEST_CASE("offsets that do not begin at 0 are refused") {
    const Status status = of_documents({4, 12}, 12, 2);
    check_status(status, Kind::offsets_first, 0, 0, 4);
    CHECK(describe(status) == "the first entry of cu_seqlens is not 0: array 0, expected 0, got 4");
}

TEST_CASE("offsets that decrease are refused, a sentinel of -1 too") {
    check_status(of_documents({0, 8, 4, 12}, 12, 2), Kind::offsets_order, 1, 8, 4);
    check_status(of_documents({0, 8, 12, -1}, 12, 2), Kind::offsets_order, 2, 12, -1);
    CHECK(describe(of_documents({0, 8, 4, 12}, 12, 2)) ==
          "cu_seqlens decreases: array 0, document 1, expected an offset of at least 8, got 4");
}

TEST_CASE("offsets must be there") {
    check_status(of_documents({}, 0, 2), Kind::offsets_count, 0, 2, 0);
    check_status(of_documents({0}, 12, 2), Kind::offsets_count, 0, 2, 1);
    CHECK(of_documents({0}, 0, 2).ok());  // no document, no token
    check_status(of_documents({4}, 0, 2), Kind::offsets_first, 0, 0, 4);
}

TEST_CASE("a negative total is refused before offsets are read") {
    check_status(check(packed(ZigZag{}, Offsets<std::int32_t>{nullptr, 0}, -4, 2)), Kind::length, 0, 0, -4);
}

TEST_CASE("making a layout over offsets reads none of them") {
    const auto layout = packed(ZigZag{}, Offsets<std::int32_t>{nullptr, 9}, 64, 2);
    CHECK(layout.size() == 64);
    CHECK(layout.slots(1) == 32);
    CHECK(nested(layout, Contiguous{}, 4).slots(7) == 8);
}

// --- lengths, ranks, parameters -----------------------------------------------------------------------------------------------

TEST_CASE("a length of the whole sequence that is no multiple names the multiple") {
    const Status status = check(ZigZag{}, 10, 2);
    check_status(status, Kind::multiple, 0, 4, 10);
    CHECK(describe(status) == "the length is not what the layout can deal out: expected a multiple of 4, got 10");
    check_status(check(Contiguous{}, 7, 2), Kind::multiple, 0, 2, 7);
    check_status(check(Striped{3}, 18, 4), Kind::multiple, 0, 12, 18);
}

TEST_CASE("a policy throws what its check says") {
    CHECK(status_of([] { (void)ZigZag{}(10, 2); }) == check(ZigZag{}, 10, 2));
    CHECK(status_of([] { (void)Contiguous{}(7, 2); }) == check(Contiguous{}, 7, 2));
    CHECK(status_of([] { (void)Striped{4}(12, 2); }) == check(Striped{4}, 12, 2));
    CHECK(status_of([] { (void)UnevenContiguous{}(-1, 2); }) == check(UnevenContiguous{}, -1, 2));
    CHECK(status_of([] { (void)ZigZag{}(12, 2); }).ok());
}

TEST_CASE("no rank and fewer than none are refused") {
    for (const int ranks : {0, -1, std::numeric_limits<int>::min()}) {
        check_status(check(ZigZag{}, 8, ranks), Kind::ranks, 0, 1, ranks);
        check_status(check(Striped{}, 8, ranks), Kind::ranks, 0, 1, ranks);
        check_status(status_of([&] { (void)packed(ZigZag{}, Offsets<std::int32_t>{}, 8, ranks); }), Kind::ranks, 0, 1,
                     ranks);
        check_status(status_of([&] { (void)nested(ZigZag{}(8, 2), Contiguous{}, ranks); }), Kind::ranks, 0, 1, ranks);
    }
    CHECK(describe(check(ZigZag{}, 8, 0)) == "too few ranks: expected at least 1, got 0");
}

TEST_CASE("a negative length is refused") {
    check_status(check(ZigZag{}, -8, 2), Kind::length, 0, 0, -8);
    check_status(check(UnevenContiguous{}, -1, 2), Kind::length, 0, 0, -1);
}

TEST_CASE("a stripe without width is refused") {
    check_status(check(Striped{0}, 8, 2), Kind::policy, 0, 1, 0);
    check_status(check(Striped{-3}, 8, 2), Kind::policy, 0, 1, 0);
    check_status(check(Striped{0}, 8, 1), Kind::policy, 0, 1, 0);
}

TEST_CASE("a rank outside the group is refused") {
    const auto layout = ZigZag{}(8, 2);
    CHECK(check_rank(layout, 1).ok());
    check_status(check_rank(layout, 2), Kind::rank, 0, 1, 2);
    check_status(check_rank(layout, -1), Kind::rank, 0, 1, -1);
}

// --- overflow ---------------------------------------------------------------------------------------------------------------

TEST_CASE("a stripe too wide for 64 bits deals out no length but 0") {
    for (const std::int64_t width : {greatest, greatest / 2, std::int64_t{1} << 62}) {
        for (const std::int64_t length : {std::int64_t{8}, std::int64_t{1} << 62, greatest, greatest - 1}) {
            CHECK(!check(Striped{width}, length, 8).ok());
        }
    }
}

TEST_CASE("the greatest number of ranks does not overflow") {
    constexpr int ranks = std::numeric_limits<int>::max();
    CHECK(ZigZag{}.multiple(ranks) == 2 * std::int64_t{ranks});
    check_status(check(ZigZag{}, std::int64_t{ranks}, ranks), Kind::multiple, 0, 2 * std::int64_t{ranks}, ranks);
    const auto layout = ZigZag{}(6 * std::int64_t{ranks}, ranks);
    CHECK(layout.position(ranks - 1, 5) == 3 * std::int64_t{ranks} + 2);
    CHECK(layout.position(0, 3) == 6 * std::int64_t{ranks} - 3);
    CHECK(layout.place(6 * std::int64_t{ranks} - 1) == Place{0, 5});
}

TEST_CASE("rounding up leaves multiples as they are") {
    CHECK(round_up(0, 8) == 0);
    CHECK(round_up(1, 8) == 8);
    CHECK(round_up(8, 8) == 8);
    CHECK(round_up(9, 8) == 16);
    CHECK(round_up(7, 1) == 7);
}

TEST_CASE("a multiple that leaves 64 bits is an error, not a wrong number") {
    check_status(status_of([] { (void)common_multiple(greatest, greatest - 1); }), Kind::length, 0, 0, -1);
    CHECK(common_multiple(greatest, greatest) == greatest);
    CHECK(common_multiple(std::int64_t{1} << 40, (std::int64_t{1} << 40) * 3) == (std::int64_t{1} << 40) * 3);
}

TEST_CASE("parts of parts that are more ranks than an int are an error") {
    check_status(status_of([] { (void)nested(ZigZag{}(8, 4), UnevenContiguous{}, 1 << 30); }), Kind::length, 0, 0, -1);
    CHECK(nested(ZigZag{}(8, 4), UnevenContiguous{}, 1 << 28).ranks() == 1 << 30);
    CHECK(nested(ZigZag{}(0, std::numeric_limits<int>::max()), Contiguous{}, 1).ranks() ==
          std::numeric_limits<int>::max());
}

TEST_CASE("a table whose runs would add up beyond 64 bits is refused") {
    const Run runs[] = {{0, 0, greatest}, {greatest, greatest, greatest}};
    const std::int64_t rank_runs[] = {0, 2};
    const std::int64_t by_position[] = {0, 1};
    CHECK(name(check(Permuted({runs, rank_runs, by_position, greatest, 1})).kind()) == "table");
}

// --- compositions -----------------------------------------------------------------------------------------------------------

TEST_CASE("a shard that the inner policy cannot deal out is refused") {
    const List cu{0, 8, 12};
    const auto layout = nested(packed(ZigZag{}, cu, 12, 2), Contiguous{}, 4);
    check_status(check(layout), Kind::multiple, 0, 4, 6);
}

TEST_CASE("a fault of the outer layout is the fault of the nested one") {
    const List cu{0, 6, 12};
    CHECK(check(nested(packed(ZigZag{}, cu, 12, 2), Contiguous{}, 2)) == check(packed(ZigZag{}, cu, 12, 2)));
}

TEST_CASE("a document longer than its padded length is refused") {
    const List cu{0, 8, 12};
    const List real{0, 7, 12};
    const Status status = check(padded(packed(ZigZag{}, cu, 12, 2), real, cu, 12));
    check_status(status, Kind::offsets_real, 1, 4, 5);
    CHECK(describe(status) == "a document is longer than its padded length: document 1, expected at most 4, got 5");
}

TEST_CASE("real and padded offsets are as many") {
    const List cu{0, 8, 12};
    const List real{0, 7};
    const Status status = check(padded(ZigZag{}(12, 2), real, cu, 7));
    check_status(status, Kind::offsets_count, 0, 3, 2);
    CHECK(status.array() == 1);
}

TEST_CASE("a fault in the real offsets names the second array, one in the padded ones the first") {
    const List cu{0, 8, 12};
    const List decreasing{0, 7, 3};
    const List short_cu{0, 8, 8};
    const Status real = check(padded(ZigZag{}(12, 2), decreasing, cu, 3));
    check_status(real, Kind::offsets_order, 1, 7, 3);
    CHECK(real.array() == 1);
    const Status total = check(padded(ZigZag{}(12, 2), cu, cu, 11));
    check_status(total, Kind::offsets_total, 0, 11, 12);
    CHECK(total.array() == 1);
    const Status first = check(padded(ZigZag{}(12, 2), short_cu, short_cu, 8));
    check_status(first, Kind::offsets_total, 0, 12, 8);
    CHECK(first.array() == 0);
}

// --- tables -----------------------------------------------------------------------------------------------------------------

TEST_CASE("a table of runs that is no bijection is refused, whatever is wrong with it") {
    const test::Table good = test::table_of({{5, 0, 1, 2}, {3, 4, 6, 7}});
    REQUIRE(check(Permuted(good.view())).ok());
    const auto refused = [&](auto change) {
        test::Table bad = good;
        change(bad);
        const Status status = check(Permuted(bad.view()));
        CHECK(name(status.kind()) == "table");
        return status;
    };
    refused([](test::Table& t) { t.rank_runs[0] = 1; });
    refused([](test::Table& t) { t.rank_runs[1] = 3; });  // rank 0 takes rank 1's first run: its slot is 0
    refused([](test::Table& t) { t.rank_runs[2] = 1; });  // decreases
    refused([](test::Table& t) { t.runs[1].slot = 2; });  // a slot is skipped
    refused([](test::Table& t) { t.runs[0].length = 0; });
    refused([](test::Table& t) { t.runs[1].length = 4; });    // 3 twice
    refused([](test::Table& t) { t.runs[1].length = 2; });    // 2 nowhere
    refused([](test::Table& t) { t.runs[3].position = 5; });  // 5 twice, 6 nowhere
    refused([](test::Table& t) { t.by_position[0] = -1; });
    refused([](test::Table& t) { t.by_position[0] = 4; });
    refused([](test::Table& t) { std::swap(t.by_position[0], t.by_position[1]); });
    const Status status = refused([](test::Table& t) { t.length = 9; });
    check_status(status, Kind::table, 4, 9, 8);
}

TEST_CASE("a table that doubles a token and loses another is refused") {
    const test::Table table = test::table_of({{0, 1, 2}, {2, 3, 4}});
    CHECK(name(check(Permuted(table.view())).kind()) == "table");
}
