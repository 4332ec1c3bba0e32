#!/usr/bin/env bash
# Makes a data folder from a backup that quotient-backup has written, read from standard input.
#
#   quotient-restore DATA-DIR < quotient.tar
#
# DATA-DIR must not exist: move an old one away first, and stop its server before that. The folder
# appears under its name only when all of it was checked: the database, and each blob against its
# digest. Exit status: 0 if it is there, and else 1.
set -euo pipefail

say() { printf 'quotient-restore: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

if [ $# -ne 1 ] || [ -t 0 ]; then fail 'usage: quotient-restore DATA-DIR < FILE.tar'; fi
data=${1%/}
if [ -e "$data" ]; then fail "$data is there already; move it away first"; fi

new=$(mktemp -d "$data.restore.XXXXXX")
trap 'rm -rf "$new"' EXIT
tar --directory "$new" --extract --no-same-owner || fail 'this is no whole tar archive'
if [ "$(head -n 1 "$new/BACKUP" 2>/dev/null)" != 'quotient-backup 1' ]; then
  fail 'this is no backup, or one of a newer version'
fi

verdict=$(sqlite3 -bail -readonly "$new/quotient.db" 'PRAGMA integrity_check' 2>&1) || true
if [ "$verdict" != ok ]; then fail "the database is damaged: $verdict"; fi
blobs=$(find "$new/blobs" -type f | wc -l)
if [ "blobs $blobs" != "$(grep '^blobs ' "$new/BACKUP")" ]; then fail 'blobs are missing'; fi
# The name of each blob is its SHA-256, which is also what sha256sum reads.
if [ "$blobs" -gt 0 ]; then
  find "$new/blobs" -type f -printf '%f  %p\n' | sha256sum --check --quiet --strict >&2 ||
    fail 'blobs are damaged'
fi

rm "$new/BACKUP"
chmod 755 "$new"
sync -f "$new"
mv -T "$new" "$data"
trap - EXIT
say "$data: $(sqlite3 -bail -readonly "$data/quotient.db" 'SELECT count(*) FROM job') jobs, $blobs files"
