#!/usr/bin/env bash
# examples/run.sh [ARG...] - installs what is missing, builds the main job (examples/split_batch) and runs it with ARGs:
#
#   examples/run.sh --layout zigzag --cp 8
#   examples/run.sh --help
#
# Paths among the ARGs are as seen from where you call it.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
"$root/cmake/setup.sh" examples
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
log=$root/build/examples.log
echo "Building the example (build/examples; what the build says goes to build/examples.log)"
mkdir -p "$root/build"
if ! (cd "$root" && cmake --preset examples && cmake --build --preset examples) >"$log" 2>&1; then
  tail -40 "$log" >&2
  exit 1
fi
exec "$root/build/examples/examples/split_batch" "$@"
