// Every move's check in the form that returns a Status: it says what the move would throw, and nothing is moved.
#include <seqpar/seqpar.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace sp = seqpar;

TEST_CASE("the check of a legal move is good and moves nothing") {
    const std::vector<std::int32_t> cu = {0, 8, 12};
    const std::vector<std::int32_t> real = {0, 7, 11};
    const auto layout = sp::packed(sp::ZigZag{}, cu, 12, 2);
    const auto pads = sp::padded(layout, real, cu, 11);
    const std::vector<int> x(12, 5);
    const std::vector<int> y(11, 5);
    std::vector<int> part(6, -1);
    std::vector<int> whole(12, -1);
    CHECK(sp::status_of([&] { sp::shard(sp::check_only, layout, 0, x, sp::axis<0>, part); }).ok());
    CHECK(sp::status_of([&] { sp::shard(sp::check_only, pads, 0, y, sp::axis<0>, part, 9); }).ok());
    CHECK(sp::status_of([&] { sp::shard_batch(sp::check_only, layout, 1, sp::field(x, sp::axis<0>, part)); }).ok());
    CHECK(sp::status_of([&] { sp::shard_adjoint(sp::check_only, layout, 0, part, sp::axis<0>, whole); }).ok());
    CHECK(sp::status_of([&] { sp::unshard_adjoint(sp::check_only, layout, 0, x, sp::axis<0>, part); }).ok());
    std::vector<int> gathered(12, 3);
    CHECK(sp::status_of([&] { sp::unshard(sp::check_only, layout, sp::joined(gathered), sp::axis<0>, whole); }).ok());
    CHECK(part == std::vector<int>(6, -1));
    CHECK(whole == std::vector<int>(12, -1));

    std::vector<float> hidden(12, 1.0F);
    std::vector<float> bank(4, 2.0F);
    const std::vector<std::int32_t> rows = {-1, 0, 1, -1, -1, -1};
    const auto h = sp::tensor(hidden.data(), 6, 2);
    const auto b = sp::tensor(bank.data(), 2, 2);
    CHECK(sp::status_of([&] { sp::VisionGather{}(sp::check_only, h, rows, b, h); }).ok());
    CHECK(sp::status_of([&] { sp::VisionGather{}.backward(sp::check_only, h, rows, h, b, sp::Store{}); }).ok());
    CHECK(hidden == std::vector<float>(12, 1.0F));
    CHECK(bank == std::vector<float>(4, 2.0F));
}

TEST_CASE("the check of an illegal move is the Status that the move throws") {
    const std::vector<std::int32_t> cu = {0, 6, 12};
    const auto broken = sp::packed(sp::ZigZag{}, cu, 12, 2);
    const auto layout = sp::ZigZag{}(12, 2);
    const std::vector<int> x(12, 5);
    std::vector<int> part(6, -1);
    std::vector<int> short_part(5, -1);
    std::vector<int> whole(12, -1);

    const sp::Status document = sp::status_of([&] { sp::shard(sp::check_only, broken, 0, x, sp::axis<0>, part); });
    CHECK(document.kind() == sp::Kind::document_multiple);
    CHECK(document == sp::status_of([&] { sp::shard(thrust::seq, broken, 0, x, sp::axis<0>, part); }));

    const sp::Status rank =
        sp::status_of([&] { sp::shard_batch(sp::check_only, layout, 2, sp::field(x, sp::axis<0>, part)); });
    CHECK(rank.kind() == sp::Kind::rank);
    CHECK(rank == sp::status_of([&] { sp::shard_batch(thrust::seq, layout, 2, sp::field(x, sp::axis<0>, part)); }));

    const sp::Status extent =
        sp::status_of([&] { sp::shard_adjoint(sp::check_only, layout, 0, short_part, sp::axis<0>, whole); });
    CHECK(extent.kind() == sp::Kind::axis_extent);
    CHECK(extent == sp::status_of([&] { sp::shard_adjoint(thrust::seq, layout, 0, short_part, sp::axis<0>, whole); }));
    CHECK(sp::status_of([&] { sp::unshard_adjoint(sp::check_only, layout, 0, x, sp::axis<0>, short_part); }).kind() ==
          sp::Kind::axis_extent);

    const sp::Status shards =
        sp::status_of([&] { sp::unshard(sp::check_only, layout, sp::shards(part), sp::axis<0>, whole); });
    CHECK(shards.kind() == sp::Kind::shard_count);
    CHECK(shards == sp::status_of([&] { sp::unshard(thrust::seq, layout, sp::shards(part), sp::axis<0>, whole); }));

    std::vector<float> hidden(12, 1.0F);
    std::vector<float> bank(4, 2.0F);
    const std::vector<std::int32_t> outside = {-1, 0, 2, -1, -1, -1};
    const std::vector<std::int32_t> twice = {-1, 0, 0, -1, -1, -1};
    const auto h = sp::tensor(hidden.data(), 6, 2);
    const auto b = sp::tensor(bank.data(), 2, 2);
    const sp::Status row = sp::status_of([&] { sp::VisionGather{}(sp::check_only, h, outside, b, h); });
    CHECK(row.kind() == sp::Kind::row_range);
    CHECK(row == sp::status_of([&] { sp::VisionGather{}(thrust::seq, h, outside, b, h); }));
    CHECK(sp::status_of([&] { sp::VisionGather{}.backward(sp::check_only, h, twice, h, b, sp::Store{}); }).kind() ==
          sp::Kind::row_reused);
}

TEST_CASE("offsets without an entry are an error, not a read before the array") {
    const sp::Offsets<std::int32_t> none;
    CHECK(sp::status_of([&] { (void)sp::valid_offsets(none, none, 2, 0, sp::Half::both); }).kind() ==
          sp::Kind::offsets_count);
    CHECK(sp::status_of([&] { (void)sp::half_slots(none, sp::Half::first); }).kind() == sp::Kind::offsets_count);
    CHECK(sp::status_of([&] { (void)sp::shard_offsets(none, 4, 2, 0); }).kind() == sp::Kind::offsets_count);
    CHECK(sp::status_of([&] { (void)sp::query_key_offsets(none, 4, 2, 0, true); }).kind() == sp::Kind::offsets_count);
}
