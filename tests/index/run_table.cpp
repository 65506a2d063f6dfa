// RunTable: the table of a layout comes back as that layout, and a table that is no bijection does not come to be.
#include "support.hpp"

#include <seqpar/conformance/layout.hpp>
#include <seqpar/index/gather.hpp>

#include <array>
#include <span>

using namespace test;

namespace {

std::vector<std::vector<sp::Run>> runs_of(const sp::Permuted& layout) {
    std::vector<std::vector<sp::Run>> lists;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        auto& list = lists.emplace_back();
        auto cursor = sp::runs(layout, rank, 0, layout.slots(rank));
        sp::Run run;
        while (cursor.next(run))
            list.push_back(run);
    }
    return lists;
}

template <class R>
sp::Status refused(const R& lists, std::int64_t length) {
    return sp::status_of([&] { sp::RunTable table(lists, length); });
}

}  // namespace

TEST_CASE("any layout is the table of its positions") {
    Random random(51);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for_each_layout(random, ranks, 6, 3, [&](const auto& layout) {
            const sp::RunTable table(shards(layout), layout.size());
            const sp::Permuted again = table.layout();
            REQUIRE(shards(again) == shards(layout));
            REQUIRE(restore(again) == restore(layout));
            REQUIRE(sp::conformance::check_layout(again).ok());
            // Neighbours are merged, so that no two runs join; and runs give the table that positions give.
            const auto lists = runs_of(again);
            for (const auto& list : lists) {
                for (std::size_t i = 1; i < list.size(); ++i)
                    REQUIRE(list[i - 1].position + list[i - 1].length != list[i].position);
            }
            const sp::RunTable from_runs(lists, layout.size());
            REQUIRE(from_runs.run_count() == table.run_count());
            REQUIRE(shards(from_runs.layout()) == shards(layout));
        });
    }
}

TEST_CASE("neighbouring runs merge, empty ones go, slots are numbered anew") {
    const std::vector<std::vector<sp::Run>> lists{{{4, 99, 2}, {0, 99, 0}, {6, -1, 2}}, {}, {{0, 0, 1}, {1, 0, 3}}};
    const sp::RunTable table(lists, 8);
    CHECK(table.run_count() == 2);
    CHECK(table.ranks() == 3);
    CHECK(table.length() == 8);
    CHECK(runs_of(table.layout()) == std::vector<std::vector<sp::Run>>{{{4, 0, 4}}, {}, {{0, 0, 4}}});
    // A table may move under its layouts.
    sp::RunTable first(lists, 8);
    const sp::Permuted layout = first.layout();
    const sp::RunTable second = std::move(first);
    CHECK(shard(layout, 0) == range(4, 8));
    CHECK(second.run_count() == 2);
}

TEST_CASE("lists may be of any container and integer") {
    const std::array<std::vector<int>, 2> arrays{{{0, 3}, {1, 2}}};
    const sp::RunTable table(arrays, 4);
    CHECK(shards(table.layout()) == Lists{{0, 3}, {1, 2}});
    const int memory[4] = {0, 3, 1, 2};
    const std::vector<std::span<const int>> spans{{memory, 2}, {memory + 2, 2}};
    const sp::RunTable again(spans, 4);
    CHECK(shards(again.layout()) == Lists{{0, 3}, {1, 2}});
    const sp::RunTable nothing(Lists{{}, {}}, 0);
    CHECK(nothing.layout().slots(1) == 0);
    CHECK(check(nothing.layout()).ok());
}

TEST_CASE("a table that is no bijection is refused by run and rank") {
    // Position 2 on both ranks: ranks {0 1 2} and {2 3}, runs 0 and 1.
    const sp::Status twice = refused(Lists{{0, 1, 2}, {2, 3}}, 4);
    CHECK(twice.kind() == sp::Kind::table);
    CHECK(twice.index() == 1);
    CHECK(twice.field == 1);
    CHECK(twice.expected == 3);
    CHECK(twice.got == 2);
    const sp::Status lost = refused(Lists{{0, 1}, {3}}, 4);
    CHECK(lost.kind() == sp::Kind::table);
    CHECK(lost.field == 1);
    CHECK(lost.expected == 2);
    CHECK(lost.got == 3);
    const sp::Status end_lost = refused(Lists{{0, 1}, {2}}, 4);
    CHECK(end_lost.kind() == sp::Kind::table);
    CHECK(end_lost.expected == 4);
    CHECK(end_lost.got == 3);
    CHECK(refused(Lists{{0, 1}, {2, 4}}, 4) ==
          make_status(sp::Kind::table, 0, 2, 3, 4, 1));  // past the end, found as it comes
    CHECK(refused(Lists{{-1, 0}, {1, 2}}, 4).kind() == sp::Kind::table);
    CHECK(refused(Lists{{0, 0, 0, 0, 0}}, 4).kind() == sp::Kind::table);
    CHECK(refused(Lists{}, 0).kind() == sp::Kind::ranks);
    CHECK(refused(Lists{{}}, -1).kind() == sp::Kind::length);
    using Runs = std::vector<std::vector<sp::Run>>;
    CHECK(refused(Runs{{{0, 0, -1}}}, 4) == make_status(sp::Kind::table, 0, 0, 0, -1, 0));
    CHECK(refused(Runs{{{2, 0, 3}}}, 4) == make_status(sp::Kind::table, 0, 0, 2, 3, 0));
    const std::int64_t huge = INT64_MAX;
    CHECK(refused(Runs{{{0, 0, huge}, {0, 0, huge}, {0, 0, huge}}}, huge).kind() == sp::Kind::table);
    CHECK(sp::RunTable(Runs{{{0, 0, huge}}}, huge).run_count() == 1);
}

TEST_CASE("random lists with one position changed are refused") {
    Random random(52);
    for (int round = 0; round < 300; ++round) {
        const int ranks = static_cast<int>(random.between(1, 4));
        const Table table = random_table(random, ranks, random.between(2, 40));
        Lists lists = shards(sp::Permuted(table.view()));
        REQUIRE(refused(lists, table.length).ok());
        auto& list = lists[static_cast<std::size_t>(random.between(0, ranks - 1))];
        if (list.empty()) continue;
        auto& position = list[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(list.size()) - 1))];
        position = (position + random.between(1, table.length - 1)) % table.length;
        REQUIRE(refused(lists, table.length).kind() == sp::Kind::table);
    }
}

// A layout of a table that is about to go does not compile.
namespace {
template <class T>
concept gives_layout = requires(T&& table) { static_cast<T&&>(table).layout(); };
static_assert(gives_layout<sp::RunTable&> && gives_layout<const sp::RunTable&> && !gives_layout<sp::RunTable>);
}  // namespace
