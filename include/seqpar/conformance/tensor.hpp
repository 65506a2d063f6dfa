// The laws that every tensor keeps, as functions: run them on a type of your own, in a test of any framework. Not here: any
// tensor, and checks of a caller's input (those give a Status).
//
//     MyTensor x(2, 6, 4);
//     const auto report = seqpar::conformance::check_owning_tensor(x);
//     if (!report.ok()) std::puts(seqpar::conformance::describe(report).c_str());
//
// Give a tensor with some elements along every axis, with the strides that the type can have. Elements are overwritten and put
// back. Synchronises: never. Allocates: copies of the elements. Memory that the host reads. Cost: linear in elements and axes.
#pragma once

#include <seqpar/conformance/report.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/move/unshard.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace seqpar::conformance {

namespace detail {

inline Report broken(Law law, const char* what, std::int64_t expected, std::int64_t got, int axis = -1, int ranks = -1,
                     std::int64_t element = -1) {
    return {law, what, -1, ranks, -1, -1, -1, expected, got, axis, element};
}

inline std::int64_t count_of(const ArrayRef& a) {
    std::int64_t count = 1;
    for (int i = 0; i < a.axes; ++i)
        count *= a.extents[i];
    return count;
}

// Where the element of a number in row-major order lies, and, of axis `axis`, its index there.
inline std::byte* element_at(const ArrayRef& a, std::int64_t number, int axis, std::int64_t& index) {
    std::int64_t offset = 0;
    for (int i = a.axes - 1; i >= 0; --i) {
        const std::int64_t at = number % a.extents[i];
        number /= a.extents[i];
        offset += at * a.strides[i];
        if (i == axis) index = at;
    }
    return static_cast<std::byte*>(a.data) + offset * a.element_bytes;
}
inline std::byte* element_at(const ArrayRef& a, std::int64_t number) {
    std::int64_t index = 0;
    return element_at(a, number, -1, index);
}

// All elements one after the other, and back.
inline std::vector<std::byte> read_elements(const ArrayRef& a) {
    const std::size_t size = static_cast<std::size_t>(a.element_bytes);
    std::vector<std::byte> bytes(static_cast<std::size_t>(count_of(a)) * size);
    for (std::int64_t i = 0; i < count_of(a); ++i)
        std::memcpy(bytes.data() + static_cast<std::size_t>(i) * size, element_at(a, i), size);
    return bytes;
}
inline void write_elements(const ArrayRef& a, const std::vector<std::byte>& bytes) {
    const std::size_t size = static_cast<std::size_t>(a.element_bytes);
    for (std::int64_t i = 0; i < count_of(a); ++i)
        std::memcpy(element_at(a, i), bytes.data() + static_cast<std::size_t>(i) * size, size);
}

// Bytes that differ from element to element as far as a byte can.
inline std::vector<std::byte> distinct_elements(const ArrayRef& a) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count_of(a) * a.element_bytes));
    std::uint64_t state = 1;
    for (std::byte& byte : bytes) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        byte = static_cast<std::byte>(state >> 56);
    }
    return bytes;
}

inline Report extents_are_lengths(const ArrayRef& a) {
    if (a.axes < 1) return broken(Law::extents_are_lengths, "axes of at least", 1, a.axes);
    if (a.axes > ArrayRef::max_axes)
        return broken(Law::extents_are_lengths, "axes of at most", ArrayRef::max_axes, a.axes);
    for (int i = 0; i < a.axes; ++i) {
        if (a.extents[i] < 0) return broken(Law::extents_are_lengths, "a length of at least", 0, a.extents[i], i);
    }
    return {};
}

inline Report elements_are_distinct(const ArrayRef& a) {
    std::vector<const std::byte*> addresses;
    for (std::int64_t i = 0; i < count_of(a); ++i)
        addresses.push_back(element_at(a, i));
    std::sort(addresses.begin(), addresses.end());
    for (std::size_t i = 1; i < addresses.size(); ++i) {
        const std::int64_t apart = addresses[i] - addresses[i - 1];
        if (apart < a.element_bytes) return broken(Law::elements_are_distinct, "bytes apart", a.element_bytes, apart);
    }
    return {};
}

inline Report same_array(Law law, const ArrayRef& a, const ArrayRef& b) {
    if (b.axes != a.axes) return broken(law, "axes", a.axes, b.axes);
    if (b.element_bytes != a.element_bytes) return broken(law, "bytes an element", a.element_bytes, b.element_bytes);
    for (int i = 0; i < a.axes; ++i) {
        if (b.extents[i] != a.extents[i]) return broken(law, "length", a.extents[i], b.extents[i], i);
        if (a.extents[i] > 1 && b.strides[i] != a.strides[i])
            return broken(law, "stride", a.strides[i], b.strides[i], i);
    }
    if (count_of(a) > 0 && b.data != a.data) return broken(law, "views of the same memory", 1, 0);
    return {};
}

// The array of a rank.
struct ShardOf {
    const ArrayRef* parts;
    const ArrayRef& operator()(int rank) const { return parts[rank]; }
};

// Every rank's shard along `axis` by `layout`, of `read`, and back into `write`, which is the same array.
template <Layout L>
Report moves_agree(const L& layout, const ArrayRef& read, const ArrayRef& write, int axis) {
    const std::vector<std::byte> before = read_elements(read);
    std::vector<std::vector<std::byte>> memory;
    std::vector<ArrayRef> parts;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        ArrayRef part = read;
        part.extents[axis] = layout.slots(rank);
        std::int64_t stride = 1;
        for (int i = part.axes - 1; i >= 0; --i) {
            part.strides[i] = stride;
            stride *= part.extents[i];
        }
        memory.emplace_back(static_cast<std::size_t>(stride * part.element_bytes) + 1);
        part.data = memory.back().data();
        part.read_only = false;
        shard(thrust::seq, layout, rank, read, RuntimeAxis{axis}, part);
        for (std::int64_t i = 0; i < count_of(part); ++i) {
            std::int64_t slot = 0;
            const std::byte* const got = element_at(part, i, axis, slot);
            const std::int64_t shift = (layout.position(rank, slot) - slot) * read.strides[axis] * read.element_bytes;
            // The element of the same other indices, at the position of this slot.
            ArrayRef as_part = read;
            as_part.extents[axis] = part.extents[axis];
            if (std::memcmp(element_at(as_part, i) + shift, got, static_cast<std::size_t>(read.element_bytes)) != 0) {
                return broken(Law::shard_agrees, "equal elements", 1, 0, axis, layout.ranks(), i);
            }
        }
        parts.push_back(part);
    }
    if (write.read_only) return {};
    write_elements(write, std::vector<std::byte>(before.size()));
    unshard(thrust::seq, layout, shards(ShardOf{parts.data()}), RuntimeAxis{axis}, write);
    const std::vector<std::byte> after = read_elements(read);
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (after[i] != before[i]) {
            return broken(Law::unshard_restores, "equal elements", 1, 0, axis, layout.ranks(),
                          static_cast<std::int64_t>(i) / read.element_bytes);
        }
    }
    return {};
}

inline Report moves_agree(const ArrayRef& read, const ArrayRef& write) {
    const std::vector<std::byte> before = read_elements(read);
    if (!write.read_only) write_elements(write, distinct_elements(write));
    Report report;
    for (int axis = 0; axis < read.axes && report.ok(); ++axis) {
        const std::int64_t length = read.extents[axis];
        for (int ranks = 1; ranks <= 4 && report.ok(); ++ranks) {
            report = moves_agree(UnevenContiguous{}(length, ranks), read, write, axis);
            if (report.ok() && length % ranks == 0) report = moves_agree(Striped{}(length, ranks), read, write, axis);
        }
    }
    if (!write.read_only) write_elements(write, before);
    return report;
}

template <MovableTensor T>
Report check_tensor(T& x) {
    const ArrayRef a = array_ref(x);
    Report report = extents_are_lengths(a);
    if (report.ok()) report = same_array(Law::view_is_stable, a, array_ref(x));
    if (report.ok()) report = same_array(Law::const_view_agrees, a, array_ref(std::as_const(x)));
    if (report.ok() && !a.read_only) report = elements_are_distinct(a);
    if (report.ok()) report = moves_agree(array_ref(std::as_const(x)), a);
    return report;
}

}  // namespace detail

// Every law of a tensor that is a view: copies of it are the same memory, and a const one may still write (as std::span).
// T: a strided tensor, or one that is known at run time (its trait gives an ArrayRef); const too.
template <class T>
    requires(MovableTensor<T> && MovableTensor<const T>)
[[nodiscard]] Report check_tensor_view(T& x) {
    return detail::check_tensor(x);
}

// Every law of a tensor that owns its elements: as above, and a const one is read-only.
template <class T>
    requires(MovableTensor<T> && MovableTensor<const T>)
[[nodiscard]] Report check_owning_tensor(T& x) {
    if (!array_ref(std::as_const(x)).read_only)
        return detail::broken(Law::const_view_is_read_only, "read-only views", 1, 0);
    return detail::check_tensor(x);
}

}  // namespace seqpar::conformance
