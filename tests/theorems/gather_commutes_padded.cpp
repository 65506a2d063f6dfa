// The theorem that carries VisionGather: gathering commutes with splitting, with pad slots.
#include "exec.hpp"
#include "theorems/split.hpp"

using test::Random;

TEST_CASE("gathering commutes with splitting: pad slots are text, bit for bit") {
    Random random(803);
    for (int i = 0; i < test::rounds(600); ++i)
        test::with_padded_layout(random, [&](const auto& layout) { test::check_gather_commutes(random, layout); });
}
