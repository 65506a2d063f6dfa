// A layout is padded once: sources of sources would have no array.
// expect-error: a layout is padded once
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <cstdint>
#include <vector>

std::int64_t source(const std::vector<std::int32_t>& real, const std::vector<std::int32_t>& padded_offsets) {
    const auto once = seqpar::padded(seqpar::ZigZag{}(8, 2), real, padded_offsets, 7);
#ifdef SEQPAR_TEST_POSITIVE
    return once.source(7);
#else
    return seqpar::padded(once, real, padded_offsets, 7).source(7);
#endif
}
