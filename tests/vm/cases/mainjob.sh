# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# mainjob - pipe to file by splice, fio, fsck, on fsdax
# vm: machine=nvdimm kernel=6.12,6.1 time=240 default
fsdax_on xfs -d su=2m,sw=1
mkfs.pmemfs -q -s 256M $DIR/pool
head -c 12M /dev/urandom >/tmp/noise
for options in "" splice; do
	mount_pool $DIR/pool "$options"
	cat /tmp/noise | splice-in "$MNT/spliced$options"
	cmp /tmp/noise "$MNT/spliced$options"
	by_kernel=$(pmemfs-stat --json $MNT | sed -n 's/.*"spliced_bytes": *\([0-9]*\).*/\1/p')
	case $options in
	splice) [ "$by_kernel" -ge $((12 << 20)) ] || fail "$by_kernel bytes spliced by the kernel" ;;
	*) [ "$by_kernel" = 0 ] || fail "spliced without -o splice" ;;
	esac
	unmount_pool
	check_pool $DIR/pool
done
mount_pool $DIR/pool
if [ -x "$(command -v fio)" ]; then
	say "fio: random writes, then every block verified"
	fio --name=v --directory=$MNT --size=2m --bs=4k --rw=randwrite --ioengine=psync \
		--verify=crc32c --do_verify=1 --verify_fatal=1 --verify_state_save=0 \
		--randseed=1 >/tmp/fio.log 2>&1 || { cat /tmp/fio.log; fail fio; }
fi
unmount_pool
check_pool $DIR/pool
mount_pool $DIR/pool
cmp /tmp/noise $MNT/spliced
unmount_pool
fact "12 MiB spliced twice and compared, $by_kernel bytes of it pipe to pool by the kernel"
fact "fio verified"
