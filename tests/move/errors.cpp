// Every mistake in a move that the host can see is an Error that says what was wrong, before anything is written.
#include "move/values.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/permuted.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>

#include <thrust/execution_policy.h>

using namespace seqpar;
using test::check_status;
using test::counted;
using test::error_of;
using test::List;

namespace {

const List x = counted(24);
constexpr std::int64_t untouched = -7;

// What shard says of `in` [2, 8] or other and `out`, all of which must stay as it was.
template <class L, class In, class A>
Status shard_error(const L& layout, int rank, const In& in, A axis, std::int64_t e0, std::int64_t e1) {
    List out(64, untouched);
    const Status status = error_of([&] { shard(thrust::seq, layout, rank, in, axis, tensor(out.data(), e0, e1)); });
    CHECK(out == List(64, untouched));
    return status;
}

}  // namespace

TEST_CASE("a rank outside the group") {
    const auto layout = ZigZag{}(8, 2);
    const auto in = tensor(x.data(), 2, 8);
    check_status(shard_error(layout, 2, in, axis<1>, 2, 4), Kind::rank, 0, 1, 2);
    check_status(shard_error(layout, -1, in, axis<1>, 2, 4), Kind::rank, 0, 1, -1);
}

TEST_CASE("a sequence axis that is not the layout's, in input and output, by positive and negative axis") {
    const auto layout = ZigZag{}(8, 2);
    check_status(shard_error(layout, 0, tensor(x.data(), 2, 7), axis<1>, 2, 4), Kind::axis_extent, 0, 8, 7, 1);
    check_status(shard_error(layout, 0, tensor(x.data(), 8, 2), axis<-1>, 8, 4), Kind::axis_extent, 0, 8, 2, 1);
    check_status(shard_error(layout, 0, tensor(x.data(), 2, 8), axis<-1>, 2, 3), Kind::axis_extent, 0, 4, 3, 1);
    check_status(shard_error(layout, 0, tensor(x.data(), 2, 8), axis<1>, 2, 5), Kind::axis_extent, 0, 4, 5, 1);
    check_status(shard_error(layout, 0, tensor(x.data(), 8, 2), axis<0>, 8, 2), Kind::axis_extent, 0, 4, 8, 0);
}

TEST_CASE("shapes that differ beside the sequence axis, and another number of axes") {
    const auto layout = ZigZag{}(8, 2);
    check_status(shard_error(layout, 0, tensor(x.data(), 2, 8), axis<1>, 3, 4), Kind::extent, 0, 2, 3, 0);
    check_status(shard_error(layout, 0, tensor(x.data(), 8, 2), axis<0>, 4, 3), Kind::extent, 0, 2, 3, 1);
    check_status(shard_error(layout, 0, tensor(x.data(), 1, 2, 8), axis<-1>, 2, 4), Kind::axes, 0, 3, 2);
}

TEST_CASE("a run-time axis that the array lacks") {
    const auto layout = ZigZag{}(8, 2);
    const auto in = tensor(x.data(), 2, 8);
    check_status(shard_error(layout, 0, in, RuntimeAxis{2}, 2, 4), Kind::axes, 0, 3, 2);
    check_status(shard_error(layout, 0, in, RuntimeAxis{-3}, 2, 4), Kind::axes, 0, 3, 2);
    CHECK(shard_error(layout, 0, in, RuntimeAxis{-3}, 2, 4).kind() == Kind::axes);
    List out(8);
    shard(thrust::seq, layout, 1, in, RuntimeAxis{-1}, tensor(out.data(), 2, 4));
    CHECK(out == List{2, 3, 4, 5, 10, 11, 12, 13});
}

TEST_CASE("run-time tensors: read-only, elements of another size or of no known one, too many axes, negative extents") {
    const auto layout = ZigZag{}(8, 2);
    List source = counted(8);
    List out(4, untouched);
    const ArrayRef in = array_ref(source);
    const ArrayRef good = array_ref(out);
    const auto error = [&](const ArrayRef& from, ArrayRef to) {
        return error_of([&] { shard(thrust::seq, layout, 0, from, axis<0>, to); });
    };
    ArrayRef bad = good;
    bad.read_only = true;
    check_status(error(in, bad), Kind::read_only, 0, 0, 1);
    bad = good;
    bad.element_bytes = 4;
    check_status(error(in, bad), Kind::element, 0, 8, 4);
    ArrayRef wide = in;
    for (int bytes : {0, -1, 17, 32}) {
        wide.element_bytes = bad.element_bytes = bytes;
        check_status(error(wide, bad), Kind::element, 0, 16, bytes);
    }
    ArrayRef deep = in;
    deep.axes = 9;
    bad = good;
    bad.axes = 9;
    check_status(error(deep, bad), Kind::axes, 0, 8, 9);
    deep.axes = bad.axes = 0;
    CHECK(error(deep, bad).kind() == Kind::axes);
    deep = in;
    bad = good;
    deep.axes = bad.axes = 2;
    deep.extents[1] = bad.extents[1] = -2;
    check_status(error(deep, bad), Kind::extent, 0, 0, -2, 1);
    // Read-only inputs are what inputs may be.
    ArrayRef frozen = in;
    frozen.read_only = true;
    CHECK(out == List(4, untouched));
    shard(thrust::seq, layout, 0, frozen, axis<0>, good);
    CHECK(out == List{0, 1, 6, 7});
}

TEST_CASE("an output that overlaps its input, or itself") {
    const auto layout = ZigZag{}(8, 2);
    List memory = counted(16);
    const List before = memory;
    const auto in = tensor(memory.data(), 8);
    const auto overlap = [&](auto out) { return error_of([&] { shard(thrust::seq, layout, 0, in, axis<0>, out); }); };
    check_status(overlap(tensor(memory.data(), 4)), Kind::overlap, 0, 0, 1);
    check_status(overlap(tensor(memory.data() + 7, 4)), Kind::overlap, 0, 0, 1);
    check_status(overlap(tensor(memory.data() + 10, {4}, {-1})), Kind::overlap, 0, 0, 1);  // ends at element 7
    check_status(overlap(tensor(memory.data() + 12, {4}, {0})), Kind::overlap, 0, 0, 1);
    CHECK(memory == before);
    // Beside it is legal, also backwards.
    CHECK(overlap(tensor(memory.data() + 11, {4}, {-1})).ok());
    CHECK(List(memory.begin() + 8, memory.begin() + 12) == List{7, 6, 1, 0});
    // More elements than there is room for: no stride is 0, yet elements share places.
    List small(7, untouched);
    const auto windows = tensor(small.data(), {4, 4}, {1, 1});
    check_status(error_of([&] { shard(thrust::seq, layout, 0, tensor(x.data(), 4, 8), axis<1>, windows); }),
                 Kind::overlap, 0, 0, 1);
    CHECK(small == List(7, untouched));
    // As an input both are legal: one value stands for many.
    List spread(8, untouched);
    shard(thrust::seq, layout, 0, tensor(x.data(), {2, 8}, {0, 1}), axis<1>, tensor(spread.data(), 2, 4));
    CHECK(spread == List{0, 1, 6, 7, 0, 1, 6, 7});
}

TEST_CASE("rows with gaps overlap their shard where a row is shared; columns between one another's are apart") {
    const auto layout = ZigZag{}(8, 2);
    List memory = counted(32);
    const List before = memory;
    const auto rows = [&](std::int64_t first, std::int64_t count) {
        return tensor(memory.data() + first, {count, 2}, {4, 1});
    };
    const auto overlap = [&](auto in, auto out) {
        return error_of([&] { shard(thrust::seq, layout, 0, in, axis<0>, out); });
    };
    check_status(overlap(rows(0, 8), rows(4, 4)), Kind::overlap, 0, 0, 1);  // moved by one row
    check_status(overlap(rows(0, 8), rows(1, 4)), Kind::overlap, 0, 0, 1);  // by one column
    check_status(overlap(rows(4, 7), rows(0, 4)), Kind::axis_extent, 0, 8, 7, 0);
    check_status(overlap(rows(0, 8), tensor(memory.data(), {4, 2}, {2, 1})), Kind::overlap, 0, 0, 1);
    CHECK(memory == before);
    CHECK(overlap(rows(0, 8), rows(2, 4)).ok());
    CHECK(List(memory.begin() + 4, memory.begin() + 16) == List{4, 5, 4, 5, 8, 9, 24, 25, 12, 13, 28, 29});
}

TEST_CASE("offsets that are wrong: first, order, last, a document that cannot be dealt out") {
    const auto in = tensor(x.data(), 12);
    const auto error = [&](const List& cu) {
        List out(6, untouched);
        const auto layout = packed(ZigZag{}, cu, 12, 2);
        const Status status = error_of([&] { shard(thrust::seq, layout, 0, in, axis<0>, out); });
        CHECK(out == List(6, untouched));
        List whole(12, untouched);
        CHECK(error_of([&] { unshard(thrust::seq, layout, joined(in), axis<0>, whole); }) == status);
        CHECK(error_of([&] { shard_adjoint(thrust::seq, layout, 0, out, axis<0>, whole); }) == status);
        CHECK(whole == List(12, untouched));
        return status;
    };
    check_status(error({1, 8, 12}), Kind::offsets_first, 0, 0, 1);
    check_status(error({0, 8, 4, 12}), Kind::offsets_order, 0, 8, 4, 0, 1);
    check_status(error({0, 8}), Kind::offsets_total, 0, 12, 8);
    check_status(error({0, 8, 16}), Kind::offsets_total, 0, 12, 16);
    check_status(error({}), Kind::offsets_count, 0, 2, 0);
    check_status(error({0, 6, 12}), Kind::document_multiple, 0, 4, 6, 0, 0);
    check_status(error({0, 8, 9, 12}), Kind::document_multiple, 0, 4, 1, 0, 1);
    List out(6);
    const List legal{0, 8, 8, 12, 12};
    shard(thrust::seq, packed(ZigZag{}, legal, 12, 2), 0, in, axis<0>, out);
    CHECK(out == List{0, 1, 6, 7, 8, 11});
}

TEST_CASE("a padded layout whose real offsets are longer, too few, or end elsewhere") {
    const List cu{0, 8, 12};
    const auto error = [&](const List& real, std::int64_t total) {
        List out(6, untouched);
        const auto layout = padded(packed(ZigZag{}, cu, 12, 2), real, cu, total);
        const Status status =
            error_of([&] { shard(thrust::seq, layout, 0, tensor(x.data(), total), axis<0>, out, 0); });
        CHECK(out == List(6, untouched));
        return status;
    };
    check_status(error({0, 7, 12}, 12), Kind::offsets_real, 0, 4, 5, 0, 1);
    check_status(error({0, 7}, 7), Kind::offsets_count, 1, 3, 2);
    check_status(error({0, 7, 10}, 9), Kind::offsets_total, 1, 9, 10);
}

TEST_CASE("a table of runs that is no bijection, and shards that an inner policy cannot deal out") {
    const Run runs[]{{0, 0, 4}, {5, 0, 3}};
    const std::int64_t rank_runs[]{0, 1, 2};
    const std::int64_t by_position[]{0, 1};
    const Permuted layout(RunTableView{runs, rank_runs, by_position, 2, 8, 2});
    check_status(shard_error(layout, 0, tensor(x.data(), 1, 8), axis<1>, 1, 4), Kind::table, 0, 4, 5, 1, 1);
    const auto thirds = nested(ZigZag{}(8, 2), Contiguous{}, 3);
    check_status(shard_error(thirds, 0, tensor(x.data(), 1, 8), axis<1>, 1, 4), Kind::multiple, 0, 3, 4);
    CHECK_THROWS_AS(static_cast<void>(ZigZag{}(6, 2)), Error);
}

TEST_CASE("a fill that the element type cannot hold exactly") {
    const List cu{0, 4};
    const List real{0, 3};
    const auto layout = padded(packed(ZigZag{}, cu, 4, 2), real, cu, 3);
    const auto error = [&]<class T>(T, const auto& fill) {
        const std::vector<T> in(3, T(1));
        std::vector<T> out(2, T(2));
        const Status status = error_of([&] { shard(thrust::seq, layout, 0, in, axis<0>, out, fill); });
        if (!status.ok()) CHECK((out == std::vector<T>(2, T(2))));
        if (status.ok()) CHECK(static_cast<double>(out[1]) == static_cast<double>(fill));
        return status;
    };
    check_status(error(std::uint8_t{}, -100), Kind::value_lost, 0, 0, -100);
    check_status(error(std::uint8_t{}, 256), Kind::value_lost, 0, 255, 256);
    check_status(error(std::int32_t{}, std::int64_t{1} << 40), Kind::value_lost, 0, 2147483647, std::int64_t{1} << 40);
    CHECK(error(std::int32_t{}, 0.5).kind() == Kind::value_lost);
    CHECK(error(float{}, 0.1).kind() == Kind::value_lost);
    CHECK(error(std::int8_t{}, -100).ok());
    CHECK(error(float{}, -100).ok());
    CHECK(error(double{}, 0.1f).ok());
    CHECK(error(std::int64_t{}, -100).ok());
}
