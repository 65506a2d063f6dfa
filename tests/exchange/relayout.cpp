// Relayout: the exchange that the plans of all ranks make, simulated, against the layouts.
#include "support.hpp"

using namespace test;

namespace {

template <sp::Layout From, sp::Layout To>
Plans relayouts(const From& from, const To& to) {
    return plans_of(std::max(from.ranks(), to.ranks()), [&](int rank) { return sp::relayout(from, to, rank); });
}

// The shards of all ranks of a group that may be larger than the layout's.
template <sp::Layout L>
Lists shards_in(const L& layout, std::size_t group) {
    Lists all = shards(layout);
    all.resize(group);
    return all;
}

// There: the shards of the target. Back: those that were. Each row crosses once, by the order that docs/design.md names.
template <sp::Layout From, sp::Layout To>
void check_there_and_back(const From& from, const To& to) {
    const Plans plans = relayouts(from, to);
    REQUIRE(exchanged(plans, shards_in(from, plans.size())) == shards_in(to, plans.size()));
    REQUIRE(exchanged(relayouts(to, from), shards_in(to, plans.size())) == shards_in(from, plans.size()));
    REQUIRE(exchanged(reversed_all(plans), shards_in(to, plans.size())) == shards_in(from, plans.size()));
    for (const sp::ExchangePlan& plan : plans) {
        const int rank = plan.rank;
        const std::int64_t slots = rank < from.ranks() ? from.slots(rank) : 0;
        List sorted = plan.send_rows;
        std::sort(sorted.begin(), sorted.end());
        REQUIRE(sorted == range(0, slots));
        // By destination rank and slot, from the formulas alone.
        List rows = range(0, slots);
        std::sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) {
            const sp::Place x = to.place(from.position(rank, a));
            const sp::Place y = to.place(from.position(rank, b));
            return x.rank != y.rank ? x.rank < y.rank : x.slot < y.slot;
        });
        REQUIRE(plan.send_rows == rows);
        List here = range(0, rank < to.ranks() ? to.slots(rank) : 0);
        std::stable_sort(here.begin(), here.end(), [&](std::int64_t a, std::int64_t b) {
            return from.place(to.position(rank, a)).rank < from.place(to.position(rank, b)).rank;
        });
        REQUIRE(plan.receive_rows == here);
    }
}

}  // namespace

TEST_CASE("the worked example of docs/design.md: zigzag inside documents to contiguous") {
    const List cu{0, 8, 12};
    const auto from = sp::packed(sp::ZigZag{}, cu, 12, 2);
    const auto to = sp::Contiguous{}(12, 2);
    const sp::ExchangePlan first = sp::relayout(from, to, 0);
    CHECK(first.send_rows == List{0, 1, 2, 3, 4, 5});
    CHECK(first.send_splits == List{2, 4});
    CHECK(first.receive_rows == List{0, 1, 2, 3, 4, 5});
    CHECK(first.receive_splits == List{2, 4});
    const sp::ExchangePlan second = sp::relayout(from, to, 1);
    CHECK(second.send_rows == List{0, 1, 2, 3, 4, 5});
    CHECK(second.send_splits == List{4, 2});
    CHECK(second.receive_rows == List{0, 1, 2, 5, 3, 4});
    CHECK(second.receive_splits == List{4, 2});
}

TEST_CASE("there and back is the identity for any layout and any table, groups of any sizes") {
    Random random(61);
    for (int round = 0; round < 8; ++round) {
        const int ranks = static_cast<int>(random.between(1, 4));
        for_each_layout(random, ranks, 4, 2, [&](const auto& layout) {
            const Table table = random_table(random, static_cast<int>(random.between(1, 5)), layout.size());
            check_there_and_back(layout, sp::Permuted(table.view()));
        });
    }
}

TEST_CASE("pairs of the layouts that trainers convert between") {
    const List cu{0, 16, 16, 48, 64};
    const auto zigzag = sp::packed(sp::ZigZag{}, cu, 64, 4);
    const auto contiguous = sp::Contiguous{}(64, 2);
    check_there_and_back(zigzag, contiguous);
    check_there_and_back(zigzag, sp::packed(sp::Contiguous{}, cu, 64, 8));
    check_there_and_back(sp::nested(zigzag, sp::Contiguous{}, 2), sp::nested(contiguous, sp::Contiguous{}, 4));
    check_there_and_back(sp::ZigZag{}(64, 8), sp::Striped{2}(64, 4));
    check_there_and_back(sp::UnevenContiguous{}(64, 7), sp::Striped{}(64, 1));
}

TEST_CASE("rows that stay are the own part, which is not sent") {
    Random random(63);
    for_each_layout(random, 4, 4, 2, [&](const auto& from) {
        const auto to = sp::UnevenContiguous{}(from.size(), 3);
        const Plans plans = relayouts(from, to);
        for_each_row(plans, [&](std::size_t here, std::int64_t row, std::size_t there, std::int64_t to_row) {
            const std::int64_t position = from.position(static_cast<int>(here), row);
            REQUIRE(position == to.position(static_cast<int>(there), to_row));
        });
        for (const sp::ExchangePlan& plan : plans) {
            std::int64_t stay = 0;
            for (std::int64_t t = 0; t < plan.rows_in; ++t)
                stay += to.place(from.position(plan.rank, t)).rank == plan.rank ? 1 : 0;
            REQUIRE(plan.stays() == stay);
        }
    });
}

TEST_CASE("a relayout to the same layout sends nothing") {
    Random random(62);
    for_each_layout(random, 3, 5, 3, [&](const auto& layout) {
        for (int rank = 0; rank < layout.ranks(); ++rank) {
            const sp::ExchangePlan plan = sp::relayout(layout, layout, rank);
            for (int other = 0; other < layout.ranks(); ++other) {
                const std::int64_t stays = other == rank ? layout.slots(rank) : 0;
                REQUIRE(plan.send_splits[static_cast<std::size_t>(other)] == stays);
                REQUIRE(plan.receive_splits[static_cast<std::size_t>(other)] == stays);
            }
            REQUIRE(plan.send_rows == range(0, layout.slots(rank)));
            REQUIRE(plan.receive_rows == range(0, layout.slots(rank)));
        }
    });
}

TEST_CASE("what cannot be converted is named") {
    const auto a = sp::ZigZag{}(16, 4);
    const auto b = sp::Contiguous{}(18, 2);
    sp::Status status = sp::status_of([&] { (void)sp::relayout(a, b, 0); });
    CHECK(status.kind() == sp::Kind::extent);
    CHECK(status.expected == 16);
    CHECK(status.got == 18);
    const auto c = sp::Contiguous{}(16, 2);
    CHECK(sp::status_of([&] { (void)sp::relayout(a, c, 3); }).ok());  // of the larger group
    CHECK(sp::relayout(a, c, 3).receive_rows.empty());
    CHECK(sp::status_of([&] { (void)sp::relayout(a, c, 4); }).kind() == sp::Kind::rank);
    CHECK(sp::status_of([&] { (void)sp::relayout(a, c, -1); }).kind() == sp::Kind::rank);
    const List cu{0, 6, 16};
    CHECK(sp::status_of([&] { (void)sp::relayout(sp::packed(sp::ZigZag{}, cu, 16, 2), c, 0); }).kind() ==
          sp::Kind::document_multiple);
}

TEST_CASE("positions and splits of 64 bits, each rank alone") {
    constexpr int ranks = 1 << 16;
    const std::int64_t length = std::int64_t{1} << 33;
    const auto from = sp::ZigZag{}(length, ranks);
    const auto to = sp::Contiguous{}(length, ranks);
    const sp::ExchangePlan plan = sp::relayout(from, to, 1);
    // Chunks 1 and 2P - 2 of 2P: the second half of rank 0's part, and the first of the last rank's.
    CHECK(plan.send_splits.front() == length / ranks / 2);
    CHECK(plan.send_splits.back() == length / ranks / 2);
    CHECK(plan.receive_splits[2] == length / ranks / 2);
    CHECK(plan.receive_splits[3] == length / ranks / 2);
    CHECK(plan.send_rows == range(0, length / ranks));
}
