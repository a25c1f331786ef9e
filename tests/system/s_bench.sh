# SPDX-License-Identifier: BSD-3-Clause
# s_bench.sh - the benchmark still works: one round of next to nothing
#
# No figure decides anything here. What is checked: every bench gives a number
# on every filesystem (or says that it cannot), the JSON is whole, the page is
# there, and nothing stays mounted, running or in memory, nor does it when the
# run is interrupted in the middle.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"

need_fuse
command -v fio >/dev/null || skip "fio is not installed"
command -v jq >/dev/null || skip "jq is not installed"
bench=$srcdir/tests/bench/run
free=$(df -Pm /dev/shm | awk 'NR == 2 { print $4 }')
[ "${free:-0}" -gt 1800 ] || skip "needs 1800 MiB in /dev/shm"
[ -w /dev/shm ] || skip "cannot write to /dev/shm"

T=$(mktemp -d "${TMPDIR:-/tmp}/pmemfs-test.XXXXXX")
trap cleanup EXIT

traces()
{
	find /dev/shm -maxdepth 1 -name "pmemfs-bench.$1-*"
	grep "pmemfs-bench.$1-" /proc/self/mounts || true
}

smoke()
{
	"$bench" --smoke --no-install --bin "$builddir" --out "$T/out" "$@"
}

say "every bench gives a number"
smoke >"$T/table" 2>"$T/log" &
run=$!
wait $run || { cat "$T/log"; fail "the benchmark"; }
same "$(traces $run)" "" "left behind"

jq -e . "$T/out/results.json" >/dev/null || fail "results.json is not JSON"
same "$(jq '.format' "$T/out/results.json")" 1 "format"
n=$("$bench" --list | grep -c -v -e ^fio- -e ^real-)
for t in dev splice never tmpfs; do
	jq -e --arg t $t --argjson n "$n" '[.samples[] |
		select(.target == $t and .ops > 0 and .ns > 0 and
		       (.bench | test("^(fio|real)") | not))] | length == $n' \
		"$T/out/results.json" >/dev/null || fail "not every bench on $t"
done
jq -e '[.samples[] | select(.bench == "fio-psync-1")] | length >= 4' \
	"$T/out/results.json" >/dev/null || fail "fio gave nothing"
jq -e '[.goals[] | select(.verdict != "not measured")] | length >= 5' \
	"$T/out/results.json" >/dev/null || fail "no goal was judged"
grep -q 'goals met' "$T/table" || fail "the table has no verdict"
grep -q '</html>' "$T/out/results.html" || fail "the page is not whole"
if grep -E '(src|href)=|url\(|@import' "$T/out/results.html"; then
	fail "the page loads something"
fi

say "interrupted, it leaves nothing"
smoke --rounds 100 --only names --peers tmpfs >"$T/table" 2>"$T/log" &
run=$!
for ((i = 0; i < 600; i++)); do
	! grep -q 'round 2 ' "$T/log" || break
	kill -0 $run 2>/dev/null || break
	sleep 0.05
done
kill -TERM $run
status=0
wait $run || status=$?
same $status 143 "exit status after SIGTERM"
same "$(traces $run)" "" "left behind"
