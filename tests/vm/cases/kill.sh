# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# kill - the machine is killed amid writes, booted again: recovered, verified
# vm: machine=kill kernel=6.12,6.1 time=240
# Each writer repeats: write a file of a number's own bytes, rename it into
# place, note the number. What was noted before the kill must be there.
pool=$DIR/pool
content() { yes "$1.$2" | head -c 40000; }
if [ "$ROUND" = 0 ]; then
	fsdax_on ext4
	mount -o remount,sync $DIR
	mkfs.pmemfs -q -s 256M $pool
else
	mount -t ext4 -o dax=always,sync /dev/pmem0 $DIR
	before=$(cat $DIR/noted.* | wc -l)
fi
mount_pool $pool
say "$SAID"
if [ "$ROUND" != 0 ]; then
	for w in 1 2 3; do
		n=$(cut -d' ' -f1 $DIR/noted.$w 2>/dev/null | tail -n 1)
		[ -n "$n" ] || fail "writer $w noted nothing"
		for k in $((n > 20 ? n - 20 : 1)) $((n > 1 ? n - 1 : 1)) $n; do
			cmp <(content $w "$k") $MNT/w$w.$((k % 40)) ||
				fail "writer $w: $k was noted and is not there"
		done
	done
	unmount_pool
	check_pool $pool
	mount_pool $pool
	fact "round $ROUND, $before writes noted"
fi
[ "$ROUND" != "${ROUNDS:-1}" ] || exit 0
for w in 1 2 3; do
	(
		n=$(cut -d' ' -f1 $DIR/noted.$w 2>/dev/null | tail -n 1)
		n=${n:-0}
		while :; do
			n=$((n + 1))
			content $w $n >$MNT/tmp.$w
			mv $MNT/tmp.$w $MNT/w$w.$((n % 40))
			echo "$n" >>$DIR/noted.$w
		done
	) &
done
for ((i = 0; i < 1000; i++)); do
	[ "$(cat $DIR/noted.[123] 2>/dev/null | wc -l)" -lt $((${before:-0} + 30)) ] || break
	sleep 0.1
done
for w in 1 2 3; do
	[ -s $DIR/noted.$w ] || fail "writer $w wrote nothing"
done
echo "kill me" >"$CONTROL"
sleep 40
fail "nobody killed the machine"
