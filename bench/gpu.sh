#!/usr/bin/env bash
# bench/gpu.sh [OPTION...] - builds the GPU benchmark for the GPU of this machine, runs it and prints one table.
#
# --only PART: operations with that in their name; --runs N; sizes: see bench/README.md. Exit code 3: a target was missed.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
if ! nvidia-smi -L >/dev/null 2>&1; then
  echo 'bench/gpu.sh: no GPU here (nvidia-smi -L fails)' >&2
  exit 77
fi
[ -d "$root/build/gpu-packages" ] || "$root/cmake/setup.sh" tests bench # tests/gpu.sh --prepare fills it
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
(cd "$root" && cmake --preset gpu && cmake --build --preset gpu --target seqpar_bench_gpu) >&2
exec "$root/build/gpu/bench/seqpar_bench_gpu" "$@"
