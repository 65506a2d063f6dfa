// Padded offsets: each document to a multiple, the whole sequence to one, and who owns the tail.
#include "exec.hpp"
#include "support.hpp"

#include <seqpar/index/gather.hpp>
#include <seqpar/index/offsets.hpp>
#include <seqpar/index/padding.hpp>

using namespace test;

namespace {

// up(n, m) of each document, as docs/design.md says it.
List naive(const List& cu, std::int64_t m) {
    List out(1, 0);
    for (std::size_t d = 0; d + 1 < cu.size(); ++d)
        out.push_back(out.back() + (cu[d + 1] - cu[d] + m - 1) / m * m);
    return out;
}

// What a call returns, or, under a CUDA exec, which returns nothing, `otherwise`: read after the call.
template <class Call>
std::int64_t length_of(const Call& call, const std::int64_t& otherwise) {
    if constexpr (std::is_void_v<decltype(call())>) {
        call();
        return otherwise;
    } else {
        return call();
    }
}

List padded(const List& cu, std::int64_t multiple) {
    List out(cu.size(), -9);
    CHECK(length_of([&] { return sp::padded_offsets(main_exec, cu, multiple, out); }, out.back()) == out.back());
    return out;
}

List padded(const List& cu, std::int64_t multiple, sp::Tail tail, std::int64_t total) {
    List out(cu.size() + (tail == sp::Tail::own_document ? 1 : 0), -9);
    CHECK(length_of([&] { return sp::padded_offsets(main_exec, cu, multiple, tail, out); }, total) == total);
    return out;
}

}  // namespace

TEST_CASE("each document is padded at its end, under every exec") {
    for_each_exec([](const auto& exec) {
        Random random(41);
        for (int round = 0; round < rounds(200); ++round) {
            const List cu = random_offsets(random, 1, 9, 20);
            const std::int64_t multiple = random.between(1, 12);
            std::vector<std::int32_t> out(cu.size(), -9);
            const std::int64_t last = naive(cu, multiple).back();
            const std::int64_t total = length_of([&] { return sp::padded_offsets(exec, cu, multiple, out); }, last);
            REQUIRE(out == as<std::int32_t>(naive(cu, multiple)));
            REQUIRE(total == last);
            // What comes out is legal, fits a layout of that multiple, and pads nothing twice.
            REQUIRE(check(sp::packed(sp::Contiguous{}, out, total, static_cast<int>(multiple))).ok());
            REQUIRE(padded(as<std::int64_t>(List(out.begin(), out.end())), multiple) == List(out.begin(), out.end()));
            REQUIRE(sp::has_padding(cu, out) == (cu != List(out.begin(), out.end())));
        }
    });
}

TEST_CASE("the sequence grows at its end, and the caller says who owns the tail") {
    const List cu{0, 5, 12};
    CHECK(padded(cu, 8, sp::Tail::last_document, 16) == List{0, 5, 16});
    CHECK(padded(cu, 8, sp::Tail::own_document, 16) == List{0, 5, 12, 16});
    CHECK(padded(cu, 8, sp::Tail::nobody, 16) == cu);
    // No growth: the document of its own is there all the same, empty.
    CHECK(padded(cu, 6, sp::Tail::last_document, 12) == cu);
    CHECK(padded(cu, 6, sp::Tail::own_document, 12) == List{0, 5, 12, 12});
    CHECK(padded(cu, 1, sp::Tail::nobody, 12) == cu);
    // The last document that is not empty grows, not a placeholder of a fixed-capacity array.
    CHECK(padded({0, 16, 40, 40, 40}, 64, sp::Tail::last_document, 64) == List{0, 16, 64, 64, 64});
    CHECK(padded({0, 16, 40, 40, 40}, 64, sp::Tail::own_document, 64) == List{0, 16, 40, 40, 40, 64});
    // Nothing to grow.
    CHECK(padded({0}, 8, sp::Tail::last_document, 0) == List{0});
    CHECK(padded({0, 0}, 8, sp::Tail::own_document, 0) == List{0, 0, 0});
}

TEST_CASE("the sequence grows to a given length, and a longer one is an error") {
    const List cu{0, 5, 12, 12};
    List out(4, -9), own(5, -9);
    sp::extended_offsets(main_exec, cu, 20, sp::Tail::last_document, out);
    CHECK(out == List{0, 5, 20, 20});
    sp::extended_offsets(main_exec, cu, 20, sp::Tail::nobody, out);
    CHECK(out == cu);
    sp::extended_offsets(main_exec, cu, 20, sp::Tail::own_document, own);
    CHECK(own == List{0, 5, 12, 12, 20});
    sp::extended_offsets(main_exec, cu, 12, sp::Tail::last_document, out);
    CHECK(out == cu);
    const List none{0, 0, 0, 0};
    sp::extended_offsets(main_exec, none, 9, sp::Tail::last_document, out);
    CHECK(out == List{0, 9, 9, 9});
#if !defined(__CUDACC__)  // what is wrong with data is thrown by hosts alone
    out = cu;
    const auto kind_of = [&](const List& offsets, std::int64_t length) {
        return refused([&](auto& exec) { sp::extended_offsets(exec, offsets, length, sp::Tail::last_document, out); })
            .kind();
    };
    CHECK(kind_of(cu, 11) == sp::Kind::offsets_total);
    CHECK(kind_of(List{0}, 20) == sp::Kind::offsets_count);  // no document could own the tail
    CHECK(kind_of(List{0, 5, 4, 12}, 20) == sp::Kind::offsets_order);
    CHECK(kind_of(List{0, 5}, 20) == sp::Kind::axis_extent);
    CHECK(out == cu);
#endif
}

TEST_CASE("per-document and whole-sequence padding compose") {
    // 8-bit formats in one trainer: each document to lcm(16, 2 P T), then the last one until the total is a multiple of
    // 128 * 2 P T. Here P = T = 1.
    const std::int64_t m = sp::common_multiple(16, 2);
    const List first = padded({0, 10, 27}, m);
    CHECK(first == List{0, 16, 48});
    CHECK(padded(first, 128 * 2, sp::Tail::last_document, 256) == List{0, 16, 256});
}

#if !defined(__CUDACC__)  // what is wrong with data is thrown by hosts alone
TEST_CASE("mistakes in padding are named before anything is written") {
    const List cu{0, 5, 12};
    List out(3, -9), four(4, -9);
    for (const std::int64_t multiple : {0, -4}) {
        CHECK(sp::status_of([&] { sp::padded_offsets(sp::check_only, cu, multiple, out); }).kind() == sp::Kind::policy);
        CHECK(sp::status_of([&] { sp::padded_offsets(sp::check_only, cu, multiple, sp::Tail::nobody, out); }).kind() ==
              sp::Kind::policy);
        CHECK(sp::status_of([&] { sp::padded_offsets(main_exec, cu, multiple, out); }).kind() == sp::Kind::policy);
    }
    CHECK(sp::status_of([&] { sp::padded_offsets(sp::check_only, cu, 8, four); }).kind() == sp::Kind::axis_extent);
    CHECK(sp::status_of([&] { sp::padded_offsets(sp::check_only, cu, 8, sp::Tail::own_document, out); }).kind() ==
          sp::Kind::axis_extent);
    CHECK(sp::status_of([&] { sp::padded_offsets(sp::check_only, cu, 8, sp::Tail::own_document, four); }).ok());
    CHECK(sp::status_of([&] {
              sp::padded_offsets(sp::check_only, List{0, 5, 3}, 8, out);
          }).kind() == sp::Kind::offsets_order);
    CHECK(sp::status_of([&] {
              sp::padded_offsets(sp::check_only, List{1, 5, 7}, 8, out);
          }).kind() == sp::Kind::offsets_first);
    CHECK(sp::status_of([&] { sp::padded_offsets(sp::check_only, List{}, 8, out); }).kind() == sp::Kind::offsets_count);
    CHECK(sp::status_of([&] { sp::padded_offsets(sp::check_only, List{}, 8, sp::Tail::nobody, out); }).kind() ==
          sp::Kind::offsets_count);
    List alias{0, 5, 12};
    CHECK(sp::status_of([&] { sp::padded_offsets(main_exec, alias, 8, alias); }).kind() == sp::Kind::overlap);
    CHECK(out == List(3, -9));
}

TEST_CASE("sums past 32 and 64 bits are errors that name the document") {
    const List cu{0, INT32_MAX - 7, std::int64_t{INT32_MAX} + 1};
    std::vector<std::int32_t> narrow(3, -9);
    const sp::Status second = sp::status_of([&] { sp::padded_offsets(sp::check_only, cu, 8, narrow); });
    CHECK(second == make_status(sp::Kind::value_lost, 0, 1, INT32_MAX, std::int64_t{1} << 31));
    CHECK(sp::status_of([&] {
              sp::padded_offsets(sp::check_only, List{0, INT32_MAX - 9, INT32_MAX - 9}, 8, narrow);
          }).ok());
    const sp::Status first = sp::status_of([&] {
        sp::padded_offsets(sp::check_only, List{0, INT32_MAX - 3, INT32_MAX - 3}, 8, narrow);
    });
    CHECK(first == make_status(sp::Kind::value_lost, 0, 0, INT32_MAX, std::int64_t{1} << 31));
    CHECK(sp::status_of([&] {
              sp::padded_offsets(sp::check_only, List{0, 4, INT32_MAX - 3}, 8, sp::Tail::last_document, narrow);
          }).kind() == sp::Kind::value_lost);
    // Nobody's tail is in no offset, so it need not fit.
    CHECK(sp::padded_offsets(main_exec, List{0, 4, INT32_MAX - 3}, 8, sp::Tail::nobody, narrow) == std::int64_t{1}
                                                                                                       << 31);
    CHECK(narrow == std::vector<std::int32_t>{0, 4, INT32_MAX - 3});
    CHECK(padded({0, std::int64_t{1} << 40}, 3) == List{0, (std::int64_t{1} << 40) + 2});
    List out(2, -9);
    CHECK(sp::status_of([&] {
              sp::padded_offsets(sp::check_only, List{0, INT64_MAX - 1}, 8, out);
          }).kind() == sp::Kind::length);
    CHECK(sp::status_of([&] {
              sp::padded_offsets(sp::check_only, List{0, INT64_MAX - 1}, 8, sp::Tail::last_document, out);
          }).kind() == sp::Kind::length);
    CHECK(sp::status_of([&] { sp::padded_offsets(sp::check_only, List{0, 1}, INT64_MAX, out); }).ok());
    List three(3, -9);
    CHECK(sp::status_of([&] {
              sp::padded_offsets(sp::check_only, List{0, 1, 2}, INT64_MAX, three);
          }) == make_status(sp::Kind::length, 0, 1, 0, -1));
}
#endif

TEST_CASE("the_last_real_token_of_an_odd_document_counts") {  // case 1
    const List real{0, 7};
    const List up = padded(real, sp::pad_multiple(sp::ZigZag{}, 2));
    CHECK(up == List{0, 8});
    const auto layout = sp::padded(sp::packed(sp::ZigZag{}, up, 8, 2), real, up, 7);
    std::vector<std::int32_t> first(4), second(4);
    sp::sources(main_exec, layout, 0, first);
    sp::sources(main_exec, layout, 1, second);
    CHECK(first == std::vector<std::int32_t>{0, 1, 6, -1});
    CHECK(second == std::vector<std::int32_t>{2, 3, 4, 5});
}

TEST_CASE("zigzag_pads_to_twice_the_ranks") {  // case 4
    const List up = padded({0, 24}, sp::pad_multiple(sp::ZigZag{}, 8));
    CHECK(up == List{0, 32});
    List first(4);
    sp::positions(main_exec, sp::packed(sp::ZigZag{}, up, 32, 8), 0, first);
    CHECK(first == List{0, 1, 30, 31});
    CHECK(check(sp::ZigZag{}, 24, 8).kind() == sp::Kind::multiple);
}

TEST_CASE("a_remainder_is_padded_not_dropped") {  // cases 5 and 7
    CHECK(padded({0, 56700}, 8) == List{0, 56704});
    const List real{0, 2999}, up = padded({0, 2999}, sp::pad_multiple(sp::ZigZag{}, 4));
    CHECK(up == List{0, 3000});
    const auto layout = sp::padded(sp::ZigZag{}(3000, 4), real, up, 2999);
    List by_source(750);
    sp::sources(main_exec, layout, 0, by_source);
    CHECK(by_source == joined(range(0, 375), joined(range(2625, 2999), {-1})));
    CHECK(check(sp::ZigZag{}, 2999, 4).kind() == sp::Kind::multiple);
}

TEST_CASE("rows_of_real_tokens_follow_the_padded_offsets") {  // case 22
    const List real{0, 3, 5, 9}, up{0, 4, 8, 13};
    const auto layout = sp::padded(sp::Contiguous{}(13, 1), real, up, 9);
    List rows(9);
    sp::restore_index(main_exec, layout, rows);
    CHECK(rows == List{0, 1, 2, 4, 5, 8, 9, 10, 11});
}

TEST_CASE("padding_is_there_by_value_not_because_an_array_is") {  // case 25
    const List cu{0, 4, 8};
    const List same = cu;
    CHECK(!sp::has_padding(cu, same));
    const List up{0, 4, 12};
    CHECK(sp::has_padding(cu, up));
    const auto one = sp::padded(sp::packed(sp::ZigZag{}, cu, 8, 1), cu, same, 8);
    List index(8);
    sp::sources(main_exec, one, 0, index);
    CHECK(index == range(0, 8));
    const auto two = sp::padded(sp::packed(sp::ZigZag{}, cu, 8, 2), cu, same, 8);
    List first(4);
    sp::sources(main_exec, two, 0, first);
    CHECK(first == List{0, 3, 4, 7});
}

TEST_CASE("absent_padded_offsets_mean_the_real_ones") {  // case 26
    const List cu{0, 4, 12};
    const auto layout = sp::packed(sp::ZigZag{}, cu, 12, 2);
    List index(6), local(3);
    sp::sources(main_exec, layout, 0, index);
    sp::local_offsets(main_exec, layout, local);
    CHECK(index == List{0, 3, 4, 5, 10, 11});
    CHECK(local == List{0, 2, 6});
}

TEST_CASE("eight-bit formats pad to a multiple of the block on every rank") {  // case 93
    CHECK(padded({0, 11486}, 2 * 16) == List{0, 11488});
    CHECK(padded({0, 31936}, 4 * 32) == List{0, 32000});
}
