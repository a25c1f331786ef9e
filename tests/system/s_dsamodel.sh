# SPDX-License-Identifier: BSD-3-Clause
# s_dsamodel.sh - pmemfs-bench dsa-model: the table, labelled, with its sources
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 8
: "${PMEMFS_BENCH:=$builddir/pmemfs-bench}"

label="a model, not a measurement"

say "each size and each load, once; each parameter with its source"
status 0 "$PMEMFS_BENCH" dsa-model
says "$label"
same "$(grep -cE '^ *[0-9]+[KM] +[0-9]+ \|' "$T/out")" 77 "rows"
same "$(grep -cE '^(latency|engine|hold|cpu|flush) .*[a-z]' "$T/out")" 5 "parameters"
! grep -qE '(nan|inf)( |$)' "$T/out" || fail "a cell without a number"
grep -E '^ *2M +16 ' "$T/out" >"$T/default"

say "another value changes what it should, and is not given a source"
status 0 "$PMEMFS_BENCH" dsa-model --set device_max=5 --set flush=20
grep -qE '^flush +20 .*the command line' "$T/out" || fail "flush"
same "$(grep -E '^ *2M +16 ' "$T/out" | awk '{ print $5 }')" 5.00 "dsa-only with device_max=5"
! grep -qxFf "$T/default" "$T/out" || fail "2 MiB x 16 is as before"
status 0 "$PMEMFS_BENCH" dsa-model --set device_max=5 --informed
same "$(grep -E '^ *2M +16 ' "$T/out" | awk '{ print $NF, $(NF - 1) }')" "% 0" \
	"by the device, when the rule knows that the device is slow"

say "JSON"
status 0 "$PMEMFS_BENCH" dsa-model --json
says "$label"
same "$(grep -c '"gb_s":' "$T/out")" 231 "results"
same "$(grep -c '"source":' "$T/out")" 19 "parameters"
! command -v jq >/dev/null || jq -e '.auto_worst_bandwidth >= 0.97 and
	.auto_cpu_2m_16 < 0.35' "$T/out" >/dev/null || fail "what the table shows"

say "ioatdma: every row of the kernel developers' table, with the error"
status 0 "$PMEMFS_BENCH" dsa-model --ioatdma
says "$label"
same "$(grep -cE '^ *(64K|2M) x +(1|16) (read|write) +(cpu|dma) .* % ' "$T/out")" 16 "rows"
status 0 "$PMEMFS_BENCH" dsa-model --ioatdma --json
same "$(grep -c '"measured_mb_s":' "$T/out")" 16 "figures in JSON"

say "what makes no sense is refused"
status 2 "$PMEMFS_BENCH" dsa-model --set engines=none
says "engines=none"
status 2 "$PMEMFS_BENCH" dsa-model --ioatdma --set engines=2
status 2 "$PMEMFS_BENCH" dsa-model place
status 0 "$PMEMFS_BENCH" dsa-model --help
