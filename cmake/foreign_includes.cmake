# cmake -DINCLUDE_DIR=DIR -DOUTPUT=FILE -P foreign_includes.cmake
#
# Writes a header that includes everything that seqpar's headers under DIR include from others, so that the test of
# hostile macros can define these after it. Only nvcc compiles the CUDA parts; what is missing is left out.
cmake_minimum_required(VERSION 3.24)

file(GLOB_RECURSE files "${INCLUDE_DIR}/seqpar/*")
set(includes "")
foreach(file IN LISTS files)
  file(STRINGS "${file}" lines REGEX "^ *# *include *<")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[^<]*<([^>]*)>.*" "\\1" name "${line}")
    list(APPEND includes "${name}")
  endforeach()
endforeach()
list(FILTER includes EXCLUDE REGEX "^seqpar/")
list(SORT includes)
list(REMOVE_DUPLICATES includes)

set(text "// Written by cmake/foreign_includes.cmake.\n#include <seqpar/detail/config.hpp>\n")
foreach(include IN LISTS includes)
  set(condition "__has_include(<${include}>)")
  if(include MATCHES "^(cub/|cuda_|cooperative_groups|nccl|thrust/system/cuda/)")
    string(APPEND condition " && defined(__CUDACC__)")
  elseif(include MATCHES "^mpi")
    set(condition 0)
  elseif(include MATCHES "^(thrust/system/(omp|tbb)/|omp.h|tbb/)")
    set(condition 0) # never included unasked
  endif()
  string(APPEND text "#if ${condition}\n#    include <${include}>\n#endif\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
