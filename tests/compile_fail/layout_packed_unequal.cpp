// Packed finds documents by cu / P alone, so a policy of unequal shards does not compile, and the message says so.
// expect-error: Packed needs a policy with equal_shards
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/packed.hpp>

#include <cstdint>
#include <vector>

std::int64_t slots(const std::vector<std::int64_t>& cu_seqlens) {
#ifdef SEQPAR_TEST_POSITIVE
    return seqpar::packed(seqpar::Contiguous{}, cu_seqlens, 12, 2).slots(0);
#else
    return seqpar::packed(seqpar::UnevenContiguous{}, cu_seqlens, 12, 2).slots(0);
#endif
}
