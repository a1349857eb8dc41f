#!/usr/bin/env bash
# Measures loops of single operations on this machine's GPUs, for seconds each: builds, then writes below OUT
#   power.csv             a row a sample (about 5 ms): SM clock, power, temperature and energy of each GPU
#   power.csv.iterations  a row a batch of iterations: how long one takes
# --only mixtures measures mixtures of operations instead, as mixtures.csv and mixtures.csv.iterations: what a model of
# power is judged by. --only onset measures what the clock of one GPU does in the first second of a load, as onset.csv and
# onset.csv.iterations. About 110 s for the single loops, 90 s for the mixtures, 60 s for the onset.
# Usage: run.sh [--gpus N] [--build DIR] [--only loops|mixtures|onset] OUT
#   N 1, 2, 4 or 8 (default: all)
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpus=0
build=build/validation
rounds=0
seconds=0
only=loops,mixtures,onset
. "$here/../common/measuring.sh"
options "" "" "$@"
need nvcc cmake nvidia-smi
build_programs power_loops power_onset
for part in loops mixtures; do
  wanted $part || continue
  file=$out/mixtures.csv kind=1
  [ $part = mixtures ] || { file=$out/power.csv kind=0; }
  timeout -k 5 280 "$build/power/power_loops" --gpus "$gpus" --out "$file" --mixtures $kind || failed="$failed $part"
  say "$part: $(grep -vc '^#' "$file") samples"
done
if wanted onset; then
  rm -f "$out/onset.csv"
  run onset 180 "$out/onset.csv" power_onset
fi
finish
