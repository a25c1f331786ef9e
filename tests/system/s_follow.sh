# SPDX-License-Identifier: BSD-3-Clause
# s_follow.sh - the daemon's threads go to the CPU where the client is
#
# With affinity=client, that is; the default lets go of a CPU that is crowded,
# and where a test runs any CPU may be. t_follow.c has that.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
command -v taskset >/dev/null || skip "taskset is not installed"
mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
	awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')
[ ${#cpus[@]} -gt 1 ] || skip "only one CPU"
scratch 100
make_pool 48M

# The CPUs that each worker may run on; the main thread is no worker.
places()
{
	local t
	for t in "/proc/$DAEMON/task"/*; do
		[ "${t##*/}" != "$DAEMON" ] || continue
		sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$t/status"
	done
}

# One client on one CPU, one request at a time.
read_on() { taskset -c "$1" dd if="$MNT/f" of=/dev/null bs=512 count=4000 status=none; }

all=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$$/status)

say "a client on one CPU, then on another"
mount_pool threads=2,affinity=client
head -c 2048000 /dev/zero >"$MNT/f"
for cpu in "${cpus[0]}" "${cpus[1]}" "${cpus[0]}"; do
	read_on "$cpu"
	places | grep -qx "$cpu" || fail "no thread followed to CPU $cpu: $(places | xargs)"
done
unmount_pool

say "affinity=none: nobody moves"
mount_pool threads=2,affinity=none
read_on "${cpus[1]}"
same "$(places | sort -u)" "$all" "where the threads may run"
unmount_pool
check_pool
