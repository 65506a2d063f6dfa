// Positions: of each slot on the padded sequence axis, in the unpadded array (sources), and inside its document.
// Not here: arrays to gather or restore by; see gather.hpp.
#pragma once

#include <seqpar/index/detail/documents.hpp>
#include <seqpar/index/detail/index_array.hpp>
#include <seqpar/index/tail.hpp>
#include <seqpar/layout/runs.hpp>

namespace seqpar {

namespace detail {

// out[t] = the position of each run's slots, -1 where a run is of pad slots.
template <class Cursor, class T>
SEQPAR_HD constexpr void write_sources(Cursor cursor, const Line<T>& out) {
    Run run;
    while (cursor.next(run)) {
        if (run.position < 0) {
            write_value(out, run.slot, run.length, T{-1});
        } else {
            write_count(out, run.slot, run.length, run.position);
        }
    }
}

// The position of slot t, or by_source its source (pad slots get -1), is written to out[t].
template <bool by_source, Layout L, class T>
struct SlotWork {
    static constexpr const char* operation = "seqpar, positions, sources";
    L layout;
    int rank;
    std::int64_t total;  // slots
    Line<T> out;

    SEQPAR_HD constexpr void operator()(std::int64_t slot) const {
        const std::int64_t position = layout.position(rank, slot);
        out[slot] = static_cast<T>(by_source ? layout.source(position) : position);
    }

    SEQPAR_HD constexpr void operator()(std::int64_t first, std::int64_t last) const {
        if constexpr (by_source) {
            write_sources(source_runs(layout, rank, first, last), out);
        } else {
            write_sources(seqpar::runs(layout, rank, first, last), out);
        }
    }
};

// Entry p of document [begin, end) gets p - begin. What comes after the last document is a tail, see
// document_positions.
template <class Documents, class T>
struct DocumentPositionWork {
    static constexpr const char* operation = "seqpar::document_positions";
    Documents documents;
    Tail tail;
    bool with_tail;      // whether there may be one
    std::int64_t total;  // positions
    Line<T> out;

    SEQPAR_HD constexpr std::int64_t offset_count() const { return documents.count(); }
    SEQPAR_HD constexpr Status check_offset(std::int64_t i) const {
        const Status status = detail::check_offset(documents, total, i);
        return with_tail ? allow_tail(status, total) : status;
    }
    SEQPAR_HD constexpr void operator()(std::int64_t first, std::int64_t last) const {
        const std::int64_t end = documents[documents.documents()];
        DocumentCursor<Documents> cursor(documents, first, last < end ? last : end);
        Stretch stretch;
        while (cursor.next(stretch)) {
            write_count(out, stretch.first, stretch.last - stretch.first, stretch.first - stretch.begin);
        }
        if (first < end) first = end;
        if (first >= last) return;
        if (tail == Tail::nobody) {
            write_value(out, first, last - first, T{0});
        } else if (tail == Tail::own_document || end == 0) {
            write_count(out, first, last - first, first - end);
        } else {
            write_count(out, first, last - first, first - documents[documents.document_of(end - 1)]);
        }
    }
};

// What every operation that writes an entry for each slot of `rank` asks for; `greatest` is the greatest entry.
template <class D, Layout L, IndexArray Out>
void require_slots(const L& layout, int rank, Out& out, std::int64_t greatest) {
    throw_if_bad(check_for<D>(layout));
    throw_if_bad(check_rank(layout, rank));
    throw_if_bad(check_index_array(out, layout.slots(rank), greatest));
}

template <bool by_source, class D, Layout L, IndexArray Out>
void write_slots(const ExecBase<D>& exec, const L& layout, int rank, Out& out) {
    require_slots<D>(layout, rank, out, (by_source ? layout.source_size() : layout.size()) - 1);
    run_index_work(Dispatch{}, thrust::detail::derived_cast(exec),
                   SlotWork<by_source, L, element_of<Out>>{layout, rank, layout.slots(rank), line(out)});
}

template <class D, OffsetInteger Int, class Out>
void write_document_positions(const ExecBase<D>& exec, Offsets<Int> documents, Tail tail, bool with_tail, Out& out) {
    const std::int64_t length = view(out).extent(0);
    const Status status = check_for<D>(documents, length);
    throw_if_bad(with_tail ? allow_tail(status, length) : status);
    throw_if_bad(check_apart(out, documents));
    throw_if_bad(check_index_array(out, length, length - 1));
    run_index_work(Dispatch{}, thrust::detail::derived_cast(exec),
                   DocumentPositionWork<Offsets<Int>, element_of<Out>>{documents, tail, with_tail, length, line(out)});
}

}  // namespace detail

// out[t] = layout.position(rank, t): what `rank` holds, by position on the padded sequence axis.
// Shape: out [slots(rank)], int32 or int64. Errors, before anything is written: an illegal layout, a rank outside the
// group, another length of `out`, positions that do not fit its type (any position of the sequence, so all ranks
// agree). Synchronises: never. Allocates: never. Launches: on CUDA 1, none for empty work. Reads offsets on: exec's device.
template <class D, Layout L, IndexArray Out>
void positions(const detail::ExecBase<D>& exec, const L& layout, int rank, Out&& out) {
    detail::write_slots<false>(exec, layout, rank, out);
}

// out[t] = layout.source(layout.position(rank, t)): what `rank` holds, by index in the unpadded array, so that
// shard[t] = whole[out[t]]; -1 for a pad slot. Shape, errors and contract line: as positions.
template <class D, Layout L, IndexArray Out>
void sources(const detail::ExecBase<D>& exec, const L& layout, int rank, Out&& out) {
    detail::write_slots<true>(exec, layout, rank, out);
}

// out[p] = p - cu_seqlens[document of p]: positions counted from 0 inside each document, over the whole sequence.
// Shape: out [S], int32 or int64; cu_seqlens [documents + 1], and its last entry is S. Pads inside a document count on:
// for pads with position 0 number the unpadded sequence and shard that with fill 0. Errors, before anything is written:
// illegal offsets, numbers that do not fit, overlap. Synchronises: never. Allocates: never. Launches: on CUDA 1, none for empty
// work. Reads offsets on: exec's device.
template <class D, BorrowedOffsets R, IndexArray Out>
void document_positions(const detail::ExecBase<D>& exec, R&& cu_seqlens, Out&& out) {
    detail::write_document_positions(exec, offsets(std::forward<R>(cu_seqlens)), Tail::nobody, false, out);
}

// The same where the offsets may end before the sequence does. The tail after them counts on from the last document
// that is not empty (Tail::last_document), from 0 (Tail::own_document), or has position 0 throughout (Tail::nobody).
template <class D, BorrowedOffsets R, IndexArray Out>
void document_positions(const detail::ExecBase<D>& exec, R&& cu_seqlens, Tail tail, Out&& out) {
    detail::write_document_positions(exec, offsets(std::forward<R>(cu_seqlens)), tail, true, out);
}

}  // namespace seqpar
