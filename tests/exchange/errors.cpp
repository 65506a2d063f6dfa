// One rank of eight finds a mistake: all eight throw the same Error, in the same call, and go on together.
#include "exchange/ranks.hpp"
#include "exchange/together.hpp"

#include <doctest/doctest.h>

using namespace seqpar;
using test::Mistake;

TEST_CASE("a bad row, a bad length, a bank of another type on one rank of eight are one Error on all") {
    struct Case {
        Mistake mistake;
        Kind kind;
        int array;  // what differs, of those that all have to have alike: 0 the bank, 1 the layout, 2 the cuts
        std::int64_t field;
    };
    constexpr Case cases[] = {{Mistake::none, Kind::ok, 0, 0},
                              {Mistake::row, Kind::row_range, 0, 0},
                              {Mistake::length, Kind::document_multiple, 0, 0},
                              {Mistake::bank_type, Kind::agreement, 0, 3},
                              {Mistake::bank_width, Kind::extent, 0, 1},
                              {Mistake::offsets, Kind::agreement, 1, 2},
                              {Mistake::cuts, Kind::agreement, 2, 2},
                              {Mistake::forgotten, Kind::agreement, 0, 0},
                              {Mistake::two_ranks, Kind::row_range, 0, 0},
                              {Mistake::two_kinds, Kind::document_multiple, 0, 0}};
    const VirtualRanks group(8, std::chrono::seconds(20));
    std::vector<std::vector<Status>> got(8);
    const auto thrown = test::run_ranks(group, 8, [&](const VirtualRank& comm) {
        for (const Case& c : cases)
            got[static_cast<std::size_t>(comm.rank())].push_back(test::caught(comm, c.mistake));
    });
    for (const auto& exception : thrown)
        CHECK(test::text_of<std::exception>(exception) == "");
    for (std::size_t i = 0; i < std::size(cases); ++i) {
        CAPTURE(i);
        const Status expected = test::expected_status(8, cases[i].mistake);
        CHECK(expected.kind() == cases[i].kind);
        CHECK(expected.array() == cases[i].array);
        CHECK(expected.field == cases[i].field);
        for (const auto& of_rank : got)
            CHECK(of_rank.at(i) == expected);
    }
    // What is unlike is no mistake of any rank's.
    for (const Mistake mistake : {Mistake::bank_type, Mistake::bank_width, Mistake::offsets, Mistake::cuts}) {
        for (int rank = 0; rank < 8; ++rank)
            CHECK(test::checked(rank, 8, mistake).status.ok());
    }
}

TEST_CASE("what is given alike agrees whatever it is stored in, and every part of it counts") {
    const std::vector<std::int64_t> cu{0, 8, 16};
    const std::vector<std::int32_t> narrow{0, 8, 16};
    const std::vector<float> matrix(24);
    std::vector<float> out(24);
    const auto of = [&](std::int64_t a, std::int64_t b, auto axis) {
        return field(tensor(matrix.data(), a, b), axis, tensor(out.data(), a, b));
    };
    const auto kind = [](const Agreement& first, const Agreement& second) {
        Kind kinds[2] = {Kind::policy, Kind::policy};  // neither of those that are looked for
        const auto thrown = test::run_ranks(VirtualRanks(2), 2, [&](const VirtualRank& comm) {
            kinds[comm.rank()] = worst_of(comm, {}, comm.rank() == 0 ? first : second).kind();
        });
        for (const auto& error : thrown)
            CHECK(!error);
        CHECK(kinds[0] == kinds[1]);
        return kinds[0];
    };
    const auto packed_by = [](auto policy, const auto& offsets) { return packed(policy, offsets, 16, 2); };
    CHECK(kind(Agreement().numbers(cu), Agreement().numbers(narrow)) == Kind::ok);
    CHECK(kind(Agreement().layout(packed_by(ZigZag{}, cu)), Agreement().layout(packed_by(ZigZag{}, narrow))) ==
          Kind::ok);
    CHECK(kind(Agreement().layout(packed_by(ZigZag{}, cu)), Agreement().layout(packed_by(Contiguous{}, cu))) ==
          Kind::agreement);
    CHECK(kind(Agreement().layout(ZigZag{}(16, 2)), Agreement().layout(ZigZag{}(16, 4))) == Kind::agreement);
    CHECK(kind(Agreement().fields(of(4, 6, axis<0>)), Agreement().fields(of(3, 6, axis<0>))) == Kind::ok);
    CHECK(kind(Agreement().fields(of(4, 6, axis<0>)), Agreement().fields(of(4, 6, axis<-2>))) == Kind::ok);
    CHECK(kind(Agreement().fields(of(4, 6, axis<0>)), Agreement().fields(of(4, 6, axis<1>))) == Kind::agreement);
    CHECK(kind(Agreement().fields(of(4, 6, axis<0>)),
               Agreement().fields(field(tensor(matrix.data(), 4, 2, 3), axis<0>, tensor(out.data(), 4, 2, 3)))) ==
          Kind::axes);
    const std::vector<double> wide(24);
    std::vector<double> wide_out(24);
    CHECK(kind(Agreement().fields(of(4, 6, axis<0>)),
               Agreement().fields(field(tensor(wide.data(), 4, 6), axis<0>, tensor(wide_out.data(), 4, 6)))) ==
          Kind::element);
    // Equal numbers that stand for something else, and a rank that compares nothing.
    CHECK(kind(Agreement().numbers(cu), Agreement().numbers(cu).numbers(cu)) == Kind::agreement);
    CHECK(kind(Agreement().fields(), Agreement().numbers(cu)) == Kind::agreement);
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
