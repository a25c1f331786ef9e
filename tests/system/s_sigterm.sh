# SPDX-License-Identifier: BSD-3-Clause
# s_sigterm.sh - a signal unmounts, and loses nothing: not the dirty pages of
# a mapping, not what is written while it unmounts, not with a file held open
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 100

# Dirties every page of a mapping, then goes on storing and writing; says the
# last number that was stored.
hold_map=$builddir/tests/support/hold_map

# try OPTIONS SIGNAL: the writer closes its file while the daemon leaves.
try()
{
	local writer
	say "$1, SIG$2 with a file in use"
	rm -f "$POOL"
	make_pool 48M
	mount_pool "$1"
	: >"$T/writer.out"	# what an earlier one said is gone
	"$hold_map" write "$MNT/held" 1.5 >"$T/writer.out" &
	writer=$!
	wait_for_word ready "$T/writer.out"
	date >"$MNT/closed"
	cp "$MNT/closed" "$T/closed"
	kill "-$2" "$DAEMON"
	sleep 0.5
	! mountpoint -q "$MNT" || fail "still mounted half a second later"
	wait $writer || fail "the writer was disturbed"
	daemon_done
	check_pool
	mount_pool ro
	"$hold_map" check "$MNT/held" "$(tail -n 1 "$T/writer.out")"
	cmp "$MNT/closed" "$T/closed"
	unmount_pool
}

try dax=always TERM
try dax=never INT
try dax=never,threads=1 HUP

say "a second signal ends the wait, and still nothing is lost"
rm -f "$POOL"
make_pool 48M
mount_pool dax=never
: >"$T/writer.out"	# what an earlier one said is gone
"$hold_map" write "$MNT/held" 1 stay >"$T/writer.out" &
writer=$!
wait_for_word ready "$T/writer.out"
kill -TERM "$DAEMON"
wait_for_word '^[0-9]' "$T/writer.out"
kill -0 "$DAEMON" || fail "the daemon left although a file was open"
kill -TERM "$DAEMON"
daemon_done
kill $writer
wait $writer 2>/dev/null || true
check_pool
mount_pool ro
"$hold_map" check "$MNT/held" "$(tail -n 1 "$T/writer.out")"
unmount_pool

say "not in use: at once"
mount_pool
date >"$MNT/date"
start=$SECONDS
kill -TERM "$DAEMON"
daemon_done
[ $((SECONDS - start)) -le 2 ] || fail "took $((SECONDS - start)) seconds"
! mountpoint -q "$MNT" || fail "still mounted"
check_pool

# Who waits for an answer cannot be killed, and must not be what keeps the connection
# open (leave.c, E6). Both ways, whatever the kernel's switch for rings says.
killed_while_it_hangs()
{
	local i usher='' n
	say "killed while it unmounts and its workers hang: all of it is gone ($1)"
	mount_pool "dax=never,transport=$1"
	n=$(mountpoint -d "$MNT" | cut -d: -f2)
	date >"$MNT/date"
	echo "not synced" >"$MNT/dirty"
	: >"$T/frozen"
	"$builddir/tests/support/freeze" "$DAEMON" >"$T/frozen" &
	freezer=$!
	wait_for_word frozen "$T/frozen"
	kill -TERM "$DAEMON"
	for ((i = 0; i < 400; i++)); do
		usher=$(pgrep -P "$DAEMON" || true)
		! grep -qs request_wait "/proc/${usher:-none}/wchan" || break
		sleep 0.02
	done
	[ $i -lt 400 ] || fail "nobody waits for the workers"
	kill -KILL "$DAEMON"
	for ((i = 0; i < 400; i++)); do
		[ -e "/proc/$usher" ] || break
		sleep 0.02
	done
	if [ -e "/proc/$usher" ]; then
		echo 1 >"/sys/fs/fuse/connections/$n/abort" || true
		fail "what waits cannot be killed"
	fi
	wait "$DAEMON" 2>/dev/null || true
	wait "$freezer" || true
	DAEMON=
	! mountpoint -q "$MNT" || fail "still mounted"	# it was about to see to that
	check_pool
}

killed_while_it_hangs dev
! is_root || killed_while_it_hangs auto
