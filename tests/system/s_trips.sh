# SPDX-License-Identifier: BSD-3-Clause
# s_trips.sh - how many requests of the kernel a common action costs
#
# Counted by the daemon, with its own counters, between two looks; the look
# itself is a GETXATTR and taken off. RELEASE and FORGET come after the caller
# has gone on, so a RELEASE is waited for, and FORGET is left out. Pinned are
# the smallest numbers the protocol allows: one more is a round trip too many,
# one less a test that has forgotten something.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 100
make_pool 32M
TRIPS=$builddir/tests/support/trips
[ -x "$TRIPS" ] || skip "$TRIPS is not built"

# Requests so far, as lines "NAME COUNT".
requests()
{
	"$PMEMFS_STAT" --json "$MNT" | awk '
	/^ *"operations": *{/ { inside = 1; next }
	inside && /^ *"[A-Z_]*": *{/ { gsub(/[^A-Z_]/, ""); name = $0 }
	inside && /"count": *[0-9]/ { gsub(/[^0-9]/, ""); print name, $0 }
	inside && /"waits": *{/ { exit }' | sort
}

# What came between two lists, as "NAME=N NAME=N", without the looks ($1).
difference()
{
	awk -v looks="$1" 'NR == FNR { was[$1] = $2; next }
	{
		d = $2 - was[$1] - ($1 == "GETXATTR" ? looks : 0)
		if (d && $1 !~ /FORGET/)
			print $1 "=" d
	}' "$T/before" "$T/after" | sort | tr '\n' ' ' | sed 's/ $//'
}

bad=0

# A request is counted when its answer is out, so a thread may be late with one
# that is not ours: until ten looks in a row say the same.
settle()
{
	local same=0
	requests | grep -v GETXATTR >"$T/before"
	while [ $same -lt 10 ]; do
		sleep 0.02
		requests | grep -v GETXATTR >"$T/after"
		same=$((same + 1))
		cmp -s "$T/before" "$T/after" || same=0
		mv "$T/after" "$T/before"
	done
}

# costs ACTION 'REQUESTS': what doing it once sends to the daemon
costs()
{
	local got='' looks
	requests >"$T/before"
	"$TRIPS" "$MNT" "$1" || fail "$1"
	for ((looks = 1; looks <= 40; looks++)); do
		requests >"$T/after"
		got=$(difference $looks)
		[ "$got" != "$2" ] || break
		sleep 0.05			# a RELEASE may be on its way
	done
	say "  $1: ${got:-nothing}"
	[ "$got" = "$2" ] || { echo "     wanted: ${2:-nothing}"; bad=1; }
}

# A small file, a folder of 1000 names; the kernel has forgotten neither, unless
# asked to.
fill()
{
	mount_pool "dax=$1"
	head -c 100 /dev/zero | tr '\0' s >"$MNT/small"
	mkdir "$MNT/many"
	seq -f "$MNT/many/name%g" 1000 | xargs touch
	stat "$MNT" "$MNT/small" >/dev/null
	settle
}

# learn ACTION: done once, uncounted: the kernel finds out what it need not ask
# again (OPENDIR is answered ENOSYS).
learn()
{
	"$TRIPS" "$MNT" "$1" || fail "$1"
	settle
}

# names XATTR XATTR TIMES WRITES [BLOCKS]: what is the same in all modes but for this. In
# cached mode, the first write to a file asks for its capabilities; with
# dax=never the kernel keeps the times of a file and tells them by a SETATTR, and
# gathers four writes into one; and it is told when blocks have changed, and asks for the
# attributes and the capabilities again. The file "small" is known to the kernel. What the
# kernel does by itself, whatever the answers: a LOOKUP before it makes a name that
# it does not know to be absent; a GETATTR of a folder whose names it has changed,
# before it enters it again; a GETXATTR of the capabilities of what it cuts.
names()
{
	costs none ''
	costs stat ''
	costs absent 'LOOKUP=1'
	costs absent ''			# that there is none is remembered, too
	costs create "CREATE=1 ${1}LOOKUP=1 RELEASE=1 ${3}WRITE=1"
	costs append "GETATTR=${5:+2 GETXATTR=}1 OPEN=1 RELEASE=1 ${3}WRITE=1"
	costs append "OPEN=1 RELEASE=1 ${3}WRITE=1"
	learn rewrite
	costs rewrite "FSYNC=1 ${5:+GETATTR=1 GETXATTR=2 }${2}OPEN=1 RELEASE=1 ${3}WRITE=1"
	costs write4 "${5:+GETATTR=1 GETXATTR=1 }OPEN=1 RELEASE=1 ${3}WRITE=$4"
	costs rename "LOOKUP=1 RENAME=1${3:+ ${3% }}"
	costs unlink "GETATTR=1 ${3}UNLINK=1"
	costs mkdir 'GETATTR=1 LOOKUP=1 MKDIR=1'
	costs rmdir 'GETATTR=1 RMDIR=1'
	costs symlink 'GETATTR=1 LOOKUP=1 SYMLINK=1'
	costs readlink 'GETATTR=1 READLINK=1'
	costs readlink ''
	costs truncate 'GETXATTR=1 SETATTR=1'
	costs chmod 'SETATTR=1'
	costs getxattr 'GETXATTR=1'
}

say "dax=always"
fill always
names '' 'GETXATTR=1 ' '' 4
costs read 'OPEN=1 READ=1 RELEASE=1'
costs map 'OPEN=1 READ=1 RELEASE=1'
learn readdir
costs readdir 'GETATTR=1'
unmount_pool

say "dax=never"
rm -f "$POOL"
make_pool 32M
fill never
names 'GETXATTR=1 ' '' 'SETATTR=1 ' 1 blocks
costs read 'OPEN=1 RELEASE=1'
costs map 'OPEN=1 RELEASE=1'
costs readdir 'GETATTR=1 OPENDIR=1 READDIR=2 READDIRPLUS=1'
costs readdir 'GETATTR=1'		# its time of access
unmount_pool

# The kernel's half of the bargain is that of the version this was written with.
case $bad,$(uname -r) in
1,6.18.*) ;;
1,*) skip "the numbers are those of Linux 6.18" ;;
esac
same $bad 0 "actions that cost something else"
