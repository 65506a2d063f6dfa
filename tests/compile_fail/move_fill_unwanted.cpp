// A fill where there are no pad slots.
// expect-error: a fill is given, but the layout has no pad slots
#include <thrust/execution_policy.h>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <vector>

namespace sp = seqpar;

void f(const std::vector<int>& x, std::vector<int>& out) {
#ifdef SEQPAR_TEST_POSITIVE
    sp::shard(thrust::seq, sp::ZigZag{}(8, 2), 0, x, sp::axis<0>, out);
#else
    sp::shard(thrust::seq, sp::ZigZag{}(8, 2), 0, x, sp::axis<0>, out, -100);
#endif
}
