// Types that tests make into tensors: as users would, and near misses.
#pragma once

#include <seqpar/tensor/array_ref.hpp>

#include <cuda/std/array>

#include <vector>

namespace test {

// Owns its elements, column-major; both views.
struct Columns {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::vector<float> values;

    Columns(std::int64_t r, std::int64_t c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
};

// Owns its elements, but has a view of the mutable one alone; looks like a container as well.
struct HalfDone {
    std::vector<float> values{1, 2, 3, 4, 5, 6};
    float* data() { return values.data(); }
    const float* data() const { return values.data(); }
    std::size_t size() const { return values.size(); }
};

// Owns its elements, but has a view of the const one alone.
struct ReadOnly {
    std::vector<float> values{1, 2, 3};
};

// A handle: copies are the same memory, so one view that writes is enough.
struct Handle {
    float* values = nullptr;
    std::int64_t length = 0;
};

// Known at run time.
struct Dynamic {
    seqpar::ArrayRef array;
};

// Near misses.
struct Untyped {
    void* data() const { return nullptr; }
    std::size_t size() const { return 0; }
};
struct Sizeless {
    int* data() const { return nullptr; }
};
struct Numbers {
    int data() const { return 0; }
    std::size_t size() const { return 0; }
};
struct WrongView {};

}  // namespace test

template <>
struct seqpar::tensor_traits<test::Columns> {
    static auto view(test::Columns& x) { return tensor(x.values.data(), {x.rows, x.columns}, {1, x.rows}); }
    static auto view(const test::Columns& x) { return tensor(x.values.data(), {x.rows, x.columns}, {1, x.rows}); }
};
template <>
struct seqpar::tensor_traits<test::HalfDone> {
    static auto view(test::HalfDone& x) { return tensor(x.values.data(), 2, 3); }
};
template <>
struct seqpar::tensor_traits<test::ReadOnly> {
    static auto view(const test::ReadOnly& x) { return tensor(x.values.data(), 3); }
};
template <>
struct seqpar::tensor_traits<test::Handle> {
    static auto view(const test::Handle& x) { return tensor(x.values, x.length); }
};
template <>
struct seqpar::tensor_traits<test::Dynamic> {
    static ArrayRef view(const test::Dynamic& x) { return x.array; }
};
template <>
struct seqpar::tensor_traits<test::WrongView> {
    static int view(const test::WrongView&) { return 0; }
};
