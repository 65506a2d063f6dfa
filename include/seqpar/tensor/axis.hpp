// Axis: which axis of an array is the sequence axis. As a type, so that an axis that a tensor lacks does not compile.
#pragma once

#include <seqpar/detail/config.hpp>

namespace seqpar {

// Axis N, counted from the end if negative: axis<1> of [B,S,H] is S, axis<-1> of [3,B,S] is S.
template <int N>
struct Axis {
    static constexpr int value = N;
};

template <int N>
inline constexpr Axis<N> axis{};

// The same for types that know their axes only at run time; checked where it is used.
struct RuntimeAxis {
    int value = 0;
};

template <class A>
concept AnyAxis = requires(const A& a) {
    int{a.value};
};

// An axis known at compile time.
template <class A>
inline constexpr bool is_fixed_axis = false;
template <int N>
inline constexpr bool is_fixed_axis<Axis<N>> = true;

// The axis counted from the front, or -1 where an array of `axes` axes has none such.
[[nodiscard]] SEQPAR_HD constexpr int axis_index(int value, int axes) {
    if (value < -axes || value >= axes) return -1;
    return value < 0 ? value + axes : value;
}

}  // namespace seqpar
