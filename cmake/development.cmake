# What tests, examples and benchmarks share, and no user of the library ever sees: the build type, CUDA as a language,
# and seqpar_dev, which links the library with our warnings and the sanitizers asked for.

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE) # -O3 for the baseline CPU
  endif()
  find_program(SEQPAR_CCACHE ccache)
  mark_as_advanced(SEQPAR_CCACHE)
  if(SEQPAR_CCACHE)
    foreach(language CXX CUDA)
      if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
        set(CMAKE_${language}_COMPILER_LAUNCHER "${SEQPAR_CCACHE}")
      endif()
    endforeach()
  endif()
endif()
set(CMAKE_CXX_EXTENSIONS OFF)

# --- CUDA -------------------------------------------------------------------------------------------------------------
set(SEQPAR_CUDA_ENABLED OFF)
if(SEQPAR_BUILD_CUDA AND TARGET seqpar::cuda)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
    enable_language(CUDA)
    set(SEQPAR_CUDA_ENABLED ON)
    message(STATUS "seqpar: the CUDA parts are compiled for ${CMAKE_CUDA_ARCHITECTURES} by ${CMAKE_CUDA_COMPILER}")
  endif()
endif()
if(NOT SEQPAR_CUDA_ENABLED)
  message(STATUS "seqpar: the CUDA parts are not compiled")
endif()

# --- flags ------------------------------------------------------------------------------------------------------------
set(warnings -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND warnings -Wno-restrict) # at -O3 g++ 12 warns about every std::string + "text"
endif()
set(warnings_for_nvcc ${warnings} -Wno-maybe-uninitialized) # g++ 12 warns about every scan of CUB's
list(JOIN warnings_for_nvcc "," warnings_for_nvcc)

add_library(seqpar_dev INTERFACE)
target_link_libraries(seqpar_dev INTERFACE seqpar::seqpar)
target_compile_options(seqpar_dev INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=${warnings_for_nvcc}>")
if(SEQPAR_SANITIZE)
  target_compile_options(seqpar_dev INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SEQPAR_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>"
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitize-ignore.txt>")
  target_link_options(seqpar_dev INTERFACE "-fsanitize=${SEQPAR_SANITIZE}")
endif()

# Stops with the name of the Debian package where one of ours is missing.
#   seqpar_need(<option that asks for it> <what is missing> <Debian package> <found?>)
function(seqpar_need option what package found)
  if(NOT found)
    message(FATAL_ERROR "${option} needs ${what} (Debian: ${package}). tests/run.sh, examples/run.sh and bench/run.sh "
      "install what they need; -D${option}=OFF does without.")
  endif()
endfunction()

# --- programs that run on a device ------------------------------------------------------------------------------------
# add_device_program(<program> <sources>...), and add_device_test(<ctest> <program> [BEFORE <command>...] [ARGUMENTS ...])
function(add_device_program program)
  add_executable(${program} ${ARGN})
  target_link_libraries(${program} PRIVATE seqpar_dev seqpar::cuda)
  if(NOT TARGET seqpar_device_programs)
    add_custom_target(seqpar_device_programs) # what tests/gpu.sh builds
  endif()
  add_dependencies(seqpar_device_programs ${program})
  if(SEQPAR_TEST_LAUNCHER)
    set_target_properties(${program} PROPERTIES CUDA_ARCHITECTURES 90-virtual CUDA_RUNTIME_LIBRARY Shared)
  endif()
endfunction()
function(add_device_test test program)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "BEFORE;ARGUMENTS")
  if(SEQPAR_TEST_LAUNCHER)
    set(launcher ${SEQPAR_TEST_LAUNCHER})
  else()
    set(launcher "${PROJECT_SOURCE_DIR}/cmake/run_on_gpu.sh")
  endif()
  add_test(NAME ${test} COMMAND ${arg_BEFORE} ${launcher} $<TARGET_FILE:${program}> ${arg_ARGUMENTS})
  set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
