#!/usr/bin/env bash
# Measures computation beside communication on this machine's GPUs: builds, then writes below OUT
#   c3.csv, c3_held_out.csv         every pair of validation/h200x4/c3_grid*.csv by every strategy
#   c3_isolated.measurements.csv    the parts alone, and compute beside workgroups that hold SMs
#   clock.measurements.csv          the clock under load, and what one workgroup gets done beside it
#   c3_kernels.csv                  the kernels behind them
# Usage: run.sh [--gpus N] [--build DIR] [--nccl-direct] [--rounds N] [--seconds S] [--only PART,...] OUT
#   N 2, 4 or 8 (default: all); parts: pairs, held_out, isolated, clock, kernels
#   --nccl-direct: NCCL may write into the output of a peer of its process; by default it works as between processes
#   --rounds, --seconds: repetitions of the pairs (19), and when to stop them (150 s)
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpus=0
build=build/validation
direct=0
rounds=19
seconds=150
only=pairs,held_out,isolated,clock,kernels
out=
usage() {
  sed -n '2,/^set /p' "$0" | sed -n 's/^# \{0,1\}//p' >&2
  exit 2
}
while [ $# -gt 0 ]; do
  case $1 in
    --gpus | --build | --only | --rounds | --seconds)
      [ $# -ge 2 ] || usage
      declare "${1#--}=$2"
      shift 2
      ;;
    --nccl-direct)
      direct=1
      shift
      ;;
    -*) usage ;;
    *)
      [ -z "$out" ] || usage
      out=$1
      shift
      ;;
  esac
done
[ -n "$out" ] || usage
for number in "$gpus" "$rounds" "$seconds"; do case $number in '' | *[!0-9]*) usage ;; esac; done
for part in ${only//,/ }; do case $part in pairs | held_out | isolated | clock | kernels) ;; *) usage ;; esac; done

began=$SECONDS
say() { echo "c3: $((SECONDS - began)) s: $*" >&2; }
PATH=$PATH:/usr/local/cuda/bin
for tool in nvcc cmake nvidia-smi; do
  command -v "$tool" >/dev/null || { echo "c3: $tool is missing" >&2; exit 1; }
done
architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d '. ')
case $architecture in '' | *[!0-9]*) architecture=90 ;; esac
mkdir -p "$build" "$out" || exit 2
log=$build/c3.log
if ! { cmake -S "$here/.." -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES="$architecture" &&
  cmake --build "$build" -j --target c3_clock c3_pairs c3_isolated c3_kernels microbench_machine; } >"$log" 2>&1; then
  grep -iE 'error|fatal|NCCL|cublasLt|no rule' "$log" >&2
  exit 1
fi
say "built; $(grep -hE 'NCCL: |cublasLt: ' "$log" | sed 's/^-- //' | xargs)"

grids=$here/../h200x4
failed=
run() { # part, seconds at most, file, program, options
  local part=$1 limit=$2 file=$3 program=$build/c3/$4
  shift 4
  case ,$only, in *,"$part",*) ;; *) return ;; esac
  case $part in isolated | clock) ;; *) rm -f "$file" ;; esac
  timeout -k 5 "$limit" "$program" --gpus "$gpus" --out "$file" --nccl-direct "$direct" "$@" || failed="$failed $part"
  say "$part: $(grep -vc '^#' "$file") lines in $(basename "$file")"
}

header() { # part, file
  case ,$only, in *,"$1",*) ;; *) return ;; esac
  "$build/microbench/microbench_machine" --header "$2" "$gpus" \
    "validation/c3/run.sh --gpus $gpus$([ "$direct" = 0 ] || echo ' --nccl-direct') ($1)" || exit 1
}
header isolated "$out/c3_isolated.measurements.csv"
header clock "$out/clock.measurements.csv"
strategies=$grids/c3_strategies.csv
run isolated 120 "$out/c3_isolated.measurements.csv" c3_isolated --grid "$grids/c3_grid.csv" --more "$grids/c3_grid_held_out.csv"
run clock 60 "$out/clock.measurements.csv" c3_clock
run pairs $((seconds + 90)) "$out/c3.csv" c3_pairs --grid "$grids/c3_grid.csv" --strategies "$strategies" \
  --rounds "$rounds" --seconds "$seconds"
run held_out $((seconds + 90)) "$out/c3_held_out.csv" c3_pairs --grid "$grids/c3_grid_held_out.csv" \
  --strategies "$strategies" --rounds "$rounds" --seconds "$seconds"
# Last: it captures collectives into graphs, which no measurement needs.
run kernels 90 "$out/c3_kernels.csv" c3_kernels --grid "$grids/c3_grid.csv" --more "$grids/c3_grid_held_out.csv" \
  --strategies "$strategies"
[ -z "$failed" ] || { say "failed:$failed"; exit 1; }
