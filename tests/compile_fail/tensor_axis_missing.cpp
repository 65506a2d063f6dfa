// A lazy shard along an axis that the tensor lacks.
// expect-error: no matching function for call to .*sharded
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/tensor/sharded.hpp>
#include <vector>

namespace sp = seqpar;

int f(const std::vector<int>& x) {
#ifdef SEQPAR_TEST_POSITIVE
    return sp::sharded(x, sp::ZigZag{}(8, 2), 0, sp::axis<0>)(0);
#else
    return sp::sharded(x, sp::ZigZag{}(8, 2), 0, sp::axis<1>)(0);
#endif
}
