# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# cxl - persistent CXL memory: the recipe of pmemfs.7, then a pool on it
# vm: machine=cxl kernel=6.12,6.1 time=400
# The volatile half of that recipe needs a QEMU that emulates such a device, 8.1
# or later, and is not tried here.
for m in cxl_acpi cxl_pci cxl_mem cxl_pmem; do
	modprobe $m || skip "no module $m"
done
tries=0
while ! cxl list -M 2>/dev/null | grep -q mem0; do
	tries=$((tries + 1))
	[ $tries -lt 50 ] || skip "the kernel sees no CXL memory: $(dmesg | grep -i cxl | tail -n 5)"
	sleep 0.2
done
cxl list -BDM
recipe "CXL memory"
[ -c /dev/dax0.0 ] || fail "no /dev/dax0.0: $(ndctl list -RNu)"
mkfs.pmemfs -q /dev/dax0.0
short_trip /dev/dax0.0
fact "$STANDS"
