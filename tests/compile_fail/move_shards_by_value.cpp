// A callable that gives containers by value: they are gone before they are read.
// expect-error: must not give containers by value
#include <thrust/execution_policy.h>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <vector>

namespace sp = seqpar;

#ifdef SEQPAR_TEST_POSITIVE
using Result = const std::vector<int>&;
#else
using Result = std::vector<int>;
#endif

struct ShardOf {
    std::vector<int> both[2];
    Result operator()(int rank) const { return both[rank]; }
};

void f(const ShardOf& of, std::vector<int>& out) {
    sp::unshard(thrust::seq, sp::ZigZag{}(8, 2), sp::shards(of), sp::axis<0>, out);
}
