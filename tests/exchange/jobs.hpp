// What every communicator has to bring about by exchanges: called on each rank of a group, of threads or of processes. Not here: cases.
#pragma once

#include "exchange/support.hpp"

#include <seqpar/exchange/plans.hpp>
#include <seqpar/exchange/reduce.hpp>
#include <seqpar/move/vision_gather.hpp>

#include <array>
#include <numeric>

namespace test {

// An array of `axes` extents, the k-th of which is the sequence axis, with gaps between entries, counted up.
template <class T>
struct Array {
    std::vector<T> memory;
    std::array<std::int64_t, 3> extents;

    Array(std::array<std::int64_t, 3> shape, T first)
        : memory(static_cast<std::size_t>(2 * shape[0] * shape[1] * shape[2] + 1)), extents(shape) {
        std::iota(memory.begin(), memory.end(), first);
    }
    auto view() {
        const std::int64_t e[3] = {extents[0], extents[1], extents[2]};
        const std::int64_t s[3] = {2 * e[1] * e[2], 2 * e[2], 2};
        return sp::tensor(memory.data(), e, s);
    }
};

template <class T>
bool same(Array<T>& a, Array<T>& b) {
    const auto x = a.view();
    const auto y = b.view();
    for (std::int64_t i = 0; i < a.extents[0]; ++i) {
        for (std::int64_t j = 0; j < a.extents[1]; ++j) {
            for (std::int64_t k = 0; k < a.extents[2]; ++k) {
                if (x(i, j, k) != y(i, j, k)) return false;
            }
        }
    }
    return a.extents == b.extents;
}

// The shard of the whole array of that shape, by the library's own move.
template <class T, int K, class L>
Array<T> shard_array(const L& layout, int rank, std::array<std::int64_t, 3> shape, sp::Axis<K> axis) {
    const auto k = static_cast<std::size_t>(sp::axis_index(K, 3));
    shape[k] = layout.size();
    Array<T> whole(shape, T{1});
    shape[k] = rank < layout.ranks() ? layout.slots(rank) : 0;
    Array<T> part(shape, T{0});
    if (rank < layout.ranks()) sp::shard(thrust::seq, layout, rank, whole.view(), axis, part.view());
    return part;
}

// There and back is the shard under each layout, for one type and axis.
template <class T, int K, class Comm, class From, class To>
void there_and_back(const Comm& comm, const From& from, const To& to, sp::Axis<K> axis) {
    const sp::ExchangePlan plan = sp::relayout(from, to, comm.rank());
    const std::array<std::int64_t, 3> shape{2, 3, 4};
    Array<T> before = shard_array<T>(from, comm.rank(), shape, axis);
    Array<T> expected = shard_array<T>(to, comm.rank(), shape, axis);
    Array<T> after(expected.extents, T{0});
    sp::exchange(thrust::seq, comm, plan, before.view(), axis, after.view());
    CHECK(same(after, expected));
    Array<T> back(before.extents, T{0});
    sp::exchange(thrust::seq, comm, reversed(plan), after.view(), axis, back.view());
    CHECK(same(back, before));
}

constexpr std::int64_t width = 3;

auto matrix(auto& values) { return sp::tensor(values.data(), static_cast<std::int64_t>(values.size()) / width, width); }
template <class T>
std::vector<T> counted(std::int64_t rows, T first) {
    std::vector<T> values(static_cast<std::size_t>(rows * width));
    std::iota(values.begin(), values.end(), first);
    return values;
}

// A batch with a bank that is encoded on c ranks, by the plain meaning of everything.
struct Job {
    List cu{0, 48, 48, 144, 192};  // for 1, 2, 3, 4 and 8 ranks
    std::vector<std::int32_t> rows;
    List cuts;
    std::vector<double> bank;
    std::vector<double> text;

    explicit Job(int ranks) {
        Random random(static_cast<std::uint64_t>(ranks));
        rows = random_rows(random, 192, 40);
        cuts = random_cuts(random, ranks, 40);
        bank = counted(40, 1000.0);
        text = counted(192, 1.0);
    }
    auto layout(int ranks) const { return sp::packed(sp::ZigZag{}, cu, 192, ranks); }
    // The rows that a rank encoded.
    std::vector<double> own(int rank) const {
        const auto r = static_cast<std::size_t>(rank);
        return {bank.begin() + cuts[r] * width, bank.begin() + cuts[r + 1] * width};
    }
};

// Owned rows, forward and backward, equal gathering the whole bank, and levels take the same plan.
template <class Exec, class Comm>
void owned_rows_equal_the_gathered_bank(const Exec& exec, const Comm& comm) {
    const int c = comm.size();
    const Job job(c);
    const auto layout = job.layout(c);
    const auto rows = job.rows;
    std::vector<double> sum(job.bank.size());  // gradient of the whole bank: each token's gradient is its position
    for (std::size_t p = 0; p < rows.size(); ++p) {
        for (std::int64_t h = 0; h < width && rows[p] >= 0; ++h)
            sum[static_cast<std::size_t>(rows[p] * width + h)] = job.text[p * width + static_cast<std::size_t>(h)];
    }
    const int rank = comm.rank();
    const std::int64_t slots = layout.slots(rank);
    std::vector<double> mine = job.own(rank);
    std::vector<double> text(static_cast<std::size_t>(slots * width));
    sp::shard(exec, layout, rank, matrix(job.text), sp::axis<0>, matrix(text));
    const auto sharded = sp::sharded(rows, layout, rank, sp::axis<0>);

    // The whole bank on every rank.
    const sp::ExchangePlan gather = sp::plan_all_gather_v(job.cuts, rank);
    std::vector<double> whole(job.bank.size());
    sp::exchange(exec, comm, gather, matrix(mine), sp::axis<0>, matrix(whole));
    CHECK(whole == job.bank);
    std::vector<double> expected(text.size());
    sp::VisionGather{}(exec, matrix(text), sharded, matrix(whole), matrix(expected));

    // Only what this rank's tokens name; a level travels by the same plan.
    std::vector<std::int32_t> local(static_cast<std::size_t>(slots));
    const sp::ExchangePlan plan = sp::plan_owned(layout, rank, rows, job.cuts, local);
    std::vector<double> owned(static_cast<std::size_t>(plan.rows_out * width));
    std::vector<double> owned_level(owned.size());
    std::vector<double> level = mine;
    for (double& value : level)
        value *= 2;
    sp::exchange_batch(exec, comm, plan, sp::field(matrix(mine), sp::axis<0>, matrix(owned)),
                       sp::field(matrix(level), sp::axis<0>, matrix(owned_level)));
    std::vector<double> out(text.size());
    sp::VisionGather{}(exec, matrix(text), local, matrix(owned), matrix(out));
    CHECK(out == expected);
    for (std::size_t i = 0; i < owned.size(); ++i)
        CHECK(owned_level[i] == 2 * owned[i]);

    // Backward: bank and level; both ways give what one process has, bit for bit.
    sp::GradientState state(sp::BankState::sharded, c);
    std::vector<double> d_owned(owned.size(), -1);
    sp::VisionGather{}.backward(exec, matrix(text), local, sp::no_gradient, matrix(d_owned), sp::Store{});
    std::vector<double> d_mine(mine.size());
    std::vector<double> d_level(mine.size());
    sp::sum_bank_rows(exec, comm, state, plan, sp::field(matrix(d_owned), sp::axis<0>, matrix(d_mine)),
                      sp::field(matrix(d_owned), sp::axis<0>, matrix(d_level)));
    const auto first = sum.begin() + job.cuts[static_cast<std::size_t>(rank)] * width;
    CHECK(d_mine == std::vector<double>(first, first + static_cast<std::ptrdiff_t>(mine.size())));
    CHECK(d_level == d_mine);
    std::vector<double> d_whole(whole.size());
    sp::VisionGather{}.backward(exec, matrix(text), sharded, sp::no_gradient, matrix(d_whole), sp::Store{});
    std::vector<double> scattered(mine.size());
    sp::exchange(exec, comm, reversed(gather), matrix(d_whole), sp::axis<0>, matrix(scattered), sp::Add{});
    CHECK(scattered == d_mine);
    CHECK(state.weights_sum());
}

}  // namespace test
