# SPDX-License-Identifier: BSD-3-Clause
# s_uring.sh - FUSE over io_uring: used where it can be had, given up without
# harm where not, and always brought to an end
#
# The ring's switch, fuse.enable_uring, is a parameter of the whole machine:
# set here by root, and put back. Other runs of this test wait at a lock.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 300
PARAM=/sys/module/fuse/parameters/enable_uring
FAULTY=$builddir/tests/support/faulty_uring

[ -e $PARAM ] || skip "this kernel has no FUSE over io_uring"
exec 9<$PARAM
flock 9
before=$(cat $PARAM)
AT_END="echo $before >$PARAM"
turn() { { echo "$1" >$PARAM; } 2>/dev/null; }
turn Y || [ "$before" = Y ] || skip "$PARAM is $before, and only root can change that"

make_pool 96M
truncate -s 0 "$T/daemon.log"

# said WORDS: once since the log was emptied, and then emptied again
said()
{
	same "$(grep -cF -- "$1" "$T/daemon.log")" 1 "lines of the daemon with '$1'"
	truncate -s 0 "$T/daemon.log"
}

# A daemon that serves: data go in and come back.
try_mount()
{
	head -c 3000000 /dev/urandom >"$T/data"
	cp "$T/data" "$MNT/data"
	cmp "$T/data" "$MNT/data"
	dd if="$T/data" of="$MNT/direct" bs=1M oflag=direct status=none 2>/dev/null ||
		dd if="$T/data" of="$MNT/direct" bs=1M status=none
	cmp "$T/data" "$MNT/direct"
	mkdir "$MNT/d"
	ln -s "$(printf 'x%.0s' {1..4000})" "$MNT/d/link"
	same "$(readlink "$MNT/d/link" | wc -c)" 4001 "length of a link"
	same "$(ls "$MNT/d")" link "a listing"
	rm -r "$MNT/d" "$MNT/data" "$MNT/direct"
}

say "switched off: /dev/fuse, and one line says why"
if turn N; then
	mount_pool
	try_mount
	unmount_pool
	said "(no io_uring: the kernel does not offer it"
	status=0
	timeout 20 "$PMEMFS_FUSE" -o transport=uring "$POOL" "$MNT" >"$T/out" 2>&1 ||
		status=$?
	same $status 32 "exit status of a mount that insists on the ring"
	same "$(wc -l <"$T/out")" 1 "lines it says"
	grep -qF "transport=uring: " "$T/out" || fail "it says: $(cat "$T/out")"
	! mountpoint -q "$MNT" || fail "mounted all the same"
	turn Y
fi

say "switched on"
mount_pool
grep -qF "built without liburing" "$T/daemon.log" && {
	unmount_pool
	skip "built without liburing"
}
grep -qF "requests by io_uring" "$T/daemon.log" || skip "$(cat "$T/daemon.log")"
try_mount
unmount_pool
said "requests by io_uring"
mount_pool transport=dev
try_mount
unmount_pool
said "requests by /dev/fuse"
check_pool

if [ "$(nproc)" -gt 1 ]; then
	say "a daemon that may use one CPU serves them all"
	first=$(taskset -pc $$ | sed 's/.*: *//; s/[,-].*//')
	taskset -c "$first" "$PMEMFS_FUSE" -f -o transport=uring "$POOL" "$MNT" \
		>>"$T/daemon.log" 2>&1 &
	DAEMON=$!
	wait_mounted "$MNT" $DAEMON || fail "the mount did not come up"
	for ((cpu = 0; cpu < $(nproc --all); cpu++)); do
		taskset -c $cpu true 2>/dev/null || continue
		taskset -c $cpu dd if=/dev/zero of="$MNT/cpu$cpu" bs=64k count=4 status=none
		taskset -c $cpu cmp -n 262144 /dev/zero "$MNT/cpu$cpu"
	done
	try_mount
	unmount_pool
	check_pool
fi

# ---- what goes wrong while it is set up --------------------------------------

# fault WHAT WORDS: the daemon meets it, and serves by /dev/fuse
fault()
{
	truncate -s 0 "$T/daemon.log"
	PMEMFS_URING_FAULT=$1 "$FAULTY" -f "$POOL" "$MNT" >>"$T/daemon.log" 2>&1 &
	DAEMON=$!
	wait_mounted "$MNT" $DAEMON || fail "$1: the mount did not come up"
	timeout 60 touch "$MNT/alive" || fail "$1: the mount hangs"
	try_mount
	unmount_pool
	said "(no io_uring: $2"
	status=0
	PMEMFS_URING_FAULT=$1 timeout 20 "$FAULTY" -f -o transport=uring "$POOL" "$MNT" \
		>"$T/out" 2>&1 || status=$?
	same $status 32 "exit status, $1, with -o transport=uring"
	grep -q "transport=uring: .*no io_uring: $2" "$T/out" || fail "$1: not told why"
	! mountpoint -q "$MNT" || fail "$1: a mount was left"
}

if [ -x "$FAULTY" ]; then
	rings=$(nproc)
	for ((i = 1; i <= rings && i <= 4; i++)); do
		say "ring $i of $rings cannot be made, is refused, cannot be submitted"
		fault init:$i "io_uring cannot be set up"
		fault register:$i "the kernel refused a registration"
		fault submit:$i "the kernel refused a registration"
	done
	check_pool
fi

# ---- the end, under load ---------------------------------------------------------

LOAD=()
load()
{
	local i dir=$MNT/load		# which is only there while it is mounted
	LOAD=()
	mkdir -p "$dir"
	for ((i = 0; i < 4; i++)); do
		while dd if=/dev/zero of="$dir/$i" bs=256k count=20 status=none &&
			cp "$dir/$i" "$dir/copy$i" && rm "$dir/copy$i"; do :; done \
			>/dev/null 2>&1 &
		LOAD+=($!)
	done
	while [ ! -e "$dir/3" ]; do sleep 0.05; done
	sleep 0.3
}

# Whoever used the mount has been told, and nobody hangs.
load_ends()
{
	local i p
	for p in "${LOAD[@]}"; do
		for ((i = 0; i < 600; i++)); do
			kill -0 "$p" 2>/dev/null || break
			sleep 0.1
		done
		[ $i -lt 600 ] || fail "$1: a writer hangs: $(cat "/proc/$p/wchan")"
		wait "$p" || true
	done
}

gone()
{
	local i
	for ((i = 0; i < 600; i++)); do
		kill -0 "$DAEMON" 2>/dev/null || return 0
		sleep 0.1
	done
	fail "$1: the daemon is still there: $(cat "/proc/$DAEMON/task"/*/wchan)"
}

for round in 1 2; do
	say "killed under load ($round)"
	mount_pool transport=uring
	load
	kill_daemon
	load_ends "killed"

	say "aborted under load ($round)"
	mount_pool transport=uring
	N=$(awk -v m="$MNT" '$5 == m { split($3, d, ":"); print d[2] }' /proc/self/mountinfo)
	if [ -w "/sys/fs/fuse/connections/$N/abort" ]; then
		load
		echo 1 >"/sys/fs/fuse/connections/$N/abort"
		load_ends "aborted"
		gone "aborted"
		daemon_done
		! mountpoint -q "$MNT" || fail "a dead mount was left"
	else
		unmount_pool
	fi

	say "SIGTERM under load, twice ($round)"
	mount_pool transport=uring
	load
	kill -TERM "$DAEMON"
	sleep 0.5
	kill -TERM "$DAEMON" 2>/dev/null || true	# unless it has left
	gone "SIGTERM"
	daemon_done
	load_ends "SIGTERM"

	say "unmounted lazily under load ($round)"
	mount_pool transport=uring
	load
	if is_root; then umount -l "$MNT"; else fusermount3 -uz "$MNT"; fi
	load_ends "umount -l"
	gone "umount -l"
	daemon_done
done
check_pool

say "a daemon that was stopped is killed all the same"
mount_pool transport=uring
load
kill -STOP "$DAEMON"
sleep 0.3
kill_daemon
load_ends "stopped and killed"
mount_pool
unmount_pool
check_pool

# ---- the main tests, on the transport that they do not take by themselves -----------

other=transport=uring
[ "$before" = N ] || other=transport=dev
export builddir srcdir PMEMFS_OPTS=$other
for t in s_names s_mainjob s_sigterm s_umount; do
	say "$t with -o $other"
	bash "$srcdir/tests/system/$t.sh" >"$T/out" 2>&1 || {
		cat "$T/out"
		fail "$t"
	}
done
