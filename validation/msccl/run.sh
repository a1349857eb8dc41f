#!/usr/bin/env bash
# Runs MSCCL algorithms on this machine's GPUs: builds, then writes below OUT
#   msccl_micro.measurements.csv     what a hop, a step, a stream, a copy, a dependency costs (micro.py)
#   msccl.csv, msccl_held_out.csv    every algorithm of grid.csv for N ranks, at 1 KiB, 4 KiB, ... and at 3 KiB, 12 KiB, ...
#   msccl_once.csv                   the sizes at which an algorithm must not end, and whether it did
#   msccl_once_R.csv                 algorithms for R = 4 and 8 ranks where there are fewer GPUs: ranks share them, each case
#                                    is run once, for its result and whether it ends
# Usage: run.sh [--gpus N] [--build DIR] [--rounds N] [--seconds S] [--only PART,...] [--algorithms DIR]
#        [--grid FILE] OUT
#   N 2, 4 or 8; parts: micro, algorithms, held_out, shared; --rounds, --seconds: repetitions of the algorithms (15), and when to
#   stop them (50 s each of both tables); DIR of the XML files (default: algorithms beside this script), and FILE that
#   lists them (grid.csv)
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpus=2
build=build/validation
rounds=15
seconds=50
only=micro,algorithms,held_out,shared
algorithms=$here/algorithms
grid=$here/grid.csv
out=
usage() {
  sed -n '2,/^set /p' "$0" | sed -n 's/^# \{0,1\}//p' >&2
  exit 2
}
while [ $# -gt 0 ]; do
  case $1 in
    --gpus | --build | --only | --rounds | --seconds | --algorithms | --grid)
      [ $# -ge 2 ] || usage
      declare "${1#--}=$2"
      shift 2
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
for part in ${only//,/ }; do case $part in micro | algorithms | held_out | shared) ;; *) usage ;; esac; done

began=$SECONDS
say() { echo "msccl: $((SECONDS - began)) s: $*" >&2; }
PATH=$PATH:/usr/local/cuda/bin
for tool in nvcc cmake nvidia-smi python3; do
  command -v "$tool" >/dev/null || { echo "msccl: $tool is missing" >&2; exit 1; }
done
architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d '. ')
case $architecture in '' | *[!0-9]*) architecture=90 ;; esac
mkdir -p "$build/msccl_plans" "$out" || exit 2
log=$build/msccl.log
if ! { cmake -S "$here/.." -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES="$architecture" &&
  cmake --build "$build" -j --target msccl_micro msccl_algorithms microbench_machine; } >"$log" 2>&1; then
  grep -iE 'error|fatal|no rule' "$log" >&2
  exit 1
fi
plans=$build/msccl_plans
python3 "$here/micro.py" "$plans" || exit 1
python3 "$here/flatten.py" "$plans"/*.xml >"$plans/micro.txt" || exit 1
say "built"

command="validation/msccl/run.sh --gpus $gpus --rounds $rounds --seconds $seconds"
failed=
wanted() { case ,$only, in *,"$1",*) return 0 ;; esac; return 1; }
run() { # part, seconds at most, file, program, options
  local part=$1 limit=$2 file=$3 program=$build/msccl/$4
  shift 4
  timeout -k 5 "$limit" "$program" --gpus "$gpus" --out "$file" "$@" || failed="$failed $part"
  say "$part: $(grep -vc '^#' "$file") lines in $(basename "$file")"
}

if wanted micro; then
  file=$out/msccl_micro.measurements.csv
  "$build/microbench/microbench_machine" --header "$file" "$gpus" "validation/msccl/run.sh --gpus $gpus --only micro" ||
    exit 1
  run micro 120 "$file" msccl_micro --plans "$plans/micro.txt" --grid "$plans/micro.csv"
fi
if wanted algorithms || wanted held_out || wanted shared; then
  python3 "$here/flatten.py" "$algorithms"/*.xml >"$plans/algorithms.txt" || exit 1
fi
for part in algorithms held_out; do
  wanted $part || continue
  file=$out/msccl.csv more=
  [ $part = algorithms ] || file=$out/msccl_held_out.csv
  rm -f "$file"
  [ $part = held_out ] || more="--once $out/msccl_once.csv"
  # shellcheck disable=SC2086  # two words or none
  run $part $((seconds + 60)) "$file" msccl_algorithms --plans "$plans/algorithms.txt" --grid "$grid" \
    --held-out "$([ $part = held_out ] && echo 1 || echo 0)" --rounds "$rounds" --seconds "$seconds" \
    --command "$command ($part)" $more
done
for ranks in 4 8; do
  if ! wanted shared || [ "$gpus" -ge $ranks ]; then continue; fi
  awk -v r=$ranks '$1 == "algo" && $5 == r { found = 1 } END { exit !found }' "$plans/algorithms.txt" || continue
  once=$out/msccl_once_$ranks.csv
  timeout -k 5 90 "$build/msccl/msccl_algorithms" --gpus "$gpus" --ranks $ranks --out /dev/null --once "$once" \
    --plans "$plans/algorithms.txt" --grid "$grid" --command "$command (shared)" || failed="$failed shared"
  say "shared: $(grep -vc '^#' "$once") lines in $(basename "$once")"
done
[ -z "$failed" ] || { say "failed:$failed"; exit 1; }
