#!/usr/bin/env bash
# Writes a backup of a server's data folder to standard output, as a tar archive. The server may go on.
#
#   quotient-backup DATA-DIR [ROOM] > quotient.tar
#
# Must be run by the server's user, where the server runs: SQLite's locks do not reach other machines.
# Needs sqlite3. The data folder may be a mount point: nothing is written beside it. What is taken, in
# this order:
#
#   1. all blobs and checkpoints, as further names of the same files in DATA-DIR/.backup.*: at once, and
#      without room
#   2. the database, as of one moment. What it names was in blobs/ before that. The copy needs room: in
#      the folder ROOM, and if none is named, on the disk of the data
#   3. the blobs that it names and that came since step 1. What went away in between is still there by
#      its name from step 1
#   4. times of kernels and statistics of rules, which a server can do without, as are checkpoints
#
# Left out: uploads that were not finished, damaged files, and code that was compiled for GPUs.
# quotient-restore has the other half. Exit status: 0 if the archive is whole, and else 1.
set -euo pipefail

say() { printf 'quotient-backup: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

if [ "${1:-}" = --help ]; then
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit
fi
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ -t 1 ]; then
  fail 'usage: quotient-backup DATA-DIR [ROOM] > FILE.tar'
fi
data=$(realpath "$1")
if [ -e "$data/RESTORING" ]; then fail "a backup was not restored to the end into $data"; fi
if [ ! -f "$data/quotient.db" ]; then fail "$data is no data folder: it has no quotient.db"; fi
# Another user's sqlite3 may leave files beside the database that the server cannot open.
if [ ! -O "$data/quotient.db" ]; then fail "$data/quotient.db is another user's; run this as that user"; fi

# A backup holds a lock on its folder. One without a lock was left by a backup that was killed. No two
# backups are at this point at once.
exec 8<"$data"
flock 8
for old in "$data"/.backup.??????; do
  if [ -d "$old" ]; then flock --nonblock "$old" rm -rf "$old" || true; fi
done
# In the data folder, because a file can have a further name only below the same mount point.
names=$(mktemp -d "$data/.backup.XXXXXX")
room=$names
trap 'rm -rf "$names" "$room"' EXIT
exec 9<"$names"
flock 9
exec 8<&-
if [ $# -eq 2 ]; then
  room=$(realpath -e -- "$2") || { room=$names && fail "there is no folder $2"; }
  room=$(mktemp -d "$room/quotient-backup.XXXXXX") || { room=$names && fail "no folder can be made in $2"; }
fi
mkdir "$names/blobs" "$names/checkpoints"

# Gives a further name in $names/$1 to the files that `find` finds in the data folder with the other
# arguments. Files may go away meanwhile: what the database needs is looked for in step 3.
take() {
  local into=$names/$1 errors
  shift
  errors=$(cd "$data" && LC_ALL=C find "$@" -type f -exec ln -t "$into" -- {} + 2>&1 |
    grep -v ': No such file or directory$' | head -n 3) || true
  if [ -n "$errors" ]; then fail "files cannot be taken: $errors"; fi
}
take blobs blobs -path 'blobs/??/??/*'
# Temporary names have a dot.
if [ -d "$data/checkpoints" ]; then take checkpoints checkpoints ! -name '*.*'; fi

# In one transaction, which keeps no other one from writing.
(cd "$room" && sqlite3 -bail -cmd '.timeout 60000' "$data/quotient.db" "VACUUM INTO 'quotient.db'") ||
  fail "the database cannot be copied to $room"

from_database() { sqlite3 -bail -readonly "$room/quotient.db" "$1"; }
digests=$(from_database 'SELECT DISTINCT sha256 FROM job_blob')
missing=0
for digest in $digests; do
  if [ -f "$names/blobs/$digest" ]; then continue; fi
  path=blobs/${digest:0:2}/${digest:2:2}/$digest
  if [ -f "$data/$path" ]; then ln "$data/$path" "$names/blobs/" || true; fi
  if [ -f "$names/blobs/$digest" ]; then continue; fi
  if [ -f "$data/$path" ]; then fail "$path is there, but could not be taken"; fi
  missing=$((missing + 1))
done
if [ "$missing" -gt 0 ]; then say "$missing files of jobs were missing already, such as damaged ones"; fi

files=(BACKUP quotient.db)
for name in timings.db rules.db; do
  if [ -f "$data/$name" ]; then
    cp -a "$data/$name" "$room/" || fail "$name cannot be copied to $room"
    files+=("$name")
  fi
done

jobs=$(from_database 'SELECT count(*) FROM job')
blobs=$(find "$names/blobs" -type f | wc -l)
printf 'quotient-backup 1\nschema %s\njobs %s\nblobs %s\n' \
  "$(from_database 'PRAGMA user_version')" "$jobs" "$blobs" >"$room/BACKUP"

# The server notes the last use of a blob in its time, and tar, which may meet that, then returns 1. The
# bytes of a blob never change.
status=0
tar --create --warning=no-file-changed --transform 's,^blobs/\(\(..\)\(..\).*\),blobs/\2/\3/\1,' \
  --directory "$room" "${files[@]}" --directory "$names" blobs checkpoints || status=$?
if [ "$status" -gt 1 ]; then fail 'the archive cannot be written'; fi
say "$jobs jobs, $blobs files"
