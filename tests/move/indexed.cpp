// Moves by index arrays: a gather, and with it the roll, the halo and the two ways of the balance as moves of any array.
#include "exec.hpp"

#include <seqpar/seqpar.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace {

namespace sp = seqpar;
using List = std::vector<std::int64_t>;

// [2, S, 3] with a value of its own in every element.
std::vector<float> values(std::int64_t length) {
    std::vector<float> x(static_cast<std::size_t>(6 * length));
    std::iota(x.begin(), x.end(), 1.0F);
    return x;
}

// [2, T, 3] with what the index names, or the fill.
std::vector<float> taken(const std::vector<float>& x, std::int64_t length, const List& index, float fill) {
    std::vector<float> out;
    for (std::int64_t b = 0; b < 2; ++b) {
        for (const std::int64_t i : index) {
            for (std::int64_t h = 0; h < 3; ++h)
                out.push_back(i < 0 ? fill : x[static_cast<std::size_t>((b * length + i) * 3 + h)]);
        }
    }
    return out;
}

std::vector<float> moved(std::vector<float>& x, std::int64_t length, const List& index, float fill) {
    const auto slots = static_cast<std::int64_t>(index.size());
    std::vector<float> out(static_cast<std::size_t>(6 * slots), -1.0F);
    sp::shard(test::main_exec, sp::indexed(index, length), 0, sp::tensor(x.data(), 2, length, 3), sp::axis<1>,
              sp::tensor(out.data(), 2, slots, 3), fill);
    return out;
}

}  // namespace

TEST_CASE("a shard by an index array is a gather: any order, repeated entries, stretches, pads") {
    std::mt19937 random(7);
    for (int round = 0; round < test::rounds(300); ++round) {
        const std::int64_t length = 1 + static_cast<std::int64_t>(random() % 900);
        std::vector<float> x = values(length);
        List index;
        const std::size_t count = random() % 1200;
        while (index.size() < count) {
            const auto first = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length + 1)) - 1;
            const std::int64_t stretch = random() % 3 == 0 ? static_cast<std::int64_t>(random() % 600) : 1;
            for (std::int64_t i = 0; i < stretch && index.size() < count && first + i < length; ++i) {
                index.push_back(first < 0 ? -1 : first + i);
            }
        }
        REQUIRE(moved(x, length, index, 0.5F) == taken(x, length, index, 0.5F));
    }
}

#if !defined(__CUDACC__)  // a device does not throw
TEST_CASE("an index outside the array is an error that names it, and nothing is written") {
    std::vector<float> x = values(4);
    std::vector<float> out(18, 7.0F);
    for (const std::int64_t wrong : {std::int64_t{4}, std::int64_t{-2}}) {
        const List index = {0, wrong, 1};
        sp::Status status;
        try {
            sp::shard(test::main_exec, sp::indexed(index, 4), 0, sp::tensor(x.data(), 2, 4, 3), sp::axis<1>,
                      sp::tensor(out.data(), 2, 3, 3), 0.0F);
        } catch (const sp::Error& error) {
            status = error.status();
        }
        CHECK(describe(status) ==
              "an index is outside the array that it reads: slot 1, expected at most 3, got " + std::to_string(wrong));
        CHECK(out == std::vector<float>(18, 7.0F));
    }
}
#endif

TEST_CASE("roll by -1 as a move: each slot gets its next token's vector, none over a document's end") {
    const std::vector<std::int32_t> cu = {0, 8, 12};
    std::vector<float> x = values(12);
    List next(12);
    for (std::int64_t p = 0; p < 12; ++p)
        next[static_cast<std::size_t>(p)] = p == 7 || p == 11 ? -1 : p + 1;
    const std::vector<float> rolled = taken(x, 12, next, 0.0F);
    const auto layout = sp::packed(sp::ZigZag{}, cu, 12, 2);
    for (int rank = 0; rank < 2; ++rank) {
        List index(6);
        sp::roll_index(test::main_exec, layout, rank, cu, -1, index);
        std::vector<float> expected(36);
        sp::shard(test::main_exec, layout, rank, sp::tensor(rolled.data(), 2, 12, 3), sp::axis<1>,
                  sp::tensor(expected.data(), 2, 6, 3));
        CHECK(moved(x, 12, index, 0.0F) == expected);
    }
}

// A rank has its own slots and gets one token a run from its neighbours (the right halo): no array of the whole is needed.
TEST_CASE(
    "roll by -1 without a gather: a shard and its right halo of 1 hold every next token, zigzag over all and in "
    "documents") {
    const List cu = {0, 12, 12, 18, 24};
    const auto check = [&](const auto& layout, const List& documents) {
        for (int rank = 0; rank < layout.ranks(); ++rank) {
            const std::int64_t slots = layout.slots(rank);
            const List halo = sp::halo_positions(layout, rank, sp::Side::right, 1, sp::offsets(documents));
            List held(static_cast<std::size_t>(slots));
            sp::positions(test::main_exec, layout, rank, held);
            held.insert(held.end(), halo.begin(), halo.end());
            List next(static_cast<std::size_t>(slots));
            sp::roll_index(test::main_exec, layout, rank, documents, -1, next);
            List local;  // the same by number in [own slots, halo]
            for (const std::int64_t p : next) {
                const auto at = std::find(held.begin(), held.end(), p) - held.begin();
                REQUIRE((p < 0 || at < std::ssize(held)));
                local.push_back(p < 0 ? -1 : at);
            }
            std::vector<std::int32_t> tokens;
            for (const std::int64_t p : held)
                tokens.push_back(p < 0 ? 0 : static_cast<std::int32_t>(100 + p));
            std::vector<std::int32_t> rolled(next.size());
            sp::shard(test::main_exec, sp::indexed(local, std::ssize(tokens)), 0, tokens, sp::axis<0>, rolled, -100);
            for (std::size_t t = 0; t < next.size(); ++t)
                CHECK(rolled[t] == (next[t] < 0 ? -100 : 100 + next[t]));
        }
    };
    check(sp::ZigZag{}(24, 3), List{0, 24});
    check(sp::packed(sp::ZigZag{}, cu, 24, 3), cu);
    check(sp::nested(sp::packed(sp::ZigZag{}, cu, 24, 3), sp::Contiguous{}, 2), cu);
}

TEST_CASE("the left halo as a move: the vectors before each chunk, the fill before a document") {
    const std::vector<std::int32_t> cu = {0, 8, 12};
    std::vector<float> x = values(12);
    const auto layout = sp::packed(sp::ZigZag{}, cu, 12, 2);
    const List halo = sp::halo_positions(layout, 1, sp::Side::left, 2, sp::offsets(cu));
    CHECK(halo == List{0, 1, 2, 3, -1, 8, 8, 9});
    CHECK(moved(x, 12, halo, -3.0F) == taken(x, 12, {0, 1, 2, 3, -1, 8, 8, 9}, -3.0F));
}

TEST_CASE("undo and redo of the balance as moves: joined shards to the whole array and back") {
    const auto layout = sp::ZigZag{}(24, 3);
    std::vector<float> whole = values(24);
    List redo(24);
    List undo(24);
    sp::gather_index(test::main_exec, layout, redo);
    sp::restore_index(test::main_exec, layout, undo);
    std::vector<float> joined = moved(whole, 24, redo, 0.0F);
    CHECK(moved(joined, 24, undo, 0.0F) == whole);
    std::vector<float> back(whole.size());
    sp::unshard(test::main_exec, layout, sp::joined(sp::tensor(joined.data(), 2, 24, 3)), sp::axis<1>,
                sp::tensor(back.data(), 2, 24, 3));
    CHECK(back == whole);
}
