#!/usr/bin/env bash
# Runs MSCCL algorithms on this machine's GPUs. Builds the programs, then writes to OUT:
#   msccl_micro.measurements.csv     costs of a hop, a step, a stream, a copy, a dependency (micro.py)
#   msccl.csv, msccl_held_out.csv    every algorithm of grid.csv for N ranks, at 1 KiB, 4 KiB, ..., and at 3 KiB,
#                                    12 KiB, ...
#   msccl_once.csv                   the sizes at which an algorithm must hang, and whether it did
#   msccl_once_R.csv                 algorithms for R = 4 and 8 ranks if there are fewer GPUs: ranks share GPUs, and
#                                    each case is run once to check its result and whether it ends
# Usage: run.sh [--gpus N] [--build DIR] [--rounds N] [--seconds S] [--only PART,...] [--algorithms DIR]
#        [--grid FILE] OUT
#   N 2, 4 or 8; parts: micro, algorithms, held_out, shared; --rounds, --seconds: number of repetitions of the
#   algorithms (15), and the time after which to stop (50 s for each of both tables); DIR of the XML files (default:
#   algorithms in this folder), and FILE that lists them (grid.csv)
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpus=2
build=build/validation
rounds=15
seconds=50
only=micro,algorithms,held_out,shared
algorithms=$here/algorithms
grid=$here/grid.csv
. "$here/../common/measuring.sh"
options "" "algorithms grid" "$@"
need nvcc cmake nvidia-smi python3
build_programs msccl_micro msccl_algorithms
plans=$build/msccl_plans
mkdir -p "$plans" || exit 2
python3 "$here/micro.py" "$plans" || exit 1
python3 "$here/flatten.py" "$plans"/*.xml >"$plans/micro.txt" || exit 1

command="validation/msccl/run.sh --gpus $gpus --rounds $rounds --seconds $seconds"
if wanted micro; then
  file=$out/msccl_micro.measurements.csv
  header "$file" "validation/msccl/run.sh --gpus $gpus --only micro"
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
finish
