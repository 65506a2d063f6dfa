// A backward that does not say Store or Add.
// expect-error: backward writes the bank.s gradient by Store or by Add
#include <thrust/execution_policy.h>
#include <seqpar/move/vision_gather.hpp>
#include <vector>

namespace sp = seqpar;

void f(const std::vector<float>& d_out, const std::vector<std::int32_t>& rows, std::vector<float>& d_bank) {
#ifdef SEQPAR_TEST_POSITIVE
    const sp::Store mode;
#else
    const int mode = 0;
#endif
    sp::VisionGather{}.backward(thrust::seq, sp::tensor(d_out.data(), 4, 2), rows, sp::no_gradient,
                                sp::tensor(d_bank.data(), 3, 2), mode);
}
