# SPDX-License-Identifier: BSD-3-Clause
# s_posix.sh - the rules of README.md, each tried on a mount
#
# On tmpfs first: a rule that Linux itself does not keep is a wrong rule.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
is_root || skip "needs root: it becomes one user after the other"
scratch 300
rules=$builddir/tests/posix/rules

say "the table names every rule that is tried, and no other"
awk -F'`' '/^\| .* \| `[a-z0-9_]+` \|$/ { print $(NF - 1) }' \
	"$srcdir/tests/posix/README.md" |
	sort >"$T/table"
"$rules" --list | sort >"$T/list"
diff "$T/table" "$T/list" || fail "README.md and rules --list differ"
n=0
# shellcheck disable=SC2016
while IFS=: read -r script name; do
	sed 's/^[ \t]*//' "$srcdir"/tests/*/"$script" | grep -q "^$name()\|^\".*/$name\"" ||
		fail "README.md: there is no $name in $script"
	n=$((n + 1))
done < <(sed -n 's/^| .* | `\(s_[a-z]*\.sh:[a-z_]*\)` |$/\1/p' "$srcdir/tests/posix/README.md")
[ $n -gt 20 ] || fail "README.md names only $n tests of scripts"

say "tmpfs"
mkdir "$T/tmpfs"
mount -t tmpfs -o size=64m pmemfs-control "$T/tmpfs"
MOUNTS+=("$T/tmpfs")
"$rules" "$T/tmpfs" || fail "rules that tmpfs does not keep"
umount "$T/tmpfs"

for mode in dax=always dax=never; do
	say "$mode"
	rm -f "$POOL"
	make_pool 128M
	mount_pool "suid,dev,$mode"
	if [ $mode = dax=never ]; then export RULES_CACHED=1; fi
	"$rules" "$MNT" || fail "$mode: rules that do not hold"
	unmount_pool
	check_pool
done
