# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# nfs - exported by knfsd, mounted over the loopback
# vm: machine=nvdimm kernel=6.12,6.1 time=240
# Without rpc.mountd: what it would answer is put into the kernel's caches.
modprobe nfsd 2>/dev/null || skip "no nfsd module"
modprobe nfsv4 2>/dev/null || skip "no nfsv4 module"
fsdax_on ext4
mkfs.pmemfs -q -s 128M $DIR/pool
mount_pool $DIR/pool
mkdir -p $MNT/d
cp /vm/lib.sh $MNT/d/before
mount -t nfsd nfsd /proc/fs/nfsd
# NFS 4 alone needs no rpcbind
echo "-3 +4 +4.1 +4.2" >/proc/fs/nfsd/versions
echo 10 >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
echo "tcp 2049" >/proc/fs/nfsd/portlist
echo 2 >/proc/fs/nfsd/threads
echo Y >/proc/fs/nfsd/v4_end_grace 2>/dev/null || true
exec 3<>/proc/net/rpc/auth.unix.ip/channel 4<>/proc/net/rpc/nfsd.fh/channel \
	5<>/proc/net/rpc/nfsd.export/channel
late=$(($(date +%s) + 3600))
printf 'nfsd 127.0.0.1 %d all\n' $late >&3
printf 'all 1 \\x00000000 %d %s\n' $late $MNT >&4
# rw, insecure, no_root_squash, no_subtree_check, fsid=0
printf 'all %s %d %d 65534 65534 0\n' $MNT $late $((0x2402)) >&5
mkdir -p /mnt/nfs
mount -i -t nfs4 -o addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.2,soft,timeo=100 \
	127.0.0.1:/ /mnt/nfs || fail "mount: $(dmesg | tail -n 3)"
cmp /vm/lib.sh /mnt/nfs/d/before
head -c 4M /dev/urandom >/tmp/data
cp /tmp/data /mnt/nfs/d/over
mv /mnt/nfs/d/over /mnt/nfs/d/moved
cmp /tmp/data $MNT/d/moved
ln /mnt/nfs/d/moved /mnt/nfs/linked
rm /mnt/nfs/d/moved
cmp /tmp/data /mnt/nfs/linked
umount /mnt/nfs
echo 0 >/proc/fs/nfsd/threads
exec 3>&- 4>&- 5>&-
umount /proc/fs/nfsd
for ((i = 0; i < 50; i++)); do
	umount $MNT 2>/dev/null && break
	sleep 0.2
done
wait "$DAEMON"
DAEMON=''
check_pool $DIR/pool
fact "NFS 4.2: read, write, rename, link, remove"
