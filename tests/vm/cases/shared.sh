# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# shared - shared mappings, where direct files can be mapped and where not
# vm: machine=nvdimm kernel=6.1,6.12 time=240 default
[ -x "$(command -v xfs_io)" ] || skip "no xfs_io"
fsdax_on ext4
mkfs.pmemfs -q -s 64M $DIR/pool
mount_pool $DIR/pool
major=$(uname -r | cut -d. -f1-2)
case $major in
6.[0-5]) grep -q "cannot map direct files" $LOG || fail "the fallback was not said: $(cat $LOG)" ;;
*) ! grep -q "cannot map direct files" $LOG || fail "a fallback: $(cat $LOG)" ;;
esac
truncate -s 64k $MNT/file
xfs_io -c "mmap -rw 0 64k" -c "mwrite -S 0x61 4096 8192" -c "msync -s 0 64k" $MNT/file >/dev/null
xfs_io -c "pwrite -q -S 0x62 20000 100" $MNT/file >/dev/null
kill_daemon
mount_pool $DIR/pool
same "$(tr -d '\0' <$MNT/file | tr -d b | wc -c)" 8192 "bytes that were mapped and synced"
same "$(tr -cd b <$MNT/file | wc -c)" 100 "bytes that were written"
unmount_pool
check_pool $DIR/pool
fact "mapped, synced, killed, there"
