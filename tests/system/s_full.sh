# SPDX-License-Identifier: BSD-3-Clause
# s_full.sh - a full pool is an answer, not an accident
#
# Writers get ENOSPC and nothing else; reading, unlink, truncate and rename
# over a name always work; what was deleted can be written again; fsck agrees.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 64
make_pool 16M
mount_pool

free_kib() { df -Pk "$MNT" | awk 'NR == 2 { print $4 }'; }

# All files are gone, and so their space: sets $after. The inode table keeps what it has
# grown by, a few percent; and of what it has forgotten the kernel tells a little later.
free_again()
{
	local i
	for ((i = 0; i < 400; i++)); do
		after=$(free_kib)
		[ "$after" -lt $((before - before / 10)) ] || return 0
		sleep 0.05
	done
	fail "space was lost: $after KiB are free of $before"
}

# fill PREFIX BS: files until there is no space; any other error fails.
fill()
{
	local i
	for ((i = 0; i < 20000; i++)); do
		dd if=/dev/urandom of="$MNT/$1.$i" bs="$2" count=1 status=none 2>"$T/dd.$1" ||
			break
	done
	grep -q 'No space left on device' "$T/dd.$1" || fail "fill $1: $(cat "$T/dd.$1")"
	say "$1: $i files of $2 bytes, then ENOSPC"
}

full()
{
	fill big 1048576
	rm "$MNT/big.4"
	fill small 4096
	if mkdir "$MNT/dir" 2>"$T/err"; then
		rmdir "$MNT/dir"
	else
		grep -q 'No space left' "$T/err" || fail "mkdir: $(cat "$T/err")"
	fi
}

before=$(free_kib)
say "$before KiB are free in an empty pool"
[ "$before" -gt 8192 ] || fail "too little of 16 MiB is free"

full
say "$(free_kib) KiB are free when full"

say "a full pool still works"
ls -l "$MNT" >"$T/list"
sha256sum "$MNT"/big.* >"$T/sums"
chmod 600 "$MNT/big.0"
touch -d '2001-02-03 04:05:06' "$MNT/big.1"
mv "$MNT/small.0" "$MNT/small.1"		# rename over a name
[ ! -e "$MNT/small.0" ] || fail "the old name is still there"
truncate -s 0 "$MNT/small.1"
truncate -s 100000 "$MNT/big.2"
truncate -s 4097 "$MNT/big.2"
mv "$MNT/big.3" "$MNT/renamed" && mv "$MNT/renamed" "$MNT/big.3"
rm "$MNT/small.2"
sha256sum --quiet -c <(grep -v 'big\.2$' "$T/sums")

unmount_pool
check_pool
mount_pool
sha256sum --quiet -c <(grep -v 'big\.2$' "$T/sums")

say "what is deleted can be written again"
for round in 1 2 3; do
	find "$MNT" -mindepth 1 -delete
	free_again
	say "round $round: $after KiB are free again"
	full
done

say "four writers fill it together"
find "$MNT" -mindepth 1 -delete
pids=()
for w in 1 2 3 4; do
	fill "w$w" 65536 &
	pids+=($!)
done
for p in "${pids[@]}"; do
	wait "$p"
done
find "$MNT" -mindepth 1 -delete
free_again

unmount_pool
check_pool
