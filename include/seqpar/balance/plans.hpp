// Plans: which blocks of the sequence each rank gets, so that attention work is even, with the tie-breaks of the trainers that
// use them (layout C, D, J, and miles' of B). Pure functions of work and lengths. Not here: layout K (hybrid.hpp), and the layout of a plan; see
// block_runs and index/run_table.hpp, whose RunTable(block_runs(…), length).layout() it is.
// Every function here: Synchronises: never. Allocates: the result. Launches: none. Reads offsets on: the host. Sums of work are
// int64: one that is not is an Error of kind value_lost.
#pragma once

#include <seqpar/balance/causal_work.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace seqpar {

// For each rank the numbers of its blocks (or chunks).
using BlockParts = std::vector<std::vector<std::int64_t>>;

namespace detail {

// Orders block numbers by work.
struct LessWork {
    std::span<const std::int64_t> work;
    bool operator()(std::int64_t a, std::int64_t b) const {
        return work[static_cast<std::size_t>(a)] < work[static_cast<std::size_t>(b)];
    }
};
struct MoreWork {
    LessWork less;
    bool operator()(std::int64_t a, std::int64_t b) const { return less(b, a); }
};

inline std::vector<std::int64_t> numbers(std::size_t count) {
    std::vector<std::int64_t> result(count);
    std::iota(result.begin(), result.end(), std::int64_t{0});
    return result;
}

// The runs of each rank in a document that begins at `begin`.
template <Layout L>
void append_runs(std::vector<std::vector<Run>>& parts, const L& document, std::int64_t begin) {
    for (int rank = 0; rank < document.ranks(); ++rank) {
        auto cursor = runs(document, rank, 0, document.slots(rank));
        for (Run run; cursor.next(run);)
            parts[static_cast<std::size_t>(rank)].push_back({begin + run.position, 0, run.length});
    }
}

inline BlockParts empty_parts(int ranks) {
    if (ranks < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, ranks));
    return BlockParts(static_cast<std::size_t>(ranks));
}

}  // namespace detail

// PTRR (layout D; torch flex attention): blocks sorted by work, descending and stable, dealt in rows of `ranks`, every odd row
// reversed; column g is rank g; each rank's blocks ascending. Error: a number of blocks that is no multiple of ranks.
[[nodiscard]] inline BlockParts ptrr_parts(std::span<const std::int64_t> work, int ranks) {
    BlockParts parts = detail::empty_parts(ranks);
    if (work.size() % parts.size() != 0)
        throw_if_bad(make_status(Kind::multiple, 0, 0, ranks, static_cast<std::int64_t>(work.size())));
    std::vector<std::int64_t> order = detail::numbers(work.size());
    std::stable_sort(order.begin(), order.end(), detail::MoreWork{{work}});
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::size_t row = i / parts.size();
        const std::size_t column = i % parts.size();
        parts[row % 2 == 0 ? column : parts.size() - 1 - column].push_back(order[i]);
    }
    for (auto& part : parts)
        std::sort(part.begin(), part.end());
    return parts;
}

// MagiAttention's solver (layout J): chunks by work, the greatest first and of equal ones the last, each to the least loaded
// rank (of equal ones the lowest) that has fewer than ceil(chunks / ranks). In the solver's own order; see sorted_parts.
[[nodiscard]] inline BlockParts min_heap_parts(std::span<const std::int64_t> work, int ranks) {
    BlockParts parts = detail::empty_parts(ranks);
    const std::size_t most = (work.size() + parts.size() - 1) / parts.size();
    std::vector<std::int64_t> order = detail::numbers(work.size());
    std::stable_sort(order.begin(), order.end(), detail::LessWork{work});
    using Load = std::pair<std::int64_t, std::size_t>;  // of a rank with room, and the rank
    std::priority_queue<Load, std::vector<Load>, std::greater<Load>> open;
    for (std::size_t r = 0; r < parts.size(); ++r)
        open.emplace(0, r);
    for (auto chunk = order.rbegin(); chunk != order.rend(); ++chunk) {
        const auto [load, least] = open.top();
        open.pop();
        parts[least].push_back(*chunk);
        std::int64_t more = load;
        detail::add_work(more, work[static_cast<std::size_t>(*chunk)], 1, *chunk);
        if (parts[least].size() < most) open.emplace(more, least);
    }
    return parts;
}

// Its sequential solver: chunks in order, the first (chunks mod ranks) ranks one more.
[[nodiscard]] inline BlockParts sequential_parts(std::int64_t chunks, int ranks) {
    BlockParts parts = detail::empty_parts(ranks);
    if (chunks < 0) throw_if_bad(make_status(Kind::length, 0, 0, 0, chunks));
    std::int64_t next = 0;
    for (std::int64_t r = 0; r < ranks; ++r) {
        const std::int64_t end = next + chunks / ranks + (r < chunks % ranks ? 1 : 0);
        for (; next < end; ++next)
            parts[static_cast<std::size_t>(r)].push_back(next);
    }
    return parts;
}

// Each rank's blocks in ascending order, as shards hold them.
[[nodiscard]] inline BlockParts sorted_parts(BlockParts parts) {
    for (auto& part : parts)
        std::sort(part.begin(), part.end());
    return parts;
}

// The tokens of a chunk (docs/design.md, J): `given`, but at most ceil(length / (8 ranks)), which is also the default.
[[nodiscard]] inline std::int64_t magi_chunk(std::int64_t length, int ranks,
                                             std::int64_t given = (std::numeric_limits<std::int64_t>::max)()) {
    if (ranks < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, ranks));
    if (length < 1 || given < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, (std::min)(length, given)));
    const std::int64_t parts = std::int64_t{8} * ranks;
    return (std::min)(given, length / parts + (length % parts != 0 ? 1 : 0));
}

// Which keys a query sees inside its document.
enum class Mask : unsigned char { causal, full };

// The exact area of the mask under each chunk of `width` positions of [0, length): for every query the keys it sees. Positions
// after the last offset are pads and see nothing. Errors: illegal offsets, offsets longer than `length`.
template <OffsetInteger Int>
[[nodiscard]] std::vector<std::int64_t> chunk_work(Offsets<Int> cu_seqlens, std::int64_t length, std::int64_t width,
                                                   Mask mask) {
    const std::int64_t real = cu_seqlens.last();
    throw_if_bad(check(cu_seqlens, (std::min)(real, length)));
    if (width < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, width));
    std::vector<std::int64_t> work(static_cast<std::size_t>(length / width + (length % width != 0 ? 1 : 0)));
    for (std::int64_t d = 0; d < cu_seqlens.documents(); ++d) {
        for (std::int64_t first = cu_seqlens[d]; first < cu_seqlens[d + 1];) {
            const std::int64_t chunk = first / width;
            const std::int64_t end = first + (std::min)(width - first % width, cu_seqlens[d + 1] - first);
            const std::int64_t low = first - cu_seqlens[d] + 1;
            const std::int64_t high = end - cu_seqlens[d];
            std::int64_t& of_chunk = work[static_cast<std::size_t>(chunk)];
            if (mask == Mask::causal) {
                detail::add_keys(of_chunk, low, high, first);
            } else {
                detail::add_work(of_chunk, end - first, cu_seqlens[d + 1] - cu_seqlens[d], first);
            }
            first = end;
        }
    }
    return work;
}

// The work of PTRR's blocks of `width` queries for a causal mask inside documents: the blocks of keys that it reaches.
template <OffsetInteger Int>
[[nodiscard]] std::vector<std::int64_t> key_blocks(Offsets<Int> cu_seqlens, std::int64_t length, std::int64_t width) {
    throw_if_bad(check(cu_seqlens, length));
    if (width < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, width));
    std::vector<std::int64_t> work;
    for (std::int64_t first = 0; first < length; first += width) {
        work.push_back(first / width - cu_seqlens[cu_seqlens.document_of(first)] / width + 1);
    }
    return work;
}

// The runs of each rank where block b is positions [b width, (b + 1) width) of [0, length); the last one may be short. Error: a
// block that there is not; one that is missing or twice is for RunTable to find.
[[nodiscard]] inline std::vector<std::vector<Run>> block_runs(const BlockParts& parts, std::int64_t width,
                                                              std::int64_t length) {
    if (width < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, width));
    std::vector<std::vector<Run>> runs(parts.size());
    for (std::size_t r = 0; r < parts.size(); ++r) {
        for (const std::int64_t block : parts[r]) {
            const std::int64_t begin = block < 0 ? INT64_MAX : detail::saturating_product(block, width);
            if (begin >= length)
                throw_if_bad(make_status(Kind::table, 0, static_cast<std::int64_t>(runs[r].size()),
                                         (length - 1) / width, block, static_cast<std::int64_t>(r)));
            runs[r].push_back({begin, 0, (std::min)(width, length - begin)});
        }
    }
    return runs;
}

// Zigzag inside the documents that it can deal out, contiguous inside those whose length is a multiple of ranks, but not of twice
// as many (miles' form of layout B): the runs of each rank, for a RunTable. Errors: those of packed(Contiguous{}, …).
template <OffsetInteger Int>
[[nodiscard]] std::vector<std::vector<Run>> mixed_runs(Offsets<Int> cu_seqlens, std::int64_t length, int ranks) {
    throw_if_bad(check(packed(Contiguous{}, cu_seqlens, length, ranks)));
    std::vector<std::vector<Run>> parts(static_cast<std::size_t>(ranks));
    for (std::int64_t d = 0; d < cu_seqlens.documents(); ++d) {
        const std::int64_t document = cu_seqlens[d + 1] - cu_seqlens[d];
        if (check(ZigZag{}, document, ranks).ok()) {
            detail::append_runs(parts, ZigZag{}(document, ranks), cu_seqlens[d]);
        } else {
            detail::append_runs(parts, Contiguous{}(document, ranks), cu_seqlens[d]);
        }
    }
    return parts;
}

// Older torch's order (layout C; PerDocumentHeadTail before July 2026): the shards that ZigZag deals of each document, joined
// over ranks, then over documents, and that list of `length` positions cut into equal parts. The runs of each rank, for a
// RunTable. Errors: those of packed(ZigZag{}, cu_seqlens, length, ranks). Cost: linear in documents times ranks.
template <OffsetInteger Int>
[[nodiscard]] std::vector<std::vector<Run>> per_document_runs(Offsets<Int> cu_seqlens, std::int64_t length, int ranks) {
    throw_if_bad(check(packed(ZigZag{}, cu_seqlens, length, ranks)));
    std::vector<std::vector<Run>> parts(static_cast<std::size_t>(ranks));
    const std::int64_t share = length / ranks;
    std::int64_t filled = 0;  // of all parts
    for (std::int64_t d = 0; d < cu_seqlens.documents(); ++d) {
        const auto document = ZigZag{}(cu_seqlens[d + 1] - cu_seqlens[d], ranks);
        for (int rank = 0; rank < ranks; ++rank) {
            auto cursor = runs(document, rank, 0, document.slots(rank));
            for (Run run; cursor.next(run);) {
                for (run.position += cu_seqlens[d]; run.length > 0;) {
                    const std::int64_t taken = ranks == 1 ? run.length : (std::min)(run.length, share - filled % share);
                    parts[ranks == 1 ? 0 : static_cast<std::size_t>(filled / share)].push_back(
                        {run.position, 0, taken});
                    run = {run.position + taken, 0, run.length - taken};
                    filled += taken;
                }
            }
        }
    }
    return parts;
}

}  // namespace seqpar
