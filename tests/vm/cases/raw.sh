# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# raw - a raw /dev/pmem0 is refused, and told how to become a pool
# vm: machine=nvdimm kernel=6.12,6.1 time=240 default
namespace fsdax
for command in "mkfs.pmemfs -q /dev/pmem0" "pmemfs-fuse /dev/pmem0 $MNT" \
	"fsck.pmemfs -n /dev/pmem0" "dump.pmemfs /dev/pmem0 super"; do
	# shellcheck disable=SC2086
	refuse "ndctl create-namespace -f -e namespace0.0 --mode=devdax" $command
done
fact "refused, with the ndctl command"
