// shard, unshard and shard_adjoint over random tables of runs, uneven parts and a user's layout, shapes, strides and
// elements, against the naive moves; unshard(shard(x)) is x bit for bit.
#include "exec.hpp"
#include "move/random_moves.hpp"

using test::Random;

TEST_CASE(
    "moves of a table of runs, of uneven parts and of a user's layout equal the naive ones, and unshard(shard(x)) is "
    "x") {
    Random random(104);
    for (int i = 0; i < 1500; ++i) {
        test::with_free_layout(random, [&](const auto& layout) { test::check_moves(random, test::main_exec, layout); });
    }
}
