// The version of seqpar, as macros for the preprocessor and as constants; CMakeLists.txt reads it from here.
// Not here: the version of CCCL or CUDA that a program is compiled with.
#pragma once

#define SEQPAR_VERSION_MAJOR 0
#define SEQPAR_VERSION_MINOR 1
#define SEQPAR_VERSION_PATCH 0

// Major * 1,000,000 + minor * 1,000 + patch, for comparisons in #if.
#define SEQPAR_VERSION (SEQPAR_VERSION_MAJOR * 1000000 + SEQPAR_VERSION_MINOR * 1000 + SEQPAR_VERSION_PATCH)

namespace seqpar {

inline constexpr int version_major = SEQPAR_VERSION_MAJOR;
inline constexpr int version_minor = SEQPAR_VERSION_MINOR;
inline constexpr int version_patch = SEQPAR_VERSION_PATCH;

}  // namespace seqpar
