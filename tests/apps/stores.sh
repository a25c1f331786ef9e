# SPDX-License-Identifier: BSD-3-Clause
# stores.sh - redis and LMDB on a mount, killed again and again
#
#	make check-apps [KILLS=20]
#
# redis with appendfsync=always: what it has said OK to is there after a SIGKILL of
# the server or of the daemon of the mount, in turn. LMDB, through mdb_load: after a
# SIGKILL of either the file opens, and holds a beginning of the input.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
is_root || skip "needs root: umount -l of a dead mount"
: "${KILLS:=20}"
scratch 400
make_pool 256M
SERVER=''
stop_server() { [ -z "$SERVER" ] || kill -KILL "$SERVER" 2>/dev/null || true; }
AT_END=stop_server

# kill_one RUN PID: of odd runs the program, of even ones the mount under it
kill_one()
{
	if (($1 % 2 == 0)); then
		kill -KILL "$DAEMON"
		wait "$DAEMON" 2>/dev/null || true
		DAEMON=''
	fi
	kill -KILL "$2" 2>/dev/null || true
	wait "$2" 2>/dev/null || true
	if [ -z "$DAEMON" ]; then
		umount -l "$MNT"
		mount_pool "${DB_OPTS:-}"
	fi
}

start_redis()
{
	local i
	rm -f "$T/sock"
	redis-server --port 0 --unixsocket "$T/sock" --dir "$MNT/redis" --save '' \
		--appendonly yes --appendfsync always >"$T/redis.log" 2>&1 &
	SERVER=$!
	for ((i = 0; i < 400; i++)); do
		redis-cli -s "$T/sock" ping 2>/dev/null | grep -q PONG && return 0
		sleep 0.05
	done
	cat "$T/redis.log"
	fail "redis does not start"
}

redis()
{
	local run total=0 told there client
	mkdir "$MNT/redis"
	start_redis
	for ((run = 1; run <= KILLS; run++)); do
		awk -v r=$run 'BEGIN { for (;;) print "INCR run:" r }' |
			redis-cli -s "$T/sock" >"$T/told" 2>/dev/null &
		client=$!
		sleep 0.$((RANDOM % 900 + 100))
		kill_one $run $SERVER
		kill $client 2>/dev/null || true	# it would go on trying
		wait $client 2>/dev/null || true
		start_redis
		told=$(grep -xE '[0-9]+' "$T/told" | tail -n 1)
		there=$(redis-cli -s "$T/sock" get run:$run)
		[ "${there:-0}" -ge "${told:-0}" ] ||
			fail "redis said ${told:-0}, and $there are there"
		total=$((total + ${told:-0}))
	done
	[ $total -gt 0 ] || fail "redis never said OK"
	say "redis: $KILLS kills, $total writes acknowledged, none lost"
	kill "$SERVER"
	wait "$SERVER" || true
	SERVER=''
}

lmdb()
{
	local run n most=0 loader
	mkdir "$MNT/lmdb"
	{
		printf 'VERSION=3\nformat=print\ntype=btree\nmapsize=100000000\nHEADER=END\n'
		seq -f ' %08.0f' 200000 | awk '{ print " " $1; print " value of " $1 }'
		echo DATA=END
	} >"$T/input"
	for ((run = 1; run <= KILLS; run++)); do
		rm -f "$MNT"/lmdb/*
		mdb_load -f "$T/input" "$MNT/lmdb" >"$T/out" 2>&1 &
		loader=$!
		sleep 0.$((RANDOM % 400 + 100))
		kill_one $run $loader
		mdb_dump -p "$MNT/lmdb" >"$T/dump" 2>"$T/out" || {
			grep -q 'No such file' "$T/out" && continue
			cat "$T/out"; fail "LMDB: mdb_dump after kill $run"; }
		sed -n '/HEADER=END/,/DATA=END/p' "$T/dump" | sed '1d;$d' >"$T/pairs"
		n=$(wc -l <"$T/pairs")
		sed '1,/HEADER=END/d' "$T/input" | head -n "$n" | cmp - "$T/pairs" ||
			fail "LMDB: not the beginning of the input"
		[ "$n" -le "$most" ] || most=$n
	done
	[ "$most" -gt 0 ] || fail "LMDB: nothing was ever there"
	say "LMDB: $KILLS kills, up to $((most / 2)) pairs"
}

tried=0
mount_pool "${DB_OPTS:-}"
if command -v redis-server >/dev/null; then redis; tried=1; else say "no redis-server"; fi
if command -v mdb_load >/dev/null; then lmdb; tried=1; else say "no mdb_load"; fi
unmount_pool
check_pool
[ $tried = 1 ] || skip "neither redis nor LMDB is here"
