#!/usr/bin/env bash
# run_on_gpus.sh -n N PROGRAM [ARG...]: runs PROGRAM in N processes, each with a GPU of its own and the environment that
# tests/nccl/world.hpp reads; or exits with 77 (skipped, for ctest) where there are fewer GPUs.
set -euo pipefail
[ "$1" = -n ]
export WORLD_SIZE=$2
shift 2
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
if [ "${gpus:-0}" -lt "$WORLD_SIZE" ]; then
  echo "skipped: $WORLD_SIZE GPUs wanted, ${gpus:-0} here, and no SEQPAR_NCCL_TEST_LAUNCHER was given"
  exit 77
fi
export NCCL_COMM_ID=127.0.0.1:$((20000 + RANDOM % 20000)) # what ncclGetUniqueId then stands for in every process
pids=()
for ((rank = 0; rank < WORLD_SIZE; rank++)); do
  RANK=$rank LOCAL_RANK=$rank "$@" &
  pids+=($!)
done
result=0
for pid in "${pids[@]}"; do
  wait "$pid" || result=$?
done
exit $result
