#!/usr/bin/env bash
# Makes a prefix run from any folder of a machine that has nothing but glibc.
#
#   bundle.sh PREFIX LIST
#
# Copies the libraries of this machine that the programs in PREFIX/bin load to PREFIX/lib, unchanged, and
# tells the programs to look there first. LIST gets a line for each: its name, and the file that it was.
set -euo pipefail

prefix=$1 list=$2
# What belongs to glibc has to be that of the machine.
glibc='^(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv|libmvec|libanl|libutil)\.so'
programs=()
for file in "$prefix"/bin/*; do
  if readelf -h "$file" >/dev/null 2>&1; then programs+=("$file"); fi
done

ldd "${programs[@]}" "$prefix"/lib/*.so* | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u |
  grep -vE "$glibc" | grep -vF " $prefix/" >"$list"
if ldd "${programs[@]}" | grep -F 'not found' >&2; then exit 1; fi
while read -r name file; do
  cp --dereference --no-preserve=all "$file" "$prefix/lib/$name"
done <"$list"
# DT_RPATH, because DT_RUNPATH would not hold for what these libraries load in turn.
for program in "${programs[@]}"; do
  # shellcheck disable=SC2016  # the dynamic linker expands it
  patchelf --force-rpath --set-rpath '$ORIGIN/../lib' "$program"
done
