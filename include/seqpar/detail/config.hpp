// Compiler marks and defaults that every header of the library relies on. Not public: users set nothing here.
#pragma once

// A host compiler has no CUDA runtime, so Thrust's device system must not default to CUDA there.
#if !defined(THRUST_DEVICE_SYSTEM) && !defined(__CUDACC__)
#    define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CPP
#endif

#if defined(__CUDACC__)
#    define SEQPAR_HD __host__ __device__
#else
#    define SEQPAR_HD
#endif

// A function that the host does not merge into its caller, so that both stay vector code.
#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
#    define SEQPAR_APART __attribute__((noinline))
#else
#    define SEQPAR_APART
#endif
