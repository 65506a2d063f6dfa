// A row array with an axis too many.
// expect-error: rows have the embeddings. axes without the last
#include <thrust/execution_policy.h>
#include <seqpar/move/vision_gather.hpp>
#include <vector>

namespace sp = seqpar;

void f(std::vector<float>& x, const std::vector<std::int32_t>& rows, const std::vector<float>& bank) {
    const auto tokens = sp::tensor(x.data(), 4, 2);
#ifdef SEQPAR_TEST_POSITIVE
    const auto of_tokens = sp::tensor(rows.data(), 4);
#else
    const auto of_tokens = sp::tensor(rows.data(), 2, 2);
#endif
    sp::VisionGather{}(thrust::seq, tokens, of_tokens, sp::tensor(bank.data(), 3, 2), tokens);
}
