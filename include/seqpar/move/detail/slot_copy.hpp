// SlotCopy: two arrays that agree in every axis but the sequence axis, reduced to what a move needs, and the checks on them.
#pragma once

#include <seqpar/layout/concepts.hpp>
#include <seqpar/tensor/array_ref.hpp>
#include <seqpar/tensor/detail/memory.hpp>

#include <cstddef>

namespace seqpar::detail {

// One side of a move.
struct MoveSide {
    std::byte* data = nullptr;
    std::int64_t stride = 0;                        // bytes from one entry of the sequence axis to the next
    std::int64_t strides[ArrayRef::max_axes] = {};  // bytes, of the loop axes
};

// `whole` is indexed by source, `shard` by slot. A slot is loop_count parts of `part` contiguous bytes on both sides.
struct SlotCopy {
    MoveSide whole;
    MoveSide shard;
    std::int64_t part = 0;
    int element_bytes = 1;
    int loops = 0;
    std::int64_t extents[ArrayRef::max_axes] = {};
    std::int64_t loop_count = 1;  // 0: nothing to move
};

// Whether `whole` and `shard` are a whole array and `rank`'s shard of it along `axis`; `array` is what the Status names.
template <Layout L>
Status check_arrays(const L& layout, int rank, const ArrayRef& whole, const ArrayRef& shard, int axis,
                    bool shard_is_output, int array) {
    const ArrayRef& output = shard_is_output ? shard : whole;
    if (whole.axes != shard.axes) return make_status(Kind::axes, array, 0, whole.axes, shard.axes);
    if (whole.axes < 0 || whole.axes > ArrayRef::max_axes)
        return make_status(Kind::axes, array, 0, ArrayRef::max_axes, whole.axes);
    const int k = axis_index(axis, whole.axes);
    if (k < 0) return make_status(Kind::axes, array, 0, axis < 0 ? -std::int64_t{axis} : axis + 1, whole.axes);
    if (whole.element_bytes < 1 || whole.element_bytes > 16)
        return make_status(Kind::element, array, 0, 16, whole.element_bytes);
    if (whole.element_bytes != shard.element_bytes)
        return make_status(Kind::element, array, 0, whole.element_bytes, shard.element_bytes);
    if (whole.extents[k] != layout.source_size()) {
        return make_status(Kind::axis_extent, array, 0, layout.source_size(), whole.extents[k], k);
    }
    if (shard.extents[k] != layout.slots(rank))
        return make_status(Kind::axis_extent, array, 0, layout.slots(rank), shard.extents[k], k);
    for (int i = 0; i < whole.axes; ++i) {
        if (whole.extents[i] < 0) return make_status(Kind::extent, array, 0, 0, whole.extents[i], i);
        if (i != k && whole.extents[i] != shard.extents[i])
            return make_status(Kind::extent, array, 0, whole.extents[i], shard.extents[i], i);
    }
    if (output.read_only) return make_status(Kind::read_only, array, 0, 0, 1);
    if (repeats_memory(output) || shares_memory(whole, shard)) return make_status(Kind::overlap, array, 0, 0, 1);
    return {};
}

// The reduced form of two arrays that check_arrays let pass: axes of one entry dropped, the rest in the order of the shard's
// memory, neighbours joined that are contiguous on both sides, the innermost joined into the part where it is contiguous too.
inline SlotCopy slot_copy(const ArrayRef& whole, const ArrayRef& shard, int axis) {
    const int k = axis_index(axis, whole.axes);
    SlotCopy copy;
    copy.element_bytes = whole.element_bytes;
    copy.part = whole.element_bytes;
    copy.whole = {static_cast<std::byte*>(whole.data), whole.strides[k] * whole.element_bytes, {}};
    copy.shard = {static_cast<std::byte*>(shard.data), shard.strides[k] * whole.element_bytes, {}};
    for (int i = 0; i < whole.axes; ++i) {
        if (i == k) continue;
        copy.loop_count *= whole.extents[i];
        if (whole.extents[i] == 1) continue;
        const std::int64_t ours = shard.strides[i] * whole.element_bytes;
        int at = copy.loops++;
        for (; at > 0; --at) {
            const std::int64_t other = copy.shard.strides[at - 1];
            if ((other < 0 ? -other : other) >= (ours < 0 ? -ours : ours)) break;
            copy.extents[at] = copy.extents[at - 1];
            copy.whole.strides[at] = copy.whole.strides[at - 1];
            copy.shard.strides[at] = other;
        }
        copy.extents[at] = whole.extents[i];
        copy.whole.strides[at] = whole.strides[i] * whole.element_bytes;
        copy.shard.strides[at] = ours;
    }
    if (copy.loop_count == 0) return copy;
    int kept = 0;  // loop axes that stay
    for (int i = 1; i < copy.loops; ++i) {
        const bool joins = copy.whole.strides[kept] == copy.extents[i] * copy.whole.strides[i] &&
                           copy.shard.strides[kept] == copy.extents[i] * copy.shard.strides[i];
        const std::int64_t extent = joins ? copy.extents[kept] * copy.extents[i] : copy.extents[i];
        if (!joins) ++kept;
        copy.extents[kept] = extent;
        copy.whole.strides[kept] = copy.whole.strides[i];
        copy.shard.strides[kept] = copy.shard.strides[i];
    }
    if (copy.loops > 0) copy.loops = kept + 1;
    if (copy.loops > 0 && copy.whole.strides[kept] == copy.part && copy.shard.strides[kept] == copy.part) {
        copy.loops = kept;
        copy.part *= copy.extents[kept];
        copy.loop_count /= copy.extents[kept];
    }
    return copy;
}

}  // namespace seqpar::detail
