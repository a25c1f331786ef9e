# SPDX-License-Identifier: BSD-3-Clause
# c_one.sh - crash states: every operation alone, on every granularity, with cut recoveries
#
# CRASH_ARGS: further arguments, --brief where time is short.
set -eu
crash=${builddir:-.}/tests/crash/crash

[ -x "$crash" ] || { echo "tests/crash/crash is not built"; exit 77; }
# shellcheck disable=SC2086 # several words
exec "$crash" ${CRASH_ARGS-} one page byte atime
