#!/usr/bin/env bash
# Runs millions of mutations of the targets of the server, and of snapshots, and prints a row of a
# table for each. Ends at the first mutation that breaks a promise.
#
#   tests/fuzz/long_run.sh build/dev/bin [MILLIONS [FIRST]]     10 million from number 0 by default
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$1 millions=${2:-10} first=${3:-0}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

echo "| target | mutations | seconds | what it says |"
echo "| --- | --- | --- | --- |"
# How many of ten mutations are of this target: fewer of those that need a disk or run many calls.
for target in names:2 job_process:2 snapshot:2 job_calls:2 blob_calls:1 job_record:1; do
  name=${target%:*} count=$((${target#*:} * millions * 100000)) begin=$SECONDS
  if ! "$bin/${name}_mutations" "$count" "tests/data/fuzz/$name" "$first" 2>&1 | tail -n 20 >"$log"; then
    cat "$log"
    exit 1
  fi
  echo "| $name | $count | $((SECONDS - begin)) | $(grep -m 1 ' understood' "$log" | cut -d: -f2) |"
done
