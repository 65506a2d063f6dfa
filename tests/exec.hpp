// The exec under which the tests run operations: thrust::seq, or, where nvcc compiles a test again for the device,
// thrust::cuda::par, which synchronises, on memory that host and device share (device/managed.cpp).
#pragma once

#if defined(__CUDACC__)
#    include <seqpar/cuda.hpp>
#    include <thrust/device_malloc_allocator.h>
#else
#    include <thrust/execution_policy.h>
#endif

namespace test {

#if defined(__CUDACC__)
inline thrust::device_malloc_allocator<char> scratch_memory;
inline const auto main_exec = thrust::cuda::par(scratch_memory);
#else
inline const auto& main_exec = thrust::seq;
#endif

}  // namespace test
