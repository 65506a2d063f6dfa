// ArrayRef: a strided array whose element type and number of axes are known only at run time. Moves that only copy bytes
// compile once for it; every strided tensor converts to it. Not here: reading elements; see as().
#pragma once

#include <seqpar/layout/status.hpp>
#include <seqpar/tensor/traits.hpp>

#include <initializer_list>

namespace seqpar {

// Shape in elements, strides in elements (as DLPack and torch give them), elements of 1 to 16 bytes, up to 8 axes.
struct ArrayRef {
    static constexpr int max_axes = 8;

    void* data = nullptr;
    int element_bytes = 1;
    int axes = 0;
    bool read_only = false;
    std::int64_t extents[max_axes] = {};
    std::int64_t strides[max_axes] = {};
};

// A tensor known at run time: tensor_traits<T>::view gives an ArrayRef (DLPack, at::Tensor).
template <class T>
concept RuntimeTensor = std::same_as<std::remove_cv_t<std::remove_reference_t<T>>, ArrayRef> || requires {
    requires std::same_as<detail::raw_view_of<std::remove_reference_t<T>>, ArrayRef>;
};

// What moves copy from, and what they copy to.
template <class T>
concept MovableTensor = StridedTensor<T> || RuntimeTensor<T>;

// The ArrayRef of a strided or run-time tensor.
template <MovableTensor T>
[[nodiscard]] constexpr ArrayRef array_ref(T& x) {
    if constexpr (std::same_as<std::remove_cv_t<T>, ArrayRef>) {
        return x;
    } else if constexpr (RuntimeTensor<T>) {
        return detail::raw_view(x);
    } else {
        const auto v = view(x);
        using Element = typename view_of<T>::element_type;
        static_assert(std::is_trivially_copyable_v<std::remove_cv_t<Element>>,
                      "moves copy bytes: elements must be trivially copyable");
        static_assert(sizeof(Element) <= 16, "moves know elements of 1 to 16 bytes");
        static_assert(view_of<T>::rank() <= ArrayRef::max_axes, "moves know up to 8 axes");
        ArrayRef ref;
        ref.data = const_cast<std::remove_cv_t<Element>*>(v.data_handle());
        ref.element_bytes = sizeof(Element);
        ref.axes = static_cast<int>(view_of<T>::rank());
        ref.read_only = std::is_const_v<Element>;
        for (int i = 0; i < ref.axes; ++i) {
            ref.extents[i] = static_cast<std::int64_t>(v.extent(static_cast<std::size_t>(i)));
            ref.strides[i] = static_cast<std::int64_t>(v.stride(static_cast<std::size_t>(i)));
        }
        return ref;
    }
}

// The elements between the first and the last that a strided array touches, both counted: 1 + sum (extent-1)*|stride|, 0 if
// an extent is 0. -1 where that overflows.
[[nodiscard]] constexpr std::int64_t span_elements(const ArrayRef& a) {
    std::int64_t span = 1;
    for (int i = 0; i < a.axes; ++i) {
        if (a.extents[i] == 0) return 0;
    }
    for (int i = 0; i < a.axes; ++i) {
        std::int64_t reach = 0;
        if (__builtin_mul_overflow(a.extents[i] - 1, a.strides[i], &reach) || reach == INT64_MIN) return -1;
        if (__builtin_add_overflow(span, reach < 0 ? -reach : reach, &span)) return -1;
    }
    return span;
}

// A run-time tensor as an mdspan of N axes of T: the size of the element and the number of axes are checked once, here.
template <class T, std::size_t N, RuntimeTensor X>
[[nodiscard]] StridedView<T, N> as(X&& x) {
    const ArrayRef a = array_ref(x);
    if (a.axes != static_cast<int>(N))
        throw_if_bad(make_status(Kind::axes, 0, 0, static_cast<std::int64_t>(N), a.axes));
    if (a.element_bytes != static_cast<int>(sizeof(T))) {
        throw_if_bad(make_status(Kind::element, 0, 0, static_cast<std::int64_t>(sizeof(T)), a.element_bytes));
    }
    if (a.read_only && !std::is_const_v<T>) throw_if_bad(make_status(Kind::read_only, 0, 0, 0, 1));
    cuda::std::array<std::int64_t, N> extents{};
    cuda::std::array<std::int64_t, N> strides{};
    for (std::size_t i = 0; i < N; ++i) {
        extents[i] = a.extents[i];
        strides[i] = a.strides[i];
    }
    using View = StridedView<T, N>;
    return View(static_cast<T*>(a.data), typename View::mapping_type(typename View::extents_type(extents), strides));
}

}  // namespace seqpar
