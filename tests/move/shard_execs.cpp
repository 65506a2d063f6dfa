// Every host exec moves what thrust::seq moves, on arrays of several work items; seq itself is compared slot by slot.
#include "move/arrays.hpp"
#include "move/layouts.hpp"

#include <seqpar/move/unshard.hpp>

#include <thrust/system/cpp/execution_policy.h>
#ifdef SEQPAR_TEST_OMP
#    include <thrust/system/omp/execution_policy.h>
#endif
#ifdef SEQPAR_TEST_TBB
#    include <thrust/system/tbb/execution_policy.h>
#endif

#include <doctest/doctest.h>

using namespace seqpar;
using test::Array;
using test::List;
using test::Random;

namespace {

constexpr std::int64_t width = 301;  // odd, so that slots lie at any alignment

struct Case {
    Array whole;    // [3, S, width]
    Array strided;  // the same shape in another order of memory
    List sources;   // of the shard's slots

    template <Layout L>
    Case(Random& random, const L& layout, int rank) {
        whole = test::random_array(random, {3, layout.source_size(), width}, 1, false);
        strided = test::random_array(random, {3, layout.source_size(), 4}, 2);
        for (std::int64_t slot = 0; slot < layout.slots(rank); ++slot)
            sources.push_back(layout.source(layout.position(rank, slot)));
    }
};

template <class D, Layout L>
Array shard_with(const D& exec, const L& layout, int rank, const Array& whole, const Array& out) {
    Array result = test::copy_of(out);
    if constexpr (is_padded<L>) {
        if (whole.ref.element_bytes == 1) {
            shard(exec, layout, rank, whole.ref, axis<1>, result.ref, std::uint8_t{0xA5});
        } else {
            shard(exec, layout, rank, whole.ref, axis<1>, result.ref, std::uint16_t{0xA5C3});
        }
    } else {
        shard(exec, layout, rank, whole.ref, axis<1>, result.ref);
    }
    return result;
}

template <class D, Layout L>
Array back_with(const D& exec, const L& layout, int rank, const Array& part, const Array& out) {
    Array result = test::copy_of(out);
    shard_adjoint(exec, layout, rank, part.ref, axis<1>, result.ref);
    return result;
}

void compare_with_slots(Case& c, Array& shard) {
    test::for_each_index({3, static_cast<std::int64_t>(c.sources.size())}, [&](const List& at) {
        const std::int64_t source = c.sources[static_cast<std::size_t>(at[1])];
        const std::vector<std::byte> pads(width, std::byte{0xA5});
        const std::byte* const expected = source < 0 ? pads.data() : c.whole.at({at[0], source, 0});
        if (std::memcmp(shard.at({at[0], at[1], 0}), expected, width) != 0) FAIL("another slot than the layout's");
    });
}

template <class D, Layout L>
void compare_execs(const D& exec, const L& layout, int rank, const Case& c, const Array& out, const Array& part) {
    for (const Array* whole : {&c.whole, &c.strided}) {
        const Array& empty = whole == &c.whole ? out : part;
        const Array expected = shard_with(thrust::seq, layout, rank, *whole, empty);
        REQUIRE((shard_with(exec, layout, rank, *whole, empty).memory == expected.memory));
        const Array zeros = test::copy_of(*whole);
        REQUIRE((back_with(exec, layout, rank, empty, zeros).memory ==
                 back_with(thrust::seq, layout, rank, empty, zeros).memory));
    }
}

template <Layout L>
void compare_all(Random& random, const L& layout) {
    REQUIRE(check(layout).ok());
    const int rank = layout.ranks() - 1;
    Case c(random, layout, rank);
    const Array out = test::random_array(random, {3, layout.slots(rank), width}, 1, false);
    const Array part = test::random_array(random, {3, layout.slots(rank), 4}, 2);
    Array by_seq = shard_with(thrust::seq, layout, rank, c.whole, out);
    compare_with_slots(c, by_seq);
    compare_execs(thrust::host, layout, rank, c, out, part);
    compare_execs(thrust::cpp::par, layout, rank, c, out, part);
#ifdef SEQPAR_TEST_OMP
    compare_execs(thrust::omp::par, layout, rank, c, out, part);
#endif
#ifdef SEQPAR_TEST_TBB
    compare_execs(thrust::tbb::par, layout, rank, c, out, part);
#endif
}

}  // namespace

TEST_CASE("every host exec moves the same bytes: packed zigzag in TP-SP parts") {
    Random random(201);
    const List cu{0, 48, 48, 4800, 4824, 12000};
    compare_all(random, nested(packed(ZigZag{}, cu, cu.back(), 2), Contiguous{}, 2));
}

TEST_CASE("every host exec moves the same bytes: a padded layout") {
    Random random(202);
    const List cu{0, 48, 48, 4800, 4824, 8000};
    const List real{0, 40, 40, 4000, 4001, 7177};
    compare_all(random, padded(packed(ZigZag{}, cu, cu.back(), 2), real, cu, real.back()));
}

TEST_CASE("every host exec moves the same bytes: a user's layout without runs") {
    Random random(203);
    compare_all(random, test::Backwards{9001, 3});
}
