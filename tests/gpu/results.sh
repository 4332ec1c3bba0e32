# shellcheck shell=bash
# For tests/gpu.sh: what comes out, and how one call goes on where another one ended.
#
# Programs work in a scratch folder, because some machines give back only a few files. It holds
#
#   timings, compiled/            what later runs need not time or compile again
#   fingerprints, properties.json what the device is
#   build.txt                     what the programs are
#   *.csv, *.txt, *.snapshot      tables
#   log/                          all that was printed, a file for each unit
#   units.tsv                     what has run: name, status, seconds, build; the last line of a name counts
#
# After each unit all of it is packed into OUT/results.tar.gz and $QUOTIENT_GPU_RESULTS, and the tables
# that are read first are copied to OUT: smoke.txt, units.txt, tables.txt.

results=''              # the user's folder OUT
out=''                  # the scratch folder
build=''                # what the programs are: a digest of them
out_of_time=0           # whether something was left out for that
was_cut=''              # the unit that was stopped for that
redoes_failed=0         # whether unit_once runs again what failed
least_seconds=${QUOTIENT_GPU_LEAST_SECONDS:-10}  # that a unit is begun for

# Files beyond this do not come back from some machines.
archive_mib=${QUOTIENT_GPU_ARCHIVE_MIB:-15}
carried=${QUOTIENT_GPU_RESULTS:-build/gpu-results.tar.gz}

# A way to run a kernel that was stopped by the clock is to blame for it after so many seconds only.
blame_seconds=5

# Makes the scratch folder, and takes up what an earlier call packed.
resume() {
  local archive=$results/results.tar.gz
  mkdir -p "$results"
  out=$(mktemp -d "${TMPDIR:-/tmp}/quotient-gpu-XXXXXX")
  trap 'rm -rf "$out"' EXIT
  if [ ! -e "$archive" ]; then archive=$carried; fi
  if [ -e "$archive" ]; then
    if tar -C "$out" -xzmf "$archive"; then
      echo "gpu.sh: goes on from $archive" >&2
    else
      echo "gpu.sh: $archive is damaged, so all begins anew" >&2
      rm -rf "${out:?}"/*
    fi
  fi
  mkdir -p "$out/log" "$out/compiled"
  touch "$out/units.tsv"
  build=$(identify_build)
}

# A digest of the programs, which build.txt and units.tsv have, too.
identify_build() {
  local digest commit=unknown
  # shellcheck disable=SC2154  # `bin` is set by machine.sh.
  digest=$(for program in "$bin"/{quotient,network_bench,kernels_cuda_gpu_test,gpu_smoke,libquotient_cuda.so}; do
    if [ -e "$program" ]; then cat "$program"; fi
  done | sha256sum | cut -c1-12)
  if [ -e "$bin/../commit" ]; then commit=$(cat "$bin/../commit"); fi
  printf 'programs %s\ncommit %s\n' "$digest" "$commit" >"$out/build.txt"
  echo "$digest"
}

# bar STATUS: bars the ways to run kernels that a unit that ended with this status did not come back
# from (core/kernels/cuda/run_journal.h). Where the clock stopped it, they are barred only if they
# had been running for long.
bar() {
  local file age
  for file in "$out"/compiled/running-*; do
    if [ ! -e "$file" ] || ! flock -n "$file" true; then continue; fi  # none, or its process lives
    age=$(($(date +%s) - $(stat -c %Y "$file")))
    case $1 in
      124 | 137) if [ "$age" -ge "$blame_seconds" ]; then cat "$file" >>"$out/compiled/barred"; fi ;;
      *) cat "$file" >>"$out/compiled/barred" ;;
    esac
    rm -f "$file"
  done
}

# Tells how often a library failed in a unit otherwise than by not supporting something; 1 if it did.
# Programs go on with other ways to run their kernels (core/kernels/cuda/kernel_library.h,
# kLibraryTrouble), but what they find then is not what the machine can do.
tell_trouble() {
  local log=$out/log/$1.txt count
  count=$(grep -c 'trouble of a library: ' "$log") || return 0
  {
    echo "gpu.sh: $1: $count times trouble of a library:"
    sed -n 's/.*trouble of a library: //p' "$log" | sort | uniq -c | sort -rn | sed -n 1,5p
  } >"$log.trouble"
  tee -a "$log" <"$log.trouble"
  rm "$log.trouble"
  return 1
}

# Leaves of long logs the beginning and the end.
cut_logs() {
  local log
  find "$out/log" -type f -size +1024k | while read -r log; do
    {
      head -c 512K "$log"
      printf '\n[...]\n'
      tail -c 500K "$log"
    } >"$log.new"
    mv "$log.new" "$log"
  done
}

# Packs what came out, with as much of what is compiled as there is room for, the latest first. Logs
# are left out where there is no room for anything else.
keep() {
  local files=() compiled=() name new=$results/results.tar.gz.new
  cut_logs
  for name in "$out"/*; do
    case ${name##*/} in compiled | log) ;; *) files+=("${name##*/}") ;; esac
  done
  if [ -e "$out/compiled/barred" ]; then files+=(compiled/barred); fi
  mapfile -t compiled < <(cd "$out" && find compiled -type f ! -name 'running-*' ! -name barred -printf '%T@ %p\n' |
    sort -rn | cut -d' ' -f2-)
  while true; do
    tar -C "$out" -czf "$new" -- "${files[@]}" log "${compiled[@]}"
    if [ "$(stat -c %s "$new")" -le $((archive_mib << 20)) ]; then break; fi
    if [ ${#compiled[@]} -eq 0 ]; then
      tar -C "$out" -czf "$new" -- "${files[@]}"
      break
    fi
    compiled=("${compiled[@]:0:${#compiled[@]}/2}")
  done
  mv "$new" "$results/results.tar.gz"
  mkdir -p "$(dirname "$carried")"
  cp "$results/results.tar.gz" "$carried.new" && mv "$carried.new" "$carried"
  show_tables
}

# Copies to OUT what people read first.
show_tables() {
  local table
  print_units >"$results/units.txt"
  if [ -e "$out/smoke.txt" ]; then cp "$out/smoke.txt" "$results"; fi
  for table in "$out"/{networks,bert,transformers-*,models}.txt; do
    if [ -e "$table" ]; then printf '== %s\n' "$(basename "$table" .txt)" && cat "$table"; fi
  done >"$results/tables.txt"
}

# The last line of each unit, in the order in which they ran first.
last_units() {
  awk -F'\t' '!($1 in line) { order[++n] = $1 } { line[$1] = $0 } END { for (i = 1; i <= n; i++) print line[order[i]] }' \
    "$out/units.tsv"
}

print_units() {
  last_units | awk -F'\t' -v build="$build" '{
    printf "%-44s %-10s %s s%s\n", $1, $2 == 0 ? "ok" : $2 == 124 || $2 == 137 ? "STOPPED" : "FAILED " $2, $3,
      $4 == build ? "" : " (another build)" }'
  if [ -n "$was_cut" ]; then echo "time is up: $was_cut was stopped"; fi
  if [ "$out_of_time" = 1 ]; then echo 'time is up: not all has run'; fi
}

# The highest status that a unit of these programs is listed with.
worst_listed() {
  last_units | awk -F'\t' -v build="$build" '$4 == build && $2 > worst { worst = $2 } END { print worst + 0 }'
}

# Whether the unit ran with these programs, and need not run again.
has_run() {
  last_units | awk -F'\t' -v name="$1" -v build="$build" -v redoes="$redoes_failed" '
    $1 == name && $4 == build && (!redoes || $2 == 0 || $2 == 124) { found = 1 } END { exit !found }'
}

# unit NAME SECONDS COMMAND [ARGUMENT]... : runs the command, whose first argument becomes the
# seconds that it has, and notes what came of it. What it prints goes to log/NAME.txt, too. Where
# fewer seconds are left than were meant for it and it did not get through, it has not run, but what
# it left is packed.
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
  bar "$failed"
  tell_trouble "$name" || failed=$((failed ? failed : 1))
  case $failed in
    124 | 137)
      echo "gpu.sh: $name was stopped after $limit s" | tee -a "$out/log/$name.txt" >&2
      if [ "$limit" -lt "$wanted" ]; then
        out_of_time=1
        was_cut=$name
        keep
        return
      fi
      ;;
  esac
  printf '%s\t%s\t%s\t%s\n' "$name" "$failed" $((SECONDS - begin)) "$build" >>"$out/units.tsv"
  note "$failed"
  keep
}

# The same, unless an earlier call has run it.
unit_once() {
  if [ "$out_of_time" = 1 ] || has_run "$1"; then return; fi
  unit "$@"
}
