#!/usr/bin/env bash
# bench/run.sh [--json FILE] [ARG...] - installs what is missing, builds the benchmarks, runs them and prints one table.
#
# --json FILE also writes Google Benchmark's JSON. ARGs go to the program: bench/run.sh --benchmark_filter=shard.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
json=()
if [ "${1:-}" = --json ]; then
  json=("--benchmark_out=${2:?--json needs a file}" --benchmark_out_format=json)
  shift 2
fi
"$root/cmake/setup.sh" bench
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
(cd "$root" && cmake --preset bench && cmake --build --preset bench) >&2
exec "$root/build/bench/bench/seqpar_bench" --benchmark_counters_tabular=true "${json[@]}" "$@"
