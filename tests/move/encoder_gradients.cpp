// What an encoder's gradients depend on beside the gather: which sums over the group are due, and a dependency on a bank that
// nobody reads.
#include "vectors.hpp"

#include <seqpar/index/rows.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/gradient_state.hpp>
#include <seqpar/move/vision_gather.hpp>
#include <seqpar/move/zero_dependency.hpp>

#include <thrust/execution_policy.h>

#include <limits>

using namespace test;
namespace sp = seqpar;

namespace {

template <class F>
sp::Kind refused(F call) {
    try {
        call();
    } catch (const sp::Error& error) {
        return error.status().kind();
    }
    return sp::Kind::ok;
}

// c ranks encode with weight w: bank[row] = w * input[row]; the loss is the sum over tokens of g[row] * bank[row], whose tokens
// are dealt to the ranks. Every rank does what `state` says is due; returns each rank's gradient of w after all sums.
std::vector<double> weight_gradients(sp::GradientState state, const std::vector<double>& input,
                                     const std::vector<double>& g, const std::vector<int>& token_rank,
                                     const std::vector<int>& item_rank) {
    const auto c = static_cast<std::size_t>(state.ranks());
    std::vector<std::vector<double>> bank(c, std::vector<double>(input.size(), 0));
    for (std::size_t row = 0; row < input.size(); ++row)
        bank[static_cast<std::size_t>(token_rank[row])][row] = g[row];
    if (state.bank_sum() != sp::BankSum::none) {
        for (std::size_t row = 0; row < input.size(); ++row) {
            double sum = 0;
            for (const auto& part : bank)
                sum += part[row];
            for (std::size_t r = 0; r < c; ++r)
                bank[r][row] =
                    state.bank_sum() == sp::BankSum::all_reduce || item_rank[row] == static_cast<int>(r) ? sum : 0;
        }
        state = state.after_bank_sum(state.bank_sum());
    }
    std::vector<double> weights(c, 0);
    for (std::size_t r = 0; r < c; ++r) {
        for (std::size_t row = 0; row < input.size(); ++row)
            weights[r] += bank[r][row] * input[row];
    }
    if (state.weights_sum()) {
        double sum = 0;
        for (const double part : weights)
            sum += part;
        weights.assign(c, sum);
        state = state.after_weights_sum();
    }
    CHECK(state.done());
    return weights;
}

}  // namespace

TEST_CASE("doing what the gradient state says gives every rank the gradient of the unsplit batch, once") {
    const std::vector<double> input{1, 2, 3, 4, 5}, g{7, -1, 2, 3, 5};
    double whole = 0;
    for (std::size_t row = 0; row < input.size(); ++row)
        whole += g[row] * input[row];
    for (const auto bank : {sp::BankState::replicated, sp::BankState::invariant, sp::BankState::sharded}) {
        for (int ranks = 1; ranks <= 3; ++ranks) {
            std::vector<int> tokens, items;
            for (int row = 0; row < 5; ++row) {
                tokens.push_back((row * 2 + 1) % ranks);
                items.push_back(row * ranks / 5);
            }
            for (const double weight : weight_gradients({bank, ranks}, input, g, tokens, items))
                CHECK(weight == whole);
        }
    }
}

TEST_CASE("a second sum over CP is refused, and so is one that would come too early") {
    using State = sp::GradientState;
    constexpr State copies(sp::BankState::replicated, 4), one(sp::BankState::invariant, 4),
        own(sp::BankState::sharded, 4);
    static_assert(copies.bank_sum() == sp::BankSum::none && copies.weights_sum() && !copies.done());
    static_assert(one.bank_sum() == sp::BankSum::all_reduce && !one.weights_sum());
    static_assert(own.bank_sum() == sp::BankSum::reduce_scatter && own.weights_sum());
    static_assert(one.after_bank_sum(sp::BankSum::all_reduce).done());
    static_assert(own.after_bank_sum(sp::BankSum::reduce_scatter).after_weights_sum().done());
    CHECK(refused([&] { static_cast<void>(copies.weights_over(0)); }) == sp::Kind::ranks);
    CHECK(refused([&] { static_cast<void>(one.weights_over(-1)); }) == sp::Kind::ranks);
    CHECK(refused([&] { static_cast<void>(copies.weights_over(INT64_MAX / 2)); }) == sp::Kind::value_lost);
    CHECK(one.weights_over(INT64_MAX) == INT64_MAX);
    static_assert(copies.weights_over(2) == 8 && one.weights_over(2) == 2 && own.weights_over(2) == 8);
    CHECK(refused([&] { static_cast<void>(copies.after_bank_sum(sp::BankSum::all_reduce)); }) == sp::Kind::reduction);
    CHECK(refused([&] { static_cast<void>(copies.after_weights_sum().after_weights_sum()); }) == sp::Kind::reduction);
    CHECK(refused([&] { static_cast<void>(one.after_weights_sum()); }) == sp::Kind::reduction);
    CHECK(refused([&] { static_cast<void>(one.after_bank_sum(sp::BankSum::all_reduce).after_weights_sum()); }) ==
          sp::Kind::reduction);
    CHECK(refused([&] {
              static_cast<void>(one.after_bank_sum(sp::BankSum::all_reduce).after_bank_sum(sp::BankSum::all_reduce));
          }) == sp::Kind::reduction);
    CHECK(refused([&] { static_cast<void>(own.after_weights_sum()); }) == sp::Kind::reduction);  // a slice, not summed
    CHECK(refused([&] { static_cast<void>(own.after_bank_sum(sp::BankSum::none)); }) == sp::Kind::reduction);
    CHECK(refused([] { static_cast<void>(State(sp::BankState::sharded, 0)); }) == sp::Kind::ranks);
}

TEST_CASE("the_bank_gradient_is_summed_over_cp_not_sliced") {  // case 61
    // Tokens [1,9,9,9,9,2,3,4], zigzag over two ranks; rank 0 encodes all four rows.
    const std::vector<std::int64_t> ids{1, 9, 9, 9, 9, 2, 3, 4};
    const std::vector<float> d_out{-1, 10, 11, 12, 13, -2, -3, -4};  // [8, H = 1]
    std::vector<std::int32_t> rows(8);
    sp::build_rows(thrust::seq, ids, sp::placeholders({{9, 0}}), rows);
    const auto layout = sp::ZigZag{}(8, 2);
    std::vector<std::vector<float>> d_bank(2, std::vector<float>(4, 0));
    for (int rank = 0; rank < 2; ++rank) {
        std::vector<float> local(4), d_embeddings(4);
        sp::shard(thrust::seq, layout, rank, sp::tensor(d_out.data(), 8, 1), sp::axis<0>,
                  sp::tensor(local.data(), 4, 1));
        sp::VisionGather{}.backward(thrust::seq, sp::tensor(local.data(), 4, 1),
                                    sp::sharded(rows, layout, rank, sp::axis<0>), sp::tensor(d_embeddings.data(), 4, 1),
                                    sp::tensor(d_bank[static_cast<std::size_t>(rank)].data(), 4, 1), sp::Store{});
    }
    CHECK(d_bank[0] == std::vector<float>{10, 0, 0, 0});
    CHECK(d_bank[1] == std::vector<float>{0, 11, 12, 13});
    // What is due, and that a slice of rank 0's own would not do.
    const sp::GradientState state(sp::BankState::sharded, 2);
    REQUIRE(state.bank_sum() == sp::BankSum::reduce_scatter);
    std::vector<float> sum(4);
    for (std::size_t row = 0; row < 4; ++row)
        sum[row] = d_bank[0][row] + d_bank[1][row];
    CHECK(sum == std::vector<float>{10, 11, 12, 13});
    CHECK(refused([&] { static_cast<void>(state.after_weights_sum()); }) == sp::Kind::reduction);
}

TEST_CASE("an_empty_bank_or_one_that_nobody_reads_stays_in_the_graph_without_a_value") {
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x{1, -0.0f, infinity, std::numeric_limits<float>::quiet_NaN(), 5, 6};
    std::vector<float> out(6, 9), d_x(6, 9);
    std::vector<sp::bf16> d_bank(8, sp::convert<sp::bf16>(3.0f));
    const auto matrix = [](auto& memory) { return sp::tensor(memory.data(), 3, 2); };
    const auto same = [&](const std::vector<float>& y) {
        return std::memcmp(y.data(), x.data(), sizeof(float) * 6) == 0;
    };
    sp::ZeroDependency{}(thrust::seq, matrix(x), matrix(out));
    CHECK(same(out));
    sp::ZeroDependency{}(thrust::seq, matrix(out), matrix(out));
    CHECK(same(out));
    // [V = 3, H = 2] of a bank whose rows are 3 apart: all of it, and nothing between its rows.
    sp::ZeroDependency{}.backward(thrust::seq, matrix(x), matrix(d_x), sp::tensor(d_bank.data(), {3, 2}, {3, 1}));
    CHECK(same(d_x));
    for (std::size_t i = 0; i < 8; ++i)
        CHECK(sp::convert<float>(d_bank[i]) == (i % 3 == 2 ? 3.0f : 0.0f));
    sp::ZeroDependency{}.backward(thrust::seq, matrix(d_x), matrix(d_x), sp::tensor(d_bank.data(), 0, 2));
    CHECK(same(d_x));
    // Mistakes: shapes, and a bank's gradient in the memory of the other.
    CHECK(refused([&] { sp::ZeroDependency{}(thrust::seq, matrix(x), sp::tensor(out.data(), 2, 2)); }) != sp::Kind::ok);
    CHECK(refused([&] { sp::ZeroDependency{}.backward(thrust::seq, matrix(x), matrix(d_x), matrix(d_x)); }) ==
          sp::Kind::overlap);
    CHECK(same(d_x));
}
