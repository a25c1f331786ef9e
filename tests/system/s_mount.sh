# SPDX-License-Identifier: BSD-3-Clause
# s_mount.sh - what cannot be mounted is refused with one line and the right
# exit status; what can, is mounted as asked
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 100
make_pool 32M

# refuse STATUS 'WORDS OF THE LINE' ARGUMENTS
refuse()
{
	local want=$1 words=$2 status=0
	shift 2
	timeout 20 "$PMEMFS_FUSE" "$@" >"$T/out" 2>&1 || status=$?
	[ "$status" = "$want" ] ||
		fail "pmemfs-fuse $*: exit status $status, wanted $want: $(cat "$T/out")"
	[ "$(wc -l <"$T/out")" = 1 ] ||
		fail "pmemfs-fuse $*: more or less than a line: $(cat "$T/out")"
	grep -qF -- "$words" "$T/out" ||
		fail "pmemfs-fuse $*: '$(cat "$T/out")' lacks '$words'"
	! mountpoint -q "$MNT" || fail "pmemfs-fuse $*: mounted all the same"
}

say "the command line"
refuse 1 "usage:"
refuse 1 "usage:" "$POOL"
refuse 1 "too many: third" "$POOL" "$MNT" third
refuse 1 "unknown option: -z" -z "$POOL" "$MNT"
refuse 1 "unknown option: --bogus" --bogus "$POOL" "$MNT"
refuse 1 "unknown option: -o bogus" "$POOL" "$MNT" -o rw,bogus
refuse 1 "unknown option: -o errors" "$POOL" "$MNT" -o errors
refuse 1 "one of always, never, inode" "$POOL" "$MNT" -o dax=maybe
refuse 1 "one of auto, map, copy" "$POOL" "$MNT" -o read=
refuse 1 "one of auto, uring, dev" "$POOL" "$MNT" -o transport=pigeon
refuse 1 "splice needs -o transport=dev" "$POOL" "$MNT" -o splice,transport=uring
refuse 1 "one of remount-ro, continue" "$POOL" "$MNT" -o errors=panic
refuse 1 "one of byte, line, page" "$POOL" "$MNT" -o granularity=bit
refuse 1 "one of ordered" "$POOL" "$MNT" -o data=journal
for n in 0 257 -1 x 1x ''; do
	refuse 1 "a number from 1 to 256" "$POOL" "$MNT" -o "threads=$n"
done
refuse 1 "norecovery needs -o ro" "$POOL" "$MNT" -o norecovery

say "places"
refuse 32 "No such file" "$T/none" "$MNT"
refuse 32 "No such file" "$POOL" "$T/none"
refuse 32 "not a directory" "$POOL" "$POOL"
refuse 32 "" "$MNT" "$MNT"
refuse 32 "no pmemfs is mounted there" "$POOL" "$MNT" -o remount,ro,user_id=0,group_id=0

say "things that are no pool"
: >"$T/empty"
refuse 32 "empty" "$T/empty" "$MNT"
head -c 1M /dev/zero >"$T/small"
refuse 32 "not a pmemfs pool" "$T/small" "$MNT"
head -c 32M /dev/zero >"$T/zeros"
refuse 32 "not a pmemfs pool" "$T/zeros" "$MNT"
refuse 32 "" /dev/null "$MNT"
for b in /dev/loop0 /dev/ram0 /dev/vda /dev/sda; do
	[ ! -b "$b" ] || { refuse 32 "block device" "$b" "$MNT"; break; }
done

say "pools that are refused when asked to"
refuse 32 "require-pmem" "$POOL" "$MNT" -o require-pmem
refuse 32 "require-pmem" --require-pmem "$POOL" "$MNT"

disk=${TMPDIR:-/tmp}
if [ "$(stat -f -c %T "$disk")" != tmpfs ]; then
	disk=$(mktemp "$disk/pmemfs-test.XXXXXX")
	FILES+=("$disk")
	"$MKFS_PMEMFS" -q -f -s 16M "$disk"
	refuse 32 "page granularity" "$disk" "$MNT" -o require-pmem
	rm "$disk"
fi

say "a pool with a hole nobody asked for"
"$MKFS_PMEMFS" -q -s 32M "$T/holed"
fallocate -p -o 16M -l 1M "$T/holed"
refuse 32 "has holes" "$T/holed" "$MNT"
"$PMEMFS_FUSE" -o ro "$T/holed" "$MNT" >"$T/out" 2>&1
umount_quietly "$MNT"
fallocate -l 32M "$T/holed"
"$PMEMFS_FUSE" "$T/holed" "$MNT" >"$T/out" 2>&1
umount_quietly "$MNT"
rm "$T/holed"

say "a pool in use"
mount_pool
mkdir "$T/other"
status=0
"$PMEMFS_FUSE" "$POOL" "$T/other" >"$T/out" 2>&1 || status=$?
same $status 32 "exit status for a pool in use"
grep -q "in use" "$T/out" || fail "a pool in use: $(cat "$T/out")"
unmount_pool

say "in the background, options of fstab, and nothing said of success"
timeout 20 "$PMEMFS_FUSE" "$POOL" "$MNT" \
	-o rw,noexec,noatime,nofail,_netdev,noauto,user=me,x-systemd.automount,defaults \
	>"$T/out" 2>&1 </dev/null
mountpoint -q "$MNT" || fail "not mounted when the command returned"
same "$(grep -vc 'does NOT survive' "$T/out" || true)" 0 "lines besides that on durability"
line=$(awk -v m="$MNT" '$5 == m' /proc/self/mountinfo)
for word in noexec noatime default_permissions "fuse.pmemfs-fuse $POOL"; do
	grep -qF -- "$word" <<<"$line" || fail "'$line' lacks '$word'"
done
umount_quietly "$MNT"

say "umount and mount at once: the old daemon is waited for"
for _ in 1 2 3 4 5; do
	timeout 20 "$PMEMFS_FUSE" "$POOL" "$MNT" >"$T/out" 2>&1
	date >"$MNT/file"
	umount_quietly "$MNT"
done

if is_root; then
	say "remount"
	mount_pool
	"$PMEMFS_FUSE" "$POOL" "$MNT" -o remount,ro,user_id=0,group_id=0
	! touch "$MNT/x" 2>/dev/null || fail "written to after remount,ro"
	grep -q "$MNT ro,nosuid" /proc/self/mountinfo || fail "nosuid was lost"
	"$PMEMFS_FUSE" "$POOL" "$MNT" -o remount,rw
	touch "$MNT/x"
	unmount_pool
	mount_pool ro
	status=0
	"$PMEMFS_FUSE" "$POOL" "$MNT" -o remount,rw 2>"$T/out" || status=$?
	same $status 32 "exit status of remount,rw"
	grep -q "opened read-only" "$T/out" || fail "remount,rw: $(cat "$T/out")"
	! touch "$MNT/y" 2>/dev/null || fail "written to read-only"
	unmount_pool
fi
check_pool
