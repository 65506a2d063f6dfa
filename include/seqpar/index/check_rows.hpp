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

// What a check of the rows of one token looks at: plain data, so that a kernel can ask as well.
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
    SEQPAR_HD Want at(std::int64_t sample, std::int64_t i) const {
        const std::int64_t row = entry(rows, sample, i);
        if (row == -1) return {};
        if constexpr (std::is_same_v<Banks, NoArray>) {
            return {0, row};
        } else {
            return {entry(banks, sample, i), row};
        }
    }

    // Token i of a sample, whatever the others are, but that an item goes on beside it.
    SEQPAR_HD Status operator()(std::int64_t sample, std::int64_t i) const {
        const Want want = at(sample, i);
        const std::int64_t token = sample * length_of(rows) + i;
        if (want == Want{}) return {};
        if (want.bank < 0 || want.bank >= bank_count)
            return make_status(Kind::bank_range, 0, token, bank_count, want.bank);
        const int bank = static_cast<int>(want.bank);
        if (!may_stand(sample, i)) return make_status(Kind::row_forbidden, bank, token, -1, want.row);
        if (want.row < 0 || want.row >= info[bank].rows)
            return make_status(Kind::row_range, bank, token, info[bank].rows, want.row);
        const Offsets<std::int64_t> items = info[bank].items;
        if (items.count() == 0) return {};
        const std::int64_t document = documents.document_of(i);
        const bool follows = i > documents[document] && at(sample, i - 1) == Want{bank, want.row - 1};
        const bool goes_on = i + 1 < documents[document + 1] && at(sample, i + 1) == Want{bank, want.row + 1};
        if (follows && goes_on) return {};
        const std::int64_t item = items.document_of(want.row);
        const std::int64_t begin = items[item];
        const std::int64_t end = items[item + 1];
        if (!follows && want.row > begin)
            return make_status(Kind::item_cut, bank, token, end - begin, end - want.row, item);
        if (!goes_on && want.row + 1 < end)
            return make_status(Kind::item_cut, bank, token, end - begin, want.row + 1 - begin, item);
        return {};
    }

private:
    SEQPAR_HD bool may_stand(std::int64_t sample, std::int64_t i) const {
        if constexpr (!std::is_same_v<Valid, NoArray>) {
            if (!static_cast<bool>(entry(valid, sample, i))) return false;
        }
        if constexpr (!std::is_same_v<Real, NoArray>) {
            const std::int64_t document = documents.document_of(i);
            if (i - documents[document] >= real[document + 1] - real[document]) return false;
        }
        return true;
    }
};

// The uses of each row: totals, and rows used twice.
template <class Check>
Status check_uses(const Check& check) {
    std::vector<bool> used[max_banks];
    std::int64_t count[max_banks] = {};
    std::int64_t first_over[max_banks] = {};
    for (int bank = 0; bank < check.bank_count; ++bank)
        used[bank].resize(static_cast<std::size_t>(check.info[bank].rows));
    Status worst;
    const std::int64_t length = length_of(check.rows);
    const std::int64_t tokens = samples_of(check.rows) * length;
    for (std::int64_t token = 0; token < tokens; ++token) {
        const auto want = check.at(token / length, token % length);
        if (want.bank < 0 || want.bank >= check.bank_count) continue;
        const int bank = static_cast<int>(want.bank);
        if (count[bank]++ == check.info[bank].rows) first_over[bank] = token;
        if (want.row < 0 || want.row >= check.info[bank].rows) continue;
        auto use = used[bank][static_cast<std::size_t>(want.row)];
        if (use) worst = worse(worst, make_status(Kind::row_reused, bank, token, 0, want.row, want.row));
        use = true;
    }
    for (int bank = 0; bank < check.bank_count; ++bank) {
        const BankInfo& info = check.info[bank];
        const std::int64_t items = info.items.documents();
        if (count[bank] > info.rows) {
            worst = worse(worst, make_status(Kind::row_count, bank, first_over[bank], info.rows, count[bank],
                                             items > 0 ? items - 1 : 0));
        } else if (count[bank] < info.rows && !info.surplus) {
            std::int64_t unused = 0;
            while (used[bank][static_cast<std::size_t>(unused)])
                ++unused;
            worst = worse(worst, make_status(Kind::row_count, bank, tokens, info.rows, count[bank],
                                             items > 0 ? info.items.document_of(unused) : 0));
        }
    }
    if (worst.kind() != Kind::row_reused) return worst;
    const typename Check::Want twice{worst.array(), worst.field};
    std::int64_t first = 0;
    while (!(check.at(first / length, first % length) == twice))
        ++first;
    return make_status(Kind::row_reused, worst.array(), worst.index(), first, worst.index());
}

template <class Check>
Status check_row_stream(const Check& check) {
    Status worst;
    for (int bank = 0; bank < check.bank_count; ++bank) {
        const BankInfo& info = check.info[bank];
        if (info.rows < 0) return make_status(Kind::length, bank, 0, 0, info.rows);
        if (info.items.count() > 0) worst = worse(worst, seqpar::check(info.items, info.rows, bank));
    }
    if (!worst.ok()) return worst;
    for (std::int64_t sample = 0; sample < samples_of(check.rows); ++sample) {
        for (std::int64_t i = 0; i < length_of(check.rows); ++i)
            worst = worse(worst, check(sample, i));
    }
    return worse(worst, check_uses(check));
}

template <class X>
concept RowNumbers = Tensor<X> && requires {
    requires(axes_of<X> == 1 || axes_of<X> == 2);
    requires std::same_as<element_of<X>, std::int32_t>;
};

// Documents as they are given, or one for a whole sample; and offsets or none.
template <class R>
auto documents_of(R& cu_seqlens, std::int64_t length) {
    if constexpr (is_no_array<R>) {
        return OneDocument{length};
    } else {
        return offsets(cu_seqlens);
    }
}
template <class R>
auto offsets_or_none(R& cu_seqlens) {
    if constexpr (is_no_array<R>) {
        return NoArray{};
    } else {
        return offsets(cu_seqlens);
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
// Synchronises: never. Allocates: one bit a bank row. Launches: none. Reads offsets on: the host.
template <detail::RowNumbers Rows, class Banks = NoArray, class Valid = NoArray, class Cu = NoArray,
          class Real = NoArray>
[[nodiscard]] Status check_rows(Rows&& rows, Banks&& banks, std::span<const BankInfo> info, Valid&& valid = Valid{},
                                Cu&& cu_seqlens = Cu{}, Real&& real = Real{}) {
    static_assert(detail::is_no_array<Banks> || detail::RowNumbers<Banks>, "bank numbers are int32, as the rows");
    static_assert(detail::is_no_array<Real> || !detail::is_no_array<Cu>, "real offsets need the padded ones");
    const auto row_view = view(rows);
    const std::int64_t length = detail::length_of(row_view);
    using Check =
        detail::RowCheck<view_of<Rows>, decltype(detail::view_or_none(banks)), decltype(detail::view_or_none(valid)),
                         decltype(detail::documents_of(cu_seqlens, 0)), decltype(detail::offsets_or_none(real))>;
    Check check{row_view,
                detail::view_or_none(banks),
                detail::view_or_none(valid),
                detail::documents_of(cu_seqlens, length),
                detail::offsets_or_none(real),
                {},
                0};
    const auto count = static_cast<std::int64_t>(info.size());
    if (count > detail::max_banks) return make_status(Kind::bank_range, 0, 0, detail::max_banks, count - 1);
    for (const BankInfo& bank : info)
        check.info[check.bank_count++] = bank;
    Status status;
    if constexpr (!detail::is_no_array<Banks>) status = detail::check_same_shape(row_view, check.banks, 2);
    if constexpr (!detail::is_no_array<Valid>) {
        if (status.ok()) status = detail::check_same_shape(row_view, check.valid, 3);
    }
    if constexpr (!detail::is_no_array<Cu>) {
        if (status.ok()) status = seqpar::check(check.documents, length);
    }
    if constexpr (!detail::is_no_array<Real>) {
        if (status.ok()) {
            status = seqpar::check(padded(Contiguous{}(length, 1), check.real, check.documents, check.real.last()));
        }
    }
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

// The greatest cut of at most `budget` tokens that cuts no span: tokens [0, cut) are kept. Spans do not overlap; any order.
// Budgets past the stream are kept as they are.
[[nodiscard]] constexpr std::int64_t safe_cut(std::int64_t budget, std::span<const TokenSpan> spans) {
    for (const TokenSpan& span : spans) {
        if (span.begin < budget && budget < span.end) return span.begin;
    }
    return budget;
}

// How many spans a cut keeps whole. Items are in stream order, so it is the first ones that stay.
[[nodiscard]] constexpr std::int64_t items_kept(std::int64_t cut, std::span<const TokenSpan> spans) {
    std::int64_t kept = 0;
    for (const TokenSpan& span : spans)
        kept += span.end <= cut ? 1 : 0;
    return kept;
}

}  // namespace seqpar
