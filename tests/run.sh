#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. Exit status 0 only if all passed. The last line
# of the output is CTest's summary.
#
#   tests/run.sh [CTEST-ARGUMENT...]
#
# Environment: QUOTIENT_PRESET          dev (default), batches, release, asan, tsan, clang or fuzz
#              QUOTIENT_STATIC_SECONDS  if it is more than 0, deploy/dev/static.sh --sample runs for so many
#                                       seconds before the tests, and its findings fail the run, too
#
# dev is the default because debug checks are on in it and it compiles quickest. Arguments go to
# ctest: tests/run.sh -R egraph
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
preset=${QUOTIENT_PRESET:-dev}
static_seconds=${QUOTIENT_STATIC_SECONDS:-0}

say() { printf 'tests: %s\n' "$*" >&2; }

install=(--with-tests)
case $preset in
  clang | fuzz) install+=(--with-fuzz) ;;
esac
if [ "$static_seconds" -gt 0 ]; then install+=(--with-dev); fi
deploy/setup/install.sh "${install[@]}"

say "configuring and building preset $preset"
log=build/$preset/tests-configure.log
mkdir -p "build/$preset"
cmake --preset "$preset" >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
cmake --build --preset "$preset"

static='' status=0
if [ "$static_seconds" -gt 0 ]; then
  if git rev-parse HEAD >/dev/null 2>&1; then
    static='static checks: ok'
    deploy/dev/static.sh --sample "$static_seconds" || static='static checks: FAILED' status=1
  else
    static='static checks: left out, because they need a git checkout'
  fi
fi

log=build/$preset/tests-run.log
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --no-label-summary \
  --parallel "$(nproc)" "$@" 2>&1 | tee "$log" || status=$?

# CTest ends with the list of failures; the summary is what one looks for at the end.
printf '\n'
if [ -n "$static" ]; then printf '%s\n' "$static"; fi
printf '%s: %s\n' "$preset" "$(grep -E '^[0-9]+% tests passed' "$log" || echo 'no tests ran')"
exit "$status"
