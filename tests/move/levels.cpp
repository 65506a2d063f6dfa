// Levels over random token shapes, strides, banks and row arrays against one element at a time: several in one pass, their
// adjoint, compact rows and selected features; what is read and written; and the faults of trainers' versions.
#include "exec.hpp"
#include "move/values.hpp"
#include "move/vectors.hpp"

#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/levels.hpp>
#include <seqpar/move/shard.hpp>

#include <thrust/execution_policy.h>

using namespace seqpar;
using test::check_status;
using test::counted;
using test::error_of;
using test::Random;
using test::require_same_bits;
using test::Vectors;

namespace {

using RowList = std::vector<std::int32_t>;

template <class T, std::size_t N>
Vectors<T, N> random_numbers(Random& random, std::array<std::int64_t, N> shape) {
    Vectors<T, N> v = test::random_vectors<T, N>(random, shape);
    for (T& value : v.memory)
        value = convert<T>(static_cast<double>(random.between(-4096, 4096)) / 1024);
    return v;
}

// `levels` levels of two banks, the second of which may have none.
template <class B>
struct Levels {
    std::vector<Vectors<B, 2>> image, audio;

    Levels(Random& random, const test::List& rows, std::int64_t width, int count = 3) {
        for (int l = 0; l < count; ++l) {
            image.push_back(random_numbers<B, 2>(random, {rows[0], width}));
            audio.push_back(random_numbers<B, 2>(random, {rows[1], width}));
        }
    }
    auto of_both(std::size_t l) { return banks(image[l].view(), audio[l].view()); }
    auto of_image(std::size_t l) { return banks(image[l].view(), no_level); }
};

// h + each level, rounded to T after each.
template <class T, class B, std::size_t M>
void naive_add(Vectors<T, M + 1>& h, const test::Rows<M>& rows, const Levels<B>& levels, bool with_audio) {
    test::for_each_token(rows.row.extents, [&](const test::List& token) {
        const std::int32_t row = *rows.row.at(token);
        const bool is_audio = *rows.bank.at(token) == 1;
        if (row < 0 || (is_audio && !with_audio)) return;
        for (const auto& level : is_audio ? levels.audio : levels.image) {
            for (std::int64_t k = 0; k < h.extents[M]; ++k) {
                T& value = h.at(token)[k];
                using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
                value = convert<T>(convert<Sum>(value) + convert<Sum>(convert<T>(level.at({row})[k])));
            }
        }
    });
}

template <class T, class B, std::size_t M>
void check_add(Random& random) {
    const auto tokens = test::random_tokens<M>(random);
    const std::int64_t width = random.once_in(10) ? random.between(120, 140) : random.between(0, 20);
    const test::List bank_rows{random.between(0, 20), random.between(0, 20)};
    const auto rows = test::random_rows<M>(random, tokens, bank_rows, false);
    Levels<B> list(random, bank_rows, width);
    auto h = random_numbers<T, M + 1>(random, test::with_width(tokens, width));
    auto one_by_one = h;
    auto without_audio = h;
    auto expected = h;
    auto expected_image = h;
    naive_add(expected, rows, list, true);
    naive_add(expected_image, rows, list, false);
    const auto array = row_array(rows.row.view(), rows.bank.view());
    add_rows(test::main_exec, h.view(), array, levels(list.of_both(0), list.of_both(1), list.of_both(2)));
    require_same_bits(h.memory, expected.memory);
    for (std::size_t l = 0; l < 3; ++l)
        add_rows<false>(test::main_exec, one_by_one.view(), array, list.of_both(l));
    require_same_bits(one_by_one.memory, expected.memory);
    add_rows(test::main_exec, without_audio.view(), array,
             levels(list.of_image(0), list.of_image(1), list.of_image(2)));
    require_same_bits(without_audio.memory, expected_image.memory);
}

// Each level's gradient, row by row: Store, Add, or their sums of duplicates in float.
template <class Mode>
void check_add_backward(Random& random, Mode mode, bool injective, bool add) {
    const auto tokens = test::random_tokens<2>(random);
    const test::List bank_rows{random.between(0, 20), random.between(0, 20)};
    const auto rows = test::random_rows<2>(random, tokens, bank_rows, injective);
    Levels<float> list(random, bank_rows, 70, 2);
    const auto d_h = random_numbers<bf16, 3>(random, test::with_width(tokens, 70));
    const Vectors<bf16, 3> before = d_h;
    Levels<float> expected = list;
    std::vector<bool> seen(static_cast<std::size_t>(bank_rows[0]));
    Levels<float> sum = list;
    test::for_each_token(tokens, [&](const test::List& token) {
        const std::int32_t row = *rows.row.at(token);
        if (row < 0 || *rows.bank.at(token) == 1) return;
        const bool first = !seen[static_cast<std::size_t>(row)];
        seen[static_cast<std::size_t>(row)] = true;
        for (std::size_t l = 0; l < 2; ++l) {
            for (std::int64_t k = 0; k < 70; ++k) {
                float& s = sum.image[l].at({row})[k];
                s = (first ? 0 : s) + static_cast<float>(d_h.at(token)[k]);
                expected.image[l].at({row})[k] = add ? list.image[l].at({row})[k] + s : s;
            }
        }
    });
    add_rows_backward(test::main_exec, d_h.view(), row_array(rows.row.view(), rows.bank.view()),
                      levels(list.of_image(0), list.of_image(1)), mode);
    for (std::size_t l = 0; l < 2; ++l) {
        require_same_bits(list.image[l].memory, expected.image[l].memory);
        require_same_bits(list.audio[l].memory, expected.audio[l].memory);
    }
    require_same_bits(d_h.memory, before.memory);
}

}  // namespace

TEST_CASE(
    "three levels in one pass are three passes, each addition rounded once, audio passed over where it has none") {
    Random random(901);
    for (int i = 0; i < 400; ++i) {
        check_add<bf16, float, 1>(random);
        check_add<float, bf16, 2>(random);
        check_add<f16, f16, 2>(random);
        check_add<double, float, 1>(random);
        check_add<bf16, bf16, 3>(random);
        check_add<bf16, f8e4m3, 1>(random);
    }
}

TEST_CASE("the adjoint writes the gradient of every level and leaves the one that it was given alone") {
    Random random(902);
    for (int i = 0; i < 200; ++i) {
        check_add_backward(random, Store{}, true, false);
        check_add_backward(random, Add{}, true, true);
        check_add_backward(random, Summed<Store>{}, false, false);
        check_add_backward(random, Summed<Add, float>{}, false, true);
    }
}

#if !defined(__CUDACC__)  // host functions count

namespace {

// A number that tells how often one of its kind was read and written.
struct Counted {
    static inline std::int64_t reads = 0;
    static inline std::int64_t writes = 0;
    float value = 0;

    Counted() = default;
    explicit Counted(float v) : value(v) {}
    Counted(const Counted&) = default;
    Counted& operator=(const Counted& other) {
        value = other.value;
        ++writes;
        return *this;
    }
    explicit operator float() const {
        ++reads;
        return value;
    }
};

}  // namespace

TEST_CASE("four levels in one pass read and write each vision vector once, and text never") {
    const RowList rows{-1, 0, 1, 2, -1, -1, 5, 4, -1};
    constexpr std::int64_t width = 200;
    std::vector<Counted> h(static_cast<std::size_t>(9 * width));
    std::vector<float> level = counted<float>(6 * width);
    const auto l = tensor(level.data(), 6, width);
    Counted::reads = Counted::writes = 0;
    add_rows(test::main_exec, tensor(h.data(), 9, width), rows, levels(l, l, l, l));
    // Rounding to h's type reads values that are in no array: four a value.
    CHECK(Counted::writes == 5 * width);
    CHECK(Counted::reads == 5 * width * (1 + 4 + 4));
    CHECK(h[static_cast<std::size_t>(6 * width)].value == 4 * 5 * static_cast<float>(width));
}

#endif

TEST_CASE("levels are adjoint: <A(h, l), y> = <h, y> + <l, d_l> and <S(l), y> = <l, d_l> in exact integers") {
    Random random(903);
    for (int i = 0; i < 300; ++i) {
        const std::int64_t tokens = random.between(1, 30), bank_rows = random.between(1, 20), width = 3;
        const auto rows = test::random_rows<1>(random, {tokens}, {bank_rows}, false);
        const auto small = [&](std::int64_t n) {
            test::List values;
            for (std::int64_t k = 0; k < n * width; ++k)
                values.push_back(random.between(-99, 99));
            return values;
        };
        const auto dot = [](const test::List& p, const test::List& q) {
            std::int64_t sum = 0;
            for (std::size_t k = 0; k < p.size(); ++k)
                sum += p[k] * q[k];
            return sum;
        };
        const auto of = [](test::List& list) {
            return tensor(list.data(), static_cast<std::int64_t>(list.size()) / width, width);
        };
        test::List h = small(tokens), y = small(tokens), l0 = small(bank_rows), l1 = small(bank_rows);
        const test::List before = h;
        test::List d0(l0.size()), d1(l0.size()), d_selected(l0.size());
        add_rows(test::main_exec, of(h), rows.row.view(), levels(of(l0), of(l1)));
        add_rows_backward(test::main_exec, of(y), rows.row.view(), levels(of(d0), of(d1)), Summed<Store>{});
        REQUIRE(dot(h, y) == dot(before, y) + dot(l0, d0) + dot(l1, d1));
        select(test::main_exec, of(l0), rows.row.view(), of(h));
        select_backward(test::main_exec, of(y), rows.row.view(), of(d_selected), Summed<Add>{});
        REQUIRE(dot(h, y) == dot(l0, d_selected));
    }
}

TEST_CASE("compact lists the rows of the banks asked for, sample by sample, and select their features") {
    Random random(904);
    for (int i = 0; i < 1000; ++i) {
        const auto tokens = test::random_tokens<2>(random);
        const test::List bank_rows{random.between(0, 20), random.between(0, 20)};
        const auto rows = test::random_rows<2>(random, tokens, bank_rows, false);
        const bool only_image = random.once_in(2);
        RowList expected_rows, expected_banks;
        test::for_each_token(tokens, [&](const test::List& token) {
            if (*rows.row.at(token) < 0 || (only_image && *rows.bank.at(token) != 0)) return;
            expected_rows.push_back(*rows.row.at(token));
            expected_banks.push_back(*rows.bank.at(token));
        });
        const auto n = static_cast<std::int64_t>(expected_rows.size());
        const std::int64_t capacity = n + random.between(0, 3);
        expected_rows.resize(static_cast<std::size_t>(capacity), -1);
        expected_banks.resize(static_cast<std::size_t>(capacity), -1);
        auto mask = test::random_vectors<std::uint8_t, 2>(random, tokens, false);
        RowList out_rows(expected_rows.size()), out_banks(expected_rows.size());
        std::vector<std::int64_t> count(1);
        const auto array = row_array(rows.row.view(), rows.bank.view());
        compact(test::main_exec, array, only_image ? only_banks({0}) : all_banks, mask.view(), out_rows, out_banks,
                count);
        REQUIRE(out_rows == expected_rows);
        REQUIRE(out_banks == expected_banks);
        REQUIRE(count[0] == n);
        std::int64_t marked = 0;
        test::for_each_token(tokens, [&](const test::List& token) {
            marked += *mask.at(token);
            if (*mask.at(token) != (*rows.row.at(token) >= 0 && (!only_image || *rows.bank.at(token) == 0)))
                FAIL("the mask");
        });
        REQUIRE(marked == n);
        // Features of the compact rows; in the place of none, zeros.
        Levels<float> list(random, bank_rows, 5, 1);
        auto features = random_numbers<bf16, 2>(random, {capacity, 5});
        select(test::main_exec, list.of_image(0), row_array(out_rows, out_banks), features.view());
        for (std::int64_t k = 0; k < capacity; ++k) {
            for (std::int64_t e = 0; e < 5; ++e) {
                const auto at = static_cast<std::size_t>(k);
                const float there = out_rows[at] < 0 || out_banks[at] == 1 ? 0 : list.image[0].at({out_rows[at]})[e];
                REQUIRE(features.at({k})[e] == bf16(there));
            }
        }
#if !defined(__CUDACC__)  // a device finds it as it runs: device/scratch.cu
        if (n > 0) {
            RowList few(static_cast<std::size_t>(n - 1), 7);
            const Status status = error_of(
                [&] { compact(test::main_exec, array, only_image ? only_banks({0}) : all_banks, mask.view(), few); });
            check_status(status, Kind::extent, 2, n, n - 1);
            REQUIRE(few == RowList(few.size(), 7));
        }
#endif
    }
}

TEST_CASE("what levels refuse, before anything is written") {
    std::vector<float> h = counted<float>(8), a = counted<float>(6), b = counted<float>(4);
    const auto hv = tensor(h.data(), 4, 2);
    const auto av = tensor(a.data(), 3, 2);
    const auto bv = tensor(b.data(), 2, 2);
    const RowList rows{-1, 0, 1, -1}, beyond{-1, 3, -1, 3}, twice{1, -1, 1, -1}, third{-1, 0, 2, -1};
    const std::vector<float> before = h;
    check_status(status_of([&] { add_rows(check_only, hv, rows, levels(av, bv)); }), Kind::extent, 0, 3, 2, 0);
    check_status(status_of([&] { add_rows(check_only, hv, rows, tensor(a.data(), 2, 3)); }), Kind::extent, 0, 2, 3, 1);
    check_status(status_of([&] { add_rows(check_only, hv, RowList(3, -1), av); }), Kind::extent, 0, 3, 4, 0);
    check_status(status_of([&] { add_rows(check_only, hv, beyond, av); }), Kind::row_range, 0, 3, 3, 0, 1);
    check_status(status_of([&] { add_rows(check_only, hv, row_array(rows, third), banks(av, no_level)); }),
                 Kind::bank_range, 0, 2, 2, 0, 2);
    check_status(status_of([&] { add_rows(check_only, hv, rows, levels(banks(av, no_level), banks(av, av))); }),
                 Kind::axes, 1, 0, 1);
    CHECK(status_of([&] { add_rows(check_only, hv, rows, tensor(h.data() + 2, 3, 2)); }).kind() == Kind::overlap);
    CHECK(status_of([&] { add_rows_backward(check_only, hv, rows, levels(av, av), Store{}); }).kind() == Kind::overlap);
    CHECK(status_of([&] { add_rows_backward(check_only, hv, twice, av, Store{}); }).kind() == Kind::row_reused);
    CHECK(status_of([&] { add_rows_backward(check_only, hv, twice, av, Summed<Store>{}); }).ok());
    CHECK(status_of([&] { select(check_only, av, RowList{0, 3}, tensor(h.data(), 2, 2)); }).kind() == Kind::row_range);
    RowList out(4);
    std::vector<char> mask(4);
    CHECK(status_of([&] { compact(check_only, rows, all_banks, std::vector<char>(3), out); }).kind() == Kind::extent);
    CHECK(status_of([&] { compact(check_only, out, all_banks, mask, out); }).kind() == Kind::overlap);
    CHECK(status_of([&] { compact(check_only, rows, all_banks, mask, out, RowList(3)); }).kind() == Kind::extent);
    RowList numbers(4);
    CHECK(status_of([&] { compact(check_only, row_array(rows, numbers), all_banks, mask, out, numbers); }).kind() ==
          Kind::overlap);
    CHECK(status_of([&] { compact(check_only, rows, all_banks, no_array, out); }).ok());
    CHECK(error_of([] { (void)only_banks({64}); }).kind() == Kind::bank_range);
    CHECK((h == before));
}

TEST_CASE("a level without rows, tokens without width: legal, and nothing is touched") {
    float* const nowhere = nullptr;
    std::vector<float> h = counted<float>(8);
    const std::vector<float> before = h;
    const RowList text(4, -1);
    add_rows(test::main_exec, tensor(h.data(), 4, 2), text, levels(tensor(nowhere, 0, 2), tensor(nowhere, 0, 2)));
    add_rows_backward(test::main_exec, tensor(h.data(), 4, 2), text, tensor(nowhere, 0, 2), Summed<Add>{});
    add_rows(test::main_exec, tensor(nowhere, 0, 2), RowList{}, tensor(nowhere, 0, 2));
    add_rows(test::main_exec, tensor(nowhere, 2, 0), RowList{1, 0}, tensor(nowhere, 2, 0));
    select(test::main_exec, tensor(nowhere, 0, 2), RowList{}, tensor(nowhere, 0, 2));
    RowList none;
    std::vector<std::int64_t> count(1, 7);
    compact(test::main_exec, text, all_banks, no_array, none, no_array, count);
    CHECK(count[0] == 0);
    CHECK((h == before));
}

// Two samples of 8 tokens, split ZigZag over two ranks: sample 0 has level rows 0 to 3 at positions 1 to 4, sample 1 rows 4 to 8
// at 3 to 7. Rank 0 holds positions 0, 1, 6, 7 of each, rank 1 the others.
TEST_CASE("fault: one contiguous range of level rows per rank: of two samples each rank owns two ranges and more") {
    const RowList rows{-1, 0, 1, 2, 3, -1, -1, -1, -1, -1, -1, 4, 5, 6, 7, 8};
    const auto layout = ZigZag{}(8, 2);
    RowList local(8), compact_rows(5);
    std::vector<std::uint8_t> mask(8);
    shard(test::main_exec, layout, 0, tensor(rows.data(), 2, 8), axis<1>, tensor(local.data(), 2, 4));
    compact(test::main_exec, tensor(local.data(), 2, 4), all_banks, tensor(mask.data(), 2, 4), compact_rows);
    CHECK((compact_rows == RowList{0, 7, 8, -1, -1}));
    CHECK((mask == std::vector<std::uint8_t>{0, 1, 0, 0, 0, 0, 1, 1}));
    // The same straight from the whole row array.
    compact_rows.resize(6);
    compact(test::main_exec, sharded(tensor(rows.data(), 2, 8), layout, 1, axis<1>), all_banks,
            tensor(mask.data(), 2, 4), compact_rows);
    CHECK((compact_rows == RowList{1, 2, 3, 4, 5, 6}));
}

TEST_CASE("fault: a level mask in sequence order with rows in sample order: [S,B] is read as its samples") {
    // [S,B] = [3,2]: sample 0 has rows 0, 1 at positions 0 and 2, sample 1 row 2 at position 1.
    const RowList rows{0, -1, -1, 2, 1, -1};
    RowList compact_rows(3);
    std::vector<std::uint8_t> mask(6);
    compact(test::main_exec, tensor(rows.data(), {2, 3}, {1, 2}), all_banks, tensor(mask.data(), {2, 3}, {1, 2}),
            compact_rows);
    CHECK((compact_rows == RowList{0, 1, 2}));
    CHECK((mask == std::vector<std::uint8_t>{1, 0, 0, 1, 1, 0}));
    // And rows are added where they stand, whatever the order of the axes.
    std::vector<float> h(6);
    const std::vector<float> level{100, 101, 102};
    add_rows(test::main_exec, tensor(h.data(), 3, 2, 1), tensor(rows.data(), 3, 2), tensor(level.data(), 3, 1));
    CHECK((h == std::vector<float>{100, 0, 0, 102, 101, 0}));
}
