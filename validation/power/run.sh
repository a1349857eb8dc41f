#!/usr/bin/env bash
# Measures loops of single operations on this machine's GPUs, for seconds each: builds, then writes below OUT
#   power.csv             a row a sample (about 5 ms): SM clock, power, temperature and energy of each GPU
#   power.csv.iterations  a row a batch of iterations: how long one takes
# Usage: run.sh [--gpus N] [--build DIR] OUT
#   N 1, 2, 4 or 8 (default: all)
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpus=0
build=build/validation
rounds=0
seconds=0
only=loops
. "$here/../common/measuring.sh"
options "" "" "$@"
need nvcc cmake nvidia-smi
build_programs power_loops
part=loops
timeout -k 5 200 "$build/power/power_loops" --gpus "$gpus" --out "$out/power.csv" || failed=" $part"
say "$part: $(grep -vc '^#' "$out/power.csv") samples"
finish
