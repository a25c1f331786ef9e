# SPDX-License-Identifier: BSD-3-Clause
# s_copybench.sh - pmemfs-bench copy: a full table, and nothing of value harmed
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 200
: "${PMEMFS_BENCH:=$builddir/pmemfs-bench}"

quick=(--rounds 1 --time 1 --size 8)

say "without a place: memory of its own, all ways, all sizes"
status 0 "$PMEMFS_BENCH" copy "${quick[@]}"
says "8 MiB of memory of its own"
for way in memcpy libpmem2 pread.flush pipe.flush pipe.nocache "read memcpy" "read kernel"; do
	same "$(grep -cE "^$way +[0-9. ]+\$" "$T/out")" 2 "tables with $way"
done
! grep -qE '(nan|inf) ' "$T/out" || fail "a cell without a number"
status 0 "$PMEMFS_BENCH" copy --json "${quick[@]}"
rows=$(grep -c '"way":' "$T/out")
same $((rows % 10)) 0 "rows of JSON that are not in tens"
[ "$rows" -ge 60 ] || fail "$rows rows of JSON"
same "$(grep -cE '"ns":[0-9.]+' "$T/out")" "$rows" "rows with a number"
! command -v jq >/dev/null || jq -e '.results | length > 0' "$T/out" >/dev/null

say "in a folder: a file that is gone afterwards"
mkdir "$T/folder"
status 0 "$PMEMFS_BENCH" copy "${quick[@]}" "$T/folder"
says "a file of its own in $T/folder"
[ -z "$(ls -A "$T/folder")" ] || fail "it left a file behind"

say "in a pool: its free space, and not one byte of its files"
make_pool 64M
mount_pool
cp -r "$srcdir/src" "$srcdir/man" "$MNT/"
manifest "$MNT" >"$T/before"
status 1 "$PMEMFS_BENCH" copy "${quick[@]}" "$POOL"
says "in use"
unmount_pool
status 0 "$PMEMFS_BENCH" copy "${quick[@]}" "$POOL"
says "free space of the pool"
check_pool
mount_pool
manifest "$MNT" | diff "$T/before" - || fail "files have changed"
say "a pool that is full is refused"
dd if=/dev/zero of="$MNT/fill" bs=1M status=none 2>/dev/null || true
unmount_pool
status 1 "$PMEMFS_BENCH" copy "${quick[@]}" "$POOL"
says "no 4 MiB of free space"
check_pool

say "anything else is refused, and not touched"
head -c 20M /dev/urandom >"$T/file"
before=$(sha256sum <"$T/file")
status 1 "$PMEMFS_BENCH" copy "${quick[@]}" "$T/file"
same "$(sha256sum <"$T/file")" "$before" "the file"
status 1 "$PMEMFS_BENCH" copy "$T/missing"
status 2 "$PMEMFS_BENCH"
status 2 "$PMEMFS_BENCH" copy --rounds 0
status 2 "$PMEMFS_BENCH" copy a b
