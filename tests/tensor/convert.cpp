// convert(), and what counts as an exact conversion of a fill.
#include <seqpar/tensor/detail/fill.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>

using namespace seqpar;

namespace {

template <class To, class From>
bool exact(const From& value) {
    return detail::converts_exactly<To>(value);
}

// A type of another library, which knows how it becomes a float.
struct Foreign {
    float value;
    explicit operator float() const { return value; }
    explicit operator double() const { return static_cast<double>(value); }
};

}  // namespace

TEST_CASE("convert is the identity on one type, bit for bit, and rounds once between two") {
    CHECK(convert<bf16>(bf16::from_bits(0x7F81)).bits == 0x7F81);  // a signalling NaN
    CHECK(convert<float>(bf16(3)) == 3.0f);
    CHECK(convert<double>(f16(3)) == 3.0);
    CHECK(convert<bf16>(f16(1 + 0x1p-8)).bits == bf16(1).bits);
    CHECK(convert<f16>(bf16(1e30f)).bits == f16(INFINITY).bits);
    CHECK(convert<float>(1 + 0x1p-24 + 0x1p-40) == 1 + 0x1p-23f);
    CHECK(convert<bf16>(std::uint8_t{255}) == bf16(255));
    CHECK(convert<int>(-2.9) == -2);
    CHECK(convert<std::int8_t>(bf16(-7)) == -7);
    CHECK(convert<float>(Foreign{2}) == 2.0f);
    CHECK(convert<double>(Foreign{2}) == 2.0);
}

TEST_CASE("integers convert exactly if the other type holds them, whatever the signs") {
    CHECK(exact<std::int8_t>(127));
    CHECK(!exact<std::int8_t>(128));
    CHECK(exact<std::int8_t>(-128));
    CHECK(!exact<std::int8_t>(-129));
    CHECK(!exact<std::uint8_t>(-1));
    CHECK(!exact<std::uint64_t>(-1));
    CHECK(!exact<std::int64_t>(UINT64_MAX));
    CHECK(!exact<int>(UINT32_MAX));
    CHECK(exact<std::int64_t>(UINT32_MAX));
    CHECK(exact<bool>(1));
    CHECK(!exact<bool>(2));
    CHECK(exact<int>(true));
    CHECK(exact<std::uint8_t>(false));
    CHECK(!exact<std::int32_t>(std::int64_t{1} << 32));
}

TEST_CASE("integers convert to floats exactly where no bit is lost") {
    CHECK(exact<float>(1 << 24));
    CHECK(!exact<float>((1 << 24) + 1));
    CHECK(exact<double>(std::int64_t{1} << 53));
    CHECK(!exact<double>((std::int64_t{1} << 53) + 1));
    CHECK(!exact<float>((std::int64_t{1} << 53) + 1));
    CHECK(!exact<double>(INT64_MAX));  // rounds to 2^63
    CHECK(exact<double>(INT64_MIN));
    CHECK(!exact<double>(UINT64_MAX));
    CHECK(exact<bf16>(-100));
    CHECK(exact<bf16>(256));
    CHECK(!exact<bf16>(257));
    CHECK(exact<f16>(2048));
    CHECK(!exact<f16>(2049));
    CHECK(!exact<f16>(65520));  // infinity
}

TEST_CASE("floats convert to integers exactly where they are whole and fit; never by an undefined conversion") {
    CHECK(exact<int>(-100.0));
    CHECK(!exact<int>(0.5f));
    CHECK(!exact<int>(2147483648.0));
    CHECK(exact<int>(-2147483648.0));
    CHECK(!exact<int>(1e300));
    CHECK(!exact<int>(NAN));
    CHECK(!exact<std::int64_t>(INFINITY));
    CHECK(!exact<std::int64_t>(0x1p63));
    CHECK(exact<std::int64_t>(-0x1p63));
    CHECK(exact<std::uint64_t>(0x1p63));
    CHECK(!exact<std::uint64_t>(0x1p64));
    CHECK(!exact<std::uint8_t>(-1.0f));
    CHECK(exact<std::uint8_t>(bf16(255)));
    CHECK(!exact<bool>(0.5));
    CHECK(exact<bool>(1.0));
}

TEST_CASE("floats convert to floats exactly where the number is the same") {
    CHECK(exact<float>(0.5));
    CHECK(!exact<float>(0.1));
    CHECK(exact<double>(0.1f));
    CHECK(!exact<double>(0.1L));
    CHECK(exact<float>(INFINITY));
    CHECK(exact<bf16>(-INFINITY));
    CHECK(exact<f16>(NAN));
    CHECK(!exact<float>(1e300));
    CHECK(!exact<f16>(bf16(1e30f)));
    CHECK(exact<bf16>(f16(1.5)));
}

TEST_CASE("a fill that does not convert names the nearest that would, and what came") {
    const auto status = [](auto element, auto fill) {
        try {
            static_cast<void>(detail::fill_element<decltype(element)>(fill, 3));
        } catch (const Error& error) {
            return error.status();
        }
        return Status{};
    };
    CHECK(status(std::int8_t{}, 300) == make_status(Kind::value_lost, 3, 0, 127, 300));
    CHECK(status(std::uint8_t{}, -100) == make_status(Kind::value_lost, 3, 0, 0, -100));
    CHECK(status(std::int32_t{}, 1e30) == make_status(Kind::value_lost, 3, 0, INT32_MAX, INT64_MAX));
    CHECK(status(std::int32_t{}, NAN) == make_status(Kind::value_lost, 3, 0, 0, 0));
    CHECK(status(bf16{}, 257) == make_status(Kind::value_lost, 3, 0, 256, 257));
    CHECK(status(float{}, UINT64_MAX) == make_status(Kind::value_lost, 3, 0, INT64_MAX, INT64_MAX));
    CHECK(status(std::int64_t{}, -100).ok());
    CHECK(status(std::byte{}, std::byte{7}).ok());
}
