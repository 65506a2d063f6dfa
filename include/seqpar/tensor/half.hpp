// bf16 and f16: 16-bit floats for hosts without a CUDA toolkit, and the conversion between numbers that every operation uses.
// Storage types: no arithmetic. Types of other libraries convert by static_cast.
#pragma once

#include <seqpar/detail/config.hpp>

#include <cuda/std/bit>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace seqpar {

namespace detail {

// A double rounded to `digits` significant bits (the hidden one counted) with exponents from `least` on, to nearest even, as
// bits of a 16-bit float with `digits - 1` mantissa bits. NaN keeps its sign and upper payload.
template <int Digits, int ExponentBits>
SEQPAR_HD constexpr std::uint16_t to_half_bits(double value) {
    constexpr int mantissa = Digits - 1;
    constexpr int bias = (1 << (ExponentBits - 1)) - 1;
    constexpr std::uint64_t infinity = ((std::uint64_t{1} << ExponentBits) - 1) << mantissa;
    const std::uint64_t bits = cuda::std::bit_cast<std::uint64_t>(value);
    const std::uint64_t sign = (bits >> 63) << 15;
    const int exponent = static_cast<int>((bits >> 52) & 0x7FF) - 1023;
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    if (exponent == 1024) {
        if (fraction == 0) return static_cast<std::uint16_t>(sign | infinity);
        return static_cast<std::uint16_t>(sign | infinity | (std::uint64_t{1} << (mantissa - 1)) |
                                          (fraction >> (52 - mantissa)));
    }
    if (exponent < -bias - mantissa) return static_cast<std::uint16_t>(sign);  // less than half of the least subnormal
    const std::uint64_t significand = fraction | (std::uint64_t{1} << 52);
    const int drop = 52 - mantissa + (exponent < 1 - bias ? 1 - bias - exponent : 0);
    std::uint64_t kept = significand >> drop;
    const std::uint64_t rest = significand & ((std::uint64_t{1} << drop) - 1);
    const std::uint64_t half = std::uint64_t{1} << (drop - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
    // The hidden bit of `kept` adds one to the exponent field, and a carry out of the mantissa one more.
    const std::uint64_t field = exponent < 1 - bias ? 0 : static_cast<std::uint64_t>(exponent + bias - 1);
    const std::uint64_t result = (field << mantissa) + kept;
    return static_cast<std::uint16_t>(sign | (result < infinity ? result : infinity));
}

// A number as a double that rounds on to 16 bits as the number itself does: where bits are lost, the last one kept is set.
template <class T>
SEQPAR_HD constexpr double to_sticky_double(T value) {
    if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
        const std::uint64_t size =
            value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
        if (size >> 53 == 0) return static_cast<double>(value);
        const double upper = static_cast<double>((size >> 11) | ((size & 0x7FF) != 0 ? 1u : 0u)) * 0x1p11;
        return value < 0 ? -upper : upper;
    } else if constexpr (sizeof(T) > 8) {  // long double
        const double nearest = static_cast<double>(value);
        if (value != value || static_cast<T>(nearest) == value) return nearest;
        const bool further = (static_cast<T>(nearest) > value) == (value > 0);
        return cuda::std::bit_cast<double>((cuda::std::bit_cast<std::uint64_t>(nearest) - (further ? 1 : 0)) | 1);
    } else {
        return static_cast<double>(value);
    }
}

}  // namespace detail

// bfloat16: the upper half of a float.
struct bf16 {
    std::uint16_t bits = 0;

    bf16() = default;
    template <class T>
    requires std::is_arithmetic_v<T> SEQPAR_HD constexpr explicit bf16(T value) : bits(round(value)) {}
    SEQPAR_HD constexpr explicit operator float() const {
        return cuda::std::bit_cast<float>(std::uint32_t{bits} << 16);
    }
    SEQPAR_HD static constexpr bf16 from_bits(std::uint16_t b) {
        bf16 result;
        result.bits = b;
        return result;
    }
    // By value, as IEEE numbers.
    friend SEQPAR_HD constexpr bool operator==(bf16 a, bf16 b) {
        return static_cast<float>(a) == static_cast<float>(b);
    }

private:
    SEQPAR_HD static constexpr std::uint16_t round(float value) {
        const std::uint32_t b = cuda::std::bit_cast<std::uint32_t>(value);
        if ((b & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>((b >> 16) | 0x40u);
        return static_cast<std::uint16_t>((b + 0x7FFFu + ((b >> 16) & 1u)) >> 16);
    }
    template <class T>
    SEQPAR_HD static constexpr std::uint16_t round(T value) {
        // Up to 24 bits a float holds the integer exactly; all else is rounded once, from double.
        if constexpr (std::is_integral_v<T> && sizeof(T) <= 2) {
            return round(static_cast<float>(value));
        } else {
            return detail::to_half_bits<8, 8>(detail::to_sticky_double(value));
        }
    }
};

// IEEE binary16.
struct f16 {
    std::uint16_t bits = 0;

    f16() = default;
    template <class T>
    requires std::is_arithmetic_v<T> SEQPAR_HD constexpr explicit f16(T value)
        : bits(detail::to_half_bits<11, 5>(detail::to_sticky_double(value))) {}
    SEQPAR_HD constexpr explicit operator float() const {
        const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
        const std::uint32_t rest = bits & 0x7FFFu;
        if (rest >= 0x7C00u) return cuda::std::bit_cast<float>(sign | 0x7F800000u | ((rest & 0x3FFu) << 13));
        if (rest >= 0x0400u) return cuda::std::bit_cast<float>(sign | ((rest + 0x1C000u) << 13));
        const float subnormal = static_cast<float>(rest) * 0x1p-24f;
        return cuda::std::bit_cast<float>(sign | cuda::std::bit_cast<std::uint32_t>(subnormal));
    }
    SEQPAR_HD static constexpr f16 from_bits(std::uint16_t b) {
        f16 result;
        result.bits = b;
        return result;
    }
    friend SEQPAR_HD constexpr bool operator==(f16 a, f16 b) { return static_cast<float>(a) == static_cast<float>(b); }
};

namespace detail {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, bf16> || std::is_same_v<T, f16>;
template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || is_half<T>;

}  // namespace detail

// One number as another type: exact, or rounded once to nearest even. Integers from floats truncate as static_cast does.
template <class To, class From>
[[nodiscard]] SEQPAR_HD constexpr To convert(const From& from) {
    if constexpr (std::is_same_v<To, From>) {
        return from;
    } else if constexpr (detail::is_half<From> && !std::is_same_v<To, float>) {
        return convert<To>(static_cast<float>(from));
    } else {
        return static_cast<To>(from);
    }
}

namespace detail {

// Whether convert<To>(value) loses nothing. A NaN is one in every floating type.
template <class To, class From>
constexpr bool converts_exactly(const From& value) {
    // Wide enough for every value of a 16-, 32- or 64-bit float.
    using Wide =
        std::conditional_t<std::is_same_v<To, long double> || std::is_same_v<From, long double>, long double, double>;
    if constexpr (std::is_same_v<To, From>) {
        return true;
    } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
        const To there = convert<To>(value);
        return convert<From>(there) == value &&
               (std::is_signed_v<To> == std::is_signed_v<From> || (there < To{1}) == (value < From{1}));
    } else if constexpr (std::is_integral_v<To>) {
        const Wide x = convert<Wide>(value);
        const Wide past = static_cast<Wide>((std::numeric_limits<To>::max)() / 2 + 1) * 2;
        return x >= static_cast<Wide>((std::numeric_limits<To>::min)()) && x < past &&
               static_cast<Wide>(static_cast<To>(x)) == x;
    } else if constexpr (std::is_integral_v<From>) {
        return converts_exactly<From>(convert<Wide>(convert<To>(value))) &&
               static_cast<From>(convert<Wide>(convert<To>(value))) == value;
    } else {
        const Wide x = convert<Wide>(value);
        const Wide y = convert<Wide>(convert<To>(value));
        return x == y || (x != x && y != y);
    }
}

}  // namespace detail

}  // namespace seqpar
