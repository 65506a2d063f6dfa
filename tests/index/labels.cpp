// shift_labels against a plain loop, and the faults that others published.
#include "exec.hpp"
#include "support.hpp"

#include <seqpar/index/gather.hpp>
#include <seqpar/index/labels.hpp>
#include <seqpar/index/padding.hpp>

using namespace test;

namespace {

// out[t] = in[t + by] where both lie in one document.
List naive(const List& ids, const List& cu, std::int64_t by, std::int64_t ignore) {
    List out(ids.size(), ignore);
    for (std::size_t d = 0; d + 1 < cu.size(); ++d) {
        for (std::int64_t t = cu[d]; t < cu[d + 1]; ++t) {
            // In 128 bits: `by` may be anything.
            const __int128 from = static_cast<__int128>(t) + by;
            if (from >= cu[d] && from < cu[d + 1])
                out[static_cast<std::size_t>(t)] = ids[static_cast<std::size_t>(from)];
        }
    }
    return out;
}

// Labels of a shard, by its positions, -100 in pads.
template <class L>
List shard_of(const List& labels, const L& layout, int rank) {
    std::vector<std::int32_t> index(static_cast<std::size_t>(layout.slots(rank)));
    sp::sources(thrust::seq, layout, rank, index);
    return gathered(labels, index, -100);
}

List shifted(const List& ids, const List& cu) {
    List labels(ids.size());
    sp::shift_labels(thrust::seq, ids, cu, 1, -100, labels);
    return labels;
}

}  // namespace

TEST_CASE("shift_labels is the plain loop, by any amount, with one document, with many and with none") {
    for_each_exec([](const auto& exec) {
        Random random(21);
        for (const std::int64_t units : {0, 1, 3, 20, 100, 9000}) {
            // The last is of many blocks, which begin inside documents.
            const List cu =
                units == 9000 ? List{0, 5, 30000, 30000, 30001, 70000} : random_offsets(random, 1, 9, units);
            List ids;
            for (std::int64_t i = 0; i < cu.back(); ++i)
                ids.push_back(random.once_in(5) ? -100 : random.between(0, 1000));
            for (const std::int64_t by :
                 {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{2}, std::int64_t{-3},
                  std::int64_t{17}, std::int64_t{-40}, cu.back(), -cu.back(), INT64_MAX, INT64_MIN}) {
                List out(ids.size(), -9);
                sp::shift_labels(exec, ids, cu, by, -100, out);
                REQUIRE(out == naive(ids, cu, by, -100));
                sp::shift_labels(exec, ids, by, -7, out);
                REQUIRE(out == naive(ids, {0, cu.back()}, by, -7));
            }
        }
    });
}

TEST_CASE("samples are shifted each for itself, in any strides and into a wider type") {
    Random random(22);
    for (int round = 0; round < 50; ++round) {
        const std::int64_t samples = random.between(1, 4);
        const List cu = random_offsets(random, 1, 5, 6);
        const std::int64_t length = cu.back();
        List ids;
        for (std::int64_t i = 0; i < samples * length; ++i)
            ids.push_back(i);
        const auto narrow = as<std::int32_t>(ids);
        const std::int64_t by = random.between(-3, 3);
        List out(ids.size(), -9), turned(ids.size(), -9);
        sp::shift_labels(thrust::seq, sp::tensor(narrow.data(), samples, length), cu, by, -100,
                         sp::tensor(out.data(), samples, length));
        sp::shift_labels(thrust::seq, sp::tensor(ids.data(), samples, length), cu, by, -100,
                         sp::tensor(turned.data(), {samples, length}, {1, samples}));
        for (std::int64_t b = 0; b < samples; ++b) {
            const auto expected = naive({ids.begin() + b * length, ids.begin() + (b + 1) * length}, cu, by, -100);
            REQUIRE(List(out.begin() + b * length, out.begin() + (b + 1) * length) == expected);
            for (std::int64_t t = 0; t < length; ++t) {
                REQUIRE(turned[static_cast<std::size_t>(t * samples + b)] == expected[static_cast<std::size_t>(t)]);
            }
        }
    }
}

TEST_CASE("the label of a slot is the next token of its document, whatever the layout: shift first, then split") {
    Random random(23);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for_each_layout(random, ranks, 5, 3, [&](const auto& layout) {
            const List cu = random_offsets(random, 1, 3, (layout.source_size() + 2) / 3);
            List documents{0};
            for (const std::int64_t offset : cu)
                documents.push_back(std::min(offset, layout.source_size()));
            documents.push_back(layout.source_size());
            const List ids = moved(range(0, layout.source_size()), 1000);
            const List labels = shifted(ids, documents);
            for (int rank = 0; rank < layout.ranks(); ++rank) {
                const List part = shard_of(labels, layout, rank);
                for (std::int64_t t = 0; t < layout.slots(rank); ++t) {
                    const std::int64_t source = layout.source(layout.position(rank, t));
                    std::int64_t expected = -100;
                    if (source >= 0 && std::find(documents.begin(), documents.end(), source + 1) == documents.end())
                        expected = 1000 + source + 1;
                    REQUIRE(part[static_cast<std::size_t>(t)] == expected);
                }
            }
        });
    }
}

TEST_CASE("nothing is written after a mistake in shift_labels, and the check gives the same Status") {
    const List ids{1, 2, 3, 4}, cu{0, 2, 4}, shorter{0, 2, 3};
    List out(4, -9), five(5, -9);
    const auto expect = [&](sp::Kind kind, auto call) {
        CHECK(refused(call).kind() == kind);
        CHECK(out == List(4, -9));
        CHECK(five == List(5, -9));
    };
    expect(sp::Kind::extent, [&](auto& exec) { sp::shift_labels(exec, ids, cu, 1, -100, five); });
    expect(sp::Kind::offsets_total, [&](auto& exec) { sp::shift_labels(exec, ids, shorter, 1, -100, out); });
    expect(sp::Kind::value_lost, [&](auto& exec) { sp::shift_labels(exec, ids, 1, 0.5, out); });
    std::vector<std::int32_t> narrow(4, 3), to(4, -9);
    const sp::Status lost = sp::status_of([&] { sp::shift_labels(thrust::seq, narrow, 1, std::int64_t{1} << 40, to); });
    CHECK(lost.kind() == sp::Kind::value_lost);
    CHECK(to == std::vector<std::int32_t>(4, -9));
    // In place it would read what it wrote.
    CHECK(sp::status_of([&] { sp::shift_labels(thrust::seq, narrow, 1, -100, narrow); }).kind() == sp::Kind::overlap);
    CHECK(sp::status_of([&] {
              sp::shift_labels(thrust::seq, sp::tensor(five.data(), 4), 1, -100, sp::tensor(five.data() + 1, 4));
          }).kind() == sp::Kind::overlap);
    CHECK(narrow == std::vector<std::int32_t>(4, 3));
}

namespace {
template <class In, class Out>
concept can_shift = requires(In in, Out out) { sp::shift_labels(thrust::seq, in, 1, -100, out); };
static_assert(can_shift<List, List> && can_shift<std::vector<std::int32_t>, List> &&
              can_shift<std::vector<float>, std::vector<float>>);
static_assert(!can_shift<List, std::vector<std::int32_t>>);
static_assert(!can_shift<List, std::vector<float>> && !can_shift<std::vector<float>, List>);
static_assert(!can_shift<List, const List> && !can_shift<List, sp::DenseView<std::int64_t, 2>>);
}  // namespace

TEST_CASE("labels_do_not_cross_the_real_end_of_a_padded_document") {  // case 23
    const List ids{10, 11, 12, 20, 21, 22, 23, 24}, real{0, 3, 8}, padded{0, 4, 12};
    const auto layout = sp::padded(sp::packed(sp::ZigZag{}, padded, 12, 2), real, padded, 8);
    const List labels = shifted(ids, real);
    CHECK(shard_of(labels, layout, 0) == List{11, -100, 21, 22, -100, -100});
    CHECK(shard_of(labels, layout, 1) == List{12, -100, 23, 24, -100, -100});
}

TEST_CASE("no_target_is_lost_at_the_end_of_a_shard") {  // case 51
    const auto layout = sp::ZigZag{}(8, 2);
    const List labels = shifted(range(1, 9), {0, 8});
    CHECK(shard_of(labels, layout, 0) == List{2, 3, 8, -100});
    CHECK(shard_of(labels, layout, 1) == List{4, 5, 6, 7});
}

TEST_CASE("labels_are_those_of_positions_not_of_neighbouring_slots") {  // case 52
    const List cu{0, 4, 12};
    const auto layout = sp::packed(sp::ZigZag{}, cu, 12, 2);
    const List labels = shifted(range(0, 12), cu);
    CHECK(shard_of(labels, layout, 0) == List{1, -100, 5, 6, 11, -100});
    CHECK(shard_of(labels, layout, 1) == List{2, 3, 7, 8, 9, 10});
    CHECK(std::count(labels.begin(), labels.end(), -100) == 2);
}

TEST_CASE("the_end_of_a_document_has_the_ignore_value_not_token_0") {  // case 53
    CHECK(shifted({5, 6, 7, 8, 9}, {0, 2, 5}) == List{6, -100, 8, 9, -100});
}

TEST_CASE("labels_are_split_as_the_tokens_are") {  // case 55
    const auto layout = sp::Contiguous{}(8, 2);
    const List labels = shifted(range(0, 8), {0, 8});
    CHECK(shard_of(labels, layout, 0) == List{1, 2, 3, 4});
    CHECK(shard_of(labels, layout, 1) == List{5, 6, 7, -100});
    List four(4, -9);
    CHECK(sp::status_of([&] { sp::shift_labels(thrust::seq, range(0, 8), 1, -100, four); }).kind() == sp::Kind::extent);
}

TEST_CASE("documents of one token and of none have no label to give") {
    CHECK(shifted({7, 8, 9}, {0, 0, 1, 1, 2, 3, 3, 3}) == List{-100, -100, -100});
}
