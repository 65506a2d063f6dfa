// Padding: offsets whose documents, or whose total, are multiples of a number, and the numbers that trainers use.
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

// Whether offsets can be padded to multiples of `multiple` at all; the last of them may be anything.
template <OffsetInteger Int>
constexpr Status check_paddable(Offsets<Int> cu_seqlens, std::int64_t multiple) {
    if (multiple < 1) return make_status(Kind::policy, 0, 0, 1, multiple);
    const std::int64_t count = cu_seqlens.count();
    return check(cu_seqlens, count < 1 ? 0 : cu_seqlens[count - 1]);
}

// The length that `total` grows to.
constexpr Status padded_total(std::int64_t total, std::int64_t multiple, std::int64_t& padded) {
    padded = 0;
    return add_padded(total, multiple, padded) ? Status{} : make_status(Kind::length, 0, 0, 0, -1);
}

template <IndexArray Out, OffsetInteger Int>
Status check_offsets_output(Out& out, Offsets<Int> cu_seqlens, std::int64_t count) {
    if (const Status status = check_apart(out, cu_seqlens); !status.ok()) return status;
    return check_index_array(out, count, 0);
}

}  // namespace detail

// What padded_offsets(…) would throw.
template <OffsetArray R, IndexArray Out>
[[nodiscard]] Status check_padded_offsets(R&& cu_seqlens, std::int64_t multiple, Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    if (const Status status = detail::check_paddable(borrowed, multiple); !status.ok()) return status;
    if (const Status status = detail::check_offsets_output(out, borrowed, borrowed.count()); !status.ok())
        return status;
    std::int64_t sum = 0;
    const std::int64_t most = (std::numeric_limits<element_of<Out>>::max)();
    for (std::int64_t d = 0; d < borrowed.documents(); ++d) {
        if (!detail::add_padded(borrowed[d + 1] - borrowed[d], multiple, sum))
            return make_status(Kind::length, 0, d, 0, -1);
        if (sum > most) return make_status(Kind::value_lost, 0, d, most, sum);
    }
    return {};
}

// Offsets of the same documents, each padded at its end to a multiple of `multiple`: up(n, m) = ceil(n / m) m (docs/design.md
// section 7). Empty documents stay empty, so arrays of fixed capacity stay valid. Returns the padded total, also where
// it passes 32 bits. Shapes: cu_seqlens [documents + 1] of int32 or int64, out the same. Errors, before anything is
// written: illegal offsets, a multiple below 1, a sum that does not fit 64 bits or `out`'s type (`index` is the
// document), overlap. A sequential sum on the calling thread under every host exec. Synchronises: never. Allocates:
// never. Launches: none on a host. Reads offsets on: exec's device.
template <class D, OffsetArray R, IndexArray Out>
    requires detail::HostExec<D> std::int64_t padded_offsets(const detail::ExecBase<D>&, R&& cu_seqlens,
                                                             std::int64_t multiple, Out&& out) {
        throw_if_bad(check_padded_offsets(cu_seqlens, multiple, out));
        const auto borrowed = offsets(cu_seqlens);
        const auto to = detail::line(out);
        std::int64_t sum = 0;
        to[0] = 0;
        for (std::int64_t d = 0; d < borrowed.documents(); ++d) {
            sum += round_up(borrowed[d + 1] - borrowed[d], multiple);
            to[d + 1] = static_cast<element_of<Out>>(sum);
        }
        return sum;
    }

// What padded_offsets(…) with a Tail would throw.
template <OffsetArray R, IndexArray Out>
[[nodiscard]] Status check_padded_offsets(R&& cu_seqlens, std::int64_t multiple, Tail tail, Out&& out) {
    const auto borrowed = offsets(cu_seqlens);
    if (const Status status = detail::check_paddable(borrowed, multiple); !status.ok()) return status;
    const std::int64_t count = borrowed.count() + (tail == Tail::own_document ? 1 : 0);
    if (const Status status = detail::check_offsets_output(out, borrowed, count); !status.ok()) return status;
    std::int64_t total = 0;
    if (const Status status = detail::padded_total(borrowed[borrowed.documents()], multiple, total); !status.ok())
        return status;
    return detail::check_fits<element_of<Out>>(tail == Tail::nobody ? borrowed[borrowed.documents()] : total);
}

// The documents stay as they are and the sequence grows at its end until its length is a multiple of `multiple`; `tail`
// says who owns the growth, see Tail. Returns the new length, also where it passes 32 bits or is no offset
// (Tail::nobody). Last offsets that repeat (fixed capacity) move together, so that the growth goes to the last document
// that is not empty. Shapes: out [documents + 1], with Tail::own_document [documents + 2], also where the tail is
// empty. Errors and contract line: as above.
template <class D, OffsetArray R, IndexArray Out>
    requires detail::HostExec<D> std::int64_t padded_offsets(const detail::ExecBase<D>&, R&& cu_seqlens,
                                                             std::int64_t multiple, Tail tail, Out&& out) {
        throw_if_bad(check_padded_offsets(cu_seqlens, multiple, tail, out));
        const auto borrowed = offsets(cu_seqlens);
        const auto to = detail::line(out);
        using T = element_of<Out>;
        const std::int64_t end = borrowed[borrowed.documents()];
        std::int64_t total = 0;
        throw_if_bad(detail::padded_total(end, multiple, total));
        for (std::int64_t i = 0; i < borrowed.count(); ++i) {
            const bool grows = tail == Tail::last_document && borrowed[i] == end;
            to[i] = static_cast<T>(grows ? total : borrowed[i]);
        }
        if (tail == Tail::own_document) to[borrowed.count()] = static_cast<T>(total);
        return total;
    }

// Whether padded offsets differ from real ones: decided by value, since trainers hand both over where they are equal.
// Reads both; legal offsets of unlike number differ.
template <OffsetInteger Int, OffsetInteger PaddedInt>
[[nodiscard]] SEQPAR_HD constexpr bool has_padding(Offsets<Int> cu_seqlens, Offsets<PaddedInt> padded_cu_seqlens) {
    if (cu_seqlens.count() != padded_cu_seqlens.count()) return true;
    for (std::int64_t i = 0; i < cu_seqlens.count(); ++i) {
        if (cu_seqlens[i] != padded_cu_seqlens[i]) return true;
    }
    return false;
}
template <OffsetArray R, OffsetArray Q>
[[nodiscard]] constexpr bool has_padding(R&& cu_seqlens, Q&& padded_cu_seqlens) {
    return has_padding(offsets(cu_seqlens), offsets(padded_cu_seqlens));
}

}  // namespace seqpar
