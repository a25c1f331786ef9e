# SPDX-License-Identifier: BSD-3-Clause
# c_mutants.sh - each flush, fence and copy of the program left out: it shows
set -eu
crash=${builddir:-.}/tests/crash/crash

[ -x "$crash" ] || { echo "tests/crash/crash is not built"; exit 77; }
exec "$crash" --mutants
