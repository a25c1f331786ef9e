# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# mapsync - MAP_SYNC is really used, and without it nothing claims to be safe
# vm: machine=nvdimm kernel=6.12,6.1 time=240 default
flags_of_pool()
{
	awk -v p="$1" '$NF == p { f = 1 } f && /^VmFlags/ { print; exit }' "/proc/$DAEMON/smaps"
}
fsdax_on ext4
mkfs.pmemfs -q -s 64M $DIR/pool
mount_pool $DIR/pool require-pmem
[[ " $(flags_of_pool $DIR/pool) " == *" sf "* ]] ||
	fail "no synchronous faults: $(flags_of_pool $DIR/pool)"
unmount_pool
umount $DIR
say "the same filesystem without DAX"
mount -t ext4 -o dax=never /dev/pmem0 $DIR
mount_pool $DIR/pool
[[ $SAID == *"regular file"*"page granularity"* ]] || fail "$SAID"
[[ " $(flags_of_pool $DIR/pool) " != *" sf "* ]] || fail "MAP_SYNC on the page cache"
unmount_pool
refuse "--require-pmem" pmemfs-fuse --require-pmem $DIR/pool $MNT
fact "VmFlags sf with dax=always; $STANDS"
