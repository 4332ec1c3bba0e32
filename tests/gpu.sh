#!/usr/bin/env bash
# What only a GPU can show.
#
#   tests/gpu.sh bundle                 packs the programs (build/release) and the libraries that a
#                                       machine with a GPU may lack into build/gpu.tar.gz, which is all
#                                       that is needed there: unpacked, it has this script as tests/gpu.sh
#   tests/gpu.sh smoke OUT              two minutes: what the machine is, what replays cost, rates, one
#                                       kernel of each family by every way to run it, one network; the
#                                       table comes last
#   tests/gpu.sh next OUT [--minutes N] what tells most of all that has not run yet, for that long (9)
#   tests/gpu.sh PART OUT [ARGUMENT]... one part, whether it has run or not
#
#   kernels [SUITE...]
#                every kind of kernel against plain loops, every math policy: each suite of
#                kernels_cuda_gpu_test (all) in a process of its own, those that lose the device last
#   networks [NAME...]
#                networks of the papers (all nine) by mcts, for cuda and cuda-strict32; predicted and
#                measured (networks.csv, networks.txt), and by which ways the kernels of each run; it
#                fails if the host computes a contraction of it
#   transformers TYPE
#                BERT as published, with its attention, in float32, float16 or bfloat16, likewise
#                (transformers-TYPE.csv and .txt)
#   models FILE.onnx...
#                the same for models
#   snapshot     what has been measured by now, as snapshots (cuda.snapshot, cuda-strict32.snapshot)
#   sanitizer    our own kernels under compute-sanitizer
#   timings      whose timings there are: those of another driver are not used
#   merge        takes timings that were measured with another patch level of the driver for this one's
#   all          kernels, networks, transformers in each type, snapshot and sanitizer
#
# Nothing is fetched. cuDNN 9 and, of CUDA 13, cuBLASLt and NVRTC are looked for where the dynamic
# linker looks, in toolkits, and in the packages of every Python here (nvidia/*/lib); what is found
# and what is then loaded is told.
#
# Programs come from $QUOTIENT_GPU_BIN; without it from the bundle, else from build/release/bin. Each
# runs in a process of its own for a limited time, and what fails, or comes out slower, does not keep
# the rest from being run. Each network is optimized twice, as the first time goes by few measured
# kernels; the second counts. A search, and measuring what came out, get $QUOTIENT_GPU_BUDGET each,
# 10s if it is not set.
#
# OUT gets few files: smoke.txt, units.txt and tables.txt, which are read first, and results.tar.gz,
# all that came out, packed again after each unit, $QUOTIENT_GPU_ARCHIVE_MIB (15) at most. A call goes on
# from OUT/results.tar.gz, else from $QUOTIENT_GPU_RESULTS (build/gpu-results.tar.gz), which becomes the same.
# Timings and what is compiled are in it, and which units have run with these programs; `next` runs
# those that failed again when all others have run. A kernel that the GPU did not survive is left out
# from then on (compiled/barred).
#
# A unit in which a library failed otherwise than by not supporting something fails, though the
# programs go on with what else there is.
#
# Exit status: 2 if this is not how it is called or a program is missing; 4 where there is no driver
# or no GPU, 5 where a library is missing, 6 where one is another version than was built with: then
# nothing else is run. Else that of the first thing that failed, for `next` in an earlier call, too;
# `smoke` returns 124 if not all of it ran.
#
# shellcheck disable=SC2317  # units are called by name
set -euo pipefail

caller=$PWD
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
# shellcheck source=tests/gpu/bundle.sh
. tests/gpu/bundle.sh
# shellcheck source=tests/gpu/machine.sh
. tests/gpu/machine.sh
# shellcheck source=tests/gpu/results.sh
. tests/gpu/results.sh
budget=${QUOTIENT_GPU_BUDGET:-10s}
types=(float32 float16 bfloat16)
devices=(cuda cuda-strict32)

usage() {
  if [ $# -gt 0 ]; then printf 'gpu.sh: %s\n\n' "$1" >&2; fi
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

# A path as it is meant where this script was called.
from_caller() { case $1 in /*) echo "$1" ;; *) echo "$caller/$1" ;; esac; }

# The status of what has failed; that of the first becomes the script's.
status=0
note() {
  status=$((status ? status : $1))
}

# Says what the machine is, and ends the script where nothing can be run, with the reason.
open_device() {
  local failed=0 why=''
  find_libraries
  limited 60 gpu_smoke device "$out" >"$out/log/device.txt" 2>"$out/log/device-errors.txt" || failed=$?
  cat "$out/log/device.txt"
  case $failed in
    0) tell_timings && return ;;
    4) why='there is no GPU to use here' ;;
    5) why='a library is missing here' ;;
    6) why='a library here is another version than the programs were built with' ;;
    *) why='the GPU does not answer' ;;
  esac
  echo "gpu.sh: $why: $(cat "$out/log/device-errors.txt")" >&2
  exit "$failed"
}

tell_timings() {
  if [ -e "$out/timings" ]; then limited 60 gpu_smoke timings "$out" || true; fi
}

# --- units: each gets the seconds that it has as its first argument

run_suite() {
  QUOTIENT_GPU_OUT=$out limited "$1" kernels_cuda_gpu_test "--gtest_filter=$2.*"
}

# Sets suites to those of the tests on the GPU: those first that tell most, those that lose the device last, and
# of these the one after which nothing else is looked at. That there are none is a failure.
suites=()
list_suites() {
  local all first last
  all=$(limited 60 kernels_cuda_gpu_test --gtest_list_tests | sed -n 's/^\([^ ]*\)\.\( .*\)\{0,1\}$/\1/p') || all=''
  if [ -z "$all" ]; then
    echo 'gpu.sh: kernels_cuda_gpu_test does not say which suites it has' >&2
    note 1
    suites=()
    return
  fi
  first=$(grep Product <<<"$all" || true; grep Dnn <<<"$all" || true; grep Lower <<<"$all" || true)
  last=$(grep DeathTest <<<"$all" | grep -v Health || true; grep 'Health.*DeathTest' <<<"$all" || true)
  mapfile -t suites < <(printf '%s\n' "$first" \
    "$(grep -vxF -e "${first:-none}" -e "${last:-none}" <<<"$all" || true)" "$last" | grep .)
}

# bench SECONDS TABLE NAME ARGUMENT... : one network twice, and its rows in a table. The second run
# counts, unless it is stopped: then the rows of the first are what is known.
bench() {
  local seconds table=$2 name=$3 failed=0 end=$((SECONDS + $1))
  local rows=$out/log/$table-$name.csv
  shift 3
  rm -f "$rows"
  for _ in 1 2; do
    seconds=$((end - SECONDS))
    if [ "$seconds" -le 0 ]; then
      failed=124
      break
    fi
    failed=0
    rm -f "$rows.new"
    limited "$seconds" network_bench --devices "$(IFS=,; echo "${devices[*]}")" --strategies mcts --seeds 1 \
      --budget "$budget" --threads "$(nproc)" --timings "$out/timings" --compiled "$out/compiled" \
      --csv "$rows.new" "$@" || failed=$?
    if [ -e "$rows.new" ] && { [ ! -e "$rows" ] || ! is_stopped "$failed"; }; then mv "$rows.new" "$rows"; fi
  done
  rm -f "$rows.new"
  if [ -e "$rows" ]; then tabulate "$table" || failed=$((failed ? failed : $?)); fi
  return "$failed"
}

# The rows of all networks as one table, with what was predicted and measured.
tabulate() {
  local table=$1
  awk 'FNR > 1 || NR == 1' "$out/log/$table"-*.csv >"$out/$table.csv"
  if ! command -v python3 >/dev/null; then
    echo 'gpu.sh: no python3, so no table' >&2
    return
  fi
  python3 tests/bench/networks/predicted.py "$out/$table.csv" | tee "$out/$table.txt"
}

take_snapshot() {
  local device=$2
  limited "$1" quotient snapshot --device "$device" --threads "$(nproc)" --timings "$out/timings" \
    -o "$out/$device.snapshot" || return
  awk '$1 == "kernel" && $2 != "unsupported" { n++; if ($3 > 1.03 * $2) wide++ }
       END { printf "%s: %d kernels with times, of %d the quarter lies 3 %% above the minimum\n", d, n, wide }' \
    d="$device" "$out/$device.snapshot"
}

# The sanitizer of a toolkit; empty where there is none.
sanitizer() {
  local program
  for program in "$(command -v compute-sanitizer)" /usr/local/cuda*/bin/compute-sanitizer; do
    if [ -x "$program" ]; then
      echo "$program"
      return
    fi
  done
}

sanitize() {
  local seconds=$1 tool=$2 family=$3 program
  program=$(sanitizer)
  if [ -z "$program" ]; then
    echo 'gpu.sh: no compute-sanitizer here'
    return
  fi
  limited "$seconds" "$program" --tool "$tool" --error-exitcode 9 "$bin/gpu_smoke" own "$family"
}

# --- parts: `run` is unit, or unit_once for what has not run yet

own_families=(pool norm reduction softmax transpose gather)
networks=(bert nasrnn resnet50 resnext50 nasnet inception_v3 mobilenet_v2 squeezenet vgg19)

run_kernels() {
  local run=$1 suite
  shift
  for suite in "$@"; do "$run" "kernels-${suite//\//-}" 300 run_suite "$suite"; done
}

run_networks() {
  local run=$1 network
  shift
  for network in "$@"; do "$run" "networks-$network" 240 bench networks "$network" --networks "$network"; done
}

run_bert() {
  local run=$1 type=$2
  "$run" "bert-$type" 240 bench bert "$type" --networks bert --type "$type"
}

run_transformer() {
  local run=$1 type=$2
  "$run" "transformers-$type" 240 bench "transformers-$type" bert --networks bert --faithful --type "$type"
}

run_models() {
  local run=$1 file name
  shift
  for file in "$@"; do
    name=$(basename "$file" .onnx)
    "$run" "models-$name" 240 bench models "$name" "$(from_caller "$file")"
  done
}

run_snapshot() {
  local run=$1 device
  if [ ! -e "$out/timings" ]; then
    echo "gpu.sh: run networks, transformers or models into $results first" >&2
    note 2
    return
  fi
  for device in "${devices[@]}"; do "$run" "snapshot-$device" 60 take_snapshot "$device"; done
}

run_sanitizer() {
  local run=$1 tool family
  for tool in memcheck racecheck; do
    for family in "${own_families[@]}"; do "$run" "sanitizer-$tool-$family" 120 sanitize "$tool" "$family"; done
  done
}

smoke_step() { limited "$1" gpu_smoke "${@:2}"; }

run_smoke() {
  local family families
  # A table of this call alone.
  rm -f "$out"/log/smoke-*.txt "$out/smoke.txt"
  sed -i '/^smoke-/d' "$out/units.tsv"
  unit smoke-replays 30 smoke_step replays
  unit smoke-rates 40 smoke_step rates
  families=$(limited 20 gpu_smoke families) || families=''
  if [ -z "$families" ]; then
    echo 'gpu.sh: gpu_smoke does not say which families it has' >&2
    note 1
  fi
  for family in $families; do
    unit "smoke-$family" 30 smoke_step kernels "$family" "$out"
  done
  unit smoke-network 60 smoke_step network squeezenet "$out"
  print_table
  if [ "$out_of_time" = 1 ]; then note 124; fi
  keep
}

# What smoke found, the last row of each name, and what did not get through.
print_table() {
  {
    grep -h '^smoke' "$out/log/device.txt" "$out"/log/smoke-*.txt | cut -f2- |
      awk -F'\t' '!($1 in text) { order[++n] = $1 } { text[$1] = $2 }
        END { for (i = 1; i <= n; i++) printf "%-28s %s\n", order[i], text[order[i]] }'
    last_units | awk -F'\t' '/^smoke-/ && $2 != 0 { printf "%-28s %s\n", $1, $2 == 124 || $2 == 137 ? "STOPPED after " $3 " s" : "FAILED, status " $2 }'
    if [ -n "$was_cut" ]; then echo "time is up: $was_cut was stopped"; fi
    if [ "$out_of_time" = 1 ]; then echo 'time is up: not all was run'; fi
  } | tee "$out/smoke.txt"
}

# In the order that tells most; then again what failed.
run_next() {
  list_suites
  run_once
  redoes_failed=1
  run_once
  keep
  print_units
  if [ "$status" = 0 ]; then status=$(worst_listed); fi
}

run_once() {
  local suite type run=unit_once deadly=()
  for suite in "${suites[@]}"; do
    case $suite in
      *DeathTest*) deadly+=("$suite") ;;
      *) "$run" "kernels-${suite//\//-}" 300 run_suite "$suite" ;;
    esac
  done
  run_networks "$run" resnet50
  for type in "${types[@]}"; do run_bert "$run" "$type"; done
  if [ "$out_of_time" = 0 ] && [ "$redoes_failed" = 0 ]; then run_snapshot unit; fi
  run_networks "$run" "${networks[@]}"
  for type in "${types[@]}"; do run_transformer "$run" "$type"; done
  run_sanitizer "$run"
  for suite in "${deadly[@]}"; do "$run" "kernels-${suite//\//-}" 300 run_suite "$suite"; done
}

part=${1:-}
[ -n "$part" ] || usage
shift
if [ "$part" = bundle ]; then
  bundle
  exit
fi

case $part in
  kernels) needed=(gpu_smoke kernels_cuda_gpu_test) ;;
  networks | transformers | models) needed=(gpu_smoke network_bench) ;;
  snapshot) needed=(gpu_smoke quotient) ;;
  smoke | sanitizer | timings | merge) needed=(gpu_smoke) ;;
  next | all) needed=(gpu_smoke kernels_cuda_gpu_test network_bench quotient) ;;
  *) usage "there is no part '$part'" ;;
esac
results=${1:-}
[ -n "$results" ] || usage 'OUT is missing'
results=$(from_caller "$results")
shift
minutes=1440
case $part in
  transformers)
    [ $# -eq 1 ] || usage 'transformers: one TYPE is wanted'
    [[ $1 =~ ^(float32|float16|bfloat16)$ ]] || usage "transformers: there is no TYPE '$1'"
    ;;
  models) [ $# -gt 0 ] || usage 'models: FILE.onnx is missing' ;;
  networks)
    for name in "$@"; do
      [[ " ${networks[*]} " == *" $name "* ]] || usage "networks: there is no network '$name'"
    done
    ;;
  smoke) minutes=2 ;;
  next)
    minutes=9
    if [ "${1:-}" = --minutes ]; then
      [[ ${2:-} =~ ^[1-9][0-9]{0,3}$ ]] || usage 'next: --minutes wants a number'
      minutes=$2
      shift 2
    fi
    ;;
esac
case $part in
  kernels | transformers | models | networks) ;;
  *) [ $# -eq 0 ] || usage "$part: '$1' is one argument too many" ;;
esac

# Ten seconds are for what is running when time is up, and for packing.
deadline=$((SECONDS + 60 * minutes - 10))
find_programs
require "${needed[@]}"
bin=$(cd "$bin" && pwd)
resume
open_device

case $part in
  smoke) run_smoke ;;
  next) run_next ;;
  kernels)
    list_suites
    for name in "$@"; do
      [[ " ${suites[*]} " == *" $name "* ]] || usage "kernels: there is no suite '$name'"
    done
    if [ $# -gt 0 ]; then run_kernels unit "$@"; else run_kernels unit "${suites[@]}"; fi
    ;;
  networks) if [ $# -gt 0 ]; then run_networks unit "$@"; else run_networks unit "${networks[@]}"; fi ;;
  transformers) run_transformer unit "$1" ;;
  models) run_models unit "$@" ;;
  snapshot) run_snapshot unit ;;
  sanitizer) run_sanitizer unit ;;
  timings) ;;  # has been told
  merge) limited 60 gpu_smoke merge "$out" && keep ;;
  all)
    list_suites
    run_kernels unit "${suites[@]}"
    run_networks unit "${networks[@]}"
    for type in "${types[@]}"; do run_transformer unit "$type"; done
    run_snapshot unit
    run_sanitizer unit
    ;;
esac
exit "$status"
