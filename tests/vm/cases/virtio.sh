# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# virtio - a pool on virtio-pmem, whose flush is a request to the host
# vm: machine=virtio kernel=6.12,6.1 time=240 default
[ -b /dev/pmem0 ] || skip "no virtio-pmem device"
mkfs.ext4 -q -F /dev/pmem0
mount -o dax=always /dev/pmem0 $DIR
mkfs.pmemfs -q -s 128M $DIR/pool
round_trip $DIR/pool
[[ $SAID == *"page granularity"* ]] || fail "$SAID"
refuse "--require-pmem" pmemfs-fuse --require-pmem $DIR/pool $MNT
fact "$STANDS"
