// The lists that tests compare: shards, restore index and sources of a layout, slot by slot, and the formulas of docs/design.md
// written out once more as plain loops. Not here: random layouts; see random.hpp.
#pragma once

#include <seqpar/layout/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test {

using List = std::vector<std::int64_t>;
using Lists = std::vector<List>;

// What rank `rank` holds, in slot order.
template <seqpar::Layout L>
List shard(const L& layout, int rank) {
    List positions;
    for (std::int64_t slot = 0; slot < layout.slots(rank); ++slot) {
        positions.push_back(layout.position(rank, slot));
    }
    return positions;
}

template <seqpar::Layout L>
Lists shards(const L& layout) {
    Lists lists;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        lists.push_back(shard(layout, rank));
    }
    return lists;
}

// full[j] = gathered[restore[j]], gathered rank-major.
template <seqpar::Layout L>
List restore(const L& layout) {
    List begin(1, 0);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        begin.push_back(begin.back() + layout.slots(rank));
    }
    List index;
    for (std::int64_t position = 0; position < layout.size(); ++position) {
        const seqpar::Place place = layout.place(position);
        index.push_back(begin[static_cast<std::size_t>(place.rank)] + place.slot);
    }
    return index;
}

// Sources of what a rank holds: -1 for pads.
template <seqpar::Layout L>
List sources(const L& layout, int rank) {
    List list;
    for (std::int64_t position : shard(layout, rank)) {
        list.push_back(layout.source(position));
    }
    return list;
}

// [first, last).
inline List range(std::int64_t first, std::int64_t last) {
    List list;
    for (std::int64_t i = first; i < last; ++i) {
        list.push_back(i);
    }
    return list;
}

inline List joined(List a, const List& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

inline List moved(List list, std::int64_t by) {
    for (std::int64_t& value : list) {
        value += by;
    }
    return list;
}

// The formulas of docs/design.md, letter by letter, for rank r of P.
inline List formula_a(std::int64_t S, std::int64_t P, std::int64_t r) {
    if (P == 1) {
        return range(0, S);
    }
    const std::int64_t c = S / (2 * P);
    return joined(range(r * c, (r + 1) * c), range((2 * P - 1 - r) * c, (2 * P - r) * c));
}

inline List formula_e(std::int64_t S, std::int64_t P, std::int64_t r, std::int64_t w) {
    if (P == 1) {
        return range(0, S);
    }
    List list;
    for (std::int64_t k = 0; k < S / (P * w); ++k) {
        for (std::int64_t o = 0; o < w; ++o) {
            list.push_back((k * P + r) * w + o);
        }
    }
    return list;
}

inline List formula_f(std::int64_t S, std::int64_t P, std::int64_t r) { return range(r * S / P, (r + 1) * S / P); }

// The "even" variant: the first S mod P ranks hold one more.
inline List formula_f_even(std::int64_t S, std::int64_t P, std::int64_t r) {
    std::int64_t begin = 0;
    for (std::int64_t before = 0; before < r; ++before) {
        begin += S / P + (before < S % P ? 1 : 0);
    }
    return range(begin, begin + S / P + (r < S % P ? 1 : 0));
}

// B and G: a formula inside every document.
template <class Formula>
List formula_inside(const List& cu, std::int64_t P, std::int64_t r, Formula formula) {
    List list;
    for (std::size_t d = 0; d + 1 < cu.size(); ++d) {
        list = joined(list, moved(formula(cu[d + 1] - cu[d], P, r), cu[d]));
    }
    return list;
}

// The t-th of T contiguous parts of a shard (H, I, M).
inline List part_of(const List& shard, std::int64_t t, std::int64_t T) {
    const auto n = static_cast<std::int64_t>(shard.size());
    return {shard.begin() + t * n / T, shard.begin() + (t + 1) * n / T};
}

}  // namespace test
