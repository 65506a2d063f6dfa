// The laws of layouts over the whole sequence, over many random ones, and formulas A, E and F of docs/design.md against them slot
// by slot. Seeds are fixed; a failure prints its case. Not here: documents (random_packed.cpp).
#include "laws.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <doctest/doctest.h>

using namespace seqpar;
using namespace seqpar::conformance;
using test::broken;
using test::check_compositions;
using test::check_laws;
using test::FormulaE;
using test::List;
using test::Random;
using test::random_ranks;

namespace {

// A policy over the whole sequence; the documents play no part but for the pads.
template <LayoutPolicy P, class Formula>
void check_whole(Random& random, P policy, int ranks, std::int64_t length, Formula formula) {
    const std::int64_t cut = random.between(0, length);
    const std::vector<std::int32_t> cu = test::as<std::int32_t>({0, cut, length});
    CAPTURE(ranks);
    CAPTURE(length);
    CAPTURE(cut);
    const auto layout = policy(length, ranks);
    check_laws(layout);
    for (int rank = 0; rank < ranks; ++rank) {
        REQUIRE(test::shard(layout, rank) == formula(length, ranks, rank));
    }
    check_compositions(random, layout, offsets(cu));
}

}  // namespace

TEST_CASE("zigzag is formula A and keeps every law") {
    Random random(1);
    for (int i = 0; i < 400; ++i) {
        const int ranks = random_ranks(random);
        check_whole(random, ZigZag{}, ranks, random.between(0, 7) * ZigZag{}.multiple(ranks), test::formula_a);
    }
}

TEST_CASE("striped is formula E and keeps every law") {
    Random random(2);
    for (int i = 0; i < 400; ++i) {
        const Striped policy{random.between(1, 6)};
        const int ranks = random_ranks(random);
        const std::int64_t units = ranks == 1 ? 30 : 5;
        check_whole(random, policy, ranks, random.between(0, units) * policy.multiple(ranks), FormulaE{policy.width});
    }
}

TEST_CASE("contiguous is formula F and keeps every law") {
    Random random(3);
    for (int i = 0; i < 300; ++i) {
        const int ranks = random_ranks(random);
        check_whole(random, Contiguous{}, ranks, random.between(0, 9) * ranks, test::formula_f);
    }
}

TEST_CASE("uneven contiguous takes every length and keeps every law") {
    Random random(4);
    for (int i = 0; i < 400; ++i) {
        check_whole(random, UnevenContiguous{}, random_ranks(random), random.between(0, 60), test::formula_f_even);
    }
}

TEST_CASE("one rank is the identity for every length and any documents") {
    Random random(10);
    for (std::int64_t length = 0; length < 40; ++length) {
        CAPTURE(length);
        const List cu{0, random.between(0, length), length, length};
        REQUIRE(broken(one_rank_is_identity(ZigZag{}(length, 1))) == "");
        REQUIRE(broken(one_rank_is_identity(Striped{3}(length, 1))) == "");
        REQUIRE(broken(one_rank_is_identity(Contiguous{}(length, 1))) == "");
        REQUIRE(broken(one_rank_is_identity(UnevenContiguous{}(length, 1))) == "");
        REQUIRE(broken(one_rank_is_identity(packed(ZigZag{}, cu, length, 1))) == "");
        REQUIRE(broken(one_rank_is_identity(nested(packed(ZigZag{}, cu, length, 1), Striped{4}, 1))) == "");
        REQUIRE(check(packed(ZigZag{}, cu, length, 1)).ok());
    }
}

TEST_CASE("every policy keeps its laws up to 24 ranks") {
    CHECK(broken(check_policy(ZigZag{}, 24, 3, 4)) == "");
    CHECK(broken(check_policy(Contiguous{}, 24, 4, 4)) == "");
    CHECK(broken(check_policy(UnevenContiguous{}, 24, 60, 4)) == "");
    for (std::int64_t width = 1; width <= 5; ++width) {
        CHECK(broken(check_policy(Striped{width}, 12, 2, 4)) == "");
    }
}

TEST_CASE("runs are whole chunks, and the whole sequence on one rank of documents") {
    // Not a law, but what the speed of moves rests on.
    const List cu{0, 8, 12};
    Run run;
    auto b = runs(packed(ZigZag{}, cu, 12, 2), 0, 0, 6);
    CHECK((b.next(run) && run == Run{0, 0, 2}));
    CHECK((b.next(run) && run == Run{6, 2, 2}));
    CHECK((b.next(run) && run == Run{8, 4, 1}));
    CHECK((b.next(run) && run == Run{11, 5, 1}));
    CHECK(!b.next(run));
    auto last = runs(ZigZag{}(12, 2), 1, 0, 6);  // a run is a chunk, also where the last rank's two are neighbours
    CHECK((last.next(run) && run == Run{3, 0, 3}));
    CHECK((last.next(run) && run == Run{6, 3, 3}));
    CHECK(!last.next(run));
    auto one = runs(packed(ZigZag{}, cu, 12, 1), 0, 0, 12);  // documents do not cut on one rank
    CHECK((one.next(run) && run == Run{0, 0, 12}));
    CHECK(!one.next(run));
}
