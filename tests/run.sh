#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. Exit status 0 only if all passed.
#
#   tests/run.sh [CTEST-ARGUMENT...]
#
# Environment: QUOTIENT_PRESET  dev (default), release, asan, tsan, clang or fuzz
#
# dev is the default because debug checks are on in it and it compiles quickest. Arguments go to
# ctest: tests/run.sh -R egraph
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
preset=${QUOTIENT_PRESET:-dev}

install=(--with-tests)
case $preset in
  clang | fuzz) install+=(--with-fuzz) ;;
esac
deploy/setup/install.sh "${install[@]}"

printf 'tests: configuring and building preset %s\n' "$preset" >&2
log=build/$preset/tests-configure.log
mkdir -p "build/$preset"
cmake --preset "$preset" >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
cmake --build --preset "$preset"

log=build/$preset/tests-run.log
status=0
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --no-label-summary \
  --parallel "$(nproc)" "$@" 2>&1 | tee "$log" || status=$?

# CTest ends with the list of failures; the summary is what one looks for at the end.
printf '\n%s: %s\n' "$preset" "$(grep -E '^[0-9]+% tests passed' "$log" || echo 'no tests ran')"
exit "$status"
