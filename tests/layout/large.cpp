// Numbers beyond 32 bits: 2^33 positions, 100,000 documents, int32 offsets whose products leave 32 bits. Nothing here
// allocates by length. Not here: small layouts, which say more about the laws.
#include "random.hpp"

#include <seqpar/conformance/layout.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace seqpar;
using test::List;
using test::Random;

namespace {

constexpr std::int64_t all_positions = std::int64_t{1} << 33;

// Formula A near the borders of its chunks.
constexpr auto zigzag = ZigZag{}(all_positions, 8);
constexpr std::int64_t chunk = all_positions / 16;
static_assert(zigzag.slots(7) == 2 * chunk);
static_assert(zigzag.position(7, 0) == 7 * chunk && zigzag.position(0, chunk) == 15 * chunk);
static_assert(zigzag.position(0, 2 * chunk - 1) == all_positions - 1);
static_assert(zigzag.place(all_positions - 1) == Place{0, 2 * chunk - 1});
static_assert(zigzag.place(9 * chunk) == Place{6, chunk});
static_assert(zigzag.run_at(3, 5) == Run{3 * chunk + 5, 5, chunk - 5});

static_assert(Striped{}(all_positions, 8).position(7, all_positions / 8 - 1) == all_positions - 1);
static_assert(Striped{4096}(all_positions, 8).place(all_positions - 1) == Place{7, all_positions / 8 - 1});
static_assert(UnevenContiguous{}(all_positions + 5, 8).slots(4) == all_positions / 8 + 1);
static_assert(UnevenContiguous{}(all_positions + 5, 8).place(all_positions + 4) == Place{7, all_positions / 8 - 1});

// The greatest lengths there are.
constexpr std::int64_t huge = std::int64_t{1} << 62;
static_assert(Contiguous{}(huge, 1 << 20).position((1 << 20) - 1, huge / (1 << 20) - 1) == huge - 1);
static_assert(ZigZag{}(huge, 1 << 20).place(huge - 1) == Place{0, huge / (1 << 20) - 1});
static_assert(nested(ZigZag{}(huge, 8), Contiguous{}, 8).position(63, huge / 64 - 1) == 9 * (huge / 16) - 1);

// Both inverses and run_at at random places.
template <RunLayout L>
void check_samples(Random& random, const L& layout, int samples) {
    for (int i = 0; i < samples; ++i) {
        const std::int64_t position = random.between(0, layout.size() - 1);
        const Place place = layout.place(position);
        CAPTURE(position);
        REQUIRE(place.rank >= 0);
        REQUIRE(place.rank < layout.ranks());
        REQUIRE(place.slot >= 0);
        REQUIRE(place.slot < layout.slots(place.rank));
        REQUIRE(layout.position(place.rank, place.slot) == position);
        const Run run = layout.run_at(place.rank, place.slot);
        REQUIRE(run.position == position);
        REQUIRE(run.length >= 1);
        REQUIRE(run.length <= layout.slots(place.rank) - place.slot);
        REQUIRE(layout.position(place.rank, place.slot + run.length - 1) == position + run.length - 1);

        const int rank = static_cast<int>(random.between(0, layout.ranks() - 1));
        const std::int64_t slot = random.between(0, layout.slots(rank) - 1);
        REQUIRE(layout.place(layout.position(rank, slot)) == Place{rank, slot});
    }
}

// 100,000 documents of 2^33 positions in all, every tenth empty.
List many_offsets() {
    Random random(21);
    List cu(1, 0);
    for (int d = 1; d < 100000; ++d) {
        cu.push_back(cu.back() + (d % 10 == 0 ? 0 : random.between(0, 10000) * 16));
    }
    REQUIRE(cu.back() < all_positions);
    cu.push_back(all_positions);
    return cu;
}

}  // namespace

TEST_CASE("2^33 positions keep the inverses") {
    Random random(20);
    check_samples(random, zigzag, 5000);
    check_samples(random, Striped{}(all_positions, 8), 5000);
    check_samples(random, Striped{1000}(all_positions / 8000 * 8000, 8), 5000);
    check_samples(random, UnevenContiguous{}(all_positions + 3, 7), 5000);
    check_samples(random, nested(zigzag, Contiguous{}, 4), 5000);
    check_samples(random, nested(nested(zigzag, Contiguous{}, 4), UnevenContiguous{}, 3), 5000);
}

TEST_CASE("100,000 documents of 2^33 positions keep the inverses and walk") {
    const List cu = many_offsets();
    const auto layout = packed(ZigZag{}, cu, all_positions, 8);
    REQUIRE(check(layout).ok());
    Random random(22);
    check_samples(random, layout, 20000);
    check_samples(random, nested(layout, Contiguous{}, 4), 20000);
    for (const int rank : {0, 3, 7}) {
        std::int64_t slot = 0;
        std::int64_t runs_seen = 0;
        auto cursor = runs(layout, rank, 0, layout.slots(rank));
        for (Run run; cursor.next(run); ++runs_seen) {
            REQUIRE(run.slot == slot);
            REQUIRE(run.length >= 1);
            REQUIRE(layout.position(rank, slot) == run.position);
            slot += run.length;
            REQUIRE(layout.position(rank, slot - 1) == run.position + run.length - 1);
        }
        CHECK(slot == all_positions / 8);
        CHECK(runs_seen <= 200000);
    }
}

TEST_CASE("a fault in the last of 100,000 documents is found and named") {
    List cu = many_offsets();
    cu[99999] -= 2;
    const Status status = check(packed(ZigZag{}, cu, all_positions, 8));
    CHECK(status.kind() == Kind::document_multiple);
    CHECK(status.index() == 99998);
    CHECK(status.expected == 16);
}

TEST_CASE("int32 offsets up to their greatest value are computed in 64 bits") {
    constexpr std::int64_t total = std::int64_t{std::numeric_limits<std::int32_t>::max()} / 16 * 16;
    const std::vector<std::int32_t> cu{0, 1 << 30, 1 << 30, static_cast<std::int32_t>(total)};
    const auto layout = packed(ZigZag{}, cu, total, 8);
    REQUIRE(check(layout).ok());
    Random random(23);
    check_samples(random, layout, 5000);
    check_samples(random, nested(layout, UnevenContiguous{}, 7), 5000);
    CHECK(layout.position(0, layout.slots(0) - 1) == total - 1);
}

TEST_CASE("pads among 2^33 positions") {
    const List cu = many_offsets();
    List real(1, 0);
    for (std::size_t d = 0; d + 1 < cu.size(); ++d) {
        real.push_back(real.back() + (cu[d + 1] - cu[d]) * 3 / 4);
    }
    const auto layout = padded(packed(ZigZag{}, cu, all_positions, 8), real, cu, real.back());
    REQUIRE(check(layout).ok());
    Random random(24);
    for (int i = 0; i < 20000; ++i) {
        const auto d = static_cast<std::size_t>(random.between(0, 99999));
        if (real[d] == real[d + 1]) {
            continue;
        }
        const std::int64_t inside = random.between(0, real[d + 1] - real[d] - 1);
        REQUIRE(layout.source(cu[d] + inside) == real[d] + inside);
        REQUIRE(layout.source(cu[d] + real[d + 1] - real[d]) == -1);
    }
    std::int64_t valid = 0;
    std::int64_t slots = 0;
    for (int rank = 0; rank < 8; ++rank) {
        auto cursor = source_runs(layout, rank, 0, layout.slots(rank));
        for (Run run; cursor.next(run);) {
            valid += run.position < 0 ? 0 : run.length;
            slots += run.length;
        }
    }
    CHECK(slots == all_positions);
    CHECK(valid == real.back());
}
