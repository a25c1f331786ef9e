# SPDX-License-Identifier: BSD-3-Clause
# named.sh - what tests/crash/README.md names is there, and in tests/dsa/README.md
#
# In backquotes: "family/load" is one of the crash tests, "t_x:name" a test in
# tests/*/t_x.c, "file.c:function:kind:n load" a row of the table of mutations,
# which has to be the program's, row for row.
set -eu
cd "${srcdir:-.}"

crash=${builddir:-.}/tests/crash/crash
[ -x "$crash" ] || { echo "tests/crash/crash is not built"; exit 77; }
readme=tests/crash/README.md

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$crash" --list | sort >"$tmp/loads"
"$crash" --known | sort >"$tmp/known"

# shellcheck disable=SC2016
sed -n 's/^| `\([^`]*\.c:[^`]*\)` | `\([^`]*\)` |$/\1 \2/p' $readme | sort >"$tmp/table"
diff "$tmp/known" "$tmp/table" >&2 || {
	echo "$readme (>) and the table of tests/crash/mutants.c (<) differ" >&2
	exit 1
}

bad=0 n=0
# shellcheck disable=SC2016
while IFS= read -r word; do
	case $word in
	t_*:*)
		grep -q "START_TEST(${word#*:})" tests/*/"${word%%:*}.c" || {
			echo "$readme: there is no test $word" >&2
			bad=1
		} ;;
	*\ *|*:*) continue ;;
	unit/*) word=tests/$word.c ;&
	*/*)
		grep -qxF -- "$word" "$tmp/loads" || [ -e "$word" ] || {
			echo "$readme: there is no load $word" >&2
			bad=1
		} ;;
	*) continue ;;
	esac
	n=$((n + 1))
done < <(grep '^|' $readme | grep -o '`[^`]*`' | tr -d '`')
[ "$n" -gt 100 ] || { echo "$readme: only $n names found" >&2; exit 1; }

# The other table of that kind.
# shellcheck disable=SC2016
while IFS= read -r word; do
	grep -q "START_TEST(${word#*:})" tests/*/"${word%%:*}.c" || {
		echo "tests/dsa/README.md: there is no test $word" >&2
		bad=1
	}
done < <(grep '^|' tests/dsa/README.md | grep -o '`t_[a-z_]*:[^`]*`' | tr -d '`')

# A place that no program of the tests has linked cannot be silenced there.
while IFS= read -r f; do
	case ${f##*/} in
	repair_*) continue ;;
	esac
	grep -q "^${f##*/}:" "$tmp/known" || {
		echo "$f asks for flushes that tests/crash/mutants.c does not know" >&2
		bad=1
	}
done < <(grep -lE '[^_a-z](pm_flush|pm_fence|pm_copy|pm_copy_zero)\(' \
	src/meta/*.c src/copy/*.c src/op/*.c)
exit $bad
