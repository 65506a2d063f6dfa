// Moves past the cache: the copies that they are made of at every alignment and length, forced on small arrays, and a large
// move by itself. Streaming stores must leave no byte out and touch none beside.
#include "move/arrays.hpp"
#include "move/layouts.hpp"

#include <seqpar/move/levels.hpp>
#include <seqpar/move/unshard.hpp>

#include <doctest/doctest.h>

using namespace seqpar;
using test::Array;
using test::List;
using test::Random;

TEST_CASE("stream_bytes and copy_bytes copy any length at any alignment, and nothing beside") {
    Random random(301);
    const std::vector<std::byte> from = test::random_bytes(random, 9000);
    const std::vector<std::byte> canary = test::random_bytes(random, 9000);
    for (int i = 0; i < 6000; ++i) {
        const auto bytes = static_cast<std::size_t>(random.between(0, i % 2 == 0 ? 130 : 1500));
        const auto at = static_cast<std::size_t>(random.between(64, 200));
        const auto source = static_cast<std::size_t>(random.between(0, 130));
        // What comes next may be shorter than what is copied, longer, or nothing.
        const auto next = static_cast<std::size_t>(random.between(0, 9000));
        std::vector<std::byte> expected = canary;
        std::memcpy(expected.data() + at, from.data() + source, bytes);
        std::vector<std::byte> to = canary;
        detail::stream_bytes(to.data() + at, from.data() + source, bytes,
                             next == 0 ? nullptr : from.data() + (9000 - next), next);
        detail::fence_writes();
        REQUIRE((to == expected));
        to = canary;
        detail::copy_bytes(to.data() + at, from.data() + source, bytes);
        REQUIRE((to == expected));
    }
}

TEST_CASE("zero_bytes zeroes any length at any alignment, and nothing beside") {
    Random random(302);
    const std::vector<std::byte> canary = test::random_bytes(random, 3000);
    for (int i = 0; i < 2000; ++i) {
        const auto bytes = static_cast<std::size_t>(random.between(0, 1500));
        const auto at = static_cast<std::size_t>(random.between(64, 200));
        std::vector<std::byte> expected = canary;
        if (bytes > 0) std::memset(expected.data() + at, 0, bytes);
        std::vector<std::byte> to = canary;
        detail::zero_bytes(to.data() + at, bytes, i % 2 == 0);
        detail::fence_writes();
        REQUIRE((to == expected));
    }
}

namespace {

// The move as if the whole operation wrote `bytes` bytes: INT64_MAX takes it past the cache, 0 through it.
template <detail::Direction To, Layout L>
void move_as_of(std::int64_t bytes, const L& layout, int rank, const ArrayRef& whole, const ArrayRef& shard, int axis) {
    detail::SlotMove<L> move{layout, rank, detail::slot_copy(whole, shard, axis), {}};
    move.fill = detail::fill_as<std::uint8_t>(std::uint8_t{0x5A}, 0);
    detail::move_slots<To>(detail::Dispatch{}, thrust::seq, bytes, move);
}

// Shards of bytes: runs of some hundred to thousands of bytes, at odd alignments.
template <Layout L>
void compare_forced(Random& random, const L& layout) {
    REQUIRE(check(layout).ok());
    const int rank = static_cast<int>(random.between(0, layout.ranks() - 1));
    const std::int64_t width = random.between(1, 1500);
    Array whole = test::random_array(random, {layout.source_size(), width}, 1, random.once_in(4));
    Array shard = test::random_array(random, {layout.slots(rank), width}, 1, false);
    if (detail::slot_copy(whole.ref, shard.ref, 0).loop_count == 0) return;
    Array streamed = test::copy_of(shard);
    move_as_of<detail::Direction::to_shard>(0, layout, rank, whole.ref, shard.ref, 0);
    move_as_of<detail::Direction::to_shard>(INT64_MAX, layout, rank, whole.ref, streamed.ref, 0);
    REQUIRE((streamed.memory == shard.memory));
    Array through = test::copy_of(whole);
    for (std::byte& byte : through.memory)
        byte = ~byte;
    Array past = test::copy_of(through);
    move_as_of<detail::Direction::to_whole>(0, layout, rank, through.ref, shard.ref, 0);
    move_as_of<detail::Direction::to_whole>(INT64_MAX, layout, rank, past.ref, shard.ref, 0);
    REQUIRE((past.memory == through.memory));
}

}  // namespace

TEST_CASE("a move past the cache writes what a move through it writes") {
    Random random(303);
    for (int i = 0; i < 150; ++i) {
        test::with_packed_layout(random, [&](const auto& layout) { compare_forced(random, layout); });
        test::with_padded_layout(random, [&](const auto& layout) { compare_forced(random, layout); });
    }
}

TEST_CASE("a large array comes back bit for bit: more than a quarter of the last cache, odd runs, pad slots") {
    const std::int64_t enough = std::min<std::int64_t>(detail::last_cache_bytes() / 4, std::int64_t{64} << 20);
    const std::int64_t width = 1013;  // bytes a slot
    // Documents of some tokens and one that takes what is left, on one rank of two each more than `enough`.
    const std::int64_t units = 2 * enough / width / 4 + 1000;
    const List cu{0, 4, 8, 400, 400, 4 * units};
    const List real{0, 3, 3, 390, 390, 4 * units - 400 + 390 - 17};
    Random random(304);
    std::vector<std::uint8_t> x(static_cast<std::size_t>(real.back() * width));
    std::uint64_t state = 1;
    for (std::uint8_t& value : x)
        value = static_cast<std::uint8_t>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
    const auto layout = padded(packed(ZigZag{}, cu, cu.back(), 2), real, cu, real.back());
    std::vector<std::uint8_t> part[2];
    for (int rank = 0; rank < 2; ++rank) {
        auto& out = part[rank];
        out.assign(static_cast<std::size_t>(layout.slots(rank) * width + 2), 0xEE);
        shard(thrust::seq, layout, rank, tensor(x.data(), real.back(), width), axis<0>,
              tensor(out.data() + 1, layout.slots(rank), width), 0x77);
        REQUIRE(out.front() == 0xEE);
        REQUIRE(out.back() == 0xEE);
        std::int64_t wrong = 0;
        for (std::int64_t slot = 0; slot < layout.slots(rank); slot += 7) {
            const std::int64_t source = layout.source(layout.position(rank, slot));
            const std::uint8_t* const got = out.data() + 1 + slot * width;
            if (source < 0) {
                for (std::int64_t i = 0; i < width; ++i)
                    wrong += got[i] != 0x77;
            } else {
                wrong += std::memcmp(got, x.data() + source * width, static_cast<std::size_t>(width)) != 0;
            }
        }
        REQUIRE(wrong == 0);
    }
    std::vector<std::uint8_t> back(x.size(), 0xEE);
    const auto of_rank = [&](int rank) { return tensor(part[rank].data() + 1, layout.slots(rank), width); };
    unshard(thrust::seq, layout, shards(of_rank), axis<0>, tensor(back.data(), real.back(), width));
    REQUIRE((back == x));
}

TEST_CASE("a_compaction_counts_more_than_2_to_the_31_entries") {  // case 40
    constexpr std::int64_t count = std::int64_t{1} << 31;
    const std::int32_t row = 0;  // of each of them
    const auto rows = tensor(&row, {count}, {0});
    std::vector<std::int32_t> few(4, -7);
    const Status status = status_of([&] { compact(check_only, rows, all_banks, no_array, few); });
    CHECK(status == make_status(Kind::extent, 2, 0, count, 4));
    CHECK(few == std::vector<std::int32_t>(4, -7));
}
