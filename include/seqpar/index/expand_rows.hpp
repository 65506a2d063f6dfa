// expand_rows(): streams in which one placeholder stands for a whole item, made as long as the decoder sees them.
// Not here: rows of streams that are that long already (rows.hpp).
#pragma once

#include <seqpar/index/check_rows.hpp>

namespace seqpar {

namespace detail {

// What expand_rows works on. Outputs without memory are not wanted.
template <class V, class M>
struct ExpandJob {
    static constexpr const char* operation = "seqpar::expand_rows";
    using Id = typename V::value_type;

    RowJob<V, M, NoArray, NoArray> tokens;
    Offsets<std::int64_t> items[max_banks];  // empty: of a bank whose placeholders stand for one row each
    std::int64_t first_row[max_banks];
    Line<Id> ids;
    Line<std::int32_t> rows;
    Line<std::int32_t> banks;
    Line<std::int64_t> sources;
    std::int64_t length = 0;  // of the outputs

    SEQPAR_HD const ExpandJob& expansion() const { return *this; }
    SEQPAR_HD std::int64_t total() const { return tokens.total(); }
    void count(std::int64_t first, std::int64_t last, NextRows& next) const { tokens.count(first, last, next); }

    // Where a token begins that has next.bank[b] placeholders of each bank before it.
    SEQPAR_HD std::int64_t place(std::int64_t token, const NextRows& next) const {
        for (int b = 0; b < max_banks; ++b) {
            if (items[b].count() > 0) token += item_begin(b, next.bank[b]) - next.bank[b];
        }
        return token;
    }

    SEQPAR_HD void write(std::int64_t first, std::int64_t last, NextRows& next) const {
        std::int64_t at = place(first, next);
        if (at < 0) return;  // only illegal items
        for (std::int64_t token = first; token < last; ++token) {
            const Piece piece = piece_at(token, token + 1, tokens.length(), 1);
            const Id id = entry(tokens.reader.stream.ids, piece.sample, piece.first);
            const int bank = tokens.bank_at(token);
            const std::int64_t item = bank < 0 ? 0 : next.bank[bank]++;
            if (bank < 0) {
                put(at++, id, -1, -1, token);
            } else if (items[bank].count() == 0) {
                put(at++, id, first_row[bank] + item, bank, token);
            } else {
                const std::int64_t end = item_begin(bank, item + 1);
                for (std::int64_t row = item_begin(bank, item); row < end && at < length; ++row)
                    put(at++, id, first_row[bank] + row, bank, -1);
            }
        }
    }

    // Whether a bank has as many placeholders as items, of all that there are, and whether its rows fit int32.
    SEQPAR_HD Status check_count(const NextRows& all, int b) const {
        return items[b].count() > 0 && all.bank[b] != items[b].documents()
                   ? make_status(Kind::row_count, b, total(), items[b].documents(), all.bank[b])
                   : Status{};
    }
    SEQPAR_HD Status check_last_row(const NextRows& all, int b) const {
        const std::int64_t end = items[b].count() > 0 ? items[b].last() : all.bank[b];
        return check_fits<std::int32_t>(first_row[b] + end - 1, b);
    }

    // What is wrong with the whole, `all` being the placeholders of each bank.
    SEQPAR_HD Status check_all(const NextRows& all, int bank_count) const {
        Status worst;
        for (int b = 0; b < bank_count; ++b)
            worst = worse(worst, worse(check_count(all, b), check_last_row(all, b)));
        const std::int64_t expected = place(total(), all);
        return length == expected ? worst : worse(worst, make_status(Kind::extent, 1, 0, expected, length));
    }

private:
    SEQPAR_HD std::int64_t item_begin(int bank, std::int64_t item) const {
        return items[bank][item < items[bank].count() ? item : items[bank].documents()];
    }
    SEQPAR_HD void put(std::int64_t at, Id id, std::int64_t row, std::int32_t bank, std::int64_t source) const {
        if (at >= length) return;  // on a device, where the counts are not known before
        ids[at] = id;
        rows[at] = static_cast<std::int32_t>(row);
        if (banks.data != nullptr) banks[at] = bank;
        if (sources.data != nullptr) sources[at] = source;
    }
};

// What expanded_offsets works on: where documents lie in what `expand` would write.
template <class V, class M, OffsetInteger Int, class T>
struct ExpandedOffsetJob {
    static constexpr const char* operation = "seqpar::expanded_offsets";
    ExpandJob<V, M> expand;
    Offsets<Int> documents;
    Line<T> out;

    SEQPAR_HD const ExpandJob<V, M>& expansion() const { return expand; }
    SEQPAR_HD std::int64_t total() const { return expand.total(); }
    void count(std::int64_t first, std::int64_t last, NextRows& next) const { expand.count(first, last, next); }

    // The documents that begin at one of these tokens; after the last of all tokens also those that end the stream.
    SEQPAR_HD void write(std::int64_t first, std::int64_t last, NextRows& next) const {
        std::int64_t d = first == 0 ? 0 : last_at_most(OffsetAt{documents}, 0, documents.count(), first - 1) + 1;
        std::int64_t token = first;
        for (; d < documents.count() && documents[d] < last; ++d) {
            walk(token, documents[d], next);
            out[d] = static_cast<T>(expand.place(documents[d], next));
        }
        walk(token, last, next);
        for (; last == total() && d < documents.count(); ++d)
            out[d] = static_cast<T>(expand.place(last, next));
    }

    SEQPAR_HD std::int64_t offset_count() const { return documents.count(); }
    SEQPAR_HD Status check_offset(std::int64_t i) const { return detail::check_offset(documents, total(), i); }
    SEQPAR_HD Status check_all(const NextRows& all, int bank_count) const {
        Status worst = check_fits<T>(expand.place(total(), all), 1);
        for (int b = 0; b < bank_count; ++b)
            worst = worse(worst, expand.check_count(all, b));
        return worst;
    }

private:
    struct OffsetAt {
        Offsets<Int> offsets;
        SEQPAR_HD std::int64_t operator()(std::int64_t i) const { return offsets[i]; }
    };
    SEQPAR_HD void walk(std::int64_t& token, std::int64_t to, NextRows& next) const {
#if defined(__CUDA_ARCH__)
        for (; token < to; ++token) {
            const int bank = expand.tokens.bank_at(token);
            if (bank >= 0) ++next.bank[bank];
        }
#else
        if (token < to) count(token, to, next);
        token = to;
#endif
    }
};

template <class V, class M, OffsetInteger Int, class T>
ExpandedOffsetJob<V, M, Int, T> expanded_offset_job(const ExpandJob<V, M>& expand, Offsets<Int> documents,
                                                    Line<T> out) {
    return {expand, documents, out};
}

// Zeros: the offsets of no token.
template <class T>
struct ZeroOffsets {
    static constexpr const char* operation = "seqpar::expanded_offsets";
    Line<T> out;
    std::int64_t total;

    SEQPAR_HD void operator()(std::int64_t first, std::int64_t last) const {
        write_value(out, first, last - first, T{0});
    }
};

template <class V, class M>
auto expand_job(const MaskedIds<V, M>& stream, const PlaceholderRules& rules, std::span<const BankInfo> info) {
    ExpandJob<V, M> job{row_job(stream, rules, NoArray{}, NoArray{}), {}, {}, {}, {}, {}, {}, 0};
    for (int b = 0; b < rules.banks(); ++b) {
        if (static_cast<std::size_t>(b) < info.size()) job.items[b] = info[static_cast<std::size_t>(b)].items;
        job.first_row[b] = rules.first_row(b);
    }
    return job;
}

// Items are counted from 0; bases are added where rows are written.
inline PlaceholderRules without_bases(const PlaceholderRules& rules) {
    PlaceholderRules plain;
    for (int i = 0; i < rules.count(); ++i)
        plain = plain.with(rules[i].placeholder, rules[i].bank);
    return plain;
}

// Whether each output has `length` entries. The first is array `array`; no array is right.
template <class Out>
Status check_length(std::int64_t length, int array, const Out& out) {
    if constexpr (!is_no_array<Out>) {
        if (out.extent(0) != length) return make_status(Kind::extent, array, 0, length, out.extent(0));
    }
    return {};
}
template <class... Outs>
Status check_lengths(std::int64_t length, int array, const Outs&... outs) {
    Status status;
    ((status = status.ok() ? check_length(length, array++, outs) : status), ...);
    return status;
}

// Whether there are as many placeholders as items. `next` gets the placeholders of each bank.
template <class Job>
Status check_item_count(const Job& job, const PlaceholderRules& rules, NextRows& next) {
    job.count(0, job.total(), next);
    for (int b = 0; b < rules.banks(); ++b) {
        const Offsets<std::int64_t>& items = job.items[b];
        if (items.count() == 0) continue;
        if (const Status status = check(items, items.last(), b); !status.ok()) return status;
        if (const Status status = job.check_count(next, b); !status.ok()) return status;
    }
    return {};
}

// What expand_rows(…) asks for. A host reads the tokens, to know how long the outputs have to be.
template <class D, class Ids, class OutIds, class Rows, class Banks, class Sources>
Status check_expand_rows(Ids&& ids, const PlaceholderRules& rules, std::span<const BankInfo> info, OutIds&& out_ids,
                         Rows&& rows, Banks&& banks, Sources&& sources) {
    const auto stream = stream_of(ids);
    const auto job = expand_job(stream, rules, info);
    const auto out_id_view = view(out_ids);
    const auto row_view = view(rows);
    const auto bank_view = view_or_none(banks);
    const auto source_view = view_or_none(sources);
    NextRows next;
    std::int64_t length = out_id_view.extent(0);
    Status status = check_rules<element_of<OutIds>>(rules, is_no_array<Banks>);
    if (status.ok()) status = check_stream<D>(stream, 5);
    if constexpr (is_host_exec<D>) {
        if (status.ok()) status = check_item_count(job, rules, next);
        if (status.ok()) length = job.place(job.total(), next);
    } else if (job.total() == 0) {  // no thread will tell
        length = 0;
        for (int b = 0; b < rules.banks() && status.ok(); ++b)
            status = job.check_count(next, b);
    }
    if (status.ok()) status = check_lengths(length, 1, out_id_view, row_view, bank_view, source_view);
    if (status.ok())
        status = check_outputs<4>(1, out_id_view, row_view, bank_view, source_view, stream.ids, stream.valid);
    for (int b = 0; b < rules.banks() && is_host_exec<D> && status.ok(); ++b)
        status = job.check_last_row(next, b);
    return status;
}

}  // namespace detail

// Where documents lie after expand_rows: out[d] is the place of token cu_seqlens[d] of the stream, and so the last entry is the
// length of the expanded stream. Shapes: out [documents + 1]. Errors, before anything is written: illegal offsets (of all tokens,
// sample by sample), items and placeholders of unlike number (row_count), shapes and overlap (Status::array: 0 ids, 1 out, 5 valid).
// The same result under every exec; on a device offsets, numbers and what `out` cannot hold are reported. Synchronises: never.
// Allocates: never; scratch on CUDA: build_rows_scratch_bytes. Launches: on CUDA 2, one scan (1 of no token). Reads offsets on: exec's
// device.
template <class D, class Ids, class R, IndexArray Out>
    requires(TokenStream<Ids> && detail::OffsetsFor<R, D>)
void expanded_offsets(const detail::ExecBase<D>& exec, Ids&& ids, const PlaceholderRules& rules,
                      std::span<const BankInfo> info, R&& cu_seqlens, Out&& out) {
    const auto stream = detail::stream_of(ids);
    const auto job = detail::expand_job(stream, rules, info);
    const auto documents = offsets(cu_seqlens);
    using Id = typename std::remove_const_t<decltype(job)>::Id;
    throw_if_bad(detail::check_rules<Id>(rules, false));
    throw_if_bad(detail::check_stream<D>(stream, 5));
    std::int64_t length = 0;
    if constexpr (detail::is_host_exec<D>) {
        detail::NextRows all;
        throw_if_bad(detail::check_item_count(job, rules, all));
        length = job.place(job.total(), all);
    }
    throw_if_bad(detail::check_for<D>(documents, job.total()));
    throw_if_bad(detail::check_index_array(out, documents.count(), length, 1));
    throw_if_bad(detail::check_apart(out, documents, 1));
    throw_if_bad(detail::check_overlap(view(out), 1, stream.ids, stream.valid));
    for (int b = 0; b < rules.banks(); ++b)
        throw_if_bad(detail::check_apart(out, job.items[b], 1));
    if (job.total() == 0) {
        run_index_work(detail::Dispatch{}, thrust::detail::derived_cast(exec),
                       detail::ZeroOffsets<element_of<Out>>{detail::line(out), documents.count()});
    } else {
        run_rows(detail::Dispatch{}, thrust::detail::derived_cast(exec),
                 detail::expanded_offset_job(job, documents, detail::line(out)), detail::without_bases(rules),
                 no_array);
    }
}

// The stream that the decoder sees, where one placeholder stands for a whole item (LLaVA): in the place of the k-th placeholder
// of a bank come the rows items[k] to items[k + 1] of that bank; other tokens stay. A bank without items keeps a row a placeholder.
// Rows run on through the stream, from each bank's base. ids: int32 or int64, [S] or [B, S] (as one stream, sample by sample), or
// masked. info: of each bank; only its items are looked at. Outputs, each [S'] (see expanded_offsets): out_ids of the type of
// ids, the placeholder's id on each of its rows; rows, banks: int32, -1 for text; sources: int64, the token that each came from, or -1 on
// the rows of an item, so that labels and masks follow by a gather whose fill is the ignore value (Indexed).
// Labels must not be shifted before, but after. Cut the result where you like, and allow check_rows a surplus.
// Errors, before anything is written: items and placeholders of unlike number (row_count: bank, items, placeholders), lengths and
// overlap (Status::array: 0 ids, 1 out_ids, 2 rows, 3 banks, 4 sources, 5 valid), a row that int32 does not hold, several banks without `banks`.
// The same result under every exec, where on a device counts, lengths and rows are only known, and reported, as it runs: no output is
// written past its end. Synchronises: never. Allocates: never; scratch on CUDA: build_rows_scratch_bytes. Launches: on CUDA 2, one scan (none
// for empty work). Reads offsets on: exec's device.
template <class D, class Ids, class OutIds, class Rows, class Banks = NoArray, class Sources = NoArray>
    requires TokenStream<Ids>
void expand_rows(const detail::ExecBase<D>& exec, Ids&& ids, const PlaceholderRules& rules,
                 std::span<const BankInfo> info, OutIds&& out_ids, Rows&& rows, Banks&& banks = Banks{},
                 Sources&& sources = Sources{}) {
    using Id = typename decltype(detail::stream_type<Ids>::ids)::value_type;
    static_assert(detail::RowArray<Rows, 1> && detail::BankArray<Banks, 1>, "rows and banks are int32 [S']");
    static_assert(detail::CountArray<Sources>, "sources are int64 [S']");
    static_assert(IndexArray<OutIds> && std::same_as<element_of<OutIds>, Id>, "out_ids has the type of ids");
    throw_if_bad(detail::check_expand_rows<D>(ids, rules, info, out_ids, rows, banks, sources));
    auto job = detail::expand_job(detail::stream_of(ids), rules, info);
    job.length = view(out_ids).extent(0);
    job.ids = detail::line(out_ids);
    job.rows = detail::line(rows);
    job.banks = detail::line_or_none<std::int32_t>(banks);
    job.sources = detail::line_or_none<std::int64_t>(sources);
    run_rows(detail::Dispatch{}, thrust::detail::derived_cast(exec), job, detail::without_bases(rules), no_array);
}

}  // namespace seqpar
