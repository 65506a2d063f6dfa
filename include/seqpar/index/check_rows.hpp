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

// What a check of one token looks at: plain data, so that a kernel can ask as well. Pads: a layout whose source is -1 where a
// document is padded.
template <class Rows, class Banks, class Valid, class Documents, class Pads>
struct RowCheck {
    Rows rows;
    Banks banks;
    Valid valid;
    Documents documents;
    Pads pads;
    BankInfo info[max_banks] = {};
    int bank_count = 0;

    struct Want {
        std::int64_t bank = -1;  // -1: text
        std::int64_t row = -1;
        friend SEQPAR_HD constexpr bool operator==(const Want&, const Want&) = default;
    };
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
        bool may_stand = pads.source(i) >= 0;
        if constexpr (!std::is_same_v<Valid, NoArray>)
            may_stand = may_stand && static_cast<bool>(entry(valid, sample, i));
        if (!may_stand) return make_status(Kind::row_forbidden, bank, token, -1, want.row);
        if (want.row < 0 || want.row >= info[bank].rows)
            return make_status(Kind::row_range, bank, token, info[bank].rows, want.row);
        const Offsets<std::int64_t> items = info[bank].items;
        if (items.count() == 0) return {};
        const std::int64_t document = documents.document_of(i);
        const bool follows = i > documents[document] && at(sample, i - 1) == Want{bank, want.row - 1};
        const bool goes_on = i + 1 < documents[document + 1] && at(sample, i + 1) == Want{bank, want.row + 1};
        if (follows && goes_on) return {};
        const std::int64_t item = items.document_of(want.row);
        const std::int64_t before = want.row - items[item];
        const std::int64_t after = items[item + 1] - want.row;
        if (!follows && before > 0) return make_status(Kind::item_cut, bank, token, before + after, after, item);
        if (!goes_on && after > 1) return make_status(Kind::item_cut, bank, token, before + after, before + 1, item);
        return {};
    }
};

template <class Check>
Status check_row_stream(const Check& check) {
    Status worst;
    std::vector<std::int64_t> first_use[max_banks];
    std::int64_t count[max_banks] = {};
    std::int64_t first_over[max_banks] = {};
    for (int bank = 0; bank < check.bank_count; ++bank) {
        const BankInfo& info = check.info[bank];
        if (info.rows < 0) return make_status(Kind::length, bank, 0, 0, info.rows);
        if (info.items.count() > 0) worst = worse(worst, seqpar::check(info.items, info.rows, bank));
        first_use[bank].assign(static_cast<std::size_t>(info.rows), -1);
    }
    if (!worst.ok()) return worst;
    std::int64_t token = 0;
    for (std::int64_t sample = 0; sample < samples_of(check.rows); ++sample) {
        for (std::int64_t i = 0; i < length_of(check.rows); ++i, ++token) {
            worst = worse(worst, check(sample, i));
            const auto want = check.at(sample, i);
            if (want.row == -1 || want.bank < 0 || want.bank >= check.bank_count) continue;
            const int bank = static_cast<int>(want.bank);
            const std::int64_t rows = check.info[bank].rows;
            if (count[bank]++ == rows) first_over[bank] = token;
            if (want.row < 0 || want.row >= rows) continue;
            std::int64_t& first = first_use[bank][static_cast<std::size_t>(want.row)];
            if (first >= 0) worst = worse(worst, make_status(Kind::row_reused, bank, token, first, token));
            first = first < 0 ? token : first;
        }
    }
    for (int bank = 0; bank < check.bank_count; ++bank) {
        const BankInfo& info = check.info[bank];
        if (count[bank] == info.rows || (count[bank] < info.rows && info.surplus)) continue;
        const bool over = count[bank] > info.rows;
        std::int64_t item = 0;  // the last, or that of the first row without a token
        if (info.items.documents() > 0) {
            const auto unused = std::find(first_use[bank].begin(), first_use[bank].end(), -1) - first_use[bank].begin();
            item = over ? info.items.documents() - 1 : info.items.document_of(unused);
        }
        const std::int64_t position = over ? first_over[bank] : token;
        worst = worse(worst, make_status(Kind::row_count, bank, position, info.rows, count[bank], item));
    }
    return worst;
}

template <class X>
concept RowNumbers = Tensor<X> && requires {
    requires(axes_of<X> == 1 || axes_of<X> == 2);
    requires std::same_as<element_of<X>, std::int32_t>;
};

// Documents as they are given, or one for a whole sample; and the layout that knows their pads.
template <class Cu>
auto documents_of(Cu& cu_seqlens, std::int64_t length) {
    if constexpr (is_no_array<Cu>) {
        return OneDocument{length};
    } else {
        return offsets(cu_seqlens);
    }
}
template <class Cu, class Real>
auto pads_of(Cu& cu_seqlens, Real& real, std::int64_t length) {
    const ContiguousLayout whole = Contiguous{}(length, 1);
    if constexpr (is_no_array<Real>) {
        return whole;
    } else {
        return padded(whole, offsets(real), offsets(cu_seqlens), offsets(real).last());
    }
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
    static_assert(detail::is_no_array<Banks> || detail::RowNumbers<Banks>, "bank numbers are int32, as the rows");
    static_assert(detail::is_no_array<Real> || !detail::is_no_array<Cu>, "real offsets need the padded ones");
    const auto row_view = view(rows);
    const std::int64_t length = detail::length_of(row_view);
    detail::RowCheck<view_of<Rows>, decltype(detail::view_or_none(banks)), decltype(detail::view_or_none(valid)),
                     decltype(detail::documents_of(cu_seqlens, 0)), decltype(detail::pads_of(cu_seqlens, real, 0))>
        check{row_view,
              detail::view_or_none(banks),
              detail::view_or_none(valid),
              detail::documents_of(cu_seqlens, length),
              detail::pads_of(cu_seqlens, real, length),
              {},
              0};
    const auto count = static_cast<std::int64_t>(info.size());
    if (count > detail::max_banks) return make_status(Kind::bank_range, 0, 0, detail::max_banks, count - 1);
    for (const BankInfo& bank : info)
        check.info[check.bank_count++] = bank;
    Status status = seqpar::check(check.pads);
    if constexpr (!detail::is_no_array<Banks>)
        status = worse(status, detail::check_same_shape(row_view, check.banks, 2));
    if constexpr (!detail::is_no_array<Valid>)
        status = worse(status, detail::check_same_shape(row_view, check.valid, 3));
    if constexpr (!detail::is_no_array<Cu>) status = worse(status, seqpar::check(check.documents, length));
    return status.ok() ? detail::check_row_stream(check) : status;
}

// Tokens [begin, end).
struct TokenSpan {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    friend constexpr bool operator==(const TokenSpan&, const TokenSpan&) = default;
};

// Where each item of a bank stands in the stream [S]: from its first token to its last, with what stands between (the text
// between a video's frames). Items without a row are at [0, 0). Only for rows that check_rows lets pass. Error: a row past the
// items. Synchronises: never. Allocates: the result. Launches: none. Reads offsets on: the host.
template <detail::RowNumbers Rows, class Banks, OffsetArray R>
    requires(axes_of<Rows> == 1)
[[nodiscard]] std::vector<TokenSpan> item_spans(Rows&& rows, Banks&& banks, int bank, R&& items) {
    const auto row_view = view(rows);
    const auto bank_view = detail::view_or_none(banks);
    const auto borrowed = offsets(items);
    throw_if_bad(check(borrowed, borrowed.last(), bank));
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
