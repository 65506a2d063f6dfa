// The exec under which the tests run operations: thrust::seq, or, where nvcc compiles a test again for the device,
// thrust::cuda::par, which synchronises, on memory that host and device share (device/managed.cpp), scratch too.
#pragma once

#if defined(__CUDACC__)
#    include <seqpar/cuda.hpp>

#    include <memory>
#else
#    include <thrust/execution_policy.h>
#endif

namespace test {

#if defined(__CUDACC__)
inline const auto main_exec = thrust::cuda::par(std::allocator<char>{});
#else
inline const auto& main_exec = thrust::seq;
#endif

}  // namespace test
