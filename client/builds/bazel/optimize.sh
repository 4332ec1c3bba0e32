#!/bin/sh
# optimize.sh NAME RESULT MODEL [DATA...] -- PROGRAM [OPTION...]
# Runs `PROGRAM optimize MODEL -o NAME`. RESULT is where the result goes: a file, or a folder for a result that
# brings weights in files of their own; if it is empty, the result is not kept.
#
# The model and its data are copied into a folder of their own first. In a sandbox they are links, and quotient
# opens no data by links that lead out of the model's folder.
set -eu

name=$1
result=$2
model=$3
shift 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/in" "$work/out"
folder=$(dirname "$model")
while [ "$1" != -- ]; do
  place=$work/in/${1#"$folder"/}
  mkdir -p "$(dirname "$place")"
  cp -L "$1" "$place"
  shift
done
program=$2
shift 2

"$program" optimize "$work/in/${model#"$folder"/}" -o "$work/out/$name" --cache "$work/results" "$@"

if [ -d "$result" ]; then
  mv "$work"/out/* "$result/"
elif [ -n "$result" ]; then
  mv "$work/out/$name" "$result"
  rmdir "$work/out"  # Fails if there are weights, too: then the rule needs `data`.
fi
