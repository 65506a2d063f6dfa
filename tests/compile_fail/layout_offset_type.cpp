// Offsets are int32 or int64: unsigned ones would wrap where a document is shorter than the one before.
// expect-error: no matching function.*offsets
#include <seqpar/layout/offsets.hpp>

#include <cstdint>
#include <vector>

#ifdef SEQPAR_TEST_POSITIVE
using Entry = std::int64_t;
#else
using Entry = std::uint32_t;
#endif

std::int64_t documents(const std::vector<Entry>& cu_seqlens) { return seqpar::offsets(cu_seqlens).documents(); }
