// Index arrays that gather all shards from the whole array, and that restore the whole from gathered shards.
// Not here: moves that need no index array; see move/shard.hpp and move/unshard.hpp.
#pragma once

#include <seqpar/index/positions.hpp>

namespace seqpar {

namespace detail {

// The slots of rank 0, then those of rank 1, …, numbered through: out[number] is the slot's source, -1 for a pad slot, or with
// `restores` out[source] the slot's number.
template <bool restores, Layout L, class T>
struct JoinedWork {
    static constexpr const char* operation = "seqpar, gather_index, restore_index";
    L layout;
    std::int64_t total;  // slots of all ranks
    Line<T> out;

    SEQPAR_HD constexpr void operator()(std::int64_t number) const {
        std::int64_t slot = number;
        int rank = 0;
        for (; rank + 1 < layout.ranks() && slot >= layout.slots(rank); ++rank)
            slot -= layout.slots(rank);
        const std::int64_t source = layout.source(layout.position(rank, slot));
        if constexpr (!restores) {
            out[number] = static_cast<T>(source);
        } else if (source >= 0 && source < layout.source_size()) {
            out[source] = static_cast<T>(number);
        }
    }
    SEQPAR_HD constexpr void operator()(std::int64_t first, std::int64_t last) const {
        std::int64_t begin = 0;  // of the rank's slots
        for (int rank = 0; rank < layout.ranks() && begin < last; ++rank) {
            const std::int64_t slots = layout.slots(rank);
            if (begin + slots > first)
                write(rank, begin, first > begin ? first - begin : 0, last - begin < slots ? last - begin : slots);
            begin += slots;
        }
    }

    SEQPAR_HD constexpr void write(int rank, std::int64_t begin, std::int64_t first, std::int64_t last) const {
        auto cursor = source_runs(layout, rank, first, last);
        if constexpr (!restores) {
            write_sources(cursor, Line<T>{out.data + begin * out.stride, out.stride});
        } else {
            Run run;
            while (cursor.next(run)) {
                if (is_padded<L> && run.position < 0) continue;
                write_count(out, run.position, run.length, begin + run.slot);
            }
        }
    }
};

template <bool restores, class D, Layout L, IndexArray Out>
void write_joined(const ExecBase<D>& exec, const L& layout, Out& out) {
    throw_if_bad(check_for<D>(layout));
    const std::int64_t slots = layout.size();
    const std::int64_t sources = layout.source_size();
    throw_if_bad(check_index_array(out, restores ? sources : slots, (restores ? slots : sources) - 1));
    run_index_work(Dispatch{}, thrust::detail::derived_cast(exec),
                   JoinedWork<restores, L, element_of<Out>>{layout, slots, line(out)});
}

}  // namespace detail

// The entries of the whole (unpadded) array that the ranks hold, in slot order, joined in order of rank (ranks may differ in
// slots): gathered[k] = whole[out[k]]; -1 for a pad slot, which is no entry of anything. For one rank: sources(…). Shape: out
// [size()], int32 or int64. Errors and contract line: as positions.
template <class D, Layout L, IndexArray Out>
void gather_index(const detail::ExecBase<D>& exec, const L& layout, Out&& out) {
    detail::write_joined<false>(exec, layout, out);
}

// Where each entry of the whole (unpadded) array lies in the shards joined in order of rank, as an all-gather along the
// sequence axis gives them: whole[j] = gathered[out[j]] (docs/design.md). The inverse of the joined gather_index;
// shards may differ in size, and no entry names a pad slot. Layers that need the sequence in order (SSM, linear attention)
// undo the balance by this index and redo it by the joined gather_index. Shape: out [source_size()], int32 or int64. Errors and
// contract line: as positions, where the numbers go up to size().
template <class D, Layout L, IndexArray Out>
void restore_index(const detail::ExecBase<D>& exec, const L& layout, Out&& out) {
    static_assert(is_bijective<L>, "restore_index needs a layout that holds every entry once");
    detail::write_joined<true>(exec, layout, out);
}

}  // namespace seqpar
