// A bare tensor in unshard: stacked and joined shards differ silently, so it must say which it is.
// expect-error: no matching function for call to .*unshard
#include <thrust/execution_policy.h>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <vector>

namespace sp = seqpar;

void f(const std::vector<int>& x, std::vector<int>& out) {
#ifdef SEQPAR_TEST_POSITIVE
    sp::unshard(thrust::seq, sp::ZigZag{}(8, 2), sp::joined(x), sp::axis<0>, out);
#else
    sp::unshard(thrust::seq, sp::ZigZag{}(8, 2), x, sp::axis<0>, out);
#endif
}
