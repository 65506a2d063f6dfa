// An index array may name an entry twice or never: what puts a whole together needs a layout that holds each once.
// expect-error: unshard needs a layout that holds every entry once
// expect-error: restore_index needs a layout that holds every entry once
// expect-error: relayout needs layouts that hold every entry once
// expect-error: rows are counted over layouts that hold every token once
#include <seqpar/seqpar.hpp>

#include <thrust/execution_policy.h>

#include <cstdint>
#include <vector>

namespace sp = seqpar;

void f(const std::vector<std::int64_t>& index, const std::vector<float>& part, std::vector<float>& whole,
       std::vector<std::int64_t>& out) {
    const auto layout = sp::indexed(index, 8);
    sp::shard_adjoint(thrust::seq, layout, 0, part, sp::axis<0>, whole);
#ifndef SEQPAR_TEST_POSITIVE
    sp::unshard(thrust::seq, layout, sp::shards(part), sp::axis<0>, whole);
    sp::restore_index(thrust::seq, sp::nested(layout, sp::Contiguous{}, 2), out);
    (void)sp::relayout(layout, sp::ZigZag{}(8, 2), 0);
    (void)sp::count_chunks(layout, 0);
#else
    sp::gather_index(thrust::seq, layout, out);
#endif
}
