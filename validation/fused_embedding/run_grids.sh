#!/bin/sh
# Builds fused_embedding, runs both grids of validation/h200 on 4 and on 2 GPUs, records traces of three points on 4
# GPUs, and checks the traces.
# Usage: run_grids.sh [OUT_DIR]     default: out/operator below the current directory
# Writes OUT_DIR/{grid,grid_held_out}_{4,2}gpu/operator.csv. The traces are in the folder of the first of these files.
# BUILD_DIR is the folder of the build (default: build/validation). CUOBJDUMP names NVIDIA's tool cuobjdump (default:
# the one on the PATH). If the tool exists, the script also checks that the kernels issue whole batches of loads.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-out/operator}
build=${BUILD_DIR:-build/validation}

cmake -S "$here/.." -B "$build" -DCMAKE_BUILD_TYPE=Release
cmake --build "$build" -j --target fused_embedding
program=$build/fused_embedding/fused_embedding
if command -v "${CUOBJDUMP:-cuobjdump}" >/dev/null; then
  mkdir -p "$out"
  python3 "$here/check_batches.py" "$program" "${CUOBJDUMP:-cuobjdump}" | tee "$out/batches.txt"
fi

for gpus in 4 2; do
  for grid in grid grid_held_out; do
    folder=$out/${grid}_${gpus}gpu
    mkdir -p "$folder"
    traces=
    if [ "$gpus" = 4 ] && [ "$grid" = grid ]; then
      traces="--trace small_4t_1k,balanced_16t_8k,communication_16t_8k_p4"
    fi
    # shellcheck disable=SC2086  # two words or none
    "$program" --grid "$here/../h200/$grid.csv" --out "$folder" --gpus "$gpus" $traces
  done
done
for trace in "$out"/*/*.wgtrace.csv; do
  python3 "$here/check_trace.py" "$trace"
done
