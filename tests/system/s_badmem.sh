# SPDX-License-Identifier: BSD-3-Clause
# s_badmem.sh - memory that goes bad costs what lay in it, and nothing else
#
# The daemon and fsck.pmemfs are linked once more with tests/support/poison.c.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 200

PMEMFS_FUSE=$builddir/tests/support/poisoned-fuse
FSCK=$builddir/tests/support/poisoned-fsck
[ -x "$PMEMFS_FUSE" ] || skip "no $PMEMFS_FUSE (make check builds it)"
export PMEMFS_POISON=$T/poison PMEMFS_POISON_WATCH=$T/applied
: >"$PMEMFS_POISON"

# bad known|hidden|stuck BLOCK...: the list is now that, and in force
bad()
{
	local how=$1 b i
	shift
	for b; do
		echo "$how $((b * 4096)) 4096"
	done >"$T/poison.new"
	rm -f "$T/applied"
	mv "$T/poison.new" "$PMEMFS_POISON"
	[ -n "$DAEMON" ] || return 0
	for ((i = 0; i < 2000; i++)); do
		[ "$(cat "$T/applied" 2>/dev/null)" != $# ] || return 0
		sleep 0.01
	done
	fail "the poison is not in force"
}

# extents PATH: lines of file block, pool block, blocks
extents()
{
	"$DUMP_PMEMFS" --json "$POOL" path "$1" 2>/dev/null | tr -d ' ",\n' |
		grep -o 'file_block:[0-9]*pool_block:[0-9]*blocks:[0-9]*' | tr -c '0-9\n' ' '
}

# block_of PATH N: where block N of a file is in the pool
block_of()
{
	extents "$1" | awk -v n="$2" '$1 <= n && n < $1 + $3 { print $2 + n - $1; exit }'
}

# on_list BLOCK: the pool itself remembers it as bad
on_list()
{
	"$DUMP_PMEMFS" --json "$POOL" badblocks 2>/dev/null | tr -d ' ",\n' |
		grep -o 'block:[0-9]*blocks:[0-9]*' | tr -c '0-9\n' ' ' |
		awk -v b="$1" '$1 <= b && b < $1 + $2 { found = 1 } END { exit !found }'
}

# eio COMMAND...: it fails with an I/O error
eio()
{
	! "$@" >/dev/null 2>"$T/err" || fail "$*: went well"
	grep -q "Input/output error" "$T/err" || fail "$*: $(cat "$T/err")"
}

get() { dd if="$1" bs=4096 skip="$2" count="${3:-1}" iflag=direct status=none; }
put() { dd of="$1" bs=4096 seek="$2" count=1 conv=notrunc status=none; }
logged() { grep -qF -- "$1" "$T/daemon.log" || fail "the daemon never said: $1"; }

# fsck STATUS ARGUMENTS: what it prints is in $T/fsck
fsck_says()
{
	local want=$1 status=0
	shift
	"$FSCK" "$@" "$POOL" >"$T/fsck" 2>&1 || status=$?
	[ $status = "$want" ] || { cat "$T/fsck"; fail "fsck $*: status $status, wanted $want"; }
}

make_pool 64M
head -c 1M /dev/urandom >"$T/data"

for route in map copy; do
	say "read=$route: one page of a file goes bad under the mount"
	: >"$T/daemon.log"
	mount_pool "read=$route"
	mkdir -p "$MNT/d"
	cp "$T/data" "$MNT/d/a.$route"
	cp "$T/data" "$MNT/b"
	blk=$(block_of "/d/a.$route" 10)
	[ -n "$blk" ] || fail "where is it?"
	bad hidden "$blk"
	eio get "$MNT/d/a.$route" 10
	eio get "$MNT/d/a.$route" 8 4
	get "$MNT/d/a.$route" 0 10 | cmp -n 40960 - "$T/data" || fail "before the page"
	get "$MNT/d/a.$route" 11 200 | cmp -n 819200 -i 0:45056 - "$T/data" ||
		fail "behind the page"
	cmp "$T/data" "$MNT/b"
	logged "bad memory at pool offset $((blk * 4096))"
	logged "of /d/a.$route (inode"
	same "$(grep -c "of /d/a.$route" "$T/daemon.log")" 1 "lines that name the file"

	say "read=$route: written to, it fails; the rest goes on"
	eio put "$MNT/d/a.$route" 10 <"$T/data"
	put "$MNT/d/a.$route" 11 <"$T/data"
	get "$MNT/d/a.$route" 11 | cmp -n 4096 - "$T/data"
	kill -0 "$DAEMON" || fail "the daemon died"

	say "read=$route: freed, it is not given out again"
	rm "$MNT/d/a.$route"
	dd if=/dev/zero of="$MNT/full" bs=1M status=none 2>"$T/err" && fail "never full"
	grep -q "No space left" "$T/err" || fail "filling up: $(cat "$T/err")"
	[ "$(extents /full | wc -l)" -gt 0 ] || fail "no extents"
	[ -z "$(extents /full | awk -v b="$blk" '$2 <= b && b < $2 + $3')" ] ||
		fail "the page was given out"
	rm "$MNT/full"
	unmount_pool
	bad hidden
	check_pool
done

say "the pool remembers them, whoever else forgets"
first=$blk
on_list "$blk" || fail "not on the list: $("$DUMP_PMEMFS" "$POOL" badblocks)"
mount_pool
dd if=/dev/zero of="$MNT/full" bs=1M status=none 2>"$T/err" && fail "never full"
[ -z "$(extents /full | awk -v b="$blk" '$2 <= b && b < $2 + $3')" ] ||
	fail "the page was given out"
rm "$MNT/full"
unmount_pool

say "also if the daemon dies before it unmounts"
: >"$T/daemon.log"
mount_pool
cp "$T/data" "$MNT/c"
blk=$(block_of /c 5)
bad hidden "$blk"
eio get "$MNT/c" 5
rm "$MNT/c"
for ((i = 0; i < 3000; i++)); do
	! grep -q "1 blocks of bad memory went onto" "$T/daemon.log" || break
	sleep 0.01
done
logged "1 blocks of bad memory went onto the pool's own list"
kill_daemon
bad hidden
mount_pool
on_list "$blk" || fail "not on the list: $("$DUMP_PMEMFS" "$POOL" badblocks)"
unmount_pool
check_pool

say "a free page goes bad: one write fails at most, then it is out of the way"
: >"$T/daemon.log"
mount_pool
cp "$T/data" "$MNT/c"
blk=$(block_of /c 0)
rm "$MNT/c"
bad hidden "$blk"
cp "$T/data" "$MNT/c" 2>/dev/null || cp "$T/data" "$MNT/c"
cmp "$T/data" "$MNT/c"
unmount_pool
bad hidden
check_pool

say "a page that the kernel knows of is never touched"
: >"$T/daemon.log"
mount_pool
rm "$MNT/c"
unmount_pool
bad known "$blk"
mount_pool
logged "1 ranges of bad memory, the first at pool offset $((blk * 4096))"
cp "$T/data" "$MNT/c"
dd if=/dev/zero of="$MNT/full" bs=1M status=none 2>"$T/err" || true
grep -q "No space left" "$T/err" || fail "filling up: $(cat "$T/err")"
! grep -q "I/O error" "$T/daemon.log" || fail "it was touched"
rm "$MNT/full"
unmount_pool
bad hidden
check_pool

say "a directory whose tree is hit: an error there, and nowhere else"
mount_pool errors=continue
mkdir "$MNT/many"
for ((i = 0; i < 400; i++)); do : >"$MNT/many/a-name-that-takes-some-room-$i"; done
node=$("$DUMP_PMEMFS" --json "$POOL" path /many 2>/dev/null | sed -n '/"number"/s/[^0-9]//gp' |
	xargs -I{} "$DUMP_PMEMFS" --json "$POOL" tree {} 2>/dev/null | tr -d ' ",\n' |
	grep -o 'block:[0-9]*' | tail -n 1 | cut -d: -f2)
[ -n "$node" ] || fail "no node"
umount_quietly "$MNT"
daemon_done
mount_pool errors=continue
bad hidden "$node"
! ls "$MNT/many" >/dev/null 2>"$T/err" || fail "listed what cannot be read"
grep -qE "Input/output error|Structure needs cleaning" "$T/err" || fail "$(cat "$T/err")"
cmp "$T/data" "$MNT/c"
kill -0 "$DAEMON" || fail "the daemon died"
bad hidden
same "$(find "$MNT/many" -type f | wc -l)" 400 "names, once the memory is back"
unmount_pool
check_pool

say "fsck.pmemfs --media: names the file, clears with consent"
blk=$(block_of /c 7)
bad hidden "$blk"
unset PMEMFS_POISON_WATCH
fsck_says 4 --media -n
grep -q "/c: 4096 bytes from 28672 on" "$T/fsck" || fail "$(cat "$T/fsck")"
on_list "$first" || fail "no longer on the list"
fsck_says 1 --media -y
grep -q "given back" "$T/fsck" || fail "$(cat "$T/fsck")"
! on_list "$first" || fail "still on the list: $(cat "$T/fsck")"
grep -q "1 pages of bad memory, 1 of them cleared" "$T/fsck" || fail "$(cat "$T/fsck")"
fsck_says 0 --media -n
mount_pool
get "$MNT/c" 7 | cmp -n 4096 - /dev/zero
get "$MNT/c" 0 7 | cmp -n 28672 - "$T/data"
get "$MNT/c" 8 200 | cmp -n 819200 -i 0:32768 - "$T/data"
unmount_pool

say "fsck.pmemfs --media: what cannot be cleared goes onto the list, and comes back"
mount_pool
cp "$T/data" "$MNT/c"
blk=$(block_of /c 3)
rm "$MNT/c"
unmount_pool
bad stuck "$blk"
fsck_says 4 --media -n
! on_list "$blk" || fail "put on the list without a yes"
fsck_says 5 --media -y
grep -q "list of bad blocks: 1 more, 0 given back" "$T/fsck" || fail "$(cat "$T/fsck")"
on_list "$blk" || fail "not on the list"
fsck_says 4 --media -y
on_list "$blk" || fail "given back, and it is bad"
bad hidden
fsck_says 0
on_list "$blk" || fail "given back, and nobody looked"
fsck_says 1 --media -y
grep -q "list of bad blocks: 0 more, 1 given back" "$T/fsck" || fail "$(cat "$T/fsck")"
fsck_says 0 --media -y

say "the superblock: the replica serves, and repairs"
bad hidden 0
mount_pool
logged "the primary superblock is bad"
cmp "$T/data" "$MNT/b"
unmount_pool
fsck_says 1 --media -y
bad hidden
check_pool

say "a checkpoint slot, and the log: not mounted on a guess"
mount_pool
echo last >"$MNT/last"
kill_daemon
for blk in 1 8; do
	bad hidden $blk
	status=0
	"$PMEMFS_FUSE" "$POOL" "$MNT" >"$T/out" 2>&1 || status=$?
	same $status 32 "status of a mount with block $blk bad"
	grep -q "lies in bad memory" "$T/out" || fail "$(cat "$T/out")"
done
bad hidden 1
status=0
"$FSCK" --media -y "$POOL" >"$T/fsck" 2>&1 || status=$?
[ $((status & ~1)) = 0 ] || { cat "$T/fsck"; fail "fsck --media -y of a slot: $status"; }
mount_pool
same "$(cat "$MNT/last")" last
unmount_pool
check_pool
