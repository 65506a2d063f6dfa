// The bank gradient of a split sequence, and that of each level: over all ranks the disjoint union of what each writes, so its sum is the gradient of
// the unsplit sequence, in any type and any order of ranks.
#include "exec.hpp"
#include "theorems/split.hpp"

#include <cmath>

using namespace seqpar;
using test::Random;
using test::vectors_of;

namespace {

// Sums as a reduction over ranks does: in the type itself, one rounding a step.
template <class T>
T plus(T a, T b) {
    if constexpr (std::is_same_v<T, float>)
        return a + b;
    else
        return convert<T>(static_cast<float>(a) + static_cast<float>(b));
}

// What a shard is, written out: local rows and gradients compile once for all layouts.
struct LocalRows {
    std::vector<std::int32_t> rows;
    test::List sources;
};

template <Layout L>
std::vector<LocalRows> split_rows(const L& layout, const std::vector<std::int32_t>& rows) {
    std::vector<LocalRows> ranks;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        LocalRows local{test::shard_of(layout, rank, rows, 1, -1), {}};
        for (std::int64_t slot = 0; slot < layout.slots(rank); ++slot)
            local.sources.push_back(layout.source(layout.position(rank, slot)));
        ranks.push_back(local);
    }
    return ranks;
}

template <class T>
void check_sum(Random& random, const std::vector<LocalRows>& ranks, const std::vector<std::int32_t>& rows,
               std::int64_t bank_rows) {
    std::vector<T> d_out = test::random_bits<T>(random, static_cast<std::int64_t>(rows.size()));
    const std::vector<T> zeros(static_cast<std::size_t>(bank_rows * test::theorem_width), T(0));
    std::vector<T> unsplit = zeros;
    VisionGather{}.backward(test::main_exec, vectors_of(d_out), rows, no_gradient, vectors_of(unsplit), Store{});
    std::vector<std::size_t> order;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        order.insert(order.begin() + random.between(0, static_cast<std::int64_t>(rank)), rank);
    std::vector<T> sum = zeros;
    std::vector<T> in_one_array = zeros;
    std::vector<T> level[2] = {zeros, zeros};
    for (std::size_t rank : order) {
        std::vector<T> local;  // pad slots: a gradient that must reach no row
        for (std::int64_t source : ranks[rank].sources) {
            for (std::int64_t h = 0; h < test::theorem_width; ++h) {
                local.push_back(source < 0 ? T(1) : d_out[static_cast<std::size_t>(source * test::theorem_width + h)]);
            }
        }
        std::vector<T> of_rank = zeros;
        VisionGather{}.backward(test::main_exec, vectors_of(local), ranks[rank].rows, no_gradient, vectors_of(of_rank),
                                Store{});
        VisionGather{}.backward(test::main_exec, vectors_of(local), ranks[rank].rows, no_gradient,
                                vectors_of(in_one_array), Store{});
        add_rows_backward(test::main_exec, vectors_of(local), ranks[rank].rows,
                          levels(vectors_of(level[0]), vectors_of(level[1])), Store{});
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] = plus(sum[i], of_rank[i]);
    }
    test::require_same_bits(in_one_array, unsplit);  // any bits
    test::require_same_bits(level[0], unsplit);
    test::require_same_bits(level[1], unsplit);
    for (std::size_t i = 0; i < sum.size(); ++i) {
        // Arithmetic has its say in two cases: 0 + -0 is 0, and a NaN becomes a quiet one.
        const float expected = static_cast<float>(unsplit[i]);
        if (std::isnan(expected)) {
            if (!std::isnan(static_cast<float>(sum[i]))) FAIL("a NaN is lost");
        } else if (expected == 0) {
            if (!(static_cast<float>(sum[i]) == 0)) FAIL("a zero is lost");
        } else if (std::memcmp(&sum[i], &unsplit[i], sizeof(T)) != 0) {
            FAIL("the sum over ranks differs from the unsplit gradient");
        }
    }
}

template <Layout L>
void check_gradients(Random& random, const L& layout) {
    const std::int64_t bank_rows = random.between(0, layout.source_size());
    const std::vector<std::int32_t> rows = test::injective_rows(random, layout.source_size(), bank_rows);
    const std::vector<LocalRows> ranks = split_rows(layout, rows);
    check_sum<float>(random, ranks, rows, bank_rows);
    check_sum<bf16>(random, ranks, rows, bank_rows);
    check_sum<f16>(random, ranks, rows, bank_rows);
}

}  // namespace

TEST_CASE(
    "the bank gradient summed over ranks is the unsplit one bit for bit in f32, bf16 and f16, in any order of ranks") {
    Random random(811);
    for (int i = 0; i < test::rounds(250); ++i) {
        test::with_formula_layout(random, [&](const auto& layout) { check_gradients(random, layout); });
        test::with_packed_layout(random, [&](const auto& layout) { check_gradients(random, layout); });
        test::with_free_layout(random, [&](const auto& layout) { check_gradients(random, layout); });
        test::with_padded_layout(random, [&](const auto& layout) { check_gradients(random, layout); });
    }
}
