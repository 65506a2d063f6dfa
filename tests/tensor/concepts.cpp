// What is a tensor, what may be written, which axes there are: positives and near misses, as static assertions.
#include "tensor/types.hpp"

#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/tensor/sharded.hpp>

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <string>

using namespace seqpar;

namespace {

// --- containers, spans, arrays ------------------------------------------------------------------------------------------
static_assert(WritableTensor<std::vector<int>> && WritableTensor<std::vector<int>&> &&
              WritableTensor<std::array<float, 4>>);
static_assert(StridedTensor<const std::vector<int>> && !WritableTensor<const std::vector<int>>);
static_assert(StridedTensor<const std::array<float, 4>&> && !WritableTensor<const std::array<float, 4>&>);
static_assert(WritableTensor<std::span<int>> && WritableTensor<const std::span<int>>);
static_assert(StridedTensor<std::span<const int>> && !WritableTensor<std::span<const int>>);
static_assert(WritableTensor<cuda::std::span<int>> && WritableTensor<cuda::std::array<int, 3>>);
static_assert(WritableTensor<int[5]> && StridedTensor<const int[5]> && !WritableTensor<const int[5]>);
static_assert(axes_of<std::vector<int>> == 1 && axes_of<int[5]> == 1);
static_assert(std::same_as<element_of<const std::vector<int>>, int>);

// --- mdspan of any layout, index type, static extents ---------------------------------------------------------------------
template <class E, class L>
using M = cuda::std::mdspan<double, E, L>;
static_assert(WritableTensor<M<cuda::std::dextents<int, 3>, cuda::std::layout_right>>);
static_assert(WritableTensor<M<cuda::std::dextents<std::int8_t, 2>, cuda::std::layout_left>>);
static_assert(WritableTensor<M<cuda::std::dextents<std::uint32_t, 2>, cuda::std::layout_stride>>);
static_assert(WritableTensor<M<cuda::std::dextents<std::size_t, 2>, cuda::std::layout_stride>>);
static_assert(WritableTensor<const M<cuda::std::extents<int, 4, 5>, cuda::std::layout_right>>);
static_assert(!WritableTensor<cuda::std::mdspan<const double, cuda::std::dextents<int, 1>>>);
static_assert(WritableTensor<DenseView<float, 3>> && WritableTensor<StridedView<float, 8>>);
static_assert(axes_of<M<cuda::std::extents<int, 4, 5>, cuda::std::layout_right>> == 2);
static_assert(std::same_as<
              view_of<M<cuda::std::extents<int, 4, cuda::std::dynamic_extent>, cuda::std::layout_left>>::extents_type,
              cuda::std::extents<std::int64_t, 4, cuda::std::dynamic_extent>>);

// --- foreign types --------------------------------------------------------------------------------------------------------
static_assert(WritableTensor<test::Columns> && StridedTensor<const test::Columns> &&
              !WritableTensor<const test::Columns>);
static_assert(axes_of<test::Columns> == 2);
static_assert(WritableTensor<test::Handle> && WritableTensor<const test::Handle> &&
              WritableTensor<const test::Handle&>);
// A view(const T&) alone makes an owning type a read-only one.
static_assert(StridedTensor<test::ReadOnly> && !WritableTensor<test::ReadOnly>);
// A view(T&) alone: the const one is no tensor, and not a flat container either.
static_assert(WritableTensor<test::HalfDone> && axes_of<test::HalfDone> == 2);
static_assert(!Tensor<const test::HalfDone>);
// Known at run time: what moves take, no tensor with a static type.
static_assert(RuntimeTensor<test::Dynamic> && RuntimeTensor<const test::Dynamic&> && !Tensor<test::Dynamic>);
static_assert(RuntimeTensor<ArrayRef> && RuntimeTensor<const ArrayRef&> && !Tensor<ArrayRef> &&
              !RuntimeTensor<std::vector<int>>);
static_assert(MovableTensor<ArrayRef> && MovableTensor<test::Dynamic> && MovableTensor<test::Columns> &&
              MovableTensor<std::vector<int>>);

// --- near misses ----------------------------------------------------------------------------------------------------------
static_assert(!Tensor<int> && !Tensor<int*> && !Tensor<std::unique_ptr<int[]>> && !Tensor<std::nullptr_t>);
static_assert(!Tensor<std::deque<int>> && !Tensor<std::list<int>> && !Tensor<std::vector<bool>>);
static_assert(!Tensor<int[2][3]> && !Tensor<int[]>);
static_assert(!Tensor<test::Untyped> && !Tensor<test::Sizeless> && !Tensor<test::Numbers>);
static_assert(!Tensor<test::WrongView> && !MovableTensor<test::WrongView>);
static_assert(!MovableTensor<int> && !MovableTensor<int*>);

// --- what outlives the expression -----------------------------------------------------------------------------------------
static_assert(BorrowedTensor<std::vector<int>&> && !BorrowedTensor<std::vector<int>> &&
              !BorrowedTensor<const std::vector<int>>);
static_assert(!BorrowedTensor<std::array<int, 3>> && !BorrowedTensor<test::Columns> && BorrowedTensor<test::Columns&>);
static_assert(BorrowedTensor<std::span<int>> && BorrowedTensor<std::span<const int>> &&
              BorrowedTensor<DenseView<int, 2>>);
static_assert(BorrowedTensor<test::Handle>);

// --- axes -----------------------------------------------------------------------------------------------------------------
template <int N, class T>
concept HasAxis = AxisOf<Axis<N>, T>;
static_assert(HasAxis<0, std::vector<int>> && HasAxis<-1, std::vector<int>>);
static_assert(!HasAxis<1, std::vector<int>> && !HasAxis<-2, std::vector<int>>);
static_assert(HasAxis<1, test::Columns> && HasAxis<-2, test::Columns> && !HasAxis<2, test::Columns> &&
              !HasAxis<-3, test::Columns>);
static_assert(HasAxis<7, StridedView<int, 8>> && HasAxis<-8, StridedView<int, 8>> && !HasAxis<8, StridedView<int, 8>>);
static_assert(!HasAxis<0, int> && !HasAxis<0, ArrayRef>);
static_assert(!AxisOf<RuntimeAxis, std::vector<int>> && !AxisOf<int, std::vector<int>>);
static_assert(AnyAxis<Axis<3>> && AnyAxis<RuntimeAxis> && !AnyAxis<int> && !AnyAxis<std::span<int>>);
static_assert(axis_index(1, 3) == 1 && axis_index(-1, 3) == 2 && axis_index(-3, 3) == 0);
static_assert(axis_index(3, 3) == -1 && axis_index(-4, 3) == -1 && axis_index(0, 0) == -1 &&
              axis_index(INT32_MIN, 3) == -1);
static_assert(std::is_empty_v<Axis<2>>);

// --- sharded: by axis, fill and lifetime -----------------------------------------------------------------------------------
template <class T, class L, int N>
concept Shards = requires(T&& x, const L& layout) {
    sharded(static_cast<T&&>(x), layout, 0, axis<N>);
};
template <class T, class L, int N>
concept ShardsWithFill = requires(T&& x, const L& layout) {
    sharded(static_cast<T&&>(x), layout, 0, axis<N>, 0);
};
using Whole = ZigZagLayout;
using WithPads = Padded<ZigZagLayout, std::int64_t, std::int64_t>;
static_assert(Shards<DenseView<int, 2>, Whole, 1> && Shards<DenseView<int, 2>, Whole, -2>);
static_assert(!Shards<DenseView<int, 2>, Whole, 2> && !Shards<DenseView<int, 2>, Whole, -3>);
static_assert(ShardsWithFill<DenseView<int, 2>, WithPads, 1> && !ShardsWithFill<DenseView<int, 2>, WithPads, 2>);
static_assert(!Shards<DenseView<int, 2>, WithPads, 1>);       // pad slots: a fill is needed
static_assert(!ShardsWithFill<DenseView<int, 2>, Whole, 1>);  // none: a fill is too much
static_assert(Shards<std::vector<int>&, Whole, 0> && Shards<const std::vector<int>&, Whole, 0>);
static_assert(!Shards<std::vector<int>, Whole, 0> && !ShardsWithFill<std::vector<int>, WithPads, 0>);
static_assert(!Shards<int*, Whole, 0> && !Shards<ArrayRef, Whole, 0> && !Shards<DenseView<int, 2>, int, 0>);

// A shard is a tensor, and not a strided one.
using ShardView = decltype(sharded(std::declval<DenseView<int, 2>>(), std::declval<Whole>(), 0, axis<1>));
using PaddedShardView = decltype(sharded(std::declval<DenseView<int, 2>>(), std::declval<WithPads>(), 0, axis<1>, 0));
static_assert(Tensor<ShardView> && !StridedTensor<ShardView> && !MovableTensor<ShardView>);
static_assert(Tensor<PaddedShardView> && !StridedTensor<PaddedShardView> &&
              std::is_const_v<PaddedShardView::element_type>);
static_assert(std::is_trivially_copyable_v<ShardView> && std::is_trivially_copyable_v<PaddedShardView>);

}  // namespace

TEST_CASE("a view is the tensor's own memory, with its shape and strides") {
    test::Columns x(2, 3);
    for (std::size_t i = 0; i < 6; ++i)
        x.values[i] = static_cast<float>(i);
    const auto v = view(x);
    CHECK(v.extent(0) == 2);
    CHECK(v.extent(1) == 3);
    CHECK(v(1, 2) == 5);
    CHECK(v(0, 1) == 2);
    v(1, 0) = 9;
    CHECK(x.values[1] == 9);
    CHECK(&view(std::as_const(x))(1, 0) == &x.values[1]);
    std::vector<int> flat{1, 2, 3};
    CHECK(&view(flat)(2) == &flat[2]);
    int array[3] = {4, 5, 6};
    CHECK(&view(array)(1) == &array[1]);
    CHECK(view(array).extent(0) == 3);
    std::string text = "ab";
    CHECK(view(text).extent(0) == 2);
    const auto dense = tensor(flat.data(), 1, 3);
    CHECK(dense.extent(0) == 1);
    CHECK(dense.stride(0) == 3);
}
