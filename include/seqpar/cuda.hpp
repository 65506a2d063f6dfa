// The CUDA paths: with it, thrust::cuda::par and par_nosync (on a stream, with an allocator) are execs of all operations.
// Compiles under nvcc alone; seqpar/seqpar.hpp does not include it.
#pragma once

#include <seqpar/detail/cuda_exec.hpp>
#include <seqpar/exchange/detail/cuda_exchange.hpp>
#include <seqpar/index/detail/cuda_check_rows.hpp>
#include <seqpar/index/detail/cuda_index.hpp>
#include <seqpar/index/detail/cuda_scan.hpp>
#include <seqpar/move/detail/cuda_gather.hpp>
#include <seqpar/move/detail/cuda_move.hpp>
#include <seqpar/move/detail/cuda_rows.hpp>
#include <seqpar/seqpar.hpp>

namespace seqpar {

// `exec`, and where its kernels say what is wrong with the data that they read on the device (offsets, tables, row numbers):
// the worst of it is kept in *status, device memory that the caller zeroed. It is sticky: many operations may share one.
// No launch is spent on it, nothing synchronises; without it device data is trusted, though never followed outside an array.
template <detail::CudaExec D>
[[nodiscard]] auto reporting(const D& exec, Status* status) {
    static_assert(!detail::is_reporting<D>, "this execution policy reports already");
    return detail::Reporting<D>(exec, status);
}

}  // namespace seqpar
