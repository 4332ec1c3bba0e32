#!/usr/bin/env bash
# Writes a backup of a server's data folder to standard output, as a tar archive. The server may go on.
#
#   quotient-backup DATA-DIR > quotient.tar
#
# Must be run by the server's user, where the server runs: SQLite's locks do not reach other machines.
# Needs sqlite3. What is taken, in this order:
#
#   1. all blobs, as further names of the same files: at once, and without room
#   2. the database, as of one moment. What it names was in blobs/ before that
#   3. the blobs that it names and that came since step 1. What went away in between is still there by
#      its name from step 1
#   4. checkpoints, times of kernels and statistics of rules, which a server can do without
#
# Left out: uploads that were not finished, damaged files, and code that was compiled for GPUs.
# restore.sh has the other half. Exit status: 0 if the archive is whole, and else 1.
set -euo pipefail

say() { printf 'quotient-backup: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

if [ $# -ne 1 ] || [ -t 1 ]; then fail 'usage: quotient-backup DATA-DIR > FILE.tar'; fi
data=$(realpath "$1")
if [ ! -f "$data/quotient.db" ]; then fail "$data is no data folder: it has no quotient.db"; fi
# Another user's sqlite3 may leave files beside the database that the server cannot open.
if [ ! -O "$data/quotient.db" ]; then fail "$data/quotient.db is another user's; run this as that user"; fi

# Beside the data folder, so that files can have a further name there.
staged=$(mktemp -d "$data.backup.XXXXXX")
trap 'rm -rf "$staged"' EXIT
mkdir "$staged/blobs"

# A blob may go away while it is looked at; what the database needs is looked for below.
for folder in "$data"/blobs/[0-9a-f][0-9a-f]; do
  if [ -d "$folder" ]; then cp -al "$folder" "$staged/blobs/" 2>/dev/null || true; fi
done

# In one transaction, which keeps no other one from writing.
(cd "$staged" && sqlite3 -bail -cmd '.timeout 60000' "$data/quotient.db" "VACUUM INTO 'quotient.db'") ||
  fail 'the database cannot be copied'

from_database() { sqlite3 -bail -readonly "$staged/quotient.db" "$1"; }
digests=$(from_database 'SELECT DISTINCT sha256 FROM job_blob')
missing=0
for digest in $digests; do
  path=blobs/${digest:0:2}/${digest:2:2}/$digest
  if [ -f "$staged/$path" ]; then continue; fi
  mkdir -p "$staged/${path%/*}"
  ln "$data/$path" "$staged/$path" 2>/dev/null || true
  if [ -f "$staged/$path" ]; then continue; fi
  if [ -f "$data/$path" ]; then fail "$path is there, but could not be taken"; fi
  missing=$((missing + 1))
done
if [ "$missing" -gt 0 ]; then say "$missing files of jobs were missing already, such as damaged ones"; fi

files=(BACKUP quotient.db blobs checkpoints)
for name in timings.db rules.db; do
  if [ -f "$data/$name" ]; then
    cp -a "$data/$name" "$staged/"
    files+=("$name")
  fi
done
mkdir "$staged/checkpoints"
# Temporary names have a dot. A job may end, and its checkpoint go.
find "$data/checkpoints" -type f ! -name '*.*' -exec cp -a -t "$staged/checkpoints" {} + 2>/dev/null || true

jobs=$(from_database 'SELECT count(*) FROM job')
blobs=$(find "$staged/blobs" -type f | wc -l)
printf 'quotient-backup 1\nschema %s\njobs %s\nblobs %s\n' \
  "$(from_database 'PRAGMA user_version')" "$jobs" "$blobs" >"$staged/BACKUP"

# The server notes the last use of a blob in its time, and tar, which may meet that, then returns 1. The
# bytes of a blob never change.
status=0
tar --directory "$staged" --create --warning=no-file-changed "${files[@]}" || status=$?
if [ "$status" -gt 1 ]; then fail 'tar has failed'; fi
say "$jobs jobs, $blobs files"
