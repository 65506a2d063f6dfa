// Labels: tokens shifted inside documents on the whole sequence, before it is split, with what trainers put where a
// document ends as an argument. Not here: the split; see move/shard.hpp.
#pragma once

#include <seqpar/index/detail/documents.hpp>
#include <seqpar/index/detail/samples.hpp>
#include <seqpar/tensor/detail/fill.hpp>

#include <cstring>

namespace seqpar {

// What an entry gets that would look past an end of its document, in the place of an ignore value.
enum class DocumentEnd : unsigned char {
    wrap,    // goes on at the other end of the document
    repeat,  // the token at that end once more
};

namespace detail {

// Tokens are numbered sample by sample. In: any view of [S] or [B, S], Out: a strided one.
// Edge: the ignore value, or a DocumentEnd.
template <class Documents, class In, class Out, class Edge>
struct ShiftWork {
    static constexpr const char* operation = "seqpar::shift_labels";
    using T = typename Out::value_type;

    Documents documents;
    In in;
    Out out;
    std::int64_t by;     // at most the length of the sequence either way
    std::int64_t exact;  // as it was given
    Edge edge;
    std::int64_t total;  // tokens

    SEQPAR_HD std::int64_t offset_count() const { return documents.count(); }
    SEQPAR_HD Status check_offset(std::int64_t i) const { return detail::check_offset(documents, length_of(in), i); }
    SEQPAR_HD void operator()(std::int64_t first, std::int64_t last) const {
        while (first < last) {
            const Piece piece = piece_at(first, last, length_of(in), last);
            write(piece.sample, piece.first, piece.first + piece.count);
            first += piece.count;
        }
    }

private:
    SEQPAR_HD void write(std::int64_t sample, std::int64_t first, std::int64_t last) const {
        const Line<T> to = sample_line(out, sample);
        DocumentCursor<Documents> cursor(documents, first, last);
        Stretch s;
        while (cursor.next(s)) {
            if (s.end > length_of(in)) s.end = length_of(in);  // only illegal offsets
            // t has a label where t + by lies in the document as well; |by| is at most the length of the sequence.
            const std::int64_t begin = clamp(s.begin - (by < 0 ? by : 0), s);
            const std::int64_t end = by > 0 ? clamp(s.end - by, s) : s.last;
            const std::int64_t mid = end < begin ? begin : end;
            past_end(to, sample, s.first, begin, s);
            copy(to, sample, begin, mid);
            past_end(to, sample, mid, s.last, s);
        }
    }
    // Entries [first, last) of a document, none of which has its label in it.
    SEQPAR_HD void past_end(const Line<T>& to, std::int64_t sample, std::int64_t first, std::int64_t last,
                            const Stretch& s) const {
        if constexpr (!std::same_as<Edge, DocumentEnd>) {
            write_value(to, first, last - first, edge);
        } else {
            const std::int64_t length = s.end - s.begin;
            for (std::int64_t i = first; i < last; ++i) {
                std::int64_t at = exact < 0 ? s.begin : s.end - 1;
                if (edge == DocumentEnd::wrap) {
                    at = (i - s.begin + exact % length) % length;
                    at += s.begin + (at < 0 ? length : 0);
                }
                to[i] = static_cast<T>(entry(in, sample, at));
            }
        }
    }
    SEQPAR_HD static std::int64_t clamp(std::int64_t value, const Stretch& s) {
        return value < s.first ? s.first : value > s.last ? s.last : value;
    }
    SEQPAR_HD void copy(const Line<T>& to, std::int64_t sample, std::int64_t first, std::int64_t last) const {
        if constexpr (StridedTensor<In> && std::is_same_v<typename In::value_type, T>) {
            const auto from = sample_line(in, sample);
            if (to.stride == 1 && from.stride == 1 && last - first > 1) {
                std::memcpy(to.data + first, from.data + first + by,
                            static_cast<std::size_t>(last - first) * sizeof(T));
                return;
            }
        }
        for (std::int64_t i = first; i < last; ++i)
            to[i] = static_cast<T>(entry(in, sample, i + by));
    }
};

// What stands past an end of a document: the ignore value as a T, or the DocumentEnd itself.
template <class T, class F>
constexpr auto edge_of(const F& ignore) {
    if constexpr (std::same_as<F, DocumentEnd>) {
        return ignore;
    } else {
        return fill_element<T>(ignore, 1);
    }
}

template <class D, class Documents, class X, class F, class Y>
void shift(const ExecBase<D>& exec, const Documents& documents, X& x, std::int64_t by, const F& ignore, Y& y) {
    const auto in = view(x);
    const auto out = view(y);
    throw_if_bad(check_view<D>(in));
    throw_if_bad(check_same_shape(in, out, 1));
    throw_if_bad(check_overlap(out, 1, in));
    const auto edge = edge_of<element_of<Y>>(ignore);
    const std::int64_t length = length_of(in);
    const std::int64_t bounded = by > length ? length : by < -length ? -length : by;
    run_index_work(Dispatch{}, thrust::detail::derived_cast(exec),
                   ShiftWork<Documents, view_of<X>, view_of<Y>, std::remove_const_t<decltype(edge)>>{
                       documents, in, out, bounded, by, edge, samples_of(in) * length});
}

// Labels are not converted, but that an integer type may be widened.
template <class From, class To>
concept KeepsLabels = std::same_as<From, To> || requires {
    requires std::signed_integral<From>;
    requires std::signed_integral<To>;
    requires(sizeof(From) <= sizeof(To));
};

}  // namespace detail

// Tokens or labels that can be shifted into `Out`: [S] or [B, S] of one number type, or of a narrower integer type.
template <class In, class Out>
concept ShiftableTo = Tensor<In> && WritableTensor<Out> && requires {
    requires(axes_of<In> == axes_of<Out>);
    requires(axes_of<In> == 1 || axes_of<In> == 2);
    requires detail::is_number<element_of<Out>>;
    requires detail::KeepsLabels<element_of<In>, element_of<Out>>;
};

// out[…, t] = in[…, t + by] where t and t + by lie in one document, else `ignore`. by = 1 gives the label of next-token
// prediction, a negative one looks back, 0 copies. Labels that are in `in` already (-100 where nothing is trained) pass
// through. Do it on the whole sequence and shard the result: shifting a shard takes neighbours of slots, not of
// positions. Over the unpadded sequence with its real offsets no label crosses into a pad; shard with `ignore` as the
// fill. Shapes: in and out [S] or [B, S]; cu_seqlens [documents + 1] for every sample alike, its last entry is S.
// `ignore` has no default; trainers that have no such value give a DocumentEnd in its place (and those that shift across
// documents give no offsets). Errors, before anything is written: illegal offsets, another shape of `out`, an `ignore`
// that does not convert exactly, overlap (not in place). Status::array: 0 is `in` and the offsets, 1 `out`.
// Synchronises: never. Allocates: never. Launches: on CUDA 1, none for empty work. Reads offsets on: exec's device.
template <class D, class In, BorrowedOffsets R, class F, class Out>
    requires ShiftableTo<In, Out>
void shift_labels(const detail::ExecBase<D>& exec, In&& in, R&& cu_seqlens, std::int64_t by, const F& ignore,
                  Out&& out) {
    const auto documents = offsets(std::forward<R>(cu_seqlens));
    throw_if_bad(detail::check_for<D>(documents, detail::length_of(view(in))));
    throw_if_bad(detail::check_apart(out, documents, 1));
    detail::shift(exec, documents, in, by, ignore, out);
}

// The same where each sample is one document.
template <class D, class In, class F, class Out>
    requires ShiftableTo<In, Out>
void shift_labels(const detail::ExecBase<D>& exec, In&& in, std::int64_t by, const F& ignore, Out&& out) {
    detail::shift(exec, detail::OneDocument{detail::length_of(view(in))}, in, by, ignore, out);
}

// How many of `labels`, [S] or [B, S], are trained on: those that are not `ignore`. Counts of disjoint shards add up to
// that of the whole, so a loss is the sum of all ranks' losses over the sum of all ranks' counts, once: a rank may count 0,
// and no count but the last sum is kept above 0. Reads the labels; host only.
template <Tensor X>
    requires(axes_of<X> == 1 || axes_of<X> == 2)
[[nodiscard]] std::int64_t count_targets(X&& labels, const element_of<X>& ignore) {
    const auto from = view(labels);
    throw_if_bad(detail::check_view(from));
    std::int64_t count = 0;
    for (std::int64_t sample = 0; sample < detail::samples_of(from); ++sample) {
        for (std::int64_t i = 0; i < detail::length_of(from); ++i)
            count += detail::entry(from, sample, i) == ignore ? 0 : 1;
    }
    return count;
}

}  // namespace seqpar
