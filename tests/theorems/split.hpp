// Splitting for the theorems: what a rank holds of token vectors [S,H], by the library's own shard.
#pragma once

#include "exec.hpp"
#include "move/layouts.hpp"
#include "move/vectors.hpp"

#include <seqpar/move/levels.hpp>
#include <seqpar/move/shard.hpp>

#include <doctest/doctest.h>

namespace test {

constexpr std::int64_t theorem_width = 5;

// Values of any bits, [count, theorem_width].
template <class T>
std::vector<T> random_bits(Random& random, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count * theorem_width));
    fill_random(random, values);
    return values;
}

template <class T>
auto vectors_of(std::vector<T>& values) {
    return seqpar::tensor(values.data(), static_cast<std::int64_t>(values.size()) / theorem_width, theorem_width);
}

// What `rank` holds of rows of `width` elements; pad slots get `fill`. By run-time tensors, so that a layout compiles once.
template <class T, seqpar::Layout L>
std::vector<T> shard_of(const L& layout, int rank, const std::vector<T>& whole, std::int64_t width, T fill) {
    std::vector<T> out(static_cast<std::size_t>(layout.slots(rank) * width));
    const auto in = seqpar::tensor(whole.data(), layout.source_size(), width);
    const auto to = seqpar::tensor(out.data(), layout.slots(rank), width);
    if constexpr (seqpar::is_padded<L>) {
        seqpar::shard(main_exec, layout, rank, seqpar::array_ref(in), seqpar::RuntimeAxis{0}, seqpar::array_ref(to),
                      fill);
    } else {
        seqpar::shard(main_exec, layout, rank, seqpar::array_ref(in), seqpar::RuntimeAxis{0}, seqpar::array_ref(to));
    }
    return out;
}

// The lazy shard of a row array; pad slots are text.
template <seqpar::Layout L>
auto sharded_rows(const std::vector<std::int32_t>& rows, const L& layout, int rank) {
    if constexpr (seqpar::is_padded<L>) {
        return seqpar::sharded(rows, layout, rank, seqpar::axis<0>, -1);
    } else {
        return seqpar::sharded(rows, layout, rank, seqpar::axis<0>);
    }
}

// Rows of S tokens, each row of the bank used once at most, the text between in stretches.
inline std::vector<std::int32_t> injective_rows(Random& random, std::int64_t tokens, std::int64_t bank_rows) {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(tokens), -1);
    std::int32_t next = 0;
    bool vision = false;
    for (std::int32_t& row : rows) {
        if (random.once_in(4)) vision = !vision;
        if (vision && next < bank_rows) row = next++;
        if (random.once_in(10)) ++next;
    }
    // Out of order too: rows are numbers, not positions.
    for (std::size_t i = rows.size(); i > 1 && tokens % 2 == 0; --i) {
        std::swap(rows[i - 1], rows[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
    }
    return rows;
}

// shard(merge(text, bank)) == VisionGather(shard(text), bank, shard(rows)) == the same with sharded(rows); the gradient of the
// embeddings and the adding of levels likewise.
template <seqpar::Layout L>
void check_gather_commutes(Random& random, const L& layout) {
    using namespace seqpar;
    const std::int64_t tokens = layout.source_size();
    const std::int64_t bank_rows = random.between(0, tokens);
    const std::vector<std::int32_t> rows = injective_rows(random, tokens, bank_rows);
    std::vector<float> text = random_bits<float>(random, tokens);
    std::vector<float> bank = random_bits<float>(random, bank_rows);
    std::vector<float> merged(text.size());
    VisionGather{}(main_exec, vectors_of(text), rows, vectors_of(bank), vectors_of(merged));
    std::vector<float> d_text(text.size());
    VisionGather{}.backward(main_exec, vectors_of(text), rows, vectors_of(d_text), no_gradient, Store{});
    // Small numbers: bits of any kind add up to NaN.
    std::vector<float> h(text.size()), level(bank.size());
    for (float& value : h)
        value = static_cast<float>(random.between(-999, 999)) / 7;
    for (float& value : level)
        value = static_cast<float>(random.between(-999, 999)) / 3;
    const std::vector<float> before = h;
    add_rows(main_exec, vectors_of(h), rows, levels(vectors_of(level), vectors_of(level)));
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const std::vector<float> expected = shard_of(layout, rank, merged, theorem_width, 0.0f);
        std::vector<float> local_h = shard_of(layout, rank, before, theorem_width, 0.0f);
        add_rows(main_exec, vectors_of(local_h), sharded_rows(rows, layout, rank),
                 levels(vectors_of(level), vectors_of(level)));
        require_same_bits(local_h, shard_of(layout, rank, h, theorem_width, 0.0f));
        const std::vector<std::int32_t> local_rows = shard_of(layout, rank, rows, 1, -1);
        std::vector<float> split_first = shard_of(layout, rank, text, theorem_width, 0.0f);
        std::vector<float> lazily = split_first;
        std::vector<float> gradient = split_first;
        VisionGather{}(main_exec, vectors_of(split_first), local_rows, vectors_of(bank), vectors_of(split_first));
        require_same_bits(split_first, expected);
        VisionGather{}(main_exec, vectors_of(lazily), sharded_rows(rows, layout, rank), vectors_of(bank),
                       vectors_of(lazily));
        require_same_bits(lazily, expected);
        VisionGather{}.backward(main_exec, vectors_of(gradient), local_rows, vectors_of(gradient), no_gradient,
                                Store{});
        require_same_bits(gradient, shard_of(layout, rank, d_text, theorem_width, 0.0f));
    }
}

}  // namespace test
