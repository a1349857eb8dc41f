#!/usr/bin/env bash
# Measures loops of single operations on this machine's GPUs, for seconds each. Builds the programs, then writes to OUT:
#   power.csv             one row per sample (about 5 ms): SM clock, power, temperature and energy of each GPU
#   power.csv.iterations  one row per batch of iterations: the time of an iteration
# With --only mixtures it measures mixtures of operations, which test Moire's model of power, and writes mixtures.csv
# and mixtures.csv.iterations; --only more_mixtures further ones, on each GPU by itself. With --only pauses it measures matrix products with pauses in between, and writes
# pauses.csv and pauses.csv.iterations. With --only onset it measures the clock of one GPU in the first second of a
# load, and writes onset.csv and onset.csv.iterations. The single loops take about 110 s, the mixtures and the pauses
# 90 s each, the onset 60 s.
# Usage: run.sh [--gpus N] [--build DIR] [--only loops|mixtures|more_mixtures|pauses|onset] OUT
#   N 1, 2, 4 or 8 (default: all)
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpus=0
build=build/validation
rounds=0
seconds=0
only=loops,mixtures,more_mixtures,pauses,onset
. "$here/../common/measuring.sh"
options "" "" "$@"
need nvcc cmake nvidia-smi
build_programs power_loops power_onset
for part in loops mixtures more_mixtures pauses; do
  wanted $part || continue
  file=$out/$part.csv
  [ $part != loops ] || file=$out/power.csv
  timeout -k 5 280 "$build/power/power_loops" --gpus "$gpus" --out "$file" --loops $part || failed="$failed $part"
  say "$part: $(grep -vc '^#' "$file") samples"
done
if wanted onset; then
  rm -f "$out/onset.csv"
  run onset 180 "$out/onset.csv" power_onset
fi
finish
