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
