// The fill of pad slots as an element of the array. Not here: where it is written or read.
#pragma once

#include <seqpar/layout/status.hpp>
#include <seqpar/tensor/half.hpp>

namespace seqpar::detail {

// A number as the integer that a Status carries: towards zero, the nearest that there is; 0 for NaN.
template <class T>
constexpr std::int64_t status_number(const T& value) {
    if constexpr (std::is_integral_v<T>) {
        return std::is_unsigned_v<T> && sizeof(T) == 8 && value > static_cast<T>(INT64_MAX)
                   ? INT64_MAX
                   : static_cast<std::int64_t>(value);
    } else {
        const double x = convert<double>(value);
        if (x >= 0x1p63) return INT64_MAX;
        if (x < -0x1p63) return INT64_MIN;
        return x == x ? static_cast<std::int64_t>(x) : 0;
    }
}

// The fill as a T. It must convert exactly: 0 and -100 to bf16 do, -100 to an unsigned type does not.
template <class T, class F>
constexpr T fill_element(const F& fill, int array) {
    if constexpr (std::is_same_v<T, F>) {
        return fill;
    } else {
        static_assert(is_number<T> && is_number<F>,
                      "a fill must be of the array's element type, or a number that converts to it exactly");
        if (!converts_exactly<T>(fill)) {
            std::int64_t nearest = status_number(fill);
            if constexpr (std::is_integral_v<T>) {
                const std::int64_t most = status_number((std::numeric_limits<T>::max)());
                const std::int64_t least = status_number((std::numeric_limits<T>::min)());
                nearest = nearest > most ? most : nearest < least ? least : nearest;
            } else {
                nearest = status_number(convert<T>(fill));
            }
            require(make_status(Kind::value_lost, array, 0, nearest, status_number(fill)));
        }
        return convert<T>(fill);
    }
}

}  // namespace seqpar::detail
