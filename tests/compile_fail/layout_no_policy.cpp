// A type that lacks a part of LayoutPolicy (here `multiple`) is none, and nothing is made of it.
// expect-error: constraints not satisfied
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/nested.hpp>

#include <cstdint>

struct Mine {
    static constexpr bool equal_shards = true;
#ifdef SEQPAR_TEST_POSITIVE
    std::int64_t multiple(int ranks) const { return ranks; }
#endif
    seqpar::ContiguousLayout operator()(std::int64_t length, int ranks) const { return {length, ranks}; }
};

std::int64_t slots() { return seqpar::nested(seqpar::Contiguous{}(8, 2), Mine{}, 2).slots(0); }
