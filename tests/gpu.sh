#!/usr/bin/env bash
# tests/gpu.sh - on a machine with a GPU, the CUDA toolkit, CMake and Ninja, but no network: builds the device tests, the device
# examples and the GPU benchmark, runs them, and the tests once more under compute-sanitizer, within six minutes on 16 cores; where
# there are two GPUs and NCCL, what runs on several GPUs too. One summary at the end.
# tests/gpu.sh --prepare - beforehand, on a machine with a network: puts what comes from package registries (doctest,
# nlohmann-json, Google Benchmark, Eigen) into build/gpu-packages, which is to travel with the tree (git ignores it).
#
# Exit code 0: nothing failed. A compute-sanitizer that refuses the device, or a target of the benchmark that was missed, is told
# and is no failure; what was cut off for time is one.
set -uo pipefail

cd "$(dirname "$0")/.."
packages=$PWD/build/gpu-packages

prepare() {
  set -e
  cmake/setup.sh tests bench
  local library
  library=$(dpkg -S "$(readlink -f /usr/lib/*/libbenchmark.so)" | cut -d: -f1)
  rm -rf "$packages"
  mkdir -p "$packages"
  local package
  for package in doctest-dev nlohmann-json3-dev libbenchmark-dev libeigen3-dev "$library"; do
    dpkg -L "$package" | while read -r file; do
      if [ ! -d "$file" ] || [ -L "$file" ]; then echo "$file"; fi
    done
  done | grep -v '^/usr/share/\(doc\|lintian\|man\)/' | tar -C / -c --files-from=<(sed 's|^/||') | tar -C "$packages" -x
  echo "$packages: $(du -sh "$packages" | cut -f1)"
}

case ${1:-} in
  --prepare)
    prepare
    exit
    ;;
  '') ;;
  *)
    sed -n '2,10s/^# //p' "$0" >&2
    exit 2
    ;;
esac

if ! nvidia-smi -L >/dev/null 2>&1; then
  echo 'tests/gpu.sh: no GPU here (nvidia-smi -L fails)' >&2
  exit 77
fi
if [ ! -d "$packages" ] && ! cmake/setup.sh tests bench; then
  echo 'tests/gpu.sh: run tests/gpu.sh --prepare where there is a network, and bring build/gpu-packages along' >&2
  exit 1
fi

logs=$PWD/build/gpu-logs
mkdir -p "$logs"
end=$((SECONDS + ${SEQPAR_GPU_SECONDS:-350}))
summary=()
failed=0
tell() { # STEP RESULT SECONDS
  summary+=("$(printf '| %-34s | %-44s | %4d s |' "$1" "$2" "$3")")
  echo "== $1: $2 ($3 s)"
}
# step NAME MOST_SECONDS COMMAND...: runs it for at most so long, and no longer than is left; its output goes to a log.
step() {
  local name=$1 most=$2 began=$SECONDS left=$((end - SECONDS)) code=0
  local log="$logs/${name//[^a-z0-9_]/_}.log"
  shift 2
  if [ $left -lt "$most" ]; then most=$left; fi
  if [ "$most" -le 0 ]; then
    code=124
  else
    timeout "$most" "$@" >"$log" 2>&1 || code=$?
  fi
  last_log=$log
  case $code in
    0) tell "$name" passed $((SECONDS - began)) ;;
    124)
      tell "$name" 'FAILED: no time left' $((SECONDS - began))
      failed=1
      ;;
    *)
      # 9 are findings; compute-sanitizer's own lines begin with =========.
      if [[ $name == sanitizer,* ]] && [ $code != 9 ] &&
        grep -q -i '^=========.*\(not supported\|unable to\|failed to initialize\)' "$log"; then
        tell "$name" 'not run: compute-sanitizer refuses the device' $((SECONDS - began))
      elif [[ $name == benchmark ]] && [ $code = 3 ]; then
        tell "$name" 'ran; a target was missed (marked with !)' $((SECONDS - began))
      else
        tell "$name" "FAILED: exit code $code, see ${log#"$PWD/"}" $((SECONDS - began))
        tail -30 "$log"
        failed=1
      fi
      ;;
  esac
  return $code
}

jobs=$(nproc)
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$jobs}
nvidia-smi -L
gpus=$(nvidia-smi -L | grep -c '^GPU ')
# The benchmark is built first: the figures are had even where the tests take too long.
if step configure 60 cmake --preset gpu; then
  if step 'build, benchmark' 150 cmake --build --preset gpu --target seqpar_bench_gpu; then
    step benchmark 60 bench/gpu.sh
    cat "$last_log"
  fi
  step 'build, device programs' 240 cmake --build --preset gpu --target seqpar_device_programs
  # Many processes share the GPU, and each starts in about a second.
  step 'device tests, examples' 120 ctest --test-dir build/gpu -R '^(device|example)[.]' -E '^example[.]nccl' -j 4 \
    --output-on-failure --no-tests=error
  if [ "$gpus" -lt 2 ]; then
    tell 'nccl tests' 'not run: there is one GPU' 0
  elif [ "$(grep -c '^SEQPAR_NCCL_\(INCLUDE_DIR\|LIBRARY\):.*=/' build/gpu/CMakeCache.txt)" != 2 ]; then
    tell 'nccl tests' 'not run: no NCCL was found' 0
  elif step 'build, nccl tests' 60 cmake --build --preset gpu --target seqpar_test_nccl; then
    step 'nccl tests' 60 ctest --test-dir build/gpu -R '^(nccl|example[.]nccl_relayout)[.]' --output-on-failure \
      --no-tests=error
  fi
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  if [ -z "$sanitizer" ]; then
    tell 'compute-sanitizer' 'not run: there is none' 0
  else
    for tool in memcheck racecheck initcheck synccheck; do
      for program in contract status scratch; do
        if ! [ -x build/gpu/tests/seqpar_device_$program ]; then continue; fi
        step "sanitizer, $tool, $program" 30 "$sanitizer" --tool $tool --error-exitcode 9 \
          build/gpu/tests/seqpar_device_$program || true
      done
    done
  fi
fi

echo
printf '%s\n' '| step | result | time |' '| --- | --- | --- |' "${summary[@]}"
exit $failed
