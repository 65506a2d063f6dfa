// field(): one array of a batch, with its sequence axis, where its shard goes, and, where they differ, its own layout and fill.
#pragma once

#include <seqpar/layout/concepts.hpp>
#include <seqpar/tensor/array_ref.hpp>
#include <seqpar/tensor/detail/fill.hpp>

#include <cstring>

namespace seqpar {

namespace detail {

// The bytes of the element that pad slots are filled with; size 0: none was given.
struct FillBytes {
    std::byte bytes[16] = {};
    int size = 0;
};

// The fill as an element of T, which it must convert to exactly.
template <class T, class F>
FillBytes fill_as(const F& fill, int array) {
    const T element = fill_element<T>(fill, array);
    FillBytes result;
    result.size = static_cast<int>(sizeof(T));
    std::memcpy(result.bytes, &element, sizeof(T));
    return result;
}

// Stands for a field's layout where the batch's is meant, and for a fill where there is none.
struct BatchLayout {};
struct NoFill {};

// The element type of a tensor, or void where it is known only at run time.
template <class T>
struct element_or_void {
    using type = void;
};
template <StridedTensor T>
struct element_or_void<T> {
    using type = element_of<T>;
};

// L: the field's own layout or BatchLayout. F: the type of the fill or void.
template <class In, class Out, class L, class F>
struct Field {
    static_assert(std::is_void_v<In> || std::is_void_v<Out> || std::is_same_v<In, Out>,
                  "a field's input and output must have the same element type: moves copy, they do not convert");
    using element = std::conditional_t<std::is_void_v<In>, Out, In>;

    ArrayRef in;
    ArrayRef out;
    int axis;
    L layout{};
    int rank = 0;
    std::conditional_t<std::is_void_v<F>, NoFill, F> fill_value{};

    // The same field with a layout and rank of its own, for an array that is split otherwise than the batch.
    template <Layout M>
    [[nodiscard]] Field<In, Out, M, F> with(const M& own_layout, int own_rank) const {
        return {in, out, axis, own_layout, own_rank, fill_value};
    }
    // The same field with the value that pad slots get: needed if and only if the layout is padded.
    template <class G>
    [[nodiscard]] Field<In, Out, L, G> fill(const G& value) const {
        return {in, out, axis, layout, rank, value};
    }
};

}  // namespace detail

// `in` split along its axis into `out`. Strided tensors of one element type, or run-time tensors; shapes alike but for the
// axis, which is source_size() in `in` and slots(rank) in `out`.
template <MovableTensor In, AnyAxis A, MovableTensor Out>
[[nodiscard]] auto field(In&& in, A axis, Out&& out) {
    static_assert(RuntimeTensor<In> || AxisOf<A, In> || std::same_as<A, RuntimeAxis>, "the input has no such axis");
    static_assert(RuntimeTensor<Out> || WritableTensor<Out>, "the output is read-only");
    using InElement = typename detail::element_or_void<std::remove_reference_t<In>>::type;
    using OutElement = typename detail::element_or_void<std::remove_reference_t<Out>>::type;
    return detail::Field<InElement, OutElement, detail::BatchLayout, void>{
        array_ref(in), array_ref(out), axis.value, {}, 0, {}};
}

}  // namespace seqpar
