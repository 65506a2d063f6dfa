// Row numbers of another type than int32.
// expect-error: row and bank numbers are int32
#include <thrust/execution_policy.h>
#include <seqpar/move/vision_gather.hpp>
#include <vector>

namespace sp = seqpar;

#ifdef SEQPAR_TEST_POSITIVE
using Row = std::int32_t;
#else
using Row = long long;
#endif

void f(std::vector<float>& x, const std::vector<Row>& rows, const std::vector<float>& bank) {
    const auto tokens = sp::tensor(x.data(), 4, 2);
    sp::VisionGather{}(thrust::seq, tokens, rows, sp::tensor(bank.data(), 3, 2), tokens);
}
