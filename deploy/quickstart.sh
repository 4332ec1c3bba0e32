#!/usr/bin/env bash
# Optimizes one model, from nothing: installs what is missing, builds, starts a server, sends it the
# model, stops the server.
#
#   deploy/quickstart.sh [MODEL.onnx]      without MODEL: a MobileOne that the build generates
#
# Leaves in out/: NAME.optimized.onnx, report.json, report.html. Standard output begins with one line
# that says what was gained, and goes on with the cost report as a table. Exit status: the client's.
set -euo pipefail

say() { printf 'quickstart: %s\n' "$*" >&2; }

usage() { sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
case ${1:-} in
  -h | --help)
    usage
    exit
    ;;
esac
if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
  usage >&2
  exit 2
fi
model=''
if [ $# -eq 1 ]; then
  if [ ! -f "$1" ]; then
    say "no such file: $1"
    exit 2
  fi
  model=$(realpath "$1")
fi

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
bin=build/quickstart/bin
out=$repo/out
mkdir -p "$out"

say '1 of 3: installing what is missing'
deploy/setup/install.sh

say '2 of 3: building'
log=build/quickstart-build.log
if ! cmake --preset quickstart >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
NINJA_STATUS='quickstart: 2 of 3: %f of %t: ' cmake --build --preset quickstart >&2

if [ -z "$model" ]; then
  # As exported after training: each layer is a sum of normalized branches.
  model=$out/mobileone.onnx
  "$bin/make_network" mobileone -o "$model"
fi
optimized=$out/$(basename "$model" .onnx).optimized.onnx

# The server's state is removed at the end. Its log is kept, in case something goes wrong.
state=$(mktemp -d)
server_log=$out/quotientd.log
server=''

# shellcheck disable=SC2317  # called by the trap
stop_server() {
  local status=$?
  trap '' INT TERM
  if [ -n "$server" ] && kill -TERM "$server" 2>/dev/null; then
    # A server that ignores SIGTERM for 10 s is killed.
    for _ in {1..100}; do
      kill -0 "$server" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$state"
  exit "$status"
}
trap stop_server EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say '3 of 3: starting the server'
"$bin/quotientd" --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --data-dir "$state/data" \
  --port-file "$state/address" >"$server_log" 2>&1 &
server=$!

# The port file appears once the server accepts connections. Wait for it for up to 30 s.
for _ in {1..600}; do
  if [ -s "$state/address" ] || ! kill -0 "$server" 2>/dev/null; then break; fi
  sleep 0.05
done
if [ ! -s "$state/address" ]; then
  say "the server did not start; the end of $server_log:"
  tail -n 20 "$server_log" >&2
  exit 4
fi
address=$(<"$state/address")

say "3 of 3: optimizing $model (server $address)"
status=0
"$bin/quotient" optimize "$model" -o "$optimized" --server "$address" \
  --report "$out/report.json" --html "$out/report.html" >"$state/table" || status=$?

if [ "$status" -eq 0 ]; then python3 deploy/headline.py "$out/report.json"; fi
cat "$state/table"
if [ "$status" -eq 0 ]; then
  echo
  printf '%-16s %s\n' \
    'optimized model' "$optimized" \
    'report' "$out/report.html" \
    'report, JSON' "$out/report.json"
else
  say "the client ended with status $status; the server's log is $server_log"
fi
exit "$status"
