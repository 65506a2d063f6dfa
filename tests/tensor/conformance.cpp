// The conformance suite for tensors: what the library ships passes, and a type that breaks a law is told which.
#include "broken.hpp"
#include "tensor/types.hpp"

#include <seqpar/conformance/layout.hpp>  // both suites in one file
#include <seqpar/conformance/tensor.hpp>

#include <doctest/doctest.h>

#include <array>
#include <span>

using namespace seqpar;
using namespace seqpar::conformance;
using test::broken;

namespace {

// A matrix of 3 x 4 that gets one thing wrong.
enum class Fault { none, fresh_copy, const_copy, const_transposed, writable_const, overlapping, repeated, negative };

template <Fault F>
struct Matrix {
    std::vector<float> values = std::vector<float>(24);
    mutable std::vector<std::vector<float>> copies;
};

}  // namespace

template <Fault F>
struct seqpar::tensor_traits<Matrix<F>> {
    static StridedView<float, 2> view(Matrix<F>& x) {
        float* data = x.values.data();
        if (F == Fault::fresh_copy) data = x.copies.emplace_back(x.values).data();
        if (F == Fault::overlapping) return tensor(data, {3, 4}, {3, 1});
        if (F == Fault::repeated) return tensor(data, {3, 4}, {0, 1});
        if (F == Fault::negative) return tensor(data, {-3, 4}, {4, 1});
        return tensor(data, {3, 4}, {4, 1});
    }
    static auto view(const Matrix<F>& x) {
        auto* data = const_cast<float*>(x.values.data());
        if (F == Fault::fresh_copy || F == Fault::const_copy) data = x.copies.emplace_back(x.values).data();
        using Element = std::conditional_t<F == Fault::writable_const, float, const float>;
        if (F == Fault::overlapping) return tensor(static_cast<Element*>(data), {3, 4}, {3, 1});
        if (F == Fault::repeated) return tensor(static_cast<Element*>(data), {3, 4}, {0, 1});
        if (F == Fault::negative) return tensor(static_cast<Element*>(data), {-3, 4}, {4, 1});
        if (F == Fault::const_transposed) return tensor(static_cast<Element*>(data), {4, 3}, {1, 4});
        return tensor(static_cast<Element*>(data), {3, 4}, {4, 1});
    }
};

namespace {

template <Fault F>
Report report_of() {
    Matrix<F> x;
    return check_owning_tensor(x);
}

}  // namespace

TEST_CASE("containers, arrays, spans and mdspans keep every law") {
    std::vector<float> x(60);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(i);
    const std::vector<float> before = x;
    CHECK(broken(check_owning_tensor(x)) == "");
    std::array<std::int16_t, 7> array{};
    CHECK(broken(check_owning_tensor(array)) == "");
    double c_array[5] = {};
    CHECK(broken(check_owning_tensor(c_array)) == "");
    std::span<float> span(x);
    CHECK(broken(check_tensor_view(span)) == "");
    std::span<const float> constant(x);
    CHECK(broken(check_tensor_view(constant)) == "");
    auto dense = tensor(x.data(), 3, 4, 5);
    CHECK(broken(check_tensor_view(dense)) == "");
    auto strided = tensor(x.data() + 20, {3, 2, 4}, {-7, 21, 1});
    CHECK(broken(check_tensor_view(strided)) == "");
    auto none = tensor(x.data(), 3, 0);
    CHECK(broken(check_tensor_view(none)) == "");
    ArrayRef at_run_time = array_ref(strided);
    CHECK(broken(check_tensor_view(at_run_time)) == "");
    CHECK((x == before));  // elements are put back
}

TEST_CASE("foreign types keep every law") {
    test::Columns columns(4, 6);
    columns.values[5] = 7;
    CHECK(broken(check_owning_tensor(columns)) == "");
    CHECK(columns.values[5] == 7);
    CHECK(broken(check_owning_tensor(std::as_const(columns))) == "");
    test::Handle handle{columns.values.data(), 24};
    CHECK(broken(check_tensor_view(handle)) == "");
    const auto v = view(columns);
    test::Dynamic dynamic{array_ref(v)};
    CHECK(broken(check_tensor_view(dynamic)) == "");
}

TEST_CASE("each law that a type breaks is named") {
    CHECK(broken(report_of<Fault::none>()) == "");
    CHECK(report_of<Fault::fresh_copy>().law == Law::view_is_stable);
    CHECK(report_of<Fault::const_copy>().law == Law::const_view_agrees);
    CHECK(broken(report_of<Fault::const_transposed>()) ==
          "const_view_agrees is broken, axis 0: expected length 3, got 4");
    CHECK(report_of<Fault::writable_const>().law == Law::const_view_is_read_only);
    CHECK(broken(report_of<Fault::overlapping>()) == "elements_are_distinct is broken: expected bytes apart 4, got 0");
    CHECK(report_of<Fault::repeated>().law == Law::elements_are_distinct);
    CHECK(broken(report_of<Fault::negative>()) ==
          "extents_are_lengths is broken, axis 0: expected a length of at least 0, got -3");
    Matrix<Fault::writable_const> handle;  // legal for a view
    CHECK(broken(check_tensor_view(handle)) == "");
}

namespace {

// A layout that gives two slots one position: what the suite's moves would meet if shard or unshard went wrong.
struct Twice {
    std::int64_t length;
    constexpr std::int64_t size() const { return length; }
    constexpr std::int64_t source_size() const { return length; }
    constexpr int ranks() const { return 1; }
    constexpr std::int64_t slots(int) const { return length; }
    constexpr std::int64_t position(int, std::int64_t slot) const { return slot == 1 ? 0 : slot; }
    constexpr Place place(std::int64_t position) const { return {0, position}; }
    constexpr std::int64_t source(std::int64_t position) const { return position; }
    // Runs that do not agree with position, where told so.
    bool honest = true;
    constexpr Run run_at(int, std::int64_t slot) const { return {honest ? position(0, slot) : slot, slot, 1}; }
};

}  // namespace

TEST_CASE("a move that loses or misplaces an element breaks a law") {
    std::vector<int> x{1, 2, 3, 4};
    const ArrayRef a = array_ref(x);
    CHECK(conformance::detail::moves_agree(Twice{4, true}, a, a, 0).law == Law::unshard_restores);
    x = {1, 2, 3, 4};
    const Report report = conformance::detail::moves_agree(Twice{4, false}, a, a, 0);
    CHECK(report.law == Law::shard_agrees);
    CHECK(describe(report) == "shard_agrees is broken, ranks 1, axis 0, element 1: expected equal elements 1, got 0");
}
