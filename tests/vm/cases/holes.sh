# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# holes - a pool file that is not fully allocated
# vm: machine=nvdimm kernel=6.12,6.1 time=240 default
fsdax_on ext4
say "mkfs allocates"
truncate -s 128M $DIR/pool
mkfs.pmemfs -q $DIR/pool
[ "$(stat -c '%b * %B' $DIR/pool | { read -r a _ b; echo $((a * b)); })" -ge $((128 << 20)) ] ||
	fail "mkfs.pmemfs left holes"
say "a hole that came later is refused"
fallocate -p -o 64M -l 1M $DIR/pool
refuse "has holes" pmemfs-fuse --require-pmem $DIR/pool $MNT
refuse "has holes" pmemfs-fuse $DIR/pool $MNT
say "--sparse, and the filesystem below is full: an error, not a SIGBUS"
rm $DIR/pool
mkfs.pmemfs -q --sparse -s 600M $DIR/pool
fallocate -l 800M $DIR/filler
mount_pool $DIR/pool
status=0
dd if=/dev/zero of=$MNT/big bs=1M count=500 2>/tmp/dd.log || status=$?
[ $status != 0 ] || fail "500 MiB fit into what is left of 1 GiB"
kill -0 "$DAEMON" || fail "the daemon died"
umount $MNT || umount -l $MNT
wait "$DAEMON" || true
DAEMON=''
rm $DIR/filler
mount_pool $DIR/pool
unmount_pool
check_pool $DIR/pool
fact "$(tail -n 1 /tmp/dd.log)"
