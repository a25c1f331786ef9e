# SPDX-License-Identifier: BSD-3-Clause
# s_recovery.sh - recovery costs the same whatever the pool holds
#
# A daemon dies with a full log: in a pool with next to nothing in it, in one
# of RECOVERY_FILES (20000) files, in one of as many orphans, in both on a
# sparse pool of 64 GiB, and after touching as much as short records can. The
# next mount flushes no more than the log and the bound on touched bytes (L8)
# together, and maps no more of the pool than that. Counts decide, not clocks,
# unless RECOVERY_MS is set: then each mount must take fewer milliseconds.
#
# RECOVERY_FILES=1000000 RECOVERY_MS=100 is the promise of pmemfs.7.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"

many=$builddir/tests/soak/many
[ -x "$many" ] || skip "tests/soak/many is not built"
files=${RECOVERY_FILES:-20000}
scratch $((400 + files / 500))

mib() { echo $(($1 >> 20)); }
milliseconds() { date +%s%3N; }

# few NAME BYTES LIMIT
few() { [ "$2" -le "$3" ] || fail "$what: $1 $2 bytes, at most $3 are right"; }
quick()
{
	[ -z "${RECOVERY_MS:-}" ] || [ "$1" -lt "$RECOVERY_MS" ] ||
		fail "$what: $1 ms, wanted less than $RECOVERY_MS"
}

# A real mount of a pool whose daemon was killed: until the program is back.
mount_killed()
{
	local start
	start=$(milliseconds)
	"$PMEMFS_FUSE" "$POOL" "$MNT" 2>>"$T/daemon.log"
	took=$(($(milliseconds) - start))
	stat "$MNT/lost" >/dev/null 2>&1 || [ $? = 1 ]
	umount_quietly "$MNT"
	flock -w 60 "$POOL" true || fail "$what: the daemon does not end"
}

die_with_full_log()
{
	local status=0
	{ "$many" kill "$POOL" "$@" >"$T/log" || status=$?; } 2>/dev/null
	same $status 137 "exit status of the killed one"
}

# recover WHAT LEAST [bits]: killed twice; LEAST records must have been in the log
recover()
{
	local replayed flushed stored mapped ms took
	what=$1
	shift
	local least=$1
	shift
	"$many" recover "$POOL" >/dev/null	# what fill left in the log
	"$many" recover "$POOL" >"$T/idle"
	read -r replayed flushed stored mapped ms <"$T/idle"
	few "with an empty log flushed" "$flushed" $((1 << 20))
	few "with an empty log mapped" "$mapped" $((8 << 20))
	die_with_full_log "$@"
	"$many" recover "$POOL" >"$T/cost"
	read -r replayed flushed stored mapped ms <"$T/cost"
	[ "$replayed" -ge "$least" ] || fail "$what: $replayed records are not a full log"
	few flushed "$flushed" $limit
	few mapped "$mapped" $limit
	quick "$ms"
	die_with_full_log "$@"
	mount_killed
	quick "$took"
	say "$what: $replayed records, $(mib "$stored") MiB stored, $(mib "$flushed")" \
		"MiB flushed, $(mib "$mapped") MiB mapped; $ms ms, a mount in all $took ms"
}

new_pool()
{
	rm -f "$POOL"
	make_pool "$@"
}

# The log (16 MiB), the bound on touched bytes (32), what is derived or rounded.
limit=$((56 << 20))

new_pool 2G --sparse
recover "an empty pool" 10000
new_pool 2G --sparse
"$many" fill "$POOL" "$files" 0
recover "$files files" 10000
[ "$("$many" count "$POOL")" -ge "$files" ] || fail "files are missing"
check_pool
new_pool 2G --sparse
"$many" fill "$POOL" 0 "$files"
recover "$files orphans" 10000
new_pool 64G --sparse
"$many" fill "$POOL" "$files" "$files"
recover "64 GiB, $files files and as many orphans" 10000
new_pool 64G --sparse
limit=$((40 << 20))		# without the bound on touched bytes, some 50 MiB
recover "64 GiB, its bitmap touched by short records" 5 bits
check_pool
