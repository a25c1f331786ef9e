# SPDX-License-Identifier: BSD-3-Clause
# s_bitrot.sh - a sample of tests/bitrot: flips in every field of every kind of
# structure, every recipe for a hostile pool, and some made by chance
#
# BITROT_SECONDS (30): when the sample is cut; the first flip of each field and
# the recipes are never cut. BITROT_ALL=1 flips every byte of the metadata, and
# BITROT_PIECE=K/N with it the K-th of N parts.
set -eu
: "${builddir:=$PWD}"
bitrot=$builddir/tests/bitrot/bitrot
[ -x "$bitrot" ] || { echo "skipped: tests/bitrot/bitrot is not built"; exit 77; }
jobs=$(nproc)

if [ -n "${BITROT_ALL:-}" ]; then
	exec "$bitrot" -a -j "$jobs" ${BITROT_PIECE:+-p "$BITROT_PIECE"}
fi
exec "$bitrot" -j "$jobs" -t "${BITROT_SECONDS:-30}"
