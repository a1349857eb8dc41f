#!/usr/bin/env bash
# Measures computation beside communication on this machine's GPUs. Builds the programs, then writes to OUT:
#   c3.csv, c3_held_out.csv         every pair of validation/h200x4/c3_grid*.csv with every strategy
#   c3_loaded.csv, c3_loaded_held_out.csv  the same pairs, each run immediately after 15 ms of a GEMM of 8192^3, so that
#                                   the GPUs have the clock of their power limit
#   c3_codecs.csv, c3_codecs_held_out.csv  ZFP beside collectives: every pair of codec_grid*.csv by codec_strategies.csv
#   c3_isolated.measurements.csv    computations and collectives by copies alone, and computations beside workgroups
#                                   that occupy SMs
#   collectives.measurements.csv    NCCL's collectives alone
#   clock.measurements.csv          the clock under load, and the rate of a workgroup beside the load
#   after_load.measurements.csv     the clock while a GEMM begins, loads and reads, right after 100 ms of a GEMM
#   gemm_clock.measurements.csv     the clock while GEMMs begin on an idle GPU (clock_grid.csv)
#   c3_kernels.csv                  the kernels that the pairs launch
#   gemm_kernels_drawn.csv, gemm_kernels_transposed.csv  the kernels of GEMMs drawn at random (kernel_grid.csv); in the
#                                   second file B is stored as [n][k]
#   nccl_choice.csv                 NCCL's collectives alone, with NCCL's choice and with prescribed algorithm and
#                                   protocol
# Usage: run.sh [--gpus N] [--build DIR] [--zfp DIR] [--nccl-direct] [--rounds N] [--seconds S] [--only PART,...] OUT
#   N 2, 4 or 8 (default: all), or 1 for isolated, clock, after_load, gemm_clock, kernels and gemm_kernels; parts:
#   pairs, held_out, loaded, loaded_held_out, codecs, isolated, collectives, clock, after_load, gemm_clock, kernels,
#   gemm_kernels, choices
#   --zfp: sources of ZFP (github.com/LLNL/zfp), without which the part codecs is skipped
#   --nccl-direct: NCCL may write into the output of a peer in its process; by default it works as between processes
#   --rounds, --seconds: number of repetitions of the pairs (19), and the time after which to stop (150 s)
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpus=0
build=build/validation
nccl_direct=0
rounds=19
seconds=150
zfp=
only=pairs,held_out,loaded,loaded_held_out,codecs,isolated,collectives,clock,after_load,gemm_clock,kernels,gemm_kernels,choices
. "$here/../common/measuring.sh"
options nccl-direct zfp "$@"
configure=${zfp:+-DZFP_SOURCE=$zfp}
need nvcc cmake nvidia-smi
build_programs c3_after_load c3_clock c3_pairs c3_isolated c3_kernels c3_choices

grids=$here/../h200x4
part() { # the arguments are those of run()
  wanted "$1" || return
  case $1 in
    isolated | collectives | clock | after_load | gemm_clock)
      header "$3" "validation/c3/run.sh --gpus $gpus$([ "$nccl_direct" = 0 ] || echo ' --nccl-direct') ($1)"
      ;;
    *) rm -f "$3" ;;
  esac
  run "$@" --nccl-direct "$nccl_direct"
}
strategies=$grids/c3_strategies.csv
part isolated 120 "$out/c3_isolated.measurements.csv" c3_isolated --grid "$grids/c3_grid.csv" --more "$grids/c3_grid_held_out.csv" \
  --only gemm,stream,gemm_beside,stream_beside,all_gather_copy,all_to_all_copy
part collectives 60 "$out/collectives.measurements.csv" c3_isolated --grid "$grids/c3_grid.csv" \
  --only all_gather_nccl,all_to_all_nccl,all_reduce_nccl,reduce_scatter_nccl
part clock 60 "$out/clock.measurements.csv" c3_clock
part after_load 60 "$out/after_load.measurements.csv" c3_after_load
part gemm_clock 60 "$out/gemm_clock.measurements.csv" c3_after_load --grid "$here/clock_grid.csv"
part pairs $((seconds + 90)) "$out/c3.csv" c3_pairs --grid "$grids/c3_grid.csv" --strategies "$strategies" \
  --rounds "$rounds" --seconds "$seconds"
part held_out $((seconds + 90)) "$out/c3_held_out.csv" c3_pairs --grid "$grids/c3_grid_held_out.csv" \
  --strategies "$strategies" --rounds "$rounds" --seconds "$seconds"
part loaded $((seconds + 90)) "$out/c3_loaded.csv" c3_pairs --grid "$grids/c3_grid.csv" --strategies "$strategies" \
  --rounds "$rounds" --seconds "$seconds" --load 15
part loaded_held_out $((seconds + 90)) "$out/c3_loaded_held_out.csv" c3_pairs --grid "$grids/c3_grid_held_out.csv" \
  --strategies "$strategies" --rounds "$rounds" --seconds "$seconds" --load 15
for held_out in "" _held_out; do
  [ -z "$zfp" ] || part codecs $((seconds + 90)) "$out/c3_codecs$held_out.csv" c3_pairs \
    --grid "$here/codec_grid$held_out.csv" --strategies "$here/codec_strategies.csv" --rounds "$rounds" --seconds "$seconds"
done
part choices 240 "$out/nccl_choice.csv" c3_choices
part gemm_kernels 60 "$out/gemm_kernels_drawn.csv" c3_kernels --grid "$here/kernel_grid.csv"
part gemm_kernels 60 "$out/gemm_kernels_transposed.csv" c3_kernels --grid "$here/kernel_grid.csv" --transposed 1
# This part is the last, because it captures collectives into graphs, which no other measurement needs.
part kernels 90 "$out/c3_kernels.csv" c3_kernels --grid "$grids/c3_grid.csv" --more "$grids/c3_grid_held_out.csv" \
  --strategies "$strategies"
finish
