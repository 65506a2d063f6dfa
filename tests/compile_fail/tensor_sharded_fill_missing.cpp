// A lazy shard with pad slots and no fill.
// expect-error: no matching function for call to .*sharded
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/tensor/sharded.hpp>
#include <vector>

namespace sp = seqpar;

int f(const std::vector<int>& x) {
    const std::vector<int> cu{0, 8};
    const std::vector<int> real{0, 7};
    const auto layout = sp::padded(sp::ZigZag{}(8, 2), real, cu, 7);
#ifdef SEQPAR_TEST_POSITIVE
    return sp::sharded(x, layout, 0, sp::axis<0>, -1)(0);
#else
    return sp::sharded(x, layout, 0, sp::axis<0>)(0);
#endif
}
