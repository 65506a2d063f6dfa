// The theorem that carries VisionGather: gathering commutes with splitting, forward and backward, for every layout.
#include "exec.hpp"
#include "theorems/split.hpp"

using test::Random;

TEST_CASE("gathering commutes with splitting: tables of runs, uneven parts, a user's layout, bit for bit") {
    Random random(804);
    for (int i = 0; i < test::rounds(800); ++i)
        test::with_free_layout(random, [&](const auto& layout) { test::check_gather_commutes(random, layout); });
}
