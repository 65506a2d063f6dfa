// shard along an axis that the array lacks.
// expect-error: the input has no such axis
#include <thrust/execution_policy.h>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <vector>

namespace sp = seqpar;

void f(const std::vector<int>& x, std::vector<int>& out) {
    const auto in = sp::tensor(x.data(), 2, 8);
    const auto to = sp::tensor(out.data(), 2, 4);
#ifdef SEQPAR_TEST_POSITIVE
    sp::shard(thrust::seq, sp::ZigZag{}(8, 2), 0, in, sp::axis<1>, to);
#else
    sp::shard(thrust::seq, sp::ZigZag{}(8, 2), 0, in, sp::axis<2>, to);
#endif
}
