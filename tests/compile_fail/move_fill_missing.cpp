// A padded layout without a fill.
// expect-error: the layout has pad slots: say what they get with a fill
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
    sp::shard(thrust::seq, layout, 0, x, sp::axis<0>, out, -100);
#else
    sp::shard(thrust::seq, layout, 0, x, sp::axis<0>, out);
#endif
}
