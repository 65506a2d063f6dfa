// Random layouts of every kind, each with the offsets or tables that it borrows.
#pragma once

#include "layout/random.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/multiples.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/permuted.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>

namespace test {

// A user's layout without runs: slot t of rank r is position S-1-(t P + r). Any length; unequal shards.
struct Backwards {
    std::int64_t length = 0;
    int group = 1;

    SEQPAR_HD constexpr std::int64_t size() const { return length; }
    SEQPAR_HD constexpr std::int64_t source_size() const { return length; }
    SEQPAR_HD constexpr int ranks() const { return group; }
    SEQPAR_HD constexpr std::int64_t slots(int rank) const { return (length - rank + group - 1) / group; }
    SEQPAR_HD constexpr std::int64_t position(int rank, std::int64_t slot) const { return length - 1 - (slot * group + rank); }
    SEQPAR_HD constexpr seqpar::Place place(std::int64_t position) const {
        const std::int64_t turned = length - 1 - position;
        return {static_cast<int>(turned % group), turned / group};
    }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return position; }
};
static_assert(seqpar::Layout<Backwards> && !seqpar::RunLayout<Backwards>);

// f(layout) with a layout over a whole sequence that has a formula.
template <class F>
void with_formula_layout(Random& random, F f) {
    using namespace seqpar;
    const int ranks = static_cast<int>(random.between(1, 6));
    const std::int64_t units = random.between(0, 6);
    switch (random.between(0, 3)) {
        case 0: return f(ZigZag{}(units * ZigZag{}.multiple(ranks), ranks));
        case 1: return f(Contiguous{}(units * ranks, ranks));
        case 2: return f(UnevenContiguous{}(random.between(0, 40), ranks));
        default: {
            const Striped striped{random.between(1, 3)};
            return f(striped(units * striped.multiple(ranks), ranks));
        }
    }
}

// f(layout) with another layout over a whole sequence: a table of runs, parts of one, or a user's. Shards may differ in size.
template <class F>
void with_free_layout(Random& random, F f) {
    using namespace seqpar;
    const int ranks = static_cast<int>(random.between(1, 6));
    const std::int64_t length = random.between(0, 40);
    switch (random.between(0, 2)) {
        case 0: {
            const Table table = random_table(random, ranks, length);
            return f(Permuted(table.view()));
        }
        case 1: {
            const std::int64_t multiple = ZigZag{}.multiple(ranks);
            return f(nested(ZigZag{}(length / multiple * multiple, ranks), UnevenContiguous{},
                            static_cast<int>(random.between(1, 3))));
        }
        default: return f(Backwards{length, ranks});
    }
}

// f(layout) with a layout over documents, some of which are empty.
template <class F>
void with_packed_layout(Random& random, F f) {
    using namespace seqpar;
    const int ranks = static_cast<int>(random.between(1, 5));
    if (random.once_in(3)) {
        const List cu = random_offsets(random, ranks, 6, 3);
        return f(packed(Contiguous{}, cu, cu.back(), ranks));
    }
    const int parts = static_cast<int>(random.between(1, 3));
    const List cu = random_offsets(random, pad_multiple(ZigZag{}, ranks, parts), 5, 2);
    const std::vector<std::int32_t> narrow = as<std::int32_t>(cu);
    const auto layout = packed(ZigZag{}, narrow, cu.back(), ranks);
    if (random.once_in(2)) return f(layout);
    f(nested(layout, Contiguous{}, parts));
}

// f(layout) with a layout that has pad slots, or could have.
template <class F>
void with_padded_layout(Random& random, F f) {
    using namespace seqpar;
    const int ranks = static_cast<int>(random.between(1, 5));
    const int parts = static_cast<int>(random.between(1, 3));
    const List cu = random_offsets(random, pad_multiple(ZigZag{}, ranks, parts), 5, 2);
    const List real = random_real_offsets(random, cu);
    const std::vector<std::int32_t> narrow = as<std::int32_t>(cu);
    if (random.once_in(3)) {
        const Table table = random_table(random, ranks, cu.back());
        return f(padded(Permuted(table.view()), real, narrow, real.back()));
    }
    const auto layout = padded(packed(ZigZag{}, narrow, cu.back(), ranks), real, narrow, real.back());
    if (random.once_in(2)) return f(layout);
    f(nested(layout, Contiguous{}, parts));
}

}  // namespace test
