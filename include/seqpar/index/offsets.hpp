// Offsets per rank, and offsets from what trainers keep (arrays with a sentinel, one array a sample, positions). Not here:
// padded ones and a fixed number of them (padding.hpp), and the borrowed array itself (layout/offsets.hpp).
#pragma once

#include <seqpar/index/detail/samples.hpp>
#include <seqpar/layout/packed.hpp>

#include <array>
#include <vector>

namespace seqpar {

// What ranks of a group compare to see that they were given the same offsets: entries, the last one, and a hash of all.
using OffsetsSummary = std::array<std::int64_t, 3>;

namespace detail {

template <Layout L, class T>
struct LocalOffsetWork {
    static constexpr const char* operation = "seqpar::local_offsets";
    L layout;
    std::int64_t total;  // entries
    Line<T> out;

    SEQPAR_HD constexpr void operator()(std::int64_t first, std::int64_t last) const {
        for (std::int64_t i = first; i < last; ++i)
            out[i] = static_cast<T>(layout.cu_seqlens()[i] / layout.ranks());
    }
};

// A row of [B, documents + 1].
template <class V>
struct RowEntries {
    const V& rows;
    std::int64_t row;
    SEQPAR_HD std::int64_t count() const { return rows.extent(1); }
    SEQPAR_HD std::int64_t operator[](std::int64_t i) const { return rows(row, i); }
};

template <class V, class T>
struct MergeWork {
    static constexpr const char* operation = "seqpar::merged_offsets";
    V rows;  // [B, documents + 1]
    std::int64_t length;
    std::int64_t documents;
    std::int64_t total;  // entries written
    Line<T> out;

    SEQPAR_HD constexpr std::int64_t offset_count() const { return rows.extent(0) * rows.extent(1); }
    SEQPAR_HD constexpr Status check_offset(std::int64_t i) const {
        const std::int64_t row = i / rows.extent(1);
        Status status = detail::check_offset(RowEntries<V>{rows, row}, length, i - row * rows.extent(1));
        if (!status.ok()) status.field = row;
        return status;
    }
    SEQPAR_HD constexpr void operator()(std::int64_t first, std::int64_t last) const {
        for (std::int64_t i = first; i < last; ++i) {
            // The last entry of a row is the first of the next; the last of all is b S for one row past the end.
            const std::int64_t row = documents == 0 ? 0 : i / documents;
            const std::int64_t inside = i - row * documents;
            out[i] = static_cast<T>(row * length + (inside == 0 ? 0 : static_cast<std::int64_t>(rows(row, inside))));
        }
    }
};

}  // namespace detail

// The offsets of the documents inside each rank's shard, the same on every rank: cu_seqlens / ranks, entry by entry
// (docs/design.md, B and G; packed(Contiguous{}, …) where documents need only divide by ranks). Shape: out [documents + 1],
// int32 or int64; empty documents and repeated last offsets stay. Errors, before anything is written: an illegal layout (so
// every document's length divides), another length of `out`, offsets that do not fit it, overlap. Synchronises: never.
// Allocates: never. Launches: on CUDA 1. Reads offsets on: exec's device.
template <class D, LayoutPolicy P, OffsetInteger Int, IndexArray Out>
void local_offsets(const detail::ExecBase<D>& exec, const Packed<P, Int>& layout, Out&& out) {
    const Offsets<Int> cu_seqlens = layout.cu_seqlens();
    throw_if_bad(detail::check_for<D>(layout));
    throw_if_bad(detail::check_apart(out, cu_seqlens));
    throw_if_bad(detail::check_index_array(out, cu_seqlens.count(), layout.slots(0)));
    run_index_work(
        detail::Dispatch{}, thrust::detail::derived_cast(exec),
        detail::LocalOffsetWork<Packed<P, Int>, element_of<Out>>{layout, cu_seqlens.count(), detail::line(out)});
}

// The length of the longest document (max_seqlen of attention kernels; of a shard, pass its local offsets). Reads the
// offsets. Error: illegal ones.
template <OffsetArray R>
[[nodiscard]] constexpr std::int64_t longest_document(R&& cu_seqlens) {
    const auto documents = offsets(cu_seqlens);
    throw_if_bad(check(documents, documents.last()));
    std::int64_t longest = 0;
    for (std::int64_t d = 0; d < documents.documents(); ++d) {
        const std::int64_t length = documents[d + 1] - documents[d];
        if (length > longest) longest = length;
    }
    return longest;
}

// A summary of offsets: equal for equal ones of either integer type. Reads them, legal or not.
template <OffsetArray R>
[[nodiscard]] constexpr OffsetsSummary offsets_summary(R&& cu_seqlens) {
    const auto all = offsets(cu_seqlens);
    std::uint64_t hash = 0;
    for (std::int64_t i = 0; i < all.count(); ++i) {
        hash = (hash ^ static_cast<std::uint64_t>(all[i])) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return {all.count(), all.last(), static_cast<std::int64_t>(hash >> 1)};
}

// Whether all ranks of a group hold the same offsets, from the least and the greatest of each number of their summaries, which a
// min- and a max-reduce give: the same on every rank, so that none goes on alone into an exchange of other sizes than its partners'.
// Status: field the number that differs (0 entries, 1 the last, 2 the hash), expected the least, got the greatest.
[[nodiscard]] constexpr Status check_agreement(const OffsetsSummary& least, const OffsetsSummary& greatest) {
    for (std::size_t i = 0; i < least.size(); ++i) {
        if (least[i] != greatest[i])
            return make_status(Kind::agreement, 0, 0, least[i], greatest[i], static_cast<std::int64_t>(i));
    }
    return {};
}

// The part of a fixed-capacity array before its first negative entry, which ends it; all of it where there is none.
// Borrows as `cu_seqlens` does, reads the entries; whether they are legal is for check(…) to say.
template <BorrowedOffsets R>
[[nodiscard]] constexpr auto until_sentinel(R&& cu_seqlens) {
    const auto all = offsets(std::forward<R>(cu_seqlens));
    std::int64_t count = 0;
    while (count < all.count() && all[count] >= 0)
        ++count;
    return decltype(offsets(cu_seqlens)){all.data(), count};
}

// The offsets of B samples of `length` tokens each, stored one sample after the other, as one packed stream: row b
// moved by b * length, without its 0. Shapes: cu_seqlens [B, documents + 1] (samples with fewer documents repeat their
// last offset), out [B * documents + 1]. Errors, before anything is written: illegal offsets (`field` is the sample), numbers
// that do not fit, overlap. Contract line: as local_offsets.
template <class D, Tensor X, IndexArray Out>
    requires(axes_of<X> == 2 && IndexInteger<element_of<X>>)
void merged_offsets(const detail::ExecBase<D>& exec, X&& cu_seqlens, std::int64_t length, Out&& out) {
    const auto rows = view(cu_seqlens);
    const std::int64_t samples = rows.extent(0);
    const std::int64_t documents = rows.extent(1) - 1;
    throw_if_bad(detail::check_view<D>(rows));
    std::int64_t total = 0;
    if (length < 0) throw_if_bad(make_status(Kind::length, 0, 0, 0, length));
    if (__builtin_mul_overflow(samples, length, &total)) throw_if_bad(make_status(Kind::length, 0, 0, 0, -1));
    for (std::int64_t b = 0; b < samples; ++b) {
        Status status = detail::check_for<D>(detail::RowEntries<view_of<X>>{rows, b}, length, 0);
        status.field = b;
        throw_if_bad(status);
    }
    throw_if_bad(detail::check_overlap(view(out), 0, rows));
    throw_if_bad(detail::check_index_array(out, samples * (documents < 0 ? 0 : documents) + 1, total));
    run_index_work(detail::Dispatch{}, thrust::detail::derived_cast(exec),
                   detail::MergeWork<view_of<X>, element_of<Out>>{rows, length, documents, view(out).extent(0),
                                                                  detail::line(out)});
}

// The offsets of the documents in `positions`, which count up by 1 inside each of them: a document begins where a
// position does not follow the one before. Also for a shard, whose first document may begin anywhere: offsets count from
// 0 and end at the number of positions. Pads of position 0 each look like documents of one token: give the real part
// alone, and own the tail with padded_offsets. positions: [S]. Host only; allocates what it returns.
template <Tensor X>
    requires(axes_of<X> == 1 && IndexInteger<element_of<X>>)
[[nodiscard]] std::vector<std::int64_t> offsets_from_positions(X&& positions) {
    const auto from = view(positions);
    throw_if_bad(detail::check_view(from));
    const std::int64_t length = from.extent(0);
    std::vector<std::int64_t> cu_seqlens(1, 0);
    for (std::int64_t i = 1; i < length; ++i) {
        const std::int64_t before = from(i - 1);
        if (from(i) == 0 || before == INT64_MAX || before + 1 != from(i)) cu_seqlens.push_back(i);
    }
    if (length > 0) cu_seqlens.push_back(length);
    return cu_seqlens;
}

}  // namespace seqpar
