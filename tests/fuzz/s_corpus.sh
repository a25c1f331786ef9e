# SPDX-License-Identifier: BSD-3-Clause
# s_corpus.sh - the inputs kept in tests/fuzz/corpus neither crash nor hang
set -eu
: "${builddir:=$PWD}"
replay=$builddir/tests/fuzz/replay
[ -x "$replay" ] || { echo "skipped: tests/fuzz/replay is not built"; exit 77; }
exec "$replay"
