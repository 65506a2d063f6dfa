// Embeddings and output of different types.
// expect-error: embeddings and output have one element type
#include <thrust/execution_policy.h>
#include <seqpar/move/vision_gather.hpp>
#include <vector>

namespace sp = seqpar;

#ifdef SEQPAR_TEST_POSITIVE
using Out = float;
#else
using Out = double;
#endif

void f(const std::vector<float>& x, const std::vector<std::int32_t>& rows, const std::vector<double>& bank,
       std::vector<Out>& out) {
    sp::VisionGather{}(thrust::seq, sp::tensor(x.data(), 4, 2), rows, sp::tensor(bank.data(), 3, 2),
                       sp::tensor(out.data(), 4, 2));
}
