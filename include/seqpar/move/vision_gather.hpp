// VisionGather: puts the rows of vision banks into token vectors that may already be split, and its backward.
// Not here: building row arrays (index/rows.hpp), levels of decoder layers.
#pragma once

#include <seqpar/move/detail/gather.hpp>

namespace seqpar {

// In the place of a gradient that is not wanted (a frozen encoder, frozen embeddings).
struct NoGradient {};
inline constexpr NoGradient no_gradient{};

namespace detail {

// Two views.
template <class Rows, class Banks>
struct BankedRows {
    Rows rows;
    Banks banks;
};

}  // namespace detail

// The row array of several banks: the row of each token in its bank (-1 text), and the number of its bank. Of one bank, the row
// array is the tensor itself. Shape of both: the token vectors' without the last axis. int32; any tensor, sharded() too.
template <BorrowedTensor Rows, BorrowedTensor Banks>
[[nodiscard]] constexpr auto row_array(Rows&& rows, Banks&& banks) {
    return detail::BankedRows<view_of<Rows>, view_of<Banks>>{view(rows), view(banks)};
}

// Several banks [V_b, H] of one element type; the k-th is bank k. One bank is the tensor itself.
template <StridedTensor First, StridedTensor... Rest>
[[nodiscard]] auto banks(First&& first, Rest&&... rest) {
    static_assert((axes_of<First> == 2) && ((axes_of<Rest> == 2) && ...), "a bank is [V, H]");
    using V = element_of<First>;
    static_assert((std::same_as<V, element_of<Rest>> && ...), "the banks of one gather have one element type");
    constexpr bool read_only = (!WritableTensor<First> || ... || !WritableTensor<Rest>);
    using T = std::conditional_t<read_only, const V, V>;
    int number = 0;
    return detail::BankList<T, 1 + sizeof...(Rest)>{
        {detail::vector_array(first, number++), detail::vector_array(rest, number++)...}};
}

namespace detail {

template <class T, std::size_t N>
const BankList<T, N>& bank_list(const BankList<T, N>& list) {
    return list;
}
template <StridedTensor X>
auto bank_list(X& bank) {
    return banks(bank);
}

template <class R>
auto token_rows(const R& rows) {
    const auto v = view(rows);
    return TokenRows(RowReader(v), OneBank{});
}
template <class R, class B>
auto token_rows(const BankedRows<R, B>& array) {
    static_assert(axes_of<R> == axes_of<B>, "row numbers and bank numbers have the same axes");
    const auto r = view(array.rows);
    const auto b = view(array.banks);
    for (std::size_t i = 0; i < b.rank(); ++i) {
        const auto expected = static_cast<std::int64_t>(r.extent(i));
        const auto got = static_cast<std::int64_t>(b.extent(i));
        if (got != expected) throw_if_bad(make_status(Kind::extent, 1, 0, expected, got, static_cast<std::int64_t>(i)));
    }
    return TokenRows(RowReader(r), RowReader(b));
}

template <StridedTensor X>
VectorArray<const typename view_of<X>::value_type> read_vectors(X& x, int array) {
    const auto v = view(x);
    using V = view_of<X>;
    const cuda::std::mdspan<const typename V::value_type, typename V::extents_type, typename V::layout_type> constant(
        v.data_handle(), v.mapping());
    return vector_array(constant, array);
}

template <class T, std::size_t N>
BankList<const T, N> read_banks(const BankList<T, N>& list) {
    BankList<const T, N> result;
    for (std::size_t b = 0; b < N; ++b)
        result.bank[b] = list.bank[b];
    return result;
}

// A gradient's array, or an empty one in the place of one that is not wanted.
template <class, StridedTensor X>
auto gradient_vectors(X& d_embeddings) {
    return vector_array(d_embeddings, 1);
}
template <class G>
VectorArray<G> gradient_vectors(const NoGradient&) {
    return {};
}
template <class, class B>
auto gradient_banks(B& d_bank) {
    return bank_list(d_bank);
}
template <class G>
BankList<G, 1> gradient_banks(const NoGradient&) {
    return {};
}

template <class T, class B, std::size_t N>
Forward<T, B, N> forward_op(const VectorArray<const T>& embeddings, const BankList<const B, N>& banks,
                            const VectorArray<T>& out, bool in_place) {
    return {embeddings, banks, out, in_place};
}

template <class Mode, class G, class E, class B, std::size_t N>
Backward<G, E, B, N, Mode> backward_op(const VectorArray<const G>& d_out, const VectorArray<E>& d_embeddings,
                                       const BankList<B, N>& d_banks, bool in_place, bool want_embeddings,
                                       bool want_banks) {
    static_assert(!std::is_const_v<E> && !std::is_const_v<B>, "a gradient is read-only");
    return {d_out, d_embeddings, d_banks, in_place, want_embeddings, want_banks};
}

}  // namespace detail

// Fills token vectors that may already be split from banks of vision features. Stateless. `Checked`: whether row numbers are
// looked at before anything is written (on a host; one pass over the row array). Unchecked, a row number that is neither -1 nor
// a row of its bank is a precondition broken.
// Shapes: embeddings and out […, H], rows […] (int32; any tensor, a sharded() view too; row_array(rows, banks) for several
// banks), a bank [V, H] (banks(…) for several). The last axis of vectors is contiguous; all other strides are free.
// Synchronises: never. Launches: none on a host. Reads offsets on: exec's device (of a sharded row array's layout).
template <bool Checked>
struct BasicVisionGather {
    // out[i] = rows[i] == -1 ? embeddings[i] : bank[rows[i]], the bank's type converted to out's (exact, or one rounding).
    // In place where out is embeddings: then only vision vectors move. V = 0 is legal without a vision token.
    // Errors: shapes, memory shared otherwise than in place, a bank or row out of range (named by token in row-major order).
    // Allocates: never.
    template <class D, StridedTensor E, class R, class B, WritableTensor O>
    void operator()(const detail::ExecBase<D>& exec, E&& embeddings, const R& rows, B&& bank, O&& out) const {
        using Element = element_of<O>;
        static_assert(std::same_as<element_of<E>, Element>,
                      "embeddings and output have one element type; only the bank's may differ");
        static_assert(axes_of<E> == axes_of<O>, "embeddings and output have the same axes");
        const auto tokens = detail::token_rows(rows);
        static_assert(decltype(tokens.rows)::axes + 1 == axes_of<E>, "rows have the embeddings' axes without the last");
        const auto from = detail::read_vectors(embeddings, 0);
        const auto to = detail::vector_array(out, 1);
        const auto list = detail::read_banks(detail::bank_list(bank));
        throw_if_bad(detail::check_tokens(tokens, from, to.width, 0));
        throw_if_bad(detail::check_tokens(tokens, to, to.width, 1));
        throw_if_bad(detail::check_banks(list, to.width));
        bool in_place = false;
        throw_if_bad(detail::check_in_place(from, to, in_place, 1));
        throw_if_bad(detail::check_apart(list, to));
        if constexpr (Checked && detail::is_host_exec<D>)
            throw_if_bad(detail::check_rows_in_banks(tokens, list, false));
        // Unqualified here and below: a later header's overload is found through Dispatch.
        gather_rows(detail::Dispatch{}, thrust::detail::derived_cast(exec), tokens,
                    detail::forward_op(from, list, to, in_place),
                    to.width * static_cast<std::int64_t>(sizeof(Element)));
    }

    // The adjoint: d_embeddings[i] = rows[i] == -1 ? d_out[i] : 0 (may be d_out itself), and bank row rows[i] gets d_out[i], by
    // `mode` (Store or Add). Rows must be injective: plain stores, bit for bit, no order. no_gradient skips either gradient.
    // Types of the gradients are the caller's. Shapes and errors as the forward's, and a row used twice where checked.
    // Allocates: checked, one bit a bank row; unchecked, never.
    template <class D, StridedTensor G, class R, class E, class B, class Mode>
    void backward(const detail::ExecBase<D>& exec, G&& d_out, const R& rows, E&& d_embeddings, B&& d_bank, Mode) const {
        static_assert(std::same_as<Mode, Store> || std::same_as<Mode, Add>,
                      "backward writes the bank's gradient by Store or by Add");
        constexpr bool want_embeddings = !std::same_as<std::remove_cvref_t<E>, NoGradient>;
        constexpr bool want_banks = !std::same_as<std::remove_cvref_t<B>, NoGradient>;
        const auto tokens = detail::token_rows(rows);
        static_assert(decltype(tokens.rows)::axes + 1 == axes_of<G>, "rows have the gradient's axes without the last");
        const auto from = detail::read_vectors(d_out, 0);
        throw_if_bad(detail::check_tokens(tokens, from, from.width, 0));
        bool in_place = false;
        const auto to = detail::gradient_vectors<element_of<G>>(d_embeddings);
        const auto list = detail::gradient_banks<element_of<G>>(d_bank);
        if constexpr (want_embeddings) {
            static_assert(axes_of<E> == axes_of<G>, "both gradients have the same axes");
            throw_if_bad(detail::check_tokens(tokens, to, from.width, 1));
            throw_if_bad(detail::check_in_place(from, to, in_place, 1));
        }
        if constexpr (want_banks) {
            throw_if_bad(detail::check_banks(list, from.width));
            throw_if_bad(detail::check_apart(list, from));
            if constexpr (want_embeddings) throw_if_bad(detail::check_apart(list, to));
        }
        if constexpr (Checked && detail::is_host_exec<D>) {
            throw_if_bad(want_banks ? detail::check_rows_in_banks(tokens, list, true)
                                    : detail::check_rows_in_order(tokens, detail::AnyBankRows{}, false));
        }
        gather_rows(detail::Dispatch{}, thrust::detail::derived_cast(exec), tokens,
                    detail::backward_op<Mode>(from, to, list, in_place, want_embeddings, want_banks),
                    from.width * static_cast<std::int64_t>(sizeof(element_of<G>)));
    }
};

using VisionGather = BasicVisionGather<true>;
using UncheckedVisionGather = BasicVisionGather<false>;

}  // namespace seqpar
