// Every mistake in a gather that the host can see is an Error that says what was wrong, before anything is written.
#include "move/values.hpp"

#include <seqpar/move/vision_gather.hpp>

#include <thrust/execution_policy.h>

using namespace seqpar;
using test::check_status;
using test::counted;
using test::error_of;
using test::List;

namespace {

using RowList = std::vector<std::int32_t>;

constexpr float untouched = -7;

// Four tokens of width 2, a bank of three rows, and what they gather into.
struct Arrays {
    std::vector<float> embeddings = counted<float>(8);
    std::vector<float> bank = counted<float>(6, 100);
    std::vector<float> out = std::vector<float>(8, untouched);

    auto e() { return tensor(embeddings.data(), 4, 2); }
    auto b() { return tensor(bank.data(), 3, 2); }
    auto o() { return tensor(out.data(), 4, 2); }

    Status forward(const RowList& rows) {
        const Status status = error_of([&] { VisionGather{}(thrust::seq, e(), rows, b(), o()); });
        if (!status.ok()) CHECK((out == std::vector<float>(8, untouched)));
        return status;
    }
    // d_out is `embeddings`, both gradients go where nothing may be written.
    template <class Mode>
    Status backward(const RowList& rows, Mode mode) {
        const std::vector<float> before = bank;
        const Status status = error_of([&] { VisionGather{}.backward(thrust::seq, e(), rows, o(), b(), mode); });
        if (!status.ok()) CHECK((out == std::vector<float>(8, untouched)));
        if (!status.ok()) CHECK((bank == before));
        return status;
    }
};

}  // namespace

TEST_CASE("a row outside its bank, or below -1, is named by token, forward and backward") {
    Arrays a;
    check_status(a.forward({-1, 0, 3, 1}), Kind::row_range, 0, 3, 3, 0, 2);
    check_status(a.forward({-1, 0, 1, -2}), Kind::row_range, 0, 3, -2, 0, 3);
    check_status(a.forward({-1, 7, 9, -2}), Kind::row_range, 0, 3, 7, 0, 1);  // the first of several
    check_status(a.backward({-1, 0, 3, 1}, Store{}), Kind::row_range, 0, 3, 3, 0, 2);
    check_status(a.backward({INT32_MIN, 0, 1, 2}, Add{}), Kind::row_range, 0, 3, INT32_MIN, 0, 0);
    CHECK(a.forward({-1, 0, 2, 1}).ok());
    CHECK((a.out == std::vector<float>{0, 1, 100, 101, 104, 105, 102, 103}));
}

TEST_CASE("a row used twice is an error in the backward, with both tokens named, and legal in the forward") {
    Arrays a;
    check_status(a.backward({1, 2, -1, 1}, Store{}), Kind::row_reused, 0, 0, 3, 1, 3);
    check_status(a.backward({1, 2, 2, 1}, Add{}), Kind::row_reused, 0, 1, 2, 2, 2);
    CHECK(a.forward({1, 2, -1, 1}).ok());
    CHECK((a.out == std::vector<float>{102, 103, 104, 105, 4, 5, 102, 103}));
}

TEST_CASE(
    "of several mistakes the worst is named, and of equal ones the first in row-major order, however rows are walked") {
    // [S,B] = [3,2], walked along S: token 2 (s 1, b 0) comes before token 1 (s 0, b 1).
    const std::vector<float> e(12, 1);
    std::vector<float> out(12, untouched);
    std::vector<float> bank(8, 2);
    const auto error = [&](const RowList& rows) {
        return error_of([&] {
            VisionGather{}.backward(thrust::seq, tensor(e.data(), 3, 2, 2), tensor(rows.data(), 3, 2),
                                    tensor(out.data(), 3, 2, 2), tensor(bank.data(), 4, 2), Store{});
        });
    };
    check_status(error({-1, 5, 6, -1, -1, -1}), Kind::row_range, 0, 4, 5, 0, 1);
    check_status(error({0, 1, 1, -1, 0, -1}), Kind::row_reused, 0, 1, 2, 1, 2);
    check_status(error({0, 1, 1, -1, 0, 9}), Kind::row_range, 0, 4, 9, 0, 5);
    CHECK((out == std::vector<float>(12, untouched)));
}

TEST_CASE("a bank that is not there") {
    Arrays a;
    const std::vector<float> other = counted<float>(4, 200);
    const RowList rows{-1, 0, 1, 2};
    const auto error = [&](const RowList& numbers) {
        return error_of([&] {
            VisionGather{}(thrust::seq, a.e(), row_array(rows, numbers), banks(a.b(), tensor(other.data(), 2, 2)),
                           a.o());
        });
    };
    check_status(error({-1, 0, 2, 0}), Kind::bank_range, 0, 2, 2, 0, 2);
    check_status(error({-1, 0, -1, 0}), Kind::bank_range, 0, 2, -1, 0, 2);
    check_status(error({-1, 0, 1, 1}), Kind::row_range, 1, 2, 2, 0, 3);
    CHECK((a.out == std::vector<float>(8, untouched)));
    CHECK(error({-1, 1, 1, 0}).ok());
    CHECK((a.out == std::vector<float>{0, 1, 200, 201, 202, 203, 104, 105}));
}

TEST_CASE("shapes that do not go together") {
    Arrays a;
    const RowList three{-1, 0, 1};
    check_status(a.forward(three), Kind::extent, 0, 3, 4, 0);
    const RowList rows{-1, 0, 1, 2};
    const auto error = [&](auto e, auto b, auto o) {
        const Status status = error_of([&] { VisionGather{}(thrust::seq, e, rows, b, o); });
        CHECK((a.out == std::vector<float>(8, untouched)));
        return status;
    };
    check_status(error(a.e(), a.b(), tensor(a.out.data(), 2, 2)), Kind::extent, 1, 4, 2, 0);
    check_status(error(a.e(), a.b(), tensor(a.out.data(), 4, 1)), Kind::extent, 0, 1, 2, 1);
    check_status(error(a.e(), tensor(a.bank.data(), 2, 3), a.o()), Kind::extent, 0, 2, 3, 1);
    check_status(error(a.e(), banks(a.b(), tensor(a.bank.data(), 6, 1)), a.o()), Kind::extent, 1, 2, 1, 1);
    const RowList few{-1, -1, -1};
    check_status(error_of([&] { VisionGather{}(thrust::seq, a.e(), row_array(rows, few), a.b(), a.o()); }),
                 Kind::extent, 1, 4, 3, 0);
    check_status(error_of([&] {
                     VisionGather{}.backward(thrust::seq, a.e(), rows, tensor(a.out.data(), 4, 1), no_gradient,
                                             Store{});
                 }),
                 Kind::extent, 1, 2, 1, 1);
    check_status(error_of([&] {
                     VisionGather{}.backward(thrust::seq, a.e(), rows, no_gradient, tensor(a.out.data(), 4, 1),
                                             Store{});
                 }),
                 Kind::extent, 0, 2, 1, 1);
    // Vectors must be contiguous along H; all else is free.
    CHECK(error(tensor(a.embeddings.data(), {4, 2}, {1, 4}), a.b(), a.o()).kind() == Kind::extent);
    CHECK(error(a.e(), tensor(a.bank.data(), {3, 2}, {1, 3}), a.o()).kind() == Kind::extent);
    CHECK((a.out == std::vector<float>(8, untouched)));
}

TEST_CASE("outputs that share memory otherwise than in place") {
    Arrays a;
    std::vector<float> memory = counted<float>(16);
    const std::vector<float> before = memory;
    const RowList rows{-1, 0, 1, 2};
    const auto at = [&](std::int64_t i) { return tensor(memory.data() + i, 4, 2); };
    const auto forward = [&](auto e, auto b, auto o) {
        return error_of([&] { VisionGather{}(thrust::seq, e, rows, b, o); });
    };
    check_status(forward(at(0), a.b(), at(2)), Kind::overlap, 1, 0, 1);
    check_status(forward(a.e(), tensor(memory.data(), 3, 2), at(4)), Kind::overlap, 0, 0, 1);
    check_status(forward(a.e(), a.b(), tensor(memory.data(), {4, 2}, {0, 1})), Kind::overlap, 1, 0, 1);
    check_status(forward(a.e(), banks(a.b(), tensor(memory.data(), 1, 2)), at(0)), Kind::overlap, 1, 0, 1);
    const auto backward = [&](auto d_out, auto d_e, auto d_b) {
        return error_of([&] { VisionGather{}.backward(thrust::seq, d_out, rows, d_e, d_b, Store{}); });
    };
    check_status(backward(at(0), at(2), a.b()), Kind::overlap, 1, 0, 1);
    check_status(backward(at(0), no_gradient, tensor(memory.data() + 4, 3, 2)), Kind::overlap, 0, 0, 1);
    check_status(backward(a.e(), at(0), tensor(memory.data() + 4, 3, 2)), Kind::overlap, 0, 0, 1);
    check_status(backward(a.e(), at(0), banks(a.b(), a.b())), Kind::overlap, 1, 0, 1);
    check_status(backward(a.e(), at(0), tensor(memory.data() + 8, {3, 2}, {0, 1})), Kind::overlap, 0, 0, 1);
    CHECK((memory == before));
    // A bank beside the embeddings in one buffer is legal, and the bank may be the embeddings' memory: neither is written.
    CHECK(forward(at(0), tensor(memory.data(), 3, 2), at(8)).ok());
}

TEST_CASE("a frozen bank does not hide a row number that is no row number") {
    Arrays a;
    const RowList rows{-1, 0, -2, 1};
    check_status(error_of([&] { VisionGather{}.backward(thrust::seq, a.e(), rows, a.o(), no_gradient, Store{}); }),
                 Kind::row_range, 0, INT64_MAX, -2, 0, 2);
    CHECK((a.out == std::vector<float>(8, untouched)));
}
