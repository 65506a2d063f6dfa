// What is known of arrays that share memory: never that they do where they do not, and all of it for rows with gaps.
#include "../layout/random.hpp"

#include <seqpar/tensor/detail/memory.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace seqpar;

namespace {

std::byte memory[4096];

std::set<const std::byte*> bytes_of(const ArrayRef& a) {
    std::set<const std::byte*> bytes;
    std::int64_t count = 1;
    for (int i = 0; i < a.axes; ++i)
        count *= a.extents[i];
    for (std::int64_t n = 0; n < count; ++n) {
        std::int64_t rest = n;
        std::int64_t at = 0;
        for (int i = 0; i < a.axes; ++i) {
            at += rest % a.extents[i] * a.strides[i];
            rest /= a.extents[i];
        }
        for (int byte = 0; byte < a.element_bytes; ++byte)
            bytes.insert(static_cast<const std::byte*>(a.data) + at * a.element_bytes + byte);
    }
    return bytes;
}

bool meet(const ArrayRef& a, const ArrayRef& b) {
    const auto of_a = bytes_of(a);
    for (const std::byte* byte : bytes_of(b)) {
        if (of_a.count(byte) != 0) return true;
    }
    return false;
}

// Up to 3 axes with strides from -6 to 6, or of rows in rows, some turned around.
ArrayRef random_array(test::Random& random, bool rows) {
    ArrayRef a;
    a.axes = static_cast<int>(random.between(1, 3));
    a.element_bytes = 1 << random.between(0, 2);
    a.data = memory + 2048 + random.between(-12, 12);
    std::int64_t inner = 1;
    for (int i = a.axes - 1; i >= 0; --i) {
        a.extents[i] = random.between(0, 4);
        a.strides[i] = rows ? inner * (random.once_in(3) ? -1 : 1) : random.between(-6, 6);
        inner *= random.between(4, 6);
    }
    return a;
}

}  // namespace

TEST_CASE("arrays that share no byte are never said to share memory, whatever their strides") {
    test::Random random(7);
    int found = 0;
    for (int round = 0; round < 20000; ++round) {
        const ArrayRef a = random_array(random, random.once_in(2));
        const ArrayRef b = random_array(random, random.once_in(2));
        const bool known = detail::shares_memory(a, b);
        found += known ? 1 : 0;
        if (known) REQUIRE(meet(a, b));
        REQUIRE(detail::shares_memory(b, a) == known);
    }
    CHECK(found > 2000);
}

TEST_CASE("arrays of the same strides, rows with gaps, share memory if and only if they share a byte") {
    test::Random random(8);
    int found = 0;
    for (int round = 0; round < 20000; ++round) {
        const ArrayRef a = random_array(random, true);
        ArrayRef b = a;
        b.data = memory + 2048 + random.between(-12, 12) * (random.once_in(2) ? 1 : 8);
        for (int i = 0; i < b.axes; ++i)
            b.extents[i] = random.between(0, 4);
        const bool known = detail::shares_memory(a, b);
        found += known ? 1 : 0;
        REQUIRE(known == meet(a, b));
    }
    CHECK(found > 2000);
}
