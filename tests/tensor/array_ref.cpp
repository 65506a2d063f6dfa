// ArrayRef: what strided and run-time tensors turn into, and as(), which turns it back after one check.
#include "tensor/types.hpp"

#include <seqpar/tensor/detail/memory.hpp>
#include <seqpar/tensor/half.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace seqpar;

namespace {

template <class F>
Status error_of(F call) {
    try {
        call();
    } catch (const Error& error) {
        return error.status();
    }
    return {};
}

void check_array(const ArrayRef& a, const void* data, int bytes, bool read_only, std::vector<std::int64_t> extents,
                 std::vector<std::int64_t> strides) {
    CHECK(a.data == data);
    CHECK(a.element_bytes == bytes);
    CHECK(a.read_only == read_only);
    CHECK((std::vector<std::int64_t>(a.extents, a.extents + a.axes) == extents));
    CHECK((std::vector<std::int64_t>(a.strides, a.strides + a.axes) == strides));
}

}  // namespace

TEST_CASE("the array of a tensor has its pointer, element size, extents and strides") {
    std::vector<double> x(24);
    check_array(array_ref(x), x.data(), 8, false, {24}, {1});
    check_array(array_ref(std::as_const(x)), x.data(), 8, true, {24}, {1});
    const auto dense = tensor(x.data(), 2, 3, 4);
    check_array(array_ref(dense), x.data(), 8, false, {2, 3, 4}, {12, 4, 1});
    const auto strided = tensor(x.data() + 3, {2, 2}, {-2, 7});
    check_array(array_ref(strided), x.data() + 3, 8, false, {2, 2}, {-2, 7});
    // Index types of every width, also unsigned ones.
    const cuda::std::mdspan<double, cuda::std::dextents<std::size_t, 2>, cuda::std::layout_left> left(x.data(), 4, 6);
    check_array(array_ref(left), x.data(), 8, false, {4, 6}, {1, 4});
    const cuda::std::mdspan<const double, cuda::std::extents<std::uint8_t, 4, cuda::std::dynamic_extent>> small(
        x.data(), 6);
    check_array(array_ref(small), x.data(), 8, true, {4, 6}, {6, 1});
    test::Columns columns(2, 3);
    check_array(array_ref(columns), columns.values.data(), 4, false, {2, 3}, {1, 2});
    check_array(array_ref(std::as_const(columns)), columns.values.data(), 4, true, {2, 3}, {1, 2});
    const test::Dynamic dynamic{array_ref(strided)};
    check_array(array_ref(dynamic), x.data() + 3, 8, false, {2, 2}, {-2, 7});
    bf16 three[3];
    check_array(array_ref(three), three, 2, false, {3}, {1});
    struct Odd {
        char bytes[3];
    };
    std::array<Odd, 2> odd{};
    check_array(array_ref(odd), odd.data(), 3, false, {2}, {1});
    StridedView<int, 8> eight(nullptr, StridedView<int, 8>::mapping_type());
    CHECK(array_ref(eight).axes == 8);
}

TEST_CASE("as<T, N> gives an mdspan after one check of axes, element size and permission") {
    std::vector<float> x{0, 1, 2, 3, 4, 5};
    const auto strided = tensor(x.data(), {3, 2}, {2, 1});
    const test::Dynamic dynamic{array_ref(strided)};
    const auto v = as<float, 2>(dynamic);
    static_assert(std::same_as<decltype(as<float, 2>(dynamic)), StridedView<float, 2>>);
    CHECK(v.extent(0) == 3);
    CHECK(v(2, 1) == 5);
    v(2, 1) = 9;
    CHECK(x[5] == 9);
    CHECK(as<const float, 2>(dynamic)(1, 0) == 2);
    CHECK(error_of([&] { static_cast<void>(as<float, 1>(dynamic)); }) == make_status(Kind::axes, 0, 0, 1, 2));
    CHECK(error_of([&] { static_cast<void>(as<float, 3>(dynamic)); }) == make_status(Kind::axes, 0, 0, 3, 2));
    CHECK(error_of([&] { static_cast<void>(as<double, 2>(dynamic)); }) == make_status(Kind::element, 0, 0, 8, 4));
    ArrayRef frozen = array_ref(dynamic);
    frozen.read_only = true;
    CHECK(error_of([&] { static_cast<void>(as<float, 2>(frozen)); }) == make_status(Kind::read_only, 0, 0, 0, 1));
    CHECK(as<const float, 2>(frozen)(2, 0) == 4);
}

TEST_CASE("whether an array is known to repeat an element: stride 0, or more elements than room") {
    int* const none = nullptr;
    const auto repeats = [](auto view) { return detail::repeats_memory(array_ref(view)); };
    CHECK(!repeats(tensor(none, {3, 4}, {4, 1})));
    CHECK(!repeats(tensor(none, {3, 4}, {1, 3})));
    CHECK(!repeats(tensor(none, {3, 4}, {-100, 7})));
    CHECK(!repeats(tensor(none, {1, 4}, {0, 1})));  // an axis of one entry
    CHECK(!repeats(tensor(none, {0, 4}, {0, 0})));  // nothing
    CHECK(repeats(tensor(none, {2, 4}, {0, 1})));
    CHECK(repeats(tensor(none, {4, 4}, {1, 1})));
    CHECK(repeats(tensor(none, {4, 4}, {1, -2})));
    CHECK(repeats(tensor(none, {INT64_MAX, INT64_MAX}, {0, 0})));
}

TEST_CASE("whether two arrays are known to share memory") {
    std::vector<int> memory(20);
    const auto shares = [&](auto a, auto b) {
        const bool both = detail::shares_memory(array_ref(a), array_ref(b));
        CHECK(both == detail::shares_memory(array_ref(b), array_ref(a)));
        return both;
    };
    int* const m = memory.data();
    CHECK(shares(tensor(m, 4), tensor(m, 4)));
    CHECK(shares(tensor(m, 4), tensor(m + 3, 4)));
    CHECK(!shares(tensor(m, 4), tensor(m + 4, 4)));
    CHECK(shares(tensor(m, 4), tensor(m + 6, {4}, {-1})));
    CHECK(!shares(tensor(m, 4), tensor(m + 7, {4}, {-1})));
    CHECK(shares(tensor(m, {2, 3}, {1, 2}), tensor(m + 5, 1)));
    CHECK(!shares(tensor(m, 0), tensor(m, 4)));
    // Interleaved columns share no element though their spans meet.
    CHECK(!shares(tensor(m, {5}, {2}), tensor(m + 1, {5}, {2})));
}
