// What unshard reads: shards one by one, from a callable, stacked by an all-gather, joined along the axis; all give the same.
#include "exec.hpp"
#include "move/values.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>

using namespace seqpar;
using test::check_status;
using test::counted;
using test::error_of;
using test::List;

namespace {

const List two_documents{0, 8, 12};
const auto two_ranks = packed(ZigZag{}, two_documents, 12, 2);

// [B,S] = [2,12] counted, and its two shards [2,6].
struct Shards {
    List x = counted(24);
    List p0 = List(12);
    List p1 = List(12);
    Shards() {
        shard(test::main_exec, two_ranks, 0, tensor(x.data(), 2, 12), axis<1>, tensor(p0.data(), 2, 6));
        shard(test::main_exec, two_ranks, 1, tensor(x.data(), 2, 12), axis<1>, tensor(p1.data(), 2, 6));
    }
};

template <class S, Layout L>
List unshard_into(const L& of, const S& source) {
    List out(24, -1);
    unshard(test::main_exec, of, source, axis<-1>, tensor(out.data(), 2, 12));
    return out;
}

// Whether unshard takes a source: a bare tensor it must not, because stacked and joined shards differ silently.
template <class S>
concept UnshardTakes = requires(const S& source, DenseView<std::int64_t, 2> out) {
    unshard(test::main_exec, two_ranks, source, axis<1>, out);
};
static_assert(UnshardTakes<decltype(stacked(std::declval<DenseView<std::int64_t, 3>>()))>);
static_assert(UnshardTakes<decltype(joined(std::declval<DenseView<std::int64_t, 2>>()))>);
static_assert(!UnshardTakes<DenseView<std::int64_t, 2>>);
static_assert(!UnshardTakes<DenseView<std::int64_t, 3>>);
static_assert(!UnshardTakes<ArrayRef>);
static_assert(!UnshardTakes<List>);

}  // namespace

TEST_CASE("shards given one by one, by a callable, stacked and joined give the same array") {
    Shards s;
    const auto v0 = tensor(s.p0.data(), 2, 6);
    const auto v1 = tensor(s.p1.data(), 2, 6);
    CHECK(unshard_into(two_ranks, shards(v0, v1)) == s.x);
    CHECK(unshard_into(two_ranks, shards([&](int rank) { return rank == 0 ? v0 : v1; })) == s.x);

    List gathered(s.p0);  // [P,B,T]
    gathered.insert(gathered.end(), s.p1.begin(), s.p1.end());
    CHECK(unshard_into(two_ranks, stacked(tensor(gathered.data(), 2, 2, 6))) == s.x);

    List side_by_side(24);  // [B, P T]
    for (std::size_t b = 0; b < 2; ++b) {
        for (std::size_t t = 0; t < 6; ++t) {
            side_by_side[b * 12 + t] = s.p0[b * 6 + t];
            side_by_side[b * 12 + 6 + t] = s.p1[b * 6 + t];
        }
    }
    CHECK(unshard_into(two_ranks, joined(tensor(side_by_side.data(), 2, 12))) == s.x);
    // The two readings of one buffer differ, which is why a bare tensor does not compile.
    CHECK(unshard_into(two_ranks, stacked(tensor(side_by_side.data(), 2, 2, 6))) != s.x);
}

TEST_CASE("stacked and joined shards may have any strides") {
    Shards s;
    List interleaved(24);  // [B,T] of both ranks, rank innermost
    for (std::size_t i = 0; i < 12; ++i) {
        interleaved[2 * i] = s.p0[i];
        interleaved[2 * i + 1] = s.p1[i];
    }
    CHECK(unshard_into(two_ranks, stacked(tensor(interleaved.data(), {2, 2, 6}, {1, 12, 2}))) == s.x);
    List transposed(24);  // [P T, B]
    for (std::size_t b = 0; b < 2; ++b) {
        for (std::size_t t = 0; t < 6; ++t) {
            transposed[t * 2 + b] = s.p0[b * 6 + t];
            transposed[(6 + t) * 2 + b] = s.p1[b * 6 + t];
        }
    }
    CHECK(unshard_into(two_ranks, joined(tensor(transposed.data(), {2, 12}, {1, 2}))) == s.x);
}

TEST_CASE("shards of unequal size join; stacked they are refused by rank") {
    const auto uneven = UnevenContiguous{}(5, 2);
    const List both{0, 1, 2, 3, 4};
    List out(5, -1);
    unshard(test::main_exec, uneven, joined(both), axis<0>, out);
    CHECK(out == both);
    const List p0{0, 1, 2};
    const List p1{3, 4};
    out.assign(5, -1);
    unshard(test::main_exec, uneven, shards(p0, p1), axis<0>, out);
    CHECK(out == both);
    const List stack(6, 7);
    out.assign(5, -1);
    check_status(error_of([&] { unshard(test::main_exec, uneven, stacked(tensor(stack.data(), 2, 3)), axis<0>, out); }),
                 Kind::axis_extent, 0, 2, 3, 0, 1);
    CHECK(out == List(5, -1));
}

TEST_CASE("a callable is called in order of rank, to check all and then to move all") {
    Shards s;
    List calls;
    const auto give = [&](int rank) {
        calls.push_back(rank);
        return tensor(rank == 0 ? s.p0.data() : s.p1.data(), 2, 6);
    };
    CHECK(unshard_into(two_ranks, shards(give)) == s.x);
    CHECK(calls == List{0, 1, 0, 1});
}

TEST_CASE("a wrong number of shards is an error and nothing is written") {
    Shards s;
    const auto v0 = tensor(s.p0.data(), 2, 6);
    List out(24, -1);
    const auto whole = tensor(out.data(), 2, 12);
    check_status(error_of([&] { unshard(test::main_exec, two_ranks, shards(v0), axis<1>, whole); }), Kind::shard_count,
                 0, 2, 1);
    check_status(error_of([&] { unshard(test::main_exec, two_ranks, shards(v0, v0, v0), axis<1>, whole); }),
                 Kind::shard_count, 0, 2, 3);
    const List stack(36);
    check_status(
        error_of([&] { unshard(test::main_exec, two_ranks, stacked(tensor(stack.data(), 3, 2, 6)), axis<1>, whole); }),
        Kind::shard_count, 0, 2, 3);
    check_status(
        error_of([&] { unshard(test::main_exec, two_ranks, joined(tensor(stack.data(), 2, 18)), axis<1>, whole); }),
        Kind::axis_extent, 0, 12, 18, 1);
    check_status(
        error_of([&] { unshard(test::main_exec, two_ranks, joined(tensor(stack.data(), 2, 11)), axis<1>, whole); }),
        Kind::axis_extent, 0, 12, 11, 1);
    check_status(error_of([&] { unshard(test::main_exec, two_ranks, stacked(stack), axis<1>, whole); }), Kind::axes, 0,
                 2, 1);
    // The second shard is wrong: the first must not have been written.
    check_status(
        error_of([&] { unshard(test::main_exec, two_ranks, shards(v0, tensor(s.p1.data(), 2, 5)), axis<1>, whole); }),
        Kind::axis_extent, 0, 6, 5, 1, 1);
    check_status(
        error_of([&] { unshard(test::main_exec, two_ranks, shards(v0, tensor(s.p1.data(), 3, 4)), axis<1>, whole); }),
        Kind::axis_extent, 0, 6, 4, 1, 1);
    check_status(
        error_of([&] { unshard(test::main_exec, two_ranks, shards(v0, tensor(s.p1.data(), 1, 6)), axis<1>, whole); }),
        Kind::extent, 0, 2, 1, 0, 1);
    CHECK(out == List(24, -1));
    // Rank 300 is not rank 44.
    const List one(2, 0);
    List many(301, -1);
    const auto short_of_it = [&](int rank) { return tensor(one.data(), rank == 300 ? 2 : 1); };
    CHECK(describe(error_of([&] {
              unshard(test::main_exec, Contiguous{}(301, 301), shards(short_of_it), axis<0>, many);
          })) == "the sequence axis does not fit the layout: array 0, rank 300, axis 0, expected length 1, got 2");
    CHECK(many == List(301, -1));
}

TEST_CASE("shards that overlap the output are an error") {
    Shards s;
    List out(24, -1);
    const auto whole = tensor(out.data(), 2, 12);
    check_status(error_of([&] {
                     unshard(test::main_exec, two_ranks,
                             shards(tensor(s.p0.data(), 2, 6), tensor(out.data() + 12, 2, 6)), axis<1>, whole);
                 }),
                 Kind::overlap, 0, 0, 1, 0, 1);
    CHECK(out == List(24, -1));
}

TEST_CASE("no document and no token: shards are empty and nothing is read") {
    const List none{0};
    const auto empty = packed(ZigZag{}, none, 0, 2);
    const auto nothing = tensor(static_cast<std::int64_t*>(nullptr), 2, 0);
    shard(test::main_exec, empty, 1, nothing, axis<1>, nothing);
    unshard(test::main_exec, empty, joined(nothing), axis<1>, nothing);
    unshard(test::main_exec, empty, stacked(tensor(static_cast<std::int64_t*>(nullptr), 2, 2, 0)), axis<1>, nothing);
    CHECK(error_of([&] { shard(test::main_exec, empty, 2, nothing, axis<1>, nothing); }).kind() == Kind::rank);
}
