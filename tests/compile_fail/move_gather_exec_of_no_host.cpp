// An execution policy of a device, without the header that serves it: VisionGather.
// expect-error: needs #include <seqpar/cuda.hpp>
#include <thrust/execution_policy.h>
#include <seqpar/move/vision_gather.hpp>
#include <vector>

namespace sp = seqpar;

struct Device : thrust::detail::execution_policy_base<Device> {};

void f(std::vector<float>& x, const std::vector<std::int32_t>& rows, const std::vector<float>& bank) {
    const auto tokens = sp::tensor(x.data(), 4, 2);
#ifdef SEQPAR_TEST_POSITIVE
    const auto& exec = thrust::seq;
#else
    const Device exec;
#endif
    sp::VisionGather{}(exec, tokens, rows, sp::tensor(bank.data(), 3, 2), tokens);
}
