// VisionGather under every host exec, on arrays of several work items, and past the cache: what thrust::seq gives, bit for bit.
#include "move/vectors.hpp"

#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/levels.hpp>

#include <thrust/system/cpp/execution_policy.h>
#ifdef SEQPAR_TEST_OMP
#    include <thrust/system/omp/execution_policy.h>
#endif
#ifdef SEQPAR_TEST_TBB
#    include <thrust/system/tbb/execution_policy.h>
#endif

using namespace seqpar;
using test::Random;
using test::require_same_bits;
using test::Rows;
using test::Vectors;

namespace {

constexpr std::int64_t tokens = 40000;
constexpr std::int64_t width = 129;  // 516 bytes: several work items, and blocks of compact
constexpr std::int64_t bank_rows = 6000;

struct Case {
    Vectors<float, 2> embeddings;
    Vectors<float, 2> bank;
    Rows<1> rows;
    Rows<1> repeated;

    explicit Case(Random& random)
        : embeddings(test::random_vectors<float, 2>(random, {tokens, width})),
          bank(test::random_vectors<float, 2>(random, {bank_rows, width})),
          rows(test::random_rows<1>(random, {tokens}, {bank_rows}, true)),
          repeated(test::random_rows<1>(random, {tokens}, {700}, false)) {}

    auto row_view() const { return rows.row.view(); }
};

struct Results {
    Vectors<float, 2> out, in_place, d_embeddings, d_bank, d_sum, d_repeated, h;
    std::vector<std::int32_t> compacted = std::vector<std::int32_t>(tokens);
    std::vector<char> mask = std::vector<char>(tokens);

    template <class D>
    Results(const D& exec, const Case& c)
        : out(c.embeddings),
          in_place(c.embeddings),
          d_embeddings(c.embeddings),
          d_bank(c.bank),
          d_sum(c.bank),
          d_repeated(c.bank),
          h(c.embeddings) {
        VisionGather{}(exec, c.embeddings.view(), c.row_view(), c.bank.view(), out.view());
        VisionGather{}(exec, in_place.view(), c.row_view(), c.bank.view(), in_place.view());
        VisionGather{}.backward(exec, c.embeddings.view(), c.row_view(), d_embeddings.view(), d_bank.view(), Store{});
        VisionGather{}.backward(exec, c.embeddings.view(), c.row_view(), no_gradient, d_sum.view(), Add{});
        VisionGather{}.backward(exec, c.embeddings.view(), c.repeated.row.view(), no_gradient, d_repeated.view(),
                                Summed<Add, bf16>{});
        add_rows(exec, h.view(), c.repeated.row.view(), levels(c.bank.view(), c.bank.view()));
        compact(exec, c.row_view(), all_banks, mask, compacted);
    }

    void require_same(const Results& other) const {
        require_same_bits(out.memory, other.out.memory);
        require_same_bits(in_place.memory, other.in_place.memory);
        require_same_bits(d_embeddings.memory, other.d_embeddings.memory);
        require_same_bits(d_bank.memory, other.d_bank.memory);
        require_same_bits(d_sum.memory, other.d_sum.memory);
        require_same_bits(d_repeated.memory, other.d_repeated.memory);
        require_same_bits(h.memory, other.h.memory);
        require_same_bits(compacted, other.compacted);
        require_same_bits(mask, other.mask);
    }
};

}  // namespace

TEST_CASE("every host exec gathers the same, forward and backward") {
    Random random(701);
    Case c(random);
    for (float& value : c.embeddings.memory)
        value = static_cast<float>(random.between(-1000, 1000)) / 8;
    for (float& value : c.bank.memory)
        value = static_cast<float>(random.between(-1000, 1000)) / 8;
    const Results by_seq(thrust::seq, c);
    Vectors<float, 2> expected = c.embeddings;
    test::naive_forward(c.embeddings, c.rows, std::vector{c.bank}, expected);
    require_same_bits(by_seq.out.memory, expected.memory);
    require_same_bits(by_seq.in_place.memory, expected.memory);
    by_seq.require_same(Results(thrust::host, c));
    by_seq.require_same(Results(thrust::cpp::par, c));
#ifdef SEQPAR_TEST_OMP
    by_seq.require_same(Results(thrust::omp::par, c));
#endif
#ifdef SEQPAR_TEST_TBB
    by_seq.require_same(Results(thrust::tbb::par, c));
#endif
}

TEST_CASE("past the cache the gather writes the same: vectors of any alignment, in place, both gradients") {
    Random random(702);
    // The work is told that a vector has half a MiB, so that it goes past the cache, two vectors an item.
    constexpr std::int64_t said = std::int64_t{1} << 19;
    for (int i = 0; i < 40; ++i) {
        const std::int64_t h = random.between(100, 400);
        const std::int64_t count = random.between(250, 300);
        Vectors<float, 2> embeddings = test::random_vectors<float, 2>(random, {count, h});
        Vectors<float, 2> bank = test::random_vectors<float, 2>(random, {200, h});
        const Rows<1> rows = test::random_rows<1>(random, {count}, {200}, true);
        const auto row_view = rows.row.view();
        const auto token_rows = detail::token_rows(row_view);
        const auto vectors = [](auto& v) {
            const auto view = v.view();
            return detail::vector_array(view, 0);
        };
        if (!detail::writes_past_cache(count * said)) continue;  // a cache of half a GiB
        Vectors<float, 2> out = embeddings;
        Vectors<float, 2> expected = embeddings;
        for (float& value : out.memory)
            value = -7;
        for (float& value : expected.memory)
            value = -7;
        test::naive_forward(embeddings, rows, std::vector{bank}, expected);
        const detail::BankList<const float, 1> bank_list{{vectors(bank)}};
        detail::gather_rows(detail::Dispatch{}, thrust::seq, token_rows,
                            detail::Forward<float, float, 1>{vectors(embeddings), bank_list, vectors(out), false},
                            said);
        require_same_bits(out.memory, expected.memory);
        // Backward, in the gradient's own memory: a vector is copied to the bank before it is zeroed.
        Vectors<float, 2> in_place = out;
        Vectors<float, 2> expected_in_place = out;
        std::vector<Vectors<float, 2>> expected_bank{bank};
        test::naive_backward(out, rows, &expected_in_place, &expected_bank, [](float, float g) { return g; });
        const detail::LevelList<float, 1, 1> d_bank{{{{vectors(bank)}}}};
        detail::gather_rows(detail::Dispatch{}, thrust::seq, token_rows,
                            detail::Backward<float, float, float, 1, 1, Store>{vectors(in_place), vectors(in_place),
                                                                               d_bank, true, true, true},
                            said);
        require_same_bits(in_place.memory, expected_in_place.memory);
        require_same_bits(bank.memory, expected_bank[0].memory);
    }
}
