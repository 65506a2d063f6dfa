// An execution policy of a device, without the header that serves it: unshard.
// expect-error: needs #include <seqpar/cuda.hpp>
#include <thrust/execution_policy.h>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <vector>

namespace sp = seqpar;

struct Device : thrust::detail::execution_policy_base<Device> {};

void f(const std::vector<int>& x, std::vector<int>& out) {
#ifdef SEQPAR_TEST_POSITIVE
    const auto& exec = thrust::seq;
#else
    const Device exec;
#endif
    sp::unshard(exec, sp::ZigZag{}(8, 2), sp::joined(x), sp::axis<0>, out);
}
