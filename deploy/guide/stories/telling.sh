# What the three stories share; each of them sources this file. It finds the installation that the story belongs to, makes
# the folder in which the story works, and prints each command before it runs it. It sets
#
#   $prefix    the installation: the unpacked archive, /usr for the Debian package, or $QUOTIENT_PREFIX
#   $deploy    the installation's chart, rules and dashboards
#   $model     the model that the story was given, as an absolute path
#   $address   where the server that start_server has started serves gRPC, and $http where it serves HTTP
# shellcheck shell=bash disable=SC2034  # The stories use these.
set -euo pipefail
exec 3>&1  # Commands are printed here, wherever their own output goes.
started=() # Programs in the background, which end with the story at the latest.

fail() {
  printf 'story: %s\n' "$*" >&2
  exit 1
}

# begin_story NAME PROGRAMS STORY-ARGUMENT...: reads the story's arguments, MODEL.onnx [FOLDER], sees that the programs that
# the story needs are there (names with blanks between), and goes to the folder.
begin_story() {
  story=$1
  local programs program
  read -ra programs <<<"$2"
  shift 2
  if [ $# -lt 1 ] || [ $# -gt 2 ] || [[ $1 == -* ]]; then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
  fi
  if [ ! -f "$1" ]; then fail "no such file: $1"; fi
  model=$(realpath "$1")
  folder=$(realpath -m "${2:-quotient-$story}")
  if [ -e "$folder" ]; then fail "$folder is there already; name another folder after the model"; fi
  find_installation
  local missing=()
  for program in "${programs[@]}"; do
    if ! command -v "$program" >/dev/null; then missing+=("$program"); fi
  done
  if [ ${#missing[@]} -gt 0 ]; then
    fail "this story needs ${missing[*]}, not in PATH; README.md beside it says where programs come from"
  fi
  # Nothing of the user's is used: what is cached goes with the folder.
  export XDG_CACHE_HOME=$folder/cache
  unset QUOTIENT_SERVER
  trap 'kill -KILL "${started[@]}" 2>/dev/null || true' EXIT
  mkdir -p "$folder"
  cd "$folder"
  SECONDS=0
}

find_installation() {
  prefix=${QUOTIENT_PREFIX:-$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../../../..")}
  deploy=$prefix/share/quotient/deploy
  if [ ! -x "$prefix/bin/quotientd" ]; then
    fail "there is no $prefix/bin/quotientd: run the story of an installation, or let QUOTIENT_PREFIX name one"
  fi
  PATH=$prefix/bin:$PATH
}

chapter() { printf '\n== %3d s  %s\n' "$SECONDS" "$*"; }

end_story() {
  printf '\n== %s: done in %d s; what it made is in %s\n' "$story" "$SECONDS" "$folder"
}

show() { printf '$ %s\n' "$*" >&3; }

run() {
  show "$@"
  "$@"
}

# refused STATUS TEXT COMMAND...: runs a command that has to end with this exit status (`any`: not 0) and say this text.
refused() {
  local wanted=$1 text=$2 status=0
  shift 2
  run "$@" >refused.txt 2>&1 || status=$?
  cat refused.txt
  if [ "$status" -eq 0 ] || { [ "$wanted" != any ] && [ "$status" -ne "$wanted" ]; }; then
    fail "expected the exit status $wanted, not $status"
  fi
  if ! grep --quiet --fixed-strings -- "$text" refused.txt; then fail "expected it to say $text"; fi
  printf '(exit status %d, as it should be)\n' "$status"
}

# Waits until a command succeeds, for a minute at most.
await() {
  local end=$((SECONDS + 60))
  until "$@" >await.txt 2>&1; do
    if [ "$SECONDS" -ge "$end" ]; then
      cat await.txt
      fail "waited in vain for: $*"
    fi
    sleep 0.2
  done
}

# start LOG COMMAND...: starts a program in the background; $! is its process.
start() {
  local log=$1
  shift
  show "$@"
  "$@" >"$log" 2>&1 &
  started+=("$!")
}

# start_server FLAG...: starts quotientd, and waits until it serves; its log is server.log.
start_server() {
  rm -f address
  start server.log quotientd "$@" --port-file "$folder/address"
  server=$!
  await has_begun
  if [ ! -s address ]; then
    cat server.log
    fail 'the server did not start'
  fi
  address=$(<address)
  http=$(sed -n 's,.*metrics on \(http://[^/]*\)/metrics.*,\1,p' server.log)
  printf 'it serves gRPC on %s, and HTTP on %s\n' "$address" "${http:-no port}"
}

has_begun() { [ -s address ] || ! kill -0 "$server"; }

# Tells the server to end, and waits until it has.
stop_server() {
  run kill "$server"
  wait "$server"
}
