// Plans: the laws of every maker over random layouts, simulated with one list a rank; then what each brings; then faults and texts.
#include "support.hpp"

#include <seqpar/balance/items.hpp>

#include <set>

using namespace test;

namespace {

std::int64_t product(const Lists& a, const Lists& b) {
    std::int64_t sum = 0;
    for (std::size_t r = 0; r < a.size(); ++r) {
        for (std::size_t i = 0; i < a[r].size(); ++i)
            sum += a[r][i] * b[r][i];
    }
    return sum;
}

Lists random_values(Random& random, const Plans& plans, std::int64_t sp::ExchangePlan::*rows) {
    Lists lists;
    for (const sp::ExchangePlan& plan : plans) {
        lists.emplace_back();
        for (std::int64_t i = 0; i < plan.*rows; ++i)
            lists.back().push_back(random.between(-99, 99));
    }
    return lists;
}

// Laws of any plans: both sides agree (for_each_row), the way back of the way back is the plan, and the way back is the adjoint.
void check_laws(Random& random, const Plans& plans) {
    const Lists x = random_values(random, plans, &sp::ExchangePlan::rows_in);
    const Lists y = random_values(random, plans, &sp::ExchangePlan::rows_out);
    const Plans back = reversed_all(plans);
    REQUIRE(reversed_all(back) == plans);
    REQUIRE(product(added(plans, x), y) == product(x, added(back, y)));
    // repeats are there where a row comes twice, and are those rows' entries in order.
    for (const Plans* list : {&plans, &back}) {
        for (const sp::ExchangePlan& plan : *list) {
            const List& rows = plan.receive_rows;
            const bool twice = std::set<std::int64_t>(rows.begin(), rows.end()).size() < rows.size();
            REQUIRE(plan.repeats.empty() == !twice);
            List sorted = plan.repeats;
            for (std::size_t i = 1; i < sorted.size(); ++i) {
                const auto row = [&](std::int64_t k) { return std::pair(rows.at(static_cast<std::size_t>(k)), k); };
                REQUIRE(row(sorted[i - 1]) < row(sorted[i]));
            }
        }
    }
}

// A row of one rank goes to another once at most.
void check_crosses_once(const Plans& plans) {
    std::set<std::tuple<std::size_t, std::int64_t, std::size_t>> crossed;
    for_each_row(plans, [&](std::size_t here, std::int64_t row, std::size_t there, std::int64_t) {
        REQUIRE(crossed.insert({here, row, there}).second);
    });
}

// The tokens of a shard by the plain meaning of a layout; -1 for pads.
template <class L>
List sources_of(const L& layout, int rank) {
    List sources;
    for (std::int64_t t = 0; t < layout.slots(rank); ++t)
        sources.push_back(layout.source(layout.position(rank, t)));
    return sources;
}

List offsets_within(Random& random, std::int64_t size) {
    List cu = random_offsets(random, 1, 5, std::max<std::int64_t>(size / 5, 1));
    if (cu.size() == 1) cu.push_back(0);
    for (std::int64_t& offset : cu)
        offset = std::min(offset, size);
    return cu;
}

// Tokens and a bank over all ranks; what each rank owns is right by plain loops.
template <class L>
void check_owned(Random& random, const L& layout, std::int64_t bank_rows) {
    const auto rows = random_rows(random, layout.source_size(), bank_rows);
    const List cuts = random_cuts(random, layout.ranks(), bank_rows);
    Lists local;
    const Plans plans = plans_of(layout.ranks(), [&](int rank) {
        std::vector<std::int32_t> out(static_cast<std::size_t>(layout.slots(rank)), -7);
        const sp::ExchangePlan plan = sp::plan_owned(layout, rank, rows, cuts, out);
        local.emplace_back(out.begin(), out.end());
        return plan;
    });
    check_laws(random, plans);
    check_crosses_once(plans);
    Lists bank;
    for (int rank = 0; rank < layout.ranks(); ++rank)
        bank.push_back(range(cuts[static_cast<std::size_t>(rank)], cuts[static_cast<std::size_t>(rank) + 1]));
    const Lists owned = exchanged(plans, bank);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        REQUIRE(std::is_sorted(owned[r].begin(), owned[r].end()));
        List named;
        for (const std::int64_t source : sources_of(layout, rank))
            named.push_back(source < 0 ? -1 : rows[static_cast<std::size_t>(source)]);
        REQUIRE(gathered(owned[r], local[r], -1) == named);
        REQUIRE(owned[r].size() == named.size() - static_cast<std::size_t>(std::count(named.begin(), named.end(), -1)));
    }
}

}  // namespace

TEST_CASE("plans of relayouts, undo and redo keep the laws, for any two layouts and groups") {
    Random random(11);
    for (int round = 0; round < 6; ++round) {
        for_each_layout(random, static_cast<int>(random.between(1, 4)), 4, 2, [&](const auto& from) {
            const Table table = random_table(random, static_cast<int>(random.between(1, 5)), from.size());
            const sp::Permuted to(table.view());
            const Plans plans =
                plans_of(std::max(from.ranks(), to.ranks()), [&](int rank) { return sp::relayout(from, to, rank); });
            check_laws(random, plans);
            check_crosses_once(plans);
            const Plans undo = plans_of(from.ranks(), [&](int rank) { return sp::plan_undo(from, rank); });
            const Lists whole = exchanged(undo, shards(from));
            List joined;
            for (const List& part : whole)
                joined.insert(joined.end(), part.begin(), part.end());
            REQUIRE(joined == range(0, from.size()));
            REQUIRE(exchanged(reversed_all(undo), whole) == shards(from));
        });
    }
}

TEST_CASE("halos and rolls as exchanges bring the positions that their index arrays name, and nothing else") {
    Random random(12);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for_each_layout(random, ranks, 4, 2, [&](const auto& layout) {
            const List cu = offsets_within(random, layout.size());
            const auto check = [&](const auto& make, const auto& expected) {
                const Plans plans = plans_of(layout.ranks(), make);
                check_laws(random, plans);
                Lists wanted;
                for (int rank = 0; rank < layout.ranks(); ++rank)
                    wanted.push_back(expected(rank));
                REQUIRE(exchanged(plans, shards(layout), -1) == wanted);
            };
            const sp::Side side = random.once_in(2) ? sp::Side::left : sp::Side::right;
            const std::int64_t window = random.between(0, 4);
            check([&](int rank) { return sp::plan_halo(layout, rank, side, window); },
                  [&](int rank) { return sp::halo_positions(layout, rank, side, window); });
            check([&](int rank) { return sp::plan_halo(layout, rank, side, window, cu); },
                  [&](int rank) { return sp::halo_positions(layout, rank, side, window, sp::offsets(cu)); });
            const std::int64_t by = random.once_in(2) ? -1 : random.between(-9, 9);
            const auto rolled = [&](int rank, const auto&... documents) {
                List index(static_cast<std::size_t>(layout.slots(rank)));
                sp::roll_index(thrust::seq, layout, rank, documents..., by, index);
                return index;
            };
            check([&](int rank) { return sp::plan_roll(layout, rank, by); }, [&](int rank) { return rolled(rank); });
            check([&](int rank) { return sp::plan_roll(layout, rank, by, cu); },
                  [&](int rank) { return rolled(rank, cu); });
        });
    }
}

TEST_CASE("a roll by -1 sends only the rows at the edges of runs") {
    const auto layout = sp::ZigZag{}(64, 4);
    for (int rank = 0; rank < 4; ++rank) {
        const sp::ExchangePlan plan = sp::plan_roll(layout, rank, -1);
        CHECK(plan.rows_in == 16);
        CHECK(static_cast<std::int64_t>(plan.send_rows.size()) - plan.stays() == (rank == 0 || rank == 3 ? 1 : 2));
    }
}

TEST_CASE("owned rows: each row goes to the rank whose shard names it, once, and local rows find it") {
    Random random(13);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for (const std::int64_t bank_rows : {0, 1, 7, 30})
            for_each_layout(random, ranks, 4, 2, [&](const auto& layout) { check_owned(random, layout, bank_rows); });
    }
}

TEST_CASE("owned rows of [B, S], of several banks, and a row that two tokens of a rank name") {
    const auto layout = sp::Contiguous{}(4, 2);
    const std::vector<std::int32_t> rows{-1, 2, 0, -1, 1, 2, -1, 3};  // [2, 4]: row 2 twice on rank 0
    std::vector<std::int32_t> local(4, -7);
    const auto plan = [&](int rank) {
        return sp::plan_owned(layout, rank, sp::tensor(rows.data(), 2, 4), List{0, 2, 4},
                              sp::tensor(local.data(), 2, 2));
    };
    const sp::ExchangePlan first = plan(0);
    CHECK(local == std::vector<std::int32_t>{-1, 1, 0, 1});  // owns rows 1 and 2 of the bank
    CHECK(first.receive_splits == List{1, 1});
    CHECK(first.send_rows == List{1, 0});
    CHECK(plan(1).receive_splits == List{1, 1});
    CHECK(local == std::vector<std::int32_t>{0, -1, -1, 1});

    const std::vector<std::int32_t> banks{-1, 1, 0, -1, 0, 0, -1, 1};
    std::fill(local.begin(), local.end(), -7);
    const auto array = sp::row_array(rows, banks);
    const auto narrow = sp::Contiguous{}(8, 2);
    const sp::ExchangePlan image = sp::plan_owned(narrow, 0, array, 0, List{0, 1, 3}, local);
    CHECK(local == std::vector<std::int32_t>{-1, -7, 0, -1});
    const sp::ExchangePlan audio = sp::plan_owned(narrow, 0, array, 1, List{0, 2, 4}, local);
    CHECK(local == std::vector<std::int32_t>{-1, 0, 0, -1});
    CHECK(image.rows_out == 1);
    CHECK(audio.rows_out == 1);
    CHECK(image.send_splits == List{1, 0});
    CHECK(audio.receive_splits == List{0, 1});
}

TEST_CASE("an all-gather of a bank is the bank on every rank, its way back adds") {
    Random random(14);
    for (int round = 0; round < 20; ++round) {
        const int ranks = static_cast<int>(random.between(1, 6));
        const List cuts = random_cuts(random, ranks, random.between(0, 20));
        const Plans plans = plans_of(ranks, [&](int rank) { return sp::plan_all_gather_v(cuts, rank); });
        check_laws(random, plans);
        check_crosses_once(plans);
        Lists bank;
        for (std::size_t r = 0; r < plans.size(); ++r)
            bank.push_back(range(cuts[r], cuts[r + 1]));
        for (const List& whole : exchanged(plans, bank))
            REQUIRE(whole == range(0, cuts.back()));
        for (std::size_t r = 0; r < plans.size(); ++r)
            REQUIRE(reversed(plans[r]).repeats.empty() == (ranks == 1 || bank[r].empty()));
    }
}

// What it costs to hold a row on one rank and not on all: as many times fewer rows as there are ranks.
TEST_CASE("owned rows are c times fewer than the bank for c = 2, 4, 8, sent as well as received") {
    constexpr std::int64_t S = 1024, V = 512;
    std::vector<std::int32_t> rows(S, -1);
    for (std::int32_t row = 0; row < V; ++row)
        rows[static_cast<std::size_t>(row / 64 * 128 + 32 + row % 64)] = row;
    for (const int c : {2, 4, 8}) {
        const auto layout = sp::ZigZag{}(S, c);
        const List cuts = sp::cuts_by_count(V, c);
        std::int64_t owned = 0;
        std::int64_t whole = 0;
        for (int rank = 0; rank < c; ++rank) {
            std::vector<std::int32_t> local(static_cast<std::size_t>(S / c));
            const sp::ExchangePlan plan = sp::plan_owned(layout, rank, rows, cuts, local);
            owned += plan.rows_out;
            whole += sp::plan_all_gather_v(cuts, rank).rows_out;
        }
        CHECK(whole == c * owned);
    }
}

TEST_CASE("what cannot be planned is named") {
    const auto layout = sp::ZigZag{}(16, 2);
    const auto kind = [](auto call) { return sp::status_of([&] { (void)call(); }).kind(); };
    std::vector<std::int32_t> rows(16, -1);
    std::vector<std::int32_t> local(8);
    const auto owned = [&](int rank, const List& cuts) {
        return kind([&] { return sp::plan_owned(layout, rank, rows, cuts, local); });
    };
    CHECK(owned(0, {0, 2, 4}) == sp::Kind::ok);
    CHECK(owned(2, {0, 2, 4}) == sp::Kind::rank);
    CHECK(owned(0, {0, 2, 3, 4}) == sp::Kind::shard_count);
    CHECK(owned(0, {0, 3, 2}) == sp::Kind::offsets_order);
    CHECK(owned(0, {1, 2, 4}) == sp::Kind::offsets_first);
    CHECK(owned(0, {}) == sp::Kind::ranks);
    for (const std::int32_t row : {4, -2, -3}) {
        rows[5] = row;
        std::fill(local.begin(), local.end(), 9);
        const sp::Status status = sp::status_of([&] { (void)sp::plan_owned(layout, 0, rows, List{0, 2, 4}, local); });
        CHECK(status.kind() == sp::Kind::row_range);
        CHECK(status.index() == 5);
        CHECK(status.got == row);
        CHECK(local == std::vector<std::int32_t>(8, 9));
    }
    // Of several banks, where -2 stands beside tokens of another bank: of the asked bank it is no row; of another it is not looked at.
    const std::vector<std::int32_t> two{-1, 0, 5, -1, -2, 1, -1, -1, 0, 1, 2, -1, -1, -1, -1, -1};
    std::vector<std::int32_t> banks{-1, 1, 1, -1, 0, 0, -1, -1, 1, 1, 1, -1, -1, -1, -1, -1};
    const auto of_bank = [&](int bank) {
        return sp::status_of([&] {
            (void)sp::plan_owned(layout, 0, sp::row_array(two, banks), bank, List{0, 3, 6}, local);
        });
    };
    CHECK(of_bank(0) == sp::make_status(sp::Kind::row_range, 0, 4, 6, -2));
    CHECK(of_bank(1).ok());
    banks[4] = 1;
    CHECK(of_bank(0).ok());
    CHECK(of_bank(1) == sp::make_status(sp::Kind::row_range, 1, 4, 6, -2));
    rows.pop_back();
    CHECK(owned(0, {0, 2, 4}) == sp::Kind::axis_extent);
    CHECK(kind([&] { return sp::plan_roll(layout, -1, -1); }) == sp::Kind::rank);
    CHECK(kind([&] { return sp::plan_halo(layout, 2, sp::Side::left, 1); }) == sp::Kind::rank);
    CHECK(kind([&] { return sp::plan_halo(layout, 0, sp::Side::left, -1); }) == sp::Kind::policy);
    CHECK(kind([&] { return sp::plan_fetch(layout, 0, [](int) { return List{3, 15, 16}; }); }) == sp::Kind::table);
    CHECK(kind([&] { return sp::plan_fetch(layout, 0, [](int) { return List{-2}; }); }) == sp::Kind::table);
    CHECK(kind([&] { return sp::plan_all_gather_v(List{0, 4}, 1); }) == sp::Kind::rank);
    CHECK(kind([&] { return sp::plan_all_gather_v(List{0}, 0); }) == sp::Kind::ranks);
}

TEST_CASE("a plan that was tampered with is none") {
    const sp::ExchangePlan good = sp::relayout(sp::ZigZag{}(16, 2), sp::Contiguous{}(16, 2), 1);
    CHECK(check(good).ok());
    const auto kind = [&](auto change) {
        sp::ExchangePlan plan = good;
        change(plan);
        return check(plan).kind();
    };
    CHECK(kind([](auto& p) { p.rank = 2; }) == sp::Kind::rank);
    CHECK(kind([](auto& p) { p.receive_splits.push_back(0); }) == sp::Kind::extent);
    CHECK(kind([](auto& p) { p.send_splits[0] = -1; }) == sp::Kind::length);
    CHECK(kind([](auto& p) { p.send_splits[0] += 1; }) == sp::Kind::length);
    CHECK(kind([](auto& p) { p.send_splits[1] -= 1; }) == sp::Kind::extent);
    CHECK(kind([](auto& p) { p.send_rows[0] = 8; }) == sp::Kind::row_range);
    CHECK(kind([](auto& p) { p.receive_rows[0] = -1; }) == sp::Kind::row_range);
    CHECK(kind([](auto& p) {
              std::swap(p.send_splits[0], p.send_splits[1]), p.send_splits[0]++, p.send_splits[1]--;
          }) == sp::Kind::extent);
    CHECK(kind([](auto& p) { p.repeats = {0, 1}; }) == sp::Kind::length);
    CHECK(kind([](auto& p) { p.repeats = range(0, 8); }) == sp::Kind::table);  // no row comes twice
    CHECK(kind([](auto& p) { p.rows_out = -1; }) == sp::Kind::length);
    sp::ExchangePlan far = good;  // nor has it a way back
    far.send_rows[0] = std::int64_t{1} << 40;
    CHECK(sp::status_of([&] { (void)reversed(far); }).kind() == sp::Kind::row_range);
}

TEST_CASE("repeats that are not those of the received rows are no plan's") {
    // Rows 2 and 0 stay, rows 0, 1, 2 from rank 1: entries in order of row are 1 2 3 0 4.
    const sp::ExchangePlan good = reversed(sp::ExchangePlan{0, 3, 2, {2, 0, 0, 1, 2}, {2, 3}, {0, 1}, {2, 0}, {}});
    const auto with = [&](List repeats) {
        sp::ExchangePlan plan = good;
        plan.repeats = std::move(repeats);
        return check(plan);
    };
    REQUIRE(good.repeats == List{1, 2, 3, 0, 4});
    CHECK(with({}) == sp::make_status(sp::Kind::row_reused, 1, 2, 1, 2));
    CHECK(with({1, 2, 3, 0}).kind() == sp::Kind::length);
    CHECK(with({1, 2, 3, 0, 5}).kind() == sp::Kind::row_range);
    CHECK(with({2, 1, 3, 0, 4}) == sp::make_status(sp::Kind::table, 1, 1, 2, 1, 0));  // not in order of rank
    CHECK(with({1, 2, 0, 3, 4}).kind() == sp::Kind::table);                           // nor of row
    CHECK(with({1, 1, 3, 0, 4}).kind() == sp::Kind::table);                           // an entry twice
    CHECK(with({0, 0, 0, 0, 0}).kind() == sp::Kind::table);
}

TEST_CASE("a plan as a table") {
    const List cu{0, 8, 12};
    CHECK(describe(sp::relayout(sp::packed(sp::ZigZag{}, cu, 12, 2), sp::Contiguous{}(12, 2), 1)) ==
          "rank 1 of 2: 6 rows to 6\n"
          "rank   sends     rows                        receives  rows\n"
          "0      4         0-3                         4         0-2 5\n"
          "1 own  2         4-5                         2         3-4\n");
    CHECK(describe(sp::plan_all_gather_v(List{0, 0, 2}, 0)) ==
          "rank 0 of 2: 0 rows to 2\n"
          "rank   sends     rows                        receives  rows\n"
          "0 own  0                                     0\n"
          "1      0                                     2         0-1\n");
    const std::string striped = describe(sp::relayout(sp::Contiguous{}(64, 2), sp::Striped{}(64, 2), 0));
    CHECK(striped.find("0 2 4 6 8 10 12 14 16 …") != std::string::npos);
}
