# SPDX-License-Identifier: BSD-3-Clause
# s_umount.sh - every way a mount can end takes the daemon with it
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 100
make_pool 48M

# within SECONDS: the daemon ends by itself, content
ends_within()
{
	local i
	for ((i = 0; i < $1 * 20; i++)); do
		kill -0 "$DAEMON" 2>/dev/null || break
		sleep 0.05
	done
	kill -0 "$DAEMON" 2>/dev/null && fail "the daemon is still there after $1 seconds"
	daemon_done
}

say "umount"
mount_pool
echo one >"$MNT/a"
umount_quietly "$MNT"
ends_within 5
check_pool

say "umount of a mount in use is refused, and nothing has happened"
mount_pool
exec 5>>"$MNT/a"
! umount_quietly "$MNT" 2>/dev/null || fail "unmounted under an open file"
echo two >&5
exec 5>&-
umount_quietly "$MNT"
ends_within 5

say "umount -l: served until the last user leaves"
mount_pool
exec 5>>"$MNT/a"
if is_root; then umount -l "$MNT"; else fusermount3 -uz "$MNT"; fi
sleep 0.3
kill -0 "$DAEMON" || fail "the daemon left although a file was open"
echo three >&5
exec 5>&-
ends_within 5
check_pool

say "an unlinked file that is open is not left behind"
mount_pool
same "$(cat "$MNT/a")" "$(printf 'one\ntwo\nthree')" "what was written"
exec 5<>"$MNT/gone"
rm "$MNT/gone"
echo kept >&5
same "$(cat "/proc/$$/fd/5")" kept "an open, unlinked file"
exec 5>&-
unmount_pool
check_pool

mount_pool
N=$(awk -v m="$MNT" '$5 == m { split($3, d, ":"); print d[2] }' /proc/self/mountinfo)
if is_root && [ ! -e "/sys/fs/fuse/connections/$N/abort" ]; then
	mount -t fusectl none /sys/fs/fuse/connections 2>/dev/null || true
fi
if [ -w "/sys/fs/fuse/connections/$N/abort" ]; then
	say "abort of the connection"
	echo 1 >"/sys/fs/fuse/connections/$N/abort"
	ends_within 5
	! mountpoint -q "$MNT" || fail "a dead mount was left"
	stat "$MNT" >/dev/null || fail "a dead mount was left"
else
	unmount_pool
fi
check_pool

if is_root; then
	say "a bind mount keeps it alive"
	mkdir "$T/bind"
	mount_pool
	mount --bind "$MNT" "$T/bind"
	MOUNTS+=("$T/bind")
	umount "$MNT"
	echo four >>"$T/bind/a"
	umount "$T/bind"
	MOUNTS=()
	ends_within 5
	check_pool
fi
