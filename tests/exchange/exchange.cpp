// exchange() over threads as ranks: arrays of every kind there and back, halos and rolls, the rows of a bank owned by ranks against
// the whole bank gathered, gradients, and what is refused.
#include "exchange/jobs.hpp"

#include <seqpar/balance/items.hpp>
#include <seqpar/exchange/errors.hpp>
#include <seqpar/layout/indexed.hpp>

using namespace test;

namespace {

template <class From, class To>
void over_threads(const From& from, const To& to) {
    on_ranks(std::max(from.ranks(), to.ranks()), [&](const auto& comm) {
        there_and_back<double>(comm, from, to, sp::axis<0>);
        there_and_back<std::int16_t>(comm, from, to, sp::axis<1>);
        there_and_back<std::int64_t>(comm, from, to, sp::axis<-1>);
    });
}

}  // namespace

TEST_CASE("relayouts of any type, strides and axis are the shards, there and back, for 2, 4, 8 and unlike ranks") {
    const List cu{0, 16, 16, 48, 64};
    for (const int c : {2, 4, 8}) {
        const auto zigzag = sp::packed(sp::ZigZag{}, cu, 64, c);
        over_threads(zigzag, sp::Contiguous{}(64, c));                        // B to F and back
        over_threads(sp::ZigZag{}(64, c), sp::Striped{2}(64, c));             // A to E
        over_threads(sp::nested(zigzag, sp::UnevenContiguous{}, 2), zigzag);  // H to B, twice the ranks
        over_threads(zigzag, sp::UnevenContiguous{}(64, 3));
    }
    over_threads(sp::ZigZag{}(0, 2), sp::Contiguous{}(0, 2));
    over_threads(sp::Contiguous{}(5, 1), sp::UnevenContiguous{}(5, 1));
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

TEST_CASE("what is added comes in order of rank: any other order would leave another sum") {
    on_ranks(4, [&](const auto& comm) {
        // To the 0.5 of rank 2's row comes what each rank has, its own in its turn.
        const auto gather = sp::plan_fetch(sp::Contiguous{}(4, 4), comm.rank(), [](int) { return List{2}; });
        const float sent[] = {1e8f, 1, -1e8f, 0.25f};
        std::vector<float> in(1, sent[comm.rank()]), out(1, 0.5f);
        sp::exchange(thrust::seq, comm, reversed(gather), in, sp::axis<0>, out, sp::Add{});
        CHECK(out[0] == (comm.rank() == 2 ? 0.25f : 0.5f));
    });
}

TEST_CASE("owned rows forward and backward equal gathering the whole bank, levels by the same plan, for c = 2, 4, 8") {
    for (const int c : {1, 2, 4, 8})
        on_ranks(c, [](const auto& comm) { owned_rows_equal_the_gathered_bank(thrust::seq, comm); });
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
        std::vector<double> d_whole{0, 1, 2, 3};
        const std::string wrong = "a sum of gradients is not the one that is due: axis ";
        const auto kind = [](auto call) { return sp::status_of(call).kind(); };
        sp::GradientState tp(sp::BankState::invariant, 4, sp::GroupAxis::tp);
        CHECK(text([&] { tp.require_done(); }) == wrong + "TP, expected an all-reduce of the bank's, got none");
        CHECK(text([&] { sp::sum_weights(thrust::seq, comm, tp, d_weights); }) ==
              wrong + "TP, expected an all-reduce of the bank's, got a sum of the weights'");
        sp::sum_bank(sp::check_only, comm, tp, d_bank, d_level);  // notes nothing
        CHECK(kind([&] { sp::sum_bank(thrust::seq, comm, tp, d_bank, d_bank); }) == sp::Kind::overlap);
        sp::sum_bank(thrust::seq, comm, tp, d_bank, d_level);
        CHECK(d_bank == std::vector<double>(6, 6));
        CHECK(d_level == std::vector<float>(4, 4));
        tp.require_done();
        CHECK(text([&] { sp::sum_bank(thrust::seq, comm, tp, d_bank); }) ==
              wrong + "TP, expected none, got an all-reduce of the bank's");
        CHECK(d_bank[0] == 6);

        sp::GradientState replicated(sp::BankState::replicated, 4);
        CHECK(text([&] { sp::sum_bank(thrust::seq, comm, replicated, d_bank); }) ==
              wrong + "CP, expected a sum of the weights', got an all-reduce of the bank's");
        sp::sum_weights(thrust::seq, comm, replicated, d_weights);
        CHECK(d_weights == std::vector<double>(3, 4));
        CHECK(replicated.done());
        CHECK(text([&] { sp::sum_weights(thrust::seq, comm, replicated, d_weights); }) ==
              wrong + "CP, expected none, got a sum of the weights'");
        CHECK(text([&] { sp::GradientState(sp::BankState::sharded, 4).require_done(); }) ==
              wrong + "CP, expected a reduce-scatter of the bank's, got none");
        sp::GradientState of_three(sp::BankState::invariant, 3);
        CHECK(kind([&] { sp::sum_bank(thrust::seq, comm, of_three, d_bank); }) == sp::Kind::shard_count);
        const sp::ExchangePlan plan = sp::plan_all_gather_v(List{0, 1, 2, 3, 4}, comm.rank());
        std::vector<double> d_own(1, 5);
        const auto sum_rows = [&](int ranks) {
            sp::GradientState state(sp::BankState::sharded, ranks);
            sp::sum_bank_rows(thrust::seq, comm, state, plan, sp::field(d_whole, sp::axis<0>, d_own));
        };
        CHECK(kind([&] { sum_rows(3); }) == sp::Kind::shard_count);
        CHECK(d_own[0] == 5);
        sum_rows(4);
        CHECK(d_own[0] == 5 + 4 * comm.rank());
        const auto gaps = sp::tensor(d_bank.data(), {3}, {2});
        sp::GradientState due(sp::BankState::invariant, 4);
        CHECK(kind([&] { sp::sum_bank(thrust::seq, comm, due, gaps); }) == sp::Kind::extent);
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
        const auto one = sp::field(in, sp::axis<0>, out), other = sp::field(longer, sp::axis<0>, out);
        CHECK(refused([&](const auto& exec) { sp::exchange_batch(exec, comm, plan, one, one); }) ==
              sp::make_status(sp::Kind::overlap, 1, 0, 0, 1));  // the second would take the place of the first
        CHECK(refused([&](const auto& exec) { sp::exchange_batch(exec, comm, plan, one, other); }).kind() ==
              sp::Kind::axis_extent);
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
