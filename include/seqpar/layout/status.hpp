// Status and Error: how a caller's mistake is reported, as a value and as an exception. Not here: any check itself.
#pragma once

#include <seqpar/detail/config.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace seqpar {

// What was wrong. The order is the severity: a max-reduce over ranks keeps the greatest.
enum class Kind : unsigned char {
    ok = 0,
    value_lost,         // a value does not fit the type that it is written in
    row_reused,         // a bank row that two tokens refer to
    row_range,          // a row number outside its bank
    row_forbidden,      // a placeholder where the rules allow none
    item_cut,           // a document border or an end of a stream inside a vision item
    row_count,          // placeholders and bank rows differ in number
    bank_range,         // a bank number that no bank has
    rule_repeated,      // two rules for one placeholder id
    pad_id,             // the id of pads is a placeholder's
    rule_count,         // more rules than there may be
    scratch,            // less scratch memory than an operation takes
    overlap,            // an output shares memory with what it is computed from
    read_only,          // an output that may not be written
    extent,             // an axis of an array has another length than its partner
    axes,               // an array has another number of axes
    element,            // an element of another size, or of a size that moves do not know
    axis_extent,        // the sequence axis has not the length that the layout calls for
    shard_count,        // not one shard a rank
    rank,               // a rank outside the group
    index_range,        // an entry of an index array that names no token
    plan,               // a plan that names no sample, or gives one to ranks that are no neighbours
    table,              // a table of runs that is no bijection
    offsets_order,      // an offset smaller than the one before it
    offsets_real,       // a document whose real length is longer than its padded one
    offsets_total,      // the last offset is not the total
    offsets_first,      // the first offset is not 0
    offsets_count,      // no offset at all, or two offset arrays of unlike length
    document_multiple,  // a document whose length the layout cannot deal out
    multiple,           // a length of the whole sequence that the layout cannot deal out
    length,             // a negative length, or one that overflows
    policy,             // a parameter of a policy that makes no sense
    ranks,              // a group of no rank
    agreement,          // ranks of one group that were given different offsets, layouts or element types
    reduction,          // a sum of gradients that is not due, or done already
};

// The groups that a job's ranks are split into: what a Status of kind reduction names as its array.
enum class GroupAxis : unsigned char { cp, tp, dp, pp };

// The result of a check, 32 bytes, trivially copyable, comparable over ranks: the greatest `code` is the most severe kind, of
// one kind the last array, and there the first document or position.
struct Status {
    std::uint64_t code = 0;  // kind in 8 bits, array or bank in 8, complement of document or position in 48; 0 is good
    std::int64_t expected = 0;  // in the unit of the kind
    std::int64_t got = 0;
    std::int64_t field = 0;  // a further locator: axis, rank, item, or position inside a document

    [[nodiscard]] SEQPAR_HD constexpr bool ok() const { return code == 0; }
    [[nodiscard]] SEQPAR_HD constexpr Kind kind() const { return static_cast<Kind>(code >> 56); }
    [[nodiscard]] SEQPAR_HD constexpr int array() const { return static_cast<int>((code >> 48) & 0xFF); }
    [[nodiscard]] SEQPAR_HD constexpr std::int64_t index() const {
        return static_cast<std::int64_t>(~code & index_mask);
    }
    friend SEQPAR_HD constexpr bool operator==(const Status&, const Status&) = default;

    static constexpr std::uint64_t index_mask = (std::uint64_t{1} << 48) - 1;
};
static_assert(sizeof(Status) == 32);

// A Status of `kind` about array (or bank) `array` at document or position `index`.
[[nodiscard]] SEQPAR_HD constexpr Status make_status(Kind kind, int array, std::int64_t index, std::int64_t expected,
                                                     std::int64_t got, std::int64_t field = 0) {
    const std::uint64_t head =
        (std::uint64_t{static_cast<unsigned char>(kind)} << 8) | (static_cast<unsigned>(array) & 0xFFu);
    return {(head << 48) | (~static_cast<std::uint64_t>(index) & Status::index_mask), expected, got, field};
}

// The worse of two: what a max-reduce over ranks picks.
[[nodiscard]] SEQPAR_HD constexpr Status worse(const Status& a, const Status& b) { return b.code > a.code ? b : a; }

namespace detail {

// Words in the place of numbers from 0 on.
struct Names {
    const char* const* list = nullptr;
    int count = 0;
};
inline constexpr const char* axis_names[] = {"CP", "TP", "DP", "PP"};
inline constexpr const char* sum_names[] = {"none", "an all-reduce of the bank's", "a reduce-scatter of the bank's",
                                            "a sum of the weights'"};

// A place that begins with '?' is told from 1 on only: at 0 it is the first, or there is none.
struct KindText {
    const char* name;      // also the `kind` that programs print
    const char* what;      // the rule that was broken
    const char* array;     // what Status::array counts; null: nothing
    const char* index;     // what Status::index counts; null: nothing
    const char* field;     // what Status::field counts; null: nothing
    const char* expected;  // the unit of Status::expected
    Names array_names{};   // of Status::array
    Names names{};         // of what was expected and what came
};

constexpr KindText kind_text(Kind kind) {
    switch (kind) {
        case Kind::ok: return {"ok", "nothing is wrong", nullptr, nullptr, nullptr, ""};
        case Kind::value_lost:
            return {"value_lost", "a value does not fit the type it is written in", "array", "?position", nullptr,
                    "at most "};
        case Kind::row_reused:
            return {"row_reused", "two tokens refer to one bank row",
                    "bank",       "position",
                    nullptr,      "first use at position "};
        case Kind::row_range:
            return {"row_range", "a row number is outside its bank", "bank", "position", nullptr, "a row below "};
        case Kind::row_forbidden:
            return {"row_forbidden", "a vision token stands where none may be", "bank", "position", nullptr, "row "};
        case Kind::item_cut: return {"item_cut", "a vision item is not whole", "bank", "position", "item", "rows "};
        case Kind::row_count:
            return {"row_count", "placeholders and bank rows differ in number", "bank", "position", "item", "rows "};
        case Kind::bank_range:
            return {"bank_range", "a bank number is out of range", nullptr, "position", nullptr, "a bank below "};
        case Kind::rule_repeated:
            return {"rule_repeated",    "two rules have one placeholder id", nullptr, "rule", nullptr,
                    "an id other than "};
        case Kind::pad_id:
            return {"pad_id", "the id of pads is a placeholder", "bank", "rule", nullptr, "an id other than "};
        case Kind::rule_count:
            return {"rule_count", "there are too many placeholder rules", nullptr, nullptr, nullptr, "at most "};
        case Kind::scratch:
            return {"scratch", "the scratch memory of the exec is too small", nullptr, nullptr, nullptr, "bytes "};
        case Kind::overlap:
            return {"overlap", "an output shares memory with an input", "array", "?rank", nullptr, "shared bytes "};
        case Kind::read_only: return {"read_only", "an output is read-only", "array", "?rank", nullptr, ""};
        case Kind::extent:
            return {"extent", "an axis has another length than its partner", "array", "?rank", "axis", "length "};
        case Kind::axes: return {"axes", "an array has another number of axes", "array", "?rank", nullptr, "axes "};
        case Kind::element: return {"element", "an element has another size", "array", "?rank", nullptr, "bytes "};
        case Kind::axis_extent:
            return {"axis_extent", "the sequence axis does not fit the layout", "array", "?rank", "axis", "length "};
        case Kind::shard_count:
            return {"shard_count", "there must be one shard a rank", nullptr, nullptr, nullptr, "shards "};
        case Kind::rank: return {"rank", "a rank is outside its group", nullptr, nullptr, nullptr, "a rank from 0 to "};
        case Kind::index_range:
            return {"index_range", "an index is outside the array that it reads", nullptr, "slot", nullptr, "at most "};
        case Kind::plan:
            return {"plan", "a sample of a plan is none, or its ranks are no neighbours", nullptr, "sample", "rank",
                    ""};
        case Kind::table: return {"table", "a table of runs is no bijection", nullptr, "run", "rank", ""};
        case Kind::offsets_order:
            return {"offsets_order", "cu_seqlens decreases", "array", "document", "?sample", "an offset of at least "};
        case Kind::offsets_real:
            return {"offsets_real", "a document is longer than its padded length", nullptr, "document", nullptr,
                    "at most "};
        case Kind::offsets_total:
            return {"offsets_total", "the last entry of cu_seqlens is not the total", "array", nullptr, "?sample", ""};
        case Kind::offsets_first:
            return {"offsets_first", "the first entry of cu_seqlens is not 0", "array", nullptr, "?sample", ""};
        case Kind::offsets_count:
            return {"offsets_count", "cu_seqlens has a wrong number of entries", "array", nullptr, nullptr, "entries "};
        case Kind::document_multiple:
            return {"document_multiple",
                    "a document's length is not what the layout can deal out",
                    nullptr,
                    "document",
                    nullptr,
                    "a multiple of "};
        case Kind::multiple:
            return {"multiple",      "the length is not what the layout can deal out", nullptr, nullptr, nullptr,
                    "a multiple of "};
        case Kind::length:
            return {"length", "a length is negative or overflows", "?array", "?entry", nullptr, "at least "};
        case Kind::policy:
            return {"policy", "a parameter of a policy makes no sense", nullptr, "?entry", nullptr, "at least "};
        case Kind::ranks: return {"ranks", "too few ranks", nullptr, "?sample", nullptr, "at least "};
        case Kind::agreement:
            return {"agreement", "ranks of one group were given unlike things", "?array", nullptr, "number", ""};
        case Kind::reduction:
            return {"reduction", "a sum of gradients is not the one that is due",
                    "axis",      nullptr,
                    nullptr,     "",
                    {axis_names, 4}, {sum_names, 4}};
    }
    return {"unknown", "unknown kind of status", "array", "index", "field", ""};
}

inline std::string spelled(std::int64_t value, const Names& names = {}) {
    return value >= 0 && value < names.count ? names.list[value] : std::to_string(value);
}

inline void append_place(std::string& where, const char* word, std::int64_t value, const Names& names = {}) {
    if (word == nullptr) return;
    const bool from_1 = *word == '?';
    if (!from_1 || value != 0) where += std::string(word + from_1) + " " + spelled(value, names) + ", ";
}

}  // namespace detail

// The name of a kind as programs print it.
[[nodiscard]] inline std::string name(Kind kind) { return detail::kind_text(kind).name; }

// One line that says what was wrong, where, what was expected and what came.
[[nodiscard]] inline std::string describe(const Status& s) {
    const detail::KindText t = detail::kind_text(s.kind());
    std::string line = t.what;
    if (s.ok()) return line;
    std::string where;
    detail::append_place(where, t.array, s.array(), t.array_names);
    detail::append_place(where, t.index, s.index());
    detail::append_place(where, t.field, s.field);
    return line + ": " + where + "expected " + t.expected + detail::spelled(s.expected, t.names) + ", got " +
           detail::spelled(s.got, t.names);
}

// Thrown for a caller's mistake that is found on the host, before anything is launched or written.
class Error : public std::invalid_argument {
public:
    explicit Error(const Status& status) : std::invalid_argument(describe(status)), status_(status) {}

    [[nodiscard]] const Status& status() const noexcept { return status_; }

private:
    Status status_;
};

namespace detail {

// Host: throws. Device: does nothing, because the checks that write a Status there are what reports (docs/design.md).
SEQPAR_HD inline void raise([[maybe_unused]] const Status& status) {
#if !defined(__CUDA_ARCH__)
    throw Error(status);
#endif
}

SEQPAR_HD constexpr void require(const Status& status) {
    if (!status.ok()) raise(status);
}

}  // namespace detail

// Throws Error unless the check that gave `status` was good (on the device it does nothing). What a policy of your own calls.
SEQPAR_HD constexpr void throw_if_bad(const Status& status) { detail::require(status); }

// What call() reports by an Error, as a Status, for code that must not throw: between collectives, say, where a max-reduce
// finds the worst first. With the exec check_only in the call, an operation checks all and does nothing:
//     const Status status = status_of([&] { shard(check_only, layout, rank, ids, axis<1>, local_ids); });
// What has no exec (plans, offsets of attention kernels, policies) does its work and is as good a check. Other exceptions pass.
template <class Call>
[[nodiscard]] Status status_of(const Call& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.status();
    }
    return {};
}

}  // namespace seqpar
