#!/usr/bin/env bash
# Makes a Debian package of a tree.
#
#   debian.sh NAME VERSION TREE OUTPUT [DPKG-DEB-OPTION...]
#
# Its files are of the time that $SOURCE_DATE_EPOCH says. $library_folder may name a folder with libraries that
# belong to no Debian package. $QUOTIENT_MAINTAINER is who answers for the package: NAME <ADDRESS>.
set -euo pipefail

name=$1 version=$2 tree=$3 output=$4
shift 4
folder=$(dirname "$tree")

# Fields that differ from package to package.
case $name in
  quotient)
    section=utils
    relations='Recommends: sqlite3
Suggests: quotient-cuda, libquotient-dev'
    description='makes ONNX models faster, and proves it
 Takes an ONNX model, searches for an equivalent and faster one, and checks
 both claims. It has the server quotientd and the command line client quotient,
 what builds with CMake, Bazel and make need, and for operators a Helm chart,
 rules for Prometheus and dashboards for Grafana.'
    ;;
  libquotient-dev)
    section=libdevel
    depends="quotient (= $version), libabsl-dev, libgrpc++-dev, libprotobuf-dev, libspdlog-dev, libssl-dev"
    depends+=', protobuf-compiler-grpc'
    relations=''
    description='C++ client library of Quotient
 Programs submit models to a quotientd, watch its jobs and fetch results:
 find_package(Quotient COMPONENTS client) in CMake.'
    ;;
  quotient-cuda)
    section=contrib/utils
    relations='Recommends: libcudnn9-cuda-13, libcublas-13-0, cuda-nvrtc-13-0'
    description="NVIDIA GPUs as devices of Quotient
 A plug-in for programs of the package quotient. It needs a driver for CUDA 13,
 cuDNN 9, cuBLASLt and NVRTC 13, which NVIDIA's repository has."
    ;;
esac

# The libraries that the files of the tree load, as relations to Debian's packages. Those in the tree and
# those of no package are left out.
loaded_packages() {
  local files=()
  mkdir -p "$folder/debian" "$tree/DEBIAN"  # By the latter it knows the root of a package.
  printf 'Source: quotient\n\nPackage: %s\nArchitecture: amd64\n' "$name" >"$folder/debian/control"
  mapfile -t files < <(cd "$folder" && find "$name" -type f \( -perm -u=x -o -name '*.so*' \) -size +64k)
  (cd "$folder" && dpkg-shlibdeps -O --ignore-missing-info --warnings=1 -l"$tree/usr/lib/quotient/lib" \
    ${library_folder:+-l"$library_folder"} "${files[@]/#/-e}") | sed -n 's/^shlibs:Depends=//p'
}
depends=${depends:-$(loaded_packages)}
if [ "$name" = quotient-cuda ]; then depends="quotient (= $version), $depends"; fi

mkdir -p "$tree/DEBIAN" "$tree/usr/share/doc/$name"
maintainer=${QUOTIENT_MAINTAINER:-Quotient developers <developers@quotient.invalid>}
gzip -9n >"$tree/usr/share/doc/$name/changelog.gz" <<CHANGELOG
quotient ($version) bookworm; urgency=medium

  * Made of a build of this version, whose CHANGELOG.md says what has changed.

 -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
CHANGELOG
size=$(find "$tree/usr" -printf '%y %s\n' | awk '{ kib += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print kib }')
sed '/^$/d' >"$tree/DEBIAN/control" <<CONTROL
Package: $name
Version: $version
Section: $section
Priority: optional
Architecture: amd64
Maintainer: $maintainer
Installed-Size: $size
Depends: $depends
$relations
Description: $description
CONTROL
# An installed file may be asked for by its digest.
(cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
chmod -R u=rwX,go=rX "$tree"
# dpkg-deb takes SOURCE_DATE_EPOCH for files that are newer.
find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group "$@" --build "$tree" "$output/${name}_${version}_amd64.deb" >/dev/null
