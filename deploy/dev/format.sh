#!/usr/bin/env bash
# Formats all C++ files in place.
set -euo pipefail
# shellcheck source=deploy/dev/sources.sh
. "$(dirname "${BASH_SOURCE[0]}")/sources.sh"

cxx_sources | xargs -0 -r "$clang_format" -i
