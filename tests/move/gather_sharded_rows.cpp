// Row arrays read through sharded(): what the materialised rows give, for rows of any strides, [S,B] and [B,S], padded layouts,
// several banks, and shards of shards.
#include "exec.hpp"
#include "move/vectors.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/levels.hpp>

using namespace seqpar;
using test::List;
using test::Random;
using test::random_rows;
using test::random_vectors;
using test::Rows;
using test::Vectors;

namespace {

constexpr std::int64_t sharded_width = 3;
const List sharded_cu{0, 8, 8, 1208, 1216};  // more tokens a rank than are read at a time
const List sharded_real{0, 7, 7, 1000, 1008};

// The rows of a rank written out; pad slots are text.
template <class L, std::size_t M>
Rows<M> materialised(Random& random, const L& layout, int rank, const Rows<M>& rows, std::size_t axis) {
    auto shape = rows.row.extents;
    shape[axis] = layout.slots(rank);
    Rows<M> local{random_vectors<std::int32_t, M>(random, shape, false),
                  random_vectors<std::int32_t, M>(random, shape, false)};
    test::for_each_token(shape, [&](const List& token) {
        List from = token;
        from[axis] = layout.source(layout.position(rank, token[axis]));
        *local.row.at(token) = from[axis] < 0 ? -1 : *rows.row.at(from);
        *local.bank.at(token) = from[axis] < 0 ? -1 : *rows.bank.at(from);
    });
    return local;
}

template <class L, std::size_t M, int A, class Shard>
void compare(Random& random, const L& layout, const std::array<std::int64_t, M>& shape, Axis<A>, const Shard& shard) {
    const List bank_rows{200, 150};
    const std::vector<Vectors<float, 2>> bank{random_vectors<float, 2>(random, {200, sharded_width}),
                                              random_vectors<float, 2>(random, {150, sharded_width})};
    const Rows<M> rows = random_rows<M>(random, shape, bank_rows, false);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const Rows<M> local = materialised(random, layout, rank, rows, static_cast<std::size_t>(A));
        std::array<std::int64_t, M + 1> vectors{};
        for (std::size_t i = 0; i < M; ++i)
            vectors[i] = local.row.extents[i];
        vectors[M] = sharded_width;
        Vectors<float, M + 1> out = random_vectors<float, M + 1>(random, vectors);
        Vectors<float, M + 1> expected = out;
        test::naive_forward(out, local, bank, expected);
        const auto to = out.view();
        VisionGather{}(test::main_exec, to, row_array(shard(rows.row.view(), rank), shard(rows.bank.view(), rank)),
                       banks(bank[0].view(), bank[1].view()), to);
        test::require_same_bits(out.memory, expected.memory);
        // Duplicates are summed, and rows listed, as from the rows written out.
        auto lazily = bank;
        auto written_out = bank;
        std::vector<std::int32_t> lazy_list(static_cast<std::size_t>(4 * layout.slots(rank))), list = lazy_list;
        const auto run = [&](const auto& local_rows, auto& d_banks, auto& rows_found) {
            VisionGather{}.backward(test::main_exec, to, local_rows, no_gradient,
                                    banks(d_banks[0].view(), d_banks[1].view()), Summed<Add>{});
            compact(test::main_exec, local_rows, only_banks({1}), no_array, rows_found);
        };
        run(row_array(shard(rows.row.view(), rank), shard(rows.bank.view(), rank)), lazily, lazy_list);
        run(row_array(local.row.view(), local.bank.view()), written_out, list);
        for (std::size_t b = 0; b < 2; ++b)
            test::require_same_bits(lazily[b].memory, written_out[b].memory);
        REQUIRE(lazy_list == list);
    }
}

}  // namespace

TEST_CASE("rows [S,B] of any strides through a lazy shard along S") {
    Random random(551);
    const auto layout = packed(ZigZag{}, sharded_cu, sharded_cu.back(), 2);
    const auto shard = [&](const auto& rows, int rank) { return sharded(rows, layout, rank, axis<0>); };
    for (int i = 0; i < test::rounds(10); ++i)
        compare(random, layout, std::array<std::int64_t, 2>{1216, random.between(1, 3)}, axis<0>, shard);
}

TEST_CASE("rows [B,S] of any strides through a lazy shard along S with pad slots") {
    Random random(552);
    const auto layout =
        padded(packed(ZigZag{}, sharded_cu, sharded_cu.back(), 2), sharded_real, sharded_cu, sharded_real.back());
    const auto shard = [&](const auto& rows, int rank) { return sharded(rows, layout, rank, axis<1>, -1); };
    for (int i = 0; i < test::rounds(10); ++i)
        compare(random, layout, std::array<std::int64_t, 2>{random.between(1, 3), 1008}, axis<1>, shard);
}

TEST_CASE("rows through a shard of a shard") {
    Random random(553);
    const auto cp = packed(ZigZag{}, sharded_cu, sharded_cu.back(), 2);
    const auto layout = nested(cp, Contiguous{}, 2);
    const auto shard = [&](const auto& rows, int rank) {
        return sharded(sharded(rows, cp, rank / 2, axis<0>), Contiguous{}(608, 2), rank % 2, axis<0>);
    };
    for (int i = 0; i < test::rounds(5); ++i)
        compare(random, layout, std::array<std::int64_t, 1>{1216}, axis<0>, shard);
}

TEST_CASE("rows of an mdspan with another index type") {
    std::vector<float> x{0, 1, 2, 3};
    const std::vector<float> bank{10, 11, 12, 13, 14, 15};
    const std::vector<std::int32_t> rows{2, -1};
    const cuda::std::mdspan<const std::int32_t, cuda::std::dextents<std::size_t, 1>> wide(rows.data(), 2);
    const cuda::std::mdspan<float, cuda::std::dextents<std::size_t, 2>> vectors(x.data(), 2, 2);
    const cuda::std::mdspan<const float, cuda::std::extents<int, 3, 2>> fixed(bank.data());
    VisionGather{}(test::main_exec, vectors, wide, fixed, vectors);
    CHECK((x == std::vector<float>{14, 15, 2, 3}));
    // Banks of such a type too: row 2 of bank 0, and text.
    const std::vector<std::int32_t> numbers{0, -1};
    const cuda::std::mdspan<const std::int32_t, cuda::std::dextents<std::size_t, 1>> which(numbers.data(), 2);
    x = {0, 1, 2, 3};
    VisionGather{}(test::main_exec, vectors, row_array(wide, which), fixed, vectors);
    CHECK((x == std::vector<float>{14, 15, 2, 3}));
}
