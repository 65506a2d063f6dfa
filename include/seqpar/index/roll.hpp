// Roll: which position's value each slot holds after a roll of the whole sequence, inside documents or in a circle.
// Not here: labels, which are rolled before the split (labels.hpp), and the move: shard by indexed() (layout/indexed.hpp).
#pragma once

#include <seqpar/index/positions.hpp>

namespace seqpar {

namespace detail {

// Slot t gets position - by where that lies in the same document, else -1, or with `wraps` the one at the document's other
// end. What lies after the last document gets -1.
template <bool wraps, Layout L, class Documents, class T>
struct RollWork {
    static constexpr const char* operation = "seqpar::roll_index";
    L layout;
    int rank;
    Documents documents;
    std::int64_t by;     // |by| is at most the length of the sequence, and if it wraps of every document
    std::int64_t total;  // slots
    Line<T> out;

    SEQPAR_HD constexpr std::int64_t offset_count() const { return documents.count(); }
    SEQPAR_HD constexpr Status check_offset(std::int64_t i) const {
        return allow_tail(detail::check_offset(documents, layout.size(), i), layout.size());
    }
    SEQPAR_HD constexpr void operator()(std::int64_t slot) const { write({layout.position(rank, slot), slot, 1}); }
    SEQPAR_HD constexpr void operator()(std::int64_t first, std::int64_t last) const {
        auto cursor = seqpar::runs(layout, rank, first, last);
        Run run;
        while (cursor.next(run))
            write(run);
    }

    SEQPAR_HD constexpr void write(const Run& run) const {
        const std::int64_t end = documents[documents.documents()];
        const std::int64_t run_end = run.position + run.length;
        const std::int64_t to_slot = run.slot - run.position;
        DocumentCursor<Documents> inside(documents, run.position, run_end < end ? run_end : end);
        Stretch s{run.position, run.position, 0, 0};
        while (inside.next(s)) {
            const std::int64_t length = s.end - s.begin;
            const std::int64_t begin = clamp(by > 0 ? s.begin + by : s.first, s);
            const std::int64_t mid = by < 0 ? clamp(s.end + by, s) : s.last;
            write_none(to_slot, s.first, begin, length);
            write_count(out, to_slot + begin, mid - begin, begin - by);
            write_none(to_slot, mid, s.last, -length);
        }
        write_value(out, to_slot + s.last, run_end - s.last, T{-1});
    }
    // Positions [first, last), which get none; if it wraps, those `turn` further.
    SEQPAR_HD constexpr void write_none(std::int64_t to_slot, std::int64_t first, std::int64_t last,
                                        std::int64_t turn) const {
        if constexpr (wraps) {
            write_count(out, to_slot + first, last - first, first - by + turn);
        } else {
            write_value(out, to_slot + first, last - first, T{-1});
        }
    }
    SEQPAR_HD static constexpr std::int64_t clamp(std::int64_t value, const Stretch& s) {
        return value < s.first ? s.first : value > s.last ? s.last : value;
    }
};

template <bool wraps, class D, Layout L, class Documents, IndexArray Out>
void roll(const ExecBase<D>& exec, const L& layout, int rank, const Documents& documents, std::int64_t by, Out& out) {
    require_slots<D>(layout, rank, out, layout.size() - 1);
    const std::int64_t size = layout.size();
    const std::int64_t bounded = wraps ? by % (size < 1 ? 1 : size) : by > size ? size : by < -size ? -size : by;
    run_index_work(Dispatch{}, thrust::detail::derived_cast(exec),
                   RollWork<wraps, L, Documents, element_of<Out>>{layout, rank, documents, bounded, layout.slots(rank),
                                                                  line(out)});
}

}  // namespace detail

// The position whose value each slot of `rank` holds once every document is rolled by `by`, as torch.roll counts:
// position p gets that of p - by, so by = -1 brings the next token (MTP); -1 where that lies in no or another document.
// Positions after the last offset belong to nobody and get -1. Positions are those of the padded axis. The move is
// a gather of the whole array by this index, or on each rank an exchange of what its shard lacks. Shape: out
// [slots(rank)], int32 or int64; cu_seqlens [documents + 1]. Source: docs/design.md; Megatron-Core's roll_tensor.
// Errors: those of positions, illegal offsets, overlap. Synchronises: never. Allocates: never. Launches: on CUDA 1, none for empty
// work. Reads offsets on: exec's device.
template <class D, Layout L, BorrowedOffsets R, IndexArray Out>
void roll_index(const detail::ExecBase<D>& exec, const L& layout, int rank, R&& cu_seqlens, std::int64_t by,
                Out&& out) {
    const auto documents = offsets(std::forward<R>(cu_seqlens));
    throw_if_bad(detail::check_for<D>(layout));
    throw_if_bad(detail::allow_tail(detail::check_for<D>(documents, layout.size()), layout.size()));
    throw_if_bad(detail::check_apart(out, documents));
    detail::roll<false>(exec, layout, rank, documents, by, out);
}

// The same where the sequence is one document.
template <class D, Layout L, IndexArray Out>
void roll_index(const detail::ExecBase<D>& exec, const L& layout, int rank, std::int64_t by, Out&& out) {
    detail::roll<false>(exec, layout, rank, detail::OneDocument{layout.size()}, by, out);
}

// The same in a circle over all size() positions, whatever the documents: (p - by) mod size(). Source: MagiAttention's
// roll. Shape, errors and contract line: as positions.
template <class D, Layout L, IndexArray Out>
void circular_roll_index(const detail::ExecBase<D>& exec, const L& layout, int rank, std::int64_t by, Out&& out) {
    detail::roll<true>(exec, layout, rank, detail::OneDocument{layout.size()}, by, out);
}

}  // namespace seqpar
