# SPDX-License-Identifier: BSD-3-Clause
# layers.sh - fuse -> op -> meta -> copy -> pm -> base, never upward
#
# Includes carry their folder, so a violation is visible on its line. Each
# library of somebody else has one place that includes it.
set -eu
cd "${srcdir:-.}"

bad=0
complain()
{
	echo "$*" >&2
	bad=1
}

rank()
{
	case $1 in
	base) echo 1 ;;
	pm) echo 2 ;;
	copy) echo 3 ;;
	meta) echo 4 ;;
	op) echo 5 ;;
	fuse) echo 6 ;;
	tools) echo 6 ;;
	*) echo 0 ;;
	esac
}

# Every "x/y.h" in src and tools names a layer, and not a higher one.
own()
{
	local file=$1 layer=$2 line inc
	grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' "$file" |
	while IFS= read -r line; do
		inc=$(sed -E 's/.*"([^"]*)".*/\1/' <<<"$line")
		case $inc in
		pmemfs/format.h) continue ;;
		tools/*) [ "$layer" = tools ] || echo "$file:$line: only tools" ;;
		fuse/*) [ "$layer" = fuse ] || echo "$file:$line: only src/fuse" ;;
		base/*|pm/*|copy/*|meta/*|op/*)
			[ "$(rank "${inc%%/*}")" -le "$(rank "$layer")" ] ||
				echo "$file:$line: $layer includes upward" ;;
		*) echo "$file:$line: includes carry their folder" ;;
		esac
	done
}

# third PATTERN ALLOWED...: only the files (or folders) named include it
third()
{
	local pattern=$1 hit file ok allowed
	shift
	while IFS= read -r hit; do
		[ -n "$hit" ] || continue
		file=${hit%%:*}
		ok=no
		for allowed; do
			[[ $file == $allowed* ]] && ok=yes
		done
		[ $ok = yes ] || complain "$hit: may be included in $* only"
	done < <(grep -nrE "^[[:space:]]*#[[:space:]]*include[[:space:]]+[<\"]$pattern" \
		--include='*.[ch]' src tools include examples || true)
}

for f in src/*/*.[ch]; do
	layer=${f#src/}
	out=$(own "$f" "${layer%%/*}")
	[ -z "$out" ] || complain "$out"
done
for f in tools/*.[ch]; do
	[ -e "$f" ] || continue
	out=$(own "$f" tools)
	[ -z "$out" ] || complain "$out"
done

third 'fuse(3/|_|\.h)' src/fuse/
third '(linux/fuse\.h|liburing)' src/fuse/
third 'libpmem' src/pm/pm_pmem2.c src/pm/badblocks.c
third '(accel-config/|linux/idxd)' src/copy/dsa_find.c
third '(blkid/|uuid/|json-c/|json\.h)' tools/
third 'check\.h' nowhere
third '/' nowhere
third '\.\./' nowhere

# The format stands alone.
grep -nE '^#include' include/pmemfs/format.h |
	grep -vE '<(stddef|stdint)\.h>' >&2 && bad=1

exit $bad
