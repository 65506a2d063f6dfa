// Halo: against plain loops over positions, for both sides and both rules.
#include "support.hpp"

#include <seqpar/index/halo.hpp>

using namespace test;

namespace {

// The document of `position`; what comes after the offsets is one more.
std::pair<std::int64_t, std::int64_t> document(const List& cu, std::int64_t position, std::int64_t length) {
    for (std::size_t d = 0; d + 1 < cu.size(); ++d) {
        if (position >= cu[d] && position < cu[d + 1]) return {cu[d], cu[d + 1]};
    }
    return {cu.back(), length};
}

template <class L>
List naive(const L& layout, int rank, sp::Side side, std::int64_t window, const List& cu) {
    List halo;
    auto cursor = sp::runs(layout, rank, 0, layout.slots(rank));
    for (sp::Run run; cursor.next(run);) {
        const std::int64_t last = run.position + run.length;
        const auto [begin, end] = document(cu, side == sp::Side::left ? run.position : last - 1, layout.size());
        const std::int64_t first = side == sp::Side::left ? run.position - window : last;
        for (std::int64_t p = first; p < first + window; ++p)
            halo.push_back(p >= begin && p < end ? p : -1);
    }
    return halo;
}

}  // namespace

TEST_CASE("a halo is the positions beside each run, to the document's end or across it") {
    Random random(81);
    for (int ranks = 1; ranks <= 3; ++ranks) {
        for_each_layout(random, ranks, 5, 2, [&](const auto& layout) {
            List cu = random_offsets(random, 1, 5, std::max<std::int64_t>(layout.size() / 5, 1));
            if (cu.size() == 1) cu.push_back(0);
            for (std::int64_t& offset : cu)
                offset = std::min(offset, layout.size());
            for (int rank = 0; rank < layout.ranks(); ++rank) {
                for (const std::int64_t window : {0, 1, 3, 100}) {
                    for (const sp::Side side : {sp::Side::left, sp::Side::right}) {
                        REQUIRE(sp::halo_positions(layout, rank, side, window, sp::offsets(cu)) ==
                                naive(layout, rank, side, window, cu));
                        REQUIRE(sp::halo_positions(layout, rank, side, window) ==
                                naive(layout, rank, side, window, {0, layout.size()}));
                    }
                }
            }
        });
    }
}

TEST_CASE("zigzag has two halos a rank, also where its chunks are neighbours") {
    const auto layout = sp::ZigZag{}(16, 2);
    CHECK(sp::halo_positions(layout, 0, sp::Side::left, 3) == List{-1, -1, -1, 9, 10, 11});
    CHECK(sp::halo_positions(layout, 1, sp::Side::left, 3) == List{1, 2, 3, 5, 6, 7});
    CHECK(sp::halo_positions(layout, 1, sp::Side::right, 2) == List{8, 9, 12, 13});
}

TEST_CASE("a window that is longer than the neighbour's shard goes on to ranks further away") {
    const auto layout = sp::Contiguous{}(8, 4);
    CHECK(sp::halo_positions(layout, 3, sp::Side::left, 5) == List{1, 2, 3, 4, 5});
    const List cu{0, 3, 8};
    CHECK(sp::halo_positions(layout, 3, sp::Side::left, 5, sp::offsets(cu)) == List{-1, -1, 3, 4, 5});
}

// The convolution of a shard with its halo is the convolution of the whole, sharded.
TEST_CASE("a sum over a window of a shard and its halo is that of the whole array") {
    const List cu{0, 8, 12, 24};
    const auto layout = sp::packed(sp::ZigZag{}, cu, 24, 2);
    const auto value = [](std::int64_t p) { return p < 0 ? 0 : p * p + 1; };
    constexpr std::int64_t window = 3;
    for (int rank = 0; rank < 2; ++rank) {
        const List halo = sp::halo_positions(layout, rank, sp::Side::left, window, sp::offsets(cu));
        std::size_t at = 0;
        auto cursor = sp::runs(layout, rank, 0, layout.slots(rank));
        for (sp::Run run; cursor.next(run); at += window) {
            List padded(halo.begin() + static_cast<std::ptrdiff_t>(at),
                        halo.begin() + static_cast<std::ptrdiff_t>(at + window));
            padded = joined(padded, range(run.position, run.position + run.length));
            for (std::int64_t i = 0; i < run.length; ++i) {
                std::int64_t sum = 0;
                std::int64_t expected = 0;
                for (std::int64_t k = 0; k <= window; ++k) {
                    sum += value(padded[static_cast<std::size_t>(i + k)]);
                    const std::int64_t p = run.position + i - k;
                    expected += p >= document(cu, run.position + i, 24).first ? value(p) : 0;
                }
                CHECK(sum == expected);
            }
        }
        CHECK(at == halo.size());
    }
}

TEST_CASE("what has no halo is named") {
    const auto layout = sp::ZigZag{}(16, 2);
    const List cu{0, 20};
    CHECK(sp::status_of([&] { (void)sp::halo_positions(layout, 0, sp::Side::left, -1); }).kind() == sp::Kind::policy);
    CHECK(sp::status_of([&] { (void)sp::halo_positions(layout, 2, sp::Side::left, 1); }).kind() == sp::Kind::rank);
    CHECK(sp::status_of([&] { (void)sp::halo_positions(layout, 0, sp::Side::left, 1, sp::offsets(cu)); }).kind() ==
          sp::Kind::offsets_total);
}
