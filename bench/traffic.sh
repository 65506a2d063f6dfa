#!/usr/bin/env bash
# bench/traffic.sh [SIZE...] - what each operation loads and stores on a device, beside the least that it can: the table of
# docs/cuda.md. The sizes are those of bench/gpu.cu.
#
# SEQPAR_TEST_LAUNCHER in the environment: a program (and arguments, as a CMake list) that runs CUDA programs and counts their
# accesses; traffic.py tells how it is asked for them. Without one there is nothing to print: a GPU does not count.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${SEQPAR_TEST_LAUNCHER:-}" ]; then
  echo 'bench/traffic.sh: no SEQPAR_TEST_LAUNCHER is given, a program that runs CUDA programs and counts their accesses' >&2
  exit 77
fi
"$root/cmake/setup.sh" tests bench
(cd "$root" && cmake --preset gpu -B build/traffic -DSEQPAR_BUILD_TESTS=OFF -DCMAKE_CUDA_ARCHITECTURES=90 \
  "-DSEQPAR_TEST_LAUNCHER=$SEQPAR_TEST_LAUNCHER" && cmake --build build/traffic --target seqpar_bench_gpu) >&2
IFS=';' read -ra launcher <<<"$SEQPAR_TEST_LAUNCHER"
[ $# != 0 ] || set -- --batch 2 --length 4096 --width 4096 --documents 4 --ranks 4 --span 64
exec python3 "$root/bench/traffic.py" "$root/build/traffic/bench/seqpar_bench_gpu" "$@" -- "${launcher[@]}"
