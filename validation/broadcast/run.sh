#!/usr/bin/env bash
# Measures codecs on one GPU, and broadcasts between GPUs. Builds the programs, then writes to OUT:
#   codec.csv             calls alone by size and rate, several at the same time, both directions at once, and beside
#                         GEMMs
#   codec_facts.csv       resources of the compiled kernels, ratios, errors, and the host's time of a call
#   calibration.csv       the row of broadcast_grid.csv that determines the bandwidth of the link through host memory
#   broadcast.csv         chains of ranks, plain and compressed, through peer memory and through host memory
#   broadcast_facts.csv   times of the single steps of such chains
# Usage: run.sh [--zfp DIR] [--dietgpu DIR] [--gpus N] [--build DIR] [--rounds N] [--seconds S] [--only PART,...]
#               [--sizes BYTES,... [--rates BITS,...]] OUT
#   parts: cases (on one GPU); calibration and broadcasts, which need --gpus 2 or more, and ZFP
#   --zfp, --dietgpu: sources of the codecs (github.com/LLNL/zfp, github.com/facebookresearch/dietgpu); at least one
#   --sizes, --rates: cases are calls alone, of these sizes and rates of ZFP
#   --rounds, --seconds: number of repetitions (15), and the time after which to stop (200 s; broadcasts: at most 100 s)
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpus=1
build=build/validation
rounds=15
seconds=200
zfp=
dietgpu=
sizes=
rates=4,6,8,12,16,24
only=cases,calibration,broadcasts
. "$here/../common/measuring.sh"
options "" "zfp dietgpu sizes rates" "$@"
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
    --facts "$out/codec_facts.csv" --rates "$rates" ${sizes:+--sizes "$sizes"}
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
