// Arrays of tokens, [S] or [B, S], read sample by sample whatever their strides. Not here: what is done with the
// tokens.
#pragma once

#include <seqpar/index/detail/index_array.hpp>

namespace seqpar::detail {

// The samples of a view, the tokens of each, and one token.
template <class V>
SEQPAR_HD constexpr std::int64_t samples_of(const V& v) {
    if constexpr (V::rank() == 1) {
        return 1;
    } else {
        return v.extent(0);
    }
}
template <class V>
SEQPAR_HD constexpr std::int64_t length_of(const V& v) {
    return v.extent(V::rank() - 1);
}
template <class V>
SEQPAR_HD constexpr decltype(auto) entry(const V& v, std::int64_t sample, std::int64_t i) {
    if constexpr (V::rank() == 1) {
        return v(i);
    } else {
        return v(sample, i);
    }
}
// Tokens [first, first + count) of one sample.
struct Piece {
    std::int64_t sample = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
};

// The piece that tokens [first, last), numbered sample by sample, begin with: up to `most` of one sample.
SEQPAR_HD constexpr Piece piece_at(std::int64_t first, std::int64_t last, std::int64_t length, std::int64_t most) {
    const std::int64_t sample = first / length;
    Piece piece{sample, first - sample * length, last - first};
    if (piece.count > length - piece.first) piece.count = length - piece.first;
    if (piece.count > most) piece.count = most;
    return piece;
}

// The tokens of one sample of a strided view.
template <class V>
SEQPAR_HD constexpr Line<typename V::element_type> sample_line(const V& v, std::int64_t sample) {
    const auto stride = static_cast<std::int64_t>(v.stride(V::rank() - 1));
    if constexpr (V::rank() == 1) {
        return {v.data_handle(), stride};
    } else {
        return {v.data_handle() + sample * static_cast<std::int64_t>(v.stride(0)), stride};
    }
}

// Whether two arrays have the extents of `v`; `array` is what the Status names.
template <class V, class X>
Status check_same_shape(const V& v, const X& x, int array) {
    for (std::size_t i = 0; i < v.rank(); ++i) {
        if (v.extent(i) != x.extent(i)) {
            return make_status(Kind::extent, array, 0, v.extent(i), x.extent(i), static_cast<std::int64_t>(i));
        }
    }
    return {};
}

// Whether two arrays share memory; arrays that cannot be asked, and no arrays, do not.
template <class A, class B>
bool known_to_share(const A& a, const B& b) {
    if constexpr (StridedTensor<const A> && StridedTensor<const B>) {
        return shares_memory(array_ref(a), array_ref(b));
    } else {
        return false;
    }
}

// Whether output `out` can be written beside `others`: no entry of it twice, no memory of theirs.
template <class Out, class... Others>
Status check_overlap(const Out& out, int array, const Others&... others) {
    if constexpr (StridedTensor<const Out>) {
        if (repeats_memory(array_ref(out)) || (known_to_share(out, others) || ...))
            return make_status(Kind::overlap, array, 0, 0, 1);
    }
    return {};
}

// Whether the first `Outs` of some arrays, outputs, can be written beside all that follow each. The first is array `array`.
template <int Outs, class Out, class... Others>
Status check_outputs(int array, const Out& out, const Others&... others) {
    Status status = check_overlap(out, array, others...);
    if constexpr (Outs > 1) {
        if (status.ok()) status = check_outputs<Outs - 1>(array + 1, others...);
    }
    return status;
}

}  // namespace seqpar::detail
