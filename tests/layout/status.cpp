// Status and Error: what they carry, which of two a max-reduce over ranks keeps, and the line they make. Not here: the checks
// that give them (checks.cpp).
#include "random.hpp"

#include <seqpar/layout/status.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

using namespace seqpar;

namespace {

constexpr Kind last_kind = Kind::reduction;

static_assert(sizeof(Status) == 32);
static_assert(std::is_trivially_copyable_v<Status> && std::is_standard_layout_v<Status>);
static_assert(Status{}.ok() && Status{}.kind() == Kind::ok);
static_assert(std::is_base_of_v<std::invalid_argument, Error>);

constexpr Status example = make_status(Kind::document_multiple, 3, 100000, 16, 12, 7);
static_assert(!example.ok() && example.kind() == Kind::document_multiple && example.array() == 3);
static_assert(example.index() == 100000 && example.expected == 16 && example.got == 12 && example.field == 7);
static_assert(make_status(Kind::value_lost, 0, std::int64_t{1} << 40, 0, 0).index() == std::int64_t{1} << 40);
static_assert(make_status(Kind::value_lost, 255, 0, 0, 0).array() == 255);

// What `worse` must keep, by the words and not by the code: the kind, then the first position.
bool more_severe(const Status& a, const Status& b) {
    if (a.kind() != b.kind()) {
        return a.kind() > b.kind();
    }
    return a.ok() ? false : a.index() < b.index();
}

std::vector<Status> random_statuses(test::Random& random, std::size_t count) {
    std::vector<Status> statuses(count);
    for (Status& status : statuses) {
        if (!random.once_in(3)) {
            const auto kind = static_cast<Kind>(random.between(1, static_cast<std::int64_t>(last_kind)));
            status = make_status(kind, 0, random.between(0, 3) * random.between(1, std::int64_t{1} << 40),
                                 random.between(-9, 9), random.between(-9, 9));
        }
    }
    return statuses;
}

}  // namespace

TEST_CASE("of two statuses the worse is the more severe, then the first document") {
    const Status none;
    const Status late = make_status(Kind::document_multiple, 0, 5, 4, 6);
    const Status early = make_status(Kind::document_multiple, 0, 2, 4, 3);
    const Status severe = make_status(Kind::ranks, 0, 0, 1, 0);
    const Status mild = make_status(Kind::value_lost, 0, 0, 1, 0);
    CHECK(worse(none, late) == late);
    CHECK(worse(late, none) == late);
    CHECK(worse(late, early) == early);
    CHECK(worse(early, late) == early);
    CHECK(worse(early, severe) == severe);
    CHECK(worse(mild, late) == late);
    CHECK(worse(none, none).ok());
}

TEST_CASE("a max-reduce in any order and grouping picks the most severe, then the first") {
    test::Random random(11);
    for (int i = 0; i < 2000; ++i) {
        std::vector<Status> ranks = random_statuses(random, static_cast<std::size_t>(random.between(1, 9)));
        Status reduced;
        for (const Status& status : ranks) {
            reduced = worse(reduced, status);
        }
        for (const Status& status : ranks) {
            REQUIRE(!more_severe(status, reduced));
        }
        Status backwards;
        for (auto status = ranks.rbegin(); status != ranks.rend(); ++status) {
            backwards = worse(*status, backwards);
        }
        REQUIRE(backwards.code == reduced.code);
        // What a collective does: it sees the codes alone.
        std::uint64_t code = 0;
        for (const Status& status : ranks) {
            code = std::max(code, status.code);
        }
        REQUIRE(code == reduced.code);
    }
}

TEST_CASE("every kind has a name of its own and a rule in words") {
    std::set<std::string> names;
    for (int kind = 0; kind <= static_cast<int>(last_kind); ++kind) {
        const std::string name_of_kind = name(static_cast<Kind>(kind));
        CHECK(name_of_kind != "unknown");
        CHECK(names.insert(name_of_kind).second);
        CHECK(describe(make_status(static_cast<Kind>(kind), 0, 0, 1, 2)).size() > name_of_kind.size());
    }
    CHECK(name(static_cast<Kind>(static_cast<int>(last_kind) + 1)) == "unknown");
}

TEST_CASE("the line names array, document, field, expected and got") {
    CHECK(describe(make_status(Kind::axis_extent, 2, 0, 12, 11, 1)) ==
          "the sequence axis does not fit the layout: array 2, axis 1, expected length 12, got 11");
    CHECK(describe(make_status(Kind::offsets_total, 1, 0, 12, 8)) ==
          "the last entry of cu_seqlens is not the total: array 1, expected 12, got 8");
    CHECK(describe(make_status(Kind::row_range, 1, 77, 4, 9)) ==
          "a row number is outside its bank: bank 1, position 77, expected a row below 4, got 9");
    CHECK(describe(Status{}) == "nothing is wrong");
}

TEST_CASE("the line names a place that only some checks of a kind have, where there is one") {
    CHECK(describe(make_status(Kind::length, 0, 0, 0, -3)) ==
          "a length is negative or overflows: expected at least 0, got -3");
    CHECK(describe(make_status(Kind::length, 2, 0, 0, -3)) ==
          "a length is negative or overflows: array 2, expected at least 0, got -3");
    CHECK(describe(make_status(Kind::length, 0, 7, 0, -3)) ==
          "a length is negative or overflows: entry 7, expected at least 0, got -3");
    CHECK(describe(make_status(Kind::ranks, 0, 7, 16, 8)) == "too few ranks: sample 7, expected at least 16, got 8");
    CHECK(describe(make_status(Kind::policy, 0, 2, 1, 0)) ==
          "a parameter of a policy makes no sense: entry 2, expected at least 1, got 0");
    CHECK(describe(make_status(Kind::offsets_order, 0, 3, 9, 8, 5)) ==
          "cu_seqlens decreases: array 0, document 3, sample 5, expected an offset of at least 9, got 8");
    CHECK(describe(make_status(Kind::extent, 0, 300, 4, 5, 1)) ==
          "an axis has another length than its partner: array 0, rank 300, axis 1, expected length 4, got 5");
}

TEST_CASE("an Error carries its status and reads like it") {
    try {
        throw_if_bad(example);
        FAIL("nothing thrown");
    } catch (const std::invalid_argument& error) {
        CHECK(std::string(error.what()) == describe(example));
        CHECK(dynamic_cast<const Error&>(error).status() == example);
    }
    CHECK_NOTHROW(throw_if_bad(Status{}));
}
