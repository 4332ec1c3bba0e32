# shellcheck shell=bash
# For the scripts of this folder: goes to the repository's root and defines cxx_sources.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# All C++ files, committed or not yet, NUL-terminated.
cxx_sources() {
  git ls-files -z --cached --others --exclude-standard -- '*.cc' '*.h' |
    while IFS= read -r -d '' file; do
      # A file deleted but not yet committed is still in the index.
      if [ -e "$file" ]; then printf '%s\0' "$file"; fi
    done
}

clang_format=$(command -v clang-format-14 || command -v clang-format) || {
  echo 'clang-format not found; Debian package: clang-format-14' >&2
  exit 1
}
export clang_format
