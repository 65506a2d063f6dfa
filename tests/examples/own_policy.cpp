// A policy of a user's own, examples/own_policy/snake.hpp, in every composition and through every move: laws on random input.
// Not here: policies and layouts of the library; they go through the same laws in tests/layout, tests/move and tests/theorems.
#include "move/random_moves.hpp"
#include "theorems/split.hpp"

#include "../../examples/own_policy/snake.hpp"

#include <seqpar/move/shard.hpp>
#include <seqpar/move/unshard.hpp>

using test::List;
using test::Random;

namespace {

// What all of the library's own layouts are put through.
template <sp::Layout L>
void check_everything(Random& random, const L& layout) {
    const auto report = sp::conformance::check_layout(layout);
    REQUIRE_MESSAGE(report.ok(), sp::conformance::describe(report));
    test::check_moves(random, thrust::seq, layout);  // shard, unshard and the adjoint of shard
    test::check_gather_commutes(random, layout);     // VisionGather, forward and backward

    // A batch of two fields is two shards, and the adjoint of unshard is a shard.
    const List x = test::range(1, layout.source_size() + 1);
    const std::vector<std::int32_t> y = test::as<std::int32_t>(x);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const List expected = test::shard_of(layout, rank, x, 1, std::int64_t{-5});
        List own(expected.size()), adjoint(expected.size());
        std::vector<std::int32_t> narrow(expected.size());
        if constexpr (sp::is_padded<L>) {
            sp::shard_batch(thrust::seq, layout, rank, sp::field(x, sp::axis<0>, own).fill(-5),
                            sp::field(y, sp::axis<0>, narrow).fill(-5));
        } else {
            sp::shard_batch(thrust::seq, layout, rank, sp::field(x, sp::axis<0>, own),
                            sp::field(y, sp::axis<0>, narrow));
        }
        REQUIRE(own == expected);
        REQUIRE(narrow == test::as<std::int32_t>(expected));
        sp::unshard_adjoint(thrust::seq, layout, rank, x, sp::axis<0>, adjoint);
        for (std::size_t t = 0; t < own.size(); ++t)
            REQUIRE(adjoint[t] == (own[t] == -5 ? 0 : own[t]));
    }
}

}  // namespace

TEST_CASE("a user's policy passes the shipped laws, at compile time too, and refuses what it cannot deal out") {
    CHECK(sp::conformance::check_policy(Snake{}).ok());
    CHECK(sp::conformance::check_refusals(Snake{}).ok());
    CHECK(sp::status_of([] { (void)Snake{}(7, 2); }) == sp::make_status(sp::Kind::multiple, 0, 0, 2, 7));
    const List odd{0, 4, 7, 10};
    CHECK(sp::check(sp::packed(Snake{}, odd, 10, 2)) == sp::make_status(sp::Kind::document_multiple, 0, 1, 2, 3));
}

TEST_CASE(
    "a user's policy inside documents, nested, as the inner policy and padded: every law, every move, VisionGather") {
    Random random(906);
    for (int round = 0; round < 150; ++round) {
        const int ranks = static_cast<int>(random.between(1, 4));
        const int parts = static_cast<int>(random.between(1, 3));
        const List cu = test::random_offsets(random, sp::pad_multiple(Snake{}, ranks, parts), 5, 3);
        const List real = test::random_real_offsets(random, cu);
        const auto whole = Snake{}(cu.back(), ranks);
        const auto documents = sp::packed(Snake{}, cu, cu.back(), ranks);
        const auto pads = sp::padded(documents, real, cu, real.back());
        check_everything(random, whole);
        check_everything(random, documents);
        check_everything(random, pads);
        check_everything(random, sp::nested(pads, sp::Contiguous{}, parts));
        check_everything(random, sp::nested(sp::packed(sp::Contiguous{}, cu, cu.back(), ranks), Snake{}, parts));
    }
}
