// A kernel of your own that reads what its rank holds in place, through a sharded() view: no index array, no copy first.
// Not here: the library's own kernels; see seqpar/cuda.hpp.
#include <seqpar/cuda.hpp>

#include <thrust/device_vector.h>

#include <cstdio>
#include <vector>

namespace sp = seqpar;

// One thread a slot. `x` is any two-dimensional mdspan; of a sharded one, x(t, k) is element k of the token in slot t.
template <class View>
__global__ void sum_tokens(View x, float* sums) {
    const auto slot = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (slot >= x.extent(0)) return;
    float sum = 0;
    for (std::int64_t k = 0; k < x.extent(1); ++k)
        sum += x(slot, k);
    sums[slot] = sum;
}

int main() {
    const std::int64_t tokens = 16, width = 4;
    const int cp = 2;
    const std::vector<std::int32_t> cu_seqlens{0, 4, 16};  // two documents
    std::vector<float> values;
    for (std::int64_t i = 0; i < tokens * width; ++i)
        values.push_back(static_cast<float>(i / width));

    const thrust::device_vector<std::int32_t> cu_on_device(cu_seqlens);
    const thrust::device_vector<float> x(values);
    const sp::Offsets<std::int32_t> offsets(thrust::raw_pointer_cast(cu_on_device.data()), 3);
    const auto layout = sp::packed(sp::ZigZag{}, offsets, tokens, cp);

    for (int rank = 0; rank < cp; ++rank) {
        const auto mine =
            sp::sharded(sp::tensor(thrust::raw_pointer_cast(x.data()), tokens, width), layout, rank, sp::axis<0>);
        thrust::device_vector<float> sums(static_cast<std::size_t>(mine.extent(0)));
        sum_tokens<<<1, 32>>>(mine, thrust::raw_pointer_cast(sums.data()));
        const std::vector<float> got(sums.begin(), sums.end());
        std::printf("rank %d:", rank);
        for (const float sum : got)
            std::printf(" %g", sum);
        std::printf("\n");
        for (std::int64_t slot = 0; slot < mine.extent(0); ++slot) {
            // The same layout on the host, over the host's offsets.
            const auto position = sp::packed(sp::ZigZag{}, cu_seqlens, tokens, cp).position(rank, slot);
            if (got[static_cast<std::size_t>(slot)] != static_cast<float>(width * position)) return 1;
        }
    }
    return 0;
}
