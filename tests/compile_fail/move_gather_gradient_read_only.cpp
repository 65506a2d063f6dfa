// A bank gradient that may not be written.
// expect-error: a gradient is read-only
#include <thrust/execution_policy.h>
#include <seqpar/move/vision_gather.hpp>
#include <vector>

namespace sp = seqpar;

#ifdef SEQPAR_TEST_POSITIVE
using Gradient = std::vector<float>;
#else
using Gradient = const std::vector<float>;
#endif

void f(const std::vector<float>& d_out, const std::vector<std::int32_t>& rows, Gradient& d_bank) {
    sp::VisionGather{}.backward(thrust::seq, sp::tensor(d_out.data(), 4, 2), rows, sp::no_gradient,
                                sp::tensor(d_bank.data(), 3, 2), sp::Store{});
}
