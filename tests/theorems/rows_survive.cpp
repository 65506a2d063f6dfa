// What rows are after a split, however it is nested and padded: each where its token is, none lost and none twice; and the gather
// and the levels of all ranks together are adjoint, in exact integers.
#include "exec.hpp"
#include "theorems/split.hpp"

#include <seqpar/move/unshard.hpp>

#include <algorithm>

using namespace seqpar;
using test::List;
using test::Random;
using test::vectors_of;

namespace {

List small(Random& random, std::int64_t count) {
    List values;
    for (std::int64_t i = 0; i < count * test::theorem_width; ++i)
        values.push_back(random.between(-99, 99));
    return values;
}
std::int64_t dot(const List& a, const List& b) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

// One rank's share of <A(e, b, l), y> and of <e, d_e>; d_b and d_l are summed over ranks by Add, as CP does.
struct Adjoint {
    List bank, level, d_bank, d_level;
    std::int64_t left = 0, right = 0;

    Adjoint(Random& random, std::int64_t bank_rows)
        : bank(small(random, bank_rows)), level(small(random, bank_rows)), d_bank(bank.size()), d_level(bank.size()) {}

    void add_rank(const std::vector<std::int32_t>& rows, List e, List y) {
        const List embeddings = e;
        VisionGather{}(test::main_exec, vectors_of(e), rows, vectors_of(bank), vectors_of(e));
        add_rows(test::main_exec, vectors_of(e), rows, vectors_of(level));
        left += dot(e, y);
        add_rows_backward(test::main_exec, vectors_of(y), rows, vectors_of(d_level), Add{});
        VisionGather{}.backward(test::main_exec, vectors_of(y), rows, vectors_of(y), vectors_of(d_bank), Add{});
        right += dot(embeddings, y);
    }
    void require_equal() const { REQUIRE(left == right + dot(bank, d_bank) + dot(level, d_level)); }
};

template <Layout L>
void check_layout(Random& random, const L& layout) {
    const std::int64_t bank_rows = random.between(0, layout.source_size());
    const std::vector<std::int32_t> rows = test::injective_rows(random, layout.source_size(), bank_rows);
    const List e = small(random, layout.source_size()), y = small(random, layout.source_size());
    Adjoint adjoint(random, bank_rows);
    std::vector<std::int32_t> all_shards, used;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const std::vector<std::int32_t> shard = test::shard_of(layout, rank, rows, 1, -1);
        all_shards.insert(all_shards.end(), shard.begin(), shard.end());
        for (const std::int32_t row : shard) {
            if (row >= 0) used.push_back(row);
        }
        adjoint.add_rank(shard, test::shard_of(layout, rank, e, test::theorem_width, std::int64_t{0}),
                         test::shard_of(layout, rank, y, test::theorem_width, std::int64_t{0}));
    }
    adjoint.require_equal();
    std::vector<std::int32_t> all = rows;
    std::erase(all, -1);
    std::sort(all.begin(), all.end());
    std::sort(used.begin(), used.end());
    REQUIRE(used == all);
    std::vector<std::int32_t> back(rows.size(), -7);
    unshard(test::main_exec, layout, joined(all_shards), axis<0>, back);
    REQUIRE(back == rows);
}

}  // namespace

TEST_CASE("rows survive any split, nesting and padding, and the ranks' gathers and levels are adjoint together") {
    Random random(821);
    for (int i = 0; i < test::rounds(200); ++i) {
        const auto check = [&](const auto& layout) { check_layout(random, layout); };
        test::with_formula_layout(random, check);
        test::with_free_layout(random, check);
        test::with_packed_layout(random, check);
        test::with_padded_layout(random, check);
    }
}
