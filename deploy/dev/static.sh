#!/usr/bin/env bash
# Static checks with clang 14: clang-tidy on changed files, and thread-safety analysis of all code with
# locks. Compiles nothing to object code.
#
#   deploy/dev/static.sh                both, of the files that differ from the upstream branch
#   deploy/dev/static.sh --since REF    the same, of those that differ from REF
#   deploy/dev/static.sh FILE...        both, of these files
#   deploy/dev/static.sh --threads      only the analysis
#   deploy/dev/static.sh --tidy ...     only clang-tidy, with any of the above
#   deploy/dev/static.sh --sample N     both, for N seconds: of the last commit's files, then of others in
#                                       an order that is another one for each commit (.ci/run)
#
# The analysis covers the sources that use absl::Mutex or MonotonicMutex, or include a header of ours
# that does: all of them, or those among the named files. What clang-tidy says is advice (.clang-tidy): mend it, or say
# in the code why not. The exit status is 1 if the analysis finds something or a file cannot be
# compiled, and 2 if a program is missing or this is not how it is called.
#
# Environment: QUOTIENT_JOBS  how many files are looked at at a time (the number of processors)
set -euo pipefail

usage() {
  sed -n '5,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

want_tidy=1 want_threads=1 since='' sample='' files=()
while [ $# -gt 0 ]; do
  case $1 in
    --since)
      if [ $# -lt 2 ]; then usage; fi
      since=$2
      shift
      ;;
    --sample)
      if ! [[ ${2:-} =~ ^[0-9]+$ ]]; then usage; fi
      sample=$2
      shift
      ;;
    --threads) want_tidy='' ;;
    --tidy) want_threads='' ;;
    -*) usage ;;
    *) files+=("$1") ;;
  esac
  shift
done
named=${files[*]:+1}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/clang
jobs=${QUOTIENT_JOBS:-$(nproc)}

for program in clang++-14 clang-tidy-14 ninja; do
  if ! command -v "$program" >/dev/null; then
    echo "static: $program not found; run deploy/setup/install.sh --with-dev" >&2
    exit 2
  fi
done

say() { printf 'static: %s\n' "$*" >&2; }

# Compile commands and generated headers.
if [ ! -e $build/build.ninja ]; then
  mkdir -p $build
  cmake --preset clang >$build/static-configure.log 2>&1 || {
    cat $build/static-configure.log >&2
    exit 1
  }
fi
ninja -C $build build.ninja cmake_object_order_depends_target_quotient_proto \
  cmake_object_order_depends_target_quotient_ort_proto \
  cmake_object_order_depends_target_quotient_runner_proto >/dev/null

# Files that differ from a revision, committed or not.
changed_files() {
  local base
  base=$(git merge-base HEAD "${since:-@{upstream\}}")
  git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h'
  git ls-files --others --exclude-standard -- '*.cc' '*.h'
}

# source_of FILE : the file to compile for it: its own source, else the first one that includes it or
# a header that does.
source_of() {
  local file=$1 source includer
  for _ in 1 2 3 4; do
    source=${file%.*}.cc
    if [ -e "$source" ]; then break; fi
    includer=$(git grep -lF --untracked "#include \"$file\"" -- '*.cc' '*.h' | LC_ALL=C sort -t. -k2,2 | head -n 1 || true)
    if [ -z "$includer" ]; then return; fi
    file=$includer
  done
  printf '%s\n' "$source"
}

# Sources to look at for the files on standard input.
sources_of() {
  local file
  while IFS= read -r file; do source_of "$file"; done | sort -u
}

# Those of the sources on standard input that this build compiles: not the CUDA plug-in where there
# is no CUDA, and no fuzz targets' main().
compiled() {
  python3 -c '
import json, os, sys
known = {os.path.relpath(c["file"]) for c in json.load(open(sys.argv[1]))}
print("\n".join(line.strip() for line in sys.stdin if line.strip() in known))
' $build/compile_commands.json | sed '/^$/d'
}

# All sources with locks, and one for each header with locks.
sources_with_locks() {
  local locks='absl::Mutex|MonotonicMutex|ABSL_(GUARDED_BY|PT_GUARDED_BY|LOCKS_EXCLUDED|EXCLUSIVE_LOCKS_REQUIRED)'
  local headers includes
  headers=$(git grep -lE --untracked "$locks" -- 'core/*.h' 'server/*.h' 'client/*.h')
  includes=$(printf '%s\n' "$headers" | sed 's/.*/#include "&"/')
  {
    git grep -lE --untracked "$locks" -- 'core/*.cc' 'server/*.cc' 'client/*.cc'
    git grep -lF --untracked -f <(printf '%s\n' "$includes") -- 'core/*.cc' 'server/*.cc' 'client/*.cc'
    sources_of <<<"$headers"
  } | sort -u
}

# All sources that this build compiles, the last commit's first; the order of the others depends on
# the commit. A shallow clone does not have the commit before the last one.
sampled() {
  local last='' all
  if git rev-parse --verify --quiet HEAD~1 >/dev/null; then
    last=$(git diff --name-only --diff-filter=d HEAD~1 -- '*.cc' '*.h' | sources_of | compiled)
  fi
  all=$(git ls-files -- 'core/*.cc' 'server/*.cc' 'client/*.cc' 'proto/*.cc' | compiled)
  {
    printf '%s\n' "$last"
    printf '%s\n' "$all" | sort -R --random-source=<(yes "$(git rev-parse HEAD)")
  } | sed '/^$/d' | awk '!seen[$0]++'
}

# check_sampled FILE : both checks, unless the time is over.
check_sampled() {
  if [ "$(date +%s)" -ge "$deadline" ]; then return; fi
  printf '%s\n' "$1" >>"$looked_at"
  if grep -qxF "$1" <<<"$locked"; then check_threads "$1" || return; fi
  clang-tidy-14 -p "$build" --quiet "$1" 2> >(grep -vE '^[0-9]+ warnings? generated' >&2)
}

# check_threads FILE : the compiler's warnings on one file, by its compile command without the output.
check_threads() {
  python3 -c '
import json, os, shlex, subprocess, sys
build, file = sys.argv[1:]
for command in json.load(open(build + "/compile_commands.json")):
    if os.path.relpath(command["file"]) == file:
        words = shlex.split(command["command"])
        words = words[next(i for i, w in enumerate(words) if "clang++" in w):]
        out = words.index("-o")
        del words[out:out + 2]
        sys.exit(subprocess.run(words + ["-fsyntax-only"], cwd=command["directory"]).returncode)
' $build "$1"
}
export -f check_threads check_sampled
export build

if [ -n "$sample" ]; then
  deadline=$(($(date +%s) + sample)) locked=$(sources_with_locks | compiled) looked_at=$(mktemp)
  trap 'rm -f "$looked_at"' EXIT
  export deadline locked looked_at
  chosen=$(sampled)
  status=0
  # shellcheck disable=SC2016  # expanded by the shell that xargs starts
  tr '\n' '\0' <<<"$chosen" | xargs -0 -r -n 1 -P "$jobs" bash -c 'check_sampled "$@"' _ || status=1
  say "looked at $(wc -l <"$looked_at") of $(wc -l <<<"$chosen") files in $sample seconds"
  if [ "$status" -ne 0 ]; then say 'FAILED'; fi
  exit "$status"
fi

if [ -n "$named" ]; then
  chosen=$(printf '%s\n' "${files[@]}" | sources_of | compiled)
elif [ -n "$want_tidy" ]; then
  chosen=$(changed_files | sort -u | sources_of | compiled)
fi

failed=''
if [ -n "$want_threads" ]; then
  sources=$(sources_with_locks | compiled)
  if [ -n "$named" ]; then sources=$(comm -12 <(printf '%s\n' "$sources") <(printf '%s\n' "$chosen")); fi
  say "thread-safety analysis of $(grep -c . <<<"$sources" || true) files"
  # shellcheck disable=SC2016  # expanded by the shell that xargs starts
  tr '\n' '\0' <<<"$sources" | sed -z '/^$/d' |
    xargs -0 -r -n 1 -P "$jobs" bash -c 'check_threads "$@"' _ || failed=1
fi
if [ -n "$want_tidy" ]; then
  say "clang-tidy of $(grep -c . <<<"$chosen" || true) files"
  tr '\n' '\0' <<<"$chosen" | sed -z '/^$/d' |
    xargs -0 -r -n 1 -P "$jobs" clang-tidy-14 -p $build --quiet 2> >(grep -vE '^[0-9]+ warnings? generated' >&2) ||
    failed=1
fi
if [ -n "$failed" ]; then
  say 'FAILED'
  exit 1
fi
say 'ok'
