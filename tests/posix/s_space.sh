# SPDX-License-Identifier: BSD-3-Clause
# s_space.sh - a full pool to the last call: full.c on mounts of every kind
#
# df against a model: what is in use is the blocks of all files, which stat(2)
# tells, and the inode table, which only grows.
set -eu
. "${srcdir:-.}/tests/system/lib.sh"
scratch 150
full=$builddir/tests/posix/full
opts=suid,dev
is_root || opts=rw

each_mount()
{
	local mode way
	for mode in dax=always dax=never; do
		for way in transport=auto transport=dev,threads=1; do
			say "$1: $mode,$way"
			rm -f "$POOL"
			make_pool 32M "${@:2}"
			mount_pool "$opts,$mode,$way"
			"$1"
			unmount_pool
			check_pool
		done
	done
}

calls() { "$full" "$MNT" calls; }
each_mount calls

# unlink(2) and close(2) return before the daemon hears that a file is not in use
# any more. Whoever finds no space meanwhile waits for that.
again()
{
	local threads i
	threads=$(nr_threads)
	"$full" "$MNT" again 10
	# those that read in place of the waiting leave with the next request they get
	for ((i = 0; i < 400; i++)); do
		[ "$(nr_threads)" -gt "$threads" ] || return 0
		stat -f "$MNT" >"$T/out"
		sleep 0.02
	done
	fail "$(nr_threads) threads of $threads stay"
}
nr_threads() { find "/proc/$DAEMON/task" -mindepth 1 -maxdepth 1 | wc -l; }
each_mount again

killed()
{
	local holder
	: >"$T/holder"
	"$full" "$MNT" hold 20 >"$T/holder" &
	holder=$!
	wait_for_word ready "$T/holder"
	kill_daemon
	kill $holder
	wait $holder 2>/dev/null || true
	mount_pool "$opts"
	"$full" "$MNT" write 19
}
say "what a dead daemon left is space at once"
make_pool 32M -f
mount_pool "$opts"
killed
unmount_pool
check_pool

if is_root; then
	reserve() { "$full" "$MNT" root 1000; }
	each_mount reserve -m 10
fi

# The blocks in use besides those of files.
besides()
{
	local total free of_files
	read -r total free < <(stat -f -c '%b %f' "$MNT")
	of_files=$(find "$MNT" -printf '%i %b\n' | sort -u | awk '{ n += $2 } END { print n / 8 }')
	echo $((total - free - of_files))
}

for mode in dax=always dax=never; do
	say "df is the sum of all files: $mode"
	rm -f "$POOL"
	make_pool 64M
	mount_pool "$opts,$mode"
	mkdir "$MNT/many"
	(cd "$MNT/many" && seq 600 | xargs touch)	# the inode table grows now
	rm -r "$MNT/many"
	unmount_pool
	mount_pool "$opts,$mode"
	want=$(besides)
	for _ in 1 2 3 4; do
		"$full" "$MNT" random 1500
		unmount_pool		# or the kernel knows old numbers of blocks
		mount_pool "$opts,$mode"
		same "$(besides)" "$want" "blocks in use besides those of files"
	done
	find "$MNT" -mindepth 1 -delete
	unmount_pool
	mount_pool "$opts,$mode"
	same "$(besides)" "$want" "blocks in use besides those of files, when all are gone"
	unmount_pool
	check_pool
done
