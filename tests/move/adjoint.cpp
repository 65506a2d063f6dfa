// Adjointness in exact integers: <A x, y> = <x, A' y>, for shard with shard_adjoint and unshard with unshard_adjoint.
#include "exec.hpp"
#include "move/layouts.hpp"

#include <seqpar/move/unshard.hpp>

#include <thrust/execution_policy.h>

#include <doctest/doctest.h>

using namespace seqpar;
using test::List;
using test::Random;

namespace {

List random_values(Random& random, std::int64_t count) {
    List values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(random.between(-1000, 1000));
    return values;
}

std::int64_t dot(const List& a, const List& b) {
    REQUIRE(a.size() == b.size());
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

void require_equal(std::int64_t a, std::int64_t b) { REQUIRE(a == b); }

constexpr std::int64_t adjoint_width = 3;

auto rows_of(List& values) {
    return tensor(values.data(), static_cast<std::int64_t>(values.size()) / adjoint_width, adjoint_width);
}

template <Layout L>
void check_adjoints(Random& random, const L& layout) {
    List x = random_values(random, layout.source_size() * adjoint_width);
    List sum(x.size(), 0);  // A' y of all ranks
    std::int64_t over_ranks = 0;
    std::vector<List> y;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        y.push_back(random_values(random, layout.slots(rank) * adjoint_width));
        List shard_of_x(y.back().size());
        if constexpr (is_padded<L>) {
            shard(test::main_exec, layout, rank, rows_of(x), axis<0>, rows_of(shard_of_x), 0);
        } else {
            shard(test::main_exec, layout, rank, rows_of(x), axis<0>, rows_of(shard_of_x));
        }
        // unshard_adjoint is what shard is with zeros in pad slots.
        List adjoint_of_unshard(y.back().size(), 77);
        unshard_adjoint(test::main_exec, layout, rank, rows_of(x), axis<0>, rows_of(adjoint_of_unshard));
        if (adjoint_of_unshard != shard_of_x) FAIL("unshard_adjoint differs from shard");
        List one(x.size(), 0);
        shard_adjoint(test::main_exec, layout, rank, rows_of(y.back()), axis<0>, rows_of(one));
        require_equal(dot(shard_of_x, y.back()), dot(x, one));
        over_ranks += dot(shard_of_x, y.back());
        // Sources are disjoint over ranks: writing into one array is summing.
        shard_adjoint(test::main_exec, layout, rank, rows_of(y.back()), axis<0>, rows_of(sum));
    }
    require_equal(over_ranks, dot(x, sum));
    // unshard of the y: <unshard(y), x> is the sum over ranks of <y, unshard_adjoint(x)>.
    List joined_y(x.size(), 0);
    const auto of_rank = [&](int rank) { return rows_of(y[static_cast<std::size_t>(rank)]); };
    unshard(test::main_exec, layout, shards(of_rank), axis<0>, rows_of(joined_y));
    require_equal(dot(joined_y, x), over_ranks);
    if (joined_y != sum) FAIL("unshard differs from the sum of the adjoints of shard");
}

}  // namespace

TEST_CASE("<shard x, y> = <x, shard_adjoint y> and <unshard y, x> = <y, unshard_adjoint x> for packed layouts") {
    Random random(401);
    for (int i = 0; i < 400; ++i)
        test::with_packed_layout(random, [&](const auto& layout) { check_adjoints(random, layout); });
}

TEST_CASE("<shard x, y> = <x, shard_adjoint y> and <unshard y, x> = <y, unshard_adjoint x> for padded layouts") {
    Random random(402);
    for (int i = 0; i < 400; ++i)
        test::with_padded_layout(random, [&](const auto& layout) { check_adjoints(random, layout); });
}

TEST_CASE("an adjoint adds nothing to what it does not write: other ranks' gradients stay") {
    const auto layout = ZigZag{}(8, 2);
    List gradient(8, 5);
    const List d_out{1, 2, 3, 4};
    shard_adjoint(test::main_exec, layout, 1, d_out, axis<0>, gradient);
    CHECK(gradient == List{5, 5, 1, 2, 3, 4, 5, 5});
}
