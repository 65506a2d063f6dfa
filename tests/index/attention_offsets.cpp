// What attention kernels are told: laws over random documents by plain loops over positions, then the worked examples of
// docs/design.md. Not here: trainers' lists (tests/golden), and what is refused (checks.cpp).
#include "support.hpp"

#include <seqpar/index/attention_offsets.hpp>
#include <seqpar/layout/multiples.hpp>

using namespace test;

namespace {

using Narrow = std::vector<std::int32_t>;

// Random offsets whose last is a multiple of `ranks`, of documents of any length.
List any_offsets(Random& random, int ranks) {
    List cu = random_offsets(random, 1, random.between(1, 6), 9);
    cu.back() = sp::round_up(cu.back(), ranks);
    return cu;
}

// The document of `position`, never an empty one.
std::size_t document_of(const List& cu, std::int64_t position) {
    std::size_t d = 0;
    while (cu[d + 1] <= position)
        ++d;
    return d;
}

}  // namespace

TEST_CASE("valid tokens of each half are the real tokens among its slots, document by document") {
    Random random(71);
    for (int round = 0; round < 200; ++round) {
        const int ranks = static_cast<int>(random.between(1, 4));
        const List cu = random_offsets(random, sp::pad_multiple(sp::ZigZag{}, ranks), random.between(0, 5), 4);
        const List real = random_real_offsets(random, cu);
        const auto layout = sp::padded(sp::packed(sp::ZigZag{}, cu, cu.back(), ranks), real, cu, real.back());
        for (int rank = 0; rank < ranks; ++rank) {
            List first{0}, second{0}, both{0}, slots_first, slots_second;
            List local;
            for (const std::int64_t offset : cu)
                local.push_back(offset / ranks);
            for (std::size_t d = 0; d + 1 < cu.size(); ++d) {
                const std::int64_t middle = (local[d] + local[d + 1]) / 2;
                first.push_back(first.back());
                second.push_back(second.back());
                for (std::int64_t slot = local[d]; slot < local[d + 1]; ++slot) {
                    const bool valid = layout.source(layout.position(rank, slot)) >= 0;
                    (slot < middle ? first : second).back() += valid ? 1 : 0;
                    (slot < middle ? slots_first : slots_second).push_back(slot);
                }
                both.push_back(first.back() + second.back());
            }
            const auto valid = [&](sp::Half which) {
                return sp::valid_offsets(sp::offsets(real), sp::offsets(cu), ranks, rank, which);
            };
            REQUIRE(valid(sp::Half::both) == both);
            REQUIRE(valid(sp::Half::first) == first);
            REQUIRE(valid(sp::Half::second) == second);
            if (ranks == 1) continue;  // documents of an odd length have no halves
            REQUIRE(sp::half_slots(sp::offsets(local), sp::Half::first) == slots_first);
            REQUIRE(sp::half_slots(sp::offsets(local), sp::Half::second) == slots_second);
            REQUIRE(sp::half_slots(sp::offsets(local), sp::Half::both) == range(0, local.back()));
        }
    }
}

TEST_CASE(
    "queries of a contiguous shard meet the keys of their own document, up to the shard's end or the document's") {
    Random random(72);
    for (int round = 0; round < 300; ++round) {
        const int ranks = static_cast<int>(random.between(1, 5));
        const List cu = any_offsets(random, ranks);
        const std::int64_t share = cu.back() / ranks;
        if (share == 0) continue;
        for (int rank = 0; rank < ranks; ++rank) {
            const std::int64_t begin = rank * share;
            const std::int64_t end = begin + share;
            for (const bool causal : {false, true}) {
                const auto got = sp::query_key_offsets(sp::offsets(cu), cu.back(), ranks, rank, causal);
                REQUIRE(got.cu_q.size() == got.cu_k.size());
                REQUIRE(got.cu_q.front() == 0);
                REQUIRE(got.cu_q.back() == share);
                REQUIRE(got.cu_k.back() == got.keys_end - got.keys_begin);
                std::int64_t longest_q = 0, longest_k = 0;
                for (std::size_t i = 0; i + 1 < got.cu_q.size(); ++i) {
                    longest_q = std::max(longest_q, got.cu_q[i + 1] - got.cu_q[i]);
                    longest_k = std::max(longest_k, got.cu_k[i + 1] - got.cu_k[i]);
                    for (std::int64_t q = got.cu_q[i]; q < got.cu_q[i + 1]; ++q) {
                        const std::size_t d = document_of(cu, begin + q);
                        REQUIRE(got.keys_begin + got.cu_k[i] == cu[d]);
                        REQUIRE(got.keys_begin + got.cu_k[i + 1] == (causal ? std::min(end, cu[d + 1]) : cu[d + 1]));
                    }
                }
                REQUIRE(got.longest_q == longest_q);
                REQUIRE(got.longest_k == longest_k);
            }
        }
    }
}

TEST_CASE("the documents of a contiguous shard are its pieces of them, and it says whether it begins inside one") {
    Random random(73);
    for (int round = 0; round < 300; ++round) {
        const int ranks = static_cast<int>(random.between(1, 5));
        const List cu = any_offsets(random, ranks);
        const std::int64_t total = cu.back() + ranks * random.between(0, 3);  // a tail that belongs to nobody
        const std::int64_t share = total / ranks;
        for (int rank = 0; rank < ranks; ++rank) {
            List expected;
            for (std::int64_t p = rank * share; p < std::min((rank + 1) * share, cu.back()); ++p) {
                const bool first = expected.empty();
                if (first) expected.push_back(0);
                if (!first && document_of(cu, p) != document_of(cu, p - 1)) expected.push_back(p - rank * share);
            }
            const std::int64_t held = std::min((rank + 1) * share, cu.back()) - rank * share;
            if (!expected.empty()) expected.push_back(held);
            const auto got = sp::shard_offsets(sp::offsets(cu), total, ranks, rank);
            REQUIRE(got.cu == expected);
            const bool inside = held > 0 && cu[document_of(cu, rank * share)] != rank * share;
            REQUIRE(got.begins_inside_document == inside);
        }
    }
}

TEST_CASE("the worked examples: real lengths 7 and 3 in 8 and 4; documents of 8 and 4; an empty document at a cut") {
    const Narrow real{0, 7, 10}, padded{0, 8, 12}, cut{0, 4, 4, 8};
    const auto valid = [&](int rank, sp::Half which) {
        return sp::valid_offsets(sp::offsets(real), sp::offsets(padded), 2, rank, which);
    };
    CHECK(valid(0, sp::Half::first) == Narrow{0, 2, 3});
    CHECK(valid(0, sp::Half::second) == Narrow{0, 1, 1});
    CHECK(valid(0, sp::Half::both) == Narrow{0, 3, 4});
    CHECK(valid(1, sp::Half::first) == Narrow{0, 2, 3});
    CHECK(valid(1, sp::Half::second) == Narrow{0, 2, 3});
    CHECK(valid(1, sp::Half::both) == Narrow{0, 4, 6});
    const auto first = sp::query_key_offsets(sp::offsets(padded), 12, 2, 0, true);
    CHECK(first.cu_q == Narrow{0, 6});
    CHECK(first.cu_k == Narrow{0, 6});
    CHECK(first.keys_end == 6);
    const auto second = sp::query_key_offsets(sp::offsets(padded), 12, 2, 1, true);
    CHECK(second.cu_q == Narrow{0, 2, 6});
    CHECK(second.cu_k == Narrow{0, 8, 12});
    CHECK(second.longest_q == 4);
    CHECK(second.longest_k == 8);
    CHECK(sp::query_key_offsets(sp::offsets(cut), 8, 2, 1, true).cu_q == Narrow{0, 0, 4});
    // Of no token: one empty document, whose begin and end are there.
    for (const Narrow& nothing : {Narrow{0}, Narrow{0, 0}, Narrow{0, 0, 0}}) {
        const auto empty = sp::query_key_offsets(sp::offsets(nothing), 0, 2, 1, false);
        CHECK(empty.cu_q == Narrow{0, 0});
        CHECK(empty.cu_k == Narrow{0, 0});
        CHECK(empty.keys_end + empty.longest_q + empty.longest_k == 0);
    }
    CHECK(sp::query_key_offsets(sp::offsets(padded), 12, 2, 0, false).keys_end == 8);
    // Past the last real token there are no documents.
    const auto none = sp::shard_offsets(sp::offsets(cut), 16, 2, 1);
    CHECK(none.cu.empty());
    CHECK_FALSE(none.begins_inside_document);
}
