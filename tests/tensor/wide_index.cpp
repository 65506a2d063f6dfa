// Extents are widened to 64 bits before anything is multiplied: offsets of arrays that no machine need hold, and the faults
// that come of not doing so. No memory is touched.
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/detail/slot_copy.hpp>
#include <seqpar/tensor/sharded.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace seqpar;

namespace {

constexpr std::int64_t million = 1 << 20;

// The offset of an element in the canonical view of an mdspan with extents of type I.
template <class I, class L, class... At>
std::int64_t offset(const cuda::std::dextents<I, 3>& extents, At... at) {
    const cuda::std::mdspan<char, cuda::std::dextents<I, 3>, L> m(nullptr, extents);
    return static_cast<std::int64_t>(view(m).mapping()(at...));
}

}  // namespace

TEST_CASE("fault 37: the element offset of a packed row leaves 32 bits and is right") {
    // cu 0, 1048576, 1048580, 16 heads of 128: each factor fits an int, the product does not.
    const cuda::std::dextents<int, 3> extents(1048580, 16, 128);
    CHECK(offset<int, cuda::std::layout_right>(extents, 1048576, 0, 0) == 2147483648);
    CHECK(offset<int, cuda::std::layout_right>(extents, 1048579, 15, 127) == std::int64_t{1048580} * 16 * 128 - 1);
    CHECK(offset<int, cuda::std::layout_left>(extents, 1048576, 15, 127) ==
          1048576 + std::int64_t{1048580} * (15 + 16 * 127));
    const cuda::std::dextents<unsigned, 3> unsigned_extents(1 << 20, 1 << 20, 1 << 20);
    CHECK(offset<unsigned, cuda::std::layout_right>(unsigned_extents, million - 1, million - 1, million - 1) ==
          (std::int64_t{1} << 60) - 1);
    const cuda::std::dextents<short, 3> short_extents(30000, 30000, 30000);
    CHECK(offset<short, cuda::std::layout_right>(short_extents, 29999, 29999, 29999) ==
          std::int64_t{27000} * 1000000000 - 1);
}

TEST_CASE("strides of an mdspan with 32-bit extents are the 64-bit ones") {
    const cuda::std::mdspan<float, cuda::std::dextents<int, 3>> m(nullptr, 4, 1 << 20, 1 << 16);
    const auto wide = view(m);
    CHECK(wide.stride(0) == std::int64_t{1} << 36);
    CHECK(wide.extent(1) == million);
    const ArrayRef a = array_ref(m);
    CHECK(a.strides[0] == std::int64_t{1} << 36);
    CHECK(span_elements(a) == std::int64_t{4} << 36);
    // With strides of their own.
    using Mapping = cuda::std::layout_stride::mapping<cuda::std::dextents<int, 2>>;
    const cuda::std::mdspan<float, cuda::std::dextents<int, 2>, cuda::std::layout_stride> s(
        nullptr, Mapping(cuda::std::dextents<int, 2>(1 << 16, 1 << 16), cuda::std::array<int, 2>{1 << 16, 1}));
    CHECK(static_cast<std::int64_t>(view(s).mapping()(65535, 65535)) == (std::int64_t{1} << 32) - 1);
}

TEST_CASE("a shard of an array beyond 32 bits maps to the right element") {
    const cuda::std::mdspan<char, cuda::std::dextents<int, 2>> m(nullptr, 1 << 20, 1 << 16);
    const auto shard = sharded(m, ZigZag{}(million, 2), 1, axis<0>);
    CHECK(static_cast<std::int64_t>(shard.mapping()(0, 0)) == (million / 4) << 16);
    CHECK(static_cast<std::int64_t>(shard.mapping()(million / 2 - 1, 65535)) == ((3 * million / 4) << 16) - 1);
    // 2^33 positions, 8 bytes each.
    const std::int64_t length = std::int64_t{1} << 33;
    const auto far = sharded(tensor(static_cast<double*>(nullptr), length), ZigZag{}(length, 2), 0, axis<0>);
    CHECK(static_cast<std::int64_t>(far.mapping()(length / 2 - 1)) == length - 1);
}

TEST_CASE("fault 39: byte offsets of a move are formed in 64 bits") {
    ArrayRef whole;
    whole.element_bytes = 4;
    whole.axes = 2;
    whole.extents[0] = 8;
    whole.extents[1] = std::int64_t{1} << 31;
    whole.strides[0] = std::int64_t{1} << 31;
    whole.strides[1] = 1;
    ArrayRef shard = whole;
    shard.extents[0] = 4;
    const detail::SlotCopy copy = detail::slot_copy(whole, shard, 0);
    CHECK(copy.whole.stride == std::int64_t{1} << 33);
    CHECK(copy.part == std::int64_t{1} << 33);
    const detail::SlotCopy columns = detail::slot_copy(whole, whole, 1);
    CHECK(columns.extents[0] == 8);
    CHECK(columns.whole.strides[0] == std::int64_t{1} << 33);
}

TEST_CASE("fault 106: the span of a strided view is one more than the sum of (extent-1)*stride") {
    const auto span = [](auto view) { return span_elements(array_ref(view)); };
    int* const none = nullptr;
    CHECK(span(tensor(none, {2, 3}, {5, 1})) == 8);
    CHECK(span(tensor(none, {2, 3}, {-5, 1})) == 8);
    CHECK(span(tensor(none, {2, 3}, {0, 0})) == 1);
    CHECK(span(tensor(none, {2, 0}, {5, 1})) == 0);
    CHECK(span(tensor(none, {1}, {100})) == 1);
    // What does not fit 64 bits is -1, not a small number.
    CHECK(span(tensor(none, {3, 3}, {INT64_MAX / 2, 1})) == -1);
    CHECK(span(tensor(none, {2, 2}, {INT64_MAX - 1, 2})) == -1);
    CHECK(span(tensor(none, {2, 2}, {INT64_MIN, 1})) == -1);
    CHECK(span(tensor(none, {INT64_MAX, 2}, {2, 1})) == -1);
    CHECK(span(tensor(none, {INT64_MAX, 1}, {1, 1})) == INT64_MAX);
    CHECK(span(tensor(none, {INT64_MAX, 2}, {1, 1})) == -1);
    CHECK(span(tensor(none, {INT64_MAX, 0}, {INT64_MAX, 1})) == 0);
}
