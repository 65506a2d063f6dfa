// Elements beyond 16 bytes.
// expect-error: moves know elements of 1 to 16 bytes
#include <thrust/execution_policy.h>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <vector>

namespace sp = seqpar;

struct Element {
#ifdef SEQPAR_TEST_POSITIVE
    double values[2];
#else
    double values[3];
#endif
};

void f(const std::vector<Element>& x, std::vector<Element>& out) {
    sp::shard(thrust::seq, sp::ZigZag{}(8, 2), 0, x, sp::axis<0>, out);
}
