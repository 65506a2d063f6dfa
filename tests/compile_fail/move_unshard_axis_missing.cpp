// unshard along an axis that the output lacks.
// expect-error: the output has no such axis
#include <thrust/execution_policy.h>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <vector>

namespace sp = seqpar;

void f(const std::vector<int>& x, std::vector<int>& out) {
    const auto shards = sp::joined(sp::tensor(x.data(), 2, 8));
    const auto to = sp::tensor(out.data(), 2, 8);
#ifdef SEQPAR_TEST_POSITIVE
    sp::unshard(thrust::seq, sp::ZigZag{}(8, 2), shards, sp::axis<-1>, to);
#else
    sp::unshard(thrust::seq, sp::ZigZag{}(8, 2), shards, sp::axis<-3>, to);
#endif
}
