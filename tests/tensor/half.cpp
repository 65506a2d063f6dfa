// Short floats of 16 and 8 bits against references: all values there and back, and rounding to nearest even by comparing with both
// neighbours, from floats, doubles, long doubles and integers, with ties, subnormals, infinities and NaN.
#include "layout/random.hpp"

#include <seqpar/tensor/half.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

using namespace seqpar;
using test::Random;

namespace {

template <class H>
struct Format;
template <>
struct Format<bf16> {
    static constexpr int mantissa = 7, bias = 127, sign = 0x8000, infinity = 0x7F80;
};
template <>
struct Format<f16> {
    static constexpr int mantissa = 10, bias = 15, sign = 0x8000, infinity = 0x7C00;
};
template <>
struct Format<f8e5m2> {
    static constexpr int mantissa = 2, bias = 15, sign = 0x80, infinity = 0x7C;
};
// The only NaN stands in the place of infinity.
template <>
struct Format<f8e4m3> {
    static constexpr int mantissa = 3, bias = 7, sign = 0x80, infinity = 0x7F;
};

template <class H>
constexpr std::uint16_t infinity = Format<H>::infinity;

// What the bits mean, by the definitions of IEEE and OCP.
template <class H>
long double meaning(std::uint16_t bits) {
    constexpr int mantissa = Format<H>::mantissa;
    const int size = bits & (Format<H>::sign - 1);
    const int exponent = size >> mantissa;
    const int fraction = bits & ((1 << mantissa) - 1);
    const long double sign = (bits & Format<H>::sign) != 0 ? -1 : 1;
    if (size >= infinity<H>) return size > infinity<H> || std::is_same_v<H, f8e4m3> ? NAN : sign * INFINITY;
    const long double significand = exponent == 0 ? fraction : fraction + (1 << mantissa);
    return sign * std::ldexp(significand, (exponent == 0 ? 1 : exponent) - Format<H>::bias - mantissa);
}

// The nearest of all values to x, ties to even bits; as IEEE rounds: the step beyond the greatest counts as infinity.
template <class H, class X>
std::uint16_t nearest(X x) {
    const std::uint16_t sign = std::signbit(static_cast<long double>(x)) ? Format<H>::sign : 0;
    const X size = x < 0 ? -x : x;
    std::uint16_t low = 0;  // greatest value that is at most |x|
    std::uint16_t high = static_cast<std::uint16_t>(infinity<H> - 1);
    if (static_cast<X>(meaning<H>(high)) <= size) {
        low = high;
    } else {
        while (high - low > 1) {
            const auto middle = static_cast<std::uint16_t>((low + high) / 2);
            (static_cast<X>(meaning<H>(middle)) <= size ? low : high) = middle;
        }
    }
    const long double below = meaning<H>(low);
    const long double step = meaning<H>(low) - meaning<H>(static_cast<std::uint16_t>(low == 0 ? 0 : low - 1));
    const long double above = low + 1 == infinity<H> ? below + step : meaning<H>(static_cast<std::uint16_t>(low + 1));
    // |x| - below is exact in X: both are near, or below is 0.
    const long double rest = static_cast<long double>(size - static_cast<X>(below));
    const long double half = (above - below) / 2;
    const bool up = rest > half || (rest == half && (low & 1) != 0);
    return static_cast<std::uint16_t>(sign | (low + (up ? 1 : 0)));
}

template <class H>
void check_all_values() {
    int wrong = 0;
    for (int i = 0; i < 2 * Format<H>::sign; ++i) {
        const auto bits = static_cast<std::uint16_t>(i);
        const H h = H::from_bits(static_cast<decltype(h.bits)>(bits));
        const float f = static_cast<float>(h);
        const long double expected = meaning<H>(bits);
        if (std::isnan(expected)) {
            // A NaN stays one with its payload; a signalling one may become quiet.
            const auto quiet = static_cast<std::uint16_t>(bits | (1 << (Format<H>::mantissa - 1)));
            wrong += !std::isnan(f) || (H(f).bits | (1 << (Format<H>::mantissa - 1))) != quiet;
            wrong += (H(static_cast<double>(f)).bits) != quiet;
            wrong += h == h;
            continue;
        }
        wrong += static_cast<long double>(f) != expected || std::signbit(f) != ((bits & Format<H>::sign) != 0);
        wrong +=
            H(f).bits != bits || H(static_cast<double>(f)).bits != bits || H(static_cast<long double>(f)).bits != bits;
        wrong += !(h == h);
    }
    CHECK(wrong == 0);
}

// x and what lies beside it and beside the halfway points around it.
template <class H, class X>
int wrong_around(X x) {
    int wrong = 0;
    for (X value : {x, std::nextafter(x, X(-INFINITY)), std::nextafter(x, X(INFINITY))}) {
        for (X signed_value : {value, -value})
            wrong += H(signed_value).bits != nearest<H>(signed_value);
    }
    return wrong;
}

template <class H, class X>
void check_rounding(std::uint64_t seed) {
    int wrong = 0;
    // Every value and every halfway point between neighbours, past the greatest too, and what is next to them.
    for (std::uint16_t bits = 0; bits < infinity<H>; ++bits) {
        const long double low = meaning<H>(bits);
        const long double step = bits == 0 ? meaning<H>(1) : low - meaning<H>(static_cast<std::uint16_t>(bits - 1));
        const long double high =
            bits + 1 == infinity<H> ? low + step : meaning<H>(static_cast<std::uint16_t>(bits + 1));
        wrong += wrong_around<H>(static_cast<X>(low)) + wrong_around<H>(static_cast<X>(low + (high - low) / 2));
    }
    CHECK(wrong == 0);
    Random random(seed);
    for (int i = 0; i < 20000; ++i) {
        const long double fraction = std::ldexp(static_cast<long double>(random.between(1, INT64_MAX / 2)), -62);
        const X x = static_cast<X>(
            std::ldexp(fraction, static_cast<int>(random.between(-Format<H>::bias - 20, Format<H>::bias + 2))));
        if (std::isinf(x)) continue;
        wrong += H(x).bits != nearest<H>(x) || H(-x).bits != nearest<H>(-x);
    }
    CHECK(wrong == 0);
    CHECK(H(X(INFINITY)).bits == infinity<H>);
    CHECK(H(X(-INFINITY)).bits == (infinity<H> | Format<H>::sign));
    CHECK(H(X(-0.0)).bits == Format<H>::sign);
    CHECK(H(std::numeric_limits<X>::max()).bits == infinity<H>);
    CHECK(H(std::numeric_limits<X>::denorm_min()).bits == 0);
    CHECK(std::isnan(static_cast<float>(H(X(NAN)))));
}

}  // namespace

TEST_CASE("every bf16 is the float that it says, and comes back") { check_all_values<bf16>(); }
TEST_CASE("every f16 is the float that it says, and comes back") { check_all_values<f16>(); }
TEST_CASE("every f8e4m3 and f8e5m2 is the float that it says, and comes back") {
    check_all_values<f8e4m3>();
    check_all_values<f8e5m2>();
}
TEST_CASE("floats round to the nearest even bf16 and f16") {
    check_rounding<bf16, float>(1001);
    check_rounding<f16, float>(1002);
}
TEST_CASE("doubles round once: to the nearest even bf16 and f16, not by way of a float") {
    check_rounding<bf16, double>(1003);
    check_rounding<f16, double>(1004);
    // 1 + 2^-8 + 2^-40 is beyond the tie; as a float it is the tie.
    CHECK(bf16(1 + 0x1p-8 + 0x1p-40).bits == bf16(1.0f + 0x1p-7f).bits);
    CHECK(f16(1 + 0x1p-11 + 0x1p-40).bits == f16(1.0f + 0x1p-10f).bits);
}
TEST_CASE("floats and doubles round to the nearest even f8e4m3 and f8e5m2; past the greatest E4M3 is NaN") {
    check_rounding<f8e4m3, float>(1006);
    check_rounding<f8e4m3, double>(1007);
    check_rounding<f8e5m2, float>(1008);
    check_rounding<f8e5m2, double>(1009);
    CHECK(f8e4m3(464.0f) == f8e4m3(448));  // a tie with what would be 480
    CHECK(std::isnan(static_cast<float>(f8e4m3(465.0f))));
    CHECK(std::isnan(static_cast<float>(f8e4m3(-1e30))));
    int wrong = 0;
    for (int i = -500; i <= 500; ++i) {
        wrong += f8e4m3(i).bits != nearest<f8e4m3>(static_cast<double>(i));
        wrong += f8e5m2(i).bits != nearest<f8e5m2>(static_cast<double>(i));
        wrong += convert<f8e5m2>(f8e4m3(i)).bits != f8e5m2(static_cast<float>(f8e4m3(i))).bits;
    }
    CHECK(wrong == 0);
}
TEST_CASE("long doubles round once") {
    CHECK(bf16(1.0L + 0x1p-8L + 0x1p-60L).bits == bf16(1.0f + 0x1p-7f).bits);
    CHECK(bf16(1.0L + 0x1p-8L - 0x1p-60L).bits == bf16(1.0f).bits);
    CHECK(bf16(-1.0L - 0x1p-8L - 0x1p-60L).bits == bf16(-1.0f - 0x1p-7f).bits);
    CHECK(f16(1.0L + 0x1p-11L + 0x1p-60L).bits == f16(1.0f + 0x1p-10f).bits);
    CHECK(f16(std::numeric_limits<long double>::max()).bits == 0x7C00);
    CHECK(f16(std::numeric_limits<long double>::denorm_min()).bits == 0);
    CHECK(bf16(0x1p-134L + 0x1p-190L).bits == 1);
}
TEST_CASE("integers round once, the longest too") {
    int wrong = 0;
    for (int i = -70000; i <= 70000; ++i) {
        wrong += bf16(i).bits != nearest<bf16>(static_cast<double>(i));
        wrong += f16(i).bits != nearest<f16>(static_cast<double>(i));
        if (i >= -32768 && i < 32768)
            wrong += bf16(static_cast<short>(i)).bits != nearest<bf16>(static_cast<double>(i));
    }
    CHECK(wrong == 0);
    Random random(1005);
    for (int i = 0; i < 20000; ++i) {
        const std::int64_t value = random.between(0, INT64_MAX - 1) >> random.between(0, 62);
        wrong += bf16(value).bits != nearest<bf16>(static_cast<long double>(value));
        wrong += bf16(-value).bits != nearest<bf16>(static_cast<long double>(-value));
        wrong += f16(value).bits != nearest<f16>(static_cast<long double>(value));
        wrong += bf16(static_cast<std::uint64_t>(value) * 2 + 1).bits !=
                 nearest<bf16>(static_cast<long double>(static_cast<std::uint64_t>(value) * 2 + 1));
    }
    CHECK(wrong == 0);
    const std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
    CHECK(bf16(tie).bits == bf16(0x1p62f).bits);
    CHECK(bf16(tie + 1).bits == bf16(0x1p62f + 0x1p55f).bits);
    CHECK(bf16(tie - 1).bits == bf16(0x1p62f).bits);
    CHECK(bf16(INT64_MIN).bits == bf16(-0x1p63f).bits);
    CHECK(bf16(UINT64_MAX).bits == bf16(0x1p64f).bits);
    CHECK(bf16(true).bits == bf16(1.0f).bits);
}
TEST_CASE("halves compare as numbers") {
    CHECK(bf16(0.0f) == bf16(-0.0f));
    CHECK(!(f16::from_bits(0x7E00) == f16::from_bits(0x7E00)));
    CHECK(bf16(1) == bf16(1.0));
    CHECK(!(bf16(1) == bf16(2)));
}
TEST_CASE("conversions work at compile time") {
    static_assert(bf16(1.5f).bits == 0x3FC0 && f16(1.5).bits == 0x3E00 && f16(65536).bits == 0x7C00);
    static_assert(static_cast<float>(f16::from_bits(1)) == 0x1p-24f &&
                  static_cast<float>(bf16::from_bits(1)) == 0x1p-133f);
    static_assert(sizeof(bf16) == 2 && sizeof(f16) == 2 && std::is_trivially_copyable_v<bf16> &&
                  std::is_trivially_copyable_v<f16>);
}
