// Banks of another type than the vectors: each value is converted once, exactly or to nearest even. The conversions themselves
// are compared with references in tests/tensor/half.cpp; here that the gather uses them, on both sides.
#include "exec.hpp"
#include "move/vectors.hpp"

#include <seqpar/move/vision_gather.hpp>

#include <cmath>

using namespace seqpar;
using test::Random;

namespace {

// Values that the type rounds: halves of its last place, subnormals, infinities; whole numbers for integers.
template <class T>
T random_value(Random& random) {
    if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(random.between(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else if (random.once_in(30)) {
        return T(random.once_in(2) ? INFINITY : -0.0f);
    } else {
        const double value =
            std::ldexp(static_cast<double>(random.between(-(1 << 16), 1 << 16)) + (random.once_in(2) ? 0.5 : 0.0),
                       static_cast<int>(random.between(-30, 4)));
        return convert<T>(value);
    }
}

template <class T>
std::vector<T> random_values(Random& random, std::int64_t count) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(random_value<T>(random));
    return values;
}

template <class T>
void same(const std::vector<T>& got, const std::vector<T>& expected) {
    REQUIRE(test::same_bits(got, expected));
}

constexpr std::int64_t convert_tokens = 24;
constexpr std::int64_t convert_bank_rows = 16;
constexpr std::int64_t convert_width = 9;

template <class T>
auto as_rows(std::vector<T>& values) {
    return tensor(values.data(), static_cast<std::int64_t>(values.size()) / convert_width, convert_width);
}

// Every row used once, in stretches and singly; rows 5 to 7 unused.
const std::vector<std::int32_t> convert_rows{-1, 0,  1,  2,  -1, -1, 4,  3,  8,  9,  10, 11,
                                             -1, 15, 14, 13, 12, -1, -1, -1, -1, -1, -1, -1};

template <class T, class B>
void forward(std::uint64_t seed) {
    Random random(seed);
    for (int i = 0; i < test::rounds(20); ++i) {
        std::vector<T> x = random_values<T>(random, convert_tokens * convert_width);
        std::vector<B> bank = random_values<B>(random, convert_bank_rows * convert_width);
        std::vector<T> expected = x;
        for (std::size_t t = 0; t < convert_rows.size(); ++t) {
            for (std::size_t h = 0; h < convert_width && convert_rows[t] >= 0; ++h)
                expected[t * convert_width + h] =
                    convert<T>(bank[static_cast<std::size_t>(convert_rows[t]) * convert_width + h]);
        }
        std::vector<T> out(x.size());
        VisionGather{}(test::main_exec, as_rows(x), convert_rows, as_rows(bank), as_rows(out));
        same(out, expected);
        VisionGather{}(test::main_exec, as_rows(x), convert_rows, as_rows(bank), as_rows(x));
        same(x, expected);
    }
}

// d_out is G, both gradients of other types.
template <class G, class E, class B>
void backward(std::uint64_t seed) {
    Random random(seed);
    for (int i = 0; i < test::rounds(20); ++i) {
        std::vector<G> d_out = random_values<G>(random, convert_tokens * convert_width);
        std::vector<E> d_embeddings = random_values<E>(random, convert_tokens * convert_width);
        std::vector<B> d_bank = random_values<B>(random, convert_bank_rows * convert_width);
        std::vector<E> expected_embeddings = d_embeddings;
        std::vector<B> expected_bank = d_bank;
        for (std::size_t t = 0; t < convert_rows.size(); ++t) {
            for (std::size_t h = 0; h < convert_width; ++h) {
                const G g = d_out[t * convert_width + h];
                if (convert_rows[t] >= 0)
                    expected_bank[static_cast<std::size_t>(convert_rows[t]) * convert_width + h] = convert<B>(g);
                expected_embeddings[t * convert_width + h] = convert_rows[t] < 0 ? convert<E>(g) : E{};
            }
        }
        VisionGather{}.backward(test::main_exec, as_rows(d_out), convert_rows, as_rows(d_embeddings), as_rows(d_bank),
                                Store{});
        same(d_embeddings, expected_embeddings);
        same(d_bank, expected_bank);
    }
}

// One value of a bank after Add.
template <class B, class G>
B added(B there, G gradient) {
    std::vector<B> bank(1, there);
    const std::vector<G> d_out(1, gradient);
    const std::vector<std::int32_t> row(1, 0);
    VisionGather{}.backward(test::main_exec, tensor(d_out.data(), 1, 1), row, no_gradient, tensor(bank.data(), 1, 1),
                            Add{});
    return bank[0];
}

}  // namespace

TEST_CASE("forward converts each gathered value once: 8-bit integers and floats, f64, f32, f16 and bf16 banks") {
    forward<bf16, std::uint8_t>(601);
    forward<bf16, std::int8_t>(602);
    forward<bf16, double>(603);
    forward<bf16, f16>(605);
    forward<float, double>(606);
    forward<float, std::int8_t>(609);
    forward<f16, float>(610);
    forward<double, bf16>(613);
    forward<bf16, f8e4m3>(614);
    forward<float, f8e5m2>(615);
    forward<f8e4m3, bf16>(616);
    forward<f8e5m2, float>(617);
    forward<f8e4m3, std::int8_t>(618);
    forward<std::int8_t, std::int8_t>(619);
}

TEST_CASE("backward by Store converts each value once") {
    backward<bf16, float, float>(620);
    backward<float, bf16, f16>(621);
    backward<bf16, f8e5m2, f8e4m3>(622);
    backward<f8e5m2, bf16, float>(623);
}

TEST_CASE("Add rounds once: the exact sum to the bank's type, through no type between") {
    // In bf16 1 + 2^-8 is a tie, and what is added is beyond it by less than a double holds beside 1.
    CHECK(added(bf16(0x1p-60), 1.0f + 0x1p-8f).bits == bf16(1.0f + 0x1p-7f).bits);
    CHECK(added(bf16(-0x1p-60), 1.0f + 0x1p-8f).bits == bf16(1.0f).bits);
    CHECK(added(bf16(0), 1.0f + 0x1p-8f).bits == bf16(1.0f).bits);  // a true tie goes to even
    CHECK(added(0x1p-60f, 1.0 + 0x1p-24) == 1.0f + 0x1p-23f);
    CHECK(added(-0x1p-60f, 1.0 + 0x1p-24) == 1.0f);
    // The same type on both sides.
    CHECK(added(bf16(256), bf16(1)).bits == bf16(256).bits);
    CHECK(added(bf16(256), bf16(3)).bits == bf16(260).bits);
    CHECK(added(f16(2048), f16(3)).bits == f16(2052).bits);
    CHECK(added(1.0f, 2.0f) == 3.0f);
    CHECK(added(INFINITY, 1.0) == INFINITY);
    CHECK(std::isnan(added(INFINITY, -static_cast<double>(INFINITY))));
    CHECK(added(bf16(3e38f), 3e38f).bits == bf16(INFINITY).bits);
}
