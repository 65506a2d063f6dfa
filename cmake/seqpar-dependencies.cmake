# What seqpar stands on, found the same way by its own build and by find_package(seqpar): this file is installed beside
# the package configuration. It defines, each with one status line,
#
#   seqpar::cccl   the CCCL headers (libcu++, Thrust, CUB); without them there is no seqpar
#   seqpar::cuda   seqpar::seqpar and the headers of the CUDA toolkit, where a toolkit is found
#   seqpar::nccl   seqpar::cuda and NCCL, where both are found
#   seqpar::mpi    seqpar::seqpar and MPI for C++, where it is found
#
# CCCL is looked for in CMAKE_PREFIX_PATH, in the toolkit and in the system, or taken from SEQPAR_CCCL_INCLUDE_DIR.
# The headers are found without CCCL's own CMake configurations, which do not work in every PyPI wheel; but a target
# CCCL::CCCL that the user's project already has is taken as it is, so that a program never sees two versions.
# -DCMAKE_DISABLE_FIND_PACKAGE_<CUDAToolkit|MPI>=ON leaves a package out.

set(_seqpar_targets_global "${CMAKE_FIND_PACKAGE_TARGETS_GLOBAL}")
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # a user's add_subdirectory(seqpar) must see what these targets link
find_package(CUDAToolkit QUIET)

# --- CCCL -------------------------------------------------------------------------------------------------------------
if(NOT TARGET seqpar::cccl)
  add_library(seqpar::cccl INTERFACE IMPORTED GLOBAL)
  if(TARGET CCCL::CCCL)
    target_link_libraries(seqpar::cccl INTERFACE CCCL::CCCL)
    message(STATUS "seqpar: CCCL from the target CCCL::CCCL")
  else()
    find_path(SEQPAR_CCCL_INCLUDE_DIR cuda/std/mdspan
      HINTS ${SEQPAR_CCCL_HINTS} ${CUDAToolkit_INCLUDE_DIRS}
      PATH_SUFFIXES cccl include/cccl
      DOC "Folder of the CCCL headers: the one that holds cuda/, thrust/ and cub/")
    if(NOT SEQPAR_CCCL_INCLUDE_DIR)
      message(FATAL_ERROR
        "seqpar needs the CCCL headers (3.0 or newer) and found none. They come with the CUDA toolkit 13; without a "
        "toolkit: pip install nvidia-cuda-cccl==13.0.85, and -DCMAKE_PREFIX_PATH=<site-packages>/nvidia/cu13.")
    endif()
    set(_seqpar_cccl_version 0)
    if(EXISTS "${SEQPAR_CCCL_INCLUDE_DIR}/cuda/std/__cccl/version.h")
      file(STRINGS "${SEQPAR_CCCL_INCLUDE_DIR}/cuda/std/__cccl/version.h" _seqpar_cccl_version
        REGEX "^#define CCCL_VERSION [0-9]+")
      string(REGEX REPLACE "[^0-9]" "" _seqpar_cccl_version "${_seqpar_cccl_version}")
    endif()
    math(EXPR _seqpar_cccl_major "${_seqpar_cccl_version} / 1000000")
    math(EXPR _seqpar_cccl_minor "${_seqpar_cccl_version} / 1000 % 1000")
    math(EXPR _seqpar_cccl_patch "${_seqpar_cccl_version} % 1000")
    set(_seqpar_cccl_version ${_seqpar_cccl_major}.${_seqpar_cccl_minor}.${_seqpar_cccl_patch})
    if(_seqpar_cccl_version VERSION_LESS 3.0)
      message(FATAL_ERROR
        "seqpar needs CCCL 3.0 or newer; ${SEQPAR_CCCL_INCLUDE_DIR} holds an older one (${_seqpar_cccl_version}). "
        "Name another prefix in CMAKE_PREFIX_PATH or the folder in SEQPAR_CCCL_INCLUDE_DIR.")
    endif()
    target_include_directories(seqpar::cccl INTERFACE "${SEQPAR_CCCL_INCLUDE_DIR}")
    message(STATUS "seqpar: CCCL ${_seqpar_cccl_version} in ${SEQPAR_CCCL_INCLUDE_DIR}")
  endif()
endif()

# --- CUDA -------------------------------------------------------------------------------------------------------------
# No runtime library is linked here: it comes with the CUDA language of the target that uses seqpar, static or shared as
# that target says.
if(CUDAToolkit_FOUND AND NOT TARGET seqpar::cuda)
  add_library(seqpar::cuda INTERFACE IMPORTED GLOBAL)
  target_link_libraries(seqpar::cuda INTERFACE seqpar::seqpar)
  target_include_directories(seqpar::cuda SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  message(STATUS "seqpar: CUDA ${CUDAToolkit_VERSION} in ${CUDAToolkit_BIN_DIR}: target seqpar::cuda")
elseif(NOT TARGET seqpar::cuda)
  message(STATUS "seqpar: no CUDA toolkit found: no target seqpar::cuda")
endif()

# --- NCCL -------------------------------------------------------------------------------------------------------------
# The PyPI wheel of NCCL has no libnccl.so, only libnccl.so.2.
if(TARGET seqpar::cuda AND NOT TARGET seqpar::nccl)
  find_path(SEQPAR_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${SEQPAR_NCCL_HINTS} PATH_SUFFIXES include
    DOC "Folder of nccl.h")
  find_library(SEQPAR_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR} ${SEQPAR_NCCL_HINTS}
    PATH_SUFFIXES lib DOC "The NCCL library")
  mark_as_advanced(SEQPAR_NCCL_INCLUDE_DIR SEQPAR_NCCL_LIBRARY)
endif()
if(SEQPAR_NCCL_INCLUDE_DIR AND SEQPAR_NCCL_LIBRARY AND TARGET seqpar::cuda AND NOT TARGET seqpar::nccl)
  add_library(seqpar::nccl INTERFACE IMPORTED GLOBAL)
  target_link_libraries(seqpar::nccl INTERFACE seqpar::cuda "${SEQPAR_NCCL_LIBRARY}")
  target_include_directories(seqpar::nccl SYSTEM INTERFACE "${SEQPAR_NCCL_INCLUDE_DIR}")
  message(STATUS "seqpar: NCCL in ${SEQPAR_NCCL_LIBRARY}: target seqpar::nccl")
elseif(NOT TARGET seqpar::nccl)
  message(STATUS "seqpar: no NCCL found: no target seqpar::nccl")
endif()

# --- MPI --------------------------------------------------------------------------------------------------------------
if(NOT TARGET seqpar::mpi)
  set(MPI_CXX_SKIP_MPICXX ON) # the C interface only
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    add_library(seqpar::mpi INTERFACE IMPORTED GLOBAL)
    target_link_libraries(seqpar::mpi INTERFACE seqpar::seqpar MPI::MPI_CXX)
    message(STATUS "seqpar: MPI ${MPI_CXX_VERSION} in ${MPI_CXX_LIBRARIES}: target seqpar::mpi")
  else()
    message(STATUS "seqpar: no MPI found: no target seqpar::mpi")
  endif()
endif()

set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL "${_seqpar_targets_global}")
