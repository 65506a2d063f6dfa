// What is legal in a gather though it looks odd: nothing to gather, no checks, bits that are no numbers, row arrays of any kind.
#include "move/values.hpp"

#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/vision_gather.hpp>

#include <thrust/execution_policy.h>
#include <bit>

using namespace seqpar;
using test::check_status;
using test::counted;
using test::error_of;

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
};

// Rows that are stored as one more than they are, read through an accessor that takes it off.
struct LessOne {
    using offset_policy = LessOne;
    using element_type = const std::int32_t;
    using reference = std::int32_t;
    using data_handle_type = const std::int32_t*;
    reference access(data_handle_type data, std::size_t i) const { return data[i] - 1; }
    data_handle_type offset(data_handle_type data, std::size_t i) const { return data + i; }
};

}  // namespace

TEST_CASE("no bank row, no token, no width: legal, and nothing is read") {
    Arrays a;
    float* const nowhere = nullptr;
    const RowList text(4, -1);
    VisionGather{}(thrust::seq, a.e(), text, tensor(nowhere, 0, 2), a.o());
    CHECK((a.out == a.embeddings));
    VisionGather{}.backward(thrust::seq, a.e(), text, a.o(), tensor(nowhere, 0, 2), Store{});
    CHECK((a.out == a.embeddings));
    VisionGather{}(thrust::seq, tensor(nowhere, 0, 2), RowList{}, a.b(), tensor(nowhere, 0, 2));
    VisionGather{}(thrust::seq, tensor(nowhere, 4, 0), RowList{0, 1, 2, -1}, tensor(nowhere, 3, 0),
                   tensor(nowhere, 4, 0));
    VisionGather{}.backward(thrust::seq, tensor(nowhere, 4, 0), RowList{0, 1, 2, -1}, tensor(nowhere, 4, 0),
                            tensor(nowhere, 3, 0), Add{});
    CHECK(a.forward({-1, -1, -1, -1}).ok());
    const Status status = error_of([&] {
        VisionGather{}(thrust::seq, a.e(), RowList{-1, -1, -1, 0}, tensor(nowhere, 0, 2), a.o());
    });
    check_status(status, Kind::row_range, 0, 0, 0, 0, 3);
}

TEST_CASE("the form without checks gathers the same") {
    Arrays a;
    const RowList rows{2, -1, 0, 1};
    UncheckedVisionGather{}(thrust::seq, a.e(), rows, a.b(), a.o());
    CHECK((a.out == std::vector<float>{104, 105, 2, 3, 100, 101, 102, 103}));
    std::vector<float> d_bank(6, untouched);
    UncheckedVisionGather{}.backward(thrust::seq, a.e(), rows, a.o(), tensor(d_bank.data(), 3, 2), Store{});
    CHECK((a.out == std::vector<float>{0, 0, 2, 3, 0, 0, 0, 0}));
    CHECK((d_bank == std::vector<float>{4, 5, 6, 7, 0, 1}));
    // Shapes are looked at in both forms.
    CHECK(error_of([&] { UncheckedVisionGather{}(thrust::seq, a.e(), RowList{0}, a.b(), a.o()); }).kind() ==
          Kind::extent);
}

TEST_CASE("Store keeps -0 and NaN payloads, and leaves rows that no token refers to alone") {
    const std::vector<float> d_out{-0.0f, std::bit_cast<float>(0x7FC12345u), std::bit_cast<float>(0xFF812345u), 1};
    std::vector<float> d_bank(6, untouched);
    VisionGather{}.backward(thrust::seq, tensor(d_out.data(), 2, 2), RowList{2, 0}, no_gradient,
                            tensor(d_bank.data(), 3, 2), Store{});
    std::vector<std::uint32_t> bits;
    for (float value : d_bank)
        bits.push_back(std::bit_cast<std::uint32_t>(value));
    CHECK((bits ==
           std::vector<std::uint32_t>{0xFF812345u, 0x3F800000u, 0xC0E00000u, 0xC0E00000u, 0x80000000u, 0x7FC12345u}));
}

TEST_CASE("row arrays of any tensor: a view with an accessor of its own") {
    using Extents = cuda::std::dextents<std::int64_t, 1>;
    const RowList stored{0, 3, 0, 1, 0, 0, 0, 2};
    const cuda::std::mdspan<const std::int32_t, Extents, cuda::std::layout_right, LessOne> rows(
        stored.data(), cuda::std::layout_right::mapping<Extents>(Extents(8)), LessOne{});
    const auto layout = ZigZag{}(8, 2);
    Arrays a;  // rank 0 holds tokens 0, 1, 6, 7
    VisionGather{}(thrust::seq, a.e(), sharded(rows, layout, 0, axis<0>), a.b(), a.o());
    CHECK((a.out == std::vector<float>{0, 1, 104, 105, 4, 5, 102, 103}));
    std::vector<float> whole = counted<float>(16);
    VisionGather{}(thrust::seq, tensor(whole.data(), 8, 2), rows, a.b(), tensor(whole.data(), 8, 2));
    CHECK((whole == std::vector<float>{0, 1, 104, 105, 4, 5, 100, 101, 8, 9, 10, 11, 12, 13, 102, 103}));
}

TEST_CASE("row arrays outlive the expression that names them") {
    Arrays a;
    const RowList rows{-1, 0, 1, 2, -1, -1, -1, -1};
    const RowList numbers{-1, 0, 0, 0, -1, -1, -1, -1};
    const auto layout = ZigZag{}(8, 2);
    const auto local = row_array(sharded(rows, layout, 0, axis<0>), sharded(numbers, layout, 0, axis<0>));
    VisionGather{}(thrust::seq, a.e(), local, banks(a.b()), a.o());
    CHECK((a.out == std::vector<float>{0, 1, 100, 101, 4, 5, 6, 7}));
}
