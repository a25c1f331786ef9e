#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# sum.sh - one table of what several runs of tests/crash/crash said
#
#	sum.sh LOG...
#
# Fails if a log is missing, if nothing was visited, or if there are violations.
set -eu

exec awk '
FNR == 1 { logs++; rows = 0 }
/^family / { if (!head++) print; rows = 1; next }
rows && NF >= 13 && $2 ~ /^[0-9]+$/ {
	print
	loads += $2; of += $3; calls += $4; points += $5; all += $6
	images += $7; distinct += $8 + $9; cut += $9; deaths += $10; bad += $11; cpu += $13
}
/^VIOLATION/ { told++; if (told <= 20) print }
/^needless:/ { flushes += $2; fences += $4 }
/^violations:/ { bad += $2 > 0; runs++ }
/^mutants:/ { print; runs++ }
END {
	printf "workloads: %d of %d, with %d calls\n", loads, of, calls
	printf "crash points: %d, %.1f %% of them with every subset of their pending lines\n",
		points, points ? 100 * all / points : 0
	printf "crash states: %d visited, %d different, %d of these cut recoveries\n",
		images, distinct, cut
	printf "needless: %d flushes, %d fences\n", flushes, fences
	printf "violations: %d\n", bad
	exit logs != ARGC - 1 || runs != logs || !images || bad || told
}' "$@"
