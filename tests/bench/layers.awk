# SPDX-License-Identifier: BSD-3-Clause
#
# layers.awk - perf samples, added up by the layer that owns them
#
# First pass (bench, target set): the line of work.c, then `perf script` lines
# "comm period ip sym (dso)"; prints bench, target, layer, us for one operation.
# Second pass (table=1): those lines as a table.
#
# A sample belongs to the layer of the function that was running. Where the
# kernel keeps interrupts off, as around waking and switching tasks, the
# sample falls on what turns them on again: _raw_spin_unlock_irqrestore is
# therefore counted as waking. Time that only passes (a CPU that is idle while
# the other one wakes up) is in the column idle, and what the machine did
# besides in the last one: if that is not small, measure again.

function layer(comm, sym, dso)
{
	if (comm == "swapper")
		return "idle"
	if (comm !~ /^(work|pmemfs-fuse|passthrough_ll|perf-exec)$/)
		return "others"
	if (dso ~ /libpmem2|libminiasync/)
		return "copy"
	if (dso ~ /pmemfs-fuse|passthrough_ll|libfuse|liburing/)
		return "daemon"
	if (sym ~ /memcpy|memmove|copy_(to|from)_iter|copy_folio_(to|from)|copy_user|copy_mc|copyout|copyin|rep_movs|copy_page_/)
		return "copy"
	if (sym ~ /^_raw_spin_unlock_irq|task_switch|schedule|try_to_wake|__wake_up|queue_task|_entity|update_(curr|load|rq)|select_|pv_queued|idle|tick_|hrtimer|ttwu|context_switch|native_.*halt|reschedule/)
		return "waking"
	if (sym ~ /^fuse_/)
		return "fuse"
	if (sym ~ /^_?_?io_|uring/)
		return "io_uring"
	if (sym ~ /gup|user_pages|folio|pin_|iov_iter|shmem|filemap|^xas?_|page|_fault|mm_|^mt_|mas_|memcg|mem_cgroup|anonymous|lruvec|vma|charge/)
		return "pages"
	if (dso ~ /kernel/)
		return "syscalls"
	return "client"
}

BEGIN {
	nr = split("copy pages waking fuse io_uring daemon syscalls client idle others", names, " ")
}

table {
	if (!(($1 SUBSEP $2) in seen)) {
		seen[$1, $2] = 1
		row[++rows] = $1 SUBSEP $2
	}
	us[$1, $2, $3] = $4
	next
}

FNR == NR {
	ops = $1
	took = $3
	next
}

{
	# comm may hold blanks; what follows it does not
	dso = $NF
	sym = $(NF - 1)
	sub(/\+0x.*/, "", sym)
	for (i = NF - 2; i > 1 && $i !~ /^[0-9a-f]+$/; i--)
		;
	period = $(i - 1)
	comm = $1
	sum[layer(comm, sym, dso)] += period
}

END {
	if (!table) {
		printf "%s\t%s\tall\t%.2f\n", bench, target, took / 1000 / ops
		for (i = 1; i <= nr; i++)
			printf "%s\t%s\t%s\t%.2f\n", bench, target, names[i], sum[names[i]] / 1000 / ops
		exit
	}
	print "us of CPU time in one operation, client and daemon, by the layer that spent it"
	printf "%-14s %-9s %9s", "bench", "target", "elapsed"
	for (i = 1; i <= nr; i++)
		printf " %9s", names[i]
	print ""
	for (r = 1; r <= rows; r++) {
		split(row[r], k, SUBSEP)
		printf "%-14s %-9s %9.2f", k[1], k[2], us[k[1], k[2], "all"]
		for (i = 1; i <= nr; i++)
			printf " %9.2f", us[k[1], k[2], names[i]]
		print ""
	}
}
