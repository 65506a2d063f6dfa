// What a layout and a policy are, the values they speak in, and the checks and defaults that hold for all of them.
// Not here: any particular policy.
#pragma once

#include <seqpar/layout/status.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace seqpar {

// A rank of the group and an index into what that rank holds.
struct Place {
    int rank = 0;
    std::int64_t slot = 0;
    friend SEQPAR_HD constexpr bool operator==(const Place&, const Place&) = default;
};

// `length` consecutive positions from `position`, held in consecutive slots from `slot`. Of a cursor over sources,
// `position` is the first source, or -1 for a stretch of pad slots.
struct Run {
    std::int64_t position = 0;
    std::int64_t slot = 0;
    std::int64_t length = 0;
    friend SEQPAR_HD constexpr bool operator==(const Run&, const Run&) = default;
};

// A bijection between positions [0, size()) and (rank, slot) pairs. `source(position)` is the index in the unpadded array,
// or -1 for a pad slot; an array's sequence axis has source_size() entries and its shard slots(rank). Every index is the source
// of one position, unless the layout says `bijective = false` (Indexed): such a layout can be read by, not put back together.
// Arguments out of range are a precondition of every member: operations check them once, not once a token.
template <class L>
concept Layout = std::is_trivially_copyable_v<L> && std::is_default_constructible_v<L> &&
    requires(const L& layout, int rank, std::int64_t slot, std::int64_t position) {
    { layout.size() } -> std::same_as<std::int64_t>;
    { layout.source_size() } -> std::same_as<std::int64_t>;
    { layout.ranks() } -> std::same_as<int>;
    { layout.slots(rank) } -> std::same_as<std::int64_t>;
    { layout.position(rank, slot) } -> std::same_as<std::int64_t>;
    { layout.place(position) } -> std::same_as<Place>;
    { layout.source(position) } -> std::same_as<std::int64_t>;
};

// A layout that knows its runs: run_at(rank, slot) is a stretch that starts at `slot`, never empty, not necessarily the
// longest. A layout without it works everywhere, one slot at a time.
template <class L>
concept RunLayout = Layout<L> && requires(const L& layout, int rank, std::int64_t slot) {
    { layout.run_at(rank, slot) } -> std::same_as<Run>;
};

// A rule that gives a layout once a length and a number of ranks are known. `multiple(ranks)`: the lengths that it can deal
// out are the multiples of this, 1 for one rank. `equal_shards`: whether all ranks always hold equally many slots.
template <class P>
concept LayoutPolicy = std::is_trivially_copyable_v<P> && requires(const P& policy, std::int64_t length, int ranks) {
    { policy(length, ranks) } -> Layout;
    { policy.multiple(ranks) } -> std::same_as<std::int64_t>;
    { P::equal_shards } -> std::convertible_to<bool>;
};

// The layout that a policy gives.
template <LayoutPolicy P>
using layout_of = decltype(std::declval<const P&>()(std::int64_t{}, int{}));

// Whether a layout may have pad slots (slots whose source is -1): then moves need a fill.
template <Layout L>
inline constexpr bool is_padded = requires {
    requires L::padded;
};

// Whether every entry of the array is in one slot.
template <Layout L>
inline constexpr bool is_bijective = !requires {
    requires !L::bijective;
};

// Whether `policy` can deal `length` positions out to `ranks` ranks.
template <LayoutPolicy P>
[[nodiscard]] SEQPAR_HD constexpr Status check(const P& policy, std::int64_t length, int ranks) {
    if (ranks < 1) return make_status(Kind::ranks, 0, 0, 1, ranks);
    if (length < 0) return make_status(Kind::length, 0, 0, 0, length);
    const std::int64_t multiple = policy.multiple(ranks);
    if (multiple < 1) return make_status(Kind::policy, 0, 0, 1, multiple);
    // A multiple that does not fit 64 bits shows as the greatest number (saturating_product), which is no multiple of it.
    const bool fits = multiple != INT64_MAX || length == 0;
    if (!fits || length % multiple != 0) return make_status(Kind::multiple, 0, 0, multiple, length);
    return {};
}

// What can be said of a layout without reading offsets or tables: all that a host knows of one whose memory is a device's. A
// layout that has more to say has a member check_unread().
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Status check_unread(const L& layout) {
    if (layout.ranks() < 1) return make_status(Kind::ranks, 0, 0, 1, layout.ranks());
    if (layout.size() < 0) return make_status(Kind::length, 0, 0, 0, layout.size());
    if constexpr (requires {
                      { layout.check_unread() } -> std::same_as<Status>;
                  })
        return layout.check_unread();
    return {};
}

// Whether a layout is what it claims to be. Layouts over offsets or tables read them here, so call it where they can be
// read; every operation on the host does. Cost: one pass over the offsets or the table.
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Status check(const L& layout) {
    const Status unread = check_unread(layout);
    if (!unread.ok()) return unread;
    if constexpr (requires {
                      { layout.check() } -> std::same_as<Status>;
                  })
        return layout.check();
    return {};
}

// The same check in parts that many threads can share: check_entry(layout, i) for every i in [0, entries(layout)). All parts
// are good if and only if the whole is. A layout whose check is one pass over offsets has members of these names.
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr std::int64_t entries(const L& layout) {
    if constexpr (requires { layout.entries(); }) {
        return layout.entries();
    } else {
        return 1;
    }
}
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Status check_entry(const L& layout, std::int64_t i) {
    if constexpr (requires { layout.check_entry(i); }) {
        return layout.check_entry(i);
    } else {
        return check(layout);
    }
}

// Whether `rank` is one of the layout's ranks.
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr Status check_rank(const L& layout, int rank) {
    if (rank < 0 || rank >= layout.ranks()) return make_status(Kind::rank, 0, 0, layout.ranks() - 1, rank);
    return {};
}

namespace detail {

// a * b, or the greatest value where that overflows (no length is a multiple of it). Both at least 0.
SEQPAR_HD constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
    return b != 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}

// A policy's layout over a length that has passed the policy's check: by its member bind, which need not check again, if any.
template <LayoutPolicy P>
SEQPAR_HD constexpr layout_of<P> bind_checked(const P& policy, std::int64_t length, int ranks) {
    if constexpr (requires {
                      { policy.bind(length, ranks) } -> std::same_as<layout_of<P>>;
                  }) {
        return policy.bind(length, ranks);
    } else {
        return policy(length, ranks);
    }
}

}  // namespace detail

}  // namespace seqpar
