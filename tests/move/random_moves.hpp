// One random case of every move, against the naive moves. The memory of an output is compared whole, so a byte written
// beside its elements is found, and that of an input too.
#pragma once

#include "move/arrays.hpp"
#include "move/layouts.hpp"

#include <seqpar/move/unshard.hpp>

#include <doctest/doctest.h>

#include <array>

namespace test {

using Fill = std::array<std::byte, 16>;

// Not in the templates below, which every layout compiles anew.
inline void require_ok(const seqpar::Status& status) { REQUIRE(status == seqpar::Status{}); }
inline void require_same(const std::vector<std::byte>& got, const std::vector<std::byte>& expected) {
    REQUIRE(got == expected);
}
inline void require_same_elements(Array& got, Array& expected) { REQUIRE(same_elements(got, expected)); }

// The fill as an element of `bytes` bytes: run-time tensors take a value of their element's size.
template <class F>
void with_fill_of(int bytes, const Fill& fill, F f) {
    const auto first = [&]<class T>(T value) {
        std::memcpy(&value, fill.data(), sizeof(T));
        f(value);
    };
    switch (bytes) {
        case 1: return first(std::uint8_t{});
        case 2: return first(std::uint16_t{});
        case 4: return first(std::uint32_t{});
        case 8: return first(std::uint64_t{});
        default: return first(Fill{});
    }
}

template <class D, seqpar::Layout L>
void shard_any(const D& exec, const L& layout, int rank, const ArrayRef& in, int axis, ArrayRef out, const Fill& fill) {
    if constexpr (seqpar::is_padded<L>) {
        with_fill_of(in.element_bytes, fill, [&](const auto& value) {
            seqpar::shard(exec, layout, rank, in, seqpar::RuntimeAxis{axis}, out, value);
        });
    } else {
        seqpar::shard(exec, layout, rank, in, seqpar::RuntimeAxis{axis}, out);
    }
}

// A shape with its sequence axis, some axes of length 0 or 1, few elements in all.
inline List random_shape(Random& random, std::int64_t length, int& axis) {
    const int axes = static_cast<int>(random.between(1, 4));
    axis = static_cast<int>(random.between(0, axes - 1));
    List shape;
    for (int i = 0; i < axes; ++i)
        shape.push_back(i == axis ? length : random.once_in(25) ? 0 : random.between(1, 4));
    return shape;
}

template <class D, seqpar::Layout L>
void check_moves(Random& random, const D& exec, const L& layout) {
    require_ok(seqpar::check(layout));
    int axis = 0;
    const List shape = random_shape(random, layout.source_size(), axis);
    const int bytes = std::array{1, 2, 4, 8, 16}[static_cast<std::size_t>(random.between(0, 4))];
    const bool any = !random.once_in(3);
    const int axis_as_given = random.once_in(2) ? axis : axis - static_cast<int>(shape.size());
    Fill fill{};
    for (std::byte& byte : fill)
        byte = static_cast<std::byte>(random.between(0, 255));
    CAPTURE(text_of(shape));
    CAPTURE(axis_as_given);
    CAPTURE(layout.ranks());
    Array whole = random_array(random, shape, bytes, any);
    const std::vector<std::byte> untouched = whole.memory;

    std::vector<Array> shards;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        List shard_shape = shape;
        shard_shape[static_cast<std::size_t>(axis)] = layout.slots(rank);
        Array out = random_array(random, shard_shape, bytes, any);
        Array expected = copy_of(out);
        naive_shard(layout, rank, whole, axis, expected, fill.data());
        shard_any(exec, layout, rank, whole.ref, axis_as_given, out.ref, fill);
        require_same(out.memory, expected.memory);
        shards.push_back(copy_of(out));
    }
    require_same(whole.memory, untouched);

    // Put together again, in an array with strides of its own.
    Array back = random_array(random, shape, bytes, any);
    Array expected = copy_of(back);
    for (int rank = 0; rank < layout.ranks(); ++rank)
        naive_unshard(layout, rank, shards[static_cast<std::size_t>(rank)], axis, expected);
    const auto shard_of = [&](int rank) -> const ArrayRef& { return shards[static_cast<std::size_t>(rank)].ref; };
    seqpar::unshard(exec, layout, seqpar::shards(shard_of), seqpar::RuntimeAxis{axis_as_given}, back.ref);
    require_same(back.memory, expected.memory);
    require_same_elements(back, whole);

    // The adjoint of one rank writes what that rank holds and nothing else.
    const int rank = static_cast<int>(random.between(0, layout.ranks() - 1));
    Array part = random_array(random, shape, bytes, any);
    Array expected_part = copy_of(part);
    naive_unshard(layout, rank, shards[static_cast<std::size_t>(rank)], axis, expected_part);
    seqpar::shard_adjoint(exec, layout, rank, shards[static_cast<std::size_t>(rank)].ref,
                          seqpar::RuntimeAxis{axis_as_given}, part.ref);
    require_same(part.memory, expected_part.memory);
}

}  // namespace test
