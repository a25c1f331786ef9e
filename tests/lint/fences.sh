# SPDX-License-Identifier: BSD-3-Clause
# fences.sh - only src/pm makes bytes durable, and a fence says why
#
# 1. Instructions and calls that order or flush stores live in src/pm; those that hand a
#    descriptor to a device, and order it, in src/copy/dsa_door.c.
# 2. pm_flush() and pm_fence() are called in src/meta and src/copy only (and
#    src/pm, the tests, and tools/bench*.c, which measure them).
# 3. A pm_fence() there has a rule's number (L5, M2) in a comment on its
#    line, or in the comment that ends on the line above.
set -eu
cd "${srcdir:-.}"

bad=0
hit()
{
	[ -z "$1" ] && return 0
	printf '%s\n%s\n' "$2:" "$1" >&2
	bad=1
}

raw='_mm_(sfence|mfence|lfence|clwb|clflush|stream)|__builtin_ia32_(sfence|mfence|cl)'
raw+='|"(sfence|clwb|clflush|mfence|movnt|movdir|enqcmd)|pmem2_[a-z_]+\(|[^_a-z]msync\('
out=$(grep -nrE "$raw" --include='*.[ch]' src tools examples |
	grep -vE '^src/(pm/|copy/dsa_door\.c:)' || true)
hit "$out" "belongs to src/pm"

out=$(grep -nrE '[^_a-z]pm_(flush|fence|drain)\(' --include='*.[ch]' src/op src/fuse tools |
	grep -vE '^tools/bench(_device)?\.[ch]:' || true)
hit "$out" "op, fuse and the tools do not flush or fence"

out=$(for f in src/meta/*.c src/copy/*.c; do
	[ -e "$f" ] || continue
	awk -v file="$f" '
	# note: the comment that ended on the line above, or on this one
	/\/\*/ { open = 1; text = "" }
	open { text = text $0 }
	/(^|[^_a-z])pm_fence\(/ && !/^[ \t]*\*/ {
		if ($0 !~ /\/\*.*[A-Z][0-9][0-9]?.*\*\// &&
		    !(ended == NR - 1 && last ~ /[A-Z][0-9][0-9]?/))
			printf "%s:%d: %s\n", file, NR, $0
	}
	open && /\*\// { open = 0; ended = NR; last = text }
	' "$f"
done)
hit "$out" "a fence names the rule it keeps"

exit $bad
