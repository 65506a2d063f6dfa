// sharded(): the lazy shard is what shard() would materialise, for random layouts, axes and strides; and what it is otherwise.
#include "move/arrays.hpp"
#include "move/layouts.hpp"

#include <seqpar/tensor/sharded.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace seqpar;
using test::Array;
using test::List;
using test::Random;

namespace {

StridedView<std::int32_t, 3> as_view(const Array& a) { return as<std::int32_t, 3>(a.ref); }

// Element by element, by position and source alone.
template <Layout L, int A>
void check_axis(Random& random, const L& layout, Axis<A> axis) {
    List shape{random.between(1, 3), random.between(1, 3), random.between(1, 3)};
    const std::size_t k = static_cast<std::size_t>(axis_index(A, 3));
    shape[k] = layout.source_size();
    const Array whole = test::random_array(random, shape, 4, true, 4);
    const auto base = as_view(whole);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const auto lazy = [&] {
            if constexpr (is_padded<L>) {
                return sharded(base, layout, rank, axis, -100);
            } else {
                return sharded(base, layout, rank, axis);
            }
        }();
        List shard_shape = shape;
        shard_shape[k] = layout.slots(rank);
        bool same = true;
        for (std::size_t i = 0; i < 3; ++i)
            same = same && lazy.extent(i) == shard_shape[i];
        test::for_each_index(shard_shape, [&](const List& at) {
            List from = at;
            from[k] = layout.source(layout.position(rank, at[k]));
            const std::int32_t expected = from[k] < 0 ? -100 : base(from[0], from[1], from[2]);
            same = same && lazy(at[0], at[1], at[2]) == expected;
            if constexpr (!is_padded<L>) same = same && &lazy(at[0], at[1], at[2]) == &base(from[0], from[1], from[2]);
        });
        if (!same) FAIL("a lazy shard differs");
    }
}

template <Layout L>
void check_all_axes(Random& random, const L& layout) {
    check_axis(random, layout, axis<0>);
    check_axis(random, layout, axis<-2>);
    check_axis(random, layout, axis<2>);
}

}  // namespace

TEST_CASE("a lazy shard has the elements of the layout's sources, along any axis, of any strides") {
    Random random(901);
    for (int i = 0; i < 500; ++i) {
        test::with_free_layout(random, [&](const auto& layout) { check_all_axes(random, layout); });
        test::with_padded_layout(random, [&](const auto& layout) { check_all_axes(random, layout); });
    }
}

TEST_CASE("pad slots of an array that runs backwards: offset -1 is an element, not a pad") {
    const List cu{0, 8};
    const List real{0, 6};
    const auto layout = padded(Contiguous{}(8, 2), real, cu, 6);
    List memory{5, 4, 3, 2, 1, 0};
    const auto backwards = tensor(memory.data() + 5, {6}, {-1});
    List got;
    for (int rank = 0; rank < 2; ++rank) {
        const auto lazy = sharded(backwards, layout, rank, axis<0>, -7);
        for (std::int64_t slot = 0; slot < 4; ++slot)
            got.push_back(lazy(slot));
    }
    CHECK(got == List{0, 1, 2, 3, 4, 5, -7, -7});
}

TEST_CASE("a shard of a shard is again one: by two axes, and TP after CP equals the nested layout") {
    List values(8 * 6);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::int64_t>(i);
    const auto base = tensor(values.data(), 8, 6);
    const auto rows = sharded(base, ZigZag{}(8, 2), 1, axis<0>);
    const auto both = sharded(rows, Striped{1}(6, 3), 2, axis<1>);
    CHECK(both.extent(0) == 4);
    CHECK(both.extent(1) == 2);
    CHECK(both(0, 0) == 2 * 6 + 2);
    CHECK(both(3, 1) == 5 * 6 + 5);
    both(3, 1) = -1;
    CHECK(values[35] == -1);
    const auto cp = ZigZag{}(8, 2);
    for (int t = 0; t < 2; ++t) {
        const auto twice = sharded(sharded(base, cp, 1, axis<0>), Contiguous{}(4, 2), t, axis<0>);
        const auto nested_at_once = sharded(base, nested(cp, Contiguous{}, 2), 2 + t, axis<0>);
        for (std::int64_t i = 0; i < 2; ++i)
            CHECK(&twice(i, 3) == &nested_at_once(i, 3));
    }
    // A shard with pad slots split once more, by a layout with pad slots of its own.
    const List cu{0, 4};
    const List real{0, 3};
    const auto once = sharded(base, cp, 0, axis<0>);  // rows 0, 1, 6, 7
    const auto padded_rows = padded(Contiguous{}(4, 2), real, cu, 3);
    const auto first =
        sharded(sharded(tensor(values.data(), 3, 1), padded_rows, 1, axis<0>, -1), Contiguous{}(2, 2), 1, axis<0>);
    CHECK(first.extent(0) == 1);
    CHECK(first(0, 0) == -1);
    const List three{0, 4, 6};
    const List real_of_three{0, 2, 4};
    const auto pads_of_shard =
        sharded(once, padded(Contiguous{}(6, 2), real_of_three, three, 4), 1, axis<0>, -5);  // rows: - | 6 7
    CHECK(pads_of_shard(0, 0) == -5);
    CHECK(pads_of_shard(1, 0) == 36);
    CHECK(pads_of_shard(2, 5) == 47);
}

TEST_CASE("a shard of something const is const, and static extents beside the sequence axis stay") {
    const std::vector<float> values{1, 2, 3, 4};
    const auto shard = sharded(values, Contiguous{}(4, 2), 1, axis<0>);
    static_assert(std::is_const_v<decltype(shard)::element_type>);
    CHECK(&shard(0) == &values[2]);
    using Fixed = cuda::std::mdspan<int, cuda::std::extents<int, 4, 3>>;
    static_assert(decltype(sharded(std::declval<Fixed>(), Contiguous{}(4, 2), 0, axis<0>))::static_extent(1) == 3);
    static_assert(decltype(sharded(std::declval<Fixed>(), Contiguous{}(4, 2), 0, axis<0>))::static_extent(0) ==
                  cuda::std::dynamic_extent);
    static_assert(std::same_as<decltype(sharded(std::declval<Fixed>(), Contiguous{}(4, 2), 0, axis<0>))::index_type,
                               std::int64_t>);
}

namespace {

constexpr int third_of_rank_1() {
    int values[8] = {0, 10, 20, 30, 40, 50, 60, 70};
    return sharded(values, ZigZag{}(8, 2), 1, axis<0>)(2);
}
constexpr int pad_of_rank_0() {
    int values[3] = {1, 2, 3};
    const std::int64_t padded_offsets[2] = {0, 4};
    const std::int64_t real[2] = {0, 3};
    return sharded(values, padded(ZigZag{}(4, 2), offsets(real), offsets(padded_offsets), 3), 0, axis<0>, -9)(1);
}
static_assert(third_of_rank_1() == 40);
static_assert(pad_of_rank_0() == -9);

template <class F>
Status error_of(F call) {
    try {
        call();
    } catch (const Error& error) {
        return error.status();
    }
    return {};
}

}  // namespace

TEST_CASE("a rank outside the group, an axis of another length and a fill that does not fit are errors") {
    const std::vector<std::int8_t> values(7);
    CHECK(error_of([&] { static_cast<void>(sharded(values, Contiguous{}(8, 2), 0, axis<0>)); }) ==
          make_status(Kind::axis_extent, 0, 0, 8, 7, 0));
    CHECK(error_of([&] { static_cast<void>(sharded(tensor(values.data(), 1, 7), Contiguous{}(8, 2), 0, axis<-1>)); }) ==
          make_status(Kind::axis_extent, 0, 0, 8, 7, 1));
    CHECK(error_of([&] { static_cast<void>(sharded(values, UnevenContiguous{}(7, 2), 2, axis<0>)); }) ==
          make_status(Kind::rank, 0, 0, 1, 2));
    CHECK(error_of([&] { static_cast<void>(sharded(values, UnevenContiguous{}(7, 2), -1, axis<0>)); }) ==
          make_status(Kind::rank, 0, 0, 1, -1));
    const List cu{0, 8};
    const List real{0, 7};
    const auto layout = padded(Contiguous{}(8, 2), real, cu, 7);
    CHECK(sharded(values, layout, 1, axis<0>, -100)(3) == -100);
    CHECK(error_of([&] { static_cast<void>(sharded(values, layout, 1, axis<0>, 128)); }) ==
          make_status(Kind::value_lost, 0, 0, 127, 128));
    CHECK(error_of([&] { static_cast<void>(sharded(values, layout, 1, axis<0>, 0.5)); }).kind() == Kind::value_lost);
}

TEST_CASE("a padded shard of a padded shard: each fills its own pads") {
    // Ten values as documents of 7 and 3, padded to 8 and 4; those twelve as one of 12, padded to 16.
    const std::vector<std::int64_t> real{0, 7, 10}, once{0, 8, 12}, all{0, 12}, twice{0, 16};
    std::vector<int> x(10);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<int>(i);
    const auto inner = seqpar::padded(seqpar::Contiguous{}(12, 1), real, once, 10);
    const auto outer = seqpar::padded(seqpar::Contiguous{}(16, 1), all, twice, 12);
    const auto between = seqpar::sharded(seqpar::sharded(x, inner, 0, seqpar::axis<0>, -1), seqpar::Contiguous{}(12, 1),
                                         0, seqpar::axis<0>);
    const auto view = seqpar::sharded(between, outer, 0, seqpar::axis<0>, -2);
    const std::vector<int> expected{0, 1, 2, 3, 4, 5, 6, -1, 7, 8, 9, -1, -2, -2, -2, -2};
    for (std::int64_t i = 0; i < 16; ++i)
        CHECK(view(i) == expected[static_cast<std::size_t>(i)]);
}
