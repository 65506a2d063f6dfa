// What the tests of exchanges share: the plans of all ranks, what an exchange by them does, simulated with one list a rank, and
// threads as ranks. Not here: any case.
#pragma once

#include "exchange/ranks.hpp"
#include "index/support.hpp"

#include <seqpar/exchange/plans.hpp>

namespace test {

using Plans = std::vector<sp::ExchangePlan>;

// make(rank) for every rank.
template <class F>
Plans plans_of(int ranks, F make) {
    Plans plans;
    for (int rank = 0; rank < ranks; ++rank)
        plans.push_back(make(rank));
    return plans;
}

inline Plans reversed_all(const Plans& plans) {
    return plans_of(static_cast<int>(plans.size()),
                    [&](int r) { return reversed(plans[static_cast<std::size_t>(r)]); });
}

// visit(from rank, row there, to rank, row there) for every row that the plans move, in the order in which it arrives, each side
// by its own plan alone; and that both sides agree.
template <class F>
void for_each_row(const Plans& plans, F visit) {
    const std::size_t group = plans.size();
    for (std::size_t rank = 0; rank < group; ++rank) {
        REQUIRE(check(plans[rank]).ok());
        REQUIRE(plans[rank].rank == static_cast<int>(rank));
        REQUIRE(plans[rank].send_splits.size() == group);
    }
    for (std::size_t there = 0; there < group; ++there) {
        std::size_t next = 0;
        for (std::size_t here = 0; here < group; ++here) {
            const sp::ExchangePlan& sender = plans[here];
            REQUIRE(sender.send_splits[there] == plans[there].receive_splits[here]);
            std::int64_t first = 0;
            for (std::size_t r = 0; r < there; ++r)
                first += sender.send_splits[r];
            for (std::int64_t i = 0; i < sender.send_splits[there]; ++i)
                visit(here, sender.send_rows.at(static_cast<std::size_t>(first + i)), there,
                      plans[there].receive_rows.at(next++));
        }
        REQUIRE(next == plans[there].receive_rows.size());
    }
}

// One all-to-all. Rows that nothing comes to are `none`; no row is written twice.
inline Lists exchanged(const Plans& plans, const Lists& in, std::int64_t none = -9) {
    Lists out;
    std::vector<std::vector<bool>> written;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        REQUIRE(plans[rank].rows_in == static_cast<std::int64_t>(in.at(rank).size()));
        out.emplace_back(static_cast<std::size_t>(plans[rank].rows_out), none);
        written.emplace_back(out.back().size());
    }
    for_each_row(plans, [&](std::size_t here, std::int64_t row, std::size_t there, std::int64_t to) {
        auto done = written[there].at(static_cast<std::size_t>(to));
        REQUIRE(!done);
        done = true;
        out[there][static_cast<std::size_t>(to)] = in[here].at(static_cast<std::size_t>(row));
    });
    return out;
}

// The same, added up from 0.
inline Lists added(const Plans& plans, const Lists& in) {
    Lists out;
    for (const sp::ExchangePlan& plan : plans)
        out.emplace_back(static_cast<std::size_t>(plan.rows_out), 0);
    for_each_row(plans, [&](std::size_t here, std::int64_t row, std::size_t there, std::int64_t to) {
        out[there][static_cast<std::size_t>(to)] += in[here].at(static_cast<std::size_t>(row));
    });
    return out;
}

// Cuts of `rows` bank rows, some parts empty.
inline List random_cuts(Random& random, int ranks, std::int64_t rows) {
    List cuts{0};
    for (int r = 1; r < ranks; ++r)
        cuts.push_back(random.once_in(4) ? cuts.back() : random.between(0, rows));
    std::sort(cuts.begin(), cuts.end());
    cuts.push_back(rows);
    return cuts;
}

// Tokens of which some name a bank row, each row once at most, in no order.
inline std::vector<std::int32_t> random_rows(Random& random, std::int64_t tokens, std::int64_t bank_rows) {
    List numbers = range(0, bank_rows);
    numbers.resize(static_cast<std::size_t>(std::max(bank_rows, tokens)), -1);
    for (std::size_t i = numbers.size(); i > 1; --i)
        std::swap(numbers[i - 1],
                  numbers[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
    numbers.resize(static_cast<std::size_t>(tokens));
    return as<std::int32_t>(numbers);
}

// f(comm) on every rank of a group at once; the first exception is thrown here.
template <class F>
void on_ranks(int ranks, F f) {
    const sp::VirtualRanks group(ranks, std::chrono::seconds(20));
    for (const std::exception_ptr& failure : run_ranks(group, ranks, f)) {
        if (failure) std::rethrow_exception(failure);
    }
}

}  // namespace test
