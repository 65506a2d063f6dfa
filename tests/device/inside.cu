// Inside a kernel: the elements of a sharded view are what shard() gives on the host, for every kind of layout, pads too.
#include "device/device.hpp"
#include "move/layouts.hpp"

using namespace seqpar;
using test::DeviceArray;
using test::Random;

namespace {

template <class View>
__global__ void read_in_place(View view, std::int64_t* out) {
    for (std::int64_t i = threadIdx.x; i < view.extent(0) * view.extent(1); i += blockDim.x)
        out[i] = view(i / view.extent(1), i % view.extent(1));
}

struct ReadsAsHost {
    template <Layout L>
    void operator()(const L& layout) const {
        const std::int64_t width = 3;
        const auto size = static_cast<std::size_t>(layout.source_size() * width);
        const std::vector<std::int64_t> values = test::counted_from<std::int64_t>(layout.source_size() * width);
        std::vector<std::int64_t> x(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(size));
        const auto whole = tensor(x.data(), layout.source_size(), width);
        for (int rank = 0; rank < layout.ranks(); ++rank) {
            const std::int64_t slots = layout.slots(rank);
            std::vector<std::int64_t> expected(static_cast<std::size_t>(slots * width)), got(expected.size());
            const auto out = tensor(expected.data(), slots, width);
            if constexpr (is_padded<L>) {
                shard(thrust::seq, layout, rank, whole, axis<0>, out, -9);
                read_in_place<<<1, 64>>>(sharded(whole, layout, rank, axis<0>, -9), got.data());
            } else {
                shard(thrust::seq, layout, rank, whole, axis<0>, out);
                read_in_place<<<1, 64>>>(sharded(whole, layout, rank, axis<0>), got.data());
            }
            test::must(cudaDeviceSynchronize());
            REQUIRE((got == expected));
        }
    }
};

}  // namespace

// All memory of this program is shared with the device (managed.cpp), offsets and tables too.
TEST_CASE("a sharded view reads the same inside a kernel, over random layouts of every kind") {
    Random random(77);
    for (int i = 0; i < 60; ++i) {
        test::with_formula_layout(random, ReadsAsHost{});
        test::with_free_layout(random, ReadsAsHost{});
        test::with_packed_layout(random, ReadsAsHost{});
        test::with_padded_layout(random, ReadsAsHost{});
    }
}
