# SPDX-License-Identifier: BSD-3-Clause
# s_atomic.sh - data=atomic: a write() of a MiB is there or it is not
#
# Writers go over their files MiB by MiB, each write() of one letter, each pass
# one letter further, and the daemon is killed under them. Afterwards every MiB
# is of one letter, that of the last pass that was finished or of the next.
# Also: where the mode is refused, and that a full pool keeps what it has.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 150
writers=8
letters=abcd
n=${#letters}

say "only where each write is one request"
for dax in never inode; do
	status=0
	"$PMEMFS_FUSE" "$POOL" "$MNT" -o "data=atomic,dax=$dax" 2>"$T/err" || status=$?
	same $status 1 "exit status with dax=$dax"
	grep -q 'data=atomic needs -o dax=always' "$T/err" || fail "no reason: $(cat "$T/err")"
done

# The letters twice, a MiB each: pass p begins with letter p.
for ((i = 0; i < 2 * n; i++)); do
	head -c 1M /dev/zero | tr '\0' "${letters:i % n:1}"
done >"$T/text"

# writer FILE: until the mount dies, and d with it; notes each finished pass.
writer()
{
	local p
	for ((p = 0; ; p++)); do
		dd if="$T/text" of="$MNT/d/$1" bs=1M skip=$((p % n)) count="$n" conv=notrunc \
			status=none || return 0
		echo "$p" >"$T/pass.$1"
	done 2>/dev/null
}

# judge FILE
judge()
{
	local i letter last this next
	last=$(cat "$T/pass.$1" 2>/dev/null || echo -1)
	for ((i = 0; i < n; i++)); do
		dd if="$MNT/d/$1" of="$T/chunk" bs=1M skip=$i count=1 status=none
		next=${letters:(last + 1 + i) % n:1}
		this=${letters:(last + n + i) % n:1}
		if [ ! -s "$T/chunk" ] && [ "$last" = -1 ]; then
			continue
		fi
		letter=$(head -c 1 "$T/chunk")
		[ "$letter" = "$this" ] || [ "$letter" = "$next" ] ||
			fail "file $1, MiB $i: has $letter, should have $this or $next"
		cmp -s "$T/chunk" <(head -c 1M /dev/zero | tr '\0' "$letter") ||
			fail "file $1, MiB $i: some of it is $letter"
	done
	passes=$((passes + last + 1))
}

make_pool 96M
mount_pool
mkdir "$MNT/d"
unmount_pool
for round in {1..6}; do
	mount_pool data=atomic,threads=8
	pids=()
	for ((w = 0; w < writers; w++)); do
		rm -f "$MNT/d/$w" "$T/pass.$w"
		writer $w &
		pids+=($!)
	done
	sleep "0.$((RANDOM % 5 + 3))"
	kill_daemon
	for w in "${pids[@]}"; do
		wait "$w" || true
	done
	mount_pool
	passes=0
	for ((w = 0; w < writers; w++)); do
		judge $w
	done
	say "round $round: $((passes * n)) writes and some more"
	unmount_pool
	check_pool
done

say "a full pool keeps what it has"
head -c 1M "$T/text" >"$T/a"
tail -c 1M "$T/text" >"$T/z"
mount_pool data=atomic,threads=8
dd if="$T/a" of="$MNT/d/0" bs=1M conv=notrunc status=none
dd if=/dev/zero of="$MNT/fill" bs=64k status=none 2>/dev/null && fail "it does not get full"
dd if="$T/z" of="$MNT/d/0" bs=1M conv=notrunc status=none 2>"$T/err" && fail "nothing said ENOSPC"
grep -q 'No space left' "$T/err" || fail "$(cat "$T/err")"
head -c 1M "$MNT/d/0" | cmp - "$T/a"
rm "$MNT/fill"
dd if="$T/z" of="$MNT/d/0" bs=1M conv=notrunc status=none
head -c 1M "$MNT/d/0" | cmp - "$T/z"
unmount_pool
check_pool
