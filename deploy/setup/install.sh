#!/usr/bin/env bash
# Installs what Quotient needs and this machine lacks, and nothing else. Debian 12.
#
#   deploy/setup/install.sh [--with-tests] [--with-fuzz] [--with-dev] [--with-package] [--with-cuda]
#
#   --with-tests   also Prometheus, ONNX Runtime for Python and others that only the tests use
#   --with-fuzz    also clang 14 for the presets clang and fuzz
#   --with-dev     also the tools that deploy/dev uses: clang-format, clang-tidy, shellcheck
#   --with-package also what deploy/package.sh uses; so does --with-tests
#   --with-cuda    also CUDA and cuDNN, as far as the CUDA plug-in needs them: 0.9 GB to download. They are taken
#                  before others that are here, but for those in $CUDA_HOME
#
# Debian packages go into the system (with sudo, unless run by root). All else goes under build/deps:
#
#   build/deps/<digest>          prefix with oneDNN and the ONNX C++ library; CMake looks here
#   build/deps/current           link to the prefix in use
#   build/deps/onnxruntime-<digest>  ONNX Runtime's library, from its PyPI wheel
#   build/deps/onnxruntime       link to the one in use
#   build/deps/tests-<digest>    virtual environment and tools of the tests
#   build/deps/tests             link to the one in use
#   build/deps/package-<digest>  virtual environment of deploy/package.sh
#   build/deps/package           link to the one in use
#   build/deps/cudnn-frontend-<digest>  headers for the CUDA plug-in, where cuDNN is found
#   build/deps/cudnn-frontend    link to the one in use
#   build/deps/cuda-<digest>     headers and libraries of CUDA and cuDNN, with --with-cuda
#   build/deps/cuda              link to the one in use
#
# <digest> covers the pinned versions and the build script. If these change, a new directory is made;
# otherwise this script does nothing. A directory is complete only if it has a file .complete, which
# is written last, so that an interrupted installation is not mistaken for a finished one.
#
# Environment: QUOTIENT_DEPS         directory to use instead of build/deps
#              QUOTIENT_BASE_PYTHON  interpreter that makes virtual environments (/usr/bin/python3)
#              CUDA_HOME             where CUDA and cuDNN are, if not in /usr/local/cuda or /usr
set -euo pipefail

setup=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$setup/../.." && pwd)
deps=${QUOTIENT_DEPS:-$repo/build/deps}
python=${QUOTIENT_BASE_PYTHON:-/usr/bin/python3}

say() { printf 'install: %s\n' "$*" >&2; }

with_tests='' with_fuzz='' with_dev='' with_package='' with_cuda=''
for arg in "$@"; do
  case $arg in
    --with-tests) with_tests=1 ;;
    --with-fuzz) with_fuzz=1 ;;
    --with-dev) with_dev=1 ;;
    --with-package) with_package=1 ;;
    --with-cuda) with_cuda=1 ;;
    *)
      say "unknown argument $arg"
      sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
      exit 2
      ;;
  esac
done

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

# install_packages FILE... : installs the packages listed in the files that are missing here.
install_packages() {
  local wanted missing
  wanted=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@" | sort -u)
  missing=$(comm -23 <(printf '%s\n' "$wanted") \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort -u))
  if [ -z "$missing" ]; then return; fi
  say "Debian packages: $(tr '\n' ' ' <<<"$missing")"
  as_root apt-get -qq update
  # shellcheck disable=SC2086  # one word per package is meant
  as_root env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get -qq -y --no-install-recommends \
    -o Dpkg::Use-Pty=0 install $missing >/dev/null
}

# digest FILE... : prints a short hash of the files and of the version of protobuf, against whose
# headers ONNX is compiled.
digest() {
  { cat "$@" && dpkg-query -W -f '${Version}' libprotobuf-dev; } | sha256sum | cut -c 1-16
}

# ensure WHAT LINK NAME COMMAND... : runs COMMAND with directory $deps/NAME appended unless that
# directory is complete, then points $deps/LINK to it.
ensure() {
  local what=$1 link=$2 name=$3
  shift 3
  if [ ! -e "$deps/$name/.complete" ]; then
    say "$what -> $deps/$name"
    "$@" "$deps/$name"
    touch "$deps/$name/.complete"
  fi
  # -n replaces the link itself. A correct link is not touched, so that its time stamp stays.
  if [ "$(readlink "$deps/$link" || true)" != "$name" ]; then ln -sfn "$name" "$deps/$link"; fi
}

build_prefix() { "$setup/build_prefix.sh" "$1" "$deps/.scratch"; }

# make_environment REQUIREMENTS DIR: makes a virtual environment with wheels of PyPI.
make_environment() {
  local requirements=$1 dir=$2
  rm -rf "$dir"
  "$python" -m venv "$dir"
  PIP_DISABLE_PIP_VERSION_CHECK=1 "$dir/bin/python" -m pip --quiet install --require-hashes \
    --no-deps --only-binary :all: -r "$requirements"
}

build_package_tools() { make_environment "$setup/requirements-package.txt" "$1"; }

build_test_tools() {
  local dir=$1
  make_environment "$setup/requirements-tests.txt" "$dir"
  # Tests let Prometheus scrape the server. It is unpacked and not installed, because Debian's
  # package would start a Prometheus server on this machine.
  (
    cd "$dir"
    as_root apt-get -qq update
    apt-get -qq -o APT::Sandbox::User=root download prometheus
    dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/prometheus ./usr/bin/promtool
    mv usr/bin/prometheus usr/bin/promtool bin/
    rm -r usr prometheus_*.deb
  )
}

# Whether the CUDA plug-in can be built here (deploy/cmake/QuotientCuda.cmake).
have_cudnn() {
  local dir
  for dir in "${CUDA_HOME:+$CUDA_HOME/include}" "$deps/cuda/include" /usr/local/cuda/include /usr/include \
    /usr/include/x86_64-linux-gnu; do
    if [ -n "$dir" ] && [ -e "$dir/cudnn.h" ]; then return; fi
  done
  return 1
}

# unpack_wheels REQUIREMENTS DIR: downloads wheels and unpacks them to DIR/wheel.
unpack_wheels() {
  local requirements=$1 dir=$2 wheel
  rm -rf "$dir"
  mkdir -p "$dir"
  "$python" -m venv "$dir/venv"
  PIP_DISABLE_PIP_VERSION_CHECK=1 "$dir/venv/bin/python" -m pip --quiet download --require-hashes \
    --no-deps --only-binary :all: --python-version 3.11 --platform manylinux_2_28_x86_64 \
    --platform manylinux_2_27_x86_64 --platform manylinux2014_x86_64 --dest "$dir" -r "$requirements"
  for wheel in "$dir"/*.whl; do "$python" -m zipfile -e "$wheel" "$dir/wheel"; done
}

# Of both packages, only a part is used.
unpack_cudnn_frontend() {
  local dir=$1 scratch=$1.scratch
  rm -rf "$dir"
  mkdir -p "$dir"
  unpack_wheels "$setup/requirements-cuda.txt" "$scratch"
  mv "$scratch/wheel/include" "$dir/include"
  rm -rf "$scratch"
}

unpack_onnxruntime() {
  local dir=$1 scratch=$1.scratch
  rm -rf "$dir"
  mkdir -p "$dir/lib"
  unpack_wheels "$setup/requirements-onnxruntime.txt" "$scratch"
  mv "$scratch"/wheel/onnxruntime/capi/libonnxruntime.so.* "$dir/lib/libonnxruntime.so"
  mv "$scratch"/wheel/onnxruntime/{LICENSE,ThirdPartyNotices.txt} "$dir/"
  rm -rf "$scratch"
}

# Of cuDNN, what its graph API loads, and not the libraries of older ones.
unpack_cuda() {
  local dir=$1 scratch=$1.scratch library licenses name
  rm -rf "$dir"
  mkdir -p "$dir/lib" "$dir/licenses"
  unpack_wheels "$setup/requirements-cuda-libraries.txt" "$scratch"
  cp -R "$scratch"/wheel/nvidia/{cu13,cudnn}/include "$dir"
  mv "$scratch"/wheel/nvidia/cu13/lib/{libcudart_static.a,libcublasLt.so.*,libnvrtc.so.*,libnvrtc-builtins.so.*} \
    "$scratch"/wheel/nvidia/cudnn/lib/libcudnn{,_graph,_heuristic,_engines_precompiled,_engines_runtime_compiled}.so.* \
    "$dir/lib"
  for library in cublasLt nvrtc cudnn; do
    name=$(basename "$dir/lib/lib$library".so.*)
    ln -s "$name" "$dir/lib/lib$library.so"
  done
  for licenses in "$scratch"/wheel/*.dist-info/licenses; do
    name=$(basename "${licenses%/*}")
    name=${name%%-*}
    mv "$licenses" "$dir/licenses/${name//_/-}"
  done
  rm -rf "$scratch"
}

download_the_rest() {
  ensure 'ONNX Runtime' onnxruntime \
    "onnxruntime-$(digest "$setup/requirements-onnxruntime.txt")" unpack_onnxruntime
  if [ -n "$with_tests" ]; then
    ensure 'tools of the tests' tests \
      "tests-$(digest "$setup"/requirements-{tests,onnxruntime,package}.txt)" build_test_tools
  fi
  if [ -n "$with_tests$with_package" ]; then
    ensure 'tools of packages' package "package-$(digest "$setup/requirements-package.txt")" build_package_tools
  fi
  if [ -n "$with_cuda" ]; then
    ensure 'CUDA and cuDNN' cuda "cuda-$(digest "$setup/requirements-cuda-libraries.txt")" unpack_cuda
  fi
  if have_cudnn; then
    ensure 'cudnn_frontend' cudnn-frontend \
      "cudnn-frontend-$(digest "$setup/requirements-cuda.txt")" unpack_cudnn_frontend
  fi
}

lists=("$setup/packages.txt")
if [ -n "$with_tests" ]; then lists+=("$setup/packages-tests.txt"); fi
if [ -n "$with_tests$with_package" ]; then lists+=("$setup/packages-package.txt"); fi
if [ -n "$with_fuzz" ]; then lists+=("$setup/packages-fuzz.txt"); fi
if [ -n "$with_dev" ]; then lists+=("$setup/packages-dev.txt"); fi

mkdir -p "$deps"
# Only one installer may run at a time; others wait here until it has finished.
exec 9>"$deps/.lock"
if ! flock -n 9; then
  say 'another install.sh is at work, waiting for it'
  flock 9
fi

install_packages "${lists[@]}"
# What is only downloaded is fetched while ONNX compiles.
download_the_rest &
download=$!
ensure 'oneDNN and ONNX' current \
  "$(digest "$setup/build_prefix.sh" "$setup"/requirements{,-onnx,-build}.txt)" build_prefix
wait "$download"
say 'all dependencies are in place'
