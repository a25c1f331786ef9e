# SPDX-License-Identifier: BSD-3-Clause
# s_tools.sh - mkfs, fsck and dump say what they do, and refuse the rest
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 200

sum() { sha256sum "$1" | cut -d' ' -f1; }
# poke FILE OFFSET: write a byte that is none of ours
poke() { printf '\245' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

say "mkfs makes a file, of the size asked for, allocated, private"
status 0 "$MKFS_PMEMFS" -n -s 16M "$POOL"
[ ! -e "$POOL" ] || fail "-n made a file"
status 1 "$MKFS_PMEMFS" "$POOL"
says "-s SIZE makes a file"
status 0 "$MKFS_PMEMFS" -s 16M -L "my label" -U 01234567-89ab-cdef-0123-456789abcdef "$POOL"
says "16 MiB"
same "$(stat -c '%a %s' "$POOL")" "600 16777216"
[ "$(stat -c '%b' "$POOL")" -ge 32768 ] || fail "the file has holes"
status 0 "$DUMP_PMEMFS" "$POOL"
says "my label"
says "0123456789abcdef0123456789abcdef"

say "mkfs leaves alone what is there"
before=$(sum "$POOL")
status 1 "$MKFS_PMEMFS" "$POOL"
says "holds a pmemfs pool"
status 0 "$MKFS_PMEMFS" -n -f "$POOL"
same "$(sum "$POOL")" "$before" "the pool after -n"
exec 5<"$POOL"
flock -s 5
status 1 "$MKFS_PMEMFS" -f "$POOL"
says "in use"
same "$(sum "$POOL")" "$before" "a pool in use"
status 8 "$FSCK_PMEMFS" "$POOL"
exec 5<&-
if command -v mkfs.ext4 >/dev/null; then
	mkfs.ext4 -q -F "$T/ext4" 20M
	status 1 "$MKFS_PMEMFS" "$T/ext4"
	says "ext4"
	status 0 "$MKFS_PMEMFS" -f "$T/ext4"
	! blkid -p "$T/ext4" || fail "a trace of ext4 is left"
	status 0 "$FSCK_PMEMFS" -n "$T/ext4"
	rm "$T/ext4"
fi

say "mkfs says what is wrong, and leaves no file behind"
status 1 "$MKFS_PMEMFS" -s 15M "$T/x"
status 1 "$MKFS_PMEMFS" -s 65T --sparse "$T/x"
status 2 "$MKFS_PMEMFS" -s 12Q "$T/x"
status 2 "$MKFS_PMEMFS" -s 16M -U nonsense "$T/x"
status 2 "$MKFS_PMEMFS" -s 16M -L "$(printf 'x%.0s' {1..65})" "$T/x"
status 2 "$MKFS_PMEMFS" -s 16M
[ ! -e "$T/x" ] || fail "a file was left behind"
status 1 "$MKFS_PMEMFS" /dev/null
status 0 "$MKFS_PMEMFS" -q --sparse -s 1G "$T/x"
same "$(wc -c <"$T/out")" 0 "output of mkfs -q"
[ "$(stat -c '%b' "$T/x")" -lt 4096 ] || fail "--sparse allocates"
status 0 "$FSCK_PMEMFS" -p "$T/x"
rm "$T/x"

say "fsck: what it finds is its exit status"
status 0 "$FSCK_PMEMFS" "$POOL"
status 0 "$FSCK_PMEMFS" -p "$POOL"
status 0 "$FSCK_PMEMFS" -n --json "$POOL"
says '"exit":0'
status 8 "$FSCK_PMEMFS" "$T/nothing"
status 16 "$FSCK_PMEMFS"
status 16 "$FSCK_PMEMFS" -n -y "$POOL"
truncate -s 16M "$T/zeros"
status 8 "$FSCK_PMEMFS" "$T/zeros"

say "fsck mends a superblock, either one"
poke "$POOL" 100
status 4 "$FSCK_PMEMFS" -n "$POOL"
says "^0101 super"
status 1 "$FSCK_PMEMFS" -p "$POOL"
status 0 "$FSCK_PMEMFS" -n "$POOL"
poke "$POOL" $((16777216 - 4000))
status 1 "$FSCK_PMEMFS" "$POOL"
status 0 "$FSCK_PMEMFS" "$POOL"

say "something that was made over the pool is not overwritten without -y"
head -c 4096 /dev/urandom | dd of="$POOL" conv=notrunc status=none
status 4 "$FSCK_PMEMFS" "$POOL"
status 1 "$FSCK_PMEMFS" -y "$POOL"
status 0 "$FSCK_PMEMFS" "$POOL"

say "fsck finds damage and does not hide it"
data=$("$DUMP_PMEMFS" "$POOL" super | awk '/data_blk/ { print $2; exit }')
cp "$POOL" "$T/copy"
poke "$T/copy" $((data * 4096 + 256 + 20))
status 4 "$FSCK_PMEMFS" "$T/copy"
says "^0701 inode: inode 1 at"
status 4 "$FSCK_PMEMFS" -n --json "$T/copy"
says '"kind":"inode"'
status 0 "$MKFS_PMEMFS" -f -s 24M "$T/copy"
truncate -s 20M "$T/copy"
status 4 "$FSCK_PMEMFS" "$T/copy"
says "25165824 bytes expected, 20971520 found"

say "dump shows every topic"
for topic in super slots log 'inode 1' 'path /' 'dir 1' 'tree 0' free orphans badblocks; do
	# shellcheck disable=SC2086
	status 0 "$DUMP_PMEMFS" "$POOL" $topic
	# shellcheck disable=SC2086
	status 0 "$DUMP_PMEMFS" --json "$POOL" $topic
done
status 0 "$DUMP_PMEMFS" fields
status 1 "$DUMP_PMEMFS" "$POOL" inode 999999
status 1 "$DUMP_PMEMFS" "$POOL" path /nothing
status 2 "$DUMP_PMEMFS" "$POOL" nonsense
status 1 "$DUMP_PMEMFS" "$T/zeros" dir 1
