// Roll: the index against plain loops, and a gather by it against the whole array rolled and then sharded.
#include "exec.hpp"
#include "support.hpp"

#include <seqpar/index/gather.hpp>
#include <seqpar/index/roll.hpp>
#include <seqpar/move/shard.hpp>

using namespace test;

namespace {

// The position whose value `position` holds after a roll by `by` inside documents; -1: none.
std::int64_t rolled(const List& cu, std::int64_t position, std::int64_t by) {
    for (std::size_t d = 0; d + 1 < cu.size(); ++d) {
        if (position < cu[d] || position >= cu[d + 1]) continue;
        const std::int64_t from = position - by;
        return from >= cu[d] && from < cu[d + 1] ? from : -1;
    }
    return -1;
}

template <class T, class Exec, class L>
void check_roll(const Exec& exec, const L& layout, const List& cu, std::int64_t by) {
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        List inside;
        List whole;
        List circle;
        for (const std::int64_t position : shard(layout, rank)) {
            inside.push_back(rolled(cu, position, by));
            whole.push_back(rolled({0, layout.size()}, position, by));
            circle.push_back(((position - by) % layout.size() + layout.size()) % layout.size());
        }
        std::vector<T> out(inside.size(), T{-9});
        sp::roll_index(exec, layout, rank, cu, by, out);
        REQUIRE(out == as<T>(inside));
        sp::roll_index(exec, layout, rank, by, out);
        REQUIRE(out == as<T>(whole));
        sp::circular_roll_index(exec, layout, rank, by, out);
        REQUIRE(out == as<T>(circle));
    }
}

}  // namespace

TEST_CASE("roll_index is the roll position by position, inside documents, of the sequence and in a circle") {
    Random random(71);
    for (int ranks = 1; ranks <= 3; ++ranks) {
        for_each_layout(random, ranks, 5, 2, [&](const auto& layout) {
            List cu = random_offsets(random, 1, 5, std::max<std::int64_t>(layout.size() / 5, 1));
            if (cu.size() == 1) cu.push_back(0);
            for (std::int64_t& offset : cu)
                offset = std::min(offset, layout.size());  // may end before the sequence: the tail is nobody's
            for (const std::int64_t by : {-1, 1, 0, -3, 5, 1000})
                check_roll<std::int64_t>(thrust::seq, layout, cu, by);
        });
    }
    for_each_exec([&](const auto& exec) {
        check_roll<std::int32_t>(exec, sp::ZigZag{}(40000 * 4, 2), {0, 33333, 33333, 160000}, -2);
    });
}

TEST_CASE("a gather by the index is the whole array rolled and then sharded") {
    const List cu{0, 8, 12, 24};
    const auto layout = sp::packed(sp::ZigZag{}, cu, 24, 2);
    std::vector<std::int32_t> whole;
    for (int i = 0; i < 24; ++i)
        whole.push_back(100 + i);
    std::vector<std::int32_t> then_rolled;
    for (std::int64_t p = 0; p < 24; ++p) {
        const std::int64_t from = rolled(cu, p, -1);
        then_rolled.push_back(from < 0 ? -100 : whole[static_cast<std::size_t>(from)]);
    }
    for (int rank = 0; rank < 2; ++rank) {
        std::vector<std::int32_t> expected(12);
        sp::shard(thrust::seq, layout, rank, then_rolled, sp::axis<0>, expected);
        std::vector<std::int64_t> index(12);
        sp::roll_index(thrust::seq, layout, rank, cu, -1, index);
        CHECK(gathered(whole, index, -100) == List(expected.begin(), expected.end()));
    }
}

// docs/design.md: where zigzag needs another rank's token.
TEST_CASE("the last of a zigzag half comes from the neighbour that docs/design.md names") {
    const auto layout = sp::ZigZag{}(24, 3);
    for (int rank = 0; rank < 3; ++rank) {
        List index(8);
        sp::roll_index(thrust::seq, layout, rank, -1, index);
        CHECK(index[3] == (rank < 2 ? layout.position(rank + 1, 0) : layout.position(rank, 4)));
        CHECK(index[7] == (rank > 0 ? layout.position(rank - 1, 4) : -1));
    }
}

TEST_CASE("a roll by any 64-bit number is bounded, and what cannot be written is refused") {
    const auto layout = sp::Contiguous{}(6, 2);
    List index(3);
    for (const std::int64_t by : {INT64_MAX, INT64_MIN, std::int64_t{6}, std::int64_t{-6}}) {
        sp::roll_index(thrust::seq, layout, 1, by, index);
        CHECK(index == List{-1, -1, -1});
    }
    sp::circular_roll_index(thrust::seq, layout, 1, INT64_MIN, index);  // -2^63 mod 6 is 4
    CHECK(index == List{5, 0, 1});
    List empty;
    sp::circular_roll_index(thrust::seq, sp::Contiguous{}(0, 2), 1, 3, empty);

    const List long_cu{0, 8};
    const List bad_cu{0, 4, 2, 6};
    CHECK(sp::status_of([&] { sp::roll_index(sp::check_only, layout, 0, long_cu, -1, index); }).kind() ==
          sp::Kind::offsets_total);
    CHECK(sp::status_of([&] { sp::roll_index(sp::check_only, layout, 0, bad_cu, -1, index); }).kind() ==
          sp::Kind::offsets_order);
    CHECK(sp::status_of([&] { sp::roll_index(thrust::seq, layout, 2, -1, index); }).kind() == sp::Kind::rank);
    List wrong(4);
    CHECK(sp::status_of([&] { sp::roll_index(thrust::seq, layout, 0, -1, wrong); }).kind() == sp::Kind::axis_extent);
    std::vector<std::int32_t> narrow(8);
    const auto large = sp::Striped{}(std::int64_t{1} << 33, 1 << 30);
    CHECK(sp::status_of([&] { sp::roll_index(thrust::seq, large, 0, -1, narrow); }).kind() == sp::Kind::value_lost);
    List wide(8);
    sp::roll_index(thrust::seq, large, (1 << 30) - 1, -1, wide);
    CHECK(wide.front() == std::int64_t{1} << 30);
    CHECK(wide.back() == -1);
}
