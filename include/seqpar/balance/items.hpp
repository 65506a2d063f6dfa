// Who encodes which images: pieces of vision items (whole items, tubelets, frames) from their grids, and cuts of them into
// contiguous parts, one a rank. Pure functions, the same on every rank. Not here: attention work of tokens (plans.hpp), and how
// what the ranks encode comes to the tokens.
// Every function here: Synchronises: never. Allocates: the result. Launches: none. Reads offsets on: none.
#pragma once

#include <seqpar/layout/concepts.hpp>

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

// The grids of the pieces of each item, of `frames` frames each (its last may have fewer): 1 for frames, a tubelet's length for
// tubelets, whole_items for items as they are. Errors: a negative extent, frames below 1.
[[nodiscard]] inline std::vector<Grid> pieces(std::span<const Grid> grids, std::int64_t frames) {
    if (frames < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, frames));
    std::vector<Grid> result;
    for (const Grid& grid : grids) {
        const std::int64_t least = (std::min)({grid.t, grid.h, grid.w});
        if (least < 0) throw_if_bad(make_status(Kind::length, 0, 0, 0, least));
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
        for (const std::int64_t extent : {grid.h, grid.w}) {
            if (extent % merge != 0)
                throw_if_bad(make_status(Kind::document_multiple, 0, static_cast<std::int64_t>(offsets.size()) - 1,
                                         merge, extent));
        }
        offsets.push_back(offsets.back() + grid.t * (grid.h / merge) * (grid.w / merge));
    }
    return offsets;
}

// What a vision encoder's attention costs for each piece: p (p + alpha) of p patches.
[[nodiscard]] inline std::vector<std::int64_t> piece_costs(std::span<const Grid> grids, std::int64_t alpha) {
    std::vector<std::int64_t> costs;
    for (const Grid& grid : grids) {
        const std::int64_t patches = grid.t * grid.h * grid.w;
        costs.push_back(detail::saturating_product(patches, patches + alpha));
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
    for (const std::int64_t cost : costs) {
        if (cost < 0) throw_if_bad(make_status(Kind::length, 0, 0, 0, cost));
        if (cost > INT64_MAX / ranks - sum)
            throw_if_bad(make_status(Kind::value_lost, 0, 0, INT64_MAX / ranks - sum, cost));
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
// each item; cuts count frames, and may be equal. Errors: a negative number of frames, a tubelet shorter than 1.
[[nodiscard]] inline std::vector<std::int64_t> cuts_by_tubelet(std::span<const std::int64_t> frames,
                                                               std::int64_t tubelet, int ranks) {
    if (ranks < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, ranks));
    if (tubelet < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, tubelet));
    std::int64_t all = 0;
    for (const std::int64_t count : frames) {
        if (count < 0) throw_if_bad(make_status(Kind::length, 0, 0, 0, count));
        all += count;
    }
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
            offset = borders > 0 ? tubelet * nearest : 2 * offset < frames[item] ? 0 : frames[item];
        }
        cuts.push_back(begin + offset);
    }
    cuts.push_back(all);
    return cuts;
}

// The ranks that have nothing between their cuts. Give them a filler to encode, so that every rank calls the encoder as often;
// its rows never enter the bank.
[[nodiscard]] inline std::vector<int> ranks_without_items(std::span<const std::int64_t> cuts) {
    std::vector<int> ranks;
    for (std::size_t r = 0; r + 1 < cuts.size(); ++r) {
        if (cuts[r] == cuts[r + 1]) ranks.push_back(static_cast<int>(r));
    }
    return ranks;
}

}  // namespace seqpar
