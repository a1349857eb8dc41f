#!/usr/bin/env bash
# Measures codecs on one GPU, and broadcasts between GPUs: builds, then writes below OUT
#   codec.csv             calls alone against size and rate, several side by side, both ways, and beside GEMMs
#   codec_facts.csv       what the compiler made of their kernels, ratios, errors, and the host's time of a call
#   calibration.csv       the row of broadcast_grid.csv from which the link through the host gets its bandwidth
#   broadcast.csv         chains of ranks, plain and compressed, through peer memory and through the host's
#   broadcast_facts.csv   what their single steps take
# Usage: run.sh [--zfp DIR] [--dietgpu DIR] [--gpus N] [--build DIR] [--rounds N] [--seconds S] [--only PART,...] OUT
#   parts: cases (on one GPU); calibration and broadcasts, which need --gpus 2 or more, and ZFP
#   --zfp, --dietgpu: sources of the codecs (github.com/LLNL/zfp, github.com/facebookresearch/dietgpu); at least one
#   --rounds, --seconds: repetitions (15), and when to stop them (200 s; broadcasts: at most 100 s)
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpus=1
build=build/validation
rounds=15
seconds=200
zfp=
dietgpu=
only=cases,calibration,broadcasts
. "$here/../common/measuring.sh"
options "" "zfp dietgpu" "$@"
[ -n "$zfp$dietgpu" ] || usage
need nvcc cmake nvidia-smi
configure="${zfp:+-DZFP_SOURCE=$zfp} ${dietgpu:+-DDIETGPU_SOURCE=$dietgpu}"
beside=
if [ "$gpus" -gt 1 ]; then
  { wanted calibration || wanted broadcasts; } && beside=broadcast_measure
fi
codecs=
wanted cases && codecs=codec_measure
# shellcheck disable=SC2086  # one word each, or none
build_programs $codecs $beside

if wanted cases; then
  rm -f "$out/codec.csv"
  run cases $((seconds + 120)) "$out/codec.csv" codec_measure --rounds "$rounds" --seconds "$seconds" \
    --facts "$out/codec_facts.csv"
fi
broadcasts() { # PART, seconds, FILE, further options of the program
  local part=$1 limit=$2 file=$3
  shift 3
  rm -f "$file"
  run "$part" $((limit + 50)) "$file" broadcast_measure --grid "$here/broadcast_grid.csv" --rounds "$rounds" \
    --seconds "$limit" "$@"
}
if [ -n "$beside" ]; then
  wanted calibration && broadcasts calibration 5 "$out/calibration.csv" --use calibration
  wanted broadcasts && broadcasts broadcasts $((seconds < 100 ? seconds : 100)) "$out/broadcast.csv" --facts "$out/broadcast_facts.csv"
fi
finish
