// One rank of a group has something wrong, or something else than the others: the error that all get. For every communicator.
#pragma once

#include <seqpar/exchange/errors.hpp>
#include <seqpar/exchange/plans.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace test {

// What call() says by a CommunicationError.
template <class Call>
std::string error_of(const Call& call) {
    try {
        call();
    } catch (const seqpar::CommunicationError& error) {
        return error.what();
    }
    return "";
}

enum class Mistake { none, row, length, bank_type, bank_width, offsets, cuts, forgotten, two_ranks, two_kinds };
inline constexpr Mistake mistakes[] = {Mistake::none,       Mistake::row,      Mistake::length, Mistake::bank_type,
                                       Mistake::bank_width, Mistake::offsets,  Mistake::cuts,   Mistake::forgotten,
                                       Mistake::two_ranks,  Mistake::two_kinds};

// What a rank found, and what all have to be given alike: the bank, the layout, the cuts.
struct Checked {
    seqpar::Status status;
    seqpar::Agreement same;
};

// The checks before a bank's rows go to their tokens; all is right but on the ranks that have the mistake.
template <class Element>
Checked checked_with(int rank, int size, Mistake mistake) {
    using namespace seqpar;
    const std::int64_t total = std::int64_t{6} * size;
    const bool bad = rank == size / 2;
    const bool bad_too = rank == size - 1;
    std::vector<std::int32_t> rows(static_cast<std::size_t>(total), -1);
    rows[1] = 2;
    rows[2] = 0;
    std::vector<std::int64_t> cu_seqlens = {0, total / 3, total};
    std::vector<std::int64_t> cuts(static_cast<std::size_t>(size) + 1, 3);
    cuts[0] = 0;
    if (mistake == Mistake::row && bad) rows[2] = 3;
    if (mistake == Mistake::length && bad) cu_seqlens[1] -= 1;
    if (mistake == Mistake::offsets && bad) cu_seqlens[1] *= 2;
    if (mistake == Mistake::cuts && bad) cuts[1] = 2;
    if (mistake == Mistake::two_ranks && (bad || bad_too)) rows[bad ? 2 : 1] = 3 + rank;
    if (mistake == Mistake::two_kinds && bad_too) rows[1] = 3 + rank;
    if (mistake == Mistake::two_kinds && bad) cu_seqlens[1] -= 1;
    const std::int64_t width = mistake == Mistake::bank_width && bad ? 5 : 4;

    const auto layout = packed(ZigZag{}, cu_seqlens, total, size);
    std::vector<std::int32_t> local_rows(6);
    ExchangePlan plan;
    Checked result;
    result.status = status_of([&] { plan = plan_owned(layout, rank, rows, cuts, local_rows); });
    std::vector<Element> encoded(static_cast<std::size_t>(plan.rows_in * width));
    std::vector<Element> bank(static_cast<std::size_t>(plan.rows_out * width));
    result.same.fields(
        field(tensor(encoded.data(), plan.rows_in, width), axis<0>, tensor(bank.data(), plan.rows_out, width)));
    result.same.layout(layout);
    if (mistake != Mistake::forgotten || !bad) result.same.numbers(cuts);
    return result;
}
inline Checked checked(int rank, int size, Mistake mistake) {
    const bool other = mistake == Mistake::bank_type && rank == size / 2;
    return other ? checked_with<seqpar::f16>(rank, size, mistake) : checked_with<seqpar::bf16>(rank, size, mistake);
}

// What every rank must get; one alone agrees with itself.
inline seqpar::Status expected_status(int size, Mistake mistake) {
    using namespace seqpar;
    // Of what ranks 0 and size / 2 gave, the numbers at `entry`.
    const auto unlike = [&](std::size_t entry) {
        const Status a = checked(0, size, mistake).same.entries().at(entry);
        const Status b = checked(size / 2, size, mistake).same.entries().at(entry);
        return Status{a.code, (std::min)(a.got, b.got), (std::max)(a.got, b.got), a.field};
    };
    switch (size > 1 ? mistake : Mistake::none) {
        case Mistake::bank_type:
            return make_status(Kind::agreement, 0, 0, static_cast<int>(DataType::float16),
                               static_cast<int>(DataType::bfloat16), 3);
        case Mistake::bank_width: return make_status(Kind::extent, 0, 0, 4, 5, 1);
        case Mistake::offsets: return unlike(7);
        case Mistake::cuts: return unlike(10);
        case Mistake::forgotten: return make_status(Kind::agreement, 0, 0, 8, 11);
        default: break;
    }
    Status worst;
    for (int rank = 0; rank < size; ++rank)
        worst = worse(worst, checked(rank, size, mistake).status);
    return worst;
}

// What this rank gets, if the next collective finds that all ranks have come there.
template <class C>
seqpar::Status caught(const C& comm, Mistake mistake, typename C::Stream stream = {}) {
    const Checked mine = checked(comm.rank(), comm.size(), mistake);
    const seqpar::Status status = seqpar::status_of([&] { throw_together(comm, mine.status, mine.same, stream); });
    std::int64_t last[1] = {comm.rank() + 1};
    seqpar::detail::max_over_ranks(comm, last, stream);
    return last[0] == comm.size() ? status : seqpar::Status{1, -1, -1, -1};
}

}  // namespace test
