// Faults reported in public against projects that do this job, as far as offsets, padding and plans can have them: each test
// is named after what it shows. Not here: those of layouts (layout/faults.cpp) and those that tests/index has already.
#include "layout/lists.hpp"

#include <seqpar/seqpar.hpp>

#include <doctest/doctest.h>

#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstdint>

namespace sp = seqpar;
using test::List;
using test::Lists;

TEST_CASE("metadata_in_a_batch_is_not_sharded_like_tokens") {  // case 8
    const auto layout = sp::ZigZag{}(256, 32);
    const List tokens = test::range(0, 256);
    const List cu{0, 64, 128, 192, 256};
    List own_tokens(8, -1);
    List own_cu(1, -1);
    const sp::Status status = sp::status_of([&] {
        sp::shard_batch(thrust::seq, layout, 0,
                        sp::field(sp::tensor(tokens.data(), 1, 256), sp::axis<1>, sp::tensor(own_tokens.data(), 1, 8)),
                        sp::field(cu, sp::axis<0>, own_cu));
    });
    CHECK(status.kind() == sp::Kind::axis_extent);
    CHECK(status.array() == 1);
    CHECK(status.expected == 256);
    CHECK(status.got == 5);
    CHECK(own_tokens == List(8, -1));  // nothing was written
    sp::shard(thrust::seq, layout, 0, sp::tensor(tokens.data(), 1, 256), sp::axis<1>,
              sp::tensor(own_tokens.data(), 1, 8));
    CHECK(own_tokens == List{0, 1, 2, 3, 252, 253, 254, 255});
}

TEST_CASE("ranks_that_hold_different_offsets_learn_of_it_before_they_exchange") {  // case 86
    const auto agreed = [](const auto& a, const auto& b) {  // what a min- and a max-reduce over the two give
        const sp::OffsetsSummary of_a = sp::offsets_summary(a), of_b = sp::offsets_summary(b);
        sp::OffsetsSummary least, greatest;
        for (std::size_t i = 0; i < least.size(); ++i) {
            least[i] = std::min(of_a[i], of_b[i]);
            greatest[i] = std::max(of_a[i], of_b[i]);
        }
        return sp::check_agreement(least, greatest);
    };
    CHECK(agreed(List{0, 8}, List{0, 16}) == sp::make_status(sp::Kind::agreement, 0, 0, 8, 16, 1));
    CHECK(agreed(List{0, 8, 16}, List{0, 16}) == sp::make_status(sp::Kind::agreement, 0, 0, 2, 3, 0));
    CHECK(agreed(List{0, 4, 8, 16}, List{0, 8, 4, 16}).field == 2);
    CHECK(agreed(List{0, 4, 16}, std::vector<std::int32_t>{0, 4, 16}).ok());
    // Each inner offset counts, wherever it stands.
    const List cu = test::range(0, 41);
    for (std::size_t i = 1; i < 40; ++i) {
        List other = cu;
        other[i] += 1;
        CHECK(agreed(cu, other).field == 2);
    }
}

TEST_CASE("one_document_has_offsets_and_a_length") {  // case 15
    const List positions = test::range(0, 8);
    const List cu = sp::offsets_from_positions(positions);
    CHECK(cu == List{0, 8});
    CHECK(sp::longest_document(cu) == 8);
    const List none;
    CHECK(sp::offsets_from_positions(none) == List{0});
}

TEST_CASE("offsets_of_a_shard_begin_at_0_whatever_its_positions") {  // case 19
    const std::vector<std::int32_t> positions{4, 5, 6, 7, 0, 1, 2, 3};
    CHECK(sp::offsets_from_positions(positions) == List{0, 4, 8});
}

TEST_CASE("a_document_that_follows_a_shorter_one_is_not_its_continuation") {  // documents of 1 and 3, then 1 again
    const List positions{0, 0, 1, 2, 0};
    CHECK(sp::offsets_from_positions(positions) == List{0, 1, 4, 5});
}

TEST_CASE("pads_of_position_0_are_one_tail_not_documents_of_one_token") {  // case 20
    const List positions{0, 1, 2, 3, 4, 0, 0, 0};
    CHECK(sp::offsets_from_positions(positions).size() == 5);  // positions alone cannot tell
    const List real = sp::offsets_from_positions(sp::tensor(positions.data(), 5));
    CHECK(real == List{0, 5});
    List own(3);
    CHECK(sp::padded_offsets(thrust::seq, real, 8, sp::Tail::own_document, own) == 8);
    CHECK(own == List{0, 5, 8});
    List padded(2);
    sp::padded_offsets(thrust::seq, real, 8, sp::Tail::last_document, padded);
    CHECK(padded == List{0, 8});
}

TEST_CASE("a_prefix_from_a_padded_and_a_real_number_is_refused_not_clamped") {  // case 27
    const std::int64_t total = 3671;
    const std::int64_t fresh = 3670;
    for (const std::int64_t multiple : {4, 8})
        CHECK(sp::round_up(fresh, multiple) == 3672);
    CHECK(sp::ZigZag{}(3672, 4).run_at(0, 0).length == 459);
    const List right{0, total - fresh, total};
    CHECK(right[1] == 1);
    CHECK(check(sp::offsets(right), total).ok());
    const List wrong{0, total - sp::round_up(fresh, 4), total};
    const sp::Status status = check(sp::offsets(wrong), total);
    CHECK(status.kind() == sp::Kind::offsets_order);
    CHECK(status.got == -1);
}

TEST_CASE("a_rotary_table_is_cut_along_its_first_axis_by_the_group_it_is_given") {  // case 48
    List table;
    for (std::int64_t row = 0; row < 8; ++row)
        table = test::joined(table, List(4, row));
    List own(16, -1);
    sp::shard(thrust::seq, sp::ZigZag{}(8, 2), 0, sp::tensor(table.data(), 8, 1, 1, 4), sp::axis<0>,
              sp::tensor(own.data(), 4, 1, 1, 4));
    List rows;
    for (std::size_t i = 0; i < own.size(); i += 4) {
        CHECK(List(own.begin() + static_cast<std::ptrdiff_t>(i), own.begin() + static_cast<std::ptrdiff_t>(i) + 4) ==
              List(4, own[i]));
        rows.push_back(own[i]);
    }
    CHECK(rows == List{0, 1, 6, 7});
    CHECK(sp::status_of([&] {  // the wrong axis
              sp::shard(thrust::seq, sp::ZigZag{}(8, 2), 0, sp::tensor(table.data(), 8, 1, 1, 4), sp::axis<3>,
                        sp::tensor(own.data(), 4, 1, 1, 4));
          })
              .kind() == sp::Kind::axis_extent);
}

TEST_CASE("nine_items_in_four_parts_starve_nobody") {  // case 89
    const auto layout = sp::UnevenContiguous{}(9, 4);
    CHECK(test::shards(layout) == Lists{{0, 1, 2}, {3, 4}, {5, 6}, {7, 8}});
    const sp::BlockParts parts = sp::sequential_parts(9, 4);
    CHECK(parts == test::shards(layout));
}

TEST_CASE("unequal_counts_are_asked_for_and_empty_parts_with_them") {  // case 91
    CHECK(check(sp::Contiguous{}, 206, 4).kind() == sp::Kind::multiple);
    CHECK(check(sp::Contiguous{}, 3, 4).kind() == sp::Kind::multiple);
    const auto counts = [](std::int64_t items) {
        List list;
        for (int rank = 0; rank < 4; ++rank)
            list.push_back(sp::UnevenContiguous{}(items, 4).slots(rank));
        return list;
    };
    CHECK(counts(206) == List{52, 52, 51, 51});
    CHECK(counts(3) == List{1, 1, 1, 0});
}

TEST_CASE("a_piece_that_goes_on_from_the_rank_before_is_flagged") {  // case 92
    const List cu{0, 19, 47, 71, 83, 108, 116, 120, 128};
    const Lists expected{{0, 19, 32}, {0, 15, 32}, {0, 7, 19, 32}, {0, 12, 20, 24, 32}};
    for (int rank = 0; rank < 4; ++rank) {
        CAPTURE(rank);
        const auto shard = sp::shard_offsets(sp::offsets(cu), 128, 4, rank);
        CHECK(shard.cu == expected[static_cast<std::size_t>(rank)]);
        CHECK(shard.begins_inside_document == (rank > 0));
    }
    // One document a rank: nothing goes on.
    const List even{0, 32, 64, 96, 128};
    for (int rank = 0; rank < 4; ++rank)
        CHECK_FALSE(sp::shard_offsets(sp::offsets(even), 128, 4, rank).begins_inside_document);
}

TEST_CASE("blocks_of_8_bit_formats_are_whole_on_every_rank") {  // case 93
    using sp::MatrixInput;
    CHECK(sp::round_up(11486, sp::block_multiple(1, 2, 16, MatrixInput::tp_sp_shard)) == 11488);
    CHECK(sp::round_up(31936, sp::block_multiple(1, 4, 32, MatrixInput::tp_sp_shard)) == 32000);
    CHECK(sp::block_multiple(2, 2, 16, MatrixInput::cp_shard) == 32);
    CHECK(sp::block_multiple(1, 1, 16, MatrixInput::cp_shard) == 16);
    CHECK(sp::block_multiple(2, 3, 16, MatrixInput::cp_shard) == 96);
    CHECK(sp::block_multiple(2, 2, 16, MatrixInput::tp_sp_shard) == 64);
    for (int cp = 1; cp <= 6; ++cp) {
        for (int tp = 1; tp <= 6; ++tp) {
            for (const std::int64_t block : {16, 32, 128}) {
                const std::int64_t gathered = sp::block_multiple(cp, tp, block, MatrixInput::cp_shard);
                const std::int64_t split = sp::block_multiple(cp, tp, block, MatrixInput::tp_sp_shard);
                CHECK(gathered % sp::pad_multiple(sp::ZigZag{}, cp, tp) == 0);
                CHECK(gathered / cp % block == 0);
                CHECK(split / cp / tp % block == 0);
                CHECK(split % gathered == 0);
            }
        }
    }
    CHECK(sp::customary_multiple(1, 3) == 3);
    CHECK(sp::customary_multiple(2, 3) == 12);
    CHECK(sp::status_of([] { static_cast<void>(sp::customary_multiple(0, 1)); }).kind() == sp::Kind::ranks);
    CHECK(sp::status_of([] { static_cast<void>(sp::block_multiple(1, 1, 0, MatrixInput::cp_shard)); }).kind() ==
          sp::Kind::policy);
}

TEST_CASE("offsets_of_a_fixed_number_repeat_the_last_and_never_drop_a_document") {
    const std::vector<std::int32_t> cu{0, 16, 40};
    List out(5, -1);
    sp::fixed_offsets(thrust::seq, cu, out);
    CHECK(out == List{0, 16, 40, 40, 40});
    std::vector<std::int32_t> same(3);
    sp::fixed_offsets(thrust::seq, cu, same);
    CHECK(same == cu);
    List small(2, -1);
    const sp::Status status = sp::status_of([&] { sp::fixed_offsets(thrust::seq, cu, small); });
    CHECK(status.kind() == sp::Kind::offsets_count);
    CHECK(status.expected == 2);
    CHECK(status.got == 3);
    CHECK(small == List(2, -1));
    const List decreasing{0, 5, 4};
    CHECK(sp::status_of([&] { sp::fixed_offsets(sp::check_only, decreasing, out); }).kind() == sp::Kind::offsets_order);
    CHECK(sp::status_of([&] { sp::fixed_offsets(sp::check_only, out, out); }).kind() == sp::Kind::overlap);
}
