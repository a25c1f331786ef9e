# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# devdax - a pool that is a devdax device, also looked at read-only
# vm: machine=nvdimm kernel=6.12,6.1 time=240 default
devdax
mkfs.pmemfs -q "$DEV"
round_trip "$DEV"
[[ $SAID == *"devdax device"*cache-line*"survives power loss"* ]] || fail "$SAID"
fact "$STANDS"

say "a log to replay, and nobody may write"
mount_pool "$DEV"
cp /vm/lib.sh $MNT/last
kill_daemon
# a devdax device has no read(2), so no sha256sum either
state() { for t in super slots log; do dump.pmemfs "$DEV" $t; done; }
before=$(state)
[ -n "$before" ] || fail "dump.pmemfs says nothing"
fsck.pmemfs -n -f "$DEV" >/tmp/fsck.log || { cat /tmp/fsck.log; fail "fsck.pmemfs -n"; }
grep -q "replayed (in memory only)" /tmp/fsck.log || fail "$(cat /tmp/fsck.log)"
dump.pmemfs "$DEV" slots >/tmp/dump.log 2>&1 || { cat /tmp/dump.log; fail dump.pmemfs; }
mount_pool "$DEV" ro
[[ $SAID == *read-only* ]] || fail "$SAID"
cmp /vm/lib.sh $MNT/last
! touch $MNT/new 2>/dev/null || fail "written to read-only"
unmount_pool
same "$(state)" "$before" "superblock, slots and log after being looked at"
fsck.pmemfs -n -f "$DEV" >/tmp/fsck.log
grep -q "replayed (in memory only)" /tmp/fsck.log || fail "somebody replayed the log"
