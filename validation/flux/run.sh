#!/usr/bin/env bash
# Measures GEMM + ReduceScatter and AllGather + GEMM, fused and by libraries, on this machine's GPUs. Builds the
# programs, then writes to OUT:
#   flux.csv                     every case of grid.csv (on one GPU: its plain GEMMs)
#   *.wgtrace.csv                traces of the tiles of some cases
#   flux.measurements.csv        the parts of such kernels: l2_beside_peer, peer_epilogue, store_flag
#   matrix_clock.measurements.csv  products out of the L2 on some SMs, beside SMs that read memory or copies
#   flux_traffic.csv             bytes that the memory moves in the cases of grid_traffic.csv, counted in normal operation
#   flux_symm_mem.csv            PyTorch's fused operators with the same shapes, on two or more ranks
# Usage: run.sh [--gpus N] [--build DIR] [--rounds N] [--seconds S] [--only PART,...] [--modes MODE,...] [--grid FILE]
# OUT
#   parts: cases, traces, micro, clock, traffic, symm_mem; --rounds, --seconds: number of repetitions of the cases (17), and the time
#   after which to stop (200 s); --modes: of the grid (default: all); --grid: the cases (grid.csv in this folder)
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpus=2
build=build/validation
rounds=17
seconds=200
modes=
grid=$here/grid.csv
only=cases,traces,micro,clock,traffic,symm_mem
. "$here/../common/measuring.sh"
options "" "modes grid" "$@"
need nvcc cmake nvidia-smi python3
build_programs flux_measure flux_beside microbench_l2_beside_peer microbench_peer_epilogue microbench_store_flag

if wanted cases; then
  rm -f "$out/flux.csv"
  more=
  wanted traces && more="--traces $out"
  # shellcheck disable=SC2086  # two words or none
  run cases $((seconds + 120)) "$out/flux.csv" flux_measure --grid "$grid" --rounds "$rounds" \
    --seconds "$seconds" --modes "$modes" $more
fi
if wanted micro; then
  file=$out/flux.measurements.csv
  header "$file" "validation/flux/run.sh --gpus $gpus --only micro"
  for program in l2_beside_peer peer_epilogue store_flag; do
    run "$program" 60 "$file" "../microbench/microbench_$program"
  done
fi
if wanted clock; then
  file=$out/matrix_clock.measurements.csv
  header "$file" "validation/flux/run.sh --gpus $gpus --only clock"
  run clock 60 "$file" flux_beside
fi
if wanted traffic && [ "$gpus" -gt 1 ]; then
  rm -f "$out/flux_traffic.csv"
  run traffic 400 "$out/flux_traffic.csv" flux_measure --grid "$here/grid_traffic.csv" --counts traffic
fi
if wanted symm_mem && [ "$gpus" -gt 1 ]; then
  timeout -k 5 180 python3 "$here/symm_mem.py" --gpus "$gpus" --out "$out/flux_symm_mem.csv" || failed="$failed symm_mem"
  if [ "$gpus" = 2 ]; then
    timeout -k 5 120 python3 "$here/symm_mem_steps.py" --out "$out/symm_mem_steps.csv" || failed="$failed symm_mem_steps"
  fi
fi
finish
