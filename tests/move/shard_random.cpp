// shard, unshard and shard_adjoint over thousands of random layouts, shapes, strides and elements, against the naive moves;
// unshard(shard(x)) is x bit for bit. Not here: other execs (shard_execs.cpp), large moves (shard_large.cpp).
#include "exec.hpp"
#include "move/random_moves.hpp"

using test::Random;

TEST_CASE("moves of a layout with a formula equal the naive ones, and unshard(shard(x)) is x") {
    Random random(101);
    for (int i = 0; i < 1500; ++i) {
        test::with_formula_layout(random, [&](const auto& layout) { test::check_moves(random, test::main_exec, layout); });
    }
}
