// Index arrays on CUDA: a thread an entry, in one launch. Compiles under nvcc alone. Not here: scans; see cuda_scan.hpp.
#pragma once

#include <seqpar/detail/cuda_exec.hpp>
#include <seqpar/index/detail/index_array.hpp>

namespace seqpar::detail {

template <class Work>
__global__ void __launch_bounds__(block_threads) index_kernel(const __grid_constant__ Work work) {
    const std::int64_t step = std::int64_t{gridDim.x} * block_threads;
    for (std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; i < work.total; i += step)
        work(i, i + 1);
}

template <CudaExec D, class Work>
void run_index_work(Dispatch, const D& exec, const Work& work) {
    const std::int64_t blocks = (work.total + block_threads - 1) / block_threads;
    if (blocks <= 0) return;
    index_kernel<<<grid_for(blocks), block_threads, 0, stream_of(exec)>>>(work);
    finish_launch(exec, "seqpar, an index array");
}

}  // namespace seqpar::detail
