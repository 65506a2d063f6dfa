#!/bin/sh
# run_on_gpu.sh PROGRAM [ARG...]: runs PROGRAM, or exits with 77 (skipped, for ctest) where there is no GPU.
if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "skipped: no GPU here (nvidia-smi -L fails), and no SEQPAR_TEST_LAUNCHER was given"
  exit 77
fi
exec "$@"
