# SPDX-License-Identifier: BSD-3-Clause
# stack.sh - other filesystems on top of a mount: overlayfs, ext4 in a file
#
#	make check-apps
#
# overlayfs with its upper and work directories on it: what was changed, removed,
# moved and linked is the same when the overlay is mounted again. An image that
# mkfs.ext4 -d has filled, mounted through a loop device: written to, unmounted,
# checked by e2fsck. And a tree through cpio.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
is_root || skip "needs root: mounts"
scratch 400
make_pool 256M

overlay()
{
	timeout 60 mount -t overlay pmemfs-test "$T/merged" -o \
		"lowerdir=$T/lower,upperdir=$MNT/upper,workdir=$MNT/work"
}

listing() { (cd "$T/merged" && find . -printf '%p %y %m %n %s\n' | sort); }

on_overlay()
{
	say "$1: overlayfs"
	rm -rf "$T/lower"
	mkdir -p "$MNT/upper" "$MNT/work" "$T/lower/d" "$T/merged"
	echo low >"$T/lower/a"
	echo low >"$T/lower/d/b"
	overlay
	MOUNTS+=("$T/merged")
	echo new >"$T/merged/a"
	rm -r "$T/merged/d"		# a whiteout, then an opaque directory
	mkdir "$T/merged/d"
	echo c >"$T/merged/d/c"
	mv "$T/merged/a" "$T/merged/d/a2"
	ln "$T/merged/d/c" "$T/merged/link"
	setfattr -n user.x -v 1 "$T/merged/d/c"
	listing >"$T/before"
	umount "$T/merged"
	overlay
	listing | diff "$T/before" -
	same "$(cat "$T/merged/d/a2")" new "a file that was changed and moved"
	[ ! -e "$T/merged/d/b" ] || fail "what was removed is back"
	umount "$T/merged"
	MOUNTS=()
}

in_a_loop()
{
	say "$1: ext4 in a file, and cpio"
	mkdir -p "$T/ext4" "$MNT/copied"
	truncate -s 64M "$MNT/image"
	mkfs.ext4 -q -F -d "$srcdir/src" "$MNT/image"
	timeout 60 mount -o loop "$MNT/image" "$T/ext4"
	MOUNTS+=("$T/ext4")
	diff -r -x lost+found "$srcdir/src" "$T/ext4"
	cp -r "$srcdir/man" "$T/ext4/"
	umount "$T/ext4"
	MOUNTS=()
	e2fsck -fn "$MNT/image" >"$T/out" 2>&1 || { cat "$T/out"; fail e2fsck; }
	(cd "$srcdir/src" && find . | cpio -o --quiet -H newc) >"$MNT/archive"
	(cd "$MNT/copied" && cpio -id --quiet <"$MNT/archive")
	diff -r "$srcdir/src" "$MNT/copied"
}

for mode in always never; do
	mount_pool "dax=$mode,suid,dev"
	on_overlay "dax=$mode"
	in_a_loop "dax=$mode"
	unmount_pool
	check_pool
	mount_pool
	find "$MNT" -mindepth 1 -delete
	unmount_pool
done
