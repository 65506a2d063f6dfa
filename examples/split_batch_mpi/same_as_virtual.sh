#!/usr/bin/env bash
# same_as_virtual.sh SPLIT_BATCH SPLIT_BATCH_MPI OUT MPIRUN -n: what processes write and print is what virtual ranks do, byte for
# byte; and what is wrong on one process stops them all with one line, exit code 2 and no folder.
set -euo pipefail
virtual=$1 processes=$2 out=$3
shift 3
rm -rf "$out"
mkdir -p "$out"
tiny=$(dirname "$0")/../data/tiny.safetensors

for arguments in "--cp 4" "--cp 2 --tp 2 --layout striped:16 --input $tiny"; do
  "$virtual" $arguments --out "$out/virtual" >"$out/virtual.txt"
  "$@" 4 "$processes" $arguments --out "$out/processes" >"$out/processes.txt"
  diff -r "$out/virtual" "$out/processes"
  diff <(grep -v ^written: "$out/virtual.txt") <(grep -v ^written: "$out/processes.txt")
  echo "4 processes, ${arguments% --input*}: $(ls "$out/processes" | wc -l) files and the table, the same as virtual ranks'"
done

code=0
"$@" 3 "$processes" --input "$tiny" --out "$out/none" : -n 1 "$processes" --input nothing \
  --out "$out/none" 2>"$out/error.txt" || code=$?
grep '^split_batch_mpi: ' "$out/error.txt"
[ "$code" = 2 ]
[ "$(grep -c '^split_batch_mpi: ' "$out/error.txt")" = 1 ]
[ -z "$(find "$out" -name '*none*')" ]
