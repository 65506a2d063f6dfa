// Pad slots have no memory: a lazy shard that has some is read-only.
// expect-error: (read-only|assignment|assignable)
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/tensor/sharded.hpp>
#include <vector>

namespace sp = seqpar;

void f(std::vector<int>& x) {
#ifdef SEQPAR_TEST_POSITIVE
    sp::sharded(x, sp::ZigZag{}(8, 2), 0, sp::axis<0>)(0) = 5;
#else
    const std::vector<int> cu{0, 8};
    const std::vector<int> real{0, 7};
    const auto layout = sp::padded(sp::ZigZag{}(8, 2), real, cu, 7);
    sp::sharded(x, layout, 0, sp::axis<0>, -1)(0) = 5;
#endif
}
