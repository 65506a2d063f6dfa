// throw_together(): all ranks of a group throw the same Error, or none does. Not here: the checks (status_of, status.hpp).
#pragma once

#include <seqpar/exchange/communicator.hpp>

#include <limits>

namespace seqpar {

namespace detail {

// Each value as the maximum over ranks, known on the host when it returns.
template <Communicator C>
void max_over_ranks(const C& comm, std::span<std::int64_t> values, typename C::Stream stream) {
    if constexpr (requires { comm.max_of_host(values, stream); }) {
        comm.max_of_host(values, stream);
    } else {
        auto group = comm.group();
        comm.all_reduce(group, values.data(), values.data(), static_cast<std::int64_t>(values.size()), DataType::int64,
                        Reduction::max, stream);
        group.close();
    }
}

}  // namespace detail

// The worst Status of all ranks, the same on each: the greatest code, with the greatest of expected, got and field that ranks with
// that code have. A collective: between others, no rank may throw on its own, or the rest wait for it.
// Synchronises: all ranks, and `stream` where host memory cannot be reduced. Launches: one all-reduce, two if something is wrong.
template <Communicator C>
[[nodiscard]] Status worst_of(const C& comm, const Status& status, typename C::Stream stream = {}) {
    // Codes are unsigned: with the upper bit turned they keep their order as signed numbers.
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    std::int64_t code[1] = {static_cast<std::int64_t>(status.code ^ sign)};
    detail::max_over_ranks(comm, code, stream);
    const std::uint64_t worst = static_cast<std::uint64_t>(code[0]) ^ sign;
    if (worst == 0) return {};
    constexpr std::int64_t least = (std::numeric_limits<std::int64_t>::min)();
    std::int64_t rest[3] = {least, least, least};
    if (status.code == worst) {
        rest[0] = status.expected;
        rest[1] = status.got;
        rest[2] = status.field;
    }
    detail::max_over_ranks(comm, rest, stream);
    return {worst, rest[0], rest[1], rest[2]};
}

// Throws that Status as an Error on every rank, unless it is good:
//     const Status mine = status_of([&] { shard(check_only, layout, comm.rank(), ids, axis<1>, local_ids); });
//     throw_together(comm, mine);
template <Communicator C>
void throw_together(const C& comm, const Status& status, typename C::Stream stream = {}) {
    throw_if_bad(worst_of(comm, status, stream));
}

}  // namespace seqpar
