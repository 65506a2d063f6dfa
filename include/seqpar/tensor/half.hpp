// bf16, f16, f8e4m3 and f8e5m2: short floats for hosts without a CUDA toolkit, and the conversion between numbers that every
// operation uses. Storage types: no arithmetic. Types of other libraries convert by static_cast.
#pragma once

#include <seqpar/detail/config.hpp>

#include <cuda/std/bit>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace seqpar {

namespace detail {

// A double rounded to `Digits` significant bits (the hidden one counted), to nearest even, as bits of a float with `Digits - 1`
// mantissa bits. NaN keeps its sign and upper payload. Without infinity, what is too large is NaN: all bits but the sign.
template <int Digits, int ExponentBits, bool HasInfinity = true>
SEQPAR_HD constexpr std::uint16_t to_short_bits(double value) {
    constexpr int mantissa = Digits - 1;
    constexpr int bias = (1 << (ExponentBits - 1)) - 1;
    constexpr std::uint64_t infinity = ((std::uint64_t{1} << (ExponentBits + (HasInfinity ? 0 : mantissa))) - 1)
                                       << (HasInfinity ? mantissa : 0);
    const std::uint64_t bits = cuda::std::bit_cast<std::uint64_t>(value);
    const std::uint64_t sign = (bits >> 63) << (ExponentBits + mantissa);
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

// A number as a double that rounds on to 16 bits or 8 as the number itself does: where bits are lost, the last one kept is set.
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
        requires std::is_arithmetic_v<T>
    SEQPAR_HD constexpr explicit bf16(T value) : bits(round(value)) {}
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
        const std::uint32_t rounded = b + 0x7FFFu + ((b >> 16) & 1u);
        return static_cast<std::uint16_t>(((b & 0x7FFFFFFFu) > 0x7F800000u ? b | 0x400000u : rounded) >> 16);
    }
    template <class T>
    SEQPAR_HD static constexpr std::uint16_t round(T value) {
        // Up to 24 bits a float holds the integer exactly; all else is rounded once, from double.
        if constexpr (std::is_integral_v<T> && sizeof(T) <= 2) {
            return round(static_cast<float>(value));
        } else {
            return detail::to_short_bits<8, 8>(detail::to_sticky_double(value));
        }
    }
};

namespace detail {

// One of two numbers, without a branch, which keeps compilers from making vector code.
SEQPAR_HD constexpr std::uint32_t select_bits(bool first, std::uint32_t a, std::uint32_t b) {
    const std::uint32_t mask = 0u - static_cast<std::uint32_t>(first);
    return (a & mask) | (b & ~mask);
}

// A float of sign, exponent and mantissa bits that has subnormals, in an unsigned integer.
template <class Bits, int Mantissa, int ExponentBits, bool HasInfinity>
struct ShortFloat {
    Bits bits = 0;

    ShortFloat() = default;
    template <class T>
        requires std::is_arithmetic_v<T>
    SEQPAR_HD constexpr explicit ShortFloat(T value) : bits(round(value)) {}
    SEQPAR_HD constexpr explicit operator float() const {
        const std::uint32_t sign = (bits & sign_bit) << (31 - ExponentBits - Mantissa);
        const std::uint32_t rest = bits & (sign_bit - 1);
        const std::uint32_t special = 0x7F800000u | ((rest << (23 - Mantissa)) & 0x7FFFFFu);
        const std::uint32_t normal = (rest + ((127 - bias) << Mantissa)) << (23 - Mantissa);
        const float unit = cuda::std::bit_cast<float>((128 - bias - Mantissa) << 23);
        const std::uint32_t subnormal =
            cuda::std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(rest)) * unit);
        const std::uint32_t finite = select_bits(rest >= (1u << Mantissa), normal, subnormal);
        return cuda::std::bit_cast<float>(sign | select_bits(rest >= least_special, special, finite));
    }
    SEQPAR_HD static constexpr ShortFloat from_bits(Bits b) {
        ShortFloat result;
        result.bits = b;
        return result;
    }
    friend SEQPAR_HD constexpr bool operator==(ShortFloat a, ShortFloat b) {
        return static_cast<float>(a) == static_cast<float>(b);
    }

private:
    static constexpr std::uint32_t bias = (1u << (ExponentBits - 1)) - 1;
    static constexpr std::uint32_t sign_bit = 1u << (ExponentBits + Mantissa);
    // Infinity, or the one NaN.
    static constexpr std::uint32_t least_special =
        HasInfinity ? ((1u << ExponentBits) - 1) << Mantissa : (1u << (ExponentBits + Mantissa)) - 1;

    // As to_short_bits, in a form that compilers make vector code of.
    SEQPAR_HD static constexpr Bits round(float value) {
        constexpr int drop = 23 - Mantissa;
        // One in the place of the least subnormal's last bit: adding it to what is subnormal rounds that.
        constexpr std::uint32_t shift = (127 - bias + static_cast<std::uint32_t>(drop) + 1) << 23;
        const std::uint32_t b = cuda::std::bit_cast<std::uint32_t>(value);
        const std::uint32_t size = b & 0x7FFFFFFFu;
        const std::uint32_t normal =
            (size - ((127 - bias) << 23) + ((1u << (drop - 1)) - 1) + ((size >> drop) & 1u)) >> drop;
        const std::uint32_t subnormal =
            cuda::std::bit_cast<std::uint32_t>(cuda::std::bit_cast<float>(size) + cuda::std::bit_cast<float>(shift)) -
            shift;
        const std::uint32_t nan = least_special | (1u << (Mantissa - 1)) | ((size >> drop) & ((1u << Mantissa) - 1));
        std::uint32_t rest = select_bits(size < (128 - bias) << 23, subnormal, normal);
        rest = select_bits(rest < least_special, rest, least_special);
        rest = select_bits(size > 0x7F800000u, nan, rest);
        return static_cast<Bits>(rest | ((b >> (31 - ExponentBits - Mantissa)) & sign_bit));
    }
    template <class T>
    SEQPAR_HD static constexpr Bits round(T value) {
        return static_cast<Bits>(to_short_bits<Mantissa + 1, ExponentBits, HasInfinity>(to_sticky_double(value)));
    }
};

}  // namespace detail

// IEEE binary16.
using f16 = detail::ShortFloat<std::uint16_t, 10, 5, true>;

// The 8-bit floats of OCP: E4M3, up to 448 and without infinity (what rounds beyond is NaN, as in torch's float8_e4m3fn; nothing
// saturates), and E5M2, the upper half of f16.
using f8e4m3 = detail::ShortFloat<std::uint8_t, 3, 4, false>;
using f8e5m2 = detail::ShortFloat<std::uint8_t, 2, 5, true>;

namespace detail {

template <class T>
inline constexpr bool is_short_float = std::is_same_v<T, bf16>;
template <class Bits, int Mantissa, int ExponentBits, bool HasInfinity>
inline constexpr bool is_short_float<ShortFloat<Bits, Mantissa, ExponentBits, HasInfinity>> = true;
template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || is_short_float<T>;

// What a number is added in.
template <class T>
using arithmetic_of = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

}  // namespace detail

// One number as another type: exact, or rounded once to nearest even. Integers from floats truncate as static_cast does.
template <class To, class From>
[[nodiscard]] SEQPAR_HD constexpr To convert(const From& from) {
    if constexpr (std::is_same_v<To, From>) {
        return from;
    } else if constexpr (detail::is_short_float<From> && !std::is_same_v<To, float>) {
        return convert<To>(static_cast<float>(from));
    } else {
        return static_cast<To>(from);
    }
}

namespace detail {

// Whether convert<To>(value) loses nothing. A NaN is one in every floating type.
template <class To, class From>
constexpr bool converts_exactly(const From& value) {
    // Wide enough for every value of a float of up to 64 bits.
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
