#!/usr/bin/env bash
# tests/run.sh [--preset NAME] [ARG...] - installs what is missing, builds seqpar and its tests, and runs them.
#
# NAME is a preset of CMakePresets.json: default, clang, sanitize, thread, cuda-all. ARGs go to ctest:
# tests/run.sh -R layout, tests/run.sh -V.
# SEQPAR_TEST_LAUNCHER, SEQPAR_NCCL_TEST_LAUNCHER in the environment: programs that run the device tests and those of
# NCCL (see CMakeLists.txt).
set -euo pipefail

preset=default
if [ "${1:-}" = --preset ]; then
  preset=${2:?--preset needs a name}
  shift 2
fi
case $preset in
  default) needs=(tests examples bench mpi nccl sass) ;;
  clang) needs=(tests examples mpi clang) ;;
  sanitize) needs=(tests examples clang cccl-newest) ;;
  thread) needs=(tests clang) ;;
  cuda-all) needs=(tests examples bench mpi nccl sass) ;;
  *)
    echo "tests/run.sh: no such preset: $preset (see the head of this file)" >&2
    exit 2
    ;;
esac

cd "$(dirname "$0")/.."
cmake/setup.sh "${needs[@]}"
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}
# What a launcher runs is compiled as PTX; this preset is there to compile for every architecture.
if [ "$preset" = cuda-all ]; then unset SEQPAR_TEST_LAUNCHER SEQPAR_NCCL_TEST_LAUNCHER; fi
cmake --preset "$preset" ${SEQPAR_TEST_LAUNCHER:+"-DSEQPAR_TEST_LAUNCHER=$SEQPAR_TEST_LAUNCHER"} \
  ${SEQPAR_NCCL_TEST_LAUNCHER:+"-DSEQPAR_NCCL_TEST_LAUNCHER=$SEQPAR_NCCL_TEST_LAUNCHER"}
cmake --build --preset "$preset"
exec ctest --preset "$preset" "$@"
