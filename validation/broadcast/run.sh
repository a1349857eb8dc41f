#!/usr/bin/env bash
# Measures codecs on one GPU: builds, then writes below OUT
#   codec.csv         calls alone against size and rate, several side by side, both ways, and beside GEMMs
#   codec_facts.csv   what the compiler made of their kernels, ratios, errors, and the host's time of a call
# Usage: run.sh [--zfp DIR] [--dietgpu DIR] [--build DIR] [--rounds N] [--seconds S] OUT
#   --zfp, --dietgpu: sources of the codecs (github.com/LLNL/zfp, github.com/facebookresearch/dietgpu); at least one
#   --rounds, --seconds: repetitions (15), and when to stop them (200 s)
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpus=1
build=build/validation
rounds=15
seconds=200
zfp=
dietgpu=
only=cases
. "$here/../common/measuring.sh"
options "" "zfp dietgpu" "$@"
[ -n "$zfp$dietgpu" ] || usage
need nvcc cmake nvidia-smi
configure="${zfp:+-DZFP_SOURCE=$zfp} ${dietgpu:+-DDIETGPU_SOURCE=$dietgpu}"
build_programs codec_measure
rm -f "$out/codec.csv"
run cases $((seconds + 120)) "$out/codec.csv" codec_measure --rounds "$rounds" --seconds "$seconds" \
  --facts "$out/codec_facts.csv"
finish
