# shellcheck shell=bash
# For tests/gpu.sh: what comes out, and how one call goes on where another one ended. OUT holds
#
#   timings, compiled/            what later runs need not time or compile again
#   fingerprints, properties.json what the device is
#   *.csv, *.txt, *.snapshot      tables
#   log/                          all that was printed, a file for each unit
#   units.tsv                     what has run: name, status, seconds
#   results.tar.gz                all of it in one file, packed again after each unit

out=''                  # the folder
deadline=0              # in $SECONDS, when time is up
out_of_time=0           # whether something was left out for that
least_seconds=${QUOTIENT_GPU_LEAST_SECONDS:-10}  # that a unit is begun for

# Files beyond this do not come back from some machines.
archive_mib=${QUOTIENT_GPU_ARCHIVE_MIB:-15}

# Takes up what an earlier call packed, where OUT has nothing yet.
resume() {
  local archive=${QUOTIENT_GPU_RESULTS:-build/gpu-results.tar.gz}
  mkdir -p "$out/log" "$out/compiled"
  touch "$out/units.tsv"
  if [ -s "$out/units.tsv" ] || [ -e "$out/timings" ]; then return; fi
  if [ -e "$out/results.tar.gz" ]; then archive=$out/results.tar.gz; fi
  if [ ! -e "$archive" ]; then return; fi
  tar -C "$out" -xzmf "$archive"
  echo "gpu.sh: goes on from $archive" >&2
}

# Packs OUT, with as much of what is compiled as there is room for, the latest first.
keep() {
  local files=() compiled=() name
  for name in "$out"/*; do
    case ${name##*/} in results.tar.gz* | compiled) ;; *) files+=("${name##*/}") ;; esac
  done
  if [ -e "$out/compiled/barred" ]; then files+=(compiled/barred); fi
  mapfile -t compiled < <(cd "$out" && find compiled -type f ! -name 'running-*' ! -name barred -printf '%T@ %p\n' |
    sort -rn | cut -d' ' -f2-)
  while true; do
    tar -C "$out" -czf "$out/results.tar.gz.new" -- "${files[@]}" "${compiled[@]}"
    if [ ${#compiled[@]} -eq 0 ] || [ "$(stat -c %s "$out/results.tar.gz.new")" -le $((archive_mib << 20)) ]; then break; fi
    compiled=("${compiled[@]:0:${#compiled[@]}/2}")
  done
  mv "$out/results.tar.gz.new" "$out/results.tar.gz"
}

seconds_left() { echo $((deadline - SECONDS)); }

has_run() { [ -e "$out/units.tsv" ] && cut -f1 "$out/units.tsv" | grep -qxF -- "$1"; }

# unit NAME SECONDS COMMAND [ARGUMENT]... : runs the command, whose first argument becomes the
# seconds that it has, and notes what came of it. What it prints goes to OUT/log/NAME.txt, too. Where
# fewer seconds are left than were meant for it and it did not get through, it has not run.
unit() {
  local name=$1 wanted=$2 left limit begin=$SECONDS failed=0
  shift 2
  left=$(seconds_left)
  if [ "$left" -lt "$least_seconds" ]; then
    out_of_time=1
    return
  fi
  limit=$((wanted < left ? wanted : left))
  echo "gpu.sh: $name, $limit s at most" >&2
  "$1" "$limit" "${@:2}" 2>&1 | tee "$out/log/$name.txt" || failed=$?
  case $failed in
    124 | 137)
      if [ "$limit" -lt "$wanted" ]; then
        out_of_time=1
        return
      fi
      echo "gpu.sh: $name was stopped after $limit s" | tee -a "$out/log/$name.txt" >&2
      ;;
  esac
  printf '%s\t%s\t%s\n' "$name" "$failed" $((SECONDS - begin)) >>"$out/units.tsv"
  note "$failed"
  keep
}

# The same, unless an earlier call has run it.
unit_once() {
  if [ "$out_of_time" = 1 ] || has_run "$1"; then return; fi
  unit "$@"
}
