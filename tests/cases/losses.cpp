// Faults reported in public against projects that do this job, as far as labels and the counts that a loss is divided by can
// have them: each test is named after what it shows. Not here: those that tests/index has already.
#include "layout/lists.hpp"

#include <seqpar/index/labels.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/shard.hpp>

#include <doctest/doctest.h>

#include <thrust/execution_policy.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace sp = seqpar;
using test::List;
using test::Lists;

namespace {

constexpr std::int64_t ignore = -100;

template <sp::Layout L>
Lists split(const L& layout, const List& whole, std::int64_t fill = ignore) {
    Lists shards;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        List& out = shards.emplace_back(static_cast<std::size_t>(layout.slots(rank)));
        if constexpr (sp::is_padded<L>) {
            sp::shard(thrust::seq, layout, rank, whole, sp::axis<0>, out, fill);
        } else {
            sp::shard(thrust::seq, layout, rank, whole, sp::axis<0>, out);
        }
    }
    return shards;
}

List counts(const Lists& shards) {
    List list;
    for (const List& shard : shards)
        list.push_back(sp::count_targets(shard, ignore));
    return list;
}
std::int64_t sum(const List& list) { return std::accumulate(list.begin(), list.end(), std::int64_t{0}); }

}  // namespace

TEST_CASE("no_token_is_counted_once_a_rank") {  // case 56
    List labels(8, ignore);
    List losses(8, 0);
    for (const auto& [token, loss] : {std::pair{4, 2}, std::pair{5, 4}, std::pair{6, 9}}) {
        labels[static_cast<std::size_t>(token)] = token;
        losses[static_cast<std::size_t>(token)] = loss;
    }
    const auto layout = sp::ZigZag{}(8, 2);
    const Lists shards = split(layout, labels);
    CHECK(shards == Lists{{ignore, ignore, 6, ignore}, {ignore, ignore, 4, 5}});
    const Lists of_rank = split(layout, losses);
    CHECK(sum(of_rank[0]) + sum(of_rank[1]) == 15);
    CHECK(sum(counts(shards)) == sp::count_targets(labels, ignore));
    CHECK(15 / sum(counts(shards)) == 5);
}

TEST_CASE("the_count_of_one_rank_is_not_that_of_the_group") {  // case 57
    List labels(8, ignore);
    labels[4] = labels[5] = labels[6] = 1;
    CHECK(counts(split(sp::ZigZag{}(8, 2), labels)) == List{1, 2});
    CHECK(sum(counts(split(sp::ZigZag{}(8, 2), labels))) == 3);
}

TEST_CASE("a_rank_of_pads_counts_0_and_holds_the_fill_instead_of_a_loss") {  // case 59; the division is the trainer's
    const List real{0, 4};
    const List padded{0, 16};
    const auto layout = sp::padded(sp::ZigZag{}(16, 2), real, padded, 4);
    const List labels{7, 8, ignore, 9};
    CHECK(counts(split(layout, labels)) == List{3, 0});
    CHECK(split(layout, List{2, 3, 0, 4}, 0) == Lists{{2, 3, 0, 4, 0, 0, 0, 0}, List(8, 0)});
}

TEST_CASE("a_masked_sample_adds_no_phantom_token") {  // case 60
    const List labels{1, 2, 3, 4, ignore, ignore, ignore, ignore};
    CHECK(sp::count_targets(sp::tensor(labels.data(), 2, 4), ignore) == 4);
    CHECK(sp::count_targets(sp::tensor(labels.data() + 4, 4), ignore) == 0);
    CHECK(sp::count_targets(labels, ignore) == 4);
}

TEST_CASE("supervised_targets_are_the_lengths_less_one_under_every_split") {  // F8
    const List real{0, 3, 3, 4, 11};
    const List padded{0, 4, 4, 8, 16};
    List labels(11);
    sp::shift_labels(thrust::seq, test::range(0, 11), real, 1, ignore, labels);
    CHECK(sp::count_targets(labels, ignore) == 2 + 0 + 0 + 6);
    for (const int ranks : {1, 2}) {
        const auto layout = sp::padded(sp::packed(sp::ZigZag{}, padded, 16, ranks), real, padded, 11);
        CHECK(sum(counts(split(layout, labels))) == 8);
    }
}

// --- what trainers put at a document's end instead of an ignore value ---------------------------------------------------

TEST_CASE("labels that wrap or repeat are the plain loop, by any amount, over documents of any length") {
    const List cu{0, 1, 1, 4, 9, 11};
    const List ids = test::range(100, 111);
    for (const std::int64_t by : {-12, -5, -3, -1, 0, 1, 2, 4, 5, 7, 11, 30}) {
        CAPTURE(by);
        List wrapped(11);
        List repeated(11);
        for (std::size_t d = 0; d + 1 < cu.size(); ++d) {
            const std::int64_t length = cu[d + 1] - cu[d];
            for (std::int64_t i = 0; i < length; ++i) {
                const auto at = static_cast<std::size_t>(cu[d] + i);
                wrapped[at] = ids[static_cast<std::size_t>(cu[d] + ((i + by) % length + length) % length)];
                repeated[at] = ids[static_cast<std::size_t>(cu[d] + std::clamp<std::int64_t>(i + by, 0, length - 1))];
            }
        }
        List out(11, -1);
        sp::shift_labels(thrust::seq, ids, cu, by, sp::DocumentEnd::wrap, out);
        CHECK(out == wrapped);
        sp::shift_labels(thrust::seq, ids, cu, by, sp::DocumentEnd::repeat, out);
        CHECK(out == repeated);
    }
    for (const std::int64_t by : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
        List out(11, -1);
        sp::shift_labels(thrust::seq, ids, by, sp::DocumentEnd::repeat, out);
        CHECK(out == List(11, by < 0 ? 100 : 110));
        sp::shift_labels(thrust::seq, ids, by, sp::DocumentEnd::wrap, out);
        CHECK(out[0] == 100 + (by % 11 + 11) % 11);
    }
}

TEST_CASE("samples wrap each for itself, whatever their strides") {
    const List ids{1, 2, 3, 4, 5, 6};
    List out(12, -1);
    const auto every_second = sp::tensor(out.data(), {2, 3}, {6, 2});
    sp::shift_labels(thrust::seq, sp::tensor(ids.data(), 2, 3), 1, sp::DocumentEnd::wrap, every_second);
    CHECK(out == List{2, -1, 3, -1, 1, -1, 5, -1, 6, -1, 4, -1});
}
