// Which bytes an array touches, and whether two arrays share some. Not here: the checks that use it.
#pragma once

#include <seqpar/tensor/array_ref.hpp>

#include <algorithm>
#include <cstddef>

namespace seqpar::detail {

// The bytes between the first and the last that an array touches.
struct ByteSpan {
    const std::byte* first = nullptr;
    const std::byte* last = nullptr;  // one past
    bool dense = false;               // no byte between them is left out
};

inline ByteSpan byte_span(const ArrayRef& a) {
    const std::int64_t span = span_elements(a);
    if (span < 1) return {};
    std::int64_t before = 0;
    for (int i = 0; i < a.axes; ++i) {
        if (a.strides[i] < 0) before += (a.extents[i] - 1) * -a.strides[i];
    }
    const auto* first = static_cast<const std::byte*>(a.data) - before * a.element_bytes;
    // Entries without a gap from the first on: an axis adds to them whose steps are no longer than they are.
    std::int64_t covered = 1;
    bool added[ArrayRef::max_axes] = {};
    for (int round = 0; round < a.axes; ++round) {
        for (int i = 0; i < a.axes; ++i) {
            const std::int64_t step = a.strides[i] < 0 ? -a.strides[i] : a.strides[i];
            if (added[i] || step > covered) continue;
            added[i] = true;
            covered += (a.extents[i] - 1) * step;
        }
    }
    return {first, first + span * a.element_bytes, covered == span};
}

inline bool meets(const ByteSpan& a, const ByteSpan& b) { return a.first < b.last && b.first < a.last; }

// Steps of `stride` bytes, from `low` to `high` of them, that lead from an entry of one array to an entry of another.
struct ByteSteps {
    std::int64_t stride = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;
};

// The distances between the bytes of one array and those of another, in steps of falling strides.
struct ByteDistances {
    ByteSteps steps[2 * ArrayRef::max_axes + 1];
    int count = 0;

    void add(std::int64_t stride, std::int64_t low, std::int64_t high) {
        if (stride == 0 || low == high) return;
        if (stride < 0) return add(-stride, -high, -low);
        int at = 0;
        while (at < count && steps[at].stride > stride)
            ++at;
        if (at == count || steps[at].stride != stride) {
            for (int i = count++; i > at; --i)
                steps[i] = steps[i - 1];
            steps[at] = {stride, 0, 0};
        }
        steps[at].low += low;
        steps[at].high += high;
    }
    // Whether a distance is found among the steps from number `at` on. Where strides are those of rows in rows, with gaps or
    // without, two tries a stride are all there are; `tries` bounds the rest.
    bool has(std::int64_t distance, int at, int& tries) const {
        if (at == count) return distance == 0;
        std::int64_t low = 0;
        std::int64_t high = 0;
        for (int i = at + 1; i < count; ++i) {
            low += steps[i].stride * steps[i].low;
            high += steps[i].stride * steps[i].high;
        }
        const ByteSteps& step = steps[at];
        for (std::int64_t n = (std::max)(step.low, floor_of(distance - high + step.stride - 1, step.stride));
             n <= (std::min)(step.high, floor_of(distance - low, step.stride)) && tries-- > 0; ++n) {
            if (has(distance - n * step.stride, at + 1, tries)) return true;
        }
        return false;
    }

private:
    static std::int64_t floor_of(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
};

// Whether two arrays are known to share memory. All are known that have no gaps, or the same strides, as rows of one array do:
// columns that lie between one another's are apart.
inline bool shares_memory(const ArrayRef& a, const ArrayRef& b) {
    const ByteSpan x = byte_span(a);
    const ByteSpan y = byte_span(b);
    if (!meets(x, y)) return false;
    if (a.data == b.data || (x.dense && y.dense)) return true;
    ByteDistances distances;
    for (int i = 0; i < a.axes; ++i)
        distances.add(a.strides[i] * a.element_bytes, 0, a.extents[i] - 1);
    for (int i = 0; i < b.axes; ++i)
        distances.add(b.strides[i] * b.element_bytes, 1 - b.extents[i], 0);
    distances.add(1, 1 - b.element_bytes, a.element_bytes - 1);
    int tries = 1024;
    return distances.has(static_cast<const std::byte*>(b.data) - static_cast<const std::byte*>(a.data), 0, tries);
}

// How many elements an array has, or `most` if that is less: an axis of stride 0 may make the product overflow.
inline std::int64_t count_elements(const ArrayRef& a, std::int64_t most) {
    std::int64_t count = 1;
    for (int i = 0; i < a.axes; ++i) {
        if (__builtin_mul_overflow(count, a.extents[i], &count) || count > most) count = most;
    }
    return count;
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
