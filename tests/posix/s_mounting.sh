# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2016
# s_mounting.sh - who can mount, with which options, and how it ends
#
# A function is a rule (README.md); rules that start with as_user or in_userns
# run as an ordinary user, in a mount namespace of its own where /dev/fuse may be
# opened by everybody and the FUSE configuration is ours.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
is_root || skip "needs root: it becomes one user after the other"
command -v setpriv >/dev/null || skip "no setpriv"
if [ "${1:-}" != inside ]; then
	unshare -m true || skip "no mount namespaces"
	exec unshare -m --propagation private "$BASH" "$0" inside
fi
scratch 150
handles=$builddir/tests/posix/handles
T_USER=$T/user
chmod 755 "$T"
mkdir "$T_USER"
chown 1000:1000 "$T_USER"

as_user() { setpriv --reuid 1000 --regid 1000 --clear-groups "$@"; }
as_other() { setpriv --reuid 1001 --regid 1001 --clear-groups "$@"; }
refused() { ! "$@" >"$T/out" 2>&1 || fail "allowed: $*"; }

# The node of /dev/fuse that everybody may open, and an fuse.conf.
open_to_all()
{
	mkdir "$T/dev"
	mount -t tmpfs -o size=64k,mode=755 pmemfs-test "$T/dev"
	MOUNTS+=("$T/dev")
	mknod -m 666 "$T/dev/fuse" c 10 229
	mount --bind "$T/dev/fuse" /dev/fuse
	: >"$T/fuse.conf"
	[ -e /etc/fuse.conf ] || : >/etc/fuse.conf
	mount --bind "$T/fuse.conf" /etc/fuse.conf
}

# user_mount [OPTIONS [keep]]: a mount of an ordinary user; $DAEMON is the shell's child.
user_mount()
{
	[ -n "${2:-}" ] || as_user "$MKFS_PMEMFS" -q -f -s 32M "$T_USER/pool"
	as_user mkdir -p "$T_USER/mnt"
	as_user "$PMEMFS_FUSE" -f ${1:+-o "$1"} "$T_USER/pool" "$T_USER/mnt" \
		>>"$T/daemon.log" 2>&1 &
	DAEMON=$!
	MOUNTS+=("$T_USER/mnt")
	for ((i = 0; i < 400; i++)); do		# not by a look at it, which may be refused
		! as_user mountpoint -q "$T_USER/mnt" || return 0
		sleep 0.05
	done
	fail "the mount did not come up"
}

user_umount()
{
	as_user fusermount3 -u "$T_USER/mnt"
	daemon_done
	"$FSCK_PMEMFS" -n -f "$T_USER/pool" >"$T/out" 2>&1 || fail "fsck: $(cat "$T/out")"
}

# ---- users -------------------------------------------------------------------

user_mounts()
{
	user_mount
	as_user sh -c 'echo text >"$1/f" && mkdir "$1/d" && mv "$1/f" "$1/d/f"' - "$T_USER/mnt"
	same "$(as_user cat "$T_USER/mnt/d/f")" text
	as_user stat -c %U:%g "$T_USER/mnt/d/f" | grep -q ':1000$' || fail "its group"
	refused as_other ls "$T_USER/mnt"
	refused ls "$T_USER/mnt"			# not root, either
	grep -q " $T_USER/mnt .*nosuid,nodev" /proc/self/mountinfo || fail "not nosuid,nodev"
	user_umount
}

user_may_not_allow_other()
{
	local opt
	for opt in allow_other allow_root; do
		status 32 as_user timeout 20 "$PMEMFS_FUSE" -o $opt "$T_USER/pool" "$T_USER/mnt"
		says allow_other
		! mountpoint -q "$T_USER/mnt" || fail "$opt: mounted all the same"
	done
}

user_allows_other()
{
	echo user_allow_other >"$T/fuse.conf"
	user_mount allow_other
	as_user sh -c 'echo text >"$1/f" && umask 077 && echo own >"$1/g"' - "$T_USER/mnt"
	same "$(as_other cat "$T_USER/mnt/f")" text
	same "$(cat "$T_USER/mnt/f")" text
	refused as_other cat "$T_USER/mnt/g"		# the modes hold
	user_umount
	: >"$T/fuse.conf"
}

user_allows_root()
{
	echo user_allow_other >"$T/fuse.conf"
	user_mount allow_root
	as_user sh -c 'echo text >"$1/f"' - "$T_USER/mnt"
	same "$(cat "$T_USER/mnt/f")" text
	same "$(as_user cat "$T_USER/mnt/f")" text
	# what root and the owner have looked at is not remembered for others; nor is
	# there a mode for which the kernel asks for an access control list
	as_user chmod 705 "$T_USER/mnt"
	as_user chmod 604 "$T_USER/mnt/f"
	stat "$T_USER/mnt/f" >"$T/out"
	test -e "$T_USER/mnt/f"
	refused as_other test -e "$T_USER/mnt/f"
	refused as_other stat "$T_USER/mnt/f"
	refused as_other cat "$T_USER/mnt/f"
	refused as_other ls "$T_USER/mnt"
	user_umount
	: >"$T/fuse.conf"
}

root_allows_other()
{
	make_pool 32M -f
	mount_pool
	(umask 022 && echo text >"$MNT/f")
	same "$(as_other cat "$MNT/f")" text
	unmount_pool
	mount_pool noallow_other
	refused as_other cat "$MNT/f"
	unmount_pool
}

# Root of a user namespace mounts by itself, without fusermount3. The numbers in the
# pool are those of the namespace.
in_userns()
{
	as_user mkdir -p "$T_USER/mnt"
	as_user unshare -Urm true 2>/dev/null || { say "no user namespaces here"; return; }
	as_user env PATH="$PATH" unshare -Urm sh -euc '
		"$3" -q -f -s 32M "$2/pool"
		"$1" -f "$2/pool" "$2/mnt" & daemon=$!
		i=0
		while ! mountpoint -q "$2/mnt"; do
			i=$((i + 1)); [ $i -lt 400 ]; kill -0 $daemon; sleep 0.05
		done
		echo text >"$2/mnt/f"
		[ "$(stat -c %u:%g "$2/mnt/f")" = 0:0 ]
		! chown 5:5 "$2/mnt/f" 2>/dev/null	# has no number out there
		umount "$2/mnt"
		wait $daemon' - "$PMEMFS_FUSE" "$T_USER" "$MKFS_PMEMFS" >"$T/out" 2>&1 || {
			cat "$T/out"; fail "in a user namespace"; }
	user_mount "" keep
	same "$(as_user cat "$T_USER/mnt/f")" text
	same "$(as_user stat -c %u:%g "$T_USER/mnt/f")" 0:0 "owner outside"
	user_umount
}

# ---- options -----------------------------------------------------------------

option_noexec()
{
	make_pool 32M -f
	mount_pool suid,dev
	cp /bin/true "$MNT/true"
	"$MNT/true"
	unmount_pool
	mount_pool noexec
	refused "$MNT/true"
	unmount_pool
}

option_nosuid()
{
	local id
	id=$(command -v id)
	mount_pool suid
	cp "$id" "$MNT/id"
	chmod 4755 "$MNT/id"
	same "$(as_user "$MNT/id" -u)" 0 "a set-user-id program with suid"
	unmount_pool
	mount_pool
	same "$(as_user "$MNT/id" -u)" 1000 "a set-user-id program without suid"
	unmount_pool
}

option_nodev()
{
	mount_pool dev
	mknod -m 666 "$MNT/null" c 1 3
	echo x >"$MNT/null"
	unmount_pool
	mount_pool
	refused sh -c 'echo x >"$1"' - "$MNT/null"
	unmount_pool
}

option_ro()
{
	mount_pool
	date >"$MNT/date"
	unmount_pool
	mount_pool ro
	cat "$MNT/date" >"$T/out"
	for how in 'echo x >"$1/new"' 'echo x >>"$1/date"' 'mkdir "$1/new"' \
		'rm -f "$1/date"' 'chmod 600 "$1/date"' 'mv "$1/date" "$1/new"'; do
		refused sh -c "$how" - "$MNT"
		says "Read-only"
	done
	unmount_pool
}

atime_of() { stat -c %X "$MNT/f"; }

# lazytime: a crash takes what was only in memory; fsync, and the end of the
# mount, do not wait.
option_lazytime()
{
	local way
	for way in forget sync unmount; do
		rm -f "$POOL"
		make_pool 32M
		mount_pool strictatime,lazytime
		echo x >"$MNT/f"
		touch -a -d @1000 "$MNT/f"
		cat "$MNT/f" >"$T/out"
		# idle: without lazytime it would be written
		[ $way != forget ] || sleep 2.5
		case $way in
		sync) sync "$MNT/f" ;&
		forget) kill_daemon ;;
		unmount) unmount_pool ;;
		esac
		mount_pool
		case $way in
		forget) same "$(atime_of)" 1000 "what was kept in memory" ;;
		*) [ "$(atime_of)" -gt 1000 ] || fail "$way did not write the time" ;;
		esac
		unmount_pool
	done
}

option_noatime()
{
	mount_pool noatime
	touch -a -d @1000 "$MNT/f"
	cat "$MNT/f" >"$T/out"
	same "$(atime_of)" 1000 "a time of access with noatime"
	unmount_pool
	mount_pool
	cat "$MNT/f" >"$T/out"			# relatime: older than the change
	[ "$(atime_of)" -gt 1000 ] || fail "no time of access with relatime"
	unmount_pool
}

# ---- mount(8) ----------------------------------------------------------------

# mount.fuse3 finds the daemon by a PATH of its own.
by_mount()
{
	local line opts=rw,noexec,nofail,noauto,_netdev,x-systemd.automount
	opts+=,x-systemd.idle-timeout=60,x-systemd.requires-mounts-for=/
	command -v mount.fuse3 >/dev/null || { say "no mount.fuse3"; return; }
	[ -d /usr/local/sbin ] || { say "no /usr/local/sbin"; return; }
	mount -t tmpfs -o size=64k,mode=755 pmemfs-test /usr/local/sbin
	ln -s "$PMEMFS_FUSE" /usr/local/sbin/pmemfs-fuse
	make_pool 32M -f
	cat >"$T/fstab" <<-END
		$POOL $MNT fuse.pmemfs-fuse $opts 0 0
	END
	mount -T "$T/fstab" "$MNT"
	line=$(grep " $MNT " /proc/self/mountinfo)
	grep -q 'noexec.*fuse.pmemfs-fuse' <<<"$line" || fail "not as in fstab: $line"
	date >"$MNT/date"
	mount -o remount,ro "$MNT"
	refused touch "$MNT/x"
	mount -o remount,rw "$MNT"
	touch "$MNT/x"
	umount "$MNT"
	mount -t fuse.pmemfs-fuse -o ro,nosuid "$POOL" "$MNT"
	refused touch "$MNT/x"
	umount "$MNT"
	refused mount -t fuse.pmemfs-fuse -o nonsense "$POOL" "$MNT"
	says nonsense
}

# The flags are those of mount(8), which finds it by its name in /sbin.
by_helper()
{
	ln -sf "$PMEMFS_FUSE" "$T/mount.pmemfs"
	status 0 "$T/mount.pmemfs" "$POOL" "$MNT" -f -v -o ro -t pmemfs
	! mountpoint -q "$MNT" || fail "-f mounts"
	status 0 "$T/mount.pmemfs" "$POOL" "$MNT" -s -n -v -o rw,noexec,nofail -t pmemfs
	mountpoint -q "$MNT" || fail "not in the background"
	grep " $MNT " /proc/self/mountinfo >"$T/out"
	says noexec
	! grep -q 'nosuid\|nodev' "$T/out" || fail "not as mount(8) does: $(cat "$T/out")"
	umount "$MNT"
	status 0 "$T/mount.pmemfs" "$POOL" "$MNT" -o nodev,nosuid -t pmemfs
	grep " $MNT " /proc/self/mountinfo >"$T/out"
	says 'nosuid,nodev'
	umount "$MNT"
	status 32 "$T/mount.pmemfs" "$T/none" "$MNT" -o rw
}

# ---- the end -----------------------------------------------------------------

# Within the time of a timeout(1) each, not after minutes.
dead_daemon()
{
	make_pool 32M -f
	mount_pool
	date >"$MNT/f"
	exec 5<>"$MNT/f"
	kill -KILL "$DAEMON"
	wait "$DAEMON" 2>/dev/null || true
	DAEMON=''
	for how in 'stat "$1/f"' 'ls "$1/"' 'date >"$1/new"' 'cat <&5' 'date >&5' \
		'sync "$1/f"' 'df "$1"'; do
		status=0
		timeout 20 sh -c "$how" - "$MNT" >"$T/out" 2>&1 || status=$?
		case $status in
		0|124) fail "$how: exit status $status" ;;
		esac
		# the two others while the kernel is still taking its ring apart
		says "not connected\|canceled\|connection abort"
	done
	for ((i = 0; i < 400; i++)); do
		! stat "$MNT/f" 2>&1 | grep -q "not connected" || break
		sleep 0.05
	done
	[ $i -lt 400 ] || fail "never ENOTCONN"
	exec 5>&-
	umount "$MNT" 2>/dev/null || umount -l "$MNT"
	mount_pool
	cat "$MNT/f" >"$T/out"
	unmount_pool
	check_pool
}

forced()
{
	mount_pool
	exec 5<>"$MNT/f"
	echo forced >&5
	refused umount "$MNT"
	umount -f "$MNT" 2>/dev/null || umount -l "$MNT" 2>/dev/null || true
	exec 5>&-
	daemon_done
	check_pool
	mount_pool
	grep -q forced "$MNT/f" || fail "what was written before umount -f is gone"
	unmount_pool
}

# A handle opens the same file in the next mount, by another daemon.
handle_after_remount()
{
	mount_pool
	mkdir "$MNT/d"
	date >"$MNT/d/f"
	ln -s f "$MNT/d/l"
	date >"$MNT/gone"
	for n in d d/f d/l gone; do
		"$handles" save "$MNT/$n" "$T/handle-${n//\//-}"
	done
	"$handles" open "$MNT" "$T/handle-d-f" "$MNT/d/f"
	rm "$MNT/gone"
	unmount_pool
	mount_pool
	mv "$MNT/d/f" "$MNT/moved"
	"$handles" open "$MNT" "$T/handle-d-f" "$MNT/moved"
	"$handles" open "$MNT" "$T/handle-d" "$MNT/d"
	"$handles" open "$MNT" "$T/handle-d-l" "$MNT/d/l"
	"$handles" open "$MNT" "$T/handle-gone"
	(cd "$MNT" && seq 300 | xargs touch)		# whatever took its place
	"$handles" open "$MNT" "$T/handle-gone"
	unmount_pool
}

# The same files, owned by somebody else; what is made there belongs to the first.
idmapped()
{
	local major minor
	IFS=.- read -r major minor _ <<<"$(uname -r)"
	if [ "$major" -lt 6 ] || { [ "$major" = 6 ] && [ "$minor" -lt 12 ]; }; then
		say "  (not before Linux 6.12)"
		return 0
	fi
	rm -f "$POOL"
	make_pool 32M
	mkdir -p "$T/mapped"
	mount_pool
	refused "$builddir/tests/posix/idmap" "$MNT" "$T/mapped" 0 1000
	unmount_pool
	mount_pool idmap
	mkdir -m 755 "$MNT/dir"
	echo one >"$MNT/dir/old"
	"$builddir/tests/posix/idmap" "$MNT" "$T/mapped" 0 1000 || fail "no idmapped mount"
	MOUNTS+=("$T/mapped")
	same "$(stat -c %u:%g "$T/mapped/dir/old")" 1000:1000 "owner, mapped"
	same "$(stat -c %u:%g "$MNT/dir/old")" 0:0 "owner"
	as_user sh -c 'echo two >"$1/new" && mkdir "$1/d" && ln -s new "$1/l" &&
		echo more >>"$1/old" && setfattr -n user.a -v 1 "$1/old" && chmod 600 "$1/old" &&
		mv "$1/new" "$1/d/new" && rm "$1/l"' sh "$T/mapped/dir" ||
		fail "1000 may not use what is his there"
	same "$(stat -c %u:%g "$MNT/dir/d/new")" 0:0 "owner of what 1000 made"
	same "$(cat "$MNT/dir/old")" "one
more"
	refused as_other touch "$T/mapped/dir/other"
	refused as_user touch "$MNT/dir/other"
	umount "$T/mapped"
	unset "MOUNTS[-1]"
	unmount_pool
	check_pool
}

rules=(
	root_allows_other option_noexec option_nosuid option_nodev option_ro
	option_lazytime option_noatime by_mount by_helper dead_daemon forced handle_after_remount
	idmapped
)
user_rules=(
	user_mounts user_may_not_allow_other user_allows_other user_allows_root in_userns
)
for rule in ${RULES:-"${rules[@]}"}; do
	say "$rule"
	"$rule"
done
if ! as_user test -x "$PMEMFS_FUSE" || ! as_user test -x "$MKFS_PMEMFS"; then
	say "no ordinary user gets at $builddir: their rules were not tried"
	exit 0
fi
open_to_all
for rule in "${user_rules[@]}"; do
	say "$rule"
	"$rule"
done
