// An output that may not be written.
// expect-error: the output is read-only
#include <thrust/execution_policy.h>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <vector>

namespace sp = seqpar;

#ifdef SEQPAR_TEST_POSITIVE
void f(const std::vector<int>& x, std::vector<int>& out) {
#else
void f(const std::vector<int>& x, const std::vector<int>& out) {
#endif
    sp::shard(thrust::seq, sp::ZigZag{}(8, 2), 0, x, sp::axis<0>, out);
}
