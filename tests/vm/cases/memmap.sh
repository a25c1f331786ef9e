# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# memmap - DRAM set aside by memmap= is not taken for persistent
# vm: machine=memmap kernel=6.12,6.1 time=240
modprobe nd_e820 2>/dev/null || true
[ -b /dev/pmem0 ] || skip "the kernel made no pmem device: $(dmesg | grep -i persistent)"
fsdax_on ext4
mkfs.pmemfs -q -s 32M $DIR/pool
short_trip $DIR/pool
[[ $SAID == *"fsdax file"*cache-line*MAP_SYNC*"does NOT survive power loss"* ]] || fail "$SAID"
refuse "--require-pmem" pmemfs-fuse --require-pmem $DIR/pool $MNT
umount $DIR
namespace devdax
DEV=/dev/$(sed -n 's/.*"chardev":"\([^"]*\)".*/\1/p' /tmp/ndctl.json)
mkfs.pmemfs -q -f "$DEV"
refuse "--require-pmem" pmemfs-fuse --require-pmem "$DEV" $MNT
fact "$STANDS"
