// Who encodes which images: pieces of vision items (whole items, tubelets, frames) from their grids, and cuts of them into
// contiguous parts, one a rank. Pure functions, the same on every rank. Not here: attention work of tokens (plans.hpp), and how
// what the ranks encode comes to the tokens.
// Every function here: Synchronises: never. Allocates: the result. Launches: none. Reads offsets on: none.
#pragma once

#include <seqpar/layout/offsets.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace seqpar {

// Patches of a vision item: frames, height, width.
struct Grid {
    std::int64_t t = 1;
    std::int64_t h = 0;
    std::int64_t w = 0;
    friend constexpr bool operator==(const Grid&, const Grid&) = default;
};

inline constexpr std::int64_t whole_items = INT64_MAX;

namespace detail {

// The patches of a grid; an Error (length) with the grid's number where an extent is negative or they are no int64.
inline std::int64_t check_grid(const Grid& grid, std::int64_t number) {
    const std::int64_t least = (std::min)({grid.t, grid.h, grid.w});
    if (least < 0) throw_if_bad(make_status(Kind::length, 0, number, 0, least));
    std::int64_t patches = 0;
    if (__builtin_mul_overflow(grid.h, grid.w, &patches) || __builtin_mul_overflow(grid.t, patches, &patches))
        throw_if_bad(make_status(Kind::length, 0, number, 0, -1));
    return patches;
}

// Adds a length of at least 0 to `sum`, or says whose it is.
inline void add_length(std::int64_t& sum, std::int64_t length, std::int64_t number) {
    if (length < 0) throw_if_bad(make_status(Kind::length, 0, number, 0, length));
    if (__builtin_add_overflow(sum, length, &sum)) throw_if_bad(make_status(Kind::length, 0, number, 0, -1));
}

}  // namespace detail

// The grids of the pieces of each item, of `frames` frames each (its last may have fewer): 1 for frames, a tubelet's length for
// tubelets, whole_items for items as they are. Errors here and below: a negative extent, patches that are no int64 (length, the
// item's number); here, frames below 1.
[[nodiscard]] inline std::vector<Grid> pieces(std::span<const Grid> grids, std::int64_t frames) {
    if (frames < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, frames));
    std::vector<Grid> result;
    for (const Grid& grid : grids) {
        detail::check_grid(grid, &grid - grids.data());
        for (std::int64_t left = grid.t; left > 0; left -= (std::min)(frames, left))
            result.push_back({(std::min)(frames, left), grid.h, grid.w});
    }
    return result;
}

// Bank rows of each grid where merge x merge patches make one, as offsets: [0, rows of the first, …]. What check_rows takes as
// items, and what turns cuts of pieces into cuts of bank rows: rows_at[cut]. Error: an axis that merge does not divide.
[[nodiscard]] inline std::vector<std::int64_t> row_offsets(std::span<const Grid> grids, std::int64_t merge) {
    if (merge < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, merge));
    std::vector<std::int64_t> offsets(1, 0);
    for (const Grid& grid : grids) {
        const std::int64_t number = &grid - grids.data();
        const std::int64_t patches = detail::check_grid(grid, number);
        for (const std::int64_t extent : {grid.h, grid.w}) {
            if (extent % merge != 0) throw_if_bad(make_status(Kind::document_multiple, 0, number, merge, extent));
        }
        std::int64_t end = offsets.back();
        detail::add_length(end, patches / merge / merge, number);
        offsets.push_back(end);
    }
    return offsets;
}

// What a vision encoder's attention costs for each piece: p (p + alpha) of p patches, or INT64_MAX where that is none. Error: an alpha
// below 0.
[[nodiscard]] inline std::vector<std::int64_t> piece_costs(std::span<const Grid> grids, std::int64_t alpha) {
    if (alpha < 0) throw_if_bad(make_status(Kind::policy, 0, 0, 0, alpha));
    std::vector<std::int64_t> costs;
    for (const Grid& grid : grids) {
        const std::int64_t patches = detail::check_grid(grid, &grid - grids.data());
        costs.push_back(detail::saturating_product(patches, patches + (std::min)(alpha, INT64_MAX - patches)));
    }
    return costs;
}

// Cuts into `ranks` contiguous parts: rank r has pieces [cuts[r], cuts[r + 1]). Here by count: the first ranks one more.
[[nodiscard]] inline std::vector<std::int64_t> cuts_by_count(std::int64_t pieces, int ranks) {
    if (ranks < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, ranks));
    if (pieces < 0) throw_if_bad(make_status(Kind::length, 0, 0, 0, pieces));
    std::vector<std::int64_t> cuts(1, 0);
    for (std::int64_t r = 0; r < ranks; ++r)
        cuts.push_back(cuts.back() + pieces / ranks + (r < pieces % ranks ? 1 : 0));
    return cuts;
}

// By cost: cut k is the last before which lies at most k / ranks of the whole cost, but each rank has a piece. Empty where there
// are fewer pieces than ranks. Errors: a negative cost, costs whose sum times ranks is no int64.
[[nodiscard]] inline std::vector<std::int64_t> cuts_by_cost(std::span<const std::int64_t> costs, int ranks) {
    if (ranks < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, ranks));
    const auto pieces = static_cast<std::int64_t>(costs.size());
    std::int64_t sum = 0;
    for (const std::int64_t& cost : costs) {
        const std::int64_t number = &cost - costs.data();
        if (cost < 0) throw_if_bad(make_status(Kind::length, 0, number, 0, cost));
        if (cost > INT64_MAX / ranks - sum)
            throw_if_bad(make_status(Kind::value_lost, 0, number, INT64_MAX / ranks - sum, cost));
        sum += cost;
    }
    if (pieces < ranks) return {};
    std::vector<std::int64_t> cuts(1, 0);
    std::int64_t before = 0;  // cost of the pieces before the cut
    for (std::int64_t k = 1; k < ranks; ++k) {
        std::int64_t cut = cuts.back();
        const std::int64_t most = pieces - (ranks - k);
        const std::int64_t least = cut + 1;
        while (cut < most && (cut < least || (before + costs[static_cast<std::size_t>(cut)]) * ranks <= k * sum))
            before += costs[static_cast<std::size_t>(cut++)];
        cuts.push_back(cut);
    }
    cuts.push_back(pieces);
    return cuts;
}

// By frames, no tubelet cut in two: cut k is frame floor(k * all / ranks), and inside a tubelet of an item of several moves to
// the nearest border between two (at half to the even one), in an item of one to its nearest end (at half to the last). `frames`: of
// each item; cuts count frames, and may be equal. Errors: a negative number of frames, a sum that is no int64, a tubelet shorter
// than 1.
[[nodiscard]] inline std::vector<std::int64_t> cuts_by_tubelet(std::span<const std::int64_t> frames,
                                                               std::int64_t tubelet, int ranks) {
    if (ranks < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, ranks));
    if (tubelet < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, tubelet));
    std::int64_t all = 0;
    for (const std::int64_t& count : frames)
        detail::add_length(all, count, &count - frames.data());
    std::vector<std::int64_t> cuts(1, 0);
    std::size_t item = 0;
    std::int64_t begin = 0;  // of the item
    for (std::int64_t k = 1; k < ranks; ++k) {
        const std::int64_t target = all / ranks * k + all % ranks * k / ranks;
        while (item < frames.size() && begin + frames[item] <= target)
            begin += frames[item++];
        std::int64_t offset = target - begin;
        if (const std::int64_t rest = offset % tubelet; rest != 0) {
            const std::int64_t borders = (frames[item] - 1) / tubelet;  // between two tubelets of the item
            const std::int64_t whole = offset / tubelet;
            const bool up = rest > tubelet - rest || (rest == tubelet - rest && whole % 2 != 0);
            const std::int64_t nearest = (std::min)((std::max)(whole + (up ? 1 : 0), std::int64_t{1}), borders);
            offset = borders > 0 ? tubelet * nearest : offset < frames[item] - offset ? 0 : frames[item];
        }
        cuts.push_back(begin + offset);
    }
    cuts.push_back(all);
    return cuts;
}

namespace detail {

inline void check_item_cuts(std::span<const std::int64_t> cuts) {
    const auto ranks = static_cast<std::int64_t>(cuts.size()) - 1;
    if (ranks < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, (std::max)(ranks, std::int64_t{0})));
    throw_if_bad(check(Offsets<std::int64_t>(cuts.data(), ranks + 1), cuts.back()));
}

}  // namespace detail

// How many fillers each rank encodes beside its pieces, so that every rank calls the encoder as often as the one with the most
// calls it: ranks that call it less often leave a collective inside it early. Rows of fillers never enter the bank. Errors here and
// below: cuts of no rank (what cuts_by_cost gives for too few pieces), a cut that is smaller than the one before it, a first not 0.
[[nodiscard]] inline std::vector<std::int64_t> filler_counts(std::span<const std::int64_t> cuts) {
    detail::check_item_cuts(cuts);
    std::int64_t most = 0;
    for (std::size_t r = 0; r + 1 < cuts.size(); ++r)
        most = (std::max)(most, cuts[r + 1] - cuts[r]);
    std::vector<std::int64_t> counts;
    for (std::size_t r = 0; r + 1 < cuts.size(); ++r)
        counts.push_back(most - (cuts[r + 1] - cuts[r]));
    return counts;
}

// The ranks that have nothing between their cuts, so that the bank has no rows of theirs.
[[nodiscard]] inline std::vector<int> ranks_without_items(std::span<const std::int64_t> cuts) {
    detail::check_item_cuts(cuts);
    std::vector<int> ranks;
    for (std::size_t r = 0; r + 1 < cuts.size(); ++r) {
        if (cuts[r] == cuts[r + 1]) ranks.push_back(static_cast<int>(r));
    }
    return ranks;
}

}  // namespace seqpar
