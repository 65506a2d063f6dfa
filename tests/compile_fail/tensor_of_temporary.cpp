// A lazy shard of a container that is gone at the end of the line.
// expect-error: no matching function for call to .*sharded
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/tensor/sharded.hpp>
#include <vector>

namespace sp = seqpar;

int f() {
#ifdef SEQPAR_TEST_POSITIVE
    const std::vector<int> x(8);
    const auto shard = sp::sharded(x, sp::ZigZag{}(8, 2), 0, sp::axis<0>);
#else
    const auto shard = sp::sharded(std::vector<int>(8), sp::ZigZag{}(8, 2), 0, sp::axis<0>);
#endif
    return shard(0);
}
