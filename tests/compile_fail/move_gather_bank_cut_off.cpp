// A bank of floats into vectors of integers: nothing is cut off silently.
// expect-error: a bank.s type would be cut off in the embeddings
#include <thrust/execution_policy.h>
#include <seqpar/move/vision_gather.hpp>
#include <vector>

namespace sp = seqpar;

#ifdef SEQPAR_TEST_POSITIVE
using Bank = unsigned char;
#else
using Bank = float;
#endif

void f(std::vector<short>& embeddings, const std::vector<std::int32_t>& rows, const std::vector<Bank>& bank) {
    const auto all = sp::tensor(embeddings.data(), 4, 2);
    sp::VisionGather{}(thrust::seq, all, rows, sp::tensor(bank.data(), 3, 2), all);
}
