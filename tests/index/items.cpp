// Cuts of vision items over ranks against the rules in their own words, over random grids. (tests/golden/vision_rows.cpp
// holds them against what trainers gave.)
#include "support.hpp"

#include <seqpar/balance/items.hpp>
#include <seqpar/layout/contiguous.hpp>

#include <cmath>

using namespace test;

namespace {

std::vector<sp::Grid> random_grids(Random& random, std::int64_t most) {
    std::vector<sp::Grid> grids;
    for (std::int64_t n = random.between(0, most); n > 0; --n) {
        grids.push_back(
            {random.once_in(2) ? 1 : random.between(0, 9), 2 * random.between(1, 4), 2 * random.between(1, 4)});
    }
    return grids;
}

}  // namespace

TEST_CASE("pieces are the items, cut into stretches of frames") {
    const std::vector<sp::Grid> grids{{1, 4, 4}, {5, 2, 4}, {0, 2, 2}};
    CHECK(sp::pieces(grids, sp::whole_items) == std::vector<sp::Grid>{{1, 4, 4}, {5, 2, 4}});
    CHECK(sp::pieces(grids, 2) == std::vector<sp::Grid>{{1, 4, 4}, {2, 2, 4}, {2, 2, 4}, {1, 2, 4}});
    CHECK(sp::row_offsets(grids, 2) == List{0, 4, 14, 14});
    CHECK(sp::row_offsets(sp::pieces(grids, 1), 2) == List{0, 4, 6, 8, 10, 12, 14});
    CHECK(sp::piece_costs(grids, 3) == List{16 * 19, 40 * 43, 0});
    CHECK(thrown([&] { static_cast<void>(sp::pieces(grids, 0)); }).kind() == sp::Kind::policy);
    CHECK(thrown([&] {
              static_cast<void>(sp::pieces(std::vector<sp::Grid>{{-1, 2, 2}}, 1));
          }).kind() == sp::Kind::length);
    CHECK(thrown([&] {
              static_cast<void>(sp::row_offsets(std::vector<sp::Grid>{{1, 4, 3}}, 2));
          }) == sp::make_status(sp::Kind::document_multiple, 0, 0, 2, 3));
}

TEST_CASE("every cut of vision items is contiguous and covers them, and its rule decides where") {
    Random random(61);
    for (int round = 0; round < 2000; ++round) {
        const auto grids = random_grids(random, 12);
        const int ranks = static_cast<int>(random.between(1, 6));
        const auto count = static_cast<std::int64_t>(grids.size());
        const auto covers = [&](const List& cuts, std::int64_t all) {
            return cuts.size() == static_cast<std::size_t>(ranks) + 1 && cuts.front() == 0 && cuts.back() == all &&
                   std::is_sorted(cuts.begin(), cuts.end());
        };
        const List by_count = sp::cuts_by_count(count, ranks);
        REQUIRE(covers(by_count, count));
        const auto even = sp::UnevenContiguous{}(count, ranks);
        for (int r = 0; r < ranks; ++r)
            REQUIRE(by_count[static_cast<std::size_t>(r) + 1] - by_count[static_cast<std::size_t>(r)] == even.slots(r));

        const List costs = sp::piece_costs(grids, random.between(0, 50));
        const List by_cost = sp::cuts_by_cost(costs, ranks);
        REQUIRE(by_cost.empty() == (count < ranks));
        if (!by_cost.empty()) {
            REQUIRE(covers(by_cost, count));
            REQUIRE(sp::ranks_without_items(by_cost).empty());
            List prefix(1, 0);
            for (const std::int64_t cost : costs)
                prefix.push_back(prefix.back() + cost);
            for (std::int64_t k = 1; k < ranks; ++k) {
                std::int64_t cut = 0;
                for (std::int64_t j = 0; j <= count; ++j)
                    cut = prefix[static_cast<std::size_t>(j)] * ranks <= k * prefix.back() ? j : cut;
                cut = std::min(std::max(cut, by_cost[static_cast<std::size_t>(k) - 1] + 1), count - (ranks - k));
                REQUIRE(by_cost[static_cast<std::size_t>(k)] == cut);
            }
        }

        List frames;
        std::int64_t all = 0;
        for (const sp::Grid& grid : grids) {
            frames.push_back(grid.t);
            all += grid.t;
        }
        const std::int64_t tubelet = random.between(1, 5);
        const List by_tubelet = sp::cuts_by_tubelet(frames, tubelet, ranks);
        REQUIRE(covers(by_tubelet, all));
        for (std::size_t k = 1; k + 1 < by_tubelet.size(); ++k) {
            const std::int64_t target = static_cast<std::int64_t>(k) * all / ranks;
            std::int64_t begin = 0;
            std::size_t item = 0;
            while (item < frames.size() && begin + frames[item] <= target)
                begin += frames[item++];
            const std::int64_t offset = target - begin;
            std::int64_t expected = target;
            if (offset % tubelet != 0) {
                const std::int64_t m = (frames[item] + tubelet - 1) / tubelet;
                const double exact = static_cast<double>(offset) / static_cast<double>(tubelet);
                const auto nearest = static_cast<std::int64_t>(std::nearbyint(exact));  // half to even
                expected = m > 1 ? begin + tubelet * std::clamp(nearest, std::int64_t{1}, m - 1)
                                 : begin + (2 * offset < frames[item] ? 0 : frames[item]);
            }
            REQUIRE(by_tubelet[k] == expected);
        }
    }
}

TEST_CASE("a_rank_without_images_is_named_so_that_it_gets_a_filler") {  // case 83
    // One image, two ranks: rank 1 encodes a filler, whose rows are not counted.
    const std::vector<sp::Grid> one{{1, 4, 4}};
    const List cuts = sp::cuts_by_count(1, 2);
    CHECK(cuts == List{0, 1, 1});
    CHECK(sp::ranks_without_items(cuts) == std::vector<int>{1});
    CHECK(sp::filler_counts(cuts) == List{0, 1});  // calls [1, 1]
    const List rows = sp::row_offsets(one, 2);
    CHECK(rows[1] - rows[0] == 4);  // counts [4, 0]
    CHECK(rows[static_cast<std::size_t>(cuts[2])] - rows[static_cast<std::size_t>(cuts[1])] == 0);
    // Images [2, 1]: no rank is without any, yet rank 1 encodes a filler too, so that the calls are [2, 2].
    const List uneven = sp::cuts_by_count(3, 2);
    CHECK(uneven == List{0, 2, 3});
    CHECK(sp::ranks_without_items(uneven).empty());
    CHECK(sp::filler_counts(uneven) == List{0, 1});
    CHECK(sp::filler_counts(List{0, 0, 5, 7}) == List{5, 0, 3});
    const auto kind = [](const List& bad) {
        const sp::Kind first = sp::status_of([&] { (void)sp::filler_counts(bad); }).kind();
        CHECK(sp::status_of([&] { (void)sp::ranks_without_items(bad); }).kind() == first);
        return first;
    };
    CHECK(kind(sp::cuts_by_cost(List{7}, 2)) == sp::Kind::ranks);  // no cuts, since there are fewer pieces than ranks
    CHECK(kind({0}) == sp::Kind::ranks);
    CHECK(kind({0, 2, 1}) == sp::Kind::offsets_order);
    CHECK(kind({1, 2}) == sp::Kind::offsets_first);
    CHECK(kind({0, 0}) == sp::Kind::ok);
}

TEST_CASE("what_a_collective_is_given_depends_on_no_rank_s_own_images") {  // case 84
    // One image of 4 rows, two ranks, of which the second has none: sizes [4, 0] and displacements [0, 4] on both.
    const std::vector<sp::Grid> grids{{1, 4, 4}};
    const List cuts = sp::cuts_by_count(1, 2);
    const List rows = sp::row_offsets(sp::pieces(grids, sp::whole_items), 2);
    List sizes, displacements;
    for (std::size_t r = 0; r < 2; ++r) {
        displacements.push_back(rows[static_cast<std::size_t>(cuts[r])]);
        sizes.push_back(rows[static_cast<std::size_t>(cuts[r + 1])] - displacements.back());
    }
    CHECK(sizes == List{4, 0});
    CHECK(displacements == List{0, 4});
}

TEST_CASE("cuts of nothing, and mistakes") {
    CHECK(sp::cuts_by_count(0, 3) == List{0, 0, 0, 0});
    CHECK(sp::cuts_by_cost(List{}, 1).empty());
    CHECK(sp::cuts_by_tubelet(List{}, 2, 2) == List{0, 0, 0});
    CHECK(sp::cuts_by_tubelet(List{0, 0}, 2, 2) == List{0, 0, 0});
    CHECK(thrown([] { static_cast<void>(sp::cuts_by_count(2, 0)); }).kind() == sp::Kind::ranks);
    CHECK(thrown([] { static_cast<void>(sp::cuts_by_count(-1, 1)); }).kind() == sp::Kind::length);
    CHECK(thrown([] { static_cast<void>(sp::cuts_by_cost(List{1, -1}, 1)); }).kind() == sp::Kind::length);
    CHECK(thrown([] {
              static_cast<void>(sp::cuts_by_cost(List{INT64_MAX / 2, 1}, 2));
          }).kind() == sp::Kind::value_lost);
    CHECK(thrown([] { static_cast<void>(sp::cuts_by_tubelet(List{1}, 0, 1)); }).kind() == sp::Kind::policy);
}

TEST_CASE("grids_that_no_vision_item_has_are_errors_that_name_the_item") {
    const std::int64_t large = std::int64_t{1} << 32;
    const auto each = [](const sp::Grid& bad, std::int64_t got) {
        const std::vector<sp::Grid> grids{{1, 2, 2}, bad};
        const sp::Status status = sp::make_status(sp::Kind::length, 0, 1, 0, got);
        CHECK(thrown([&] { static_cast<void>(sp::pieces(grids, sp::whole_items)); }) == status);
        CHECK(thrown([&] { static_cast<void>(sp::row_offsets(grids, 1)); }) == status);
        CHECK(thrown([&] { static_cast<void>(sp::piece_costs(grids, 0)); }) == status);
    };
    each({-1, 2, 2}, -1);
    each({1, -4, 2}, -4);
    each({2, large, large}, -1);  // 2^65 patches
    each({0, large, large}, -1);  // none of them, but that is not how a frame can be
    CHECK(describe(thrown([&] {
              static_cast<void>(sp::row_offsets(std::vector<sp::Grid>{{1, 2, 2}, {-1, 2, 2}}, 2));
          })) == "a length is negative or overflows: entry 1, expected at least 0, got -1");
    // Each is an int64, the sum is not.
    const std::vector<sp::Grid> many(3, {1, large, large / 4});
    CHECK(thrown([&] { static_cast<void>(sp::row_offsets(many, 1)); }) ==
          sp::make_status(sp::Kind::length, 0, 1, 0, -1));
    CHECK(thrown([] {
              static_cast<void>(sp::cuts_by_tubelet(List{INT64_MAX, 1}, 2, 2));
          }) == sp::make_status(sp::Kind::length, 0, 1, 0, -1));
    CHECK(thrown([] {
              static_cast<void>(sp::cuts_by_tubelet(List{4, -1}, 2, 2));
          }) == sp::make_status(sp::Kind::length, 0, 1, 0, -1));
    CHECK(sp::cuts_by_tubelet(List{INT64_MAX}, INT64_MAX, 2) == List{0, 0, INT64_MAX});
    // p (p + alpha) would be negative for small p.
    CHECK(thrown([&] { static_cast<void>(sp::piece_costs(many, -5)); }) ==
          sp::make_status(sp::Kind::policy, 0, 0, 0, -5));
    CHECK(sp::piece_costs(many, INT64_MAX) == List(3, INT64_MAX));
}
