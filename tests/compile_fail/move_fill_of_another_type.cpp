// A fill that is no number, for elements that are.
// expect-error: a fill must be of the array.s element type
#include <thrust/execution_policy.h>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <vector>

namespace sp = seqpar;

void f(const std::vector<int>& x, std::vector<int>& out) {
    const std::vector<int> cu{0, 8};
    const std::vector<int> real{0, 7};
    const auto layout = sp::padded(sp::ZigZag{}(8, 2), real, cu, 7);
#ifdef SEQPAR_TEST_POSITIVE
    sp::shard(thrust::seq, layout, 0, x, sp::axis<0>, out, 0);
#else
    sp::shard(thrust::seq, layout, 0, x, sp::axis<0>, out, nullptr);
#endif
}
