# SPDX-License-Identifier: BSD-3-Clause
# Lint: every script passes shellcheck, the ones without a suffix too.
set -eu
cd "${srcdir:-.}"

command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
shellcheck -s bash -x -e SC2119,SC2120 -P tests/system \
	tests/*/*.sh tests/run tests/bench/run .ci/run examples/try
