#!/usr/bin/env bash
# Prints a Dockerfile that makes the image of the server from its Debian package, without the sources.
#
#   dockerfile.sh
#
# It is the stage `server` of the main Dockerfile. Where that takes the package from the stage before, this takes it from
# the folder that `docker build` is given.
set -euo pipefail

dockerfile=$(dirname "${BASH_SOURCE[0]}")/../../Dockerfile
cat <<'HEAD'
# The image of the server, made of its Debian package. FOLDER has quotient_*_amd64.deb and little else:
#
#   docker build -t quotient --file Dockerfile FOLDER

HEAD
sed -n '/ AS server$/,/^FROM server /{
  /^FROM server /d
  s/^\(FROM .*\) AS server$/\1/
  s/type=bind,from=package,source=\/packages,target/type=bind,target/
  p
}' "$dockerfile" | sed '$d'
