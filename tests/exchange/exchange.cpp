// exchange() over threads as ranks: arrays of every kind there and back, halos and rolls, the rows of a bank owned by ranks against
// the whole bank gathered, gradients, and what is refused.
#include "support.hpp"

#include <seqpar/balance/items.hpp>
#include <seqpar/exchange/errors.hpp>
#include <seqpar/exchange/reduce.hpp>
#include <seqpar/layout/indexed.hpp>
#include <seqpar/move/levels.hpp>
#include <seqpar/move/vision_gather.hpp>

#include <numeric>

using namespace test;

namespace {

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

template <class From, class To>
void there_and_back(const From& from, const To& to) {
    on_ranks(std::max(from.ranks(), to.ranks()), [&](const auto& comm) {
        there_and_back<double>(comm, from, to, sp::axis<0>);
        there_and_back<std::int16_t>(comm, from, to, sp::axis<1>);
        there_and_back<std::int64_t>(comm, from, to, sp::axis<-1>);
    });
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
    List cu{0, 32, 32, 96, 128};
    std::vector<std::int32_t> rows;
    List cuts;
    std::vector<double> bank;
    std::vector<double> text;

    explicit Job(int ranks) {
        Random random(static_cast<std::uint64_t>(ranks));
        rows = random_rows(random, 128, 40);
        cuts = random_cuts(random, ranks, 40);
        bank = counted(40, 1000.0);
        text = counted(128, 1.0);
    }
    auto layout(int ranks) const { return sp::packed(sp::ZigZag{}, cu, 128, ranks); }
    // The rows that a rank encoded.
    std::vector<double> own(int rank) const {
        const auto r = static_cast<std::size_t>(rank);
        return {bank.begin() + cuts[r] * width, bank.begin() + cuts[r + 1] * width};
    }
};

}  // namespace

TEST_CASE("relayouts of any type, strides and axis are the shards, there and back, for 2, 4, 8 and unlike ranks") {
    const List cu{0, 16, 16, 48, 64};
    for (const int c : {2, 4, 8}) {
        const auto zigzag = sp::packed(sp::ZigZag{}, cu, 64, c);
        there_and_back(zigzag, sp::Contiguous{}(64, c));                        // B to F and back
        there_and_back(sp::ZigZag{}(64, c), sp::Striped{2}(64, c));             // A to E
        there_and_back(sp::nested(zigzag, sp::UnevenContiguous{}, 2), zigzag);  // H to B, twice the ranks
        there_and_back(zigzag, sp::UnevenContiguous{}(64, 3));
    }
    there_and_back(sp::ZigZag{}(0, 2), sp::Contiguous{}(0, 2));
    there_and_back(sp::Contiguous{}(5, 1), sp::UnevenContiguous{}(5, 1));
}

TEST_CASE("halos and rolls move what indexed() would, and their adjoint adds") {
    const List cu{0, 16, 40, 48};
    for (const int c : {1, 2, 4}) {
        const auto layout = sp::packed(sp::ZigZag{}, cu, 48, c);
        std::vector<double> whole = counted(48, 1.0);
        on_ranks(c, [&](const auto& comm) {
            const int rank = comm.rank();
            std::vector<double> mine(static_cast<std::size_t>(layout.slots(rank) * width));
            sp::shard(thrust::seq, layout, rank, matrix(whole), sp::axis<0>, matrix(mine));
            const auto moves = [&](const sp::ExchangePlan& plan, const List& index) {
                std::vector<double> expected(index.size() * width);
                sp::shard(thrust::seq, sp::indexed(index, 48), 0, matrix(whole), sp::axis<0>, matrix(expected), -1.0);
                std::vector<double> got(index.size() * width, -1.0);
                sp::exchange(thrust::seq, comm, plan, matrix(mine), sp::axis<0>, matrix(got));
                CHECK(got == expected);
                // Sent back and added: each row as many times as it is named, anywhere.
                std::vector<double> sums(mine.size(), 0.5);
                sp::exchange(thrust::seq, comm, reversed(plan), matrix(got), sp::axis<0>, matrix(sums), sp::Add{});
                return sums;
            };
            const auto halo_of = [&](int r) {
                return sp::halo_positions(layout, r, sp::Side::left, 3, sp::offsets(cu));
            };
            std::vector<double> named(48, 0);
            for (int r = 0; r < c; ++r) {
                for (const std::int64_t p : halo_of(r))
                    if (p >= 0) named[static_cast<std::size_t>(p)] += 1;
            }
            const auto sums = moves(sp::plan_halo(layout, rank, sp::Side::left, 3, cu), halo_of(rank));
            for (std::int64_t t = 0; t < layout.slots(rank); ++t) {
                const double times = named[static_cast<std::size_t>(layout.position(rank, t))];
                CHECK(sums[static_cast<std::size_t>(t * width)] ==
                      0.5 + times * mine[static_cast<std::size_t>(t * width)]);
            }
            List next(static_cast<std::size_t>(layout.slots(rank)));
            sp::roll_index(thrust::seq, layout, rank, cu, -1, next);
            (void)moves(sp::plan_roll(layout, rank, -1, cu), next);
        });
    }
}

TEST_CASE("Add on every axis and type adds in order of rank, one rounding each") {
    const auto layout = sp::Contiguous{}(4, 2);
    on_ranks(2, [&](const auto& comm) {
        const auto gather = sp::plan_fetch(layout, comm.rank(), [](int) { return List{0, 1, 2, 3, 3}; });
        const auto adds = [&](auto one, auto axis) {
            using T = decltype(one);
            constexpr int k = sp::axis_index(decltype(axis)::value, 2);
            std::vector<T> in(5 * 2, one);
            std::vector<T> out(2 * 2, one);
            const auto view = [&](auto& v, std::int64_t rows) {
                return k == 0 ? sp::tensor(v.data(), rows, std::int64_t{2})
                              : sp::tensor(v.data(), std::int64_t{2}, rows);
            };
            sp::exchange(thrust::seq, comm, reversed(gather), view(in, 5), axis, view(out, 2), sp::Add{});
            std::vector<double> got;
            for (const T& value : out)
                got.push_back(sp::convert<double>(value));
            return got;
        };
        const bool last = comm.rank() == 1;
        CHECK(adds(std::int32_t{1}, sp::axis<0>) ==
              (last ? std::vector<double>{3, 3, 5, 5} : std::vector<double>{3, 3, 3, 3}));
        CHECK(adds(2.0, sp::axis<1>) == (last ? std::vector<double>{6, 10, 6, 10} : std::vector<double>{6, 6, 6, 6}));
        CHECK(adds(sp::bf16(1.0f), sp::axis<0>)[0] == 3);
        // 0.1f, rounded after each of three additions.
        const double four = static_cast<double>(0.1f + 0.1f + 0.1f);
        CHECK(adds(0.1f, sp::axis<-1>)[0] == four);
    });
}

TEST_CASE("owned rows forward and backward equal gathering the whole bank, levels by the same plan, for c = 2, 4, 8") {
    for (const int c : {1, 2, 4, 8}) {
        const Job job(c);
        const auto layout = job.layout(c);
        const auto rows = job.rows;
        std::vector<double> sum(job.bank.size());  // gradient of the whole bank: each token's gradient is its position
        for (std::size_t p = 0; p < rows.size(); ++p) {
            for (std::int64_t h = 0; h < width && rows[p] >= 0; ++h)
                sum[static_cast<std::size_t>(rows[p] * width + h)] = job.text[p * width + static_cast<std::size_t>(h)];
        }
        on_ranks(c, [&](const auto& comm) {
            const int rank = comm.rank();
            const std::int64_t slots = layout.slots(rank);
            std::vector<double> mine = job.own(rank);
            std::vector<double> text(static_cast<std::size_t>(slots * width));
            sp::shard(thrust::seq, layout, rank, matrix(job.text), sp::axis<0>, matrix(text));
            const auto sharded = sp::sharded(rows, layout, rank, sp::axis<0>);

            // The whole bank on every rank.
            const sp::ExchangePlan gather = sp::plan_all_gather_v(job.cuts, rank);
            std::vector<double> whole(job.bank.size());
            sp::exchange(thrust::seq, comm, gather, matrix(mine), sp::axis<0>, matrix(whole));
            CHECK(whole == job.bank);
            std::vector<double> expected(text.size());
            sp::VisionGather{}(thrust::seq, matrix(text), sharded, matrix(whole), matrix(expected));

            // Only what this rank's tokens name; a level travels by the same plan.
            std::vector<std::int32_t> local(static_cast<std::size_t>(slots));
            const sp::ExchangePlan plan = sp::plan_owned(layout, rank, rows, job.cuts, local);
            std::vector<double> owned(static_cast<std::size_t>(plan.rows_out * width));
            std::vector<double> owned_level(owned.size());
            std::vector<double> level = mine;
            for (double& value : level)
                value *= 2;
            sp::exchange_batch(thrust::seq, comm, plan, sp::field(matrix(mine), sp::axis<0>, matrix(owned)),
                               sp::field(matrix(level), sp::axis<0>, matrix(owned_level)));
            std::vector<double> out(text.size());
            sp::VisionGather{}(thrust::seq, matrix(text), local, matrix(owned), matrix(out));
            CHECK(out == expected);
            for (std::size_t i = 0; i < owned.size(); ++i)
                CHECK(owned_level[i] == 2 * owned[i]);

            // Backward: bank and level; both ways give what one process has, bit for bit.
            sp::GradientState state(sp::BankState::sharded, c);
            std::vector<double> d_owned(owned.size(), -1);
            sp::VisionGather{}.backward(thrust::seq, matrix(text), local, sp::no_gradient, matrix(d_owned),
                                        sp::Store{});
            std::vector<double> d_mine(mine.size());
            std::vector<double> d_level(mine.size());
            state = sp::sum_bank_rows(thrust::seq, comm, state, plan,
                                      sp::field(matrix(d_owned), sp::axis<0>, matrix(d_mine)),
                                      sp::field(matrix(d_owned), sp::axis<0>, matrix(d_level)));
            const auto first = sum.begin() + job.cuts[static_cast<std::size_t>(rank)] * width;
            CHECK(d_mine == std::vector<double>(first, first + static_cast<std::ptrdiff_t>(mine.size())));
            CHECK(d_level == d_mine);
            std::vector<double> d_whole(whole.size());
            sp::VisionGather{}.backward(thrust::seq, matrix(text), sharded, sp::no_gradient, matrix(d_whole),
                                        sp::Store{});
            std::vector<double> scattered(mine.size());
            sp::exchange(thrust::seq, comm, reversed(gather), matrix(d_whole), sp::axis<0>, matrix(scattered),
                         sp::Add{});
            CHECK(scattered == d_mine);
            CHECK(state.weights_sum());
        });
    }
}

TEST_CASE("items dealt by cost come back in order; ranks without one encode a filler that never enters the bank") {
    const std::vector<sp::Grid> grids{{1, 4, 8}, {2, 2, 2}, {1, 2, 4}, {1, 8, 8}};
    const List row_at = sp::row_offsets(grids, 2);
    const List costs = sp::piece_costs(grids, 16);
    for (const int c : {2, 4, 8}) {
        List item_cuts = sp::cuts_by_cost(costs, c);
        if (item_cuts.empty()) item_cuts = sp::cuts_by_count(static_cast<std::int64_t>(grids.size()), c);
        const std::vector<int> idle = sp::ranks_without_items(item_cuts);
        CHECK(idle.size() == static_cast<std::size_t>(std::max(0, c - 4)));
        List cuts;
        for (const std::int64_t cut : item_cuts)
            cuts.push_back(row_at[static_cast<std::size_t>(cut)]);
        on_ranks(c, [&](const auto& comm) {
            const sp::ExchangePlan plan = sp::plan_all_gather_v(cuts, comm.rank());
            // What the encoder gives: the numbers of its rows, or a filler's two rows, of which the plan takes none.
            const bool filler = std::find(idle.begin(), idle.end(), comm.rank()) != idle.end();
            const auto rank = static_cast<std::size_t>(comm.rank());
            std::vector<double> encoded = filler ? std::vector<double>(2 * width, -5)
                                                 : counted(plan.rows_in, static_cast<double>(cuts[rank] * width));
            CHECK((plan.rows_in == 0) == filler);
            std::vector<double> bank(static_cast<std::size_t>(row_at.back() * width), -1);
            sp::exchange(thrust::seq, comm, plan, sp::tensor(encoded.data(), plan.rows_in, width), sp::axis<0>,
                         matrix(bank));
            CHECK(bank == counted(row_at.back(), 0.0));
        });
    }
}

TEST_CASE("each sum of gradients is done once: twice or never is the Error that names the axis") {
    const auto text = [](auto call) -> std::string {
        try {
            call();
        } catch (const sp::Error& error) {
            CHECK(error.status().kind() == sp::Kind::reduction);
            return error.what();
        }
        return "";
    };
    on_ranks(4, [&](const auto& comm) {
        std::vector<double> d_bank(6, comm.rank());
        std::vector<float> d_level(4, 1);
        std::vector<double> d_weights(3, 1);
        const sp::GradientState due(sp::BankState::invariant, 4, sp::GroupAxis::tp);
        CHECK(text([&] { due.require_done(); }) ==
              "sums of gradients are not those that are due: axis TP, expected sums 1, got 0");
        CHECK(text([&] { (void)sp::sum_weights(thrust::seq, comm, due, d_weights); }) != "");
        const sp::GradientState done = sp::sum_bank(thrust::seq, comm, due, d_bank, d_level);
        CHECK(d_bank == std::vector<double>(6, 6));
        CHECK(d_level == std::vector<float>(4, 4));
        done.require_done();
        CHECK(text([&] { (void)sp::sum_bank(thrust::seq, comm, done, d_bank); }) ==
              "sums of gradients are not those that are due: axis TP, expected sums 0, got 1");
        CHECK(d_bank[0] == 6);

        const sp::GradientState replicated(sp::BankState::replicated, 4);
        CHECK(text([&] { (void)sp::sum_bank(thrust::seq, comm, replicated, d_bank); }).find("axis CP") !=
              std::string::npos);
        const sp::GradientState summed = sp::sum_weights(thrust::seq, comm, replicated, d_weights);
        CHECK(d_weights == std::vector<double>(3, 4));
        CHECK(summed.done());
        CHECK(text([&] { (void)sp::sum_weights(thrust::seq, comm, summed, d_weights); }) != "");
        CHECK(text([&] { sp::GradientState(sp::BankState::sharded, 4).require_done(); }).find("expected sums 2") !=
              std::string::npos);
        const auto kind = [](auto call) { return sp::status_of(call).kind(); };
        CHECK(kind([&] {
                  (void)sp::sum_bank(thrust::seq, comm, sp::GradientState(sp::BankState::invariant, 3), d_bank);
              }) == sp::Kind::shard_count);
        const auto gaps = sp::tensor(d_bank.data(), {3}, {2});
        CHECK(kind([&] { (void)sp::sum_bank(thrust::seq, comm, due, gaps); }) == sp::Kind::extent);
    });
}

TEST_CASE("what cannot be exchanged is refused before anything moves, alike where it is only checked") {
    const auto layout = sp::ZigZag{}(8, 2);
    on_ranks(2, [&](const auto& comm) {
        const sp::ExchangePlan plan = sp::relayout(layout, sp::Contiguous{}(8, 2), comm.rank());
        std::vector<int> in(4, 1);
        std::vector<int> out(4, 7);
        std::vector<int> longer(5, 7);
        const auto refused_as = [&](const sp::ExchangePlan& p, auto& from, auto& to, auto mode) {
            return refused([&](const auto& exec) { sp::exchange(exec, comm, p, from, sp::axis<0>, to, mode); }).kind();
        };
        CHECK(refused_as(plan, longer, out, sp::Store{}) == sp::Kind::axis_extent);
        CHECK(refused_as(plan, in, longer, sp::Store{}) == sp::Kind::axis_extent);
        CHECK(refused_as(plan, in, in, sp::Store{}) == sp::Kind::overlap);
        sp::ExchangePlan bad = plan;
        bad.send_rows[0] = 4;
        CHECK(refused_as(bad, in, out, sp::Store{}) == sp::Kind::row_range);
        const sp::ExchangePlan of_other = sp::relayout(layout, sp::Contiguous{}(8, 2), 1 - comm.rank());
        CHECK(refused_as(of_other, in, out, sp::Store{}) == sp::Kind::rank);
        CHECK(refused_as(sp::relayout(sp::ZigZag{}(16, 4), sp::Contiguous{}(16, 4), comm.rank()), in, out,
                         sp::Store{}) == sp::Kind::shard_count);
        const sp::ExchangePlan back = reversed(sp::plan_fetch(layout, comm.rank(), [](int) {
            return List{0, 0, 0, 0};
        }));
        if (comm.rank() == 0) CHECK(refused_as(back, in, out, sp::Store{}) == sp::Kind::row_reused);
        CHECK(out == std::vector<int>(4, 7));
        CHECK(sp::status_of([&] { sp::exchange(sp::check_only, comm, plan, in, sp::axis<0>, out); }).ok());
        CHECK(out == std::vector<int>(4, 7));  // nothing was sent either
        // One rank's mistake, thrown by both.
        const sp::Status mine = sp::status_of(
            [&] { sp::exchange(sp::check_only, comm, plan, comm.rank() == 1 ? longer : in, sp::axis<0>, out); });
        CHECK(sp::status_of([&] { sp::throw_together(comm, mine); }).kind() == sp::Kind::axis_extent);
        sp::exchange(thrust::seq, comm, plan, in, sp::axis<0>, out);
        CHECK(out == in);
        // Run-time tensors.
        std::fill(out.begin(), out.end(), 7);
        sp::exchange(thrust::seq, comm, plan, sp::array_ref(in), sp::RuntimeAxis{0}, sp::array_ref(out));
        CHECK(out == in);
    });
}
