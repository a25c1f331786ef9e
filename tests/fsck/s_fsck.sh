# SPDX-License-Identifier: BSD-3-Clause
# s_fsck.sh - fsck.pmemfs repairs every recipe of tests/fsck/recipes.c
#
# For each: -n tells and changes nothing (4); -p repairs what is safe (1) or
# changes nothing (4); -y repairs (1); the second run finds nothing (0); and
# what could be saved is there.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 120

damage=$builddir/tests/fsck/damage
[ -x "$damage" ] || skip "tests/fsck/damage is not built"

# The pool is as it was when it was kept.
keep() { cp "$POOL" "$T/kept"; }
is_kept() { cmp -s "$POOL" "$T/kept" || fail "$name: the pool was changed"; }

name=none
for end in rest killed power; do
	"$damage" make "$T/$end" $end
done

n=0
while read -r name number fix end; do
	say "$name"
	cp "$T/$end" "$POOL"
	"$damage" hurt "$name" "$POOL"
	keep
	status 4 "$FSCK_PMEMFS" -n "$POOL"
	says "^$number "
	is_kept
	if [ "$fix" = safe ]; then
		status 1 "$FSCK_PMEMFS" -pf "$POOL"
	else
		status 4 "$FSCK_PMEMFS" -pf "$POOL"
		is_kept
		status 1 "$FSCK_PMEMFS" -y "$POOL"
	fi
	says "^$number "
	status 0 "$FSCK_PMEMFS" -f "$POOL"
	status 0 "$FSCK_PMEMFS" -p "$POOL"
	status 0 "$damage" check "$name" "$POOL"
	n=$((n + 1))
done < <("$damage" list)
say "$n recipes"
[ $n -gt 60 ] || fail "too few recipes"

name=json
say "the report as JSON names the repairs"
cp "$T/rest" "$POOL"
"$damage" hurt unreachable "$POOL"
status 4 "$FSCK_PMEMFS" -n --json "$POOL"
says '"number":1301'
says '"repair":"put into /lost+found"'
says '"repaired":false'
status 1 "$FSCK_PMEMFS" -y --json "$POOL"
says '"repaired":true'
says '"exit":1'

name=question
say "on a terminal it asks, and no is no"
if ! script -qec true /dev/null >/dev/null 2>&1; then
	say "no pseudo-terminal is to be had here: not tried"
else
	cp "$T/rest" "$POOL"
	"$damage" hurt entry_slash "$POOL"
	keep
	echo n | script -qec "'$FSCK_PMEMFS' '$POOL'" /dev/null >"$T/out" || true
	says 'Repair all? \[y/N\]'
	is_kept
	echo y | script -qec "'$FSCK_PMEMFS' -C '$POOL'" /dev/null >"$T/out" || true
	says '(repaired)'
	says '100%\|%'
	status 0 "$FSCK_PMEMFS" -f "$POOL"
fi

name=progress
say "progress to a descriptor"
"$FSCK_PMEMFS" -f -C3 "$POOL" 3>"$T/bar" >/dev/null
grep -q "^1 100 100 $POOL\$" "$T/bar" || { cat "$T/bar"; fail "no progress"; }
"$FSCK_PMEMFS" -f -C 3 "$POOL" 3>"$T/bar" >/dev/null
grep -q "^1 100 100 " "$T/bar" || fail "no progress with -C 3"

name=pipe
say "-C writes nothing where there is no terminal"
"$FSCK_PMEMFS" -f -C "$POOL" >"$T/out" 2>"$T/bar" </dev/null
[ ! -s "$T/bar" ] || { cat "$T/bar"; fail "progress on a pipe"; }
[ "$(wc -l <"$T/out")" = 1 ] || { cat "$T/out"; fail "progress on standard output"; }
"$FSCK_PMEMFS" -f -C --json "$POOL" 2>&1 | python3 -m json.tool >/dev/null 2>&1 ||
	! command -v python3 >/dev/null || fail "-C spoils the JSON"

name=lock
say "it waits for a daemon that was unmounted and still holds the pool"
flock "$POOL" sleep 4 &
holder=$!
sleep 0.5
status 0 "$FSCK_PMEMFS" -n -f "$POOL"
says "waiting for a daemon"
! grep -q "in use" "$T/out" || fail "it did not wait"
wait $holder

name=interrupt
say "interrupted before anything is written: nothing is"
cp "$T/rest" "$POOL"
"$damage" hurt table_gone "$POOL"
keep
got=0
# it is pending already when fsck.pmemfs starts
# shellcheck disable=SC2016
env --block-signal=TERM bash -c 'kill -TERM $$; exec "$0" "$@"' "$FSCK_PMEMFS" -y "$POOL" \
	>"$T/out" 2>&1 || got=$?
same $got 32 "exit status when interrupted"
is_kept

name=table
say "the manual has the table of problems, word by word"
words() { tr -d '".:;,' | tr '[:upper:]' '[:lower:]' | tr -s ' '; }
"$FSCK_PMEMFS" --problems | words >"$T/table"
# a row of the manual: number, who; what is wrong; what is done
sed -n '/^\.It [0-9]\{4\} /,/^\.El/ { s/^\.It \([0-9]\)/@\1/; s/^\.Dq \(.*\)/\1/; /^\.El/d; p }' \
	"$srcdir/man/fsck.pmemfs.8" | tr '\n' ' ' | tr '@' '\n' | sed '1d; s/ *$//' |
	words >"$T/man"
echo >>"$T/man"
diff "$T/table" "$T/man" || fail "fsck.pmemfs.8 and fsck.pmemfs --problems differ"
