# SPDX-License-Identifier: BSD-3-Clause
# s_dsafind.sh - which DSA work queues are found on machines sound and broken
#
# libaccel-config itself, over a sysfs that is emulated in mounts of our own. Some
# of its versions end the process where an attribute is missing: whatever is wrong with a
# machine, what finds queues ends by itself and says why there are none.
set -eu
srcdir=${srcdir:-.}
find=${builddir:-.}/tests/support/dsa_find
[ -x "$find" ] || { echo "skipped: built without DSA"; exit 77; }
# shellcheck source=tests/support/dsa_machine.sh
. "$srcdir/tests/support/dsa_machine.sh"
dsa_inside "$0" "$@"

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# finds LINES [ARG...]: these, and no more
finds()
{
	local want=$1 got
	shift
	got=$("$find" "$@") || true
	[ "$got" = "$want" ] || fail "found \"$got\", not \"$want\""
}

# says TEXT [ARG...]: there is no queue, and one line says why
says()
{
	local text=$1 got rc=0
	shift
	got=$("$find" "$@") || rc=$?
	[ $rc = 1 ] || fail "exit status $rc where \"$text\" was to be said: $got"
	[ "$(wc -l <<<"$got")" = 1 ] || fail "more than one line: $got"
	grep -qF -- "$text" <<<"$got" || fail "\"$got\" does not say \"$text\""
}

old="wq0.1 dedicated 32 32 2097152 32 4 -1 /dev/dsa/wq0.1"
shared="wq0.0 shared 32 28 2097152 32 4 -1 /dev/dsa/wq0.0"

dsa_machine file
dev=$DSA_BUS/devices/dsa0

echo "=== a sound machine"
finds "$old"$'\n'"$shared"
finds "$shared" /dev/dsa/wq0.0
ln -s wq0.1 /dev/dsa/by-name
finds "wq0.1 dedicated 32 32 2097152 32 4 -1 /dev/dsa/by-name" /dev/dsa/by-name
rm /dev/dsa/by-name

echo "=== op_cap as newer kernels print it, without batches"
echo 00000000,00000000,00000000,00000000,00000000,00000000,00000001,003f03fd >"$dev/op_cap"
finds "${old/ 2097152 32 / 2097152 0 }"$'\n'"${shared/ 2097152 32 / 2097152 0 }"
echo "something else" >"$dev/op_cap"
says "is no set of operations"

# try ATTRIBUTE WHAT: whatever is wrong with it, the search ends by itself and says something
tried=0 none=0
try()
{
	local rc=0 got
	got=$("$find") || rc=$?
	[ $rc -le 1 ] || fail "$2 ${1#"$DSA_BUS/devices/"}: exit status $rc"
	[ -n "$got" ] || fail "$2 ${1#"$DSA_BUS/devices/"}: not a word"
	tried=$((tried + 1)) none=$((none + rc))
}

echo "=== each attribute in turn: it is missing, or makes no sense"
dsa_again file
for a in "$dev"/*/* "$dev"/*; do
	[ -f "$a" ] || continue
	was=$(cat "$a")
	rm "$a"
	try "$a" "without"
	: >"$a"
	try "$a" "empty"
	for bad in "" nonsense -1 18446744073709551616; do
		echo "$bad" >"$a"
		try "$a" "\"$bad\" in"
	done
	printf '%s\n' "$was" >"$a"
done
[ $tried -gt 300 ] || fail "only $tried cases"
echo "$tried cases, in $none of them no queue"
finds "$old"$'\n'"$shared"

echo "=== with the entries of nodes, and of files that are open"
mkdir "$DSA_BUS/devices/"{'dsa!wq0.0','dsa!wq0.1',file0}
finds "$old"$'\n'"$shared"

echo "=== beside an IAX, for which newer kernels show less"
cp -r "$dev" "$DSA_BUS/devices/iax1"
rm -rf "$DSA_BUS"/devices/iax1/{max_batch_size,*read_buffer*,group0.0,engine0.*,wq0.0}
mv "$DSA_BUS/devices/iax1/wq0.1" "$DSA_BUS/devices/iax1/wq1.0"
rm "$DSA_BUS/devices/iax1/wq1.0/max_batch_size"
ln -s iax1/wq1.0 "$DSA_BUS/devices/wq1.0"
finds "$old"$'\n'"$shared"

echo "=== machines that are not ready"
dsa_again file
echo disabled >"$dev/wq0.1/state"
finds "$shared"
says "wq0.1 is disabled, not enabled" /dev/dsa/wq0.1
echo kernel >"$dev/wq0.0/type"
says "no work queue of type user is enabled"
dsa_again file
echo disabled >"$dev/state"
says "no work queue of type user is enabled"
dsa_again file
echo 0 >"$dev/pasid_enabled"
says "intel_iommu=on,sm_on"
dsa_again file
rm /dev/dsa/*
says "has no node in /dev/dsa"
says "No such file or directory" /dev/dsa/wq0.1
dsa_again file
rm "$dev/op_cap"
says "dsa0/op_cap: No such file or directory"
dsa_again file
rm "$dev/wq0.1/type"
says "wq0.1/type: No such file or directory: libaccel-config cannot be asked"
finds "$shared" /dev/dsa/wq0.0
rm -rf "$dev" "$DSA_BUS"/devices/*
says "no DSA: this machine has none"
dsa_no_machine
says "no DSA: this machine has none"
echo "ok"
