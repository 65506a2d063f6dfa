# cmake -DBUILD_DIR=DIR -DPREFIX=DIR -P install_and_move.cmake
#
# Installs the build into a folder beside PREFIX and moves that to PREFIX, so that a test of the package finds what
# depends on the place of installation.
cmake_minimum_required(VERSION 3.24)

file(REMOVE_RECURSE "${PREFIX}" "${PREFIX}.installed")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${PREFIX}.installed"
  COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${PREFIX}.installed" "${PREFIX}")
