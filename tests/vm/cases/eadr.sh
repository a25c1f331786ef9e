# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# eadr - a machine whose CPU caches survive: byte granularity
# vm: machine=eadr kernel=6.12,6.1 time=240 default
same "$(cat /sys/bus/nd/devices/region0/persistence_domain)" cpu_cache "persistence_domain"
fsdax_on ext4
mkfs.pmemfs -q -s 64M $DIR/pool
short_trip $DIR/pool
[[ $SAID == *"byte granularity"*"survives power loss"* ]] || fail "$SAID"
fact "$STANDS"
