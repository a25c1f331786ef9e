# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# huge - pages of 2 MiB: fewer faults
# vm: machine=nvdimm kernel=6.12,6.1 time=240 default
# smaps does not count large DAX mappings; the number of page faults does.
faults() { awk '{ print $10 + $12 }' "/proc/$1/stat"; }
one()
{
	local pool=$1 before
	mkfs.pmemfs -q -f ${2:+-s $2} "$pool"
	mount_pool "$pool"
	say "$SAID"
	before=$(faults "$DAEMON")
	dd if=/dev/zero of=$MNT/file bs=1M count=64 2>/dev/null
	n=$(($(faults "$DAEMON") - before))
	unmount_pool
}
devdax
one "$DEV"
[[ $SAID == *", 2 MiB pages"* ]] || fail "$SAID"
[ $n -lt 2000 ] || fail "$n faults for 64 MiB on devdax"
fact "devdax: $n faults for 64 MiB"
fsdax_on xfs -d su=2m,sw=1
one $DIR/pool 256M
[[ $SAID == *", 2 MiB pages"* ]] || fail "$SAID"
[ $n -lt 4000 ] || fail "$n faults for 64 MiB on fsdax"
fact "fsdax: $n faults for 64 MiB, $STANDS"
