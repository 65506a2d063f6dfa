// Levels (DeepStack): further banks that decoder layers add to the vision tokens, for tokens that may already be split; and the
// compact form of a row array, for interfaces that want a mask and the levels' rows packed. One row array serves the bank and all
// levels. Not here: building row arrays (index/rows.hpp).
#pragma once

#include <seqpar/index/rows.hpp>
#include <seqpar/move/vision_gather.hpp>

#include <initializer_list>

namespace seqpar {

// Several levels, each a tensor [V, H] or banks(…) with no_level for a bank that has none. One level is itself.
template <class First, class... Rest>
[[nodiscard]] auto levels(First&& first, Rest&&... rest) {
    using L = detail::level_list_of<First>;
    constexpr bool read_only =
        (std::is_const_v<typename L::written> || ... || std::is_const_v<typename detail::level_list_of<Rest>::written>);
    using T = std::conditional_t<read_only, const typename L::element, typename L::element>;
    detail::LevelList<T, L::banks, 1 + sizeof...(Rest)> list;
    detail::put_levels(list.level, detail::level_list(first));
    std::size_t level = 1;
    (detail::put_levels(list.level + level++, detail::level_list(rest)), ...);
    return list;
}

namespace detail {

// What add_rows and select give to gather_rows: h or out, and levels.
struct MakeAddRows {
    template <class T, class B, std::size_t N, std::size_t L>
    AddRows<T, B, N, L> operator()(const VectorArray<T>& h, const LevelList<const B, N, L>& levels) const {
        return {h, levels};
    }
};
struct MakeSelect {
    template <class T, class B, std::size_t N>
    Forward<T, B, N> operator()(const VectorArray<T>& out, const LevelList<const B, N, 1>& level) const {
        return {out, level.level[0], out, false, true};
    }
};

template <bool Checked, class D, class X, class R, class B, class Make>
void run_levels(const D& exec, X& array, const R& rows, B& levels, const Make& make) {
    using Element = element_of<X>;
    const auto tokens = token_rows<D>(rows);
    static_assert(decltype(tokens.rows)::axes + 1 == axes_of<X>, "rows have the vectors' axes without the last");
    const auto vectors = vector_array(array, 0);
    const auto list = read_levels(level_list(levels));
    static_assert(rounds_to<Element, typename std::remove_const_t<decltype(list)>::element>,
                  "a level's type would be cut off in the vectors'");
    bool in_place = false;
    throw_if_bad(check_tokens(tokens, vectors, vectors.width, 0));
    throw_if_bad(check_in_place(vectors, vectors, in_place, 0));
    throw_if_bad(check_levels(list, vectors));
    if constexpr (Checked && is_host_exec<D>) throw_if_bad(check_rows_in_banks(tokens, list.level[0], false));
    gather_rows(Dispatch{}, exec, tokens, make(vectors, list),
                vectors.width * static_cast<std::int64_t>(sizeof(Element)));
}

}  // namespace detail

// h[i] += level[rows[i]] for one level or levels(…), in their order; text and tokens of banks without level stay as they are. A
// level's type is converted to h's first, and each addition rounds once, so levels(a, b) gives what a and then b gives, but h is
// read and written once. Shapes: h […, H], rows as for VisionGather, levels [V, H]. `Checked`: whether row numbers are looked at
// first. Errors, before anything is written: shapes, levels of unlike length, memory shared with h, a bank or row out of range.
// Contract line: as VisionGather; all levels are one launch.
template <bool Checked = true, class D, WritableTensor H, class R, class B>
void add_rows(const detail::ExecBase<D>& exec, H&& h, const R& rows, B&& levels) {
    detail::run_levels<Checked>(thrust::detail::derived_cast(exec), h, rows, levels, detail::MakeAddRows{});
}

// The adjoint: row rows[i] of every level gets d_h[i], by `mode` as in VisionGather's backward. h's own gradient is d_h, which is
// only read. Errors as the forward's, and a row used twice unless Summed. Allocates: as VisionGather's backward.
template <bool Checked = true, class D, StridedTensor G, class R, class B, class Mode>
void add_rows_backward(const detail::ExecBase<D>& exec, G&& d_h, const R& rows, B&& d_levels, Mode mode) {
    const auto tokens = detail::token_rows<D>(rows);
    static_assert(decltype(tokens.rows)::axes + 1 == axes_of<G>, "rows have the gradient's axes without the last");
    const auto from = detail::read_vectors(d_h, 0);
    throw_if_bad(detail::check_tokens(tokens, from, from.width, 0));
    detail::run_backward<Checked, true>(thrust::detail::derived_cast(exec), tokens, from,
                                        detail::VectorArray<element_of<G>>{}, detail::level_list(d_levels), false,
                                        mode);
}

// Which banks are meant, by number below 64.
struct BankSet {
    std::uint64_t bits = ~std::uint64_t{0};

    [[nodiscard]] SEQPAR_HD constexpr bool has(std::int64_t bank) const {
        return bank >= 0 && bank < 64 && (bits >> bank & 1) != 0;
    }
};
inline constexpr BankSet all_banks{};
[[nodiscard]] constexpr BankSet only_banks(std::initializer_list<int> list) {
    BankSet set{0};
    for (const int bank : list) {
        if (bank < 0 || bank >= 64) detail::raise(make_status(Kind::bank_range, 0, 0, 64, bank));
        set.bits |= std::uint64_t{1} << bank;
    }
    return set;
}

namespace detail {

// Tokens that refer to a wanted bank, numbered in row-major order. Absent arrays have no data.
template <class Tokens, class M>
struct CompactJob {
    Tokens tokens;
    BankSet wanted;
    VectorArray<M> mask;
    Line<std::int32_t> rows;
    Line<std::int32_t> banks;

    std::int64_t total() const { return tokens.loops() * tokens.length(); }
    SEQPAR_HD bool keeps(std::int32_t row, std::int32_t bank) const { return row >= 0 && wanted.has(bank); }
    // Entry `number` is of a token that is kept.
    SEQPAR_HD void put(std::int64_t number, std::int32_t row, std::int32_t bank) const {
        rows[number] = row;
        if (banks.data != nullptr) banks[number] = bank;
    }
    SEQPAR_HD void put_mask(const TokenIndex& index, bool kept) const {
        if (mask.data != nullptr) *mask.template vector_of<decltype(tokens.rows)::axes>(index) = static_cast<M>(kept);
    }

    template <bool Write>
    void scan(std::int64_t first, std::int64_t last, NextRows& next) const {
        RowBlock block;
        while (first < last) {
            const Piece piece = piece_at(first, last, tokens.length(), RowBlock::size);
            TokenIndex index = tokens.index(piece.sample);
            index.at[tokens.inner] = piece.first;
            tokens.read(index, piece.count, block);
            for (std::int64_t i = 0; i < piece.count; ++i, ++index.at[tokens.inner]) {
                const std::int32_t bank = block.bank == nullptr ? 0 : block.bank[i];
                const bool kept = keeps(block.row[i], bank);
                if (Write && kept) put(next.bank[0], block.row[i], bank);
                if (Write) put_mask(index, kept);
                next.bank[0] += kept ? 1 : 0;
            }
            first += piece.count;
        }
    }
    void count(std::int64_t first, std::int64_t last, NextRows& next) const { scan<false>(first, last, next); }
    void write(std::int64_t first, std::int64_t last, NextRows& next) const { scan<true>(first, last, next); }
};

template <HostExec D, class Job, class Count>
void run_compact(Dispatch, const D& exec, const Job& job, std::int64_t capacity, Count& count) {
    if constexpr (std::is_same_v<D, CheckOnly>) return;
    NextRows next;
    scan_stream(exec, job, next);
    for (std::int64_t i = next.bank[0]; i < capacity; ++i)
        job.put(i, -1, -1);
    if constexpr (!is_no_array<Count>) line(count)[0] = next.bank[0];
}
template <class D, class... Rest>
void run_compact(NoBackend, const D&, const Rest&...) {
    no_backend<D>();
}

template <int Axes, class X>
auto token_array_or_none(X& x) {
    if constexpr (is_no_array<X>) {
        return VectorArray<std::uint8_t>{};
    } else {
        static_assert(axes_of<X> == Axes, "the mask has the axes of the row array");
        return token_array<Axes>(x);
    }
}

template <class Tokens, class M>
CompactJob<Tokens, M> compact_job(Tokens tokens, BankSet wanted, const VectorArray<M>& mask, Line<std::int32_t> rows,
                                  Line<std::int32_t> banks) {
    tokens.inner = decltype(tokens.rows)::axes - 1;
    return {tokens, wanted, mask, rows, banks};
}

template <class R>
NoArray bank_view(const R&) {
    return {};
}
template <class R, class B>
auto bank_view(const BankedRows<R, B>& array) {
    return array.banks;
}

// Its arrays as they came, to compare their shapes and memory; whether there is room is seen where exec runs.
template <class D, class Job, class R, class B, class Mask, class Out, class Banks, class Count>
Status compact_status(const Job& job, const R& rows, const B& banks, const Mask& mask, const Out& out_rows,
                      const Banks& out_banks, const Count& count) {
    const std::int64_t capacity = out_rows.extent(0);
    for (int i = 0; i < job.mask.axes; ++i) {
        if (job.mask.extents[i] != job.tokens.rows.extent(i))
            return make_status(Kind::extent, 1, 0, job.tokens.rows.extent(i), job.mask.extents[i], i);
    }
    if constexpr (!is_no_array<Banks>) {
        if (out_banks.extent(0) != capacity) return make_status(Kind::extent, 3, 0, capacity, out_banks.extent(0));
    }
    if constexpr (!is_no_array<Count>) {
        if (count.extent(0) != 1) return make_status(Kind::extent, 4, 0, 1, count.extent(0));
    }
    Status status = check_outputs<4>(1, mask, out_rows, out_banks, count, rows, banks);
    if constexpr (is_host_exec<D>) {
        NextRows next;
        if (capacity < job.total()) job.count(0, job.total(), next);
        if (next.bank[0] > capacity) status = worse(status, make_status(Kind::extent, 2, 0, next.bank[0], capacity));
    }
    return status;
}

}  // namespace detail

// The most scratch that compact takes from a CUDA exec's allocator for `tokens` tokens.
[[nodiscard]] constexpr std::int64_t compact_scratch_bytes(std::int64_t tokens) {
    return detail::scan_scratch_bytes(tokens, 8);
}

// The compact form of a row array, of the banks in `wanted`: mask[i] is 1 where token i refers to a row of theirs, and entry k of
// out_rows (and out_banks) is the k-th such token's row (and bank), in row-major order of `rows`: given as [B, T], sample by sample
// of the local stream, where the mask's tokens stand in the same order. A rank owns B separate ranges of the samples' rows, so
// there is no one range. Entries past the last are -1. Shapes: mask as rows, any integers or bool; out_rows, out_banks int32 [n],
// n at least the number of tokens meant; count int64 [1], that number. no_array leaves out mask, out_banks or count.
// Errors, before anything is written: shapes (Status::array: 1 mask, 2 rows, 3 banks, 4 count), overlap. Contract
// line: as VisionGather, but on CUDA in 3 launches, with compact_scratch_bytes(…) from exec's allocator; too small an out_rows is then
// found as it is written, and reported.
template <class D, class R, class Mask, IndexArray Out, class Banks = NoArray, class Count = NoArray>
void compact(const detail::ExecBase<D>& exec, const R& rows, BankSet wanted, Mask&& mask, Out&& out_rows,
             Banks&& out_banks = Banks{}, Count&& count = Count{}) {
    static_assert(std::same_as<element_of<Out>, std::int32_t>, "rows are int32");
    const auto tokens = detail::token_rows<D>(rows);
    const auto job = detail::compact_job(tokens, wanted, detail::token_array_or_none<decltype(tokens.rows)::axes>(mask),
                                         detail::line(out_rows), detail::line_or_none<std::int32_t>(out_banks));
    const auto out = view(out_rows);
    throw_if_bad(detail::compact_status<D>(job, detail::row_view(rows), detail::bank_view(rows),
                                           detail::view_or_none(mask), out, detail::view_or_none(out_banks),
                                           detail::view_or_none(count)));
    run_compact(detail::Dispatch{}, thrust::detail::derived_cast(exec), job, out.extent(0), count);
}

// out[k] = level[rows[k]], the features of compact rows; zeros where rows[k] is -1 or its bank has no level. Shapes: rows [n] (or
// row_array(rows, banks)), level [V, H] or banks(…), out [n, H]. The level's type is converted to out's. Errors and contract line: as
// add_rows.
template <bool Checked = true, class D, class B, class R, WritableTensor O>
void select(const detail::ExecBase<D>& exec, B&& level, const R& rows, O&& out) {
    detail::run_levels<Checked>(thrust::detail::derived_cast(exec), out, rows, level, detail::MakeSelect{});
}

// Its adjoint: row rows[k] of the level gets d_out[k], by `mode`. (compact moves no values.) As add_rows_backward.
template <bool Checked = true, class D, StridedTensor G, class R, class B, class Mode>
void select_backward(const detail::ExecBase<D>& exec, G&& d_out, const R& rows, B&& d_level, Mode mode) {
    add_rows_backward<Checked>(exec, d_out, rows, d_level, mode);
}

}  // namespace seqpar
