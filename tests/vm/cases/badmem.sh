# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# badmem - bad blocks that the kernel knows of, on fsdax
# vm: machine=nvdimm kernel=6.12,6.1 time=240 default
# The emulated NVDIMM has no error injection (ndctl inject-error says so), but
# the pmem driver takes bad sectors through sysfs, and then refuses them like
# real ones: a page fault on one is a SIGBUS.
fsdax_on ext4
pool=$DIR/pool
mkfs.pmemfs -q -s 64M $pool
head -c 1M /dev/urandom >/tmp/data
mount_pool $pool
mkdir $MNT/d
cp /tmp/data $MNT/d/hit
cp /tmp/data $MNT/whole
blk=$(dump.pmemfs --json $pool path /d/hit 2>/dev/null | tr -d ' ",\n' |
	grep -o 'file_block:[0-9]*pool_block:[0-9]*blocks:[0-9]*' | tr -c '0-9\n' ' ' |
	awk '$1 <= 10 && 10 < $1 + $3 { print $2 + 10 - $1; exit }')
[ -n "$blk" ] || fail "where is the file?"
unmount_pool

injected=$(ndctl inject-error namespace0.0 --block=0 --count=1 2>&1 | tail -n 1) || true
say "ndctl inject-error: $injected"
physical=$(filefrag -b4096 -v $pool | tr -d ':.' | awk -v b="$blk" \
	'$1 ~ /^[0-9]+$/ && $2 <= b && b <= $3 { print $4 + b - $2; exit }')
[ -n "$physical" ] || fail "$(filefrag -b4096 -v $pool)"
echo "$((physical * 8)) 8" >/sys/block/pmem0/badblocks

say "known at mount"
mount_pool $pool
grep -q "ranges of bad memory, the first at pool offset $((blk * 4096))" $LOG ||
	fail "nobody told: $(cat $LOG)"
! dd if=$MNT/d/hit of=/tmp/out bs=4096 skip=10 count=1 2>/tmp/err || fail "read bad memory"
grep -q "Input/output error" /tmp/err || fail "$(cat /tmp/err)"
dd if=$MNT/d/hit bs=4096 count=10 2>/dev/null | cmp -n 40960 - /tmp/data
dd if=$MNT/d/hit bs=4096 skip=11 count=200 2>/dev/null | cmp -n 819200 -i 0:45056 - /tmp/data
cmp /tmp/data $MNT/whole
rm $MNT/d/hit
dd if=/dev/zero of=$MNT/full bs=1M 2>/tmp/err || true
grep -q "No space left" /tmp/err || fail "filling up: $(cat /tmp/err)"
rm $MNT/full
cp /tmp/data $MNT/d/hit
unmount_pool
dump.pmemfs $pool badblocks >/tmp/list
grep -qw $blk /tmp/list || fail "not on the pool's own list: $(cat /tmp/list)"

say "fsck.pmemfs --media"
status=0
fsck.pmemfs --media -n $pool >/tmp/fsck.log 2>&1 || status=$?
same $status 4 "exit status of --media -n: $(cat /tmp/fsck.log)"
grep -q "bad memory at 0x" /tmp/fsck.log || fail "$(cat /tmp/fsck.log)"
status=0
fsck.pmemfs --media -y $pool >/tmp/fsck.log 2>&1 || status=$?
cat /tmp/fsck.log
[ $((status & ~5)) = 0 ] || fail "exit status of --media -y: $status"
mount_pool $pool
cmp /tmp/data $MNT/d/hit
cmp /tmp/data $MNT/whole
unmount_pool
fact "SIGBUS contained; clearing: $(grep "pages of bad memory" /tmp/fsck.log)"
fact "ndctl: $injected"
