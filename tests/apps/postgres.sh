# SPDX-License-Identifier: BSD-3-Clause
# postgres.sh - PostgreSQL on a mount, killed again and again
#
#	make check-apps [KILLS=20] [SECONDS_EACH=2]
#
# Clients of pgbench move money while, in turn, the database or the daemon of the
# mount is killed with SIGKILL. Then the database recovers, on the same mount or on
# the next one, and
#   - what was acknowledged to a client is there, and no more than one transaction
#     of each client besides (it was on its way);
#   - the sums of all four tables are equal, as each transaction leaves them.
# In the end every page's checksum and every index is looked at (pg_amcheck).
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
is_root || skip "needs root: the database runs as somebody else"
for dir in /usr/lib/postgresql/*/bin; do
	PATH=$dir:$PATH
done
for tool in initdb postgres pg_ctl psql pgbench pg_amcheck setpriv pgrep; do
	command -v $tool >/dev/null || skip "no $tool"
done
: "${KILLS:=20}" "${SECONDS_EACH:=2}" "${CLIENTS:=4}"
scratch 700

DB=$MNT/db POSTMASTER=''
chmod 755 "$T"
mkdir -m 777 "$T/db"
export PGHOST=$T/db PGUSER=postgres PGDATABASE=postgres

as_db() { (cd "$T/db" && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"); }
sql() { psql -qAtX -v ON_ERROR_STOP=1 -c "$1"; }

start_db()
{
	as_db pg_ctl -s -w -t 120 -D "$DB" -l "$T/db/log" start </dev/null || {
		tail -n 40 "$T/db/log"; fail "the database does not start"; }
	POSTMASTER=$(head -n 1 "$DB/postmaster.pid")
}

# All its processes, so that none is left that has old files open.
kill_db()
{
	local pids
	[ -n "$POSTMASTER" ] || return 0
	pids="$POSTMASTER $(pgrep -P "$POSTMASTER" || true)"
	POSTMASTER=''
	# shellcheck disable=SC2086
	kill -KILL $pids 2>/dev/null || true
	# shellcheck disable=SC2086
	for p in $pids; do
		for ((i = 0; i < 400; i++)); do
			kill -0 $p 2>/dev/null || break
			sleep 0.05
		done
	done
}
AT_END=kill_db

cat >"$T/db/script" <<'SQL'
\set aid random(1, 100000 * :scale)
\set bid random(1, :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
	VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
INSERT INTO ledger VALUES (:run, :client_id);
END;
SQL

# judge RUN: what its clients were told, against what is there
judge()
{
	local c told there
	same "$(sql "SELECT count(DISTINCT s) FROM (
		SELECT coalesce(sum(abalance), 0) s FROM pgbench_accounts UNION ALL
		SELECT coalesce(sum(tbalance), 0) FROM pgbench_tellers UNION ALL
		SELECT coalesce(sum(bbalance), 0) FROM pgbench_branches UNION ALL
		SELECT coalesce(sum(delta), 0) FROM pgbench_history) x")" 1 "different sums"
	for ((c = 0; c < CLIENTS; c++)); do
		told=$(cat "$T/db/txn-$1".* 2>/dev/null | awk -v c=$c '$1 == c' | wc -l)
		there=$(sql "SELECT count(*) FROM ledger WHERE run = $1 AND client = $c")
		[ "$there" -ge "$told" ] || fail "client $c was told of $told, $there are there"
		[ "$there" -le $((told + 1)) ] ||
			fail "client $c was told of $told only, $there are there"
		total=$((total + told))
	done
}

make_pool 512M
mount_pool "${DB_OPTS:-}"
install -d -o 65534 -g 65534 -m 700 "$DB"
as_db initdb -k -U postgres -A trust -D "$DB" >"$T/db/initdb.out"
cat >>"$DB/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$T/db'
shared_buffers = 32MB
max_wal_size = 64MB
END
start_db
pgbench -q -i -s 5 >"$T/db/init.out" 2>&1
sql "CREATE TABLE ledger (run int, client int)"

total=0
for ((run = 1; run <= KILLS; run++)); do
	as_db pgbench -n -c "$CLIENTS" -j 2 -T 1000 -f script -D run=$run -D scale=5 \
		-l --log-prefix="txn-$run" >"$T/db/pgbench.out" 2>&1 &
	clients=$!
	sleep "$SECONDS_EACH.$((RANDOM % 1000))"
	if ((run % 2)); then
		kill_db
	else
		kill -KILL "$DAEMON"
		wait "$DAEMON" 2>/dev/null || true
		DAEMON=''
		kill_db
		umount -l "$MNT"
	fi
	wait $clients || true
	[ -n "$DAEMON" ] || mount_pool "${DB_OPTS:-}"
	rm -f "$DB/postmaster.pid"
	start_db
	judge $run
	say "kill $run: $total transactions acknowledged so far, none lost"
done
[ $total -gt 0 ] || fail "nothing was ever acknowledged"
pg_amcheck --heapallindexed --install-missing -a >"$T/db/amcheck" 2>&1 ||
	{ cat "$T/db/amcheck"; fail "pg_amcheck"; }
as_db pg_ctl -s -w -D "$DB" stop
POSTMASTER=''
unmount_pool
check_pool
say "$KILLS kills, $total transactions"
