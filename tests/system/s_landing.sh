# SPDX-License-Identifier: BSD-3-Clause
# s_landing.sh - large writes received into free blocks (-o landing)
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 500

head -c 24M /dev/urandom >"$T/bytes"

# Requests whose blocks became part of a file, so far.
landed() { grep -c 'landed, [1-9][0-9]* bytes taken' "$T/daemon.log" || true; }
mount_traced() { mount_pool "$1,threads=${2:-2}"; }

PMEMFS_FUSE_REAL=$PMEMFS_FUSE
printf '#!/bin/sh\nexec "%s" -d "$@"\n' "$PMEMFS_FUSE_REAL" >"$T/traced"
chmod +x "$T/traced"
PMEMFS_FUSE=$T/traced

make_pool 256M
for mode in ordered atomic; do
	say "data=$mode: a stream, small requests between, overwrites, holes, odd ends"
	: >"$T/daemon.log"
	mount_traced "landing,data=$mode"
	dd if="$T/bytes" of="$MNT/a.$mode" bs=1M status=none
	n=$(landed)
	[ "$n" -ge 1 ] || fail "nothing landed"
	say "$n of 24 landed"
	for i in 1 2 3 4 5 6 7 8; do
		dd if="$T/bytes" of="$MNT/b.$mode" bs=777777 skip="$i" seek="$i" count=3 \
			conv=notrunc status=none
		mkdir "$MNT/$mode.$i"
		setfattr -n user.large -v "$(head -c 30000 /dev/zero | tr '\0' x)" \
			"$MNT/$mode.$i" 2>/dev/null || true
	done
	dd if="$T/bytes" of="$MNT/a.$mode" bs=1M skip=3 seek=3 count=9 conv=notrunc status=none
	cmp "$T/bytes" "$MNT/a.$mode"
	cmp -n $((3 * 777777)) -i $((8 * 777777)) "$T/bytes" "$MNT/b.$mode"
	unmount_pool
	check_pool
	mount_pool
	cmp "$T/bytes" "$MNT/a.$mode"
	unmount_pool
done

say "a pool that fills up: to the last block, as without"
mount_traced landing
dd if=/dev/zero of="$MNT/fill" bs=1M status=none 2>/dev/null && fail "it never fills up"
same "$(df --output=avail "$MNT" | tail -n 1 | tr -d ' ')" 0 "space left"
cmp "$T/bytes" "$MNT/a.atomic"
unmount_pool
check_pool

say "no memory behind the free blocks: an error for the write, and for nothing else"
is_root || { echo "(needs root)"; exit 0; }
rm "$POOL"
mkdir "$T/small"
mount -t tmpfs -o size=40m pmemfs-test "$T/small"
MOUNTS+=("$T/small")
POOL=$T/small/pool
"$MKFS_PMEMFS" -q --sparse -s 256M "$POOL"
# one thread: a large write whose thread had none before is copied, not landed, and of
# two threads that one could be the first to meet the missing memory
mount_traced landing 1
dd if="$T/bytes" of="$MNT/a" bs=1M count=20 status=none
dd if="$T/bytes" of="$MNT/b" bs=1M status=none 2>/dev/null &&
	fail "there was memory for all of it"
grep -q 'cannot receive into pool' "$T/daemon.log" || fail "it was not the landing that failed"
cmp -n $((20 << 20)) "$T/bytes" "$MNT/a"
rm "$MNT/b"
mkdir "$MNT/d"
unmount_pool
