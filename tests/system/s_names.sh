# SPDX-License-Identifier: BSD-3-Clause
# s_names.sh - many names, and names that come and go while somebody reads
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 200
make_pool 128M
mount_pool

"$builddir/tests/support/readdir_storm" "$MNT" 10000 3
same "$(find "$MNT/a" -name 's-*' | wc -l)" 10000 "names in a"
same "$(find "$MNT/b" -name 's-*' | wc -l)" 10000 "names in b"

unmount_pool
check_pool
mount_pool
same "$(find "$MNT/a" -name 's-*' | wc -l)" 10000 "names in a after a remount"
rm -r "$MNT/a" "$MNT/b"
same "$(find "$MNT" -mindepth 1 | wc -l)" 0 "names after rm -r"
unmount_pool
check_pool
