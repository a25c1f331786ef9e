# SPDX-License-Identifier: BSD-3-Clause
# man.sh - the manual pages are clean mdoc, and say what they must
set -eu
cd "${srcdir:-.}"

command -v mandoc >/dev/null || { echo "mandoc is not installed"; exit 77; }

bad=0
for page in man/*.[0-9]; do
	out=$(mandoc -T lint -W warning "$page" 2>&1) || true
	[ -z "$out" ] || { echo "$out" >&2; bad=1; }
	grep -q 'SPDX-License-Identifier: BSD-3-Clause' "$page" ||
		{ echo "$page: no SPDX line" >&2; bad=1; }
	case $page in
	*.8)
		for section in 'EXIT STATUS' EXAMPLES; do
			grep -q "^\\.Sh $section" "$page" ||
				{ echo "$page: no $section" >&2; bad=1; }
		done ;;
	esac
done
exit $bad
