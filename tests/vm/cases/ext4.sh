# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# ext4 - a pool file on ext4 with DAX
# vm: machine=nvdimm kernel=6.12,6.1 time=240 default
fsdax_on ext4
mkfs.pmemfs -q -s 128M $DIR/pool
round_trip $DIR/pool
[[ $SAID == *"fsdax file"*cache-line*MAP_SYNC*"survives power loss"* ]] || fail "$SAID"
fact "$STANDS"
