// The laws of packed layouts and of tables of runs over thousands of random ones, and formulas B and G of docs/design.md against
// them slot by slot. Seeds are fixed; a failure prints its case. Not here: large numbers (large.cpp).
#include "laws.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/permuted.hpp>
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

// Packed with `policy`, whose shards are `formula` inside every document.
template <class I, LayoutPolicy P, class Formula>
void check_packed(Random& random, P policy, int ranks, Formula formula) {
    const List cu = test::random_offsets(random, policy.multiple(ranks), 6, 3);
    const std::vector<I> offsets_of_type = test::as<I>(cu);
    CAPTURE(ranks);
    CAPTURE(test::text(cu));
    const auto layout = packed(policy, offsets_of_type, cu.back(), ranks);
    check_laws(layout);
    REQUIRE(broken(packed_is_its_documents(policy, offsets(offsets_of_type), cu.back(), ranks)) == "");
    for (int rank = 0; rank < ranks; ++rank) {
        REQUIRE(test::shard(layout, rank) == test::formula_inside(cu, ranks, rank, formula));
    }
    check_compositions(random, layout, offsets(offsets_of_type));
}

}  // namespace

TEST_CASE("packed zigzag is formula B and keeps every law") {
    Random random(5);
    for (int i = 0; i < 700; ++i) {
        check_packed<std::int32_t>(random, ZigZag{}, random_ranks(random), test::formula_a);
        check_packed<std::int64_t>(random, ZigZag{}, random_ranks(random), test::formula_a);
    }
}

TEST_CASE("packed contiguous is formula G and keeps every law") {
    Random random(6);
    for (int i = 0; i < 400; ++i) {
        check_packed<std::int32_t>(random, Contiguous{}, random_ranks(random), test::formula_f);
        check_packed<std::int64_t>(random, Contiguous{}, random_ranks(random), test::formula_f);
    }
}

TEST_CASE("packed striped is formula E inside every document and keeps every law") {
    Random random(7);
    for (int i = 0; i < 300; ++i) {
        const Striped policy{random.between(1, 4)};
        check_packed<std::int32_t>(random, policy, random_ranks(random), FormulaE{policy.width});
    }
}

TEST_CASE("a table of runs keeps every law, unequal and empty shards included") {
    Random random(8);
    for (int i = 0; i < 1000; ++i) {
        const int ranks = random_ranks(random);
        const std::int64_t length = random.between(0, 60);
        const test::Table table = test::random_table(random, ranks, length);
        const std::vector<std::int64_t> cu{0, random.between(0, length), length};
        CAPTURE(ranks);
        CAPTURE(length);
        const Permuted layout(table.view());
        check_laws(layout);
        check_compositions(random, layout, offsets(cu));
    }
}

TEST_CASE("a table of runs from a layout's own runs is that layout") {
    Random random(9);
    for (int i = 0; i < 200; ++i) {
        const int ranks = random_ranks(random);
        const List cu = test::random_offsets(random, ZigZag{}.multiple(ranks), 5, 3);
        const auto layout = packed(ZigZag{}, cu, cu.back(), ranks);
        test::Table table;
        table.length = cu.back();
        table.ranks = ranks;
        table.rank_runs.push_back(0);
        for (int rank = 0; rank < ranks; ++rank) {
            auto cursor = runs(layout, rank, 0, layout.slots(rank));
            for (Run run; cursor.next(run);) {
                table.runs.push_back(run);
            }
            table.rank_runs.push_back(static_cast<std::int64_t>(table.runs.size()));
        }
        for (std::int64_t position = 0; position < cu.back();) {  // the run that begins there
            for (std::size_t number = 0; number < table.runs.size(); ++number) {
                if (table.runs[number].position == position) {
                    table.by_position.push_back(static_cast<std::int64_t>(number));
                    position += table.runs[number].length;
                    break;
                }
            }
        }
        const Permuted permuted(table.view());
        check_laws(permuted);
        REQUIRE(test::shards(permuted) == test::shards(layout));
        REQUIRE(test::restore(permuted) == test::restore(layout));
    }
}
