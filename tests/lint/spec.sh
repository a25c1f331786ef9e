# SPDX-License-Identifier: BSD-3-Clause
# spec.sh - the tables of pmemfs.5 are those of the program
#
# Each table there begins with the structure's name and size and the line
# "OFFSET SIZE FIELD"; whatever follows the third word is for people.
set -eu
cd "${srcdir:-.}"

dump=${DUMP_PMEMFS:-./dump.pmemfs}
[ -x "$dump" ] || { echo "dump.pmemfs is not built"; exit 77; }

# "structure offset size field", one a line
tables()
{
	awk '
	/^OFFSET SIZE FIELD/ { name = prev; print prev; inside = 1; next }
	inside && /^[0-9]+ +[0-9]+ +[a-z]/ { print name, $1, $2, $3; next }
	{ inside = 0; prev = $1 " " $2 }
	' | sort
}

diff <("$dump" fields | tables) <(tables <man/pmemfs.5) >&2 || {
	echo "man/pmemfs.5 (>) and dump.pmemfs fields (<) differ" >&2
	exit 1
}
n=$(tables <man/pmemfs.5 | wc -l)
[ "$n" -gt 100 ] || { echo "only $n lines of tables found" >&2; exit 1; }
