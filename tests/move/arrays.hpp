// Arrays of any strides with memory around and between their elements, and the naive moves that tests compare with.
// Not here: random layouts; see layouts.hpp.
#pragma once

#include "layout/random.hpp"

#include <seqpar/tensor/array_ref.hpp>

#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace test {

using seqpar::ArrayRef;

inline std::vector<std::byte> random_bytes(Random& random, std::int64_t count) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random.between(0, 255));
    return bytes;
}

// An array that owns its memory, of which the elements are a part: what lies between and around them must stay as it is.
struct Array {
    std::vector<std::byte> memory;
    ArrayRef ref;

    std::byte* at(const List& index) {
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < index.size(); ++i)
            offset += index[i] * ref.strides[i];
        return static_cast<std::byte*>(ref.data) + offset * ref.element_bytes;
    }
};

// Strides of axes in any order of memory, with gaps and backwards where `any`; row-major and dense otherwise. Random bytes.
inline Array random_array(Random& random, const List& shape, int element_bytes, bool any = true, int alignment = 1) {
    Array a;
    a.ref.element_bytes = element_bytes;
    a.ref.axes = static_cast<int>(shape.size());
    std::vector<int> order(shape.size());  // innermost last
    std::iota(order.begin(), order.end(), 0);
    if (any && random.once_in(2)) {
        for (std::size_t i = order.size(); i > 1; --i) {
            std::swap(order[i - 1],
                      order[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
        }
    }
    std::int64_t stride = any && random.once_in(3) ? random.between(1, 3) : 1;
    std::int64_t first = 0;
    for (std::size_t i = order.size(); i-- > 0;) {
        const int axis = order[i];
        const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
        const bool backwards = any && random.once_in(5);
        a.ref.extents[axis] = extent;
        a.ref.strides[axis] = backwards ? -stride : stride;
        if (backwards && extent > 0) first += (extent - 1) * stride;
        stride *= extent > 0 ? extent : 1;
        if (any && random.once_in(4)) stride += random.between(1, 5);
    }
    const std::int64_t margin = random.between(1, 40) * alignment;  // bytes
    a.memory = random_bytes(random, stride * element_bytes + 2 * margin);
    a.ref.data = a.memory.data() + margin + first * element_bytes;
    return a;
}

// The same array with memory of its own.
inline Array copy_of(const Array& a) {
    Array b = a;
    b.ref.data = b.memory.data() + (static_cast<std::byte*>(a.ref.data) - a.memory.data());
    return b;
}

// Calls f(index) for every index of `shape`, in row-major order.
template <class F>
void for_each_index(const List& shape, F f) {
    for (std::int64_t extent : shape) {
        if (extent == 0) return;
    }
    List index(shape.size(), 0);
    for (;;) {
        f(index);
        std::size_t i = shape.size();
        while (i > 0 && ++index[i - 1] == shape[i - 1])
            index[--i] = 0;
        if (i == 0) return;
    }
}

inline List shape_of(const ArrayRef& a) { return {a.extents, a.extents + a.axes}; }

// shard() one element at a time, by position and source alone. `fill`: the bytes of a pad slot's element.
template <seqpar::Layout L>
void naive_shard(const L& layout, int rank, Array& whole, int axis, Array& shard, const std::byte* fill) {
    const std::size_t bytes = static_cast<std::size_t>(whole.ref.element_bytes);
    const std::size_t k = static_cast<std::size_t>(axis < 0 ? axis + whole.ref.axes : axis);
    for_each_index(shape_of(shard.ref), [&](const List& slot) {
        List source = slot;
        source[k] = layout.source(layout.position(rank, slot[k]));
        std::memcpy(shard.at(slot), source[k] < 0 ? fill : whole.at(source), bytes);
    });
}

// The other way round: what a shard holds, into the whole array; pad slots are skipped.
template <seqpar::Layout L>
void naive_unshard(const L& layout, int rank, Array& shard, int axis, Array& whole) {
    const std::size_t bytes = static_cast<std::size_t>(whole.ref.element_bytes);
    const std::size_t k = static_cast<std::size_t>(axis < 0 ? axis + whole.ref.axes : axis);
    for_each_index(shape_of(shard.ref), [&](const List& slot) {
        List source = slot;
        source[k] = layout.source(layout.position(rank, slot[k]));
        if (source[k] >= 0) std::memcpy(whole.at(source), shard.at(slot), bytes);
    });
}

inline std::string text_of(const List& list) {
    std::string line;
    for (std::int64_t value : list)
        line += std::to_string(value) + " ";
    return line;
}

// Whether all elements are the same bit for bit.
inline bool same_elements(Array& a, Array& b) {
    bool same = shape_of(a.ref) == shape_of(b.ref) && a.ref.element_bytes == b.ref.element_bytes;
    if (!same) return false;
    for_each_index(shape_of(a.ref), [&](const List& index) {
        same = same && std::memcmp(a.at(index), b.at(index), static_cast<std::size_t>(a.ref.element_bytes)) == 0;
    });
    return same;
}

}  // namespace test
