// Index arrays on CUDA: a thread an entry, in one launch. Compiles under nvcc alone. Not here: scans; see cuda_scan.hpp.
#pragma once

#include <seqpar/detail/cuda_exec.hpp>
#include <seqpar/index/detail/index_array.hpp>

#include <cuda/cmath>

namespace seqpar::detail {

// What every thread of a kernel looks at of the data that `work` reads.
template <class Work>
__device__ void check_data(const Work& work, Status* status) {
    check_layouts(work, status, thread_number(), thread_count());
    if constexpr (requires { work.offset_count(); }) {
        for (std::int64_t i = thread_number(); i < work.offset_count(); i += thread_count())
            report(status, work.check_offset(i));
    }
}

template <class Work>
__global__ void __launch_bounds__(block_threads) index_kernel(const __grid_constant__ Work work, Status* status) {
    for (std::int64_t i = thread_number(); i < work.total; i += thread_count()) {
        if constexpr (requires { work(i); }) {
            work(i);
        } else {
            work(i, i + 1);
        }
    }
    if (status != nullptr) check_data(work, status);
}

// As run_index_work, where more of the operation follows.
template <CudaExec D, class Work>
void launch_index_work(const D& exec, const Work& work) {
    if (work.total > 0)
        launch(exec, Work::operation, cuda::ceil_div(work.total, std::int64_t{block_threads}), index_kernel<Work>, work,
               sink_of(exec));
}
template <CudaExec D, class Work>
void run_index_work(Dispatch, const D& exec, const Work& work) {
    launch_index_work(exec, work);
    finish(exec, Work::operation);
}

}  // namespace seqpar::detail
