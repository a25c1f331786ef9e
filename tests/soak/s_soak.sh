# SPDX-License-Identifier: BSD-3-Clause
# s_soak.sh - a mount that is killed again and again loses nothing it answered for
#
# Four processes do what comes to their mind (tests/soak), each in a folder of
# its own; the daemon gets SIGKILL at some moment, sometimes once more while
# it recovers. Then fsck.pmemfs finds nothing, the pool mounts, and every file
# is as its journal says: what was answered is there, the one operation of each
# process that was not is there or not.
#
# SOAK_ROUNDS (50) says how often, SOAK_SEED what comes to their mind. A round
# that fails leaves the pool as it was when the daemon died, and the journals,
# in $SOAK_KEEP (soak-failed in the build directory).
set -eu
. "${srcdir:-.}/tests/system/lib.sh"

rounds=${SOAK_ROUNDS:-50}
seed=${SOAK_SEED:-$((RANDOM * 32768 + RANDOM))}
keep=${SOAK_KEEP:-$builddir/soak-failed}
: "${SOAK:=$builddir/tests/soak/soak}"
[ -x "$SOAK" ] || skip "tests/soak/soak is not built"
scratch 900
killed=0 operations=0
RANDOM=$((seed % 32768))

lost()
{
	rm -rf "$keep"
	mkdir -p "$keep"
	cp --sparse=always "$T/killed" "$keep/pool" 2>/dev/null || true
	cp --sparse=always "$T"/journal.* "$keep" 2>/dev/null || true
	cp "$T/daemon.log" "$keep" 2>/dev/null || true
	echo "-- pool and journals are in $keep; to run this again:"
	echo "--   SOAK_SEED=$seed SOAK_ROUNDS=$rounds $0"
	fail "round $round: $*"
}

# The mount and its daemon are gone, whether it came up or not.
kill_now()
{
	kill -KILL "$DAEMON"
	wait "$DAEMON" 2>/dev/null || true
	DAEMON=''
	killed=$((killed + 1))
	if mountpoint -q "$MNT" || [ -n "${1:-}" ]; then
		umount -l "$MNT" 2>/dev/null || fusermount3 -uz "$MNT" 2>/dev/null || true
	fi
}

# sleep_upto MILLISECONDS
sleep_upto() { sleep "$(printf '0.%03d' $((RANDOM % $1)))"; }

# A daemon that is killed while it mounts, or shortly after.
kill_early()
{
	"$PMEMFS_FUSE" -f "$POOL" "$MNT" >>"$T/daemon.log" 2>&1 &
	DAEMON=$!
	sleep_upto 60
	kill_now always
}

sound()
{
	"$FSCK_PMEMFS" -n -f "$POOL" >"$T/fsck.log" 2>&1 && return 0
	cat "$T/fsck.log"
	lost "fsck.pmemfs found something"
}

# judge ROUND: its folder, in the mount
judge()
{
	local out
	if ! out=$("$SOAK" check "$MNT/r$1" "$T/journal.$1"); then
		echo "$out"
		lost "round $1 is not as it was"
	fi
	[ "$1" != "$round" ] || operations=$((operations + out))
}

round()
{
	local i=$1 options=$2 synced=$3 worker status=0
	mount_pool "$options"
	mkdir "$MNT/r$i"
	"$SOAK" run "$MNT/r$i" "$T/journal.$i" $((seed + i)) ${synced:+sync} &
	worker=$!
	# on a busy machine it takes a while until there is somebody to disturb
	until [ -e "$T/journal.$i.ready" ] || ! kill -0 $worker 2>/dev/null; do
		sleep 0.01
	done
	sleep "$(printf '0.%03d' $((50 + RANDOM % 500)))"
	kill_now always
	wait $worker || status=$?
	cp --sparse=always "$POOL" "$T/killed"
	[ $status = 0 ] || lost "a worker met a wrong answer"
	sound
	[ $((i % 5)) != 4 ] || kill_early
	[ $((i % 10)) != 9 ] || kill_early

	mount_pool
	judge "$i"
	[ ! -e "$MNT/r$((i - 1))" ] || judge $((i - 1))	# nobody touched it
	rm -rf "$MNT/r$((i - 2))" "$T/journal.$((i - 2))"*
	unmount_pool
	[ $((i % 5)) != 0 ] || sound
}

say "$rounds rounds, SOAK_SEED=$seed"
make_pool 256M
for ((round = 1; round <= rounds; round++)); do
	case $((round % 4)) in
	0) round $round dax=never synced ;;
	2) round $round dax=inode synced ;;
	*) round $round "" "" ;;
	esac
done
say "$killed times killed; $operations operations were begun, and none was lost"
mount_pool
rm -rf "${MNT:?}"/*
unmount_pool
check_pool
