// throw_together(): all ranks of a group throw the same Error, or none does. Not here: the checks (status_of, status.hpp).
#pragma once

#include <seqpar/exchange/agreement.hpp>
#include <seqpar/exchange/communicator.hpp>

#include <algorithm>
#include <limits>
#include <memory>

namespace seqpar {

namespace detail {

// Each value as the maximum over ranks, known on the host when it returns.
template <Communicator C>
void max_over_ranks(const C& comm, std::span<std::int64_t> values, typename C::Stream stream) {
    if constexpr (requires { comm.max_of_host(values, stream); }) {
        comm.max_of_host(values, stream);
    } else {
        std::unique_ptr<std::int64_t[]> buffer(new std::int64_t[values.size()]);
        std::copy(values.begin(), values.end(), buffer.get());
        auto group = comm.group();
        comm.all_reduce(group, buffer.get(), buffer.get(), static_cast<std::int64_t>(values.size()), DataType::int64,
                        Reduction::max, stream);
        close_or_keep<C>(group, buffer);
        std::copy_n(buffer.get(), values.size(), values.begin());
    }
}

inline constexpr std::int64_t least_int64 = (std::numeric_limits<std::int64_t>::min)();  // changes no maximum
// Codes are unsigned: with the upper bit turned they keep their order as signed numbers.
constexpr std::int64_t ordered(std::uint64_t code) {
    return static_cast<std::int64_t>(code ^ (std::uint64_t{1} << 63));
}
constexpr std::uint64_t code_of(std::int64_t number) {
    return static_cast<std::uint64_t>(number) ^ (std::uint64_t{1} << 63);
}

// What the ranks' lists differ in, of which the longest has `longest` entries; `whole` if no entry tells.
template <Communicator C>
Status first_difference(const C& comm, const Agreement& same, std::int64_t longest, const Status& whole,
                        typename C::Stream stream) {
    // Of an entry: its value, for the maximum and, turned, the minimum; its place, the same on all ranks.
    constexpr std::size_t numbers = 4;
    std::vector<std::int64_t> all(static_cast<std::size_t>(longest) * numbers, least_int64);
    auto at = all.begin();
    for (const Status& entry : same.entries()) {
        for (const std::int64_t number : {entry.got, ~entry.got, ordered(entry.code), entry.field})
            *at++ = number;
    }
    max_over_ranks(comm, all, stream);
    for (std::size_t i = 0; i < all.size(); i += numbers) {
        if (all[i] != ~all[i + 1]) return {code_of(all[i + 2]), ~all[i + 1], all[i], all[i + 3]};
    }
    return whole;
}

}  // namespace detail

// The worst Status of all ranks, the same on each: the greatest code, with the greatest of expected, got and field that ranks with
// that code have; where none is bad, the first thing that ranks were given unlike (Agreement). A collective: between others, no rank
// may throw on its own, or the rest wait for it.
// Synchronises: all ranks, and `stream` where host memory cannot be reduced. Launches: one all-reduce, two if something is wrong.
template <Communicator C>
[[nodiscard]] Status worst_of(const C& comm, const Status& status, const Agreement& same,
                              typename C::Stream stream = {}) {
    std::vector<std::int64_t> list;
    for (const Status& entry : same.entries()) {
        for (const std::int64_t number : {entry.got, detail::ordered(entry.code), entry.field})
            list.push_back(number);
    }
    const auto count = static_cast<std::int64_t>(same.entries().size());
    const std::int64_t hash = offsets_summary(list)[2];
    std::int64_t first[5] = {detail::ordered(status.code), count, ~count, hash, ~hash};
    detail::max_over_ranks(comm, first, stream);
    const std::uint64_t worst = detail::code_of(first[0]);
    if (worst == 0) {
        if (first[3] == ~first[4]) return {};
        const Status whole = make_status(Kind::agreement, 0, 0, ~first[2], first[1]);
        return detail::first_difference(comm, same, first[1], whole, stream);
    }
    std::int64_t rest[3] = {detail::least_int64, detail::least_int64, detail::least_int64};
    if (status.code == worst) {
        rest[0] = status.expected;
        rest[1] = status.got;
        rest[2] = status.field;
    }
    detail::max_over_ranks(comm, rest, stream);
    return {worst, rest[0], rest[1], rest[2]};
}
template <Communicator C>
[[nodiscard]] Status worst_of(const C& comm, const Status& status, typename C::Stream stream = {}) {
    return worst_of(comm, status, Agreement{}, stream);
}

// Throws that Status as an Error on every rank, unless it is good. Before an exchange, whose plans and types have to fit together:
//     const auto layout = packed(ZigZag{}, cu_seqlens, total, comm.size());
//     const auto batch = field(hidden, axis<0>, out);
//     ExchangePlan plan;
//     const Status mine = status_of([&] {
//         plan = plan_undo(layout, comm.rank());
//         exchange_batch(check_only, comm, plan, batch);
//     });
//     throw_together(comm, mine, Agreement().layout(layout).fields(batch));
//     exchange_batch(thrust::seq, comm, plan, batch);
template <Communicator C>
void throw_together(const C& comm, const Status& status, const Agreement& same, typename C::Stream stream = {}) {
    throw_if_bad(worst_of(comm, status, same, stream));
}
template <Communicator C>
void throw_together(const C& comm, const Status& status, typename C::Stream stream = {}) {
    throw_if_bad(worst_of(comm, status, stream));
}

}  // namespace seqpar
