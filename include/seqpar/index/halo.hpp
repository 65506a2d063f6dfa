// Halo: the positions next to each run of a shard, which convolutions and repeated rolls need besides it. Plain arrays on
// the host. Not here: the exchange between ranks, and the move: shard by indexed() (layout/indexed.hpp).
#pragma once

#include <seqpar/index/tail.hpp>
#include <seqpar/layout/runs.hpp>

#include <vector>

namespace seqpar {

// Which side of a run: before its first position, or after its last.
enum class Side : unsigned char { left, right };

namespace detail {

template <class Int>
struct HaloBounds {
    Offsets<Int> cu_seqlens;
    std::int64_t size;

    // The first position of what `position` lies in, and one more than its last. Without offsets: the sequence.
    Run of(std::int64_t position) const {
        const std::int64_t end = cu_seqlens.count() == 0 ? 0 : cu_seqlens[cu_seqlens.documents()];
        if (position >= end) return {end, 0, size - end};
        const std::int64_t document = cu_seqlens.document_of(position);
        return {cu_seqlens[document], 0, cu_seqlens[document + 1] - cu_seqlens[document]};
    }
};

template <Layout L, class Int>
std::vector<std::int64_t> halo_of(const L& layout, int rank, Side side, std::int64_t window, HaloBounds<Int> bounds) {
    if (window < 0) throw_if_bad(make_status(Kind::policy, 0, 0, 0, window));
    std::vector<std::int64_t> halo;
    auto cursor = runs(layout, rank, 0, layout.slots(rank));
    for (Run run; cursor.next(run);) {
        const std::int64_t edge = side == Side::left ? run.position : run.position + run.length - 1;
        const Run inside = bounds.of(edge);
        const std::int64_t first = side == Side::left ? edge - window : edge + 1;
        for (std::int64_t i = 0; i < window; ++i) {
            const std::int64_t p = first + i - inside.position;
            halo.push_back(p >= 0 && p < inside.length ? first + i : -1);
        }
    }
    return halo;
}

}  // namespace detail

// For each run of `rank`'s shard in slot order the `window` positions on one side of it, ascending, whichever ranks hold
// them, those of the shard itself included; -1 beyond the ends of the sequence. Documents are crossed. The runs are
// those of seqpar::runs, so a ZigZag shard has two, also where they are neighbours. Result: [runs, window], on the padded
// axis. Source: docs/design.md; Megatron's exchange_cp_boundary_hidden. Errors: an illegal layout, a rank outside the
// group, a negative window. Synchronises: never. Allocates: the result. Reads offsets on: the host.
template <Layout L>
[[nodiscard]] std::vector<std::int64_t> halo_positions(const L& layout, int rank, Side side, std::int64_t window) {
    throw_if_bad(check(layout));
    throw_if_bad(check_rank(layout, rank));
    return detail::halo_of(layout, rank, side, window, detail::HaloBounds<std::int64_t>{{}, layout.size()});
}

// The same, -1 outside the document of the run's position next to it, too. Offsets may end before the sequence: what
// comes after them is one more document. Sources: flash-linear-attention's and Megatron's causal_conv1d on context
// parallel ranks. Errors: illegal offsets besides.
template <Layout L, OffsetInteger Int>
[[nodiscard]] std::vector<std::int64_t> halo_positions(const L& layout, int rank, Side side, std::int64_t window,
                                                       Offsets<Int> cu_seqlens) {
    throw_if_bad(check(layout));
    throw_if_bad(check_rank(layout, rank));
    throw_if_bad(detail::check_with_tail(cu_seqlens, layout.size()));
    return detail::halo_of(layout, rank, side, window, detail::HaloBounds<Int>{cu_seqlens, layout.size()});
}

}  // namespace seqpar
