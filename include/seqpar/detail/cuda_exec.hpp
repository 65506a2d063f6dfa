// Which execution policies CUDA runs, and what all its operations share: a launch, and a Status that kernels write into.
// Compiles under nvcc alone. Not here: any kernel.
#pragma once

#include <seqpar/detail/exec.hpp>

#include <thrust/system/cuda/error.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system_error.h>

#include <cuda_runtime_api.h>

namespace seqpar {

namespace detail {

// thrust::cuda::par and par_nosync, on a stream or not, with an allocator or without; and reporting() of any of them.
template <class D>
concept CudaExec = std::is_base_of_v<thrust::cuda_cub::execution_policy<D>, D>;

// A CUDA exec whose kernels look at the data they read and put what is wrong with it into *status.
template <CudaExec D>
struct Reporting : thrust::cuda_cub::execution_policy<Reporting<D>> {
    D base;
    Status* status;

    Reporting(const D& exec, Status* where) : base(exec), status(where) {}
};

template <class D>
inline constexpr bool is_reporting = false;
template <class D>
inline constexpr bool is_reporting<Reporting<D>> = true;

template <CudaExec D>
const D& thrust_exec(const D& exec) {
    return exec;
}
template <CudaExec D>
const D& thrust_exec(const Reporting<D>& exec) {
    return exec.base;
}
// Null: nothing is looked at.
template <CudaExec D>
Status* sink_of(const D&) {
    return nullptr;
}
template <CudaExec D>
Status* sink_of(const Reporting<D>& exec) {
    return exec.status;
}

template <CudaExec D>
cudaStream_t stream_of(const D& exec) {
    auto copy = thrust_exec(exec);  // Thrust asks a policy that is not const
    return thrust::cuda_cub::stream(copy);
}

// A failure of CUDA itself: `operation` is the public function in which it came.
inline void throw_if_cuda_failed(cudaError_t error, const char* operation) {
    if (error != cudaSuccess) throw thrust::system_error(error, thrust::cuda_category(), operation);
}

// Ends an operation: whether its launches were taken, and for thrust::cuda::par the synchronisation that Thrust does too.
template <CudaExec D>
void finish_launch(const D& exec, const char* operation) {
    throw_if_cuda_failed(cudaGetLastError(), operation);
    auto copy = thrust_exec(exec);
    throw_if_cuda_failed(thrust::cuda_cub::synchronize_optional(copy), operation);
}

// What a grid covers: blocks beyond the most that a launch may have are taken in turns by those that there are.
inline constexpr int block_threads = 256;
inline constexpr std::int64_t most_blocks = INT32_MAX;
SEQPAR_HD constexpr unsigned grid_for(std::int64_t blocks, std::int64_t most = most_blocks) {
    return static_cast<unsigned>(blocks < most ? blocks : most);
}

// Keeps the worst Status of all that are reported, whole: while one is written its code reads as all ones.
// (On a host, where nothing calls it, it does nothing.)
SEQPAR_HD inline void report([[maybe_unused]] Status* sink, [[maybe_unused]] const Status& status) {
#if defined(__CUDA_ARCH__)
    if (sink == nullptr || status.ok()) return;
    using Code = unsigned long long;
    constexpr Code locked = ~Code{0};
    auto* const code = reinterpret_cast<Code*>(&sink->code);
    for (;;) {
        const Code before = atomicExch(code, locked);
        if (before == locked) continue;
        __threadfence();
        if (status.code > before) {
            *const_cast<volatile std::int64_t*>(&sink->expected) = status.expected;
            *const_cast<volatile std::int64_t*>(&sink->got) = status.got;
            *const_cast<volatile std::int64_t*>(&sink->field) = status.field;
            __threadfence();
        }
        atomicExch(code, status.code > before ? Code{status.code} : before);
        return;
    }
#endif
}

// What the threads of a grid look at together of the layouts that x reads through: x itself, or those of a view made by sharded(),
// one in the other, or of the row arrays of tokens.
template <class X>
__device__ void check_layouts(const X& x, Status* status) {
    if constexpr (Layout<X>) {
        const std::int64_t step = std::int64_t{gridDim.x} * block_threads;
        for (std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x; i < entries(x); i += step)
            report(status, check_entry(x, i));
    } else if constexpr (requires { x.view(); }) {
        check_layouts(x.view(), status);
    } else if constexpr (requires { x.mapping(); }) {
        check_layouts(x.mapping(), status);
    } else if constexpr (requires { Layout<std::remove_cvref_t<decltype(x.layout())>>; }) {
        check_layouts(x.layout(), status);
        check_layouts(x.base(), status);
    } else if constexpr (requires {
                             x.rows;
                             x.banks;
                         }) {
        check_layouts(x.rows, status);
        check_layouts(x.banks, status);
    }
}

}  // namespace detail

// `exec`, and where its kernels say what is wrong with the data that they read on the device (offsets, tables, row numbers):
// the worst of it is kept in *status, device memory that the caller zeroed. It is sticky: many operations may share one.
// No launch is spent on it, nothing synchronises; without it device data is trusted, though never followed outside an array.
template <detail::CudaExec D>
[[nodiscard]] auto reporting(const D& exec, Status* status) {
    return detail::Reporting<D>(exec, status);
}

}  // namespace seqpar
