// Plans: the worked examples of docs/design.md, and the solvers against plain loops on random work.
#include "support.hpp"

#include <seqpar/balance/hybrid.hpp>
#include <seqpar/conformance/layout.hpp>
#include <seqpar/layout/multiples.hpp>

using namespace test;

namespace {

Lists of_runs(const std::vector<std::vector<sp::Run>>& runs, std::int64_t length) {
    const sp::RunTable table(runs, length);
    return shards(table.layout());
}

// The least loaded rank with room, by looking at all of them.
Lists plain_min_heap(const List& work, std::size_t ranks) {
    List order = range(0, static_cast<std::int64_t>(work.size()));
    const auto of = [&](std::int64_t chunk) { return work[static_cast<std::size_t>(chunk)]; };
    std::sort(order.begin(), order.end(),
              [&](std::int64_t a, std::int64_t b) { return of(a) != of(b) ? of(a) > of(b) : a > b; });
    Lists parts(ranks);
    List load(ranks);
    for (const std::int64_t chunk : order) {
        std::size_t least = ranks;
        for (std::size_t r = 0; r < ranks; ++r) {
            const bool room = parts[r].size() < (work.size() + ranks - 1) / ranks;
            if (room && (least == ranks || load[r] < load[least])) least = r;
        }
        parts[least].push_back(chunk);
        load[least] += of(chunk);
    }
    return parts;
}

}  // namespace

TEST_CASE("the worked examples of C, D and J") {
    const List cu{0, 8, 12};
    CHECK(of_runs(sp::per_document_runs(sp::offsets(cu), 12, 2), 12) ==
          Lists{{0, 1, 6, 7, 2, 3}, {4, 5, 8, 11, 9, 10}});
    const List work{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4};
    CHECK(of_runs(sp::block_runs(sp::ptrr_parts(work, 2), 1, 12), 12) ==
          Lists{{1, 3, 4, 7, 8, 10}, {0, 2, 5, 6, 9, 11}});
    const auto magi = [&](std::int64_t chunk) {
        const List area = sp::chunk_work(sp::offsets(cu), 12, chunk, sp::Mask::causal);
        return of_runs(sp::block_runs(sp::sorted_parts(sp::min_heap_parts(area, 2)), chunk, 12), 12);
    };
    CHECK(magi(1) == Lists{{4, 7, 8, 9, 10, 11}, {0, 1, 2, 3, 5, 6}});
    CHECK(magi(2) == Lists{{0, 1, 2, 3, 6, 7}, {4, 5, 8, 9, 10, 11}});
    CHECK(sp::magi_chunk(12, 2, 2) == 1);
    CHECK(sp::magi_chunk(12, 2) == 1);
}

TEST_CASE("the solver of J takes the least loaded rank with room, of equal ones the lowest") {
    Random random(91);
    for (int round = 0; round < 200; ++round) {
        List work(static_cast<std::size_t>(random.between(0, 40)));
        for (std::int64_t& w : work)
            w = random.between(0, 6);  // many are equal
        const int ranks = static_cast<int>(random.between(1, 7));
        REQUIRE(sp::min_heap_parts(work, ranks) == plain_min_heap(work, static_cast<std::size_t>(ranks)));
    }
}

TEST_CASE("older torch's order is the join of the documents' shards, cut; any documents that zigzag deals") {
    Random random(92);
    for (int round = 0; round < 100; ++round) {
        const int ranks = static_cast<int>(random.between(1, 4));
        const List cu = random_offsets(random, 2 * ranks, 6, 3);
        List all;
        for (std::size_t d = 0; d + 1 < cu.size(); ++d) {
            for (int r = 0; r < ranks; ++r)
                all = joined(all, moved(formula_a(cu[d + 1] - cu[d], ranks, r), cu[d]));
        }
        Lists expected;
        for (int r = 0; r < ranks; ++r)
            expected.push_back(part_of(all, r, ranks));
        REQUIRE(of_runs(sp::per_document_runs(sp::offsets(cu), cu.back(), ranks), cu.back()) == expected);
    }
    const List odd{0, 6, 12};
    const List short_of_it{0, 8};
    CHECK(sp::status_of([&] { (void)sp::per_document_runs(sp::offsets(odd), 12, 2); }).kind() ==
          sp::Kind::document_multiple);
    CHECK(sp::status_of([&] { (void)sp::per_document_runs(sp::offsets(short_of_it), 12, 2); }).kind() ==
          sp::Kind::offsets_total);
    CHECK(sp::status_of([&] { (void)sp::per_document_runs(sp::offsets(odd), 12, 0); }).kind() == sp::Kind::ranks);
    // 2^33 positions are runs like any others.
    const List large{0, std::int64_t{1} << 32, std::int64_t{1} << 33};
    const auto runs = sp::per_document_runs(sp::offsets(large), large.back(), 4);
    CHECK(runs[3].back() == sp::Run{(std::int64_t{1} << 32) + (std::int64_t{1} << 31), 0, std::int64_t{1} << 29});
}

TEST_CASE("a document that zigzag cannot deal out is contiguous inside, the others zigzag") {
    Random random(93);
    for (int round = 0; round < 100; ++round) {
        const int ranks = static_cast<int>(random.between(1, 4));
        const List cu = random_offsets(random, ranks, 6, 5);
        Lists expected(static_cast<std::size_t>(ranks));
        for (std::size_t d = 0; d + 1 < cu.size(); ++d) {
            const std::int64_t length = cu[d + 1] - cu[d];
            for (int r = 0; r < ranks; ++r) {
                List& own = expected[static_cast<std::size_t>(r)];
                const bool zigzag = ranks == 1 || length % (2 * ranks) == 0;
                const List part = zigzag ? formula_a(length, ranks, r) : part_of(range(0, length), r, ranks);
                own = joined(own, moved(part, cu[d]));
            }
        }
        REQUIRE(of_runs(sp::mixed_runs(sp::offsets(cu), cu.back(), ranks), cu.back()) == expected);
    }
    const List odd{0, 4, 7};
    CHECK(sp::status_of([&] { (void)sp::mixed_runs(sp::offsets(odd), 7, 2); }) ==
          sp::make_status(sp::Kind::document_multiple, 0, 1, 2, 3));
}

TEST_CASE("work_that_is_no_int64_is_an_error_and_not_a_wrapped_number") {
    constexpr std::int64_t part = std::int64_t{3} << 30;  // its square is less than 2^64, the double's is more
    const List cu{0, part, 2 * part};
    const List one{0, 2 * part};
    const auto work = [&](const List& documents, int ranks) {
        return sp::causal_work(sp::Contiguous{}(2 * part, ranks), ranks - 1, sp::offsets(documents));
    };
    const auto lost = [](std::int64_t position) {
        return sp::make_status(sp::Kind::value_lost, 0, position, INT64_MAX, -1);
    };
    CHECK(sp::status_of([&] { (void)work(one, 1); }) == lost(0));
    CHECK(sp::status_of([&] { (void)work(cu, 1); }) == lost(part));  // each fits, the sum does not
    CHECK(work(cu, 2) == part / 2 * (part + 1));
    const auto area = [&](std::int64_t width, sp::Mask mask) {
        return sp::status_of([&] { (void)sp::chunk_work(sp::offsets(one), 2 * part, width, mask); });
    };
    CHECK(area(2 * part, sp::Mask::causal) == lost(0));
    CHECK(area(2 * part, sp::Mask::full) == lost(0));
    CHECK(area(part, sp::Mask::full) == lost(0));
    CHECK(area(part / 4, sp::Mask::causal).ok());
    // A width past all that is added to it.
    const List three{0, 3};
    CHECK(sp::chunk_work(sp::offsets(three), 5, INT64_MAX, sp::Mask::causal) == List{6});
    CHECK(sp::status_of([] {
              (void)sp::min_heap_parts(List{INT64_MAX, INT64_MAX, 1, 1}, 1);
          }).kind() == sp::Kind::value_lost);
}

TEST_CASE("the least ranks for a sample of hybrid context parallelism") {
    CHECK(sp::ranks_needed(4096, 4096, 8) == 1);
    CHECK(sp::ranks_needed(4097, 4096, 8) == 2);
    CHECK(sp::ranks_needed(9000, 4096, 8) == 4);
    CHECK(sp::ranks_needed(20000, 4096, 8) == 8);
    CHECK(sp::status_of([] { (void)sp::ranks_needed(20000, 4096, 4); }).kind() == sp::Kind::ranks);
}

TEST_CASE("a plan of hybrid context parallelism: ranks are neighbours, none idles, every sample runs once, whole") {
    Random random(93);
    for (int round = 0; round < 200; ++round) {
        const int ranks = 1 << random.between(0, 4);
        List lengths(static_cast<std::size_t>(random.between(0, 12)));
        for (std::int64_t& length : lengths)
            length = random.between(0, 64 * ranks);
        List runs_of_sample(lengths.size());
        for (const sp::BlockParts& parts : sp::hybrid_parts(lengths, 64, ranks)) {
            List padded = lengths;
            for (std::size_t s = 0; s < padded.size(); ++s)
                padded[s] = sp::round_up(lengths[s], 2 * ranks);  // a multiple for every group
            const sp::HybridBatch batch = sp::hybrid_batch(parts, padded);
            const sp::RunTable table(batch.runs, batch.cu_seqlens.back());
            REQUIRE(sp::conformance::check_layout(table.layout()).ok());
            for (const auto& part : parts)
                REQUIRE(!part.empty());
            for (std::size_t s = 0; s < lengths.size(); ++s) {
                if (batch.ranks[s] == 0) continue;
                ++runs_of_sample[s];
                REQUIRE(batch.ranks[s] >= sp::ranks_needed(lengths[s], 64, ranks));
            }
        }
        REQUIRE(runs_of_sample == List(lengths.size(), 1));
    }
}

TEST_CASE(
    "a micro batch of hybrid context parallelism: its samples in order of number, each dealt by zigzag to its ranks") {
    const List lengths{9000, 4096, 4097, 1000};
    const auto plan = sp::hybrid_parts(lengths, 4096, 8);
    CHECK(plan == std::vector<Lists>{{{0}, {0}, {0}, {0}, {2}, {2}, {1}, {3}}});
    const sp::HybridBatch batch = sp::hybrid_batch(plan[0], List{9000, 4096, 4100, 1000});
    CHECK(batch.cu_seqlens == List{0, 9000, 13096, 17196, 18196});
    CHECK(batch.ranks == std::vector<int>{4, 1, 2, 1});
    CHECK(batch.first_rank == std::vector<int>{0, 6, 4, 7});
    CHECK(of_runs(batch.runs, 18196)[5] == moved(formula_a(4100, 2, 1), 13096));

    const Lists two{{1, 0}, {1}};  // sample 2 is in another micro batch
    const sp::HybridBatch some = sp::hybrid_batch(two, List{3, 4, 5});
    CHECK(some.cu_seqlens == List{0, 3, 7, 7});
    CHECK(some.first_rank == std::vector<int>{0, 0, -1});
    CHECK(of_runs(some.runs, 7) == Lists{{3, 6, 0, 1, 2}, {4, 5}});
}

TEST_CASE("what a plan of hybrid context parallelism refuses names the sample") {
    const List lengths{8, 100};
    const auto too_long = sp::status_of([&] { (void)sp::hybrid_parts(lengths, 8, 8); });
    CHECK(too_long == sp::make_status(sp::Kind::ranks, 0, 1, 16, 8));
    // Groups of 2 and 2 of 5 ranks: the fifth cannot double either.
    CHECK(sp::status_of([] { (void)sp::hybrid_parts(List{16, 16}, 8, 5); }).kind() == sp::Kind::ranks);
    const auto odd = sp::status_of([] { (void)sp::hybrid_batch(Lists{{0, 1}, {1}}, List{3, 6}); });
    CHECK(odd == sp::make_status(sp::Kind::document_multiple, 0, 1, 4, 6));
    CHECK(sp::status_of([] { (void)sp::hybrid_batch(Lists{{0}, {}, {0}}, List{4}); }).kind() == sp::Kind::plan);
    CHECK(sp::status_of([] { (void)sp::hybrid_batch(Lists{{0, 0}}, List{4}); }).kind() == sp::Kind::plan);
    CHECK(describe(sp::status_of([] {
              (void)sp::hybrid_batch(Lists{{0}, {5}}, List{4, 4});
          })) == "a sample of a plan is none, or its ranks are no neighbours: sample 5, rank 1, expected 1, got 5");
    CHECK(describe(too_long) == "too few ranks: sample 1, expected at least 16, got 8");
}
