// Offsets are borrowed: a temporary that owns its memory does not compile, where a container that stays does.
// expect-error: no matching function.*offsets
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <cstdint>
#include <vector>

std::vector<std::int32_t> cu_seqlens() { return {0, 8, 12}; }

std::int64_t slots() {
#ifdef SEQPAR_TEST_POSITIVE
    const std::vector<std::int32_t> kept = cu_seqlens();
    return seqpar::packed(seqpar::ZigZag{}, kept, 12, 2).slots(0);
#else
    return seqpar::packed(seqpar::ZigZag{}, cu_seqlens(), 12, 2).slots(0);
#endif
}
