// ExchangePlan: which rows of an array one rank sends where, and where it puts those that it receives. Plain arrays.
// Not here: making one from layouts (plans.hpp), and the exchange itself (exchange.hpp).
// Every function here: Synchronises: never. Allocates: the result. Launches: none. Reads offsets on: none.
#pragma once

#include <seqpar/layout/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace seqpar {

// A row is one entry of the axis along which is exchanged. Each rank has a plan of its own, and those of a group agree: what rank a
// has in its part for rank b is, row by row, what b has in its part from a. A part may be empty. The own part is of rows that stay:
// they are copied here and reach no communicator.
struct ExchangePlan {
    int rank = 0;
    std::int64_t rows_in = 0;                  // of the array that is read
    std::int64_t rows_out = 0;                 // of the array that is written
    std::vector<std::int64_t> send_rows;       // rows of the array that is read, by rank that gets them
    std::vector<std::int64_t> send_splits;     // [ranks] how many of them each rank gets, the own one included
    std::vector<std::int64_t> receive_rows;    // rows of the array that is written, by rank that they come from
    std::vector<std::int64_t> receive_splits;  // [ranks] how many come from each rank
    // Entries of receive_rows in order of row, where a row is among them more than once; else none. Such a plan can only add.
    std::vector<std::int64_t> repeats;

    [[nodiscard]] int ranks() const { return static_cast<int>(send_splits.size()); }
    [[nodiscard]] std::int64_t stays() const { return send_splits[static_cast<std::size_t>(rank)]; }
    friend bool operator==(const ExchangePlan&, const ExchangePlan&) = default;
};

namespace detail {

inline std::int64_t sum_of(const std::vector<std::int64_t>& splits) {
    return std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
}

struct ByRow {
    const std::int64_t* rows;
    bool operator()(std::int64_t a, std::int64_t b) const { return rows[a] < rows[b]; }
};

inline Status check_part(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& splits,
                         std::int64_t most, int array) {
    const auto count = static_cast<std::int64_t>(rows.size());
    std::int64_t rest = count;
    for (std::size_t r = 0; r < splits.size(); ++r) {
        if (splits[r] < 0 || splits[r] > rest)
            return make_status(Kind::length, array, static_cast<std::int64_t>(r), 0, splits[r]);
        rest -= splits[r];
    }
    if (rest != 0) return make_status(Kind::extent, array, 0, count - rest, count);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = rows[static_cast<std::size_t>(i)];
        if (row < 0 || row >= most) return make_status(Kind::row_range, array, i, most, row);
    }
    return {};
}

// repeats against the received rows, which are in range.
inline Status check_repeats(const ExchangePlan& plan) {
    const std::vector<std::int64_t>& rows = plan.receive_rows;
    const auto count = static_cast<std::int64_t>(rows.size());
    if (plan.repeats.empty()) {
        std::vector<bool> seen(static_cast<std::size_t>(plan.rows_out));
        for (const std::int64_t& row : rows) {
            if (seen[static_cast<std::size_t>(row)])
                return make_status(Kind::row_reused, 1, &row - rows.data(),
                                   std::find(rows.begin(), rows.end(), row) - rows.begin(), &row - rows.data());
            seen[static_cast<std::size_t>(row)] = true;
        }
        return {};
    }
    const Status status = check_part(plan.repeats, {count}, count, 1);
    if (!status.ok()) return status;
    bool again = false;  // a row comes twice
    for (std::int64_t i = 1; i < count; ++i) {
        const std::int64_t* const entry = plan.repeats.data() + i;
        const std::int64_t before = rows[static_cast<std::size_t>(entry[-1])];
        const std::int64_t row = rows[static_cast<std::size_t>(*entry)];
        if (before > row || (before == row && entry[-1] >= *entry))
            return make_status(Kind::table, 1, i, entry[-1], *entry, plan.rank);
        again = again || before == row;
    }
    return again ? Status{} : make_status(Kind::table, 1, 0, 0, count, plan.rank);
}

// The plan with its repeats, which follow from the rest.
inline ExchangePlan with_repeats(ExchangePlan plan) {
    plan.repeats.clear();
    if (check_repeats(plan).ok()) return plan;
    plan.repeats.resize(plan.receive_rows.size());
    std::iota(plan.repeats.begin(), plan.repeats.end(), std::int64_t{0});
    std::stable_sort(plan.repeats.begin(), plan.repeats.end(), ByRow{plan.receive_rows.data()});
    return plan;
}

inline void append_cell(std::string& line, const std::string& text, std::size_t width) {
    line += text;
    line.append(text.size() < width ? width - text.size() : 1, ' ');
}

// "0-3 8 5-6", cut off where it gets long.
inline std::string row_text(const std::int64_t* rows, std::int64_t count) {
    std::string text;
    for (std::int64_t i = 0; i < count;) {
        if (text.size() > 20) return text + " …";
        std::int64_t last = i;
        while (last + 1 < count && rows[last + 1] == rows[last] + 1)
            ++last;
        if (i > 0) text += ' ';
        text += std::to_string(rows[i]);
        if (last > i) text += '-' + std::to_string(rows[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace detail

// Whether a plan is one: splits that add up, rows that there are, repeats that are those of the received rows (row_reused: there are
// none although a row comes twice; table: they are not in order). Of the arrays, 0 is what is sent, 1 what is received. Cost: linear.
[[nodiscard]] inline Status check(const ExchangePlan& plan) {
    if (plan.rank < 0 || plan.rank >= plan.ranks())
        return make_status(Kind::rank, 0, 0, plan.ranks() - std::int64_t{1}, plan.rank);
    if (plan.receive_splits.size() != plan.send_splits.size())
        return make_status(Kind::extent, 1, 0, plan.ranks(), static_cast<std::int64_t>(plan.receive_splits.size()));
    for (const std::int64_t rows : {plan.rows_in, plan.rows_out}) {
        if (rows < 0) return make_status(Kind::length, plan.rows_in < 0 ? 0 : 1, 0, 0, rows);
    }
    const Status status = worse(detail::check_part(plan.send_rows, plan.send_splits, plan.rows_in, 0),
                                detail::check_part(plan.receive_rows, plan.receive_splits, plan.rows_out, 1));
    if (!status.ok()) return status;
    const std::int64_t arrives = plan.receive_splits[static_cast<std::size_t>(plan.rank)];
    if (arrives != plan.stays()) return make_status(Kind::extent, 1, 0, plan.stays(), arrives);
    return detail::check_repeats(plan);
}

// The way back, which is the adjoint where it adds: sum over ranks of <exchange(x), y> = <x, exchange(reversed, y)>.
[[nodiscard]] inline ExchangePlan reversed(ExchangePlan plan) {
    throw_if_bad(check(plan));
    std::swap(plan.rows_in, plan.rows_out);
    std::swap(plan.send_rows, plan.receive_rows);
    std::swap(plan.send_splits, plan.receive_splits);
    return detail::with_repeats(std::move(plan));
}

// The plan as a table, a line a rank: how many rows go there and come from there, and which. Errors: those of check.
[[nodiscard]] inline std::string describe(const ExchangePlan& plan) {
    throw_if_bad(check(plan));
    std::string text = "rank " + std::to_string(plan.rank) + " of " + std::to_string(plan.ranks()) + ": " +
                       std::to_string(plan.rows_in) + " rows to " + std::to_string(plan.rows_out) + "\n" +
                       "rank   sends     rows                        receives  rows\n";
    const std::int64_t* sent = plan.send_rows.data();
    const std::int64_t* received = plan.receive_rows.data();
    for (int r = 0; r < plan.ranks(); ++r) {
        const std::int64_t sends = plan.send_splits[static_cast<std::size_t>(r)];
        const std::int64_t receives = plan.receive_splits[static_cast<std::size_t>(r)];
        std::string line;
        detail::append_cell(line, std::to_string(r) + (r == plan.rank ? " own" : ""), 7);
        detail::append_cell(line, std::to_string(sends), 10);
        detail::append_cell(line, detail::row_text(sent, sends), 28);
        detail::append_cell(line, std::to_string(receives), 10);
        line += detail::row_text(received, receives);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        sent += sends;
        received += receives;
    }
    return text;
}

}  // namespace seqpar
