// How much causal attention work a layout gives each rank. Not here: plans that even it out; see plans.hpp.
#pragma once

#include <seqpar/layout/offsets.hpp>
#include <seqpar/layout/runs.hpp>

#include <span>

namespace seqpar {

namespace detail {

// low + (low + 1) + … + high, halved before it is multiplied.
constexpr std::int64_t sum_of(std::int64_t low, std::int64_t high) {
    const std::int64_t ends = low + high;
    const std::int64_t count = high - low + 1;
    return ends % 2 == 0 ? ends / 2 * count : ends * (count / 2);
}

}  // namespace detail

// The attention work of `rank`: the sum over its real tokens of (position inside the document + 1), which is the number of
// keys that a causal query sees. cu_seqlens: the documents of the sources (real offsets of a padded layout, else the layout's
// own); sources behind the last offset count as one more document. Pad slots cost nothing. Errors: an illegal layout, a rank
// outside the group, illegal offsets, or offsets past the sources. Synchronises: never. Allocates: never. Launches: none. Reads
// offsets on: the host.
template <Layout L, OffsetInteger Int>
[[nodiscard]] constexpr std::int64_t causal_work(const L& layout, int rank, Offsets<Int> cu_seqlens) {
    throw_if_bad(check(layout));
    throw_if_bad(check_rank(layout, rank));
    const std::int64_t sources = layout.source_size();
    throw_if_bad(check(cu_seqlens, cu_seqlens.last() < sources ? cu_seqlens.last() : sources));
    std::int64_t work = 0;
    auto cursor = source_runs(layout, rank, 0, layout.slots(rank));
    Run run;
    while (cursor.next(run)) {
        if (run.position < 0) continue;
        const std::int64_t last = run.position + run.length;
        for (std::int64_t first = run.position; first < last;) {
            std::int64_t document_begin = cu_seqlens.last();
            std::int64_t document_end = last;
            if (first < document_begin) {
                const std::int64_t document = cu_seqlens.document_of(first);
                document_begin = cu_seqlens[document];
                document_end = cu_seqlens[document + 1];
            }
            const std::int64_t end = document_end < last ? document_end : last;
            const std::int64_t low = first - document_begin + 1;
            const std::int64_t high = end - document_begin;
            work += detail::sum_of(low, high);
            first = end;
        }
    }
    return work;
}

// The greatest over the mean: 1 is even. 1 too where there is no work at all.
[[nodiscard]] constexpr double imbalance(std::span<const std::int64_t> work) {
    double sum = 0;
    double most = 0;
    for (const std::int64_t w : work) {
        sum += static_cast<double>(w);
        most = static_cast<double>(w) > most ? static_cast<double>(w) : most;
    }
    return sum > 0 ? most * static_cast<double>(work.size()) / sum : 1.0;
}

}  // namespace seqpar
