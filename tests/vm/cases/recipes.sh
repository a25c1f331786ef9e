# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# recipes - the lines of pmemfs.7, SETTING UP, typed as they stand there
# vm: machine=nvdimm kernel=6.12,6.1 time=240 default
# Only sizes are smaller here.
mkdir -p /var/lib /srv/data
served()
{
	local pool=$1
	shift
	say "$(tr '\n' '|' </etc/fstab)"
	for m; do
		mountpoint -q "$m" || mount "$m"
	done
	mountpoint -q /srv/data || fail "nothing at /srv/data"
	same "$(findmnt -n -o FSTYPE /srv/data)" fuse.pmemfs-fuse "type"
	cp /vm/lib.sh /srv/data/
	cmp /vm/lib.sh /srv/data/lib.sh
	umount /srv/data
	mount /srv/data
	cmp /vm/lib.sh /srv/data/lib.sh
	umount /srv/data
	check_pool "$pool"
}

# nobody's memory, with nothing that mkfs would not overwrite
blank()
{
	namespace raw
	dd if=/dev/zero of=/dev/pmem0 bs=1M count=64 2>/dev/null
	ndctl destroy-namespace -f namespace0.0 >/dev/null 2>&1
}

blank
recipe "A file on a DAX filesystem (fsdax)" -e s/60G/300M/
served /mnt/pmem0/pool /mnt/pmem0 /srv/data
umount /mnt/pmem0
fact "fsdax from ndctl to fstab"

blank
recipe "A device (devdax)"
served /dev/dax0.0 /srv/data
fact "devdax"

namespace fsdax 1
mkfs.ext4 -q -F -b 4096 /dev/pmem1
mount /dev/pmem1 /var/lib
recipe "A plain file" -e s/1G/64M/
served /var/lib/pool /srv/data
umount /var/lib
fact "plain file"
