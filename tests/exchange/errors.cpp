// One rank of eight finds a mistake: all eight throw the same Error, in the same call, and go on together.
#include "exchange/ranks.hpp"
#include "exchange/together.hpp"

#include <doctest/doctest.h>

using namespace seqpar;
using test::Mistake;

TEST_CASE("a bad row, a bad length, a bank of another type on one rank of eight are one Error on all") {
    constexpr Kind kinds[] = {Kind::ok,      Kind::row_range, Kind::document_multiple,
                              Kind::element, Kind::row_range, Kind::document_multiple};
    const VirtualRanks group(8, std::chrono::seconds(20));
    std::vector<std::vector<std::string>> texts(8);
    const auto thrown = test::run_ranks(group, 8, [&](const VirtualRank& comm) {
        for (const Mistake mistake : test::mistakes)
            texts[static_cast<std::size_t>(comm.rank())].push_back(test::caught(comm, mistake));
    });
    for (const auto& exception : thrown)
        CHECK(test::text_of<std::exception>(exception) == "");
    for (std::size_t i = 0; i < std::size(kinds); ++i) {
        CHECK(test::checked(4, 8, test::mistakes[i]).kind() == kinds[i]);
        for (const auto& of_rank : texts)
            CHECK(of_rank[i] == test::expected_text(8, test::mistakes[i]));
    }
}

TEST_CASE("of ranks with one code the greatest numbers are told, everywhere the same") {
    const auto thrown = test::run_ranks(VirtualRanks(3), 3, [](const VirtualRank& comm) {
        const std::int64_t got = comm.rank() == 1 ? -50 : -100;
        const Status mine = comm.rank() == 2 ? Status{} : make_status(Kind::row_range, 1, 7, 5, got, -comm.rank());
        CHECK(worst_of(comm, mine) == make_status(Kind::row_range, 1, 7, 5, -50, 0));
    });
    for (const auto& exception : thrown)
        CHECK(test::text_of<std::exception>(exception) == "");
}

TEST_CASE("codes with the upper bit set, and no mistake at all, come through") {
    const auto thrown = test::run_ranks(VirtualRanks(2), 2, [](const VirtualRank& comm) {
        const Status high{~std::uint64_t{0} - 1, 1, 2, 3};
        CHECK(worst_of(comm, comm.rank() == 1 ? high : make_status(Kind::length, 0, 0, 1, 2)) == high);
        CHECK(worst_of(comm, {}) == Status{});
        CHECK_NOTHROW(throw_together(comm, {}));
    });
    for (const auto& exception : thrown)
        CHECK(test::text_of<std::exception>(exception) == "");
}
