// The backward of VisionGather over thousands of random token shapes, strides, banks and row arrays, against the naive
// ones: bit for bit, NaN payloads and -0 too, and nothing else of the outputs' memory written.
#include "move/vectors.hpp"

#include <seqpar/move/vision_gather.hpp>

#include <thrust/execution_policy.h>
#include <cmath>

using namespace seqpar;
using test::Banks;
using test::Random;
using test::random_rows;
using test::random_tokens;
using test::random_vectors;
using test::require_same_bits;
using test::Rows;
using test::Vectors;
using test::with_width;

namespace {

struct PutStore {
    template <class T>
    T operator()(T, T g) const {
        return g;
    }
};

template <bool Many, class T, std::size_t M>
void check_backward(Random& random) {
    const PutStore put;
    const auto tokens = random_tokens<M>(random);
    const std::int64_t width = random.once_in(15) ? 0 : random.between(1, 20);
    Banks<T> banks(random, Many ? 2 : 1, width);
    const Rows<M> rows = random_rows<M>(random, tokens, banks.rows, true);
    Vectors<T, M + 1> d_out = random_vectors<T, M + 1>(random, with_width(tokens, width));
    Vectors<T, M + 1> d_embeddings = random_vectors<T, M + 1>(random, with_width(tokens, width));
    Vectors<T, M + 1> expected_embeddings = d_embeddings;
    Vectors<T, M + 1> expected_in_place = d_out;
    auto expected_banks = banks.list;
    test::naive_backward(d_out, rows, &expected_embeddings, &expected_banks, put);
    test::naive_backward(d_out, rows, &expected_in_place, static_cast<std::vector<Vectors<T, 2>>*>(nullptr), put);
    const auto before = banks.list;
    const auto backward = [&](auto to, auto& list) {
        if constexpr (Many) {
            VisionGather{}.backward(thrust::seq, d_out.view(), row_array(rows.row.view(), rows.bank.view()), to,
                                    seqpar::banks(list[0].view(), list[1].view()), Store{});
        } else {
            VisionGather{}.backward(thrust::seq, d_out.view(), rows.row.view(), to, list[0].view(), Store{});
        }
    };
    const auto check_banks = [&](const auto& list) {
        for (std::size_t b = 0; b < list.size(); ++b)
            require_same_bits(list[b].memory, expected_banks[b].memory);
    };
    const auto d_out_before = d_out.memory;
    backward(d_embeddings.view(), banks.list);
    require_same_bits(d_embeddings.memory, expected_embeddings.memory);
    require_same_bits(d_out.memory, d_out_before);
    check_banks(banks.list);
    // Frozen embeddings, then frozen banks.
    banks.list = before;
    backward(no_gradient, banks.list);
    check_banks(banks.list);
    require_same_bits(d_out.memory, d_out_before);
    const auto d_embeddings_before = d_embeddings.memory;
    d_embeddings.memory.assign(d_embeddings.memory.size(), T{});
    VisionGather{}.backward(thrust::seq, d_out.view(), rows.row.view(), d_embeddings.view(), no_gradient, Store{});
    test::for_each_token(tokens, [&](const test::List& token) {
        if (width > 0 && std::memcmp(d_embeddings.at(token), expected_embeddings.at(token),
                                     static_cast<std::size_t>(width) * sizeof(T)) != 0) {
            FAIL("d_embeddings with a frozen bank");
        }
    });
    // In the gradient's own memory.
    banks.list = before;
    backward(d_out.view(), banks.list);
    require_same_bits(d_out.memory, expected_in_place.memory);
    check_banks(banks.list);
}

}  // namespace

TEST_CASE("backward by Store equals the naive one bit for bit, into other memory or its own, either gradient skipped") {
    Random random(503);
    for (int i = 0; i < 1000; ++i) {
        check_backward<false, double, 1>(random);
        check_backward<true, bf16, 2>(random);
    }
}

TEST_CASE("backward by Add adds once a value to what is there, and leaves all other rows alone") {
    Random random(504);
    for (int i = 0; i < 500; ++i) {
        const auto tokens = random_tokens<1>(random);
        Banks<float> banks(random, 1, 7);
        const Rows<1> rows = random_rows<1>(random, tokens, banks.rows, true);
        Vectors<float, 2> d_out = random_vectors<float, 2>(random, with_width(tokens, 7));
        for (float& g : d_out.memory)
            g = std::ldexp(static_cast<float>(random.between(-(1 << 24), 1 << 24)),
                           static_cast<int>(random.between(-30, 30)));
        for (float& b : banks.list[0].memory)
            b = std::ldexp(static_cast<float>(random.between(-(1 << 24), 1 << 24)),
                           static_cast<int>(random.between(-30, 30)));
        auto expected = banks.list;
        test::naive_backward(d_out, rows, static_cast<Vectors<float, 2>*>(nullptr), &expected,
                             [](float b, float g) { return b + g; });
        VisionGather{}.backward(thrust::seq, d_out.view(), rows.row.view(), no_gradient, banks.list[0].view(), Add{});
        require_same_bits(banks.list[0].memory, expected[0].memory);
    }
}

TEST_CASE("the adjoint of the gather: <A(e, b), y> = <e, d_e> + <b, d_b> in exact integers") {
    Random random(505);
    for (int i = 0; i < 300; ++i) {
        const std::array<std::int64_t, 2> shape{random.between(1, 30), random.between(1, 5)};
        const std::array<std::int64_t, 2> bank_shape{random.between(1, 30), shape[1]};
        const Rows<1> rows = random_rows<1>(random, {shape[0]}, {bank_shape[0]}, true);
        auto small = [&](std::int64_t n) {
            test::List values;
            for (std::int64_t k = 0; k < n; ++k)
                values.push_back(random.between(-99, 99));
            return values;
        };
        test::List e = small(shape[0] * shape[1]), b = small(bank_shape[0] * shape[1]), y = small(shape[0] * shape[1]);
        test::List out(y.size()), d_e(y.size(), 1), d_b(b.size(), 0);
        const auto t = [&](test::List& list) {
            return tensor(list.data(), static_cast<std::int64_t>(list.size()) / shape[1], shape[1]);
        };
        VisionGather{}(thrust::seq, t(e), rows.row.view(), t(b), t(out));
        VisionGather{}.backward(thrust::seq, t(y), rows.row.view(), t(d_e), t(d_b), Store{});
        const auto dot = [](const test::List& p, const test::List& q) {
            std::int64_t sum = 0;
            for (std::size_t k = 0; k < p.size(); ++k)
                sum += p[k] * q[k];
            return sum;
        };
        REQUIRE(dot(out, y) == dot(e, d_e) + dot(b, d_b));
    }
}
