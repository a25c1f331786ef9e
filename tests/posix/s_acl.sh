# SPDX-License-Identifier: BSD-3-Clause
# s_acl.sh - access control lists as people use them: the tools, copies, a remount
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
is_root || skip "needs root: it sets owners"
for tool in getfacl setfacl rsync tar; do
	command -v $tool >/dev/null || skip "no $tool"
done
scratch 200
make_pool 128M

# Modes, owners, lists and attributes of all below a folder.
facts()
{
	(
		cd "$1"
		find . -printf '%P|%y|%m|%U|%G|%l\n' | sort
		find . -type f | sort | xargs -d '\n' sha256sum
		find . ! -type l | sort | getfacl -n -
		find . | sort | tr '\n' '\0' |
			xargs -0 getfattr -h -d -m 'user\.|trusted\.|security\.'
	)
}

fill()
{
	local d=$1
	mkdir -p "$d/in/deep"
	setfacl -m u:1000:rwx,g:2000:r-x,d:u:1000:rwX,d:g:3000:r-x,d:o::--- "$d/in"
	(umask 077 && mkdir "$d/in/born" && echo text >"$d/in/born/file")
	echo plain >"$d/plain"
	echo list >"$d/list"
	setfacl -m u:1001:r,u:1002:-,m::rw "$d/list"
	chmod 604 "$d/list"
	setfattr -n user.note -v hello "$d/list"
	setfattr -n trusted.note -v secret "$d/in"
	ln -s list "$d/link"
	chown 1003:2003 "$d/plain"
}

for mode in dax=always dax=never; do
	mount_pool "$mode"
	say "$mode: what the tools show is what tmpfs shows"
	rm -rf "$MNT/a" "$T/a"
	mkdir "$MNT/a" "$T/a"
	fill "$MNT/a"
	fill "$T/a"
	facts "$T/a" >"$T/want"
	facts "$MNT/a" >"$T/got"
	diff "$T/want" "$T/got" || fail "not as on tmpfs"

	say "$mode: copies"
	rm -rf "$MNT"/[b-e]
	cp -a "$MNT/a" "$MNT/b"
	rsync -aAX "$MNT/a/" "$MNT/c/"
	tar -C "$MNT/a" --acls --xattrs --xattrs-include='*' -cf "$MNT/tar" .
	mkdir "$MNT/d" "$MNT/e"
	tar -C "$MNT/d" --acls --xattrs --xattrs-include='*' -xpf "$MNT/tar"
	chmod --reference="$MNT/a" "$MNT/e"
	cp -a "$T/a/." "$MNT/e"
	for copy in b c d e; do
		facts "$MNT/$copy" | diff "$T/want" - || fail "copy $copy differs"
	done

	say "$mode: setfacl -b, getfacl | setfacl --restore"
	(cd "$MNT/b" && getfacl -R -n . >"$T/saved" && setfacl -R -b . &&
		setfacl --restore="$T/saved")
	facts "$MNT/b" | diff "$T/want" - || fail "not restored"

	unmount_pool
	check_pool
	say "$mode: after a remount"
	mount_pool "$mode"
	for copy in a b c d e; do
		facts "$MNT/$copy" | diff "$T/want" - || fail "$copy has changed"
	done
	unmount_pool
done
