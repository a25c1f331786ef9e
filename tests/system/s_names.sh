# SPDX-License-Identifier: BSD-3-Clause
# s_names.sh - many names, and names that come and go while somebody reads
#
# NAMES=500000 makes so many in each of two directories.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
: "${NAMES:=10000}"
scratch $((NAMES / 1000 + 200))
make_pool $((NAMES / 1000 + 128))M
mount_pool

"$builddir/tests/support/readdir_storm" "$MNT" "$NAMES" 3
same "$(find "$MNT/a" -name 's-*' | wc -l)" "$NAMES" "names in a"
same "$(find "$MNT/b" -name 's-*' | wc -l)" "$NAMES" "names in b"

unmount_pool
check_pool
mount_pool
same "$(find "$MNT/a" -name 's-*' | wc -l)" "$NAMES" "names in a after a remount"
rm -r "$MNT/a" "$MNT/b"
same "$(find "$MNT" -mindepth 1 | wc -l)" 0 "names after rm -r"
unmount_pool
check_pool
