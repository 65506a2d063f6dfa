// Index arrays against the layout that they are built from, slot by slot, and against each other.
#include "exec.hpp"
#include "support.hpp"

#include <seqpar/index/gather.hpp>

using namespace test;

namespace {

// What the index arrays of a layout must be, from its formulas alone.
template <class I, class Exec, class L>
void check_against_layout(const Exec& exec, const L& layout) {
    std::vector<I> all(static_cast<std::size_t>(layout.size()), -9);
    sp::gather_index(exec, layout, all);
    List expected;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const auto slots = static_cast<std::size_t>(layout.slots(rank));
        std::vector<I> by_position(slots, -9);
        std::vector<I> by_source(slots, -9);
        sp::positions(exec, layout, rank, by_position);
        sp::sources(exec, layout, rank, by_source);
        REQUIRE(by_position == as<I>(shard(layout, rank)));
        REQUIRE(by_source == as<I>(sources(layout, rank)));
        expected = joined(expected, sources(layout, rank));
    }
    REQUIRE(all == as<I>(expected));

    std::vector<I> restore(static_cast<std::size_t>(layout.source_size()), -9);
    sp::restore_index(exec, layout, restore);
    REQUIRE(gathered(all, restore) == range(0, layout.source_size()));
    // So gathering and then restoring gives any array back.
    List whole;
    for (std::int64_t i = 0; i < layout.source_size(); ++i)
        whole.push_back(i * 7919 % 1009);
    REQUIRE(gathered(gathered(whole, all), restore) == whole);
}

}  // namespace

TEST_CASE("positions, sources and gather_index are the layout slot by slot, restore_index is the inverse") {
    Random random(7);
    for (int ranks = 1; ranks <= 5; ++ranks) {
        for (int round = 0; round < 20; ++round) {
            for_each_layout(random, ranks, 7, 3, [&](const auto& layout) {
                REQUIRE(check(layout).ok());
                check_against_layout<std::int32_t>(thrust::seq, layout);
                check_against_layout<std::int64_t>(thrust::seq, layout);
            });
        }
    }
}

TEST_CASE("arrays of many blocks are the same under every exec") {
    Random random(8);
    for (const int ranks : {1, 3}) {
        const List cu = random_offsets(random, 6 * ranks, 40, 4000);
        const std::int64_t total = cu.back();
        const List real = random_real_offsets(random, cu);
        const auto packed = sp::packed(sp::ZigZag{}, cu, total, ranks);
        const auto nested = sp::nested(sp::padded(packed, real, cu, real.back()), sp::UnevenContiguous{}, 3);
        const Table table = random_table(random, ranks, 50000);
        CHECK(total > 50000);
        for_each_exec([&](const auto& exec) {
            check_against_layout<std::int32_t>(exec, packed);
            check_against_layout<std::int32_t>(exec, nested);
            check_against_layout<std::int64_t>(exec, sp::Permuted(table.view()));
        });
    }
}

TEST_CASE("an index array may have any stride, and other memory is left alone") {
    const List cu{0, 8, 12};
    const auto layout = sp::packed(sp::ZigZag{}, cu, 12, 2);
    std::vector<std::int32_t> memory(24, -5);
    sp::sources(thrust::seq, layout, 1, sp::tensor(memory.data() + 1, {6}, {2}));
    CHECK(memory == std::vector<std::int32_t>{-5, 2,  -5, 3,  -5, 4,  -5, 5,  -5, 9,  -5, 10,
                                              -5, -5, -5, -5, -5, -5, -5, -5, -5, -5, -5, -5});
    std::vector<std::int32_t> backwards(12, -5);
    sp::restore_index(thrust::seq, layout, sp::tensor(backwards.data() + 11, {12}, {-1}));
    CHECK(backwards == std::vector<std::int32_t>{5, 11, 10, 4, 3, 2, 9, 8, 7, 6, 1, 0});
}

TEST_CASE("layouts without run_at and spans are indexed all the same") {
    struct Backwards {  // rank r holds the positions p with p mod 2 = r, in falling order
        SEQPAR_HD std::int64_t size() const { return 8; }
        SEQPAR_HD std::int64_t source_size() const { return 8; }
        SEQPAR_HD int ranks() const { return 2; }
        SEQPAR_HD std::int64_t slots(int) const { return 4; }
        SEQPAR_HD std::int64_t position(int rank, std::int64_t slot) const { return 6 - 2 * slot + rank; }
        SEQPAR_HD sp::Place place(std::int64_t p) const { return {static_cast<int>(p % 2), 3 - p / 2}; }
        SEQPAR_HD std::int64_t source(std::int64_t p) const { return p; }
    };
    static_assert(sp::Layout<Backwards> && !sp::RunLayout<Backwards>);
    check_against_layout<std::int32_t>(thrust::seq, Backwards{});
    std::int64_t array[4] = {};
    sp::sources(thrust::seq, Backwards{}, 1, std::span<std::int64_t>(array));
    CHECK(array[0] == 7);
    CHECK(array[3] == 1);
}

// docs/design.md: P=2, documents of 8 and 4.
TEST_CASE("restore columns of the worked examples") {
    const List cu{0, 8, 12};
    const auto restored = [](const auto& layout) {
        List index(12, -9);
        sp::restore_index(thrust::seq, layout, index);
        return index;
    };
    CHECK(restored(sp::ZigZag{}(12, 2)) == List{0, 1, 2, 6, 7, 8, 9, 10, 11, 3, 4, 5});                  // A
    CHECK(restored(sp::packed(sp::ZigZag{}, cu, 12, 2)) == List{0, 1, 6, 7, 8, 9, 2, 3, 4, 10, 11, 5});  // B
    CHECK(restored(sp::Contiguous{}(12, 2)) == range(0, 12));                                            // F
    const sp::RunTable c(Lists{{0, 1, 6, 7, 2, 3}, {4, 5, 8, 11, 9, 10}}, 12);
    CHECK(restored(c.layout()) == List{0, 1, 4, 5, 6, 7, 2, 3, 8, 10, 11, 9});
    const sp::RunTable d(Lists{{1, 3, 4, 7, 8, 10}, {0, 2, 5, 6, 9, 11}}, 12);
    CHECK(restored(d.layout()) == List{6, 0, 7, 1, 2, 8, 9, 3, 4, 10, 5, 11});
}

TEST_CASE("the undo of zigzag takes chunks in the order 0, 2, ..., 2P-2, 2P-1, ..., 3, 1") {
    for (const int ranks : {1, 2, 3, 5, 8}) {
        List index(static_cast<std::size_t>(2 * ranks), -9);
        sp::restore_index(thrust::seq, sp::ZigZag{}(2 * ranks, ranks), index);
        List chunks;
        for (int k = 0; k < ranks; ++k)
            chunks.push_back(2 * k);
        for (int k = ranks - 1; k >= 0; --k)
            chunks.push_back(2 * k + 1);
        CHECK(index == (ranks == 1 ? range(0, 2) : chunks));
    }
}

TEST_CASE("uneven_shards_are_joined_by_their_own_lengths") {  // case 9
    std::vector<std::int32_t> first(2), second(1), restore(3);
    const auto layout = sp::UnevenContiguous{}(3, 2);
    sp::sources(thrust::seq, layout, 0, first);
    sp::sources(thrust::seq, layout, 1, second);
    sp::restore_index(thrust::seq, layout, restore);
    CHECK(first == std::vector<std::int32_t>{0, 1});
    CHECK(second == std::vector<std::int32_t>{2});
    CHECK(restore == std::vector<std::int32_t>{0, 1, 2});
}

TEST_CASE("nothing is written after a mistake, and every check exists as a value too") {
    const List cu{0, 8, 12};
    const auto layout = sp::packed(sp::ZigZag{}, cu, 12, 2);
    std::vector<std::int32_t> out(6, -5);
    const auto expect = [&](sp::Kind kind, auto call) {
        CHECK(refused(call).kind() == kind);
        CHECK(out == std::vector<std::int32_t>(6, -5));
    };
    for (const int rank : {-1, 2}) {
        expect(sp::Kind::rank, [&](auto& exec) { sp::positions(exec, layout, rank, out); });
        expect(sp::Kind::rank, [&](auto& exec) { sp::sources(exec, layout, rank, out); });
    }
    expect(sp::Kind::axis_extent, [&](auto& exec) { sp::gather_index(exec, layout, out); });
    expect(sp::Kind::axis_extent, [&](auto& exec) { sp::restore_index(exec, layout, out); });
    const auto shorter = sp::packed(sp::ZigZag{}, cu, 16, 2);
    const List odd{0, 6, 12};
    const auto illegal = sp::packed(sp::ZigZag{}, odd, 12, 2);
    expect(sp::Kind::offsets_total, [&](auto& exec) { sp::positions(exec, shorter, 0, out); });
    expect(sp::Kind::document_multiple, [&](auto& exec) { sp::positions(exec, illegal, 0, out); });
    expect(sp::Kind::document_multiple, [&](auto& exec) { sp::restore_index(exec, illegal, out); });
    const auto one_place = sp::tensor(out.data(), {6}, {0});
    expect(sp::Kind::overlap, [&](auto& exec) { sp::positions(exec, layout, 0, one_place); });
    // A check alone writes nothing where nothing is wrong, either.
    sp::positions(sp::check_only, layout, 0, out);
    CHECK(out == std::vector<std::int32_t>(6, -5));
}

TEST_CASE("positions past 32 bits are an error in int32 and right in int64") {
    const int ranks = 1 << 30;
    const auto layout = sp::Contiguous{}(std::int64_t{1} << 33, ranks);
    std::vector<std::int32_t> narrow(8, -5);
    const sp::Status status = sp::status_of([&] { sp::positions(sp::check_only, layout, ranks - 1, narrow); });
    CHECK(status.kind() == sp::Kind::value_lost);
    CHECK(status.expected == INT32_MAX);
    CHECK(status.got == (std::int64_t{1} << 33) - 1);
    CHECK(sp::status_of([&] { sp::sources(thrust::seq, layout, ranks - 1, narrow); }) == status);
    CHECK(narrow == std::vector<std::int32_t>(8, -5));
    List wide(8);
    sp::positions(thrust::seq, layout, ranks - 1, wide);
    CHECK(wide == range((std::int64_t{1} << 33) - 8, std::int64_t{1} << 33));
    // The greatest position that int32 holds is no error.
    const auto fits = sp::Contiguous{}(std::int64_t{1} << 31, 1 << 28);
    sp::positions(thrust::seq, fits, (1 << 28) - 1, narrow);
    CHECK(narrow == as<std::int32_t>(range((std::int64_t{1} << 31) - 8, std::int64_t{1} << 31)));
    const auto too_far = sp::Contiguous{}((std::int64_t{1} << 31) + (1 << 28), 1 << 28);
    std::vector<std::int32_t> nine(9);
    CHECK(sp::status_of([&] { sp::positions(sp::check_only, too_far, 0, nine); }).kind() == sp::Kind::value_lost);
}

TEST_CASE("sources of a long padded sequence fit int32 where the real one is short") {
    const List real{0, 8}, up{0, std::int64_t{1} << 33};
    const auto layout = sp::padded(sp::Contiguous{}(up[1], 1 << 30), real, up, 8);
    std::vector<std::int32_t> index(8);
    sp::sources(thrust::seq, layout, 0, index);
    CHECK(index == as<std::int32_t>(range(0, 8)));
    sp::sources(thrust::seq, layout, 1, index);
    CHECK(index == std::vector<std::int32_t>(8, -1));
    CHECK(sp::status_of([&] { sp::positions(sp::check_only, layout, 0, index); }).kind() == sp::Kind::value_lost);
    CHECK(sp::status_of([&] { sp::restore_index(sp::check_only, layout, index); }).kind() == sp::Kind::value_lost);
}

TEST_CASE("seventy thousand documents") {  // case 42
    std::vector<std::int32_t> cu;
    for (std::int32_t d = 0; d <= 70000; ++d)
        cu.push_back(4 * d);
    const auto layout = sp::packed(sp::ZigZag{}, cu, 280000, 2);
    for_each_exec([&](const auto& exec) {
        std::vector<std::int32_t> first(140000), second(140000);
        sp::sources(exec, layout, 0, first);
        sp::sources(exec, layout, 1, second);
        for (std::int32_t d = 0; d < 70000; ++d) {
            const auto at = static_cast<std::size_t>(2 * d);
            const bool right = first[at] == 4 * d && first[at + 1] == 4 * d + 3 && second[at] == 4 * d + 1 &&
                               second[at + 1] == 4 * d + 2;
            if (!right) FAIL("document ", d);
        }
    });
}

// An array that is no index array, or has another shape, does not compile.
namespace {
template <class L, class Out>
concept can_index = requires(const L& layout, Out out) { sp::positions(thrust::seq, layout, 0, out); };
using ZZ = sp::ZigZagLayout;
static_assert(can_index<ZZ, std::vector<std::int32_t>&> && can_index<ZZ, std::vector<std::int64_t>&>);
static_assert(can_index<ZZ, std::vector<long long>&>);
static_assert(!can_index<ZZ, const std::vector<std::int32_t>&>);
static_assert(!can_index<ZZ, std::vector<std::int16_t>&>);
static_assert(!can_index<ZZ, std::vector<std::uint32_t>&>);
static_assert(!can_index<ZZ, std::vector<float>&>);
static_assert(!can_index<ZZ, sp::DenseView<std::int32_t, 2>>);
}  // namespace
