// build_rows(): which bank row each token of the unsplit stream wants. Split the result as the tokens are split.
// Not here: checks of rows against a bank and its items, and the moves that use rows (move/vision_gather.hpp).
#pragma once

#include <seqpar/index/detail/index_array.hpp>
#include <seqpar/index/detail/row_scan.hpp>
#include <seqpar/index/detail/samples.hpp>
#include <seqpar/scratch.hpp>

#include <initializer_list>
#include <limits>

namespace seqpar {

// Token id `placeholder` stands for the next row of bank `bank`.
struct PlaceholderRule {
    std::int64_t placeholder = 0;
    int bank = 0;
};

// Up to 8 rules over up to 8 banks; ids may be negative, and several may share a bank, in stream order. A small value.
class PlaceholderRules {
public:
    static constexpr int max_rules = detail::max_rules;
    static constexpr int max_banks = detail::max_banks;

    PlaceholderRules() = default;

    [[nodiscard]] SEQPAR_HD constexpr int count() const { return count_; }
    [[nodiscard]] SEQPAR_HD constexpr const PlaceholderRule& operator[](int i) const { return rules_[i]; }
    // One more than the greatest bank.
    [[nodiscard]] SEQPAR_HD constexpr int banks() const { return banks_; }
    // The first row of a bank, 0 unless base() gave it.
    [[nodiscard]] SEQPAR_HD constexpr std::int64_t first_row(int bank) const { return first_rows_[bank]; }
    [[nodiscard]] SEQPAR_HD constexpr bool has_base() const { return has_base_; }

    // The same rules and one more. Errors: more than 8, a bank outside [0, 8), an id that has a rule.
    [[nodiscard]] SEQPAR_HD constexpr PlaceholderRules with(std::int64_t placeholder, int bank) const {
        PlaceholderRules more = *this;
        if (count_ >= max_rules) detail::raise(make_status(Kind::rule_count, 0, 0, max_rules, count_ + 1));
        if (bank < 0 || bank >= max_banks) detail::raise(make_status(Kind::bank_range, 0, count_, max_banks, bank));
        for (int i = 0; i < count_; ++i) {
            if (rules_[i].placeholder == placeholder) {
                detail::raise(make_status(Kind::rule_repeated, 0, count_, placeholder, placeholder));
            }
        }
        more.rules_[more.count_++] = {placeholder, bank};
        if (bank >= banks_) more.banks_ = bank + 1;
        return more;
    }

    // The same rules with the first row of each bank, from bank 0 on: for banks that are one array, or a stream that
    // was cut on its left. Error: a row outside [0, 2^31), or more than 8 banks.
    [[nodiscard]] constexpr PlaceholderRules base(std::initializer_list<std::int64_t> first_rows) const {
        PlaceholderRules moved = *this;
        moved.has_base_ = true;
        int bank = 0;
        for (const std::int64_t row : first_rows) {
            if (bank >= max_banks) detail::raise(make_status(Kind::bank_range, 0, 0, max_banks, bank));
            if (row < 0 || row > (std::numeric_limits<std::int32_t>::max)()) {
                detail::raise(make_status(Kind::row_range, bank, 0, std::int64_t{1} << 31, row));
            }
            moved.first_rows_[bank++] = row;
        }
        return moved;
    }

private:
    PlaceholderRule rules_[max_rules] = {};
    std::int64_t first_rows_[max_banks] = {};
    int count_ = 0;
    int banks_ = 0;
    bool has_base_ = false;
};

// The rules in a list: placeholders({{151655, 0}, {151656, 1}}). Errors: as PlaceholderRules::with.
[[nodiscard]] constexpr PlaceholderRules placeholders(std::initializer_list<PlaceholderRule> list) {
    PlaceholderRules rules;
    for (const PlaceholderRule& rule : list)
        rules = rules.with(rule.placeholder, rule.bank);
    return rules;
}

namespace detail {

template <class V, class M>
struct MaskedIds {
    V ids;
    M valid;
};
template <class X>
inline constexpr bool is_masked_ids = false;
template <class V, class M>
inline constexpr bool is_masked_ids<MaskedIds<V, M>> = true;

template <class X>
concept TokenIds = Tensor<X> && requires {
    requires(axes_of<X> == 1 || axes_of<X> == 2);
    requires IndexInteger<element_of<X>>;
};

}  // namespace detail

// ids that may be placeholders only where `valid` is not 0: elsewhere they are text (padding, tokens that a policy
// made). Shapes: alike. valid: any integers or bool. Views: both must outlive the call that takes the result.
template <detail::TokenIds Ids, BorrowedTensor Valid>
    requires(BorrowedTensor<Ids> && axes_of<Ids> == axes_of<Valid> && std::integral<element_of<Valid>>)
[[nodiscard]] constexpr auto masked(Ids&& ids, Valid&& valid) {
    return detail::MaskedIds<view_of<Ids>, view_of<Valid>>{view(ids), view(valid)};
}

// Token ids of a stream, [S] or [B, S], with a mask or without.
template <class X>
concept TokenStream = detail::is_masked_ids<std::remove_cvref_t<X>> || detail::TokenIds<X>;

namespace detail {

template <class X>
constexpr auto stream_of(X& x) {
    if constexpr (is_masked_ids<std::remove_cv_t<X>>) {
        return x;
    } else {
        return MaskedIds<view_of<X>, NoArray>{view(x), {}};
    }
}
// Whether ids and their mask, array `array`, go together and can be read.
template <class D = CheckOnly, class V, class M>
Status check_stream(const MaskedIds<V, M>& stream, int array = 3) {
    Status status = check_view<D>(stream.ids);
    if constexpr (!std::is_same_v<M, NoArray>) {
        if (status.ok()) status = check_same_shape(stream.ids, stream.valid, array);
        if (status.ok()) status = check_view<D>(stream.valid);
    }
    return status;
}
template <class X>
using stream_type = decltype(stream_of(std::declval<std::remove_reference_t<X>&>()));
template <class X>
inline constexpr int stream_axes = static_cast<int>(decltype(stream_type<X>::ids)::rank());

template <class X>
inline constexpr bool is_no_array = std::is_same_v<std::remove_cvref_t<X>, NoArray>;

// What row and bank arrays are: int32, shaped as the stream.
template <class X, int Axes>
concept RowArray = WritableTensor<X> && requires {
    requires(axes_of<X> == Axes);
    requires std::same_as<element_of<X>, std::int32_t>;
};

// The ids of a piece, in `buffer` unless they lie in memory so. Masked ones get an id without rule.
template <class V, class M>
struct IdReader {
    using Id = typename V::value_type;

    MaskedIds<V, M> stream;
    Id text;

    bool in_place() const {
        if constexpr (std::is_same_v<M, NoArray> && StridedTensor<V>) {
            return stream.ids.stride(V::rank() - 1) == 1;
        } else {
            return false;
        }
    }
    const Id* read(const Piece& piece, Id* buffer) const {
        if constexpr (std::is_same_v<M, NoArray> && StridedTensor<V>) {
            if (in_place()) return sample_line(stream.ids, piece.sample).data + piece.first;
        }
        for (std::int64_t i = 0; i < piece.count; ++i) {
            buffer[i] = entry(stream.ids, piece.sample, piece.first + i);
            if constexpr (!std::is_same_v<M, NoArray>) {
                if (!static_cast<bool>(entry(stream.valid, piece.sample, piece.first + i))) buffer[i] = text;
            }
        }
        return buffer;
    }
};

// What build_rows works on. Rows: a view. Banks: a view or NoArray.
template <class V, class M, class Rows, class Banks>
struct RowJob {
    using Id = typename V::value_type;
    static constexpr bool with_banks = !std::is_same_v<Banks, NoArray>;
    static constexpr std::int64_t part = 512;  // ids that a buffer holds

    RowRules<Id> rules;
    IdReader<V, M> reader;
    Rows rows;
    Banks banks;

    SEQPAR_HD std::int64_t length() const { return length_of(reader.stream.ids); }
    SEQPAR_HD std::int64_t total() const { return samples_of(reader.stream.ids) * length(); }

    // The bank of a token, -1 for text.
    SEQPAR_HD int bank_at(std::int64_t token) const {
        const Piece at = piece_at(token, token + 1, length(), 1);
        if constexpr (!std::is_same_v<M, NoArray>) {
            if (!static_cast<bool>(entry(reader.stream.valid, at.sample, at.first))) return -1;
        }
        // Every index known when it is compiled: otherwise each thread makes itself a copy of the rules in local memory.
        const auto id = entry(reader.stream.ids, at.sample, at.first);
        int bank = -1;
        for (int rule = 0; rule < max_rules; ++rule)
            bank = rule < rules.count && id == rules.ids[rule] ? rules.banks[rule] : bank;
        return bank;
    }

    // Tokens are numbered sample by sample.
    void count(std::int64_t first, std::int64_t last, NextRows& next) const {
        Id buffer[part];
        while (first < last) {
            const Piece piece = piece_at(first, last, length(), reader.in_place() ? last : part);
            count_rows(rules, reader.read(piece, buffer), piece.count, next);
            first += piece.count;
        }
    }

    void write(std::int64_t first, std::int64_t last, NextRows& next) const {
        Id ids[part];
        std::int32_t row_buffer[part];
        std::int32_t bank_buffer[with_banks ? part : 1];
        const bool rows_in_place = rows.stride(Rows::rank() - 1) == 1;
        bool banks_in_place = true;
        if constexpr (with_banks) banks_in_place = banks.stride(Banks::rank() - 1) == 1;
        const bool in_place = reader.in_place() && rows_in_place && banks_in_place;
        while (first < last) {
            const Piece piece = piece_at(first, last, length(), in_place ? last : part);
            const Line<std::int32_t> row_line = sample_line(rows, piece.sample);
            std::int32_t* const to_rows = rows_in_place ? row_line.data + piece.first : row_buffer;
            std::int32_t* to_banks = bank_buffer;
            if constexpr (with_banks) {
                if (banks_in_place) to_banks = sample_line(banks, piece.sample).data + piece.first;
            }
            scan_rows<with_banks>(rules, reader.read(piece, ids), piece.count, to_rows, to_banks, next);
            if (!rows_in_place) {
                for (std::int64_t i = 0; i < piece.count; ++i)
                    row_line[piece.first + i] = row_buffer[i];
            }
            if constexpr (with_banks) {
                if (!banks_in_place) {
                    const Line<std::int32_t> bank_line = sample_line(banks, piece.sample);
                    for (std::int64_t i = 0; i < piece.count; ++i)
                        bank_line[piece.first + i] = bank_buffer[i];
                }
            }
            first += piece.count;
        }
    }
};

// A block counts its placeholders, or writes its rows from `next[block]` on; both leave the sums there.
template <class Job>
struct CountBlock {
    const Job* job;
    Blocks blocks;
    NextRows* next;
    void operator()(std::int64_t block) const { job->count(blocks.first(block), blocks.last(block), next[block]); }
};
template <class Job>
struct WriteBlock {
    const Job* job;
    Blocks blocks;
    NextRows* next;
    void operator()(std::int64_t block) const { job->write(blocks.first(block), blocks.last(block), next[block]); }
};

inline NextRows first_rows(const PlaceholderRules& rules) {
    NextRows next;
    for (int bank = 0; bank < max_banks; ++bank)
        next.bank[bank] = rules.first_row(bank);
    return next;
}

// One pass where exec has one thread. Else blocks count, their counts are summed up, and the blocks write. Leaves in
// `next` one more than the last row of each bank.
template <HostExec D, class Job>
void scan_stream(const D& exec, const Job& job, NextRows& next) {
    const Blocks blocks = blocks_for(exec, job.total());
    if (blocks.count() <= 1) {
        for_each_index(exec, blocks.count(), WriteBlock<Job>{&job, blocks, &next});
        return;
    }
    NextRows block_rows[Blocks::most] = {};
    for_each_index(exec, blocks.count(), CountBlock<Job>{&job, blocks, block_rows});
    for (std::int64_t block = 0; block < blocks.count(); ++block) {
        for (int bank = 0; bank < max_banks; ++bank) {
            const std::int64_t found = block_rows[block].bank[bank];
            block_rows[block].bank[bank] = next.bank[bank];
            next.bank[bank] += found;
        }
    }
    for_each_index(exec, blocks.count(), WriteBlock<Job>{&job, blocks, block_rows});
}

template <HostExec D, class Job, class Counts>
void run_rows(Dispatch, const D& exec, const Job& job, const PlaceholderRules& rules, Counts& counts) {
    if constexpr (std::is_same_v<D, CheckOnly>) return;
    NextRows next = first_rows(rules);
    scan_stream(exec, job, next);
    if constexpr (!is_no_array<Counts>) {
        const auto to = line(counts);
        for (int bank = 0; bank < rules.banks(); ++bank)
            to[bank] = next.bank[bank] - rules.first_row(bank);
    }
}
template <class D, class... Rest>
void run_rows(NoBackend, const D&, const Rest&...) {
    no_backend<D>();
}

// Whether ids of type Id can be told by the rules, and rows of one array by bank.
template <class Id>
Status check_rules(const PlaceholderRules& rules, bool one_array) {
    constexpr std::int64_t most = (std::numeric_limits<Id>::max)();
    for (int i = 0; i < rules.count(); ++i) {
        const std::int64_t id = rules[i].placeholder;
        if (id > most || id < -most - 1) return make_status(Kind::value_lost, 0, i, most, id);
    }
    return one_array && rules.banks() > 1 && !rules.has_base()
               ? make_status(Kind::bank_range, 0, 0, 1, rules.banks() - 1)
               : Status{};
}

// The rules with ids in another type, which must hold them.
template <class Id>
RowRules<Id> rules_as(const PlaceholderRules& rules) {
    RowRules<Id> narrow;
    for (int bank = 0; bank < rules.banks(); ++bank) {
        for (int i = 0; i < rules.count(); ++i) {
            if (rules[i].bank != bank) continue;
            narrow.ids[narrow.count] = static_cast<Id>(rules[i].placeholder);
            narrow.banks[narrow.count++] = bank;
        }
    }
    return narrow;
}

// An id that has no rule.
template <class Id>
Id id_without_rule(const RowRules<Id>& rules) {
    Id id = 0;
    while (rules.find(id) >= 0)
        ++id;
    return id;
}

template <class V, class M, class Rows, class Banks>
auto row_job(const MaskedIds<V, M>& stream, const PlaceholderRules& rules, const Rows& rows, const Banks& banks) {
    using Id = typename V::value_type;
    const RowRules<Id> narrow = rules_as<Id>(rules);
    return RowJob<V, M, Rows, Banks>{narrow, {stream, id_without_rule(narrow)}, rows, banks};
}

template <class X>
constexpr auto view_or_none(X& x) {
    if constexpr (is_no_array<X>) {
        return NoArray{};
    } else {
        return view(x);
    }
}

template <class T, class X>
Line<T> line_or_none(X& x) {
    if constexpr (is_no_array<X>) {
        return {};
    } else {
        return line(x);
    }
}

// The first placeholder whose row leaves int32, looked for only where there are enough tokens for one.
template <class Job>
Status check_row_range(const Job& job, NextRows next, int banks) {
    constexpr std::int64_t most = (std::numeric_limits<std::int32_t>::max)();
    bool can = false;
    for (int bank = 0; bank < banks; ++bank)
        can = can || next.bank[bank] > most + 1 - job.total();
    if (!can) return {};
    for (std::int64_t i = 0; i < job.total(); ++i) {
        const int bank = job.bank_at(i);
        if (bank < 0) continue;
        const std::int64_t row = next.bank[bank]++;
        if (row > most) return make_status(Kind::value_lost, bank, i, most, row);
    }
    return {};
}

// The arrays that build_rows can do without.
template <class X, int Axes>
concept BankArray = is_no_array<X> || RowArray<X, Axes>;
template <class X>
concept CountArray = is_no_array<X> || requires {
    requires IndexArray<X>;
    requires(sizeof(element_of<X>) == 8);
};

}  // namespace detail

// What build_rows writes: rows and banks int32 of the stream's shape, counts int64 [banks]. NoArray where there is
// none.
template <class Rows, class Ids, class Banks = NoArray, class Counts = NoArray>
concept RowsOf = TokenStream<Ids> && detail::RowArray<Rows, detail::stream_axes<Ids>> &&
                 detail::BankArray<Banks, detail::stream_axes<Ids>> && detail::CountArray<Counts>;

namespace detail {

// What build_rows(…) asks for. One pass over the shapes; a host reads the tokens only where they are so many, or the first rows so
// great, that a row could leave int32.
template <class D, class Ids, class Rows, class Banks, class Counts>
Status check_build_rows(Ids&& ids, const PlaceholderRules& rules, Rows&& rows, Banks&& banks, Counts&& counts) {
    const auto stream = stream_of(ids);
    const auto row_view = view(rows);
    const auto bank_view = view_or_none(banks);
    const auto count_view = view_or_none(counts);
    using Id = typename std::remove_cvref_t<decltype(stream.ids)>::value_type;
    Status status = check_rules<Id>(rules, is_no_array<Banks>);
    if (status.ok()) status = check_same_shape(stream.ids, row_view, 1);
    if constexpr (!is_no_array<Banks>) {
        if (status.ok()) status = check_same_shape(stream.ids, bank_view, 2);
    }
    if (status.ok()) status = check_stream<D>(stream);
    if constexpr (!is_no_array<Counts>) {
        if (status.ok() && count_view.extent(0) != rules.banks()) {
            status = make_status(Kind::extent, 4, 0, rules.banks(), count_view.extent(0), 0);
        }
    }
    if (status.ok()) status = check_outputs<2>(1, row_view, bank_view, count_view, stream.ids, stream.valid);
    if (status.ok()) status = check_overlap(count_view, 4, stream.ids, stream.valid);
    if (!status.ok() || !is_host_exec<D>) return status;
    return check_row_range(row_job(stream, rules, row_view, bank_view), first_rows(rules), rules.banks());
}

}  // namespace detail

// The most scratch that build_rows and expand_rows take from a CUDA exec's allocator for `tokens` tokens under rules of `banks` banks.
[[nodiscard]] constexpr std::int64_t build_rows_scratch_bytes(std::int64_t tokens, int banks) {
    return detail::scan_scratch_bytes(tokens, (banks <= 1 ? 1 : detail::max_banks) * 8);
}

// For each token of the unsplit stream the bank row that it wants: rows[…, t] = first row + the number of placeholders
// of its bank before it, and -1 for text; banks[…, t] = its bank, -1 for text. Samples are numbered one after the
// other, whatever the strides of [B, S]. Do it once, before the split, and split `rows` and `banks` as the tokens:
// counting on a shard would start again at row 0 (docs/design.md). ids: [S] or [B, S] of int32 or int64, or
// masked(ids, valid). rows, banks: int32 of that shape; without `banks` the rules name one bank, or give each its
// base(…), so that the rows of one array of banks are told apart. counts: int64 [rules.banks()], how many placeholders
// each bank has; no_array leaves it or `banks` out. Errors, before anything is written: shapes (Status::array: 0 ids, 1
// rows, 2 banks, 3 valid, 4 counts), overlap, several banks without `banks`, a placeholder that the ids' type does not
// hold, a row that int32 does not hold (there `array` is the bank and `index` the token). One pass under an exec of one
// thread, else a count, a sum over at most 256 blocks and a pass: the same result under each. Synchronises: never.
// Allocates: never; scratch on CUDA: build_rows_scratch_bytes. Launches: on CUDA 2, one scan (none for empty work, but a memset of counts).
// On a device rows that int32 does not hold become -1, and are reported. Reads offsets on: none.
template <class D, class Ids, class Rows, class Banks = NoArray, class Counts = NoArray>
    requires RowsOf<Rows, Ids, Banks, Counts>
void build_rows(const detail::ExecBase<D>& exec, Ids&& ids, const PlaceholderRules& rules, Rows&& rows,
                Banks&& banks = Banks{}, Counts&& counts = Counts{}) {
    throw_if_bad(detail::check_build_rows<D>(ids, rules, rows, banks, counts));
    const auto job = detail::row_job(detail::stream_of(ids), rules, view(rows), detail::view_or_none(banks));
    run_rows(detail::Dispatch{}, thrust::detail::derived_cast(exec), job, rules, counts);
}

}  // namespace seqpar
