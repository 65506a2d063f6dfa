// Index arrays on CUDA: a thread an entry, in one launch. Compiles under nvcc alone. Not here: scans; see cuda_scan.hpp.
#pragma once

#include <seqpar/detail/cuda_exec.hpp>
#include <seqpar/index/detail/index_array.hpp>

#include <cuda/cmath>

namespace seqpar::detail {

// What every thread of a kernel looks at of the data that `work` reads.
template <class Work>
__device__ void check_data(const Work& work, Status* status) {
    if constexpr (requires { work.layout; }) check_layouts(work.layout, status);
    if constexpr (requires { work.tokens; }) check_layouts(work.tokens, status);
    if constexpr (requires { work.offset_count(); }) {
        const std::int64_t step = std::int64_t{gridDim.x} * block_threads;
        for (std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; i < work.offset_count();
             i += step)
            report(status, work.check_offset(i));
    }
}

template <class Work>
__global__ void __launch_bounds__(block_threads) index_kernel(const __grid_constant__ Work work, Status* status) {
    const std::int64_t step = std::int64_t{gridDim.x} * block_threads;
    for (std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; i < work.total; i += step) {
        if constexpr (requires { work(i); }) {
            work(i);
        } else {
            work(i, i + 1);
        }
    }
    if (status != nullptr) check_data(work, status);
}

template <CudaExec D, class Work>
void run_index_work(Dispatch, const D& exec, const Work& work) {
    if (work.total <= 0) return;
    const std::int64_t blocks = cuda::ceil_div(work.total, std::int64_t{block_threads});
    index_kernel<<<grid_for(blocks), block_threads, 0, stream_of(exec)>>>(work, sink_of(exec));
    finish_launch(exec, "seqpar, an index array");
}

}  // namespace seqpar::detail
