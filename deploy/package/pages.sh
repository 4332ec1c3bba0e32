#!/usr/bin/env bash
# Writes man pages and the completion of shells, from what the installed programs print.
#
#   pages.sh PROGRAMS OUTPUT VERSION
#
# PROGRAMS is a prefix with bin and lib. OUTPUT gets share/man and the folders where bash, zsh and fish look.
# Pages are of the day that $SOURCE_DATE_EPOCH says.
set -euo pipefail

bin=$1/bin pages=$2/share/man version=$3
calls=$(mktemp -d)
trap 'rm -rf "$calls"' EXIT
mkdir -p "$pages/man1" "$pages/man8"

# man_page SECTION NAME SUMMARY PROGRAM [COMMAND]: help2man takes the page's name from a program's.
man_page() {
  local section=$1 name=$2 summary=$3 program=$4 command=${5:-}
  printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$bin/$program" "$command" >"$calls/$name"
  chmod +x "$calls/$name"
  # Examples keep their lines, and tables that help2man takes for parts of a section get their own.
  help2man --no-info --section "$section" --version-string "$version" --name "$summary" "$calls/$name" |
    awk '
      /^\.SS "Exit codes:"/ { $0 = ".SH \"EXIT STATUS\"" }
      /^\.SS "Commands:"/ { $0 = ".SH COMMANDS" }
      is_example && /^\.SH/ { print ".fi"; is_example = 0 }
      is_example && /^\.IP$/ { print ".nf"; next }
      /^\.SH EXAMPLES/ { is_example = 1 }
      { print }' >"$pages/man$section/$name.$section"
  gzip -9n "$pages/man$section/$name.$section"
}

man_page 1 quotient 'makes ONNX models faster, and proves it' quotient
"$bin/quotient" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) *\(.*\)/\1 \2/p' |
  while read -r command summary; do
    man_page 1 "quotient-$command" "$summary" quotient "$command"
  done
man_page 8 quotientd 'serves the optimization of ONNX models' quotientd
man_page 8 quotient-backup "a backup of a server's data folder" quotient-backup
man_page 8 quotient-restore 'a data folder from a backup' quotient-restore

# completion SHELL FILE
completion() {
  mkdir -p "$(dirname "$2")"
  "$bin/quotient" completion "$1" >"$2"
}
completion bash "$2/share/bash-completion/completions/quotient"
completion zsh "$2/share/zsh/site-functions/_quotient"
completion fish "$2/share/fish/vendor_completions.d/quotient.fish"
