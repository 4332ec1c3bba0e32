#!/usr/bin/env bash
# Makes a data folder from a backup that quotient-backup has written, read from standard input.
#
#   quotient-restore [--without-damaged] DATA-DIR < quotient.tar
#
# DATA-DIR must not exist or be empty, such as a new volume: move an old one away first, and stop its
# server before that. The backup is unpacked in DATA-DIR/RESTORING and checked there: the database, and
# each blob against its digest. Only then its entries are renamed into the folder. No server opens a
# folder that has RESTORING, and none can while this goes on, because it holds the folder's lock. If it
# is killed, it can be run again. A file that the disk had damaged before the backup is damaged in it,
# too; --without-damaged leaves such files out and names them. The server then asks for a model to be sent
# again, and computes a result anew. Exit status: 0 if the folder is made, and else 1.
set -euo pipefail

say() { printf 'quotient-restore: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

if [ "${1:-}" = --help ]; then
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit
fi
leaves_out=false
if [ "${1:-}" = --without-damaged ]; then
  leaves_out=true
  shift
fi
if [ $# -ne 1 ] || [ -t 0 ]; then fail 'usage: quotient-restore [--without-damaged] DATA-DIR < FILE.tar'; fi
mkdir -p "$1"
data=$(realpath "$1")
staged=$data/RESTORING
# In this order, so that a folder with a database has all else.
entries=(blobs checkpoints timings.db rules.db quotient.db)

refuse_others() {
  local known=(! -name LOCK ! -name lost+found) entry other
  if [ -d "$staged" ]; then
    known+=(! -name RESTORING)
    for entry in "${entries[@]}"; do known+=(! -name "$entry"); done
  fi
  other=$(find "$data" -mindepth 1 -maxdepth 1 "${known[@]}" -printf '%f\n' -quit)
  if [ -n "$other" ]; then fail "$data is there already and has $other; move it away first"; fi
}
refuse_others
exec 9>>"$data/LOCK"
flock --nonblock 9 || fail "another process uses the data folder $data"
# A server may have come and gone before the lock was taken.
refuse_others

# What the last restore has left if it was killed; or this one.
clear() { (cd "$data" && rm -rf -- "${entries[@]}" && sync . && rm -rf RESTORING); }
if [ -d "$staged" ]; then
  say 'the last restore did not come to its end'
  clear
fi
mkdir "$staged"
trap clear EXIT
sync "$data"

tar --directory "$staged" --extract --no-same-owner ||
  fail 'this is no whole tar archive, or there is no room for it'
if [ "$(head -n 1 "$staged/BACKUP" 2>/dev/null)" != 'quotient-backup 1' ]; then
  fail 'this is no backup, or one of a newer version'
fi

# Neither links, which would lead out of the folder, nor anything at a place where nobody looks for it.
other=$(find "$staged" ! -type f ! -type d -printf '%P\n' -quit)
if [ -n "$other" ]; then fail "$other is no file"; fi
for entry in "$staged"/*; do
  case " BACKUP ${entries[*]} " in *" ${entry##*/} "*) ;; *) fail "${entry##*/} is not of a backup" ;; esac
done
other=$(find "$staged/blobs" -type f -regextype posix-extended \
  ! -regex '.*/blobs/([0-9a-f]{2})/([0-9a-f]{2})/\1\2[0-9a-f]{60}' -printf '%P\n' -quit)
if [ -n "$other" ]; then fail "blobs/$other is not where a blob of this name belongs"; fi
if [ ! -f "$staged/quotient.db" ]; then fail 'it has no database'; fi

verdict=$(sqlite3 -bail -readonly "$staged/quotient.db" 'PRAGMA integrity_check' 2>&1) || true
if [ "$verdict" != ok ]; then fail "the database is damaged: $verdict"; fi
jobs=$(sqlite3 -bail -readonly "$staged/quotient.db" 'SELECT count(*) FROM job')
blobs=$(find "$staged/blobs" -type f | wc -l)
if [ "blobs $blobs" != "$(grep '^blobs ' "$staged/BACKUP")" ]; then fail 'blobs are missing'; fi
# The name of each blob is its SHA-256, which is also what sha256sum reads.
count=0
leave_out() {
  say "damaged: ${1#"$staged/"}"
  count=$((count + 1))
  if $leaves_out; then rm -- "$1"; fi
}
if [ "$blobs" -gt 0 ] && ! told=$(find "$staged/blobs" -type f -printf '%f  %p\n' |
  LC_ALL=C sha256sum --check --quiet --strict 2>/dev/null); then
  while IFS= read -r line; do leave_out "${line%: FAILED*}"; done < <(grep ': FAILED' <<<"$told")
  if [ "$count" -eq 0 ]; then fail 'the blobs cannot be checked'; fi
  $leaves_out || fail "$count blobs are damaged; --without-damaged leaves them out"
fi
sync -f "$staged"

for entry in "${entries[@]}"; do
  if [ -e "$staged/$entry" ]; then mv -T "$staged/$entry" "$data/$entry"; fi
done
sync -f "$data"
trap - EXIT
rm -rf "$staged"
sync "$data"
say "$data: $jobs jobs, $((blobs - count)) files"
