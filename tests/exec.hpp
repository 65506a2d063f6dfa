// The exec under which the tests run operations: thrust::seq, or, where nvcc compiles a test again for the device,
// thrust::cuda::par, which synchronises, on memory that host and device share (device/managed.cpp).
#pragma once

#if defined(__CUDACC__)
#    include <thrust/device_malloc_allocator.h>
#    include <seqpar/cuda.hpp>
#else
#    include <thrust/execution_policy.h>
#endif

namespace test {

#if defined(__CUDACC__)
inline constexpr bool on_device = true;
inline thrust::device_malloc_allocator<char> scratch_memory;
inline const auto main_exec = thrust::cuda::par(scratch_memory);
#else
inline constexpr bool on_device = false;
inline const auto& main_exec = thrust::seq;
#endif

// Rounds of a test that takes random cases: fewer on a device, where each launches kernels.
constexpr int rounds(int on_a_host) { return on_device ? (on_a_host + 15) / 16 : on_a_host; }

}  // namespace test
