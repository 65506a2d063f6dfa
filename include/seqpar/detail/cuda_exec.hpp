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

// A failure of CUDA itself: `operation` is the public function in which it came. It is told once.
inline void throw_if_cuda_failed(cudaError_t error, const char* operation) {
    if (error == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());
    throw thrust::system_error(error, thrust::cuda_category(), operation);
}

// What a grid covers: blocks beyond the most that a launch may have are taken in turns by those that there are.
inline constexpr int block_threads = 256;
inline constexpr std::int64_t most_blocks = INT32_MAX;
SEQPAR_HD constexpr unsigned grid_for(std::int64_t blocks, std::int64_t most = most_blocks) {
    return static_cast<unsigned>(blocks < most ? blocks : most);
}

// In a kernel: the thread's number in its grid, and how many threads that has.
__device__ inline std::int64_t thread_number() { return std::int64_t{blockIdx.x} * block_threads + threadIdx.x; }
__device__ inline std::int64_t thread_count() { return std::int64_t{gridDim.x} * block_threads; }

// kernel(arguments…) in so many blocks, at least one. What is thrown is this launch's own failure, and no older one.
template <CudaExec D, class... Parameters>
void launch(const D& exec, const char* operation, std::int64_t blocks, void (*kernel)(Parameters...),
            const std::type_identity_t<Parameters>&... arguments) {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    throw_if_cuda_failed(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(grid_for(blocks)),
                                          dim3(block_threads), pointers, 0, stream_of(exec)),
                         operation);
}
// Ends an operation: for thrust::cuda::par by the synchronisation that Thrust does too.
template <CudaExec D>
void finish(const D& exec, const char* operation) {
    auto copy = thrust_exec(exec);
    throw_if_cuda_failed(thrust::cuda_cub::synchronize_optional(copy), operation);
}

// Keeps the worst Status of all that are reported, whole: while one is written its code reads as all ones.
// (On a host, where nothing calls it, it does nothing.)
SEQPAR_HD inline void report([[maybe_unused]] Status* sink, [[maybe_unused]] const Status& status) {
#if defined(__CUDA_ARCH__)
    if (sink == nullptr || status.ok()) return;
    using Code = unsigned long long;
    constexpr Code locked = ~Code{0};
    auto* const code = reinterpret_cast<Code*>(&sink->code);
    const Code seen = *const_cast<volatile Code*>(code);  // it only grows
    if (seen != locked && seen >= status.code) return;
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

// What is wrong with the layouts that x reads through, of each the entries first, first + step, …: x itself, those of a view made by
// sharded(), one in the other, or those of what an operation's work has under one of the names below.
template <class X>
SEQPAR_HD void check_layouts([[maybe_unused]] const X& x, [[maybe_unused]] Status* status,
                             [[maybe_unused]] std::int64_t first, [[maybe_unused]] std::int64_t step) {
    if constexpr (Layout<X>) {
        for (std::int64_t i = first; i < entries(x); i += step)
            report(status, check_entry(x, i));
    } else if constexpr (requires { x.view(); }) {
        check_layouts(x.view(), status, first, step);
    } else if constexpr (requires { x.mapping(); }) {
        check_layouts(x.mapping(), status, first, step);
    } else if constexpr (requires {
                             x.base();
                             requires Layout<std::remove_cvref_t<decltype(x.layout())>>;
                         }) {
        check_layouts(x.layout(), status, first, step);
        check_layouts(x.base(), status, first, step);
    } else {
        if constexpr (requires { x.layout; }) check_layouts(x.layout, status, first, step);
        if constexpr (requires { x.in; }) check_layouts(x.in, status, first, step);
        if constexpr (requires { x.tokens; }) check_layouts(x.tokens, status, first, step);
        if constexpr (requires { x.reader; }) check_layouts(x.reader, status, first, step);
        if constexpr (requires { x.stream; }) check_layouts(x.stream, status, first, step);
        if constexpr (requires { x.ids; }) check_layouts(x.ids, status, first, step);
        if constexpr (requires { x.valid; }) check_layouts(x.valid, status, first, step);
        if constexpr (requires { x.rows; }) check_layouts(x.rows, status, first, step);
        if constexpr (requires { x.banks; }) check_layouts(x.banks, status, first, step);
    }
}

}  // namespace detail

}  // namespace seqpar
