// Padding: offsets whose documents, or whose total, are multiples of a number, or that are a fixed number of entries, and the
// multiples that trainers use.
// Not here: the least legal one (layout/multiples.hpp), and which slots are pads (layout/padded.hpp).
#pragma once

#include <seqpar/index/detail/index_array.hpp>
#include <seqpar/index/tail.hpp>
#include <seqpar/layout/multiples.hpp>

namespace seqpar {

// The multiple that trainers pad a document to: 2 cp tp, and tp on one rank. Legal for every layout over the documents
// whose policy needs 2 cp; see pad_multiple for the least one.
[[nodiscard]] constexpr std::int64_t customary_multiple(int cp, int tp = 1) {
    if (cp < 1 || tp < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, cp < tp ? cp : tp));
    return std::int64_t{cp == 1 ? 1 : 2} * cp * tp;
}

// What the matrix products of an 8-bit format see.
enum class MatrixInput : unsigned char {
    cp_shard,     // the shard of a CP rank (gathered over TP)
    tp_sp_shard,  // its part of one TP rank
};

// The same for 8-bit formats, whose scales cover `block` (16, 32 or 128) rows of what a matrix product sees: the least
// common multiple of customary_multiple and block * cp, or block * cp * tp (docs/design.md). Source:
// TransformerEngine's recipes.
[[nodiscard]] constexpr std::int64_t block_multiple(int cp, int tp, std::int64_t block, MatrixInput sees) {
    const std::int64_t customary = customary_multiple(cp, tp);
    if (block < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, block));
    const std::int64_t parts = std::int64_t{cp} * (sees == MatrixInput::cp_shard ? 1 : tp);
    return common_multiple(customary, detail::saturating_product(block, parts));
}

namespace detail {

// n rounded up to a multiple of m, added to `sum`; false where the result leaves 64 bits.
constexpr bool add_padded(std::int64_t n, std::int64_t m, std::int64_t& sum) {
    const std::int64_t rest = n % m;
    return !__builtin_add_overflow(sum, n, &sum) && (rest == 0 || !__builtin_add_overflow(sum, m - rest, &sum));
}

// The first entries are those of `from`, but those equal to `end` after the first become `grown`; what comes after is `last`.
template <OffsetInteger Int, class T>
struct ResizeWork {
    Offsets<Int> from;
    std::int64_t end;
    std::int64_t grown;
    std::int64_t last;
    std::int64_t total;  // entries
    Line<T> out;

    SEQPAR_HD constexpr void operator()(std::int64_t first, std::int64_t past) const {
        for (std::int64_t i = first; i < past; ++i) {
            const std::int64_t entry = i < from.count() ? from[i] : last;
            out[i] = static_cast<T>(i > 0 && i < from.count() && entry == end ? grown : entry);
        }
    }
};

template <OffsetInteger Int>
void require_paddable(Offsets<Int> cu_seqlens, std::int64_t multiple) {
    if (multiple < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, multiple));
    throw_if_bad(check(cu_seqlens, cu_seqlens.last()));
}
template <OffsetInteger Int, IndexArray Out>
void require_output(Offsets<Int> cu_seqlens, Out& out, std::int64_t count, std::int64_t greatest) {
    throw_if_bad(check_apart(out, cu_seqlens));
    throw_if_bad(check_index_array(out, count, greatest));
}

template <class D, OffsetInteger Int, IndexArray Out>
void resize(const ExecBase<D>& exec, Offsets<Int> from, std::int64_t grown, std::int64_t last, Out& out) {
    run_index_work(Dispatch{}, thrust::detail::derived_cast(exec),
                   ResizeWork<Int, element_of<Out>>{from, from.last(), grown, last, view(out).extent(0), line(out)});
}

}  // namespace detail

// Offsets of the same documents, each padded at its end to a multiple of `multiple`: up(n, m) = ceil(n / m) m (docs/design.md,
// the layouts by letter). Empty documents stay empty, so arrays of fixed capacity stay valid. Returns the padded total, also where
// it passes 32 bits. Shapes: cu_seqlens [documents + 1] of int32 or int64, out the same. Errors, before anything is
// written: illegal offsets, a multiple below 1, a sum that does not fit 64 bits or `out`'s type (`index` is the
// document), overlap. A sequential sum on the calling thread under every host exec. Synchronises: never. Allocates:
// never. Launches: none on a host. Reads offsets on: exec's device.
template <class D, OffsetArray R, IndexArray Out>
    requires detail::HostExec<D>
std::int64_t padded_offsets(const detail::ExecBase<D>&, R&& cu_seqlens, std::int64_t multiple, Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    detail::require_paddable(borrowed, multiple);
    detail::require_output(borrowed, out, borrowed.count(), 0);
    const auto to = detail::line(out);
    const std::int64_t most = (std::numeric_limits<element_of<Out>>::max)();
    std::int64_t sum = 0;
    for (std::int64_t d = 0; d < borrowed.documents(); ++d) {
        if (!detail::add_padded(borrowed[d + 1] - borrowed[d], multiple, sum))
            throw_if_bad(make_status(Kind::length, 0, d, 0, -1));
        if (sum > most) throw_if_bad(make_status(Kind::value_lost, 0, d, most, sum));
    }
    if constexpr (std::is_same_v<D, detail::CheckOnly>) return sum;
    std::int64_t next = 0;
    for (std::int64_t d = 0; d < borrowed.documents(); ++d) {
        to[d] = static_cast<element_of<Out>>(next);
        next += round_up(borrowed[d + 1] - borrowed[d], multiple);
    }
    to[borrowed.documents()] = static_cast<element_of<Out>>(sum);
    return sum;
}

// The documents stay as they are and the sequence grows at its end to `length`; `tail` says who owns the growth, see Tail. Last
// offsets that repeat (fixed capacity) move together, so that the growth goes to the last document that is not empty. Shapes: out
// [documents + 1], with Tail::own_document [documents + 2], also where the tail is empty. Errors and contract line: as above, and
// a sequence that is longer than `length`.
template <class D, OffsetArray R, IndexArray Out>
    requires detail::HostExec<D>
void extended_offsets(const detail::ExecBase<D>& exec, R&& cu_seqlens, std::int64_t length, Tail tail, Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    throw_if_bad(detail::check_with_tail(borrowed, length));
    const std::int64_t end = borrowed.last();
    detail::require_output(borrowed, out, borrowed.count() + (tail == Tail::own_document ? 1 : 0),
                           tail == Tail::nobody ? end : length);
    detail::resize(exec, borrowed, tail == Tail::last_document ? length : end, length, out);
}

// The same, where the length is the next multiple of `multiple`. Returns it, also where it passes 32 bits or is no offset
// (Tail::nobody).
template <class D, OffsetArray R, IndexArray Out>
    requires detail::HostExec<D>
std::int64_t padded_offsets(const detail::ExecBase<D>& exec, R&& cu_seqlens, std::int64_t multiple, Tail tail,
                            Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    detail::require_paddable(borrowed, multiple);
    std::int64_t length = 0;
    if (!detail::add_padded(borrowed.last(), multiple, length)) throw_if_bad(make_status(Kind::length, 0, 0, 0, -1));
    extended_offsets(exec, borrowed, length, tail, out);
    return length;
}

// The same documents as an array of as many offsets as `out` has, whatever the batch: the last one repeats (a CUDA graph
// that is captured once reads as many at every step). Errors, before anything is written: illegal offsets, more of them
// than `out` has room for, numbers that do not fit, overlap. Contract line: as above.
template <class D, OffsetArray R, IndexArray Out>
    requires detail::HostExec<D>
void fixed_offsets(const detail::ExecBase<D>& exec, R&& cu_seqlens, Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    const std::int64_t end = borrowed.last();
    const std::int64_t room = view(out).extent(0);
    throw_if_bad(check(borrowed, end));
    if (borrowed.count() > room) throw_if_bad(make_status(Kind::offsets_count, 0, 0, room, borrowed.count()));
    detail::require_output(borrowed, out, room, end);
    detail::resize(exec, borrowed, end, end, out);
}

// Whether padded offsets differ from real ones: decided by value, since trainers hand both over where they are equal.
// Reads both; legal offsets of unlike number differ.
template <OffsetArray R, OffsetArray Q>
[[nodiscard]] constexpr bool has_padding(R&& cu_seqlens, Q&& padded_cu_seqlens) {
    const auto real = offsets(cu_seqlens);
    const auto padded = offsets(padded_cu_seqlens);
    if (real.count() != padded.count()) return true;
    for (std::int64_t i = 0; i < real.count(); ++i) {
        if (real[i] != padded[i]) return true;
    }
    return false;
}

}  // namespace seqpar
