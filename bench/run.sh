#!/usr/bin/env bash
# bench/run.sh [OPTION...] - installs what is missing, builds the benchmarks, runs them and prints one table.
#
# --json FILE also writes Google Benchmark's JSON; --help lists all options, among them the sizes. See bench/README.md.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
"$root/cmake/setup.sh" bench
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
(cd "$root" && cmake --preset bench && cmake --build --preset bench) >&2
exec "$root/build/bench/bench/seqpar_bench" "$@"
