// Which bytes an array touches, and whether two arrays share some. Not here: the checks that use it.
#pragma once

#include <seqpar/tensor/array_ref.hpp>

#include <cstddef>

namespace seqpar::detail {

// The bytes between the first and the last that an array touches.
struct ByteSpan {
    const std::byte* first = nullptr;
    const std::byte* last = nullptr;  // one past
    bool dense = false;               // no byte between them is left out
};

// How many elements an array has, or `most` if that is less: an axis of stride 0 may make the product overflow.
inline std::int64_t count_elements(const ArrayRef& a, std::int64_t most) {
    std::int64_t count = 1;
    for (int i = 0; i < a.axes; ++i) {
        if (__builtin_mul_overflow(count, a.extents[i], &count) || count > most) count = most;
    }
    return count;
}

inline ByteSpan byte_span(const ArrayRef& a) {
    const std::int64_t span = span_elements(a);
    if (span < 1) return {};
    std::int64_t before = 0;
    for (int i = 0; i < a.axes; ++i) {
        if (a.strides[i] < 0) before += (a.extents[i] - 1) * -a.strides[i];
    }
    const auto* first = static_cast<const std::byte*>(a.data) - before * a.element_bytes;
    return {first, first + span * a.element_bytes, count_elements(a, span + 1) == span};
}

// Whether two arrays are known to share memory: both without gaps, and their bytes meet.
inline bool shares_memory(const ArrayRef& a, const ArrayRef& b) {
    const ByteSpan x = byte_span(a);
    const ByteSpan y = byte_span(b);
    return x.dense && y.dense && x.first < y.last && y.first < x.last;
}

// Whether an array is known to have a value in two places at once (an axis of stride 0, or more elements than there is room
// for), so that it cannot be an output.
inline bool repeats_memory(const ArrayRef& a) {
    const std::int64_t span = span_elements(a);
    if (span == 0) return false;
    for (int i = 0; i < a.axes; ++i) {
        if (a.extents[i] > 1 && a.strides[i] == 0) return true;
    }
    return span > 0 && count_elements(a, span + 1) > span;
}

}  // namespace seqpar::detail
