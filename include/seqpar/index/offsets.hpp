// Offsets per rank, offsets from what trainers keep (arrays with a sentinel, one array a sample, positions), and offsets
// of a fixed number. Not here: padding (padding.hpp), and the borrowed array itself (layout/offsets.hpp).
#pragma once

#include <seqpar/index/detail/samples.hpp>
#include <seqpar/layout/packed.hpp>

#include <vector>

namespace seqpar {

namespace detail {

template <OffsetInteger Int, class T>
struct LocalOffsetWork {
    Offsets<Int> cu_seqlens;
    int ranks;
    std::int64_t total;  // entries
    Line<T> out;

    SEQPAR_HD constexpr void operator()(std::int64_t first, std::int64_t last) const {
        for (std::int64_t i = first; i < last; ++i)
            out[i] = static_cast<T>(cu_seqlens[i] / ranks);
    }
};

template <class D, OffsetInteger Int, IndexArray Out>
void write_local_offsets(const ExecBase<D>& exec, Offsets<Int> cu_seqlens, int ranks, Out& out) {
    run_index_work(Dispatch{}, thrust::detail::derived_cast(exec),
                   LocalOffsetWork<Int, element_of<Out>>{cu_seqlens, ranks, cu_seqlens.count(), line(out)});
}

template <OffsetInteger Int, IndexArray Out>
Status check_local_output(Offsets<Int> cu_seqlens, int ranks, Out& out) {
    if (const Status status = check_apart(out, cu_seqlens); !status.ok()) return status;
    return check_index_array(out, cu_seqlens.count(), cu_seqlens[cu_seqlens.documents()] / ranks);
}

template <class V, class T>
struct MergeWork {
    V rows;  // [B, documents + 1]
    std::int64_t length;
    std::int64_t documents;
    std::int64_t total;  // entries written
    Line<T> out;

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

// What local_offsets(…) would throw.
template <LayoutPolicy P, OffsetInteger Int, IndexArray Out>
[[nodiscard]] Status check_local_offsets(const Packed<P, Int>& layout, Out&& out) {
    if (const Status status = check(layout); !status.ok()) return status;
    return detail::check_local_output(layout.cu_seqlens(), layout.ranks(), out);
}

// The offsets of the documents inside each rank's shard, the same on every rank: cu_seqlens / ranks, entry by entry
// (docs/design.md, B and G). Shape: out [documents + 1], int32 or int64; empty documents and repeated last offsets
// stay. Errors, before anything is written: an illegal layout (so every document's length divides), another length of
// `out`, offsets that do not fit it, overlap. Synchronises: never. Allocates: never. Launches: none on a host. Reads
// offsets on: exec's device.
template <class D, LayoutPolicy P, OffsetInteger Int, IndexArray Out>
void local_offsets(const detail::ExecBase<D>& exec, const Packed<P, Int>& layout, Out&& out) {
    if constexpr (detail::is_host_exec<D>) throw_if_bad(check_local_offsets(layout, out));
    detail::write_local_offsets(exec, layout.cu_seqlens(), layout.ranks(), out);
}

// What local_offsets(…) of offsets alone would throw.
template <OffsetArray R, IndexArray Out>
[[nodiscard]] Status check_local_offsets(R&& cu_seqlens, int ranks, Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    if (ranks < 1) return make_status(Kind::ranks, 0, 0, 1, ranks);
    const std::int64_t count = borrowed.count();
    if (const Status status = check(borrowed, count < 1 ? 0 : borrowed[count - 1]); !status.ok()) return status;
    for (std::int64_t d = 0; d < borrowed.documents(); ++d) {
        const std::int64_t length = borrowed[d + 1] - borrowed[d];
        if (length % ranks != 0) return make_status(Kind::document_multiple, 0, d, ranks, length);
    }
    return detail::check_local_output(borrowed, ranks, out);
}

// The same from offsets alone, where each document is dealt to `ranks` ranks in equal shares by whatever rule: each
// document's length must be a multiple of `ranks` (a layout's check is stricter). Shape, errors and contract line: as
// above.
template <class D, BorrowedOffsets R, IndexArray Out>
void local_offsets(const detail::ExecBase<D>& exec, R&& cu_seqlens, int ranks, Out&& out) {
    if constexpr (detail::is_host_exec<D>) throw_if_bad(check_local_offsets(cu_seqlens, ranks, out));
    detail::write_local_offsets(exec, offsets(std::forward<R>(cu_seqlens)), ranks, out);
}

// The length of the longest document (max_seqlen of attention kernels; of a shard, pass its local offsets). Reads the
// offsets.
template <OffsetInteger Int>
[[nodiscard]] SEQPAR_HD constexpr std::int64_t longest_document(Offsets<Int> cu_seqlens) {
    std::int64_t longest = 0;
    for (std::int64_t d = 0; d < cu_seqlens.documents(); ++d) {
        const std::int64_t length = cu_seqlens[d + 1] - cu_seqlens[d];
        if (length > longest) longest = length;
    }
    return longest;
}
template <OffsetArray R>
[[nodiscard]] constexpr std::int64_t longest_document(R&& cu_seqlens) {
    return longest_document(offsets(cu_seqlens));
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

// What merged_offsets(…) would throw.
template <Tensor X, IndexArray Out>
    requires(axes_of<X> == 2 && IndexInteger<element_of<X>>)
[[nodiscard]] Status check_merged_offsets(X&& cu_seqlens, std::int64_t length, Out&& out) {
    const auto rows = view(cu_seqlens);
    const std::int64_t samples = rows.extent(0);
    const std::int64_t count = rows.extent(1);
    if (length < 0) return make_status(Kind::length, 0, 0, 0, length);
    std::int64_t total = 0;
    if (__builtin_mul_overflow(samples, length, &total)) return make_status(Kind::length, 0, 0, 0, -1);
    for (std::int64_t b = 0; b < samples; ++b) {
        const int array = static_cast<int>(b & 0xFF);
        if (count < 1 || (count == 1 && length != 0)) return make_status(Kind::offsets_count, array, 0, 2, count);
        if (rows(b, 0) != 0) return make_status(Kind::offsets_first, array, 0, 0, rows(b, 0));
        for (std::int64_t i = 1; i < count; ++i) {
            if (rows(b, i) < rows(b, i - 1))
                return make_status(Kind::offsets_order, array, i - 1, rows(b, i - 1), rows(b, i));
        }
        if (rows(b, count - 1) != length) return make_status(Kind::offsets_total, array, 0, length, rows(b, count - 1));
    }
    if (const Status status = detail::check_overlap(view(out), 0, rows); !status.ok()) return status;
    return detail::check_index_array(out, samples * (count < 1 ? 0 : count - 1) + 1, total);
}

// The offsets of B samples of `length` tokens each, stored one sample after the other, as one packed stream: row b
// moved by b * length, without its 0. Shapes: cu_seqlens [B, documents + 1] (samples with fewer documents repeat their
// last offset), out [B * documents + 1]. Errors, before anything is written: illegal offsets (`array` is the sample,
// modulo 256), numbers that do not fit, overlap. Contract line: as local_offsets.
template <class D, Tensor X, IndexArray Out>
    requires(axes_of<X> == 2 && IndexInteger<element_of<X>>)
void merged_offsets(const detail::ExecBase<D>& exec, X&& cu_seqlens, std::int64_t length, Out&& out) {
    if constexpr (detail::is_host_exec<D>) throw_if_bad(check_merged_offsets(cu_seqlens, length, out));
    const auto rows = view(cu_seqlens);
    const std::int64_t documents = rows.extent(1) - 1;
    detail::run_index_work(detail::Dispatch{}, thrust::detail::derived_cast(exec),
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
    const std::int64_t length = from.extent(0);
    std::vector<std::int64_t> cu_seqlens(1, 0);
    for (std::int64_t i = 1; i < length; ++i) {
        if (from(i) == 0 || std::int64_t{from(i)} - 1 != std::int64_t{from(i - 1)}) cu_seqlens.push_back(i);
    }
    if (length > 0) cu_seqlens.push_back(length);
    return cu_seqlens;
}

// What fixed_offsets(…) would throw.
template <OffsetArray R, IndexArray Out>
[[nodiscard]] Status check_fixed_offsets(R&& cu_seqlens, Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    const std::int64_t count = borrowed.count();
    if (const Status status = check(borrowed, count < 1 ? 0 : borrowed[count - 1]); !status.ok()) return status;
    const std::int64_t room = view(out).extent(0);
    if (count > room) return make_status(Kind::offsets_count, 0, 0, room, count);
    if (const Status status = detail::check_apart(out, borrowed); !status.ok()) return status;
    return detail::check_index_array(out, room, borrowed[count - 1]);
}

// The same documents as an array of as many offsets as `out` has, whatever the batch: the last one repeats (a CUDA graph
// that is captured once reads as many at every step). Errors, before anything is written: illegal offsets, more of them
// than `out` has room for, numbers that do not fit, overlap. Host only; contract line: as local_offsets.
template <class D, OffsetArray R, IndexArray Out>
    requires detail::HostExec<D>
void fixed_offsets(const detail::ExecBase<D>&, R&& cu_seqlens, Out&& out) {
    throw_if_bad(check_fixed_offsets(cu_seqlens, out));
    const auto borrowed = offsets(cu_seqlens);
    const auto to = detail::line(out);
    for (std::int64_t i = 0; i < view(out).extent(0); ++i)
        to[i] = static_cast<element_of<Out>>(borrowed[i < borrowed.documents() ? i : borrowed.documents()]);
}

}  // namespace seqpar
