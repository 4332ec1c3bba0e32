#!/usr/bin/env bash
# Checks formatting, include order, waits, what pages name, and shell scripts. To be run before sending a change: it
# takes seconds and builds nothing. It does not replace the tests (tests/run.sh).
set -euo pipefail
# shellcheck source=deploy/dev/sources.sh
. "$(dirname "${BASH_SOURCE[0]}")/sources.sh"

failed=''
check() {
  local name=$1
  shift
  if "$@"; then echo "ok      $name"; else
    echo "FAILED  $name"
    failed=1
  fi
}

formatting() { cxx_sources | xargs -0 -r "$clang_format" --dry-run -Werror; }
scripts() { git ls-files -z --cached --others --exclude-standard -- '*.sh' .ci/run | xargs -0 -r shellcheck -x; }

check formatting formatting
check 'include order' python3 tests/lint/include_order.py
check waits python3 tests/lint/waits.py
check pages python3 tests/lint/pages.py
if command -v shellcheck >/dev/null; then check 'shell scripts' scripts; fi
if [ -n "$failed" ]; then exit 1; fi
