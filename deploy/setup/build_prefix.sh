#!/usr/bin/env bash
# Fills a prefix with what CMake needs and Debian 12 lacks: the ONNX C++ library, built from source,
# and oneDNN. Called by install.sh, under its lock; the caller decides when the result is complete.
#
#   build_prefix.sh PREFIX SCRATCH
#
# SCRATCH is emptied first. Its path should not change between calls, so that ccache recognizes
# the sources when the prefix is built again.
set -euo pipefail

prefix=$1 scratch=$2
setup=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${QUOTIENT_BASE_PYTHON:-/usr/bin/python3}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_INPUT=1

say() { printf 'install: %s\n' "$*" >&2; }

rm -rf "$scratch" "$prefix"
mkdir -p "$scratch" "$prefix"

say 'tools that build ONNX (CMake, pinned)'
"$python" -m venv "$scratch/venv"
pip() { "$scratch/venv/bin/python" -m pip --quiet "$@"; }
pip install --require-hashes --no-deps --only-binary :all: -r "$setup/requirements-build.txt"

# Downloaded while ONNX compiles.
say 'oneDNN (wheels)'
pip install --require-hashes --no-deps --only-binary :all: --ignore-installed \
  --prefix "$prefix" -r "$setup/requirements.txt" &
onednn=$!

say 'ONNX source'
# pip runs the sdist's build back end to learn its metadata; without isolation it uses our pins.
PATH="$scratch/venv/bin:$PATH" pip download --require-hashes --no-deps --no-binary :all: \
  --no-build-isolation --dest "$scratch" -r "$setup/requirements-onnx.txt"
mkdir "$scratch/onnx"
tar -xzf "$scratch"/onnx-*.tar.gz -C "$scratch/onnx" --strip-components=1

say 'ONNX library: compiling, less than a minute on two cores'
cmake="$scratch/venv/bin/cmake"
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
{
  # A static library against Debian's shared protobuf: the one copy of protobuf in our processes.
  # Most of it is schemas, which are made once per process: -O1 and ONNX's own unity build take less
  # than half the time of its defaults (-O3, one source at a time) to compile. Its messages name its
  # sources as in its archive, so that the library is the same wherever it is built.
  "$cmake" -S "$scratch/onnx" -B "$scratch/build" -G Ninja "${launcher[@]}" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE='-O1 -DNDEBUG' \
    -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$scratch/=" \
    -DONNX_USE_UNITY_BUILD=ON -DCMAKE_CXX_STANDARD=20 -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF \
    -DONNX_ML=ON -DONNX_BUILD_PYTHON=OFF -DONNX_BUILD_TESTS=OFF \
    -DONNX_USE_PROTOBUF_SHARED_LIBS=ON &&
    "$cmake" --build "$scratch/build" &&
    "$cmake" --install "$scratch/build"
} >"$scratch/onnx.log" 2>&1 || {
  tail -n 40 "$scratch/onnx.log" >&2
  say "building ONNX failed; the whole log is $scratch/onnx.log"
  exit 1
}
wait "$onednn"
rm -rf "$scratch"
