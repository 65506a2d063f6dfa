// Padding: offsets whose documents, or whose total, are multiples of a number, or that are a fixed number of entries, and the
// multiples that trainers use.
// Not here: the least legal one (layout/multiples.hpp), and which slots are pads (layout/padded.hpp).
#pragma once

#include <seqpar/index/detail/index_array.hpp>
#include <seqpar/index/tail.hpp>
#include <seqpar/layout/multiples.hpp>
#include <seqpar/scratch.hpp>

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

// The sequence becomes as long as `length`, or up(its own length, multiple). Of `from` those entries that equal its last, but for
// the first of all, become that length where the last document `grows`; what comes after them is that length.
template <OffsetInteger Int, class T>
struct ResizeWork {
    static constexpr const char* operation = "seqpar::padded_offsets";
    Offsets<Int> from;
    std::int64_t length;    // -1: by `multiple`
    std::int64_t multiple;  // 1: as long as it is
    bool grows;
    std::int64_t total;  // entries
    Line<T> out;

    SEQPAR_HD constexpr std::int64_t new_length() const {
        return length >= 0 ? length : round_up(from.last(), multiple);
    }
    SEQPAR_HD constexpr void operator()(std::int64_t first, std::int64_t past) const {
        const std::int64_t end = from.last();
        const std::int64_t grown = new_length();
        for (std::int64_t i = first; i < past; ++i) {
            const bool moves = i >= from.count() || (grows && i > 0 && from[i] == end);
            out[i] = static_cast<T>(moves ? grown : from[i]);
        }
    }

    SEQPAR_HD constexpr std::int64_t offset_count() const { return from.count(); }
    SEQPAR_HD constexpr Status check_offset(std::int64_t i) const {
        const std::int64_t whole = new_length();
        const Status status = allow_tail(detail::check_offset(from, length >= 0 ? whole : from.last(), i), whole);
        return status.ok() ? check_fits<T>(grows || total > from.count() ? whole : from[i]) : status;
    }
};

// What padded_offsets(exec, cu_seqlens, multiple, out) does on a host.
template <HostExec D, OffsetInteger Int, class T>
std::int64_t pad_documents(Dispatch, const D&, Offsets<Int> from, std::int64_t multiple, const Line<T>& to) {
    constexpr std::int64_t most = greatest_of<T>;
    std::int64_t sum = 0;
    for (std::int64_t d = 0; d < from.documents(); ++d) {
        if (!add_padded(from[d + 1] - from[d], multiple, sum)) throw_if_bad(make_status(Kind::length, 0, d, 0, -1));
        if (sum > most) throw_if_bad(make_status(Kind::value_lost, 0, d, most, sum));
    }
    if constexpr (std::is_same_v<D, CheckOnly>) return sum;
    std::int64_t next = 0;
    for (std::int64_t d = 0; d < from.documents(); ++d) {
        to[d] = static_cast<T>(next);
        next += round_up(from[d + 1] - from[d], multiple);
    }
    to[from.documents()] = static_cast<T>(sum);
    return sum;
}
template <class D, class... Rest>
void pad_documents(NoBackend, const D&, const Rest&...) {
    no_backend<D>();
}

template <class D, OffsetInteger Int>
void require_paddable(Offsets<Int> cu_seqlens, std::int64_t multiple) {
    if (multiple < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, multiple));
    throw_if_bad(check_for<D>(cu_seqlens, is_host_exec<D> ? cu_seqlens.last() : 0));
}
template <OffsetInteger Int, IndexArray Out>
void require_output(Offsets<Int> cu_seqlens, Out& out, std::int64_t count, std::int64_t greatest) {
    throw_if_bad(check_apart(out, cu_seqlens));
    throw_if_bad(check_index_array(out, count, greatest));
}

template <class D, OffsetInteger Int, IndexArray Out>
void resize(const ExecBase<D>& exec, Offsets<Int> from, std::int64_t length, std::int64_t multiple, bool grows,
            Out& out) {
    run_index_work(Dispatch{}, thrust::detail::derived_cast(exec),
                   ResizeWork<Int, element_of<Out>>{from, length, multiple, grows, view(out).extent(0), line(out)});
}

}  // namespace detail

// The most scratch that padded_offsets takes from a CUDA exec's allocator for `documents` documents.
[[nodiscard]] constexpr std::int64_t padded_offsets_scratch_bytes(std::int64_t documents) {
    return detail::scan_scratch_bytes(documents + 1, 8);
}

// Offsets of the same documents, each padded at its end to a multiple of `multiple`: up(n, m) = ceil(n / m) m (docs/design.md,
// the layouts by letter). Empty documents stay empty, so arrays of fixed capacity stay valid. Returns the padded total, also where
// it passes 32 bits; under a CUDA exec nothing: there it is the last entry of `out`. Shapes: cu_seqlens [documents + 1] of int32
// or int64, out the same. Errors, before anything is written: illegal offsets, a multiple below 1, a sum that does not fit 64
// bits (not seen on a device) or `out`'s type (`index` is the document), overlap. A sequential sum on the calling thread under
// every host exec. Synchronises: never. Allocates: never; scratch on CUDA: padded_offsets_scratch_bytes. Launches: on CUDA 2, one scan.
// Reads offsets on: exec's device.
template <class D, class R, IndexArray Out>
    requires detail::OffsetsFor<R, D>
auto padded_offsets(const detail::ExecBase<D>& exec, R&& cu_seqlens, std::int64_t multiple, Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    detail::require_paddable<D>(borrowed, multiple);
    detail::require_output(borrowed, out, borrowed.count(), 0);
    return pad_documents(detail::Dispatch{}, thrust::detail::derived_cast(exec), borrowed, multiple, detail::line(out));
}

// The documents stay as they are and the sequence grows at its end to `length`; `tail` says who owns the growth, see Tail. Last
// offsets that repeat (fixed capacity) move together, so that the growth goes to the last document that is not empty. Shapes: out
// [documents + 1], with Tail::own_document [documents + 2], also where the tail is empty. Errors: as above, and a sequence that is
// longer than `length`. Synchronises: never. Allocates: never. Launches: on CUDA 1. Reads offsets on: exec's device.
template <class D, class R, IndexArray Out>
    requires detail::OffsetsFor<R, D>
void extended_offsets(const detail::ExecBase<D>& exec, R&& cu_seqlens, std::int64_t length, Tail tail, Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    if (length < 0) throw_if_bad(make_status(Kind::length, 0, 0, 0, length));
    throw_if_bad(detail::allow_tail(detail::check_for<D>(borrowed, length), length));
    const bool keeps = tail == Tail::nobody;
    detail::require_output(borrowed, out, borrowed.count() + (tail == Tail::own_document ? 1 : 0),
                           !keeps                    ? length
                           : detail::is_host_exec<D> ? borrowed.last()
                                                     : 0);
    detail::resize(exec, borrowed, length, 1, tail == Tail::last_document, out);
}

// The same, where the length is the next multiple of `multiple`. Returns it, also where it passes 32 bits or is no offset
// (Tail::nobody); under a CUDA exec nothing.
template <class D, class R, IndexArray Out>
    requires detail::OffsetsFor<R, D>
auto padded_offsets(const detail::ExecBase<D>& exec, R&& cu_seqlens, std::int64_t multiple, Tail tail, Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    detail::require_paddable<D>(borrowed, multiple);
    if constexpr (detail::is_host_exec<D>) {
        std::int64_t length = 0;
        if (!detail::add_padded(borrowed.last(), multiple, length))
            throw_if_bad(make_status(Kind::length, 0, 0, 0, -1));
        extended_offsets(exec, borrowed, length, tail, out);
        return length;
    } else {
        detail::require_output(borrowed, out, borrowed.count() + (tail == Tail::own_document ? 1 : 0), 0);
        detail::resize(exec, borrowed, -1, multiple, tail == Tail::last_document, out);
    }
}

// The same documents as an array of as many offsets as `out` has, whatever the batch: the last one repeats (a CUDA graph
// that is captured once reads as many at every step). Errors, before anything is written: illegal offsets, more of them
// than `out` has room for, numbers that do not fit, overlap. Contract line: as extended_offsets.
template <class D, class R, IndexArray Out>
    requires detail::OffsetsFor<R, D>
void fixed_offsets(const detail::ExecBase<D>& exec, R&& cu_seqlens, Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    const std::int64_t room = view(out).extent(0);
    detail::require_paddable<D>(borrowed, 1);
    if (borrowed.count() > room) throw_if_bad(make_status(Kind::offsets_count, 0, 0, room, borrowed.count()));
    detail::require_output(borrowed, out, room, detail::is_host_exec<D> ? borrowed.last() : 0);
    detail::resize(exec, borrowed, -1, 1, true, out);
}

// Whether padded offsets differ from real ones: decided by value, since trainers hand both over where they are equal.
// Reads both; offsets of unlike number differ. Errors: illegal ones.
template <OffsetArray R, OffsetArray Q>
[[nodiscard]] constexpr bool has_padding(R&& cu_seqlens, Q&& padded_cu_seqlens) {
    const auto real = offsets(cu_seqlens);
    const auto padded = offsets(padded_cu_seqlens);
    throw_if_bad(check(real, real.last()));
    throw_if_bad(check(padded, padded.last(), 1));
    if (real.count() != padded.count()) return true;
    for (std::int64_t i = 0; i < real.count(); ++i) {
        if (real[i] != padded[i]) return true;
    }
    return false;
}

}  // namespace seqpar
