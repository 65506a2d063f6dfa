// Offsets per rank, with a sentinel and merged; padded offsets; positions inside documents.
#include "exec.hpp"
#include "support.hpp"

#include <seqpar/index/gather.hpp>
#include <seqpar/index/offsets.hpp>
#include <seqpar/index/padding.hpp>
#include <seqpar/index/positions.hpp>

using namespace test;

namespace {

template <class L>
List shard_of(const L& layout, int rank) {
    List index(static_cast<std::size_t>(layout.slots(rank)));
    sp::sources(main_exec, layout, rank, index);
    return index;
}

template <class I>
std::vector<I> local(const std::vector<I>& cu, int ranks) {
    std::vector<I> out(cu.size(), -9);
    sp::local_offsets(main_exec, sp::packed(sp::ZigZag{}, cu, cu.back(), ranks), out);
    return out;
}

}  // namespace

TEST_CASE("local offsets are where documents begin in every shard") {
    Random random(31);
    for_each_exec([&](const auto& exec) {
        for (int ranks = 1; ranks <= 5; ++ranks) {
            for (const std::int64_t documents : {0, 5, 40000}) {
                const List cu = random_offsets(random, 2 * ranks, documents, 3);
                const auto layout = sp::packed(sp::ZigZag{}, cu, cu.back(), ranks);
                List out(cu.size(), -9);
                std::vector<std::int32_t> narrow(cu.size(), -9);
                sp::local_offsets(exec, layout, out);
                sp::local_offsets(exec, sp::packed(sp::Contiguous{}, cu, cu.back(), ranks), narrow);
                REQUIRE(as<std::int32_t>(out) == narrow);
                // The document of slot t, by the local offsets, is that of its position, by the global ones.
                const auto global = sp::offsets(cu);
                const auto local_offsets = sp::offsets(out);
                for (int rank = 0; rank < ranks; ++rank) {
                    for (std::int64_t t = 0; t < layout.slots(rank); t += documents == 40000 ? 9973 : 1) {
                        REQUIRE(local_offsets.document_of(t) == global.document_of(layout.position(rank, t)));
                    }
                }
                REQUIRE(out.back() == layout.slots(0));
            }
        }
    });
}

#if !defined(__CUDACC__)  // what is wrong with data is thrown by hosts alone
TEST_CASE("local offsets refuse what does not divide, and write nothing") {
    const List cu{0, 8, 14};
    List out(3, -9);
    const auto layout = sp::packed(sp::ZigZag{}, cu, 14, 2);
    const sp::Status status = refused([&](auto& exec) { sp::local_offsets(exec, layout, out); });
    CHECK(status.kind() == sp::Kind::document_multiple);
    CHECK(status.index() == 1);
    const auto kind_of = [](const auto& offsets, int ranks, auto& to) {
        return refused([&](auto& exec) {
                   sp::local_offsets(exec, sp::packed(sp::Contiguous{}, offsets, sp::offsets(offsets).last(), ranks),
                                     to);
               })
            .kind();
    };
    CHECK(kind_of(cu, 4, out) == sp::Kind::document_multiple);
    CHECK(kind_of(cu, 0, out) == sp::Kind::ranks);
    CHECK(out == List(3, -9));
    List two(2, -9), alias{0, 8, 16};
    CHECK(kind_of(cu, 2, two) == sp::Kind::axis_extent);
    CHECK(kind_of(alias, 2, alias) == sp::Kind::overlap);
    const List huge{0, std::int64_t{1} << 34};
    std::vector<std::int32_t> narrow(2, -9);
    CHECK(kind_of(huge, 2, narrow) == sp::Kind::value_lost);
    CHECK(kind_of(huge, 16, narrow) == sp::Kind::ok);
    CHECK(kind_of(List{}, 2, narrow) == sp::Kind::offsets_count);
}
#endif

TEST_CASE("a_repeated_last_offset_is_no_error_and_keeps_the_array_its_length") {  // case 11
    const std::vector<std::int32_t> cu{0, 16, 40, 40, 40};
    CHECK(local(cu, 2) == std::vector<std::int32_t>{0, 8, 20, 20, 20});
    CHECK(shard_of(sp::packed(sp::ZigZag{}, cu, 40, 2), 0) ==
          joined(joined(range(0, 4), range(12, 16)), joined(range(16, 22), range(34, 40))));
    const std::vector<std::int32_t> inner{0, 4, 4, 12};
    CHECK(local(inner, 2) == std::vector<std::int32_t>{0, 2, 2, 6});
    CHECK(shard_of(sp::packed(sp::ZigZag{}, inner, 12, 2), 0) == List{0, 3, 4, 5, 10, 11});
    CHECK(shard_of(sp::packed(sp::ZigZag{}, inner, 12, 2), 1) == List{1, 2, 6, 7, 8, 9});
}

TEST_CASE("an_array_without_a_sentinel_is_whole") {  // case 13
    const std::vector<std::int32_t> cu{0, 5, 9}, with{0, 5, 9, -1, -1}, empty{-1, 0}, falls{0, 5, 3, -1};
    CHECK(sp::until_sentinel(cu).count() == 3);
    CHECK(sp::until_sentinel(cu).documents() == 2);
    CHECK(sp::until_sentinel(with).count() == 3);
    CHECK(sp::until_sentinel(empty).count() == 0);
    CHECK(check(sp::until_sentinel(falls), 3).kind() == sp::Kind::offsets_order);
}

TEST_CASE("the_longest_document_is_measured_from_its_own_start") {  // case 18
    const std::vector<std::int32_t> cu{0, 4, 12, 16};
    CHECK(sp::longest_document(cu) == 8);
    CHECK(sp::longest_document(local(cu, 2)) == 4);
    const std::vector<std::int32_t> one{0, 8}, none{0};  // case 15
    CHECK(sp::longest_document(one) == 8);
    CHECK(sp::longest_document(none) == 0);
}

TEST_CASE("every_sample_has_its_own_boundaries") {  // case 29
    const std::vector<std::int32_t> rows{0, 3, 8, 0, 5, 8};
    for_each_exec([&](const auto& exec) {
        std::vector<std::int32_t> merged(5, -9);
        sp::merged_offsets(exec, sp::tensor(rows.data(), 2, 3), 8, merged);
        CHECK(merged == std::vector<std::int32_t>{0, 3, 8, 13, 16});
        CHECK(sp::longest_document(merged) == 5);
    });
}

TEST_CASE("merged offsets are the samples' moved, for any number of samples and documents") {
    Random random(32);
    for_each_exec([&](const auto& exec) {
        for (const std::int64_t samples : {0, 1, 3, 9000}) {
            for (const std::int64_t documents : {1, 2, 7}) {
                List rows, expected(1, 0);
                for (std::int64_t b = 0; b < samples; ++b) {
                    List cuts;
                    for (std::int64_t d = 0; d + 1 < documents; ++d)
                        cuts.push_back(random.between(0, 20));
                    std::sort(cuts.begin(), cuts.end());
                    cuts.insert(cuts.begin(), 0);
                    cuts.push_back(20);
                    rows.insert(rows.end(), cuts.begin(), cuts.end());
                    for (std::size_t d = 1; d < cuts.size(); ++d)
                        expected.push_back(b * 20 + cuts[d]);
                }
                List merged(expected.size(), -9);
                sp::merged_offsets(exec, sp::tensor(rows.data(), samples, documents + 1), 20, merged);
                REQUIRE(merged == expected);
            }
        }
    });
}

#if !defined(__CUDACC__)  // what is wrong with data is thrown by hosts alone
TEST_CASE("merged offsets name the sample that is wrong") {
    List out(5, -9), three(3, -9);
    const auto status = [&](const List& rows, List& to) {
        return sp::status_of([&] { sp::merged_offsets(sp::check_only, sp::tensor(rows.data(), 2, 3), 8, to); });
    };
    CHECK(status({0, 3, 8, 0, 5, 7}, out) == make_status(sp::Kind::offsets_total, 0, 0, 8, 7, 1));
    CHECK(status({0, 3, 8, 1, 5, 8}, out) == make_status(sp::Kind::offsets_first, 0, 0, 0, 1, 1));
    CHECK(status({0, 9, 8, 0, 5, 8}, out) == make_status(sp::Kind::offsets_order, 0, 1, 9, 8));
    CHECK(status({0, 3, 8, 0, 5, 8}, three).kind() == sp::Kind::axis_extent);
    const List rows{0, 3, 8, 0, 5, 7};
    CHECK(sp::status_of([&] { sp::merged_offsets(main_exec, sp::tensor(rows.data(), 2, 3), 8, out); }).kind() ==
          sp::Kind::offsets_total);
    CHECK(out == List(5, -9));
    // From sample 256 on too.
    List many(2 * 300, 8), joined_up(301, -9);
    for (std::size_t b = 0; b < 300; ++b)
        many[2 * b] = 0;
    many[2 * 299 + 1] = 7;
    CHECK(describe(sp::status_of([&] {
              sp::merged_offsets(sp::check_only, sp::tensor(many.data(), 300, 2), 8, joined_up);
          })) == "the last entry of cu_seqlens is not the total: array 0, sample 299, expected 8, got 7");
}
#endif

TEST_CASE("positions at the ends of 64 bits follow no other") {
    const List ends{INT64_MAX, INT64_MIN, INT64_MIN + 1};
    CHECK(sp::offsets_from_positions(ends) == List{0, 1, 3});
}

TEST_CASE("document positions count from 0 in each document") {
    for_each_exec([](const auto& exec) {
        Random random(33);
        for (const std::int64_t units : {0, 1, 5, 100, 9000}) {
            // The last is of many blocks, which begin inside documents.
            const List cu =
                units == 9000 ? List{0, 5, 30000, 30000, 30001, 70000} : random_offsets(random, 1, 9, units);
            List expected;
            for (std::size_t d = 0; d + 1 < cu.size(); ++d)
                expected = joined(expected, range(0, cu[d + 1] - cu[d]));
            List out(expected.size(), -9);
            sp::document_positions(exec, cu, out);
            REQUIRE(out == expected);
            for (const sp::Tail tail : {sp::Tail::last_document, sp::Tail::own_document, sp::Tail::nobody}) {
                std::vector<std::int32_t> longer(expected.size() + 20000, -9);
                sp::document_positions(exec, cu, tail, longer);
                const std::int64_t on = expected.empty() ? 0 : expected.back() + 1;
                List after = tail == sp::Tail::nobody         ? List(20000, 0)
                             : tail == sp::Tail::own_document ? range(0, 20000)
                                                              : range(on, on + 20000);
                REQUIRE(longer == as<std::int32_t>(joined(expected, after)));
            }
        }
    });
}

#if !defined(__CUDACC__)  // what is wrong with data is thrown by hosts alone
TEST_CASE("a tail without a rule is an error, and so are offsets past the end") {
    const List cu{0, 3, 5};
    List out(8, -9), four(4, -9);
    CHECK(sp::status_of([&] { sp::document_positions(main_exec, cu, out); }).kind() == sp::Kind::offsets_total);
    CHECK(sp::status_of([&] { sp::document_positions(main_exec, cu, sp::Tail::nobody, four); }).kind() ==
          sp::Kind::offsets_total);
    const List falling{0, 5, 3};
    CHECK(sp::status_of([&] { sp::document_positions(sp::check_only, falling, sp::Tail::nobody, out); }).kind() ==
          sp::Kind::offsets_order);
    CHECK(out == List(8, -9));
    List alias{0, 3};
    CHECK(sp::status_of([&] { sp::document_positions(sp::check_only, alias, sp::Tail::nobody, alias); }).kind() ==
          sp::Kind::offsets_total);
    List same{0, 2};
    CHECK(sp::status_of([&] { sp::document_positions(sp::check_only, same, same); }).kind() == sp::Kind::overlap);
}
#endif

TEST_CASE("pads_have_position_0_where_the_caller_says_so") {  // case 20: explicit lengths, never guessed from positions
    const List real{0, 5};
    List out(8, -9);
    sp::document_positions(main_exec, real, sp::Tail::nobody, out);
    CHECK(out == List{0, 1, 2, 3, 4, 0, 0, 0});
    const List with_pads{0, 5, 8};
    sp::document_positions(main_exec, with_pads, out);
    CHECK(out == List{0, 1, 2, 3, 4, 0, 1, 2});
}

TEST_CASE("positions_use_the_ranks_of_this_batch") {  // case 74
    std::vector<std::int32_t> out(8);
    sp::positions(main_exec, sp::ZigZag{}(16, 2), 0, out);
    CHECK(out == std::vector<std::int32_t>{0, 1, 2, 3, 12, 13, 14, 15});
}
