#!/usr/bin/env bash
# Runs targets a million times and more, and prints a row of a table for each. With the programs of the preset fuzz
# libFuzzer makes the inputs, and adds to build/corpus; with those of other presets they are numbered mutations. Ends
# at the first input that breaks a promise.
#
#   tests/fuzz/long_run.sh build/asan/bin names:2000000 job_calls:100000
#   FIRST=2000000 tests/fuzz/long_run.sh build/asan/bin names:1000000      goes on behind the first run
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ $# -lt 2 ] || [[ ! ${*:2} =~ ^([a-z_]+:[0-9]+ ?)+$ ]]; then
  echo 'usage: tests/fuzz/long_run.sh BIN-DIR NAME:RUNS...' >&2
  exit 2
fi
bin=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT

run() {
  local name=$1 runs=$2 seeds=tests/data/fuzz/$1
  if [ -x "$bin/${name}_mutations" ]; then
    "$bin/${name}_mutations" "$runs" "$seeds" "${FIRST:-0}"
  elif [ ! -x "$bin/${name}_fuzz" ]; then
    echo "there is no target $name in $bin"
    return 1
  else
    mkdir -p "build/corpus/$name"
    "$bin/${name}_fuzz" -runs="$runs" -print_final_stats=1 -rss_limit_mb=4096 "build/corpus/$name" "$seeds"
  fi
}

# What the program says at its end: of mutations, the line itself; of libFuzzer, its last line of progress.
verdict() { grep -E '% understood|DONE' "$log" | tail -n 1 | sed -E 's/.*files: //; s/^#[0-9]+[[:space:]]+DONE +//; s/\|/,/g'; }

echo "| target | runs | seconds | what it says |"
echo "| --- | --- | --- | --- |"
for target in "$@"; do
  name=${target%:*} runs=${target#*:} begin=$SECONDS
  if ! run "$name" "$runs" >"$log" 2>&1; then
    tail -n 60 "$log"
    exit 1
  fi
  echo "| $name | $runs | $((SECONDS - begin)) | $(verdict) |"
done
