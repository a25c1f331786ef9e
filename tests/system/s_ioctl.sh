# SPDX-License-Identifier: BSD-3-Clause
# s_ioctl.sh - the flags of chattr(1) and xfs_io(8), through the kernel: set
# by either, read back by both, inherited, obeyed, and there after a remount
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 100
make_pool 32M
command -v chattr >/dev/null || skip "no chattr"

# The letters of a file, without the dashes.
flags() { lsattr -d "$1" | awk '{ gsub("-", "", $1); print $1 }'; }
has() { same "$(flags "$1")" "$2" "flags of $1"; }

# refused WORDS COMMAND...: fails, and says why
refused()
{
	local words=$1
	shift
	! "$@" >"$T/out" 2>&1 || fail "not refused: $*"
	grep -qiF -- "$words" "$T/out" || fail "$*: $(cat "$T/out")"
}
not_permitted() { refused "not permitted" "$@"; }

mount_pool dax=inode
cd "$MNT"

say "set and read back, files and directories"
touch f
mkdir d
has f ''
chattr +AdSx f
has f SdAx
chattr -S d f
chattr +dxP d
has d dxP
chattr '=' f
has f ''
refused "not supported" chattr +c f
has f ''
lsattr -v f >"$T/out"
same "$(awk '{ print NF }' "$T/out")" 3 "fields of lsattr -v"

say "nobody gets round the kernel's checks"
touch g
"$builddir/tests/support/cache_io" setflags32 g 16 >"$T/out" ||
	fail "by the other number: $(cat "$T/out")"
has g ''

say "inherited"
chattr -p 77 d
mkdir d/sub
touch d/sub/file
has d/sub dxP
has d/sub/file dx
same "$(lsattr -p d/sub/file | awk '{ print $1 }')" 77 "project"
refused "cross-device" ln f d/link
mv f d/moved			# copies, since its project is another
same "$(lsattr -p d/moved | awk '{ print $1 }')" 77 "project of what was moved in"

if command -v xfs_io >/dev/null; then
	say "and by xfs_io"
	touch x
	xfs_io -c "chattr +x" x
	has x x
	xfs_io -r -c lsattr x | grep -q -- 'x' || fail "$(xfs_io -r -c lsattr x)"
	xfs_io -c "chproj 5" x
	same "$(xfs_io -r -c lsproj x)" "projid = 5"
	xfs_io -c "chattr -x" x
	has x ''
fi

if is_root; then
	say "immutable"
	echo one >i
	exec 5>>i
	chattr +i i
	has i i
	not_permitted sh -c 'echo two >>i'
	not_permitted sh -c ': >i'
	not_permitted sh -c 'cat f d/moved /etc/passwd >&5'
	for c in "rm -f i" "mv i j" "ln i j" "chmod 600 i" "touch i" "truncate -s 0 i" \
		 "chown 1 i" "setfattr -n user.a -v b i" "mv x i"; do
		touch x
		# shellcheck disable=SC2086
		not_permitted $c
	done
	same "$(cat i)" one "what is in it"
	exec 5>&-
	mkdir id
	touch id/in
	chattr +i id
	not_permitted touch id/new
	not_permitted rm -f id/in
	echo more >>id/in

	say "append only"
	echo one >a
	chattr +a a
	echo two >>a
	not_permitted sh -c 'echo x >a'
	not_permitted truncate -s 1 a
	not_permitted rm -f a
	touch a
	same "$(cat a)" "$(printf 'one\ntwo')" "what was appended"
	mkdir ad
	touch ad/in
	chattr +a ad
	touch ad/new
	not_permitted rm ad/in
	not_permitted mv ad/in ad/out

	say "who may"
	chmod 777 .
	as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	as_nobody touch theirs
	as_nobody chattr +d theirs
	not_permitted as_nobody chattr +i theirs
	not_permitted as_nobody chattr +A a
	has theirs d
fi

say "after a remount"
lsattr -aR . | sort >"$T/before"
cd /
unmount_pool
check_pool
mount_pool dax=never
cd "$MNT"
lsattr -aR . | sort >"$T/after"
cmp "$T/before" "$T/after"
if is_root; then
	for mode in never always; do
		not_permitted sh -c 'echo two >>i'
		echo three >>a
		not_permitted sh -c 'echo two >a'
		touch a
		cd /
		unmount_pool
		mount_pool dax=$mode
		cd "$MNT"
	done
	same "$(tail -n 2 a)" "$(printf 'three\nthree')" "what was appended"
	chattr -i i id
	chattr -a a ad
fi
rm -r ./*

say "read-only"
touch f
cd /
unmount_pool
mount_pool ro
refused "read-only" chattr +d "$MNT/f"
unmount_pool
check_pool
