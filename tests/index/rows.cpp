// build_rows against a plain loop over random streams, under every exec, and its mistakes.
#include "exec.hpp"
#include "support.hpp"

#include <seqpar/index/gather.hpp>
#include <seqpar/index/rows.hpp>
#include <seqpar/tensor/sharded.hpp>

using namespace test;

namespace {

using Ints = std::vector<std::int32_t>;
using Rule = sp::PlaceholderRule;

struct Expected {
    Ints rows, banks;
    List counts;
};

// Formula F7, one token after the other.
template <class Id>
Expected naive(const std::vector<Id>& ids, const std::vector<Rule>& rules, const List& base,
               const std::vector<char>& valid = {}) {
    Expected e;
    int banks = 0;
    for (const Rule& rule : rules)
        banks = std::max(banks, rule.bank + 1);
    e.counts.assign(static_cast<std::size_t>(banks), 0);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        std::int32_t row = -1, bank = -1;
        for (const Rule& rule : rules) {
            if (ids[i] != rule.placeholder || (!valid.empty() && valid[i] == 0)) continue;
            const auto b = static_cast<std::size_t>(rule.bank);
            bank = rule.bank;
            row = static_cast<std::int32_t>((base.empty() ? 0 : base[b]) + e.counts[b]++);
        }
        e.rows.push_back(row);
        e.banks.push_back(bank);
    }
    return e;
}

sp::PlaceholderRules as_rules(const std::vector<Rule>& list) {
    sp::PlaceholderRules rules;
    for (const Rule& rule : list)
        rules = rules.with(rule.placeholder, rule.bank);
    return rules;
}

// Stretches of text and placeholders of random lengths, single tokens among them, and text whose lower 32 bits are a
// placeholder's.
template <class Id>
std::vector<Id> random_stream(Random& random, const std::vector<Rule>& rules, std::int64_t length,
                              std::int64_t longest) {
    std::vector<Id> ids;
    while (static_cast<std::int64_t>(ids.size()) < length) {
        const auto& rule =
            rules[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(rules.size()) - 1))];
        const std::int64_t stretch = random.between(1, random.once_in(3) ? longest : 3);
        const bool text = random.once_in(2);
        const bool twin = sizeof(Id) == 8 && random.once_in(4);
        for (std::int64_t i = 0; i < stretch; ++i) {
            if (!text) {
                ids.push_back(static_cast<Id>(rule.placeholder));
            } else if (twin) {
                ids.push_back(static_cast<Id>(rule.placeholder + (random.between(1, 3) << 32)));
            } else {
                ids.push_back(static_cast<Id>(random.between(1, 90)));
            }
        }
    }
    ids.resize(static_cast<std::size_t>(length));
    return ids;
}

const std::vector<std::vector<Rule>> rule_lists = {
    {{100, 0}},
    {{-200, 0}},
    {{100, 0}, {-200, 0}},
    {{100, 0}, {101, 1}},
    {{100, 2}, {-1, 0}, {151655, 1}},
    {{100, 1}, {101, 0}, {102, 1}, {103, 3}, {-104, 2}},
    {{100, 7}, {101, 6}, {102, 5}, {103, 4}, {104, 3}, {105, 2}, {106, 1}, {107, 0}},
};

template <class Id, class Exec>
void check_stream(const Exec& exec, Random& random, std::int64_t length, std::int64_t longest) {
    for (const auto& list : rule_lists) {
        const auto ids = random_stream<Id>(random, list, length, longest);
        const Expected expected = naive(ids, list, {});
        const auto rules = as_rules(list);
        Ints rows(ids.size(), -9), banks(ids.size(), -9);
        List counts(static_cast<std::size_t>(rules.banks()), -9);
        sp::build_rows(exec, ids, rules, rows, banks, counts);
        REQUIRE(rows == expected.rows);
        REQUIRE(banks == expected.banks);
        REQUIRE(counts == expected.counts);
        if (rules.banks() == 1) {
            Ints alone(ids.size(), -9);
            sp::build_rows(exec, ids, rules, alone);
            REQUIRE(alone == expected.rows);
        }
    }
}

}  // namespace

TEST_CASE("build_rows is the plain loop, in streams of any length") {
    Random random(11);
    for (std::int64_t length = 0; length <= 70; length += on_device ? 9 : 1) {
        check_stream<std::int32_t>(main_exec, random, length, 40);
        check_stream<std::int64_t>(main_exec, random, length, 40);
    }
    for (int round = 0; round < rounds(40); ++round) {
        check_stream<std::int32_t>(main_exec, random, random.between(71, 900), 300);
        check_stream<std::int64_t>(main_exec, random, random.between(71, 900), 300);
    }
}

TEST_CASE("build_rows gives the same under every exec, in one block and in many") {
    Random random(12);
    for_each_exec([&](const auto& exec) {
        for (const std::int64_t length :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{16384}, std::int64_t{16385}, std::int64_t{100003}}) {
            if (on_device && length == 16384) continue;  // a host's blocks

            check_stream<std::int32_t>(exec, random, length, 300);
            check_stream<std::int64_t>(exec, random, length, 300);
        }
    });
}

TEST_CASE("a mask keeps tokens text, bases move the rows, and samples follow each other whatever the strides") {
    Random random(13);
    for_each_exec([&](const auto& exec) {
        for (const std::int64_t length :
             {std::int64_t{1}, std::int64_t{7}, std::int64_t{16}, std::int64_t{700}, std::int64_t{9001}}) {
            for (const auto& list : rule_lists) {
                const std::int64_t samples = random.between(1, 5);
                const auto ids = random_stream<std::int64_t>(random, list, samples * length, 50);
                std::vector<char> valid;
                for (std::size_t i = 0; i < ids.size(); ++i)
                    valid.push_back(random.once_in(9) ? 0 : static_cast<char>(random.between(1, 2)));
                const Expected expected = naive(ids, list, {5, 1000, 0, 7, 9, 11, 13, 15}, valid);
                const auto rules = as_rules(list).base({5, 1000, 0, 7, 9, 11, 13, 15});
                List counts(static_cast<std::size_t>(rules.banks()), -9);

                // Row-major.
                Ints rows(ids.size(), -9), banks(ids.size(), -9);
                const auto matrix = [&](auto& memory) { return sp::tensor(memory.data(), samples, length); };
                sp::build_rows(exec, sp::masked(matrix(ids), matrix(valid)), rules, matrix(rows), matrix(banks),
                               counts);
                REQUIRE(rows == expected.rows);
                REQUIRE(banks == expected.banks);
                REQUIRE(counts == expected.counts);

                // The same arrays in [S, B] memory, seen as [B, S]; gaps between rows of the output.
                const auto transposed = [&](const auto& memory) {
                    auto turned = memory;
                    for (std::int64_t b = 0; b < samples; ++b) {
                        for (std::int64_t s = 0; s < length; ++s) {
                            turned[static_cast<std::size_t>(s * samples + b)] =
                                memory[static_cast<std::size_t>(b * length + s)];
                        }
                    }
                    return turned;
                };
                const auto turned_ids = transposed(ids);
                const auto turned_valid = transposed(valid);
                const auto turned = [&](auto& memory) {
                    return sp::tensor(memory.data(), {samples, length}, {1, samples});
                };
                Ints turned_rows(ids.size(), -9), turned_banks(ids.size(), -9);
                sp::build_rows(exec, sp::masked(turned(turned_ids), turned(turned_valid)), rules, turned(turned_rows),
                               turned(turned_banks), sp::no_array);
                REQUIRE(turned_rows == transposed(expected.rows));
                REQUIRE(turned_banks == transposed(expected.banks));

                // Rows contiguous, banks not, ids not, no mask.
                const Expected unmasked = naive(ids, list, {5, 1000, 0, 7, 9, 11, 13, 15});
                sp::build_rows(exec, turned(turned_ids), rules, matrix(rows), turned(turned_banks));
                REQUIRE(rows == unmasked.rows);
                REQUIRE(turned_banks == transposed(unmasked.banks));
                sp::build_rows(exec, matrix(ids), rules, turned(turned_rows), matrix(banks));
                REQUIRE(turned_rows == transposed(unmasked.rows));
                REQUIRE(banks == unmasked.banks);
            }
        }
    });
}

TEST_CASE("counting commutes with splitting: the rows of a shard are a shard of the rows, for every layout") {
    Random random(14);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for_each_layout(random, ranks, 6, 3, [&](const auto& layout) {
            const auto ids = random_stream<std::int32_t>(random, {{100, 0}}, layout.source_size(), 9);
            Ints rows(ids.size());
            sp::build_rows(main_exec, ids, sp::placeholders({{100, 0}}), rows);
            // Every row is on one rank exactly once.
            std::vector<int> seen(ids.size(), 0);
            for (int rank = 0; rank < layout.ranks(); ++rank) {
                Ints index(static_cast<std::size_t>(layout.slots(rank)));
                sp::sources(main_exec, layout, rank, index);
                for (const std::int32_t source : index) {
                    if (source < 0) continue;
                    const std::int32_t row = rows[static_cast<std::size_t>(source)];
                    REQUIRE((row >= 0) == (ids[static_cast<std::size_t>(source)] == 100));
                    if (row >= 0) ++seen[static_cast<std::size_t>(row)];
                }
            }
            const auto placeholders = static_cast<std::size_t>(std::count(ids.begin(), ids.end(), 100));
            REQUIRE(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(placeholders));
            REQUIRE(static_cast<std::size_t>(std::count(seen.begin(), seen.end(), 0)) == seen.size() - placeholders);
        });
    }
}

TEST_CASE("any tensor of ids is read, a lazy shard too") {
    const std::vector<std::int64_t> ids{1, 9, 9, 9, 9, 2, 3, 4};
    const auto layout = sp::ZigZag{}(8, 2);
    Ints rows(4, -9);
    sp::build_rows(main_exec, sp::sharded(ids, layout, 0, sp::axis<0>), sp::placeholders({{9, 0}}), rows);
    CHECK(rows == Ints{-1, 0, -1, -1});  // of the stream 1 9 3 4: what a shard must not be asked for its rows
}

// Ids are integers of one or two axes; rows and banks int32 of as many, counts int64.
namespace {
template <class Ids, class Rows, class Banks = sp::NoArray, class Counts = sp::NoArray>
concept can_build = requires(Ids ids, Rows rows, Banks banks, Counts counts) {
    sp::build_rows(thrust::seq, ids, sp::PlaceholderRules{}, rows, banks, counts);
};
static_assert(can_build<std::vector<std::int64_t>, Ints> && can_build<std::vector<std::int32_t>, Ints, Ints, List>);
static_assert(can_build<sp::DenseView<const std::int64_t, 2>, sp::DenseView<std::int32_t, 2>>);
static_assert(!can_build<std::vector<float>, Ints> && !can_build<std::vector<std::int16_t>, Ints>);
static_assert(!can_build<std::vector<std::int64_t>, List> && !can_build<std::vector<std::int64_t>, const Ints>);
static_assert(!can_build<std::vector<std::int64_t>, Ints, List> &&
              !can_build<std::vector<std::int64_t>, Ints, Ints, Ints>);
static_assert(!can_build<sp::DenseView<std::int64_t, 2>, Ints> &&
              !can_build<sp::DenseView<std::int64_t, 3>, sp::DenseView<std::int32_t, 3>>);
}  // namespace

TEST_CASE("rules are checked where they are made, also at compile time") {
    constexpr auto rules = sp::placeholders({{151655, 0}, {151656, 1}}).base({0, 100});
    static_assert(rules.count() == 2 && rules.banks() == 2 && rules.first_row(1) == 100 &&
                  rules[1].placeholder == 151656);
    static_assert(std::is_trivially_copyable_v<sp::PlaceholderRules>);
    const sp::Status repeated = sp::status_of([] { static_cast<void>(sp::placeholders({{5, 0}, {6, 0}, {5, 1}})); });
    CHECK(repeated.kind() == sp::Kind::rule_repeated);
    CHECK(repeated.index() == 2);
    CHECK(describe(repeated) == "two rules have one placeholder id: rule 2, expected an id other than 5, got 5");
    CHECK(sp::status_of([] { static_cast<void>(sp::placeholders({{5, 8}})); }).kind() == sp::Kind::bank_range);
    CHECK(sp::status_of([] { static_cast<void>(sp::placeholders({{5, -1}})); }).kind() == sp::Kind::bank_range);
    CHECK(sp::status_of([] {
              static_cast<void>(
                  sp::placeholders({{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {8, 0}, {9, 0}}));
          }).kind() == sp::Kind::rule_count);
    CHECK(sp::status_of([] {
              static_cast<void>(sp::placeholders({{5, 0}}).base({-1}));
          }).kind() == sp::Kind::row_range);
    CHECK(sp::status_of([] {
              static_cast<void>(sp::placeholders({{5, 0}}).base({std::int64_t{1} << 31}));
          }).kind() == sp::Kind::row_range);
}

#if !defined(__CUDACC__)  // what is wrong with data is thrown by hosts alone
TEST_CASE("nothing is written after a mistake in build_rows, and the check gives the same Status") {
    const std::vector<std::int64_t> ids{1, 9, 9, 8};
    const std::vector<std::uint8_t> valid(4, 1), three(3, 1);
    Ints rows(4, -9), banks(4, -9), other(3, -9);
    List counts(2, -9), one_count(1, -9);
    const auto rules = sp::placeholders({{9, 0}, {8, 1}});
    const auto expect = [&](sp::Kind kind, int array, auto call) {
        const sp::Status status = refused(call);
        CHECK(status.kind() == kind);
        CHECK(status.array() == array);
        CHECK(rows == Ints(4, -9));
        CHECK(banks == Ints(4, -9));
        CHECK(counts == List(2, -9));
    };
    // Rows of two banks in one array, with nothing to tell them apart.
    expect(sp::Kind::bank_range, 0, [&](auto& exec) { sp::build_rows(exec, ids, rules, rows); });
    expect(sp::Kind::extent, 1, [&](auto& exec) { sp::build_rows(exec, ids, rules, other, banks); });
    expect(sp::Kind::extent, 2, [&](auto& exec) { sp::build_rows(exec, ids, rules, rows, other); });
    expect(sp::Kind::extent, 3, [&](auto& exec) { sp::build_rows(exec, sp::masked(ids, three), rules, rows, banks); });
    expect(sp::Kind::extent, 4, [&](auto& exec) { sp::build_rows(exec, ids, rules, rows, banks, one_count); });
    expect(sp::Kind::overlap, 1, [&](auto& exec) { sp::build_rows(exec, ids, rules, rows, rows); });
    Ints narrow(4, 9);
    const auto one = sp::placeholders({{9, 0}});
    CHECK(refused([&](auto& exec) { sp::build_rows(exec, narrow, one, narrow); }).kind() == sp::Kind::overlap);
    CHECK(narrow == Ints(4, 9));
    const auto far = sp::placeholders({{9, 0}, {(std::int64_t{1} << 32) + 9, 0}});
    expect(sp::Kind::value_lost, 0, [&](auto& exec) { sp::build_rows(exec, narrow, far, rows); });
    const auto by_base = rules.base({0, 2});
    sp::build_rows(main_exec, ids, by_base, rows);
    CHECK(rows == Ints{-1, 0, 1, 2});
}

TEST_CASE("a row past 32 bits is an error that names bank and token, the last one that fits is none") {
    const std::vector<std::int64_t> ids{9, 1, 9, 9, 8};
    const auto rules = sp::placeholders({{9, 1}, {8, 0}}).base({7, INT32_MAX - 1});
    for_each_exec([&](const auto& exec) {
        Ints rows(5, -9), banks(5, -9);
        const sp::Status status = sp::status_of([&] { sp::build_rows(exec, ids, rules, rows, banks); });
        CHECK(status.kind() == sp::Kind::value_lost);
        CHECK(status.array() == 1);
        CHECK(status.index() == 3);
        CHECK(status.expected == INT32_MAX);
        CHECK(status.got == std::int64_t{INT32_MAX} + 1);
        CHECK(rows == Ints(5, -9));
        const std::vector<std::int64_t> fewer{9, 1, 9, 1, 8};
        sp::build_rows(exec, fewer, rules, rows, banks);
        CHECK(rows == Ints{INT32_MAX - 1, -1, INT32_MAX, -1, 7});
    });
    // In whole chunks too.
    std::vector<std::int64_t> many(64, 9);
    Ints rows(64);
    sp::build_rows(main_exec, many, sp::placeholders({{9, 0}}).base({INT32_MAX - 63}), rows);
    CHECK(rows.front() == INT32_MAX - 63);
    CHECK(rows.back() == INT32_MAX);
    // All placeholders, one too many.
    const auto one_too_many = sp::placeholders({{9, 0}}).base({INT32_MAX - 62});
    CHECK(sp::status_of([&] { sp::build_rows(sp::check_only, many, one_too_many, rows); }) ==
          make_status(sp::Kind::value_lost, 0, 63, INT32_MAX, std::int64_t{INT32_MAX} + 1));
    many[5] = 1;
    sp::build_rows(main_exec, many, sp::placeholders({{9, 0}}).base({INT32_MAX - 62}), rows);
    CHECK(rows[5] == -1);
    CHECK(rows[4] == INT32_MAX - 58);
    CHECK(rows.back() == INT32_MAX);
}
#endif

TEST_CASE("rows_are_numbered_sample_by_sample_not_in_memory_order") {  // case 31
    std::vector<std::int64_t> memory(10, 1);                           // [S=5, B=2]
    const auto set = [&](std::int64_t b, std::int64_t s) { memory[static_cast<std::size_t>(s * 2 + b)] = 9; };
    set(0, 4);
    set(1, 1);
    set(1, 2);
    Ints rows(10);
    sp::build_rows(main_exec, sp::tensor(memory.data(), {2, 5}, {1, 2}), sp::placeholders({{9, 0}}),
                   sp::tensor(rows.data(), 2, 5));
    CHECK(rows == Ints{-1, -1, -1, -1, 0, -1, 1, 2, -1, -1});
}

TEST_CASE("rows_are_counted_on_the_whole_stream_before_the_split") {  // case 76
    const std::vector<std::int64_t> ids{1, 9, 9, 9, 9, 2, 3, 4};
    Ints rows(8);
    List counts(1);
    sp::build_rows(main_exec, ids, sp::placeholders({{9, 0}}), rows, sp::no_array, counts);
    CHECK(rows == Ints{-1, 0, 1, 2, 3, -1, -1, -1});
    CHECK(counts == List{4});
    const auto layout = sp::ZigZag{}(8, 2);
    const auto shard_of = [&](int rank) {
        Ints index(4);
        sp::sources(main_exec, layout, rank, index);
        return gathered(rows, index);
    };
    CHECK(shard_of(0) == List{-1, 0, -1, -1});
    CHECK(shard_of(1) == List{1, 2, 3, -1});
}

TEST_CASE("samples_without_images_have_no_rows") {  // case 79
    std::vector<std::int64_t> ids{1, 2, 3, 4, 9, 9, 5, 6};
    Ints rows(8);
    List counts(1);
    const auto rules = sp::placeholders({{9, 0}});
    sp::build_rows(main_exec, sp::tensor(ids.data(), 2, 4), rules, sp::tensor(rows.data(), 2, 4), sp::no_array, counts);
    CHECK(rows == Ints{-1, -1, -1, -1, 0, 1, -1, -1});
    CHECK(counts == List{2});
    ids[4] = ids[5] = 7;
    sp::build_rows(main_exec, sp::tensor(ids.data(), 2, 4), rules, sp::tensor(rows.data(), 2, 4), sp::no_array, counts);
    CHECK(rows == Ints(8, -1));
    CHECK(counts == List{0});
    // A mask that is absent and one that is all false do the same (case 78).
    ids[4] = ids[5] = 9;
    const std::vector<std::uint8_t> nowhere(8, 0);
    rows.assign(8, -9);
    sp::build_rows(main_exec, sp::masked(ids, nowhere), rules, rows, sp::no_array, counts);
    CHECK(rows == Ints(8, -1));
    CHECK(counts == List{0});
    // No token at all, and no rule at all.
    std::vector<std::int64_t> none;
    Ints no_rows;
    sp::build_rows(main_exec, none, rules, no_rows, sp::no_array, counts);
    CHECK(counts == List{0});
    sp::build_rows(main_exec, sp::tensor(ids.data(), 0, 4), rules, sp::tensor(rows.data(), 0, 4));
    sp::build_rows(main_exec, sp::tensor(ids.data(), 4, 0), rules, sp::tensor(rows.data(), 4, 0));
    sp::build_rows(main_exec, ids, sp::PlaceholderRules{}, rows);
    CHECK(rows == Ints(8, -1));
}
