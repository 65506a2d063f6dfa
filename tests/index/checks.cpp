// Every index function and plan reports each broken rule as a Status too, by status_of: what has no exec here, what has one in
// its own file. Not here: which input is right.
#include "support.hpp"

#include <seqpar/seqpar.hpp>

using namespace test;

namespace {

template <class F>
sp::Kind kind_of(F call) {
    return sp::status_of([&] { (void)call(); }).kind();
}

const List cu{0, 8, 12};
const List falling{0, 8, 6};
const List odd{0, 6, 12};
const List three{0, 3};

}  // namespace

TEST_CASE("the offsets of attention kernels: each rule that an input breaks is a Status of its kind") {
    const auto valid = [](const List& real, const List& padded, int ranks, int rank) {
        return kind_of(
            [&] { return sp::valid_offsets(sp::offsets(real), sp::offsets(padded), ranks, rank, sp::Half::both); });
    };
    CHECK(valid(List{0, 7, 10}, cu, 2, 1) == sp::Kind::ok);
    CHECK(valid(List{0, 9, 12}, cu, 2, 1) == sp::Kind::offsets_real);
    CHECK(valid(List{0, 7}, cu, 2, 1) == sp::Kind::offsets_count);
    CHECK(valid(cu, cu, 2, 2) == sp::Kind::rank);
    CHECK(valid(cu, cu, 0, 0) == sp::Kind::ranks);
    CHECK(valid(odd, odd, 2, 0) == sp::Kind::document_multiple);
    CHECK(valid(falling, falling, 2, 0) == sp::Kind::offsets_order);
    CHECK(kind_of([&] { return sp::half_slots(sp::offsets(three), sp::Half::first); }) == sp::Kind::document_multiple);
    const auto both = [&](const List& offsets, std::int64_t total, int ranks, int rank) {
        const auto documents = sp::offsets(offsets);
        const sp::Kind kind = kind_of([&] { return sp::query_key_offsets(documents, total, ranks, rank, true); });
        const sp::Kind of_shard = kind_of([&] { return sp::shard_offsets(documents, total, ranks, rank); });
        CHECK((of_shard == kind ||
               (kind == sp::Kind::offsets_total && offsets.back() < total)));  // a tail is legal there
        return kind;
    };
    CHECK(both(cu, 12, 2, 1) == sp::Kind::ok);
    CHECK(both(cu, 14, 2, 1) == sp::Kind::offsets_total);
    CHECK(both(cu, 10, 2, 1) == sp::Kind::offsets_total);
    CHECK(both(falling, 6, 2, 1) == sp::Kind::offsets_order);
    CHECK(both(List{1, 12}, 12, 2, 1) == sp::Kind::offsets_first);
    CHECK(both(cu, 12, 5, 1) == sp::Kind::multiple);
    CHECK(both(cu, 12, 2, -1) == sp::Kind::rank);
    CHECK(both(cu, 12, 0, 0) == sp::Kind::ranks);
}

TEST_CASE("halos, relayouts and the work of a layout: each rule that an input breaks is a Status of its kind") {
    const auto layout = sp::packed(sp::ZigZag{}, cu, 12, 2);
    const auto illegal = sp::packed(sp::ZigZag{}, odd, 12, 2);
    const auto halo = [](const auto& of, int rank, std::int64_t window, const List& documents) {
        return kind_of([&] { return sp::halo_positions(of, rank, sp::Side::left, window, sp::offsets(documents)); });
    };
    CHECK(halo(layout, 0, 2, cu) == sp::Kind::ok);
    CHECK(halo(illegal, 0, 2, cu) == sp::Kind::document_multiple);
    CHECK(halo(layout, 2, 2, cu) == sp::Kind::rank);
    CHECK(halo(layout, 0, -1, cu) == sp::Kind::policy);
    CHECK(halo(layout, 0, 2, falling) == sp::Kind::offsets_order);
    CHECK(halo(layout, 0, 2, List{0, 13}) == sp::Kind::offsets_total);
    const auto relayout = [&](const auto& from, const auto& to, int rank) {
        return kind_of([&] { return sp::relayout(from, to, rank); });
    };
    CHECK(relayout(layout, illegal, 0) == sp::Kind::document_multiple);
    CHECK(relayout(illegal, layout, 0) == sp::Kind::document_multiple);
    CHECK(relayout(layout, sp::ZigZag{}(8, 2), 0) == sp::Kind::extent);
    CHECK(relayout(layout, sp::ZigZag{}(12, 3), 3) == sp::Kind::rank);
    const auto work = [](const auto& of, int rank, const List& documents) {
        return kind_of([&] { return sp::causal_work(of, rank, sp::offsets(documents)); });
    };
    CHECK(work(layout, 1, List{0, 8}) == sp::Kind::ok);
    CHECK(work(illegal, 0, cu) == sp::Kind::document_multiple);
    CHECK(work(layout, 2, cu) == sp::Kind::rank);
    CHECK(work(layout, 0, falling) == sp::Kind::offsets_order);
    CHECK(work(layout, 0, List{0, 13}) == sp::Kind::offsets_total);
}

TEST_CASE("plans: each rule that an input breaks is a Status of its kind") {
    const List work{3, 1, 2};
    const auto documents = sp::offsets(cu);
    CHECK(kind_of([&] { return sp::ptrr_parts(work, 2); }) == sp::Kind::multiple);
    CHECK(kind_of([&] { return sp::ptrr_parts(work, 0); }) == sp::Kind::ranks);
    CHECK(kind_of([&] { return sp::min_heap_parts(work, 0); }) == sp::Kind::ranks);
    CHECK(kind_of([] { return sp::sequential_parts(-1, 2); }) == sp::Kind::length);
    CHECK(kind_of([] { return sp::magi_chunk(0, 2); }) == sp::Kind::policy);
    CHECK(kind_of([] { return sp::magi_chunk(8, 0); }) == sp::Kind::ranks);
    CHECK(kind_of([&] { return sp::chunk_work(documents, 11, 2, sp::Mask::full); }) == sp::Kind::offsets_total);
    CHECK(kind_of([&] { return sp::chunk_work(documents, 12, 0, sp::Mask::full); }) == sp::Kind::policy);
    CHECK(kind_of([&] { return sp::key_blocks(documents, 11, 2); }) == sp::Kind::offsets_total);
    CHECK(kind_of([&] { return sp::key_blocks(documents, 12, 0); }) == sp::Kind::policy);
    CHECK(kind_of([] { return sp::block_runs({{0}, {1}}, 0, 2); }) == sp::Kind::policy);
    // A plan that leaves a block out, has one twice or one that there is not: the table says so.
    for (const sp::BlockParts& parts :
         {sp::BlockParts{{0}, {2}}, {{0, 1}, {1, 2}}, {{0, 1}, {2, 3}}, {{0, -1}, {1, 2}}})
        CHECK(kind_of([&] { return sp::RunTable(sp::block_runs(parts, 4, 12), 12).run_count(); }) == sp::Kind::table);
    CHECK(kind_of([] { return sp::customary_multiple(0, 1); }) == sp::Kind::ranks);
    CHECK(kind_of([] { return sp::block_multiple(2, 1, 0, sp::MatrixInput::cp_shard); }) == sp::Kind::policy);
    CHECK(kind_of([] { return sp::pad_multiple(sp::ZigZag{}, 2, 0); }) == sp::Kind::ranks);
    CHECK(kind_of([] { return sp::ranks_needed(8, 0, 2); }) == sp::Kind::policy);
    CHECK(kind_of([] { return sp::ranks_needed(-1, 8, 2); }) == sp::Kind::length);
}

TEST_CASE("a mask shorter than its ids is refused by all that read one, with its array named") {
    const auto rules = sp::placeholders({{7, 0}});
    const List ids{1, 7, 7, 2};
    const std::vector<char> valid(3, 1);
    const auto masked = sp::masked(ids, valid);
    const List item{0, 1, 2};
    const std::vector<sp::BankInfo> info{{2, sp::offsets(item)}};
    const auto layout = sp::ZigZag{}(8, 2);
    const List whole{0, 4};
    List out(4, -9);
    List begins(2, -9);
    std::vector<std::int32_t> rows(4, -9);
    const auto extent = [](int array) { return sp::make_status(sp::Kind::extent, array, 0, 4, 3); };
    CHECK(refused([&](auto& exec) { sp::build_rows(exec, masked, rules, rows); }) == extent(3));
    CHECK(refused([&](auto& exec) { sp::chunk_counts(exec, layout, 0, masked, rules, begins); }) == extent(3));
    CHECK(refused([&](auto& exec) { sp::rows_from_counts(exec, layout, 0, masked, rules, List(4), rows); }) ==
          extent(3));
    CHECK(refused([&](auto& exec) { sp::expand_rows(exec, masked, rules, info, out, rows); }) == extent(5));
    CHECK(refused([&](auto& exec) { sp::expanded_offsets(exec, masked, rules, info, whole, begins); }) == extent(5));
    CHECK(out == List(4, -9));
    CHECK(begins == List(2, -9));
    CHECK(rows == std::vector<std::int32_t>(4, -9));
}

TEST_CASE("bank numbers of another shape than the rows are refused where items are looked for") {
    const std::vector<std::int32_t> rows{-1, 0, 1}, banks{-1, 0};
    const List item{0, 2};
    CHECK(thrown([&] { (void)sp::item_spans(rows, banks, 0, item); }) == sp::make_status(sp::Kind::extent, 2, 0, 3, 2));
}

TEST_CASE("the offsets of an expanded stream are not written over what they are computed from") {
    const auto rules = sp::placeholders({{7, 0}});
    List ids{1, 7};
    List item{0, 3};
    const std::vector<sp::BankInfo> info{{3, sp::offsets(item)}};
    List documents{0, 2};
    const auto overlaps = [&](List& out) {
        const List before = out;
        CHECK(refused([&](auto& exec) { sp::expanded_offsets(exec, ids, rules, info, documents, out); }) ==
              sp::make_status(sp::Kind::overlap, 1, 0, 0, 1));
        CHECK(out == before);
    };
    overlaps(documents);
    overlaps(ids);
    overlaps(item);
    List out(2);
    sp::expanded_offsets(thrust::seq, ids, rules, info, documents, out);
    CHECK(out == List{0, 4});
}

TEST_CASE("chunks wider than the sequence, up to the greatest number, are one chunk") {
    for (const std::int64_t width : {std::int64_t{12}, std::int64_t{13}, INT64_MAX - 1, INT64_MAX}) {
        CHECK(sp::chunk_work(sp::offsets(cu), 12, width, sp::Mask::causal) == List{36 + 10});
        CHECK(sp::chunk_work(sp::offsets(cu), 12, width, sp::Mask::full) == List{64 + 16});
    }
    CHECK(sp::chunk_work(sp::offsets(cu), INT64_MAX, INT64_MAX / 2 + 1, sp::Mask::causal) == List{36 + 10, 0});
}

TEST_CASE("illegal offsets and layouts have no longest document, no padding and no number of chunks") {
    const List turns{0, 8, 4};
    const List none;
    CHECK(kind_of([&] { return sp::longest_document(turns); }) == sp::Kind::offsets_order);
    CHECK(kind_of([&] { return sp::longest_document(none); }) == sp::Kind::offsets_count);
    CHECK(kind_of([&] { return sp::has_padding(turns, turns); }) == sp::Kind::offsets_order);
    CHECK(kind_of([&] { return sp::has_padding(cu, turns); }) == sp::Kind::offsets_order);
    CHECK(kind_of([&] { return sp::has_padding(none, cu); }) == sp::Kind::offsets_count);
    CHECK(kind_of([&] { return sp::count_chunks(sp::packed(sp::ZigZag{}, odd, 12, 2), 0); }) ==
          sp::Kind::document_multiple);
    CHECK(kind_of([&] { return sp::count_chunks(sp::packed(sp::ZigZag{}, cu, 12, 2), 2); }) == sp::Kind::rank);
}
