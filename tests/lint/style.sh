# SPDX-License-Identifier: BSD-3-Clause
# style.sh - the part of the house style that a script can judge
#
# Lines of at most 100 columns, files of at most 800 lines, functions of at
# most 60; tabs; an SPDX line; nothing left to do; no conditional compilation
# inside a function; none of the string functions that cannot be used safely.
set -eu
cd "${srcdir:-.}"

# "file:function" of functions that are better long than cut.
long_ok=""

bad=0
hit()
{
	[ -z "$1" ] && return 0
	printf '%s\n%s\n' "$2:" "$1" >&2
	bad=1
}

shopt -s nullglob
c=(include/pmemfs/*.h src/*/*.[ch] tools/*.[ch] tests/*/*.[ch] examples/*.[ch])
sh=(tests/*/*.sh tests/run tests/bench/run tests/vm/run tests/vm/guest/lib.sh .ci/run examples/try)
other=(Makefile.am configure.ac man/*.[0-9] README.md)

for f in "${c[@]}" "${sh[@]}" Makefile.am configure.ac; do
	head -3 "$f" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' ||
		hit "$f" "no SPDX line"
done

for f in "${sh[@]}"; do
	grep -qE '^set -eu' "$f" || hit "$f" "no set -eu"
done

words='TO''DO|FIX''ME|XX''X|HA''CK'
out=$(grep -nE "(^|[^A-Za-z])($words)([^A-Za-z]|\$)" "${c[@]}" "${sh[@]}" "${other[@]}" || true)
hit "$out" "do it, or say why not"

out=$(grep -nE '[[:space:]]+$' "${c[@]}" "${sh[@]}" "${other[@]}" || true)
hit "$out" "white space at the end"

out=$(grep -nE '^( {2,}| [^*])' "${c[@]}" || true)
hit "$out" "indent with tabs"

out=$(grep -nE '[^_a-z](strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|alloca)\(' \
	"${c[@]}" || true)
hit "$out" "not this function"

out=$(grep -nE '(^|[^[:alnum:]])/(home|root|Users)/' "${c[@]}" "${sh[@]}" "${other[@]}" || true)
hit "$out" "a path of somebody's machine"

out=$(for f in "${c[@]}" "${sh[@]}"; do
	expand "$f" | awk -v file="$f" '
	length($0) > 100 { printf "%s:%d: %d columns\n", file, NR, length($0) }
	END { if (NR > 800) printf "%s: %d lines\n", file, NR }'
done)
hit "$out" "too long"

out=$(for f in "${c[@]}"; do
	awk -v file="$f" -v ok="$long_ok" '
	/^[A-Za-z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
	/^\{/ { start = NR; inside = 1 }
	inside && /^[ \t]*#[ \t]*(if|else|elif|endif)/ {
		printf "%s:%d: conditional compilation inside %s()\n", file, NR, name
	}
	/^\}/ && inside {
		if (NR - start + 1 > 60 && index(" " ok " ", " " file ":" name " ") == 0)
			printf "%s:%d: %s() has %d lines\n", file, start, name, NR - start + 1
		inside = 0
	}' "$f"
done)
hit "$out" "functions"

exit $bad
