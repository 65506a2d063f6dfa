// What a tensor is: the one trait that a foreign type specialises, the views that follow, and the concepts.
// Not here: the lazy shard of a tensor (sharded.hpp), tensors without a static type (array_ref.hpp).
#pragma once

#include <seqpar/tensor/axis.hpp>

#include <cuda/std/array>
#include <cuda/std/mdspan>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace seqpar {

// To make a type T a tensor, specialise tensor_traits<T> with a static function view(T&), and view(const T&) whose elements
// are const, that returns a cuda::std::mdspan. A view type (one that owns nothing) needs only view(const T&).
// mdspan, spans and contiguous containers are tensors already. Nothing else of the library is ever specialised.
template <class T>
struct tensor_traits {};

// An array of 64-bit extents in row-major order: [e0, e1, …] at `data`.
template <class T, std::size_t N>
using DenseView = cuda::std::mdspan<T, cuda::std::dextents<std::int64_t, N>, cuda::std::layout_right>;

// The same with any strides, in elements.
template <class T, std::size_t N>
using StridedView = cuda::std::mdspan<T, cuda::std::dextents<std::int64_t, N>, cuda::std::layout_stride>;

// A raw pointer with extents is a tensor: tensor(data, B, S, H).
template <class T, std::integral... Extents>
    requires(sizeof...(Extents) >= 1)
[[nodiscard]] SEQPAR_HD constexpr DenseView<T, sizeof...(Extents)> tensor(T* data, Extents... extents) {
    return DenseView<T, sizeof...(Extents)>(data, static_cast<std::int64_t>(extents)...);
}

// The same with strides in elements: tensor(data, {e0, e1}, {s0, s1}).
template <class T, std::size_t N>
[[nodiscard]] SEQPAR_HD constexpr StridedView<T, N> tensor(T* data, const std::int64_t (&extents)[N],
                                                           const std::int64_t (&strides)[N]) {
    cuda::std::array<std::int64_t, N> e{};
    cuda::std::array<std::int64_t, N> s{};
    for (std::size_t i = 0; i < N; ++i) {
        e[i] = extents[i];
        s[i] = strides[i];
    }
    using View = StridedView<T, N>;
    return View(data, typename View::mapping_type(typename View::extents_type(e), s));
}

namespace detail {

template <class T>
inline constexpr bool is_mdspan = false;
template <class T, class E, class L, class A>
inline constexpr bool is_mdspan<cuda::std::mdspan<T, E, L, A>> = true;

template <class T>
concept HasTraits = requires(T& x) {
    tensor_traits<std::remove_cv_t<T>>::view(x);
};

// Not a type with traits of its own: a const one without view(const T&) is no tensor rather than one of another shape.
template <class T>
concept ContiguousRange = !is_mdspan<std::remove_cv_t<T>> && !HasTraits<std::remove_cv_t<T>> && requires(T & x) {
    { *x.data() } -> std::same_as<std::remove_pointer_t<decltype(x.data())>&>;
    { x.size() } -> std::convertible_to<std::size_t>;
};

// T[n]; an array of arrays is no tensor.
template <class T>
concept FlatArray = std::is_bounded_array_v<T> && std::rank_v<T>
== 1;

template <class E>
struct widened_extents;
template <class Int, std::size_t... E>
struct widened_extents<cuda::std::extents<Int, E...>> {
    using type = cuda::std::extents<std::int64_t, E...>;
};

// The same mdspan with 64-bit extents and strides, so that no product of them is taken in a narrower type.
template <class T, class E, class L, class A>
SEQPAR_HD constexpr auto widen(const cuda::std::mdspan<T, E, L, A>& m) {
    using Wide = typename widened_extents<E>::type;
    if constexpr (sizeof(typename E::index_type) >= 8) {
        return m;
    } else if constexpr (std::is_same_v<L, cuda::std::layout_right> || std::is_same_v<L, cuda::std::layout_left>) {
        return cuda::std::mdspan<T, Wide, L, A>(m.data_handle(), typename L::template mapping<Wide>(Wide(m.extents())),
                                                m.accessor());
    } else {
        static_assert(L::template mapping<E>::is_always_strided(),
                      "a tensor whose layout is its own needs a 64-bit index type");
        cuda::std::array<std::int64_t, E::rank()> strides{};
        for (std::size_t i = 0; i < E::rank(); ++i)
            strides[i] = static_cast<std::int64_t>(m.stride(i));
        using Mapping = cuda::std::layout_stride::mapping<Wide>;
        return cuda::std::mdspan<T, Wide, cuda::std::layout_stride, A>(
            m.data_handle(), Mapping(Wide(m.extents()), strides), m.accessor());
    }
}

template <class T>
    requires(is_mdspan<std::remove_cv_t<T>> || HasTraits<T> || ContiguousRange<T> || FlatArray<T>)
constexpr auto raw_view(T& x) {
    if constexpr (is_mdspan<std::remove_cv_t<T>>) {
        return x;
    } else if constexpr (HasTraits<T>) {
        return tensor_traits<std::remove_cv_t<T>>::view(x);
    } else if constexpr (FlatArray<T>) {
        return seqpar::tensor(&x[0], std::extent_v<T>);
    } else {
        return seqpar::tensor(x.data(), static_cast<std::int64_t>(x.size()));
    }
}

template <class T>
using raw_view_of = decltype(raw_view(std::declval<T&>()));

}  // namespace detail

// Whether T has a view. T may be const: then a container's view is read-only.
template <class T>
concept Tensor = requires {
    requires detail::is_mdspan<detail::raw_view_of<std::remove_reference_t<T>>>;
};

// The canonical view of a tensor: a cuda::std::mdspan with a 64-bit index type, any layout, any accessor.
template <class T>
    requires Tensor<T>
[[nodiscard]] constexpr auto view(T& x) { return detail::widen(detail::raw_view(x)); }
template <class T>
using view_of = decltype(seqpar::view(std::declval<std::remove_reference_t<T>&>()));

template <class T>
using element_of = typename view_of<T>::value_type;

namespace detail {

// Whether a const T gives out const elements, or none: then the elements live and die with it.
template <class T>
inline constexpr bool owns_elements = true;
template <class T>
    requires(Tensor<T>&& Tensor<const T>)
inline constexpr bool owns_elements<T> =
    !std::same_as<typename view_of<T>::element_type, typename view_of<const T>::element_type>;

}  // namespace detail

// A tensor whose view may outlive the expression: an lvalue, or a view itself. Deduced from T&&.
template <class T>
concept BorrowedTensor = Tensor<T> &&(std::is_lvalue_reference_v<T> || !detail::owns_elements<std::remove_cvref_t<T>>);

// Whether the view is a pointer with strides: what moves write to and read fast from.
template <class T>
concept StridedTensor = Tensor<T> &&
                        view_of<T>::is_always_strided() && std::same_as < typename view_of<T>::data_handle_type,
typename view_of<T>::element_type* > &&std::same_as<typename view_of<T>::reference, typename view_of<T>::element_type&>;

// A strided tensor whose elements may be written.
template <class T>
concept WritableTensor = StridedTensor<T> && !std::is_const_v<typename view_of<T>::element_type>;

// The number of axes of a tensor.
template <class T>
    requires Tensor<T>
inline constexpr int axes_of = static_cast<int>(view_of<T>::rank());

// An axis that the tensor has.
template <class A, class T>
concept AxisOf = Tensor<T> && is_fixed_axis<A> &&(axis_index(A::value, axes_of<T>) >= 0);

}  // namespace seqpar
