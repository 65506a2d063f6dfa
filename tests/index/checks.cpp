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
