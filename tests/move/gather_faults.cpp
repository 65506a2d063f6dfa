// Faults reported in public projects, as small inputs with the right answer: those about vision rows. Row arrays are written
// by hand; building them is tested in tests/index.
#include "move/values.hpp"

#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/levels.hpp>
#include <seqpar/move/shard.hpp>

#include <thrust/execution_policy.h>

using namespace seqpar;
using test::counted;
using test::error_of;

namespace {
using RowList = std::vector<std::int32_t>;
}

TEST_CASE("fault 31: rows of [S,B] are numbered sample by sample, and gathered where they stand") {
    // Sample 0 has its placeholder at 4, sample 1 at 1 and 2; features come sample by sample.
    const RowList rows{-1, -1, -1, 1, -1, 2, -1, -1, 0, -1};  // [S,B] = [5,2]
    std::vector<float> hidden = counted<float>(10);           // [S,B,1]
    const std::vector<float> features{100, 101, 102};
    VisionGather{}(thrust::seq, tensor(hidden.data(), 5, 2, 1), tensor(rows.data(), 5, 2),
                   tensor(features.data(), 3, 1), tensor(hidden.data(), 5, 2, 1));
    CHECK((hidden == std::vector<float>{0, 1, 2, 101, 4, 102, 6, 7, 100, 9}));
    // The same by samples, read as [B,S] through strides.
    std::vector<float> again = counted<float>(10);
    VisionGather{}(thrust::seq, tensor(again.data(), {2, 5, 1}, {1, 2, 1}), tensor(rows.data(), {2, 5}, {1, 2}),
                   tensor(features.data(), 3, 1), tensor(again.data(), {2, 5, 1}, {1, 2, 1}));
    CHECK((again == hidden));
}

TEST_CASE(
    "fault 76: a rank's placeholders are not counted against the whole bank, and rank 1 does not start again at row "
    "0") {
    const RowList rows{-1, 0, 1, 2, 3, -1, -1, -1};
    const auto layout = ZigZag{}(8, 2);
    RowList local(4);
    shard(thrust::seq, layout, 0, rows, axis<0>, local);
    CHECK((local == RowList{-1, 0, -1, -1}));
    shard(thrust::seq, layout, 1, rows, axis<0>, local);
    CHECK((local == RowList{1, 2, 3, -1}));
    const std::vector<float> bank = counted<float>(4, 100);
    std::vector<float> tokens = counted<float>(4, 2);  // positions 2 to 5
    VisionGather{}(thrust::seq, tensor(tokens.data(), 4, 1), local, tensor(bank.data(), 4, 1),
                   tensor(tokens.data(), 4, 1));
    CHECK((tokens == std::vector<float>{101, 102, 103, 5}));
}

TEST_CASE("fault 61: each rank gives the gradient of the rows that its tokens refer to, and their sum is the whole") {
    const RowList rows{-1, 0, 1, 2, 3, -1, -1, -1};
    const std::vector<float> d_out = counted<float>(8, 100);
    const auto layout = ZigZag{}(8, 2);
    std::vector<float> sum(4), d_local(4);
    const std::vector<float> of_rank[2] = {{101, 0, 0, 0}, {0, 102, 103, 104}};
    for (int rank = 0; rank < 2; ++rank) {
        shard(thrust::seq, layout, rank, d_out, axis<0>, d_local);
        const auto local_rows = sharded(rows, layout, rank, axis<0>);
        std::vector<float> d_bank(4), d_level(4);
        add_rows_backward(thrust::seq, tensor(d_local.data(), 4, 1), local_rows, tensor(d_level.data(), 4, 1), Store{});
        VisionGather{}.backward(thrust::seq, tensor(d_local.data(), 4, 1), local_rows, no_gradient,
                                tensor(d_bank.data(), 4, 1), Store{});
        CHECK((d_bank == of_rank[rank]));
        CHECK((d_level == of_rank[rank]));
        for (std::size_t i = 0; i < 4; ++i)
            sum[i] += d_bank[i];
    }
    CHECK((sum == std::vector<float>{101, 102, 103, 104}));
}

TEST_CASE("fault 78: a batch of text alone goes the same way, and hidden vectors stay bit for bit") {
    const RowList rows(8, -1);
    const auto layout = ZigZag{}(8, 2);
    std::vector<float> hidden = counted<float>(8);
    hidden[3] = -0.0f;
    const std::vector<float> before = hidden;
    const auto all = tensor(hidden.data(), 4, 2);
    VisionGather{}(thrust::seq, all, sharded(rows, layout, 1, axis<0>),
                   tensor(static_cast<const float*>(nullptr), 0, 2), all);
    const auto no_level_rows = tensor(static_cast<const float*>(nullptr), 0, 2);
    add_rows(thrust::seq, all, sharded(rows, layout, 1, axis<0>), levels(no_level_rows, no_level_rows));
    CHECK(std::memcmp(hidden.data(), before.data(), 8 * sizeof(float)) == 0);
    VisionGather{}.backward(thrust::seq, all, sharded(rows, layout, 1, axis<0>), all,
                            tensor(static_cast<float*>(nullptr), 0, 2), Store{});
    CHECK(std::memcmp(hidden.data(), before.data(), 8 * sizeof(float)) == 0);
}

TEST_CASE("fault 79: samples without an image, and a bank without rows") {
    const RowList rows{-1, -1, -1, -1, 0, 1, -1, -1};  // [2,4]
    std::vector<float> tokens = counted<float>(32);
    const std::vector<float> bank = counted<float>(8, 100);
    VisionGather{}(thrust::seq, tensor(tokens.data(), 2, 4, 4), tensor(rows.data(), 2, 4), tensor(bank.data(), 2, 4),
                   tensor(tokens.data(), 2, 4, 4));
    std::vector<float> expected = counted<float>(32);
    for (std::size_t i = 0; i < 8; ++i)
        expected[16 + i] = bank[i];
    CHECK((tokens == expected));
    const RowList none(8, -1);
    VisionGather{}(thrust::seq, tensor(tokens.data(), 2, 4, 4), tensor(none.data(), 2, 4),
                   tensor(static_cast<const float*>(nullptr), 0, 4), tensor(tokens.data(), 2, 4, 4));
    CHECK((tokens == expected));
}

TEST_CASE("fault 81: -1 is text and forms no address; any other row outside the bank is an error") {
    const std::vector<float> bank{100, 101, 102};
    const std::vector<float> text{0, 1, 2, 3};
    std::vector<float> out(4);
    const auto gather = [&](const RowList& rows) {
        return error_of([&] {
            VisionGather{}(thrust::seq, tensor(text.data(), 4, 1), rows, tensor(bank.data(), 3, 1),
                           tensor(out.data(), 4, 1));
        });
    };
    CHECK(gather({-1, 2, -1, 0}).ok());
    CHECK((out == std::vector<float>{0, 102, 2, 100}));
    CHECK(gather({-1, 3, -1, 0}).kind() == Kind::row_range);
    CHECK(gather({-1, -2, -1, 0}).kind() == Kind::row_range);
    // The backward touches no bank row for text: a clamped -1 would add to row 0.
    std::vector<float> d_bank(3, 7);
    VisionGather{}.backward(thrust::seq, tensor(text.data(), 4, 1), RowList{-1, 2, -1, -1}, no_gradient,
                            tensor(d_bank.data(), 3, 1), Add{});
    CHECK((d_bank == std::vector<float>{7, 7, 8}));
}

TEST_CASE("fault: a bank of one row is not repeated over all placeholders by broadcasting") {
    const std::vector<float> one{100, 101};
    std::vector<float> tokens = counted<float>(6);
    const std::vector<float> before = tokens;
    const RowList rows{0, 1, 2};
    const auto all = tensor(tokens.data(), 3, 2);
    CHECK(error_of([&] { VisionGather{}(thrust::seq, all, rows, tensor(one.data(), 1, 2), all); }).kind() ==
          Kind::row_range);
    CHECK(error_of([&] { add_rows(thrust::seq, all, rows, tensor(one.data(), 1, 2)); }).kind() == Kind::row_range);
    CHECK((tokens == before));
}

TEST_CASE("fault: levels packed in one order and unpacked in another: rows are named, whatever the order of the list") {
    // Image rows 0, 1 and video row 0 in one stream: video stands between the images.
    const RowList rows{0, 0, 1}, banks_of{0, 1, 0};
    const std::vector<float> image{10, 11}, video{20};
    RowList compact_rows(3), compact_banks(3);
    std::vector<char> mask(3);
    std::vector<float> features(3);
    compact(thrust::seq, row_array(rows, banks_of), all_banks, mask, compact_rows, compact_banks);
    select(thrust::seq, banks(tensor(image.data(), 2, 1), tensor(video.data(), 1, 1)),
           row_array(compact_rows, compact_banks), tensor(features.data(), 3, 1));
    CHECK((features == std::vector<float>{10, 20, 11}));
    // Back, from a list in another order.
    const RowList turned_rows{1, 0, 0}, turned_banks{0, 0, 1};
    const std::vector<float> d_features{11, 10, 20};
    std::vector<float> d_image(2), d_video(1);
    select_backward(thrust::seq, tensor(d_features.data(), 3, 1), row_array(turned_rows, turned_banks),
                    banks(tensor(d_image.data(), 2, 1), tensor(d_video.data(), 1, 1)), Store{});
    CHECK((d_image == image));
    CHECK((d_video == video));
}
