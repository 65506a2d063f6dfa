// Index arithmetic of sizes that no machine here has memory for: more than 2^31 accesses, strides of more than 2^31 bytes, and more
// tiles than a grid has blocks. Only the last tile runs, at the end of arrays whose beginnings do not exist.
#include "device/device.hpp"

#include <seqpar/layout/indexed.hpp>

using namespace seqpar;
using test::counted_from;
using test::DeviceArray;
using Int4 = std::array<std::int32_t, 4>;

namespace {

constexpr std::int64_t huge = (std::int64_t{1} << 33) + 5;

template <detail::Direction To, Layout L>
__global__ void run_tile(const __grid_constant__ detail::DeviceMove<L> array, std::int64_t tile) {
    detail::move_tile<To>(array, tile);
}

// The address that element 0 of an array would have whose element `index` is at `data`.
template <class T>
std::byte* beginning(const DeviceArray<T>& array, std::int64_t index) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(array.data()) -
                                        static_cast<std::uintptr_t>(index) * sizeof(T));
}

}  // namespace

TEST_CASE("tiles of 2^33 rows are counted in 64 bits, and a grid of fewer blocks covers them") {
    for (const std::int64_t bytes : {2, 16, 512, 8192, 40000}) {
        const detail::RowTiles tiles = detail::row_tiles(huge, bytes, 2);
        const std::int64_t rows = (detail::block_threads >> tiles.lane_bits) * tiles.rows_a_thread;
        CHECK(tiles.row_blocks * rows >= huge);
        CHECK((tiles.row_blocks - 1) * rows < huge);
        CHECK(tiles.parts * (detail::accesses_a_thread << tiles.lane_bits) * 2 >= bytes);
    }
    CHECK(detail::grid_for(huge) == INT32_MAX);
    CHECK(detail::grid_for(7) == 7);
}

TEST_CASE("the last of 2^33 slots moves, narrow and wide, to the shard and back") {
    const std::int64_t here = 300;  // of the last slots, those that exist
    const auto layout = Contiguous{}(huge, 1);
    const auto move_last = [&](auto element) {
        using T = decltype(element);
        std::vector<T> values(static_cast<std::size_t>(here));
        for (std::size_t i = 0; i < values.size(); ++i)
            std::memcpy(&values[i], &i, sizeof(T) < sizeof(i) ? sizeof(T) : sizeof(i));
        const DeviceArray<T> in(values), out(here), back(here);
        const auto last_tile = [&](const DeviceArray<T>& whole, const DeviceArray<T>& shard) {
            detail::SlotCopy copy;
            copy.whole = {beginning(whole, huge - here), sizeof(T), {}};
            copy.shard = {beginning(shard, huge - here), sizeof(T), {}};
            copy.part = sizeof(T);
            copy.element_bytes = sizeof(T);
            return detail::device_move(detail::SlotMove<ContiguousLayout>{layout, 0, copy, {}});
        };
        const auto to_shard = last_tile(in, out);
        const auto to_whole = last_tile(back, out);
        run_tile<detail::Direction::to_shard><<<1, detail::block_threads>>>(to_shard, to_shard.blocks - 1);
        run_tile<detail::Direction::to_whole><<<1, detail::block_threads>>>(to_whole, to_whole.blocks - 1);
        test::must(cudaDeviceSynchronize());
        const std::int64_t rows = (detail::block_threads >> to_shard.tiles.lane_bits) * to_shard.tiles.rows_a_thread;
        const std::int64_t moved = huge - (to_shard.blocks - 1) * rows;
        REQUIRE(moved > 0);
        REQUIRE(moved <= here);
        const std::vector<T> got = out.get(), round = back.get();
        for (std::int64_t i = here - moved; i < here; ++i) {
            CHECK(got[static_cast<std::size_t>(i)] == values[static_cast<std::size_t>(i)]);
            CHECK(round[static_cast<std::size_t>(i)] == values[static_cast<std::size_t>(i)]);
        }
    };
    move_last(std::int64_t{});
    move_last(Int4{});
}

TEST_CASE("rows lie more than 2^31 bytes apart") {
    constexpr std::int64_t stride = std::int64_t{3} << 30;
    const std::vector<std::int64_t> index{2, -1, 2};
    const DeviceArray<std::int64_t> d_index(index);
    const DeviceArray<std::int32_t> in(counted_from<std::int32_t>(8, 100)), out(3 * 8);
    const auto layout = indexed(test::offsets_on(d_index), 3);
    detail::SlotCopy copy;
    copy.whole = {beginning(in, 2 * stride / 4), stride, {}};
    copy.shard = {reinterpret_cast<std::byte*>(out.data()), 32, {}};
    copy.part = 32;
    copy.element_bytes = 4;
    const detail::SlotMove<Indexed<std::int64_t>> move{layout, 0, copy, detail::fill_as<std::int32_t>(-7, 0)};
    run_tile<detail::Direction::to_shard><<<1, detail::block_threads>>>(detail::device_move(move), 0);
    test::must(cudaDeviceSynchronize());
    std::vector<std::int32_t> expected = in.get();
    expected.insert(expected.end(), 8, -7);
    const std::vector<std::int32_t> row = in.get();
    expected.insert(expected.end(), row.begin(), row.end());
    CHECK((out.get() == expected));
}

TEST_CASE("a grid of fewer blocks than tiles moves all of them") {
    const DeviceArray<std::int64_t> in(counted_from<std::int64_t>(20000)), out(10000);
    const auto layout = ZigZag{}(20000, 2);
    const auto in_view = in.tensor(20000);
    const auto out_view = out.tensor(10000);
    const detail::SlotMove<ZigZagLayout> move{
        layout, 1, detail::slot_copy(array_ref(in_view), array_ref(out_view), 0), {}};
    detail::MoveBatch<detail::Direction::to_shard, detail::MoveGroup<ZigZagLayout, 1>> batch;
    batch.blocks = detail::add_to_group(cuda::std::get<0>(batch.groups), move);
    REQUIRE(batch.blocks > 3);
    detail::move_kernel<<<3, detail::block_threads>>>(batch);
    test::must(cudaDeviceSynchronize());
    CHECK((out.get() == counted_from<std::int64_t>(10000, 5000)));
}

namespace {

// Where kernels of gathers and sums find things, as a kernel computes it.
struct Found {
    std::int64_t sample, token, vector;  // of a token of 2^33: its coordinates, and its vector's first element
    std::int64_t row;                    // the first element of a bank row
};

template <class Rows>
__global__ void find(const __grid_constant__ Rows rows,
                     const __grid_constant__ detail::VectorArray<std::int32_t> vectors,
                     const __grid_constant__ detail::BankList<std::int32_t, 1> bank, std::int64_t number,
                     std::int64_t row, Found* found) {
    const detail::TokenIndex index = detail::token_index(rows, number);
    *found = {index.at[0], index.at[1], vectors.template vector_of<2>(index) - vectors.data,
              detail::bank_vector(bank, 0, row) - bank.bank[0].data};
}

}  // namespace

TEST_CASE("tokens, vectors and bank rows are found beyond 2^31 of them, and beyond 2^31 elements") {
    constexpr std::int64_t samples = 3, length = huge / 2, width = 5120;
    const std::int32_t text = -1;
    const auto rows = detail::RowReader(tensor(&text, {samples, length}, {0, 0}));
    detail::VectorArray<std::int32_t> vectors;
    vectors.axes = 2;
    vectors.width = width;
    vectors.extents[0] = samples;
    vectors.extents[1] = length;
    vectors.strides[0] = length * width;
    vectors.strides[1] = width;
    detail::BankList<std::int32_t, 1> bank;
    bank.bank[0] = vectors;
    bank.bank[0].strides[0] = width;
    const DeviceArray<Found> found(1);
    for (const std::int64_t number : {std::int64_t{0}, length - 1, length, 2 * length + 7, samples * length - 1}) {
        find<<<1, 1>>>(rows, vectors, bank, number, number, found.data());
        test::must(cudaDeviceSynchronize());
        const Found at = found.get()[0];
        CHECK(at.sample == number / length);
        CHECK(at.token == number % length);
        CHECK(at.vector == number * width);
        CHECK(at.row == number * width);
    }
    for (const std::int64_t vector_bytes : {std::int64_t{8}, std::int64_t{1} << 14, std::int64_t{3} << 31}) {
        const detail::RowTiles tiles = detail::row_tiles(huge, vector_bytes, 8);
        CHECK(tiles.parts * (std::int64_t{detail::accesses_a_thread} << tiles.lane_bits) * 8 >= vector_bytes);
        CHECK(tiles.row_blocks * (detail::block_threads >> tiles.lane_bits) * tiles.rows_a_thread >= huge);
    }
}
