# SPDX-License-Identifier: BSD-3-Clause
# s_dsacopy.sh - pmemfs-bench copy with a DSA, which is emulated
#
# The rows are there, the device has copied what they say, and whoever watches it
# has seen nothing that must not be done. What the emulation measures is not
# looked at: it is another thread of the same CPUs.
set -eu
here=${srcdir:-.}
: "${builddir:=$PWD}"
SOFTDSA=$builddir/tests/dsa/softdsa_run
[ -x "$SOFTDSA" ] || { echo "skipped: no software device was built"; exit 77; }
# shellcheck source=tests/support/dsa_machine.sh
. "$here/tests/support/dsa_machine.sh"
dsa_inside "$0" "$@"
. "$here/tests/system/lib.sh"
scratch 200
: "${PMEMFS_BENCH:=$builddir/pmemfs-bench}"

quick=(--rounds 1 --time 1 --size 8)
DEVICE=''
# shellcheck disable=SC2016
AT_END='[ -z "$DEVICE" ] || kill -KILL "$DEVICE"'

say "without one, a line says so"
status 0 "$PMEMFS_BENCH" copy "${quick[@]}"
same "$(grep -cE '^dsa +no device$' "$T/out")" 1 "lines"
same "$(grep -c '^dsa ' "$T/out")" 1 "lines about DSA"

ldd "$PMEMFS_BENCH" | grep -q libaccel-config || skip "built without libaccel-config"
KIND=file NODE=--portal
grep -qw movdir64b /proc/cpuinfo || { KIND=fifo NODE=--fifo; }
dsa_machine $KIND

say "one that does not answer is not waited for, and has no rows"
status 0 timeout 60 "$PMEMFS_BENCH" copy "${quick[@]}"
same "$(grep -cE '^dsa +a device that does not answer$' "$T/out")" 1 "lines"
same "$(grep -c '^dsa ' "$T/out")" 1 "lines about DSA"
dsa_again $KIND

: >"$T/none"
"$SOFTDSA" $NODE /dev/dsa/wq0.1 --script "$T/none" --ready "$T/ready" >"$T/device" 2>&1 &
DEVICE=$!
for ((i = 0; i < 400; i++)); do
	[ ! -e "$T/ready" ] || break
	sleep 0.05
done
[ -e "$T/ready" ] || fail "the device is not ready"
status 0 "$PMEMFS_BENCH" copy "${quick[@]}"

say "with one (emulated): three rows of each table"
for way in dsa "dsa x16" "dsa x16, CPU"; do
	same "$(grep -cE "^$way +-( +[0-9.]+){9}\$" "$T/out")" 2 "tables with $way"
done
says "^the device  *wq0.1 .*it copied [0-9.]* % of its bytes"

say "JSON, in a pool; pieces of 64 bytes are not given to it"
make_pool 64M
status 0 "$PMEMFS_BENCH" copy --json "${quick[@]}" "$POOL"
same "$(grep -c '"way":"dsa' "$T/out")" 27 "rows"
says '"device":"wq0.1 '
says '"device_share":[0-9.]*'
check_pool

status=0
kill -TERM $DEVICE
wait $DEVICE || status=$?
DEVICE=''
cat "$T/device"
same $status 0 "the device's verdict"
grep -qE ' bytes=[1-9][0-9]{6}' "$T/device" || fail "it has not copied much"
