#!/usr/bin/env bash
# Makes packages of a build: archives that run from any folder, Debian packages, and the wheel of the Python client.
#
#   deploy/package.sh [--build DIR] [--output DIR] [--nvidia DIR] [--quick]
#
#   --build DIR    a finished build; default: build/release, which is configured and built first
#   --output DIR   where the packages go, default build/packages; older ones there are replaced
#   --nvidia DIR   licences and bill of materials of what deploy/setup/install.sh --with-cuda has installed go
#                  there, for an image that has NVIDIA's libraries
#   --quick        compresses little, for tests
#
# VERSION is that of CMakeLists.txt. The CUDA plug-in has packages of its own, if the build has it.
#
#   quotient-VERSION-linux-x86_64.tar.gz       all else, with the libraries that a bare machine lacks
#   quotient-cuda-VERSION-linux-x86_64.tar.gz  to be unpacked over it
#   quotient_VERSION_amd64.deb                 programs, man pages, completion, what builds and operators need
#   libquotient-dev_VERSION_amd64.deb          the C++ client library
#   quotient-cuda_VERSION_amd64.deb
#   quotient_client-VERSION-py3-none-any.whl   the Python client
#   SHA256SUMS
#
# The same build gives the same bytes: all times are that of the commit, or $SOURCE_DATE_EPOCH. Needs
# deploy/setup/install.sh --with-package.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/.." && pwd)
say() { printf 'package: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

build='' output=$repo/build/packages nvidia='' gzip_level=9 deb_compression=(-Zxz)
while [ $# -gt 0 ]; do
  case $1 in
    --build | --output | --nvidia)
      if [ $# -lt 2 ]; then fail "$1 needs a folder"; fi
      printf -v "${1#--}" '%s' "$(realpath -m "$2")"
      shift 2
      ;;
    --quick)
      gzip_level=1 deb_compression=(-Zgzip -z1)
      shift
      ;;
    --help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
      exit
      ;;
    *) fail "unknown argument $1; see --help" ;;
  esac
done
for tool in dpkg-shlibdeps dpkg-deb help2man patchelf; do
  if ! command -v "$tool" >/dev/null; then fail "no $tool: run deploy/setup/install.sh --with-package"; fi
done
if [ -z "$build" ]; then
  build=$repo/build/release
  cd "$repo"
  cmake --preset release >&2
  cmake --build --preset release --target quotient_contents >&2
fi
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
if [ ! -f "$build/CMakeCache.txt" ]; then fail "$build is no build"; fi
version=$(cached CMAKE_PROJECT_VERSION)
tools=$(dirname "$(cached QUOTIENT_PREFIX)")/package
if [ ! -e "$tools/.complete" ]; then fail "no $tools: run deploy/setup/install.sh --with-package"; fi
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  # Without git, as in an image, the time of a file that each change of ours touches.
  SOURCE_DATE_EPOCH=$(git -C "$repo" log -1 --format=%ct 2>/dev/null || stat -c %Y "$repo/CHANGELOG.md")
fi
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# --- 1. What CMake installs, a folder per component; and pages: those that programs write, and the guide as HTML

for component in programs builds operation client cuda; do
  cmake --install "$build" --prefix "$work/$component" --component "$component" --strip >/dev/null
done
strip --strip-unneeded "$work/programs/lib/libdnnl.so.3"
find "$work/client/lib" -name '*.a' -exec strip --strip-debug --enable-deterministic-archives {} +
"$here/package/pages.sh" "$work/programs" "$work/pages" "$version"
"$here/package/dockerfile.sh" >"$work/operation/share/quotient/Dockerfile"
"$here/package/links.py" "$work/operation/share/quotient"
"$tools/bin/python" "$here/guide/render_pages.py" --tree "$work/operation/share/quotient" "$work/pages/share/doc/quotient/html"

# --- 2. Trees of packages

# Puts what the archive and the Debian package have in common below $1.
add_common() {
  mkdir -p "$1"
  cp -R "$work/builds/." "$work/operation/." "$work/pages/." "$1"
  mkdir -p "$1/share/quotient/licenses/quotient"
  cp "$repo/LICENSE" "$1/share/quotient/licenses/quotient"
}

# Puts licences and the bill of materials of the package $2 below $1. The other arguments go to bill.py.
add_bill() {
  "${QUOTIENT_BASE_PYTHON:-/usr/bin/python3}" "$here/package/bill.py" --name "$2" --version "$version" \
    --prefix "$(cached QUOTIENT_PREFIX)" --cuda-include "$(cached QUOTIENT_CUDART_INCLUDE_DIR)" \
    --output "$1" "${@:3}"
}

# A build that was interrupted may have programs of two engines, whose results and lock files differ.
engine_of() { "$work/programs/bin/$1" --version | cut -d ' ' -f 2-; }
if [ "$(engine_of quotient)" != "$(engine_of quotientd)" ]; then
  fail "quotient and quotientd are of different builds: build all of $build first"
fi

archive=quotient-$version-linux-x86_64
add_common "$work/$archive"
cp -R "$work/programs/." "$work/client/." "$work/$archive"
"$here/package/bundle.sh" "$work/$archive" "$work/bundled"
add_bill "$work/$archive" quotient --bundled "$work/bundled"

debian=$work/quotient
add_common "$debian/usr"
mkdir -p "$debian/usr/lib/quotient" "$debian/usr/bin" "$debian/usr/share/zsh"
cp -R "$work/programs/." "$debian/usr/lib/quotient"
mv "$debian/usr/share/zsh/site-functions" "$debian/usr/share/zsh/vendor-completions"
for program in quotient quotientd quotient-backup quotient-restore; do
  ln -s "../lib/quotient/bin/$program" "$debian/usr/bin/$program"
done
add_bill "$debian/usr" quotient --loaded "$work/bundled"

development=$work/libquotient-dev
mkdir -p "$development/usr"
cp -R "$work/client/." "$development/usr"
add_bill "$development/usr" libquotient-dev

cuda_archive=quotient-cuda-$version-linux-x86_64
if [ -e "$work/cuda/lib/libquotient_cuda.so" ]; then
  mkdir -p "$work/$cuda_archive" "$work/quotient-cuda/usr/lib/quotient"
  cp -R "$work/cuda/." "$work/$cuda_archive"
  cp -R "$work/cuda/." "$work/quotient-cuda/usr/lib/quotient"
  add_bill "$work/$cuda_archive" quotient-cuda
  add_bill "$work/quotient-cuda/usr" quotient-cuda
fi
if [ -n "$nvidia" ]; then add_bill "$nvidia/usr" nvidia-libraries; fi

# --- 3. Archives, Debian packages and the wheel

rm -rf "$work/out"
mkdir -p "$work/out" "$output"

# Archives unpack into the same folder, so that one can be unpacked over the other.
make_archive() {
  tar --transform "s,^$1,$archive," --create --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" --mode=u=rwX,go=rX --owner=0 --group=0 \
    --numeric-owner --directory "$work" "$1" | gzip -n "-$gzip_level" >"$work/out/$1.tar.gz"
}

make_archive "$archive"
"$here/package/debian.sh" quotient "$version" "$work/quotient" "$work/out" "${deb_compression[@]}"
"$here/package/debian.sh" libquotient-dev "$version" "$work/libquotient-dev" "$work/out" "${deb_compression[@]}"
if [ -d "$work/$cuda_archive" ]; then
  make_archive "$cuda_archive"
  # The linker's folders for CUDA's libraries, which are no Debian packages.
  library_folder=$(dirname "$(cached QUOTIENT_CUDA_cublasLt)") \
    "$here/package/debian.sh" quotient-cuda "$version" "$work/quotient-cuda" "$work/out" "${deb_compression[@]}"
fi
(cd "$repo/client/python" && HATCH_QUIET=1 "$tools/bin/python" -m hatchling build --target wheel --directory "$work/out")
(cd "$work/out" && sha256sum -- * >SHA256SUMS)
rm -f "$output"/*quotient*.tar.gz "$output"/*quotient*.deb "$output"/*quotient*.whl "$output/SHA256SUMS"
mv "$work/out"/* "$output"
ls -s --block-size=1K "$output" >&2
