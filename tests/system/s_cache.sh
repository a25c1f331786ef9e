# SPDX-License-Identifier: BSD-3-Clause
# s_cache.sh - the cache modes: every way to a file sees what the others did;
# what was made durable outlives the daemon; what could not be written is told;
# the requests that a mode is to spare are spared
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 420
io=$builddir/tests/support/cache_io

# Trace every request; the lines of the one that is asked for.
mount_traced()
{
	"$PMEMFS_FUSE" -d ${1:+-o "$1"} "$POOL" "$MNT" >"$T/trace" 2>&1 &
	DAEMON=$!
	wait_mounted "$MNT" "$DAEMON" || fail "the mount did not come up"
}
requests() { grep -c " $1 node" "$T/trace" || true; }

# A folder whose new files are of the kind that is to be tried.
folder()
{
	mkdir -p "$MNT/dir"
	[ "$1" != direct ] || chattr +x "$MNT/dir"
}

# The kernel lets go of a removed file a moment after rm has returned.
give_back()
{
	local i
	rm "$MNT/dir/big"
	for ((i = 0; i < 200; i++)); do
		[ "$(df --output=avail -m "$MNT" | tail -n 1)" -lt 20 ] || return 0
		sleep 0.05
	done
	fail "the space of a removed file does not come back"
}

# mode OPTIONS [direct]
mode()
{
	local writer
	say "$1${2:+, $2}: coherent"
	rm -f "$POOL"
	make_pool 64M
	mount_pool "$1"
	folder "${2:-}"
	timeout 60 "$io" coherent "$MNT/dir/f" || fail "not coherent"
	timeout 60 "$io" append "$MNT/dir/log" 500 || fail "appended records are lost"

	say "$1${2:+, $2}: what was synced outlives the daemon"
	: >"$T/out"
	"$io" store "$MNT/dir" >"$T/out" &
	writer=$!
	wait_for_word ready "$T/out"
	kill_daemon
	kill $writer
	wait $writer 2>/dev/null || true
	mount_pool "$1"
	"$io" check "$MNT/dir" || fail "what was durable is lost"
	[ "$(wc -l <"$MNT/dir/log")" = 2000 ] || fail "closed and lost"

	say "$1${2:+, $2}: no room is told"
	timeout 60 "$io" fill "$MNT/dir/big" 100 fsync || fail "no ENOSPC by write or fsync"
	give_back
	timeout 60 "$io" fill "$MNT/dir/big" 100 close || fail "no ENOSPC by write or close"
	give_back
	timeout 60 "$io" coherent "$MNT/dir/f" || fail "not coherent after ENOSPC"

	say "$1${2:+, $2}: nothing is called durable after the daemon has died"
	"$io" widow "$MNT/dir/widow" "$DAEMON" || fail "a promise by a dead daemon"
	wait "$DAEMON" 2>/dev/null || true
	DAEMON=''
	if is_root; then umount -l "$MNT"; else fusermount3 -uz "$MNT"; fi
	mount_pool
	unmount_pool
	check_pool
}

mode dax=always
mode dax=never
mode dax=inode
mode dax=inode direct
mode dax=never,threads=1
mode dax=never,splice

say "how many blocks a file has, after the kernel has written them (dax=never)"
mount_pool dax=never
: >"$MNT/blocks"
same "$(stat -c %b "$MNT/blocks")" 0 "blocks of an empty file"
dd if=/dev/zero of="$MNT/blocks" bs=64k count=16 conv=notrunc,fsync status=none
same "$(stat -c %b "$MNT/blocks")" 2048 "blocks of 1 MiB"
unmount_pool

say "times that the kernel keeps (dax=never) are there after a remount"
rm -f "$POOL"
make_pool 64M
mount_pool dax=never
echo one >"$MNT/a"
touch -d @1000.25 "$MNT/a"
same "$(stat -c %.2Y "$MNT/a")" 1000.25 "time that was set"
echo two >"$MNT/b"
touch -d @2000.5 "$MNT/b"
echo three >>"$MNT/b"
[ "$(stat -c %Y "$MNT/b")" -gt 2000 ] || fail "a write did not change the time"
touch -d @3000 "$MNT/c"
chmod 600 "$MNT/c"
cp -p "$MNT/c" "$MNT/d"
truncate -s 100 "$MNT/d"
stat -c '%n %s %.9Y %.9Z' "$MNT"/[abcd] >"$T/before"
unmount_pool
mount_pool
stat -c '%n %s %.9Y %.9Z' "$MNT"/[abcd] >"$T/after"
diff "$T/before" "$T/after"
unmount_pool

if is_root; then
	say "set-user-id bits and capabilities go with the first byte"
	mount_pool dax=never,suid
	as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	cd "$MNT"
	for how in "dd of=suid conv=notrunc status=none" "truncate -s 1 suid" \
		   "dd of=suid status=none"; do
		cp /bin/true suid
		chmod 6777 suid
		# shellcheck disable=SC2086
		echo x | as_nobody $how
		same "$(stat -c %a suid)" 777 "mode after $how"
		rm suid
	done
	cp /bin/true caps
	setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 caps
	getcaps() { getfattr -n security.capability caps >/dev/null 2>&1; }
	getcaps || fail "no capability was set"
	exec 5<>caps
	printf x >&5		# which stays in the page cache for now
	! getcaps || fail "a capability outlived a write"
	exec 5>&-
	cd /
	unmount_pool
fi

say "dax=never gathers small writes, reads ahead, and asks nothing twice"
mount_traced dax=never
dd if=/dev/zero of="$MNT/small" bs=4k count=1000 conv=fsync status=none
[ "$(requests WRITE)" -le 100 ] || fail "$(requests WRITE) requests for 1000 writes of 4 KiB"
dd if="$MNT/small" of=/dev/null bs=4k status=none
dd if="$MNT/small" of=/dev/null bs=4k status=none
same "$(requests READ)" 0 "reads of what is cached"
same "$(requests FSYNC)" 1 "requests for one fsync"
[ "$(requests FLUSH)" -le 1 ] || fail "FLUSH is asked again"
unmount_pool
mount_traced dax=never
dd if="$MNT/small" of=/dev/null bs=4k status=none
[ "$(requests READ)" -le 64 ] || fail "$(requests READ) requests for 1000 reads of 4 KiB"
unmount_pool

say "dax=never,sync: each write is a request again"
mount_traced dax=never,sync
dd if=/dev/zero of="$MNT/sync" bs=4k count=100 status=none
[ "$(requests WRITE)" -ge 100 ] || fail "$(requests WRITE) requests for 100 writes"
unmount_pool

say "write-through (dax=inode): each write is a request, and so is fsync"
mount_traced dax=inode
dd if=/dev/zero of="$MNT/small" bs=4k count=100 status=none
same "$(requests WRITE)" 100 "requests for 100 writes of 4 KiB"
for _ in 1 2 3; do
	dd if=/dev/zero of="$MNT/small" bs=4k count=1 conv=fsync,notrunc status=none
done
same "$(requests FSYNC)" 3 "requests for three fsyncs"
same "$(requests FLUSH)" 0 "requests to flush at close"
dd if="$MNT/small" of=/dev/null bs=4k status=none
first=$(requests READ)
chattr +x "$MNT/small"
dd if="$MNT/small" of=/dev/null bs=4k status=none
[ "$(requests READ)" -ge $((first + 100)) ] || fail "chattr +x: still cached"
chattr -x "$MNT/small"
dd if="$MNT/small" of=/dev/null bs=4k status=none
unmount_pool
check_pool

say "a signal with much that is dirty, and the file held open"
rm -f "$POOL"
make_pool 128M
mount_pool dax=never
: >"$T/out"
"$io" dirty "$MNT/f" 100 >"$T/out" &
writer=$!
wait_for_word ready "$T/out"
kill -TERM "$DAEMON"
for ((i = 0; i < 100; i++)); do
	mountpoint -q "$MNT" || break
	sleep 0.05
done
kill -TERM "$DAEMON"
daemon_done
kill $writer
wait $writer 2>/dev/null || true
check_pool
mount_pool ro
"$io" compare "$MNT/f" 100 || fail "dirty pages are lost"
unmount_pool

# CAP_SYS_RESOURCE, which a container may withhold from root
caps=$(awk '/^CapEff/ { print $2 }' /proc/self/status)
if [ $((0x$caps >> 24 & 1)) = 1 ]; then
	say "no thread of the daemon waits for writeback when it needs memory"
	# PF_MEMALLOC_NOIO and PF_LOCAL_THROTTLE, by PR_SET_IO_FLUSHER
	mount_pool dax=never
	for stat in /proc/"$DAEMON"/task/*/stat; do
		flags=$(sed 's/.*) //' "$stat" | awk '{ print $7 }')
		[ $((flags & 0x180000)) = $((0x180000)) ] || fail "$stat: flags $flags"
	done
	unmount_pool
else
	say "PR_SET_IO_FLUSHER is not permitted here: not tried"
fi
