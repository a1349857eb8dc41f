#!/bin/sh
# Builds the fused embedding, runs it on this machine's GPUs, checks the trace and writes all files into one directory.
# Usage: collect.sh [OUT_DIR [GPUS]]     default: out/fused_embedding below the current directory, 4 GPUs
# BUILD_DIR (default: build/validation) says where to build.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-out/fused_embedding}
gpus=${2:-4}
build=${BUILD_DIR:-build/validation}
mkdir -p "$out"

cmake -S "$here/.." -B "$build" -DCMAKE_BUILD_TYPE=Release
cmake --build "$build" -j --target fused_embedding
nvidia-smi --query-gpu=index,name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv || true
nvidia-smi topo -m || true

"$build/fused_embedding" --out "$out" --gpus "$gpus"
for trace in "$out"/*.wgtrace.csv; do
  python3 "$here/check_trace.py" "$trace"
done
if command -v zstd >/dev/null; then
  zstd -19 -q -f --rm "$out"/*.wgtrace.csv "$out/fused_embedding_wgs.csv"
else
  echo "zstd is not installed: compress the .csv files of $out with zstd -19 yourself" >&2
fi
