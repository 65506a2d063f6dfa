// What variable-length attention kernels are told on each rank: offsets of queries and keys, valid tokens, halves (docs/design.md).
// Plain arrays on the host. Not here: local cu_seqlens of a Packed layout; see offsets.hpp.
// Every function here: Synchronises: never. Allocates: the result. Launches: none. Reads offsets on: the host.
#pragma once

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <algorithm>
#include <vector>

namespace seqpar {

// Which of the two chunks that a rank holds of every document under ZigZag.
enum class Half : unsigned char { first, second, both };

// The documents of a contiguous shard [begin, end), as a kernel that knows nothing of other ranks sees them: offsets clipped to
// the shard and counted from its begin, duplicates removed. Source: layout F on packed sequences.
template <OffsetInteger Int>
struct ShardOffsets {
    std::vector<Int> cu;                  // from 0 to the tokens that belong to a document; empty where none does
    bool begins_inside_document = false;  // the first piece goes on with a document of the rank before
    std::int64_t longest = 0;
};

// Queries and keys of a contiguous shard when keys of all ranks are at hand (llama3's context parallelism).
template <OffsetInteger Int>
struct QueryKeyOffsets {
    std::vector<Int> cu_q;
    std::vector<Int> cu_k;
    std::int64_t keys_begin = 0;  // the keys are positions [keys_begin, keys_end) of the whole sequence
    std::int64_t keys_end = 0;
    std::int64_t longest_q = 0;
    std::int64_t longest_k = 0;
};

namespace detail {

template <OffsetInteger Int>
std::int64_t longest_of(const std::vector<Int>& cu) {
    std::int64_t longest = 0;
    for (std::size_t i = 1; i < cu.size(); ++i)
        longest = (std::max)(longest, std::int64_t{cu[i]} - cu[i - 1]);
    return longest;
}

// A rank of a contiguous split: positions [begin, end).
struct ContiguousShard {
    std::int64_t begin;
    std::int64_t end;
};
inline ContiguousShard contiguous_shard(std::int64_t total, int ranks, int rank) {
    const auto layout = Contiguous{}(total, ranks);
    throw_if_bad(check_rank(layout, rank));
    const std::int64_t begin = rank * layout.slots(rank);
    return {begin, begin + layout.slots(rank)};
}

// The first offset that is at least `position`.
template <OffsetInteger Int>
std::int64_t first_at_least(Offsets<Int> cu_seqlens, std::int64_t position) {
    const Int* const begin = cu_seqlens.data();
    return std::lower_bound(begin, begin + cu_seqlens.count(), position) - begin;
}

}  // namespace detail

// Offsets of the real tokens that `rank` holds of each document under packed ZigZag: with v real tokens in a document of padded
// length 2 P h, clamp(v - r h, 0, h) in the first half and clamp(v - (2P-1-r) h, 0, h) in the second. [documents + 1].
// Source: TransformerEngine's get_cu_seqlens_on_cp_rank. Errors: illegal offsets, a document that ZigZag cannot deal out, one
// that is longer than its padded length, a rank outside the group.
template <OffsetInteger Int, OffsetInteger PaddedInt>
[[nodiscard]] std::vector<Int> valid_offsets(Offsets<Int> cu_seqlens, Offsets<PaddedInt> padded_cu_seqlens, int ranks,
                                             int rank, Half half) {
    const auto layout = packed(ZigZag{}, padded_cu_seqlens, padded_cu_seqlens.last(), ranks);
    throw_if_bad(check(padded(layout, cu_seqlens, padded_cu_seqlens, cu_seqlens.last())));
    throw_if_bad(check_rank(layout, rank));
    std::vector<Int> valid(static_cast<std::size_t>(cu_seqlens.count()));
    for (std::int64_t d = 0; d < cu_seqlens.documents(); ++d) {
        const std::int64_t real = cu_seqlens[d + 1] - cu_seqlens[d];
        const std::int64_t room = padded_cu_seqlens[d + 1] - padded_cu_seqlens[d];
        const std::int64_t chunk = room / (2 * std::int64_t{ranks});
        const std::int64_t first = std::clamp<std::int64_t>(real - rank * chunk, 0, chunk);
        // The second chunk is as long, but of an odd length on one rank.
        const std::int64_t second =
            std::clamp<std::int64_t>(real - (2 * std::int64_t{ranks} - 1 - rank) * chunk, 0, room / ranks - chunk);
        const std::int64_t count = (half == Half::second ? 0 : first) + (half == Half::first ? 0 : second);
        valid[static_cast<std::size_t>(d) + 1] = static_cast<Int>(valid[static_cast<std::size_t>(d)] + count);
    }
    return valid;
}

// The slots of one half of every document, from LOCAL offsets whose documents are two equal chunks (packed ZigZag's), in order.
// Source: ring-flash-attention's get_half_index, TransformerEngine's thd_read_half_tensor. Errors: illegal offsets, a document
// of an odd number of slots.
template <OffsetInteger Int>
[[nodiscard]] std::vector<std::int64_t> half_slots(Offsets<Int> local_cu_seqlens, Half half) {
    const auto layout = packed(Contiguous{}, local_cu_seqlens, local_cu_seqlens.last(), 2);
    throw_if_bad(check(layout));
    std::vector<std::int64_t> slots;
    for (std::int64_t d = 0; d < local_cu_seqlens.documents(); ++d) {
        const std::int64_t middle = (local_cu_seqlens[d] + local_cu_seqlens[d + 1]) / 2;
        const std::int64_t begin = half == Half::second ? middle : local_cu_seqlens[d];
        const std::int64_t end = half == Half::first ? middle : local_cu_seqlens[d + 1];
        for (std::int64_t slot = begin; slot < end; ++slot)
            slots.push_back(slot);
    }
    return slots;
}

// The documents of rank `rank`'s contiguous shard of `total` positions. The last offset may be less than total: the tail belongs
// to nobody, so a rank that holds nothing else has no offsets. Errors: illegal offsets, total no multiple of ranks, the rank.
template <OffsetInteger Int>
[[nodiscard]] ShardOffsets<Int> shard_offsets(Offsets<Int> cu_seqlens, std::int64_t total, int ranks, int rank) {
    const auto [begin, end] = detail::contiguous_shard(total, ranks, rank);
    throw_if_bad(check(cu_seqlens, (std::min)(total, cu_seqlens.last())));
    ShardOffsets<Int> shard;
    const std::int64_t last = (std::min)(end, cu_seqlens.last());
    if (last <= begin) return shard;
    shard.cu.push_back(0);
    for (std::int64_t i = detail::first_at_least(cu_seqlens, begin); i < cu_seqlens.count() && cu_seqlens[i] < last;
         ++i) {
        const Int offset = static_cast<Int>(cu_seqlens[i] - begin);
        if (offset != shard.cu.back()) shard.cu.push_back(offset);
    }
    shard.cu.push_back(static_cast<Int>(last - begin));
    shard.begins_inside_document = cu_seqlens[cu_seqlens.document_of(begin)] != begin;
    shard.longest = detail::longest_of(shard.cu);
    return shard;
}

// What rank `rank` tells a kernel whose keys were gathered from all ranks: queries are its contiguous shard [a, b), keys reach
// from the start of the document that holds a to b (causal), or to the end of the last document. Empty documents at a cut are
// kept. Source: ring-flash-attention's llama3_flash_attn_prepare_cu_seqlens. Errors: as shard_offsets, and offsets that do not
// cover total.
template <OffsetInteger Int>
[[nodiscard]] QueryKeyOffsets<Int> query_key_offsets(Offsets<Int> cu_seqlens, std::int64_t total, int ranks, int rank,
                                                     bool causal) {
    const auto [begin, end] = detail::contiguous_shard(total, ranks, rank);
    throw_if_bad(check(cu_seqlens, total));
    if (total == 0) return {{0, 0}, {0, 0}};  // no token: one empty document on every rank
    std::int64_t left = detail::first_at_least(cu_seqlens, begin);
    const std::int64_t right = detail::first_at_least(cu_seqlens, end);
    if (left > 0 && cu_seqlens[left] != begin) --left;
    QueryKeyOffsets<Int> result;
    result.keys_begin = cu_seqlens[left];
    result.keys_end = causal ? end : cu_seqlens[right];
    for (std::int64_t i = left; i <= right; ++i) {
        const std::int64_t q = i == left ? begin : i == right ? end : cu_seqlens[i];
        const std::int64_t k = i == right ? result.keys_end : cu_seqlens[i];
        result.cu_q.push_back(static_cast<Int>(q - begin));
        result.cu_k.push_back(static_cast<Int>(k - result.keys_begin));
    }
    result.longest_q = detail::longest_of(result.cu_q);
    result.longest_k = detail::longest_of(result.cu_k);
    return result;
}

}  // namespace seqpar
