# SPDX-License-Identifier: BSD-3-Clause
# s_stat.sh - pmemfs-stat counts what was done, no more and no less
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 200
make_pool 64M

# stat_is PATH WANTED [WHERE]. A request is counted when its answer is out, so
# a thread may still be about to.
stat_is()
{
	local i got
	for ((i = 0; i < 100; i++)); do
		got=$(stat_value "$1" "${3:-$MNT}")
		[ "$got" != "$2" ] || return 0
		sleep 0.05
	done
	same "$got" "$2" "$1"
}

refuse()
{
	local want=$1 words=$2 status=0
	shift 2
	"$PMEMFS_STAT" "$@" >"$T/out" 2>&1 || status=$?
	same $status "$want" "exit status of pmemfs-stat $*"
	grep -qF -- "$words" "$T/out" ||
		fail "pmemfs-stat $*: '$(cat "$T/out")' lacks '$words'"
}

say "the command line, and places that are no mount"
refuse 2 "usage:"
refuse 2 "usage:" "$T" 0
refuse 2 "usage:" "$T" -1
refuse 2 "usage:" "$T" 1 x
refuse 2 "usage:" "$T" 1 1 1
refuse 2 "usage:" --bogus "$T"
refuse 1 "no pmemfs is mounted there" "$T"
refuse 1 "No such file" "$T/none"
"$PMEMFS_STAT" --version | grep -q '^pmemfs-stat [0-9]'

say "operations, bytes and fences"
mount_pool
stat_is mount/dax always
stat_is mount/data ordered
stat_is pool/read_only false
stat_is operations/WRITE/count ''
: >"$MNT/first"				# the first inode makes a chunk of the table
fences=$(stat_value medium/fences)
records=$(stat_value log/records)
dd if=/dev/zero of="$MNT/f" bs=4096 count=100 status=none
stat_is operations/CREATE/count 2
stat_is operations/WRITE/count 100
stat_is operations/WRITE/errors 0
stat_is copy/nocache_bytes 409600
same "$(($(stat_value log/records) - records))" 101 "records of a create and 100 appends"
same "$(($(stat_value medium/fences) - fences))" 201 "fences of a create and 100 appends"
dd if=/dev/zero of="$MNT/f" bs=4096 count=100 conv=notrunc status=none
stat_is operations/WRITE/count 200
stat_is copy/nocache_bytes 819200
cat "$MNT/f" >/dev/null
same "$(($(stat_value copy/read_mapped_bytes) + $(stat_value copy/read_copied_bytes)))" 409600 \
	"bytes read"
for k in p50_ns p99_ns max_ns total_ns; do
	[ "$(stat_value operations/WRITE/$k)" -gt 0 ] || fail "WRITE has no $k"
done
[ "$(stat_value operations/WRITE/p50_ns)" -le "$(stat_value operations/WRITE/max_ns)" ] ||
	fail "the median is above the maximum"

say "errors"
stat_is errors/no_space 0
fallocate -l 1G "$MNT/big" 2>/dev/null && fail "a 1 GiB file in a pool of 64 MiB"
[ "$(stat_value errors/no_space)" -ge 1 ] || fail "ENOSPC was not counted"

say "any path of the mount will do, and none shows the name"
mkdir "$MNT/d"
stat_is operations/MKDIR/count 1 "$MNT/d"
stat_is operations/MKDIR/count 1 "$MNT/f"
if command -v getfattr >/dev/null; then
	same "$(getfattr -d -m - "$MNT" "$MNT/f" 2>&1)" "" "listed attributes"
	! setfattr -n system.pmemfs.stats -v x "$MNT/f" 2>/dev/null || fail "it can be set"
fi
if is_root && command -v setpriv >/dev/null; then
	chmod 755 "$T" "$MNT"
	status=0
	setpriv --reuid=65534 --regid=65534 --clear-groups "$PMEMFS_STAT" "$MNT" \
		>"$T/out" 2>&1 || status=$?
	# 126: the program itself is not to be had for that user
	[ $status = 126 ] || [ $status = 127 ] ||
		grep -q 'only root and the user' "$T/out" || fail "anyone may look: $(cat "$T/out")"
fi

say "the report and the series"
"$PMEMFS_STAT" "$MNT" >"$T/out"
for word in 'pool ' 'medium ' 'dax=always' 'space ' 'log ' 'waits ' '^WRITE  *200 '; do
	grep -q "$word" "$T/out" || fail "the report lacks '$word': $(cat "$T/out")"
done
"$PMEMFS_STAT" "$MNT" 0.05 4 >"$T/out"
same "$(wc -l <"$T/out")" 5 "lines of a series of 4"
head -1 "$T/out" | grep -q 'ops/s .*write/s .*p99us .*waits'
# nothing is written meanwhile
same "$(tail -1 "$T/out" | awk '{ print $3, $5 }')" "0 0.0" "writes between two samples"
"$PMEMFS_STAT" --json "$MNT" 0.05 3 >"$T/out"
same "$(grep -c '^{.*}$' "$T/out")" 3 "objects of a series of 3"

say "a second mount counts for itself"
mkdir "$T/two"
"$MKFS_PMEMFS" -q -s 32M -L other "$T/pool2"
MOUNTS+=("$T/two")
"$PMEMFS_FUSE" -f -o dax=never,data=ordered,ro "$T/pool2" "$T/two" >>"$T/daemon.log" 2>&1 &
second=$!
wait_mounted "$T/two" $second || fail "the second mount did not come up"
stat_is pool/label other "$T/two"
stat_is mount/dax never "$T/two"
stat_is pool/read_only true "$T/two"
stat_is operations/CREATE/count '' "$T/two"
stat_is operations/CREATE/count 3
umount_quietly "$T/two"
wait $second

unmount_pool
refuse 1 "no pmemfs is mounted there" "$MNT"
check_pool
