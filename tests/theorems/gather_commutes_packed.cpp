// The theorem that carries VisionGather: gathering commutes with splitting, over documents.
#include "exec.hpp"
#include "theorems/split.hpp"

using test::Random;

TEST_CASE("gathering commutes with splitting: packed documents and their TP-SP parts, bit for bit") {
    Random random(802);
    for (int i = 0; i < test::rounds(600); ++i)
        test::with_packed_layout(random, [&](const auto& layout) { test::check_gather_commutes(random, layout); });
}
