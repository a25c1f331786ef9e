# SPDX-License-Identifier: BSD-3-Clause
# Lint: every script passes shellcheck, the ones without a suffix too.
set -eu
cd "${srcdir:-.}"

command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
shellcheck -s bash -x -e SC2119,SC2120 -P tests/system \
	tests/*/*.sh tests/run tests/bench/run tests/vm/run .ci/run examples/try
# Cases of the virtual machine are read by a shell that has read lib.sh.
shellcheck -s bash -e SC2002,SC2013,SC2015,SC2016,SC2034,SC2086,SC2154,SC2317 \
	tests/vm/guest/init tests/vm/guest/lib.sh tests/vm/cases/*.sh
