// VisionGather: puts the rows of vision banks into token vectors that may already be split, and its backward.
// Not here: building row arrays (index/rows.hpp), levels of decoder layers (levels.hpp).
#pragma once

#include <seqpar/move/detail/gather.hpp>
#include <seqpar/scratch.hpp>

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

// In the place of a bank that a level does not have (audio).
struct NoLevel {};
inline constexpr NoLevel no_level{};

namespace detail {

template <class X>
inline constexpr bool is_no_level = std::same_as<std::remove_cvref_t<X>, NoLevel>;
template <class X>
concept Bank = is_no_level<X> || StridedTensor<X>;

template <class X>
struct bank_traits {
    using element = element_of<X>;
    static constexpr int axes = axes_of<X>;
    static constexpr bool read_only = !WritableTensor<X>;
};
template <class X>
    requires is_no_level<X>
struct bank_traits<X> {
    using element = void;
    static constexpr int axes = 2;
    static constexpr bool read_only = false;
};

// The first type that is not void.
template <class X, class... Rest>
struct first_type {
    using type = X;
};
template <class... Rest>
struct first_type<void, Rest...> : first_type<Rest...> {};
template <class... X>
using first_of = typename first_type<X...>::type;

template <class T, class X>
VectorArray<T> bank_vectors(X& bank, int number) {
    if constexpr (is_no_level<X>) {
        return {};
    } else {
        return vector_array(bank, number);
    }
}

}  // namespace detail

// Several banks [V_b, H] of one element type; the k-th is bank k. One bank is the tensor itself. In a level, no_level stands for
// a bank that has none.
template <detail::Bank... Banks>
    requires(sizeof...(Banks) >= 1)
[[nodiscard]] auto banks(Banks&&... list) {
    static_assert(((detail::bank_traits<Banks>::axes == 2) && ...), "a bank is [V, H]");
    using V = detail::first_of<typename detail::bank_traits<Banks>::element...>;
    static_assert(((detail::is_no_level<Banks> || std::same_as<typename detail::bank_traits<Banks>::element, V>)&&...),
                  "the banks of one gather have one element type");
    using T = std::conditional_t<(detail::bank_traits<Banks>::read_only || ...), const V, V>;
    int number = 0;
    return detail::BankList<T, sizeof...(Banks)>{{detail::bank_vectors<T>(list, number++)...}};
}

namespace detail {

template <class T, std::size_t N, std::size_t L>
const LevelList<T, N, L>& level_list(const LevelList<T, N, L>& list) {
    return list;
}
template <class T, std::size_t N>
LevelList<T, N, 1> level_list(const BankList<T, N>& list) {
    return {{list}};
}
template <StridedTensor X>
auto level_list(X& bank) {
    return level_list(banks(bank));
}

template <class R>
auto row_view(const R& rows) {
    return view(rows);
}
template <class R, class B>
auto row_view(const BankedRows<R, B>& array) {
    return array.rows;
}
// What is read as tokens, once it is known that it can be.
template <class D = CheckOnly, class R>
auto token_rows(const R& rows) {
    const auto v = view(rows);
    throw_if_bad(check_view<D>(v));
    return TokenRows(RowReader(v), OneBank{});
}
template <class D = CheckOnly, class R, class B>
auto token_rows(const BankedRows<R, B>& array) {
    static_assert(axes_of<R> == axes_of<B>, "row numbers and bank numbers have the same axes");
    const auto r = view(array.rows);
    const auto b = view(array.banks);
    throw_if_bad(check_view<D>(r));
    throw_if_bad(check_view<D>(b));
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

template <class X>
using level_list_of = std::remove_cvref_t<decltype(level_list(std::declval<X&>()))>;

template <class To, class From, std::size_t N, std::size_t L>
void put_levels(BankList<To, N>* to, const LevelList<From, N, L>& from) {
    for (std::size_t l = 0; l < L; ++l) {
        for (std::size_t b = 0; b < N; ++b)
            to[l].bank[b] = from.level[l].bank[b];
    }
}
template <class T, std::size_t N, std::size_t L>
LevelList<const T, N, L> read_levels(const LevelList<T, N, L>& list) {
    LevelList<const T, N, L> result;
    put_levels(result.level, list);
    return result;
}
template <class T, std::size_t N, std::size_t L>
const LevelList<const T, N, L>& read_levels(const LevelList<const T, N, L>& list) {
    return list;
}

// Whether convert<To> of a From is exact or rounds to nearest, and does not cut off.
template <class To, class From>
inline constexpr bool rounds_to =
    !std::is_integral_v<To> ||
    (std::is_integral_v<From> && std::is_signed_v<To> == std::is_signed_v<From> && sizeof(To) >= sizeof(From)) ||
    (std::is_integral_v<From> && std::is_unsigned_v<From> && sizeof(To) > sizeof(From));

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
auto gradient_levels(B& d_bank) {
    return level_list(d_bank);
}
template <class G>
LevelList<G, 1, 1> gradient_levels(const NoGradient&) {
    return {};
}

template <class T, class B, std::size_t N>
Forward<T, B, N> forward_op(const VectorArray<const T>& embeddings, const BankList<const B, N>& banks,
                            const VectorArray<T>& out, bool in_place) {
    return {embeddings, banks, out, in_place};
}

// The backward of gathers and of levels: checks `list`, the gradients of bank rows, unless there are none, and runs. Shapes of
// the embeddings' gradient are the caller's to check.
template <bool Checked, bool WantBanks, class D, class Tokens, class G, class E, class B, std::size_t N, std::size_t L,
          class Mode>
void run_backward(const D& exec, const Tokens& tokens, const VectorArray<const G>& d_out,
                  const VectorArray<E>& d_embeddings, const LevelList<B, N, L>& list, bool in_place, Mode mode) {
    static_assert(is_mode<Mode>, "backward writes the bank's gradient by Store or by Add, or by Summed of one of them");
    static_assert(!std::is_const_v<E> && !std::is_const_v<B>, "a gradient is read-only");
    static_assert(rounds_to<B, G> && rounds_to<E, G>, "a gradient's type would cut off what d_out holds");
    const bool want_embeddings = d_embeddings.axes > 0;
    if constexpr (WantBanks) {
        throw_if_bad(check_levels(list, d_out));
        if (want_embeddings) {
            for (const auto& level : list.level)
                throw_if_bad(check_apart(level, d_embeddings));
        }
    }
    if constexpr (Checked && is_host_exec<D>) {
        throw_if_bad(WantBanks ? check_rows_in_banks(tokens, list.level[0], !is_summed<Mode>)
                               : check_rows_in_banks(tokens, AnyBanks{}, false));
    }
    const std::int64_t vector_bytes = d_out.width * static_cast<std::int64_t>(sizeof(G));
    // Unqualified, as in the forward.
    if constexpr (WantBanks && is_summed<Mode>) {
        sum_rows(Dispatch{}, exec, tokens, d_out, list, mode, !want_embeddings);
        if (want_embeddings)
            gather_rows(Dispatch{}, exec, tokens,
                        Backward<G, E, B, N, L, Store>{d_out, d_embeddings, list, in_place, true, false}, vector_bytes);
    } else {
        using Plain = std::conditional_t<is_summed<Mode>, Store, Mode>;
        gather_rows(Dispatch{}, exec, tokens,
                    Backward<G, E, B, N, L, Plain>{d_out, d_embeddings, list, in_place, want_embeddings, WantBanks},
                    vector_bytes);
    }
}

}  // namespace detail

// The most scratch that a backward with Summed takes from a CUDA exec's allocator, for `tokens` tokens and `rows` bank rows.
[[nodiscard]] constexpr std::int64_t summed_scratch_bytes(std::int64_t tokens, std::int64_t rows) {
    return (4 * tokens + rows + 1) * 8 + 2 * ScratchSpan::unit + detail::sort_scratch_bytes(tokens);
}

// Fills token vectors that may already be split from banks of vision features. Stateless. `Checked`: whether row numbers are
// looked at before anything is written (on a host; one pass over the row array). Unchecked, a row number that is neither -1 nor
// a row of its bank is a precondition broken. On CUDA each is looked at as it is used, and leads nowhere outside the arrays: such a
// token is passed over as text, and reporting() tells of it.
// Shapes: embeddings and out […, H], rows […] (int32; any tensor, a sharded() view too; row_array(rows, banks) for several
// banks), a bank [V, H] (banks(…) for several). The last axis of vectors is contiguous; all other strides are free.
// Synchronises: never (thrust::cuda::par: once, as Thrust does). Launches: on CUDA 1, none without tokens (Summed: below). Reads
// offsets on: exec's device (of a sharded row array's layout).
template <bool Checked>
struct BasicVisionGather {
    // out[i] = rows[i] == -1 ? embeddings[i] : bank[rows[i]], the bank's type converted to out's (exact, or rounded once to
    // nearest even).
    // In place where out is embeddings: then only vision vectors move. V = 0 is legal without a vision token.
    // Errors: an illegal layout of a sharded row array (checked or not), shapes, memory shared otherwise than in place, a bank or
    // row out of range (named by token in row-major order).
    // Allocates: never.
    template <class D, StridedTensor E, class R, class B, WritableTensor O>
    void operator()(const detail::ExecBase<D>& exec, E&& embeddings, const R& rows, B&& bank, O&& out) const {
        using Element = element_of<O>;
        static_assert(std::same_as<element_of<E>, Element>,
                      "embeddings and output have one element type; only the bank's may differ");
        static_assert(axes_of<E> == axes_of<O>, "embeddings and output have the same axes");
        const auto tokens = detail::token_rows<D>(rows);
        static_assert(decltype(tokens.rows)::axes + 1 == axes_of<E>, "rows have the embeddings' axes without the last");
        const auto from = detail::read_vectors(embeddings, 0);
        const auto to = detail::vector_array(out, 1);
        const auto banks = detail::read_levels(detail::level_list(bank)).level[0];
        static_assert(detail::rounds_to<Element, typename std::remove_const_t<decltype(banks)>::element>,
                      "a bank's type would be cut off in the embeddings'");
        throw_if_bad(detail::check_tokens(tokens, from, to.width, 0));
        throw_if_bad(detail::check_tokens(tokens, to, to.width, 1));
        throw_if_bad(detail::check_banks(banks, to.width));
        bool in_place = false;
        throw_if_bad(detail::check_in_place(from, to, in_place, 1));
        throw_if_bad(detail::check_apart(banks, to));
        if constexpr (Checked && detail::is_host_exec<D>)
            throw_if_bad(detail::check_rows_in_banks(tokens, banks, false));
        // Unqualified here and below: a later header's overload is found through Dispatch.
        gather_rows(detail::Dispatch{}, thrust::detail::derived_cast(exec), tokens,
                    detail::forward_op(from, banks, to, in_place),
                    to.width * static_cast<std::int64_t>(sizeof(Element)));
    }

    // The adjoint: d_embeddings[i] = rows[i] == -1 ? d_out[i] : 0 (may be d_out itself), and bank row rows[i] gets d_out[i], by
    // `mode`. Store and Add: rows must be injective; plain stores, bit for bit, no order. Summed<Store> and Summed<Add>: any rows;
    // the sum of a row's gradients in slot order (row-major), the same whatever the number of threads. no_gradient skips either
    // gradient, no_level in banks(…) that of one bank. Types of the gradients are the caller's. Shapes and errors as the forward's,
    // and on a host a row used twice, where checked and not Summed (for a device: check_rows once, of the whole stream). Allocates:
    // on a host, checked, one bit a bank row; Summed, 8 bytes a bank row and 8 a vision token; on CUDA Summed takes
    // summed_scratch_bytes(…) from exec's allocator, in the launches of one radix sort and three more (four where d_embeddings is written); else never.
    template <class D, StridedTensor G, class R, class E, class B, class Mode>
    void backward(const detail::ExecBase<D>& exec, G&& d_out, const R& rows, E&& d_embeddings, B&& d_bank,
                  Mode mode) const {
        constexpr bool want_embeddings = !std::same_as<std::remove_cvref_t<E>, NoGradient>;
        constexpr bool want_banks = !std::same_as<std::remove_cvref_t<B>, NoGradient>;
        const auto tokens = detail::token_rows<D>(rows);
        static_assert(decltype(tokens.rows)::axes + 1 == axes_of<G>, "rows have the gradient's axes without the last");
        const auto from = detail::read_vectors(d_out, 0);
        throw_if_bad(detail::check_tokens(tokens, from, from.width, 0));
        bool in_place = false;
        const auto to = detail::gradient_vectors<element_of<G>>(d_embeddings);
        if constexpr (want_embeddings) {
            static_assert(axes_of<E> == axes_of<G>, "both gradients have the same axes");
            throw_if_bad(detail::check_tokens(tokens, to, from.width, 1));
            throw_if_bad(detail::check_in_place(from, to, in_place, 1));
        }
        detail::run_backward<Checked, want_banks>(thrust::detail::derived_cast(exec), tokens, from, to,
                                                  detail::gradient_levels<element_of<G>>(d_bank), in_place, mode);
    }
};

using VisionGather = BasicVisionGather<true>;
using UncheckedVisionGather = BasicVisionGather<false>;

}  // namespace seqpar
