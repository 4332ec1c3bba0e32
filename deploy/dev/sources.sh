# shellcheck shell=bash
# Sourced by the scripts of this folder. Changes to the root of the repository, and defines
# cxx_sources and clang_format.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# Prints the names of all C++ files, committed or not, each followed by a NUL.
cxx_sources() {
  git ls-files -z --cached --others --exclude-standard -- '*.cc' '*.h' |
    while IFS= read -r -d '' file; do
      # The index still lists a file whose deletion is not committed.
      if [ -e "$file" ]; then printf '%s\0' "$file"; fi
    done
}

clang_format=$(command -v clang-format-14 || command -v clang-format) || {
  echo 'clang-format not found; Debian package: clang-format-14' >&2
  exit 1
}
export clang_format
