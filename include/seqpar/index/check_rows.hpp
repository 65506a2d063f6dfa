// check_rows(): whether a row array fits its banks, their items and the documents; and where a stream can be cut without
// cutting an item. Not here: building row arrays (rows.hpp), the checks of what a gather is given (move/).
#pragma once

#include <seqpar/index/detail/documents.hpp>
#include <seqpar/index/rows.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/padded.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace seqpar {

// What is known about the rows of one bank. `items` are offsets into the bank: item k (or frame k, where frames are what must
// be whole) is rows [items[k], items[k + 1]); without items there is no rule for them.
struct BankInfo {
    std::int64_t rows = 0;
    Offsets<std::int64_t> items = {};
    bool surplus = false;  // whether rows may stay unused, as after a cut of the stream
};

// The bank of a placeholder's rule where `pad_id` is that placeholder.
[[nodiscard]] SEQPAR_HD constexpr Status check_pad_id(const PlaceholderRules& rules, std::int64_t pad_id) {
    for (int i = 0; i < rules.count(); ++i) {
        if (rules[i].placeholder == pad_id) return make_status(Kind::pad_id, rules[i].bank, i, pad_id, pad_id);
    }
    return {};
}

namespace detail {

inline constexpr std::int64_t no_token = INT64_MAX;

// What a check of one token looks at: plain data, so that a kernel can ask as well. Real: the real offsets of padded documents.
template <class Rows, class Banks, class Valid, class Documents, class Real>
struct RowCheck {
    Rows rows;
    Banks banks;
    Valid valid;
    Documents documents;
    Real real;
    BankInfo info[max_banks] = {};
    int bank_count = 0;

    struct Want {
        std::int64_t bank = -1;  // -1: text
        std::int64_t row = -1;
        friend SEQPAR_HD constexpr bool operator==(const Want&, const Want&) = default;
    };
    SEQPAR_HD std::int64_t tokens() const { return samples_of(rows) * length_of(rows); }
    // A layout over the documents, whose check is theirs. real_total: the last of `real`.
    SEQPAR_HD auto layout(std::int64_t real_total) const {
        const ContiguousLayout whole = bind_checked(Contiguous{}, length_of(rows), 1);
        if constexpr (std::is_same_v<Real, NoArray>) {
            return whole;
        } else {
            return padded(whole, real, documents, real_total);
        }
    }
    SEQPAR_HD auto layout() const {
        if constexpr (std::is_same_v<Real, NoArray>) {
            return layout(0);
        } else {
            return layout(real.last());
        }
    }
    SEQPAR_HD Want at(std::int64_t sample, std::int64_t i) const {
        const std::int64_t row = entry(rows, sample, i);
        if constexpr (std::is_same_v<Banks, NoArray>) {
            return {row == -1 ? -1 : 0, row};
        } else {
            return {entry(banks, sample, i), row};
        }
    }

    // Token i of a sample, beside its neighbours; not which rows others use.
    SEQPAR_HD Status operator()(std::int64_t sample, std::int64_t i) const {
        const Want want = at(sample, i);
        if (want == Want{}) return {};
        const std::int64_t token = sample * length_of(rows) + i;
        if (want.bank < 0 || want.bank >= bank_count)
            return make_status(Kind::bank_range, 0, token, bank_count, want.bank);
        const int bank = static_cast<int>(want.bank);
        const std::int64_t document = documents.document_of(i);
        bool may_stand = true;
        if constexpr (!std::is_same_v<Real, NoArray>)
            may_stand = i - documents[document] < real[document + 1] - real[document];
        if constexpr (!std::is_same_v<Valid, NoArray>)
            may_stand = may_stand && static_cast<bool>(entry(valid, sample, i));
        if (!may_stand) return make_status(Kind::row_forbidden, bank, token, -1, want.row);
        if (want.row < 0 || want.row >= info[bank].rows)
            return make_status(Kind::row_range, bank, token, info[bank].rows, want.row);
        const Offsets<std::int64_t> items = info[bank].items;
        if (items.count() == 0) return {};
        // (What illegal offsets name may lie outside.)
        const bool follows = i > 0 && i > documents[document] && at(sample, i - 1) == Want{bank, want.row - 1};
        const bool goes_on =
            i + 1 < length_of(rows) && i + 1 < documents[document + 1] && at(sample, i + 1) == Want{bank, want.row + 1};
        if (follows && goes_on) return {};
        const std::int64_t item = items.document_of(want.row);
        const std::int64_t before = want.row - items[item];
        const std::int64_t after = items[item + 1] - want.row;
        if (!follows && before > 0) return make_status(Kind::item_cut, bank, token, before + after, after, item);
        if (!goes_on && after > 1) return make_status(Kind::item_cut, bank, token, before + after, before + 1, item);
        return {};
    }

    // Whether the placeholders of a bank are as many as its rows, which tokens first_use[…] use first.
    SEQPAR_HD Status check_count(int bank, std::int64_t count, const std::int64_t* first_use) const {
        const BankInfo& of = info[bank];
        if (count == of.rows || (count < of.rows && of.surplus)) return {};
        const bool over = count > of.rows;
        std::int64_t token = tokens();
        if (over) {  // the first token too many
            std::int64_t left = of.rows;
            for (token = 0; at(token / length_of(rows), token % length_of(rows)).bank != bank || left-- > 0;)
                ++token;
        }
        std::int64_t item = 0;  // the last, or that of the first row without a token
        if (of.items.documents() > 0) {
            std::int64_t unused = 0;
            while (!over && first_use[unused] != no_token)
                ++unused;
            item = over ? of.items.documents() - 1 : of.items.document_of(unused);
        }
        return make_status(Kind::row_count, bank, token, of.rows, count, item);
    }
};

// The sequential walk over all tokens, and over the offsets first: what is wrong with those comes before all rows.
template <class Check>
SEQPAR_HD Status check_row_offsets(const Check& check) {
    const Status status =
        worse(seqpar::check(check.layout()), check_entries(check.documents, length_of(check.rows), 0));
    if (!status.ok()) return status;
    Status worst;
    for (int bank = 0; bank < check.bank_count; ++bank) {
        const BankInfo& info = check.info[bank];
        if (info.items.count() > 0) worst = worse(worst, seqpar::check(info.items, info.rows, bank));
    }
    return worst;
}

template <class Check>
Status check_row_stream(const Check& check) {
    Status worst = check_row_offsets(check);
    if (!worst.ok()) return worst;
    std::vector<std::int64_t> first_use[max_banks];
    std::int64_t count[max_banks] = {};
    for (int bank = 0; bank < check.bank_count; ++bank)
        first_use[bank].assign(static_cast<std::size_t>(check.info[bank].rows), no_token);
    std::int64_t token = 0;
    for (std::int64_t sample = 0; sample < samples_of(check.rows); ++sample) {
        for (std::int64_t i = 0; i < length_of(check.rows); ++i, ++token) {
            worst = worse(worst, check(sample, i));
            const auto want = check.at(sample, i);
            if (want.row == -1 || want.bank < 0 || want.bank >= check.bank_count) continue;
            const int bank = static_cast<int>(want.bank);
            ++count[bank];
            if (want.row < 0 || want.row >= check.info[bank].rows) continue;
            std::int64_t& first = first_use[bank][static_cast<std::size_t>(want.row)];
            if (first < token) worst = worse(worst, make_status(Kind::row_reused, bank, token, first, token));
            first = first < token ? first : token;
        }
    }
    for (int bank = 0; bank < check.bank_count; ++bank)
        worst = worse(worst, check.check_count(bank, count[bank], first_use[bank].data()));
    return worst;
}

template <class X>
concept RowNumbers = Tensor<X> && requires {
    requires(axes_of<X> == 1 || axes_of<X> == 2);
    requires std::same_as<element_of<X>, std::int32_t>;
};

// Documents as they are given, or one for a whole sample; and their real offsets.
template <class Cu>
auto documents_of(Cu& cu_seqlens, std::int64_t length) {
    if constexpr (is_no_array<Cu>) {
        return OneDocument{length};
    } else {
        return offsets(cu_seqlens);
    }
}
template <class Real>
auto real_of(Real& real) {
    if constexpr (is_no_array<Real>) {
        return NoArray{};
    } else {
        return offsets(real);
    }
}

template <class Rows, class Banks, class Valid, class Cu, class Real>
auto row_check(Rows& rows, Banks& banks, std::span<const BankInfo> info, Valid& valid, Cu& cu_seqlens, Real& real) {
    static_assert(is_no_array<Banks> || RowNumbers<Banks>, "bank numbers are int32, as the rows");
    static_assert(is_no_array<Real> || !is_no_array<Cu>, "real offsets need the padded ones");
    const std::int64_t length = length_of(view(rows));
    RowCheck<view_of<Rows>, decltype(view_or_none(banks)), decltype(view_or_none(valid)),
             decltype(documents_of(cu_seqlens, 0)), decltype(real_of(real))>
        check{view(rows), view_or_none(banks), view_or_none(valid), documents_of(cu_seqlens, length), real_of(real), {},
              0};
    for (const BankInfo& bank : info.first((std::min)(info.size(), std::size_t{max_banks})))
        check.info[check.bank_count++] = bank;
    return check;
}

// What can be said before anything is read.
template <class D, class Check>
Status check_row_shapes(const Check& check, std::span<const BankInfo> info) {
    const auto count = static_cast<std::int64_t>(info.size());
    if (count > max_banks) return make_status(Kind::bank_range, 0, 0, max_banks, count - 1);
    Status status = check_unread(check.layout(0));
    status = worse(status, check_view<D>(check.rows));
    status = worse(status, check_view<D>(check.banks));
    status = worse(status, check_view<D>(check.valid));
    if constexpr (!std::is_same_v<decltype(check.banks), NoArray>)
        status = worse(status, check_same_shape(check.rows, check.banks, 2));
    if constexpr (!std::is_same_v<decltype(check.valid), NoArray>)
        status = worse(status, check_same_shape(check.rows, check.valid, 3));
    status = worse(status, check_offset_count(check.documents, length_of(check.rows)));
    for (int bank = 0; bank < check.bank_count && status.ok(); ++bank) {
        const BankInfo& of = check.info[bank];
        if (of.rows < 0) return make_status(Kind::length, bank, 0, 0, of.rows);
        if (of.items.count() > 0) status = check_offset_count(of.items, of.rows, bank);
    }
    return status;
}

// What check_rows(exec, …) does once the shapes are right.
template <HostExec D, class Check>
void run_check_rows(Dispatch, const D&, const Check& check) {
    throw_if_bad(check_row_stream(check));
}
template <class D, class... Rest>
void run_check_rows(NoBackend, const D&, const Rest&...) {
    no_backend<D>();
}

}  // namespace detail

// Whether the row array of a whole stream fits what is known: each bank has as many placeholders as rows (more only where it is
// allowed a surplus), no row is used twice, so that all are used; no vision token outside `valid` or where a document is padded;
// items are whole and in one document, and so a stretch of placeholders holds whole items in their order. Look once, at the whole
// sequence: a shard has not its bank's counts. The worst mistake and then the first is returned, so a max-reduce of `code`
// over ranks is the same everywhere. Status: array bank, index token (counted sample by sample; of missing rows, the end of the
// stream), field item, and expected and got.
// rows, banks: int32 [S] or [B, S], as build_rows gives them; `banks` only with several. info: of each bank. valid: their shape.
// cu_seqlens: [documents + 1] of every sample alike, padded where `real` has the real ones. no_array leaves an array out.
// Synchronises: never. Allocates: 8 bytes a bank row. Launches: none. Reads offsets on: the host.
template <detail::RowNumbers Rows, class Banks = NoArray, class Valid = NoArray, class Cu = NoArray,
          class Real = NoArray>
[[nodiscard]] Status check_rows(Rows&& rows, Banks&& banks, std::span<const BankInfo> info, Valid&& valid = Valid{},
                                Cu&& cu_seqlens = Cu{}, Real&& real = Real{}) {
    const auto check = detail::row_check(rows, banks, info, valid, cu_seqlens, real);
    const Status status = detail::check_row_shapes<detail::CheckOnly>(check, info);
    return status.ok() ? detail::check_row_stream(check) : status;
}

// The scratch that check_rows takes from a CUDA exec's allocator where the banks have `rows` rows together.
[[nodiscard]] constexpr std::int64_t check_rows_scratch_bytes(std::int64_t rows) {
    return cuda::round_up((rows + detail::max_banks + 1) * 8, ScratchSpan::unit);
}

// The same under an exec: thrown on a host, and on CUDA reported, so that `exec` is reporting(…) of one with an allocator: the
// same Status, in the sink, but for shapes, which are thrown. Arrays and the offsets in `info` lie where exec reads, and stay
// until it has. Not taken for granted by a device's gathers: before a backward by Store or Add, whose rows must differ.
// Synchronises: never. Allocates: on CUDA never; scratch: check_rows_scratch_bytes. Launches: on CUDA 3. Reads offsets on: exec's device.
template <class D, detail::RowNumbers Rows, class Banks = NoArray, class Valid = NoArray, class Cu = NoArray,
          class Real = NoArray>
void check_rows(const detail::ExecBase<D>& exec, Rows&& rows, Banks&& banks, std::span<const BankInfo> info,
                Valid&& valid = Valid{}, Cu&& cu_seqlens = Cu{}, Real&& real = Real{}) {
    const auto check = detail::row_check(rows, banks, info, valid, cu_seqlens, real);
    throw_if_bad(detail::check_row_shapes<D>(check, info));
    run_check_rows(detail::Dispatch{}, thrust::detail::derived_cast(exec), check);
}

// Tokens [begin, end).
struct TokenSpan {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    friend constexpr bool operator==(const TokenSpan&, const TokenSpan&) = default;
};

// Where each item of a bank stands in the stream [S]: from its first token to its last, with what stands between (the text
// between a video's frames). Items without a row are at [0, 0). Only for rows that check_rows lets pass. Error: a row past the
// items, shapes. Synchronises: never. Allocates: the result. Launches: none. Reads offsets on: the host.
template <detail::RowNumbers Rows, class Banks, OffsetArray R>
    requires(axes_of<Rows> == 1)
[[nodiscard]] std::vector<TokenSpan> item_spans(Rows&& rows, Banks&& banks, int bank, R&& items) {
    const auto row_view = view(rows);
    const auto bank_view = detail::view_or_none(banks);
    const auto borrowed = offsets(items);
    throw_if_bad(check(borrowed, borrowed.last(), bank));
    throw_if_bad(detail::check_view(row_view));
    throw_if_bad(detail::check_view(bank_view));
    if constexpr (!detail::is_no_array<Banks>) throw_if_bad(detail::check_same_shape(row_view, bank_view, 2));
    std::vector<TokenSpan> spans(static_cast<std::size_t>((std::max)(borrowed.documents(), std::int64_t{0})));
    for (std::int64_t i = 0; i < row_view.extent(0); ++i) {
        const std::int64_t row = row_view(i);
        if constexpr (!detail::is_no_array<Banks>) {
            if (bank_view(i) != bank) continue;
        }
        if (row == -1) continue;
        if (row < 0 || row >= borrowed.last())
            throw_if_bad(make_status(Kind::row_range, bank, i, borrowed.last(), row));
        TokenSpan& span = spans[static_cast<std::size_t>(borrowed.document_of(row))];
        span = {span.end == 0 ? i : span.begin, i + 1};
    }
    return spans;
}

// The greatest cut of at most `budget` tokens that cuts no span: tokens [0, cut) are kept. Spans in any order; they may overlap.
// Budgets past the stream are kept as they are. Cost: linear, but quadratic where spans overlap in a chain.
[[nodiscard]] constexpr std::int64_t safe_cut(std::int64_t budget, std::span<const TokenSpan> spans) {
    for (std::int64_t uncut = -1; uncut != budget;) {
        uncut = budget;
        for (const TokenSpan& span : spans)
            budget = span.begin < budget && budget < span.end ? span.begin : budget;
    }
    return budget;
}

// How many items of one bank a cut keeps, of spans in the bank's order: the first ones, up to one that is not whole before the cut.
// Items without a row in the stream, at [0, 0), do not count.
[[nodiscard]] constexpr std::int64_t items_kept(std::int64_t cut, std::span<const TokenSpan> spans) {
    std::int64_t kept = 0;
    for (const TokenSpan& span : spans) {
        if (span.end > cut) break;
        kept += span.end > span.begin ? 1 : 0;
    }
    return kept;
}

}  // namespace seqpar
