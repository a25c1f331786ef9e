# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# nfs - exported by knfsd, mounted over the loopback
# vm: machine=nvdimm kernel=6.12,6.1 time=240
# Without rpc.mountd: what it would answer is put into the kernel's caches. The
# server and the daemon are replaced under the client, which stands in a
# directory: its handle is all that is left of it then, and the new ones have to
# find the way up again (LOOKUP of "." and "..").
modprobe nfsd 2>/dev/null || skip "no nfsd module"
modprobe nfsv4 2>/dev/null || skip "no nfsv4 module"
fsdax_on ext4
mkfs.pmemfs -q -s 128M $DIR/pool
mount_pool $DIR/pool
mkdir -p $MNT/d
cp /vm/lib.sh $MNT/d/before
mount -t nfsd nfsd /proc/fs/nfsd
echo 10 >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
exec 3<>/proc/net/rpc/auth.unix.ip/channel 4<>/proc/net/rpc/nfsd.fh/channel \
	5<>/proc/net/rpc/nfsd.export/channel

start_server()
{
	local late=$(($(date +%s) + 3600))

	# NFS 4 alone needs no rpcbind
	echo "-3 +4 +4.1 +4.2" >/proc/fs/nfsd/versions
	echo "tcp 2049" >/proc/fs/nfsd/portlist
	echo 2 >/proc/fs/nfsd/threads
	echo Y >/proc/fs/nfsd/v4_end_grace 2>/dev/null || true
	printf 'nfsd 127.0.0.1 %d all\n' $late >&3
	printf 'all 1 \\x00000000 %d %s\n' $late $MNT >&4
	# rw, insecure, no_root_squash, no_subtree_check, fsid=0
	printf 'all %s %d %d 65534 65534 0\n' $MNT $late $((0x2402)) >&5
}

stop_server()
{
	local i

	echo 0 >/proc/fs/nfsd/threads
	for ((i = 0; i < 50; i++)); do
		umount $MNT 2>/dev/null && break
		sleep 0.2
	done
	! mountpoint -q $MNT || fail "the server does not let go of $MNT"
	wait "$DAEMON" || fail "the daemon: exit status $?"
	DAEMON=''
}

start_server
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

say "another server and daemon, the same handles"
mkdir -p /mnt/nfs/d/deep/er
cp /vm/lib.sh /mnt/nfs/d/deep/er/file
(cd /mnt/nfs/d/deep/er && exec sleep 1000) &
there=$!
for ((i = 0; i < 50; i++)); do
	[ "$(readlink /proc/$there/cwd)" != /mnt/nfs/d/deep/er ] || break
	sleep 0.1
done
inode=$(stat -c %i /proc/$there/cwd/file)
stop_server
mount_pool $DIR/pool
start_server
timeout 60 cmp /vm/lib.sh /proc/$there/cwd/file || fail "a handle of before is worth nothing"
same "$(stat -c %i /proc/$there/cwd/file)" "$inode" "inode number"
echo more >>/proc/$there/cwd/file
same "$(tail -n 1 $MNT/d/deep/er/file)" more "what was written through it"
same "$(stat -c %i /proc/$there/cwd/../..)" "$(stat -c %i $MNT/d)" "inode number of ../.."
kill $there
wait $there || true
umount /mnt/nfs
stop_server
exec 3>&- 4>&- 5>&-
umount /proc/fs/nfsd
check_pool $DIR/pool
fact "NFS 4.2: read, write, rename, link, remove; handles outlive the daemon"
