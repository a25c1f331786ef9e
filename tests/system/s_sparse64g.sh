# SPDX-License-Identifier: BSD-3-Clause
# s_sparse64g.sh - making and mounting a pool never walks it
#
# Counts decide, not clocks: after mkfs, and after a mount and its unmount, a
# 64 GiB pool made with --sparse has less than 4 MiB of blocks.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 64

limit=$((4 << 20))
touched() { stat -c '%b %B' "$POOL" | awk '{ print $1 * $2 }'; }
few()
{
	local n
	n=$(touched)
	say "$1: $n bytes of the pool file have blocks"
	[ "$n" -lt $limit ] || fail "$1 touched $n bytes of the pool, at most $limit are right"
}
milliseconds() { date +%s%3N; }

start=$(milliseconds)
make_pool 64G --sparse
end=$(milliseconds)
say "mkfs took $((end - start)) ms"
few mkfs

start=$(milliseconds)
mount_pool
ls "$MNT" >/dev/null
end=$(milliseconds)
say "the mount took $((end - start)) ms"
few mount
[ $((end - start)) -le 2000 ] || fail "the mount took more than two seconds"

echo hello >"$MNT/file"
unmount_pool
few "mount, a file, unmount"

mount_pool
same "$(cat "$MNT/file")" hello "content after a remount"
unmount_pool
