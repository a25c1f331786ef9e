# SPDX-License-Identifier: BSD-3-Clause
# s_dsa.sh - large writes copied by a DSA, which is emulated
#
# The daemon finds the machine of tests/support/dsa_machine.sh, and a program
# behind its work queues (tests/dsa/softdsa_run) that reads real descriptors and
# copies from and to the daemon's memory. What is said of it here holds for the
# emulated device; of a real one's speed it says nothing.
set -eu
here=${srcdir:-.}
: "${builddir:=$PWD}"
SOFTDSA=$builddir/tests/dsa/softdsa_run
[ -x "$SOFTDSA" ] || { echo "skipped: no software device was built"; exit 77; }
# shellcheck source=tests/support/dsa_machine.sh
. "$here/tests/support/dsa_machine.sh"
dsa_inside "$0" "$@"
. "$here/tests/system/lib.sh"
scratch 700
# whose close of a queue waits for the device
PMEMFS_FUSE=$builddir/tests/dsa/fuse

PARAM=/sys/module/fuse/parameters/enable_uring
DEVICE='' KIND=file
# shellcheck disable=SC2016
AT_END='[ -z "$DEVICE" ] || kill -KILL "$DEVICE"'

# The ring, if it can be switched on; nobody else switches meanwhile. By hand:
# TRANSPORTS=dev.
ask=${TRANSPORTS:-}
: "${TRANSPORTS:=dev}"
if [ -z "$ask" ] && [ -e $PARAM ]; then
	exec 9<$PARAM
	flock 9
	AT_END="$AT_END; echo $(cat $PARAM) >$PARAM"
	{ echo Y >$PARAM; } 2>/dev/null || true
	[ "$(cat $PARAM)" != Y ] || TRANSPORTS="dev uring"
fi
dsa_machine file
head -c 24M /dev/urandom >"$T/bytes"
make_pool 400M

# Without libaccel-config a queue has to be named; dsa=auto says so.
USE=dsa=on
mount_pool
unmount_pool
if grep -q 'built without libaccel-config' "$T/daemon.log"; then
	say "a build without libaccel-config"
	USE=dsa_wq=/dev/dsa/wq0.1
fi
# Where the CPU cannot submit to a portal, the kernel is asked to: write(2).
mount_pool $USE
unmount_pool
grep -q 'MOVDIR64B' "$T/daemon.log" || KIND=fifo
[ $KIND = file ] || dsa_again $KIND

# device [RULE...]: one that does this, when and as often as the rules say
device()
{
	local node=--portal
	[ $KIND = file ] || node=--fifo
	printf '%s\n' "$@" >"$T/script"
	rm -f "$T/ready"
	"$SOFTDSA" $node /dev/dsa/wq0.1 --script "$T/script" --ready "$T/ready" \
		>"$T/device.log" 2>&1 &
	DEVICE=$!
	for ((i = 0; i < 400; i++)); do
		[ ! -e "$T/ready" ] || return 0
		kill -0 "$DEVICE" 2>/dev/null || fail "the device: $(cat "$T/device.log")"
		sleep 0.05
	done
	fail "the device is not ready"
}

# It has seen nothing that must not be done to a device.
no_device()
{
	local status=0
	kill -TERM "$DEVICE"
	wait "$DEVICE" || status=$?
	DEVICE=''
	[ $status = 0 ] || { cat "$T/device.log"; fail "the device complains"; }
}

by_device() { stat_value dsa/device_bytes; }
# Until the queue has shown that it works: before, nothing is given to it.
queue_works()
{
	local i was
	was=$(by_device)
	for ((i = 0; i < 400; i++)); do
		dd if="$T/bytes" of="$MNT/warm" bs=1M count=1 status=none
		[ "$(by_device)" = "$was" ] || break
		sleep 0.05
	done
	[ $i -lt 400 ] || fail "the queue does not come on: $(cat "$T/device.log")"
	rm "$MNT/warm"
}

# mount_dsa [OPTIONS]
mount_dsa()
{
	mount_pool "$USE,dsa_min=4K,transport=$TRANSPORT${1:+,$1}"
	queue_works
}

# fell_back REASON|any
fell_back()
{
	local why sum=0
	[ "$1" = any ] || { stat_value "dsa/fell_back/$1"; return; }
	for why in fault status timeout off; do
		sum=$((sum + $(stat_value dsa/fell_back/$why)))
	done
	echo $sum
}
said() { grep -qF -- "$1" "$T/daemon.log" || fail "the daemon does not say: $1"; }

# Files of all kinds; their names begin with $1.
write_files()
{
	local i p=()
	dd if="$T/bytes" of="$MNT/$1.large" bs=1M status=none
	for i in 1 2 3 4; do		# side by side; odd sizes, appends, overwrites
		( dd if="$T/bytes" of="$MNT/$1.$i" bs=$((77777 * i)) count=30 status=none
		  dd if="$T/bytes" of="$MNT/$1.$i" bs=$((77777 * i)) count=9 skip=5 seek=5 \
			conv=notrunc status=none ) &
		p+=($!)
	done
	for i in "${p[@]}"; do wait "$i"; done
	dd if="$T/bytes" of="$MNT/$1.large" bs=300000 skip=7 seek=7 count=40 conv=notrunc \
		status=none
}

check_files()
{
	local i
	cmp "$T/bytes" "$MNT/$1.large"
	for i in 1 2 3 4; do
		same "$(stat -c %s "$MNT/$1.$i")" $((77777 * i * 30)) "size of $1.$i"
		cmp -n $((77777 * i * 30)) "$T/bytes" "$MNT/$1.$i"
	done
}

remove_files() { rm -f "$MNT"/*.large "$MNT"/*.[1-4] "$MNT"/fio.*; }

# On a pool that has been mounted anew, without a device.
recheck()
{
	mount_pool dsa=off
	same "$(stat_value dsa/jobs)" "" "jobs of a mount without a device"
	check_files "$1"
	remove_files
	unmount_pool
	check_pool
}

# Ticks of CPU that the daemon has used.
cpu_of() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$DAEMON/stat"; }

# ---- it works ------------------------------------------------------------------------

report()
{
	local ticks moved
	ticks=$(cpu_of)
	for _ in 1 2 3 4 5; do
		dd if="$T/bytes" of="$MNT/report.large" bs=1M conv=notrunc status=none
	done
	ticks=$(($(cpu_of) - ticks))
	moved=$(by_device)
	say "$1: 120 MiB, $((ticks * 10)) ms of CPU in the daemon (device: emulated);" \
		"by device ${moved:-0} bytes, by CPU $(stat_value dsa/cpu_bytes)"
}

say "the command line"
refuse()
{
	status 1 "$PMEMFS_FUSE" -f -o "$1" "$POOL" "$MNT"
	says "$2"
	same "$(wc -l <"$T/out")" 1 "lines about $1"
}
refuse dsa=maybe "must be one of auto, off, on"
refuse dsa_durable=x "must be one of flush, readback"
for size in 0 x 5T -1 "" 5Kx; do
	refuse dsa_min=$size "must be a size"
done
refuse dsa_wq=wq0.1 "must be the path"
refuse dsa=on,landing "different ways"
refuse dsa_wq=/dev/dsa/wq0.1,splice "different ways"

for TRANSPORT in $TRANSPORTS; do
	say "$TRANSPORT: the same bytes, whoever copied them"
	device
	mount_dsa
	said "large writes to $MNT are copied by wq0.1"
	write_files a
	check_files a
	[ "$(by_device)" -ge 20000000 ] || fail "by device: $(by_device) bytes"
	"$PMEMFS_STAT" "$MNT" >"$T/out"
	says '^dsa  *wq0.1 (dedicated'
	says ' jobs, .* by device, '
	if command -v fio >/dev/null; then
		say "$TRANSPORT: fio verifies"
		fio --name=fio --directory="$MNT" --rw=randwrite --bsrange=4k-1m --size=24m \
			--numjobs=2 --iodepth=16 --ioengine=libaio --direct=1 \
			--verify=crc32c --verify_fatal=1 --randseed=5 >"$T/out" 2>&1 ||
			{ cat "$T/out"; fail "fio"; }
	fi
	report "$TRANSPORT, dsa=on"
	say "in flight at most: $(stat_value dsa/in_flight_max)"
	unmount_pool
	no_device
	check_pool
	recheck a
	# waiting for a slow device takes no more CPU than waiting for a fast one
	device "delay ns=2000000 op=move"
	mount_dsa
	report "$TRANSPORT, dsa=on, each copy 2 ms late"
	unmount_pool
	no_device
	mount_pool "dsa=off,transport=$TRANSPORT"
	report "$TRANSPORT, dsa=off"
	unmount_pool
done

say "dsa_min"
device
TRANSPORT=dev
mount_pool $USE,dsa_min=96K,transport=dev
queue_works
was=$(($(by_device) + $(stat_value dsa/cpu_bytes)))
dd if="$T/bytes" of="$MNT/small" bs=95K count=20 status=none
same "$(($(by_device) + $(stat_value dsa/cpu_bytes)))" $was "bytes after writes of 95 KiB"
dd if="$T/bytes" of="$MNT/enough" bs=96K count=20 status=none
same "$(($(by_device) + $(stat_value dsa/cpu_bytes) - was))" $((96 * 20 << 10)) \
	"bytes of the others"
[ "$(fell_back small)" -ge 20 ] || fail "small writes are not counted"
rm "$MNT/small" "$MNT/enough"
unmount_pool
no_device

say "data=atomic, the page cache, and a pool that fills up"
device
TRANSPORT=dev
mount_dsa data=atomic
write_files b
check_files b
unmount_pool
recheck b
mount_dsa dax=never
write_files c
sync "$MNT"/c.*
[ "$(by_device)" -gt 0 ] || fail "nothing of the page cache went by device"
unmount_pool
mount_dsa
check_files c
dd if=/dev/zero of="$MNT/fill" bs=1M status=none 2>/dev/null && fail "it never fills up"
same "$(df --output=avail "$MNT" | tail -n 1 | tr -d ' ')" 0 "space left"
dd if="$T/bytes" of="$MNT/c.large" bs=300000 skip=9 seek=9 count=20 conv=notrunc status=none
rm "$MNT/fill"
unmount_pool
no_device
recheck c

# ---- write(2), a shared queue, one that is named -------------------------------------

say "where a portal cannot be mapped: by write(2)"
TRANSPORT=dev
was=$KIND
KIND=fifo
dsa_again fifo
device
mount_dsa
write_files d
check_files d
[ "$(by_device)" -ge 20000000 ] || fail "by device: $(by_device) bytes"
unmount_pool
no_device
recheck d
KIND=$was
dsa_again $KIND

say "a queue that is named"
device
mount_dsa dsa_wq=/dev/dsa/wq0.1
write_files e
unmount_pool
no_device
recheck e

# ---- what goes wrong -----------------------------------------------------------------

# trouble WHAT REASON RULE...: all bytes arrive all the same
trouble()
{
	local what=$1 reason=$2
	shift 2
	for TRANSPORT in $TRANSPORTS; do
		say "$TRANSPORT: $what"
		device "$@"
		mount_dsa
		write_files f
		check_files f
		[ "$(fell_back "$reason")" -gt 0 ] || fail "$reason is not counted"
		unmount_pool
		no_device
		recheck f
	done
}
trouble "page faults" fault "fault at=5000 dir=write op=move every=3" \
	"fault at=0 dir=read op=move every=5"
trouble "errors" status "status code=0x13 op=move every=4"
trouble "all kinds by chance" any "random seed=11 per=3"
trouble "a copy that never ends" timeout "never op=move nth=20"

say "halted, disabled, gone; and back"
mv_state() { echo "$1" >"$DSA_BUS/devices/$2/state"; }
for TRANSPORT in $TRANSPORTS; do
	for what in halted disabled gone; do
		device
		mount_dsa
		dd if="$T/bytes" of="$MNT/g.large" bs=1M status=none
		kill -USR1 "$DEVICE"
		case $what in
		halted) mv_state halted dsa0 ;;
		disabled) mv_state disabled wq0.1 ;;
		gone) rm -r "$DSA_BUS/devices/wq0.1" "$DSA_BUS/devices/dsa0/wq0.1" ;;
		esac
		write_files g
		check_files g
		[ "$(fell_back $what)" -gt 0 ] || fail "$what is not counted"
		n=$(by_device)
		kill -USR2 "$DEVICE"
		case $what in
		halted) mv_state enabled dsa0 ;;
		disabled) mv_state enabled wq0.1 ;;
		gone)
			dsa_queue "$DSA_BUS/devices/dsa0" wq0.1 dedicated 0
			ln -s dsa0/wq0.1 "$DSA_BUS/devices/wq0.1"
			;;
		esac
		for ((i = 0; i < 300; i++)); do
			dd if="$T/bytes" of="$MNT/g.large" bs=1M conv=notrunc count=4 status=none
			[ "$(by_device)" = "$n" ] || break
			sleep 0.1
		done
		[ "$(by_device)" -gt "$n" ] || fail "$what: it is not used again"
		unmount_pool
		no_device
		recheck g
	done
done

# A page of free memory is bad, and nobody knows: the bytes go elsewhere.
bad_page()
{
	local fuse=$PMEMFS_FUSE pool=$POOL block i
	say "a copy meets bad memory"
	POOL=$T/pool.bad
	make_pool 256M
	device		# one thread: others would begin elsewhere
	mount_dsa threads=1
	dd if="$T/bytes" of="$MNT/j" bs=1M count=4 status=none
	unmount_pool
	block=$("$DUMP_PMEMFS" --json "$POOL" path j 2>/dev/null | tr -d ' ",\n' |
		sed 's/.*file_block:0pool_block:\([0-9]*\).*/\1/')
	[ "$block" -gt 0 ] || fail "where is the file?"
	rm "$POOL"
	make_pool 256M				# about there a file will begin again
	echo "hidden $(((block + 9000) * 4096)) 4096" >"$T/poison"
	export PMEMFS_POISON=$T/poison
	PMEMFS_FUSE=$builddir/tests/support/poisoned-fuse
	mount_dsa threads=1
	for i in 0 1 2; do			# and go on to behind that page
		dd if="$T/bytes" of="$MNT/j.$i" bs=1M status=none || fail "a write failed"
	done
	said "bad memory at pool offset $(((block + 9000) * 4096)): a copy into free blocks met it"
	[ "$(fell_back medium)" -gt 0 ] || fail "it is not counted"
	same "$(stat_value errors/io)" 0 "I/O errors"
	unmount_pool
	no_device
	check_pool
	PMEMFS_FUSE=$fuse
	mount_pool dsa=off
	for i in 0 1 2; do
		cmp "$T/bytes" "$MNT/j.$i"
	done
	unmount_pool
	unset PMEMFS_POISON
	rm "$POOL"
	POOL=$pool
}
TRANSPORT=dev
[ ! -x "$builddir/tests/support/poisoned-fuse" ] || bad_page

# ---- the end, with copies under way that do not end by themselves ------------------------

LOAD=()
load()
{
	local i dir=$MNT/load		# which is only there while it is mounted
	LOAD=()
	mkdir -p "$dir"
	for i in 1 2 3 4; do
		while dd if="$T/bytes" of="$dir/$i" bs=512k count=8 status=none; do :; done \
			>/dev/null 2>&1 &
		LOAD+=($!)
	done
	while [ ! -s "$dir/4" ]; do sleep 0.05; done
	[ -z "${1:-}" ] || kill -USR1 "$DEVICE"
	while [ "$(stat_value dsa/in_flight)" = 0 ]; do sleep 0.02; done
}

load_ends()
{
	local i p
	for p in "${LOAD[@]}"; do
		for ((i = 0; i < 600; i++)); do
			kill -0 "$p" 2>/dev/null || break
			sleep 0.1
		done
		[ $i -lt 600 ] || fail "$1: a writer hangs"
		wait "$p" || true
	done
}

gone()
{
	local i
	for ((i = 0; i < 600; i++)); do
		kill -0 "$DAEMON" 2>/dev/null || return 0
		sleep 0.1
	done
	fail "$1: the daemon is still there"
}

abort_it()
{
	local n
	n=$(awk -v m="$MNT" '$5 == m { split($3, d, ":"); print d[2] }' /proc/self/mountinfo)
	echo 1 >"/sys/fs/fuse/connections/$n/abort"
}

for TRANSPORT in $TRANSPORTS; do
	say "$TRANSPORT: killed while the device copies"
	device "delay ns=2000000 every=2"
	mount_dsa
	dd if="$T/bytes" of="$MNT/h.large" bs=1M status=none
	load
	kill_daemon
	load_ends "killed"
	# the kernel would have waited for the device; this one finds nobody
	kill -KILL "$DEVICE"
	wait "$DEVICE" 2>/dev/null || true
	device
	mount_dsa
	cmp "$T/bytes" "$MNT/h.large"
	dd if="$T/bytes" of="$MNT/h.1" bs=1M status=none
	cmp "$T/bytes" "$MNT/h.1"
	rm -r "$MNT/load" "$MNT/h.1"
	unmount_pool
	no_device
	check_pool

	for how in term lazy abort; do
		[ $how != abort ] || [ -w /sys/fs/fuse/connections ] || continue
		say "$TRANSPORT: $how, while a halted device has copies"
		device
		mount_dsa
		load halted
		case $how in
		term) kill -TERM "$DAEMON"; sleep 0.3; kill -TERM "$DAEMON" 2>/dev/null || true ;;
		lazy) if is_root; then umount -l "$MNT"; else fusermount3 -uz "$MNT"; fi ;;
		abort) abort_it ;;
		esac
		load_ends $how
		gone $how
		daemon_done
		no_device
		check_pool
	done
done

# No operation that was answered is lost, whoever had its bytes (tests/soak).
soak()
{
	local fuse=$PMEMFS_FUSE
	say "killed again and again"
	device "delay ns=300000 every=3"
	printf '#!/bin/sh\nexec "%s" -o %s,dsa_min=4K "$@"\n' "$fuse" $USE >"$T/soak-fuse"
	chmod +x "$T/soak-fuse"
	PMEMFS_FUSE=$T/soak-fuse SOAK_ROUNDS=6 bash "$srcdir/tests/soak/s_soak.sh" ||
		fail "the soak test"
	kill -TERM "$DEVICE"
	wait "$DEVICE" || true		# it finds nobody where a daemon was
	DEVICE=''
	awk -F'[ =]' '/^softdsa: submitted/ { n = $3 } END { exit n < 10 }' "$T/device.log" ||
		fail "the device had nothing to do: $(cat "$T/device.log")"
}
[ ! -x "$builddir/tests/soak/soak" ] || soak

# ---- machines on which there is none -----------------------------------------------------

# no_dsa WHAT LINES: dsa=auto serves, with so many lines about it; dsa=on does not
no_dsa()
{
	local what=$1 lines=$2 status=0
	say "$what: the CPU copies"
	: >"$T/daemon.log"
	mount_pool
	dd if="$T/bytes" of="$MNT/i.large" bs=1M status=none
	cmp "$T/bytes" "$MNT/i.large"
	unmount_pool
	same "$(grep -c DSA "$T/daemon.log")" "$lines" "lines about it: $(cat "$T/daemon.log")"
	"$PMEMFS_FUSE" -f -o dsa=on "$POOL" "$MNT" >"$T/out" 2>&1 || status=$?
	same $status 32 "exit status with dsa=on"
	same "$(wc -l <"$T/out")" 1 "lines of it: $(cat "$T/out")"
	grep -q DSA "$T/out" || fail "it says: $(cat "$T/out")"
	! mountpoint -q "$MNT" || fail "mounted all the same"
	dsa_again $KIND
}
for attr in dsa0/op_cap dsa0/cmd_status dsa0/state wq0.?/type wq0.?/mode wq0.?/size; do
	# shellcheck disable=SC2086
	rm "$DSA_BUS"/devices/$attr
	no_dsa "without $attr" 1
done
echo "what is this" >"$DSA_BUS/devices/dsa0/op_cap"
no_dsa "an op_cap that nobody knows" 1
rm /dev/dsa/*
no_dsa "without nodes" 1
if command -v setpriv >/dev/null; then
	real=$PMEMFS_FUSE
	printf '#!/bin/sh\nexec setpriv --bounding-set -dac_override,-dac_read_search "%s" "$@"\n' \
		"$real" >"$T/bound"
	chmod +x "$T/bound"
	chmod 000 /dev/dsa/*
	PMEMFS_FUSE=$T/bound
	no_dsa "without permission" 1
	PMEMFS_FUSE=$real
fi
for q in wq0.0 wq0.1; do
	mv_state disabled $q
done
no_dsa "queues that are not enabled" 1
dsa_no_machine
no_dsa "no DSA at all" 0
