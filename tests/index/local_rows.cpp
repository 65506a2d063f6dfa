// chunk_counts and rows_from_counts: rows of tokens that arrive split are the rows of the whole stream, split.
#include "support.hpp"

#include <seqpar/index/gather.hpp>
#include <seqpar/index/local_rows.hpp>

using namespace test;

namespace {

using Ints = std::vector<std::int32_t>;

// What each rank holds of `values`, [B, source_size]; pads hold `fill`.
template <sp::Layout L, class T>
std::vector<T> local(const L& layout, int rank, const std::vector<T>& values, std::int64_t samples, T fill) {
    std::vector<std::int64_t> index(static_cast<std::size_t>(layout.slots(rank)));
    sp::sources(thrust::seq, layout, rank, index);
    std::vector<T> out;
    for (std::int64_t b = 0; b < samples; ++b) {
        for (const std::int64_t source : index)
            out.push_back(source < 0 ? fill : values[static_cast<std::size_t>(b * layout.source_size() + source)]);
    }
    return out;
}

template <class Exec, sp::Layout L>
void check_layout(const Exec& exec, Random& random, const L& layout) {
    const std::int64_t samples = random.between(1, 3);
    const auto rules = sp::placeholders({{100, 0}, {-200, 0}, {7, 2}}).base({5, 0, 11});
    std::vector<std::int64_t> ids;
    std::vector<char> valid;
    for (std::int64_t i = 0; i < samples * layout.source_size(); ++i) {
        const std::int64_t kind = random.between(0, 5);
        ids.push_back(kind == 0 ? 100 : kind == 1 ? -200 : kind == 2 ? 7 : 1);
        valid.push_back(random.once_in(8) ? 0 : 1);
    }
    Ints rows(ids.size()), banks(ids.size());
    sp::build_rows(thrust::seq,
                   sp::masked(sp::tensor(ids.data(), samples, layout.source_size()),
                              sp::tensor(valid.data(), samples, layout.source_size())),
                   rules, sp::tensor(rows.data(), samples, layout.source_size()),
                   sp::tensor(banks.data(), samples, layout.source_size()));
    const auto on_rank = [&](int rank, auto use) {
        // A pad that holds a placeholder is no vision token all the same.
        const auto local_ids = local(layout, rank, ids, samples, std::int64_t{100});
        const auto local_valid = local(layout, rank, valid, samples, char{1});
        use(sp::masked(sp::tensor(local_ids.data(), samples, layout.slots(rank)),
                       sp::tensor(local_valid.data(), samples, layout.slots(rank))));
    };
    List all_counts;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        on_rank(rank, [&](const auto& local_ids) {
            List counts(static_cast<std::size_t>(samples * sp::count_chunks(layout, rank) * 3), -9);
            sp::chunk_counts(exec, layout, rank, local_ids, rules, counts);
            all_counts.insert(all_counts.end(), counts.begin(), counts.end());
        });
    }
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        on_rank(rank, [&](const auto& local_ids) {
            Ints got_rows(static_cast<std::size_t>(samples * layout.slots(rank)), -9), got_banks(got_rows);
            const auto matrix = [&](Ints& memory) { return sp::tensor(memory.data(), samples, layout.slots(rank)); };
            sp::rows_from_counts(exec, layout, rank, local_ids, rules, all_counts, matrix(got_rows), matrix(got_banks));
            REQUIRE(got_rows == local(layout, rank, rows, samples, std::int32_t{-1}));
            REQUIRE(got_banks == local(layout, rank, banks, samples, std::int32_t{-1}));
        });
    }
}

}  // namespace

TEST_CASE("rows from counts are the rows of the whole stream, split, for every layout") {
    Random random(51);
    for (int round = 0; round < 6; ++round) {
        for (int ranks = 1; ranks <= 4; ++ranks)
            for_each_layout(random, ranks, 6, 3,
                            [&](const auto& layout) { check_layout(thrust::seq, random, layout); });
    }
}

TEST_CASE("rows from counts are the same under every exec") {
    Random random(52);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        const List cu = random_offsets(random, 6 * ranks, 6, 3);
        const List real = random_real_offsets(random, cu);
        const auto layout = sp::padded(sp::packed(sp::ZigZag{}, cu, cu.back(), ranks), real, cu, real.back());
        for_each_exec([&](const auto& exec) { check_layout(exec, random, layout); });
    }
}

TEST_CASE("two chunks a document and rank travel under zigzag, however long it is") {
    const List cu{0, 400, 800, 816};
    const auto layout = sp::packed(sp::ZigZag{}, cu, 816, 4);
    for (int rank = 0; rank < 4; ++rank)
        CHECK(sp::count_chunks(layout, rank) <= 6);
    CHECK(sp::count_chunks(layout, 0) == 6);
    CHECK(sp::count_chunks(sp::Contiguous{}(816, 4), 3) == 1);
    CHECK(sp::count_chunks(sp::Striped{}(816, 4), 3) == 204);
}

TEST_CASE("placeholders_of_a_shard_are_numbered_in_the_whole_stream") {  // cases 72 and 76
    // Tokens [1,9,9,9,9,2,3,4], zigzag over two ranks that were handed their own.
    const auto layout = sp::ZigZag{}(8, 2);
    const auto rules = sp::placeholders({{9, 0}});
    const std::vector<std::vector<std::int64_t>> ids{{1, 9, 3, 4}, {9, 9, 9, 2}};
    List counts;
    for (int rank = 0; rank < 2; ++rank) {
        List own(static_cast<std::size_t>(sp::count_chunks(layout, rank)));
        sp::chunk_counts(thrust::seq, layout, rank, ids[static_cast<std::size_t>(rank)], rules, own);
        counts.insert(counts.end(), own.begin(), own.end());
    }
    const std::vector<Ints> expected{{-1, 0, -1, -1}, {1, 2, 3, -1}};
    for (int rank = 0; rank < 2; ++rank) {
        Ints rows(4);
        sp::rows_from_counts(thrust::seq, layout, rank, ids[static_cast<std::size_t>(rank)], rules, counts, rows);
        CHECK(rows == expected[static_cast<std::size_t>(rank)]);
    }
    // Already split: the layout of the whole stream says how many tokens a rank has, so a second split, or none, is refused.
    const auto whole = sp::ZigZag{}(16, 2);
    List one(2);
    CHECK(thrown([&] { sp::chunk_counts(thrust::seq, whole, 0, ids[0], rules, one); }) ==
          sp::make_status(sp::Kind::axis_extent, 0, 0, 8, 4));
}

TEST_CASE("nothing is written after a mistake with local tokens") {
    const auto layout = sp::ZigZag{}(8, 2);
    const auto rules = sp::placeholders({{9, 0}});
    const std::vector<std::int64_t> ids{1, 9, 9, 9}, three{1, 9, 9};
    List counts(2, -9), four(4);
    Ints rows(4, -9);
    const auto expect = [&](const sp::Status& status, auto call) {
        CHECK(thrown(call) == status);
        CHECK(counts == List(2, -9));
        CHECK(rows == Ints(4, -9));
    };
    expect(sp::make_status(sp::Kind::axis_extent, 0, 0, 4, 3),
           [&] { sp::chunk_counts(thrust::seq, layout, 0, three, rules, counts); });
    expect(sp::make_status(sp::Kind::axis_extent, 1, 0, 2, 4),
           [&] { sp::chunk_counts(thrust::seq, layout, 0, ids, rules, four); });
    expect(sp::make_status(sp::Kind::rank, 0, 0, 1, 2),
           [&] { sp::chunk_counts(thrust::seq, layout, 2, ids, rules, counts); });
    // What would throw is a Status too, so that no rank leaves the all-gather between them.
    CHECK(sp::status_of([&] { sp::chunk_counts(sp::check_only, layout, 0, three, rules, counts); }) ==
          sp::make_status(sp::Kind::axis_extent, 0, 0, 4, 3));
    CHECK(sp::status_of([&] { sp::chunk_counts(sp::check_only, layout, 0, ids, rules, counts); }).ok());
    CHECK(sp::status_of([&] {
              sp::rows_from_counts(sp::check_only, layout, 0, ids, rules, List{1, 2}, rows);
          }).kind() == sp::Kind::extent);
    CHECK(sp::status_of([&] { sp::rows_from_counts(sp::check_only, layout, 0, ids, rules, List(4, 1), rows); }).ok());
    CHECK(counts == List(2, -9));
    CHECK(rows == Ints(4, -9));
    const auto from = [&](const List& all_counts) {
        return [&, all_counts] { sp::rows_from_counts(thrust::seq, layout, 0, ids, rules, all_counts, rows); };
    };
    // Rank 1's two chunks are neighbours, and count as two: what a rank's own counts of a shard would be is refused.
    const auto chunks = sp::count_chunks(layout, 0) + sp::count_chunks(layout, 1);
    expect(sp::make_status(sp::Kind::extent, 5, 0, chunks, 2), from({1, 2}));
    List all(static_cast<std::size_t>(chunks), 1);
    all[1] = -1;
    expect(sp::make_status(sp::Kind::length, 5, 1, 0, -1), from(all));
    all[1] = std::int64_t{1} << 31;
    CHECK(thrown(from(all)).kind() == sp::Kind::value_lost);
    CHECK(rows == Ints(4, -9));
}
