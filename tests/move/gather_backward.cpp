// The backward of VisionGather over thousands of random token shapes, strides, banks and row arrays, against the naive
// ones: bit for bit, NaN payloads and -0 too, and nothing else of the outputs' memory written.
#include "exec.hpp"
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
    template <class T, class G>
    T operator()(T, G g) const {
        return convert<T>(g);
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
            VisionGather{}.backward(test::main_exec, d_out.view(), row_array(rows.row.view(), rows.bank.view()), to,
                                    seqpar::banks(list[0].view(), list[1].view()), Store{});
        } else {
            VisionGather{}.backward(test::main_exec, d_out.view(), rows.row.view(), to, list[0].view(), Store{});
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
    VisionGather{}.backward(test::main_exec, d_out.view(), rows.row.view(), d_embeddings.view(), no_gradient, Store{});
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
        VisionGather{}.backward(test::main_exec, d_out.view(), rows.row.view(), no_gradient, banks.list[0].view(),
                                Add{});
        require_same_bits(banks.list[0].memory, expected[0].memory);
    }
}

namespace {

// A row's gradients added in row-major order, in `Sum`, each step rounded to it.
template <class Sum, class G, class B, class Mode>
void check_sums(Random& random, Mode mode, bool add) {
    const auto tokens = random_tokens<2>(random);
    const std::int64_t width = random.once_in(5) ? random.between(60, 200) : random.between(0, 9);
    Banks<B> banks(random, 2, width);
    const Rows<2> rows = random_rows<2>(random, tokens, banks.rows, false);
    auto d_out = random_vectors<G, 3>(random, with_width(tokens, width));
    const auto number = [&] { return std::ldexp(static_cast<double>(random.between(-999, 999)), -4); };
    for (G& g : d_out.memory)
        g = convert<G>(number());
    for (auto& bank : banks.list) {
        for (B& b : bank.memory)
            b = convert<B>(number());
    }
    auto expected = banks.list;
    auto d_embeddings = random_vectors<G, 3>(random, with_width(tokens, width));
    auto expected_embeddings = d_embeddings;
    test::naive_backward(d_out, rows, &expected_embeddings, static_cast<std::vector<Vectors<B, 2>>*>(nullptr),
                         PutStore{});
    for (std::size_t b = 0; b < 2; ++b) {
        for (std::int64_t row = 0; row < banks.rows[b]; ++row) {
            for (std::int64_t k = 0; k < width; ++k) {
                bool used = false;
                Sum sum{};
                test::for_each_token(tokens, [&](const test::List& token) {
                    if (*rows.row.at(token) != row || *rows.bank.at(token) != static_cast<std::int32_t>(b)) return;
                    const double g = convert<double>(convert<Sum>(d_out.at(token)[k]));
                    sum = used ? convert<Sum>(convert<double>(sum) + g) : convert<Sum>(g);
                    used = true;
                });
                B& there = expected[b].at({row})[k];
                if (used) there = add ? convert<B>(convert<double>(there) + convert<double>(sum)) : convert<B>(sum);
            }
        }
    }
    const auto array = row_array(rows.row.view(), rows.bank.view());
    const auto before = banks.list;
    const auto same_banks = [&] {
        for (std::size_t b = 0; b < 2; ++b)
            require_same_bits(banks.list[b].memory, expected[b].memory);
    };
    VisionGather{}.backward(test::main_exec, d_out.view(), array, d_embeddings.view(),
                            seqpar::banks(banks.list[0].view(), banks.list[1].view()), mode);
    same_banks();
    require_same_bits(d_embeddings.memory, expected_embeddings.memory);
    // In the gradient's own memory, and with the second bank frozen.
    banks.list = before;
    expected[1] = before[1];
    expected_embeddings = d_out;
    test::naive_backward(d_out, rows, &expected_embeddings, static_cast<std::vector<Vectors<B, 2>>*>(nullptr),
                         PutStore{});
    VisionGather{}.backward(test::main_exec, d_out.view(), array, d_out.view(),
                            seqpar::banks(banks.list[0].view(), no_level), mode);
    same_banks();
    require_same_bits(d_out.memory, expected_embeddings.memory);
}

}  // namespace

TEST_CASE("duplicate rows: gradients are added in slot order in the accumulator's type and rounded once at the end") {
    Random random(506);
    for (int i = 0; i < 150; ++i) {
        check_sums<float, bf16, bf16>(random, Summed<Store>{}, false);
        check_sums<float, bf16, float>(random, Summed<Add>{}, true);
        check_sums<bf16, bf16, bf16>(random, Summed<Add, bf16>{}, true);
        check_sums<f16, f16, float>(random, Summed<Store, f16>{}, false);
        check_sums<double, double, float>(random, Summed<Store>{}, false);
        check_sums<double, float, bf16>(random, Summed<Add, double>{}, true);
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
        VisionGather{}(test::main_exec, t(e), rows.row.view(), t(b), t(out));
        VisionGather{}.backward(test::main_exec, t(y), rows.row.view(), t(d_e), t(d_b), Store{});
        const auto dot = [](const test::List& p, const test::List& q) {
            std::int64_t sum = 0;
            for (std::size_t k = 0; k < p.size(); ++k)
                sum += p[k] * q[k];
            return sum;
        };
        REQUIRE(dot(out, y) == dot(e, d_e) + dot(b, d_b));
    }
}
