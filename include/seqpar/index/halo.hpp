// Halo: the positions next to each run of a shard, which convolutions and repeated rolls need besides it. Plain arrays on
// the host. Not here: the exchange between ranks, and the move: shard by indexed() (layout/indexed.hpp).
#pragma once

#include <seqpar/index/detail/documents.hpp>
#include <seqpar/index/tail.hpp>
#include <seqpar/layout/runs.hpp>

#include <vector>

namespace seqpar {

// Which side of a run: before its first position, or after its last.
enum class Side : unsigned char { left, right };

namespace detail {

// What `position` lies in: [begin, end) of its document; what comes after the last one is one more.
template <class Documents>
Stretch around(const Documents& documents, std::int64_t position, std::int64_t size) {
    const std::int64_t end = documents[documents.documents()];
    if (position >= end) return {position, position, end, size};
    const std::int64_t document = documents.document_of(position);
    return {position, position, documents[document], documents[document + 1]};
}

template <Layout L, class Documents>
std::vector<std::int64_t> halo_of(const L& layout, int rank, Side side, std::int64_t window,
                                  const Documents& documents) {
    throw_if_bad(check_rank(layout, rank));
    if (window < 0) throw_if_bad(make_status(Kind::policy, 0, 0, 0, window));
    std::vector<std::int64_t> halo;
    auto cursor = runs(layout, rank, 0, layout.slots(rank));
    for (Run run; cursor.next(run);) {
        const std::int64_t edge = side == Side::left ? run.position : run.position + run.length - 1;
        const Stretch inside = around(documents, edge, layout.size());
        const std::int64_t first = side == Side::left ? edge - window : edge + 1;
        for (std::int64_t p = first; p < first + window; ++p)
            halo.push_back(p >= inside.begin && p < inside.end ? p : -1);
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
    return detail::halo_of(layout, rank, side, window, detail::OneDocument{layout.size()});
}

// The same, -1 outside the document of the run's position next to it, too. Offsets may end before the sequence: what
// comes after them is one more document. Sources: flash-linear-attention's and Megatron's causal_conv1d on context
// parallel ranks. Errors: illegal offsets besides.
template <Layout L, OffsetInteger Int>
[[nodiscard]] std::vector<std::int64_t> halo_positions(const L& layout, int rank, Side side, std::int64_t window,
                                                       Offsets<Int> cu_seqlens) {
    throw_if_bad(check(layout));
    throw_if_bad(detail::allow_tail(check(cu_seqlens, layout.size()), layout.size()));
    return detail::halo_of(layout, rank, side, window, cu_seqlens);
}

}  // namespace seqpar
