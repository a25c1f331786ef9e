# SPDX-License-Identifier: BSD-3-Clause
# s_sigterm.sh - a signal unmounts, and loses nothing: not the dirty pages of
# a mapping, not what is written while it unmounts, not with a file held open
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
command -v python3 >/dev/null || skip "needs python3 to hold a mapping"
scratch 100

# Dirty every page of a mapping, then go on storing and writing, for $2
# seconds or until the mount is gone; print the last number that was stored.
cat >"$T/writer.py" <<'END'
import mmap, os, sys, time
path, hold = sys.argv[1], float(sys.argv[2])
size = 4 << 20
fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
os.ftruncate(fd, size)
m = mmap.mmap(fd, size)
for at in range(0, size, 4096):
    m[at:at + 8] = b"%08d" % (at // 4096)
print("ready", flush=True)
end, k = time.time() + hold, 0
while time.time() < end:
    os.pwrite(fd, b"%08d" % k, 100)
    m[20580:20588] = b"%08d" % k
    k += 1
    time.sleep(0.02)
print(k - 1, flush=True)
if len(sys.argv) > 3:
    time.sleep(60)
END

cat >"$T/check.py" <<'END'
import sys
data, k = open(sys.argv[1], "rb").read(), int(sys.argv[2])
assert len(data) == 4 << 20, len(data)
for at in range(0, len(data), 4096):
    assert data[at:at + 8] == b"%08d" % (at // 4096), at
assert data[100:108] == b"%08d" % k, (data[100:108], k)
assert data[20580:20588] == b"%08d" % k, (data[20580:20588], k)
END

wait_for_word()
{
	local i
	for ((i = 0; i < 200; i++)); do
		grep -q "$1" "$2" && return 0
		sleep 0.05
	done
	fail "the writer does not get ready"
}

# try OPTIONS SIGNAL: the writer closes its file while the daemon leaves.
try()
{
	local writer
	say "$1, SIG$2 with a file in use"
	rm -f "$POOL"
	make_pool 48M
	mount_pool "$1"
	python3 "$T/writer.py" "$MNT/held" 1.5 >"$T/writer.out" &
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
	python3 "$T/check.py" "$MNT/held" "$(tail -n 1 "$T/writer.out")"
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
python3 "$T/writer.py" "$MNT/held" 1 stay >"$T/writer.out" &
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
python3 "$T/check.py" "$MNT/held" "$(tail -n 1 "$T/writer.out")"
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
