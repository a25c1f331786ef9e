# SPDX-License-Identifier: BSD-3-Clause
# counters.awk - fences and copied bytes out of pmemfs-stat --json
{ text = text $0 }
function number(key,	at) {
	if (!match(text, "\"" key "\" *: *[0-9]+"))
		return "-"
	at = substr(text, RSTART, RLENGTH)
	sub(/.*: */, "", at)
	return at
}
END { print number("fences"), number("bytes_copied") }
