# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# xfs - a pool file on XFS with DAX, with reflink and without
# vm: machine=nvdimm kernel=6.12,6.1 time=240 default
for reflink in 0 1; do
	say "reflink=$reflink"
	fsdax_on xfs -m reflink=$reflink -d su=2m,sw=1
	mkfs.pmemfs -q -s 128M $DIR/pool
	if [ $reflink = 1 ]; then
		round_trip $DIR/pool
	else
		short_trip $DIR/pool
	fi
	[[ $SAID == *"fsdax file"*cache-line*MAP_SYNC*"survives power loss"* ]] || fail "$SAID"
	umount $DIR
done
fact "$STANDS"
