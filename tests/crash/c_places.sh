# SPDX-License-Identifier: BSD-3-Clause
# c_places.sh - crash states: where things run out, files of every shape, two workers at once
#
# CRASH_ARGS: further arguments, --brief where time is short.
set -eu
crash=${builddir:-.}/tests/crash/crash

[ -x "$crash" ] || { echo "tests/crash/crash is not built"; exit 77; }
# shellcheck disable=SC2086 # several words
exec "$crash" ${CRASH_ARGS-} shape atomic edge dsa log full reuse grow names threads next recycle
