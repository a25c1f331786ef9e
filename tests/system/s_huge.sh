# SPDX-License-Identifier: BSD-3-Clause
# s_huge.sh - where the memory has pages of 2 MiB, the pool is mapped with them
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 200
is_root || skip "only root can mount a tmpfs with huge=always"
grep -q always /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null ||
	skip "the kernel has no transparent huge pages"
mkdir "$T/huge"
mount -t tmpfs -o size=180m,huge=always pmemfs-huge "$T/huge" 2>/dev/null ||
	skip "no tmpfs with huge=always here"
MOUNTS+=("$T/huge")

mapped()
{
	awk -v p="$POOL" '/^[0-9a-f]+-/ { f = $NF == p } f && $1 == "ShmemPmdMapped:" { n += $2 }
		END { print n + 0 }' "/proc/$DAEMON/smaps"
}

say "a tmpfs without large pages says so, and has none"
make_pool 64M
mount_pool
grep -q "no 2 MiB pages" "$T/daemon.log" || fail "$(cat "$T/daemon.log")"
same "$(mapped)" 0 "kB in large pages"
unmount_pool

say "huge=always"
POOL=$T/huge/pool
make_pool 128M
: >"$T/daemon.log"
mount_pool
grep -q ", 2 MiB pages" "$T/daemon.log" || fail "$(cat "$T/daemon.log")"
head -c 32M /dev/zero | tr '\0' x >"$T/x"
dd if="$T/x" of="$MNT/file" bs=1M status=none
kb=$(mapped)
[ "$kb" -ge 32768 ] || fail "only $kb kB are mapped in large pages"
say "$kb kB in large pages"

say "a large file lies so that they fit"
"$DUMP_PMEMFS" --json "$POOL" path /file 2>/dev/null | tr -d ' ",\n' |
	grep -o 'file_block:[0-9]*pool_block:[0-9]*blocks:[0-9]*' | tr -c '0-9\n' ' ' >"$T/extents"
awk '{ all += $3; d = ($2 - $1) % 512; if (d == 0) good += $3 }
	END { exit !(all == 8192 && good >= all * 3 / 4) }' "$T/extents" ||
	fail "not aligned: $(cat "$T/extents")"
unmount_pool
check_pool
