# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# lib.sh - what every system test starts with
#
#	set -eu
#	. "${srcdir:-.}/tests/system/lib.sh"
#	scratch 256			(MiB the test will need; sets $T, $MNT, $POOL)
#	make_pool 128M
#	mount_pool [OPTIONS]		(foreground daemon in the background: $DAEMON)
#	...
#	unmount_pool			(and the daemon's exit status is 0)
#	check_pool			(fsck -n -f finds nothing)
#
# The programs come from the environment of `make check`; by hand, in the
# build directory: srcdir=SOURCE bash SOURCE/tests/system/s_apps.sh. With
# PMEMFS_OPTS=transport=dev, say, every mount has that option. Exit status:
# 0 passed, 1 failed, 77 skipped. Whatever happens, nothing stays mounted,
# running or on the disk.
set -eu
shopt -s inherit_errexit
export LC_ALL=C.UTF-8
export PATH=$PATH:/usr/sbin:/sbin
umask 022

: "${builddir:=$PWD}"
: "${PMEMFS_FUSE:=$builddir/pmemfs-fuse}"
: "${MKFS_PMEMFS:=$builddir/mkfs.pmemfs}"
: "${FSCK_PMEMFS:=$builddir/fsck.pmemfs}"
: "${DUMP_PMEMFS:=$builddir/dump.pmemfs}"
: "${PMEMFS_STAT:=$builddir/pmemfs-stat}"
export PMEMFS_FUSE MKFS_PMEMFS FSCK_PMEMFS DUMP_PMEMFS PMEMFS_STAT
srcdir=$(cd "${srcdir:-.}" && pwd)

T='' MNT='' POOL='' DAEMON='' TMPFS=''
# Other mounts of a test, unmounted by the trap, and files, removed.
MOUNTS=() FILES=()
# A command that puts the machine back as it was.
AT_END=''

say() { printf '%s\n' "-- $*"; }
fail() { printf 'FAILED: %s\n' "$*"; exit 1; }
skip() { printf 'skipped: %s\n' "$*"; exit 77; }
is_root() { [ "$(id -u)" = 0 ]; }

same() { [ "$1" = "$2" ] || fail "${3:-value}: wanted '$2', got '$1'"; }

# status WANTED COMMAND...: its exit status; what it said is in $T/out
status()
{
	local want=$1 got=0
	shift
	"$@" >"$T/out" 2>&1 || got=$?
	[ "$got" = "$want" ] || { cat "$T/out"; fail "$*: exit status $got, not $want"; }
}
says() { grep -q -- "$1" "$T/out" || { cat "$T/out"; fail "does not say: $1"; }; }

# wait_for_word WORD FILE: until somebody in the background has written it
wait_for_word()
{
	local i
	for ((i = 0; i < 400; i++)); do
		grep -qs "$1" "$2" && return 0
		sleep 0.05
	done
	fail "nobody says: $1"
}

umount_quietly()
{
	if is_root; then umount "$@"; else fusermount3 -u "$@"; fi
}

cleanup()
{
	local status=$? m
	trap - EXIT
	set +e
	cd /
	if [ $status != 0 ] && [ $status != 77 ] && [ -s "$T/daemon.log" ]; then
		echo "-- the daemon said:"
		tail -n 40 "$T/daemon.log"
	fi
	for m in "$MNT" "${MOUNTS[@]}"; do
		[ -n "$m" ] || continue
		if is_root; then umount -l "$m"; else fusermount3 -uz "$m"; fi
	done 2>/dev/null
	if [ -n "$DAEMON" ]; then
		kill "$DAEMON"
		sleep 0.2
		kill -KILL "$DAEMON"
		wait "$DAEMON"
	fi 2>/dev/null
	[ -z "$AT_END" ] || eval "$AT_END"
	[ -z "$TMPFS" ] || umount -l "$TMPFS"
	[ -z "$T" ] || rm -rf "$T" "${FILES[@]}"
	exit $status
}

need_fuse()
{
	[ -e /dev/fuse ] || modprobe fuse 2>/dev/null || true
	( : 3<>/dev/fuse ) 2>/dev/null || skip "cannot open /dev/fuse"
}

# scratch MIB: a folder in memory with that much room.
scratch()
{
	local free base=/dev/shm
	need_fuse
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	free=$(df -Pm /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
	if [ "${free:-0}" -le "$1" ] || [ ! -w /dev/shm ]; then
		base=${TMPDIR:-/tmp}
	fi
	T=$(mktemp -d "$base/pmemfs-test.XXXXXX")
	if [ "$base" != /dev/shm ] && is_root; then
		mount -t tmpfs -o "size=$(($1 + 16))m" pmemfs-test "$T" && TMPFS=$T
	fi
	MNT=$T/mnt
	POOL=$T/pool
	mkdir "$MNT"
}

# make_pool SIZE [MKFS OPTIONS]
make_pool()
{
	local size=$1
	shift
	"$MKFS_PMEMFS" -q -s "$size" "$@" "$POOL"
}

# wait_mounted DIRECTORY PID
wait_mounted()
{
	local i
	for ((i = 0; i < 400; i++)); do
		mountpoint -q "$1" && return 0
		kill -0 "$2" 2>/dev/null || return 1
		sleep 0.05
	done
	return 1
}

# mount_pool [OPTIONS]: as in -o, those of PMEMFS_OPTS besides
mount_pool()
{
	local opts=${PMEMFS_OPTS:+$PMEMFS_OPTS,}${1:-}
	"$PMEMFS_FUSE" -f ${opts:+-o "$opts"} "$POOL" "$MNT" >>"$T/daemon.log" 2>&1 &
	DAEMON=$!
	wait_mounted "$MNT" "$DAEMON" || fail "the mount did not come up"
}

# The daemon ends by itself after umount, and is content.
daemon_done()
{
	local status=0
	wait "$DAEMON" || status=$?
	DAEMON=''
	same $status 0 "exit status of the daemon"
}

unmount_pool()
{
	umount_quietly "$MNT"
	daemon_done
}

# The daemon dies without a word; the mount is cleared away.
kill_daemon()
{
	kill -KILL "$DAEMON"
	wait "$DAEMON" 2>/dev/null || true
	DAEMON=''
	if is_root; then umount -l "$MNT"; else fusermount3 -uz "$MNT"; fi
}

# fsck finds nothing: not one problem, nothing to repair.
check_pool()
{
	local status=0
	"$FSCK_PMEMFS" -n -f "$POOL" >"$T/fsck.log" 2>&1 || status=$?
	if [ $status != 0 ]; then
		cat "$T/fsck.log"
		fail "fsck.pmemfs -n -f: exit status $status"
	fi
}

# Everything about the names under a folder that must survive a round trip.
manifest()
{
	(
		cd "$1"
		find . -type d -printf '%P|%y|%m|%U|%G|%T@\n'
		find . ! -type d -printf '%P|%y|%m|%U|%G|%T@|%n|%s|%l\n'
		find . -type f -print0 | xargs -0r sha256sum
	) | sort
}

# stat_value GROUP/NAME [MOUNT]: a number of pmemfs-stat; nothing if it has none
stat_value()
{
	"$PMEMFS_STAT" --json "${2:-$MNT}" | awk -v want="$1" '
	function name() { sub(/^[ \t]*"/, ""); n = $0; sub(/".*/, "", n); return n }
	/^[ \t]*}/ { depth-- }
	/^[ \t]*"[^"]*": *{/ { at[++depth] = name(); next }
	/^[ \t]*"[^"]*": *[^[{]/ {
		v = $0
		sub(/^[^:]*: */, "", v); sub(/,$/, "", v); gsub(/"/, "", v)
		path = ""
		for (i = 1; i <= depth; i++)
			path = path at[i] "/"
		if (path name() == want)
			print v
	}'
}
