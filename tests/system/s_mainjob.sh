# SPDX-License-Identifier: BSD-3-Clause
# s_mainjob.sh - the job of the README, with the programs just built
#
# A stream through a pipe is spliced in, a tree is copied in; after a remount
# every byte is the same and fsck finds nothing.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 600

TMPDIR=$T "$srcdir/examples/try" --bin "$builddir" --pool "$POOL" --size 512

[ ! -e "$POOL" ] || fail "examples/try left its pool behind"
