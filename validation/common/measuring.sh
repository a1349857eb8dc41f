# shellcheck shell=bash
# Functions for the run.sh scripts of validation/*. Such a script sets `here`, `gpus`, `build`, `rounds`, `seconds` and
# `only` (all parts), and sources this file.
name=$(basename "$here")
out=
failed=
began=$SECONDS
PATH=$PATH:/usr/local/cuda/bin

say() { echo "$name: $((SECONDS - began)) s: $*" >&2; }

usage() { # prints the comment at the beginning of the script
  sed -n '2,/^set /p' "$0" | sed -n 's/^# \{0,1\}//p' >&2
  exit 2
}

# options FLAGS FURTHER ARGUMENT...: sets variables with the names of the options, FLAGS to 1, and `out`.
options() {
  local flags=" $1 " named=" gpus build only rounds seconds $2 " parts=",$only," number part
  shift 2
  while [ $# -gt 0 ]; do
    local option=${1#--}
    case $1 in
      --*)
        case $flags in
          *" $option "*)
            printf -v "${option//-/_}" 1
            shift
            continue
            ;;
        esac
        case $named in *" $option "*) ;; *) usage ;; esac
        [ $# -ge 2 ] || usage
        printf -v "$option" %s "$2"
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
  for part in ${only//,/ }; do case $parts in *,"$part",*) ;; *) usage ;; esac; done
}

wanted() { case ,$only, in *,"$1",*) return 0 ;; esac; return 1; }

need() { # TOOL...
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || { echo "$name: $tool is missing" >&2; exit 1; }
  done
}

build_programs() { # TARGET...
  local architecture log=$build/$name.log
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d '. ')
  case $architecture in '' | *[!0-9]*) architecture=90 ;; esac
  mkdir -p "$build" "$out" || exit 2
  # shellcheck disable=SC2086  # `configure`: further options of cmake, or none
  if ! { cmake -S "$here/.." -B "$build" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CUDA_ARCHITECTURES="$architecture" ${configure:-} &&
    cmake --build "$build" -j --target "$@" microbench_machine; } >"$log" 2>&1; then
    grep -iE 'error|fatal|NCCL|cublasLt|no rule' "$log" >&2
    exit 1
  fi
  say "built; $(grep -hE 'NCCL: |cublasLt: ' "$log" | sed 's/^-- //' | xargs)"
}

header() { # FILE COMMAND: writes the header of a measurements file
  "$build/microbench/microbench_machine" --header "$1" "$gpus" "$2" || exit 1
}

run() { # PART, its time limit in seconds, FILE, PROGRAM, further options of the program
  local part=$1 limit=$2 file=$3 program=$build/$name/$4
  shift 4
  timeout -k 5 "$limit" "$program" --gpus "$gpus" --out "$file" "$@" || failed="$failed $part"
  say "$part: $(grep -vc '^#' "$file") lines in $(basename "$file")"
}

finish() { [ -z "$failed" ] || { say "failed:$failed"; exit 1; }; }
