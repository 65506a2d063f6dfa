// How much causal attention work a layout gives each rank. Not here: plans that even it out; see plans.hpp.
#pragma once

#include <seqpar/layout/offsets.hpp>
#include <seqpar/layout/runs.hpp>

#include <span>

namespace seqpar {

namespace detail {

// Adds a * b to `work`, which it must fit with: else an Error that names `position`.
constexpr void add_work(std::int64_t& work, std::int64_t a, std::int64_t b, std::int64_t position) {
    std::int64_t area = 0;
    if (__builtin_mul_overflow(a, b, &area) || __builtin_add_overflow(work, area, &work))
        throw_if_bad(make_status(Kind::value_lost, 0, position, INT64_MAX, -1));
}

// The same for low + (low + 1) + … + high, halved before it is multiplied.
constexpr void add_keys(std::int64_t& work, std::int64_t low, std::int64_t high, std::int64_t position) {
    const std::int64_t count = high - low + 1;
    if (count % 2 == 0) {
        add_work(work, count / 2, low, position);
        add_work(work, count / 2, high, position);
    } else {
        add_work(work, count, low + count / 2, position);
    }
}

}  // namespace detail

// The attention work of `rank`: the sum over its real tokens of (position inside the document + 1), which is the number of
// keys that a causal query sees. cu_seqlens: the documents of the sources (real offsets of a padded layout, else the layout's
// own); sources behind the last offset count as one more document. Pad slots cost nothing. Errors: an illegal layout, a rank
// outside the group, illegal offsets, offsets past the sources, or work that is no int64 (value_lost, a position of its token). Synchronises: never. Allocates: never. Launches: none. Reads
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
            detail::add_keys(work, low, high, first);
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
