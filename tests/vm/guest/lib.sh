# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# lib.sh - what every case in the guest starts with
#
#	fsdax_on xfs -m reflink=1	(a filesystem with DAX on /dev/pmem0, in $DIR)
#	devdax				(a devdax device: $DEV)
#	mount_pool POOL [OPTIONS]	(on $MNT; $SAID is the line it says of itself,
#					$STANDS what it stands on)
#	unmount_pool; check_pool POOL
#	round_trip POOL; short_trip POOL
#	recipe SECTION [SED ARGUMENTS]	(of pmemfs.7, typed in; its fstab lines)
#
# Like tests/system/lib.sh, but root on a machine of its own: whatever is left
# behind goes away with it, except what the next case in the same boot meets.
set -eu
shopt -s inherit_errexit

MNT=/mnt/pool DIR=/mnt/dax DEV='' DAEMON='' SAID='' STANDS='' LOG=/tmp/daemon.log
mkdir -p $MNT $DIR

say() { printf '%s\n' "-- $*"; }
fact() { printf 'fact: %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*"; exit 1; }
skip() { printf 'skipped: %s\n' "$*"; exit 77; }
same() { [ "$1" = "$2" ] || fail "${3:-value}: wanted '$2', got '$1'"; }

finish()
{
	local status=$?
	set +e
	if [ $status != 0 ] && [ $status != 77 ]; then
		echo "-- the daemon said:"
		tail -n 30 $LOG
		echo "-- the kernel said:"
		dmesg | tail -n 20
	fi
	cd /
	umount -l $MNT 2>/dev/null
	[ -z "$DAEMON" ] || kill -KILL "$DAEMON" 2>/dev/null
	sleep 0.2
	umount /srv/data 2>/dev/null
	umount $DIR /mnt/pmem0 /var/lib 2>/dev/null
	exit $status
}
trap finish EXIT

# namespace MODE [NVDIMM]: make namespace0.0 (or 1.0) anew.
namespace()
{
	local n=${2:-0}
	umount $DIR 2>/dev/null || true
	ndctl destroy-namespace -f "namespace$n.0" >/dev/null 2>&1 || true
	ndctl create-namespace -f -r "region$n" -m "$1" >/tmp/ndctl.json 2>/tmp/ndctl.err ||
		{ cat /tmp/ndctl.err; fail "ndctl create-namespace -m $1"; }
}

# fsdax_on ext4 | xfs [MKFS OPTIONS]
fsdax_on()
{
	local fs=$1 quiet=-q
	shift
	namespace fsdax
	[ "$fs" = xfs ] && "mkfs.$fs" -q -f "$@" /dev/pmem0 ||
		"mkfs.$fs" -q -F -b 4096 "$@" /dev/pmem0	# DAX wants whole pages
	mount -t "$fs" -o dax=always /dev/pmem0 $DIR
}

devdax()
{
	namespace devdax 1
	DEV=/dev/$(sed -n 's/.*"chardev":"\([^"]*\)".*/\1/p' /tmp/ndctl.json)
	[ -c "$DEV" ] || fail "ndctl made no device: $(cat /tmp/ndctl.json)"
}

# mount_pool POOL [OPTIONS]: in the foreground, its lines in $LOG
mount_pool()
{
	local i
	: >$LOG
	pmemfs-fuse -f ${2:+-o "$2"} "$1" $MNT >>$LOG 2>&1 &
	DAEMON=$!
	for ((i = 0; i < 600; i++)); do
		mountpoint -q $MNT && break
		kill -0 $DAEMON 2>/dev/null || fail "the mount did not come up: $(cat $LOG)"
		sleep 0.1
	done
	# the line that says what it stands on comes when the mount is served
	for ((i = 0; i < 50; i++)); do
		SAID=$(grep -m 1 " on $MNT: " $LOG) && break
		sleep 0.1
	done
	STANDS=${SAID#* on "$MNT": }
	STANDS=${STANDS%%; requests by*}
}

unmount_pool()
{
	local status=0
	umount $MNT
	wait "$DAEMON" || status=$?
	DAEMON=''
	same $status 0 "exit status of the daemon"
}

kill_daemon()
{
	kill -KILL "$DAEMON"
	wait "$DAEMON" 2>/dev/null || true
	DAEMON=''
	umount -l $MNT
}

check_pool()
{
	local status=0
	fsck.pmemfs -n -f "$1" >/tmp/fsck.log 2>&1 || status=$?
	[ $status = 0 ] || { cat /tmp/fsck.log; fail "fsck.pmemfs -n -f: exit status $status"; }
}

# refuse 'WORDS' COMMAND...: it fails and says so
refuse()
{
	local words=$1
	shift
	! timeout 20 "$@" >/tmp/out 2>&1 || fail "$*: went well"
	grep -qF -- "$words" /tmp/out || fail "$*: '$(cat /tmp/out)' lacks '$words'"
}

# What follows "# " in the first example of a section of the manual is run; the
# lines of its other examples become /etc/fstab, those that are folded as one.
recipe()
{
	local section=$1 line
	shift
	awk -v want=".Ss $section" '
		/^\.S[sh] / { on = $0 == want; n = 0 }
		on && /^\.Bd/ { n++; lit = 1; next }
		/^\.Ed/ { lit = 0 }
		on && lit && (/^# / ? n == 1 : 1) { print }' /vm/pmemfs.7 >/tmp/recipe
	grep -q '^# ' /tmp/recipe || fail "pmemfs.7 has no commands in '$section'"
	sed -n 's/^# //p' /tmp/recipe | sed -e '' "$@" >/tmp/commands
	while read -r line; do
		say "# $line"
		bash -c "$line" </dev/null >/tmp/out 2>&1 || { cat /tmp/out; fail "$line"; }
	done </tmp/commands
	sed '/^#/d' /tmp/recipe | sed -e ':a' -e '$!N' -e 's/\n  */ /' -e ta -e P -e D >/etc/fstab
}

# The least that shows a pool at work: written, killed, recovered, compared.
short_trip()
{
	mount_pool "$1"
	head -c 1M /dev/urandom >/tmp/noise
	cp /tmp/noise $MNT/a
	kill_daemon
	mount_pool "$1"
	cmp /tmp/noise $MNT/a
	unmount_pool
	check_pool "$1"
}

# What any pool must do: write, map, names, unmount, mount again, compare, fsck.
round_trip()
{
	local pool=$1 options=${2:-} sum
	mount_pool "$pool" "$options"
	head -c 3M /dev/urandom >/tmp/noise
	cp /tmp/noise $MNT/a
	mkdir -p $MNT/d/e
	cp -r /vm $MNT/d/e/
	mv $MNT/d/e/vm $MNT/d/f
	dd if=/tmp/noise of=$MNT/odd bs=12345 count=100 2>/dev/null
	cat /tmp/noise | splice-in $MNT/spliced >/tmp/splice.log 2>&1 ||
		fail "splice-in: $(cat /tmp/splice.log)"
	unmount_pool
	check_pool "$pool"
	mount_pool "$pool" "$options"
	cmp /tmp/noise $MNT/a
	cmp /tmp/noise $MNT/spliced
	diff -r /vm $MNT/d/f >/dev/null || fail "a tree came back changed"
	sum=$(head -c $((12345 * 100)) /tmp/noise | sha256sum)
	same "$(sha256sum <$MNT/odd)" "$sum" "an odd file"
	say "kill -9 of the daemon"
	cp /tmp/noise $MNT/b
	kill_daemon
	mount_pool "$pool" "$options"
	cmp /tmp/noise $MNT/b
	unmount_pool
	check_pool "$pool"
}
