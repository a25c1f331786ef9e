/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats_json.c - the numbers of a mount as one JSON object
 *
 * Written by hand: the daemon needs no library for it, and whoever has none
 * reads it with getfattr(1). Names end in their unit where there is one.
 *
 *   J1  It fits in an extended attribute (64 KiB) whatever the numbers are:
 *       without the histograms if need be.
 *   J2  Only what was counted is listed: an operation that never came is not.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/count.h"
#include "fuse/request.h"
#include "fuse/session.h"
#include "fuse/stats.h"
#include "fuse/transport.h"
#include "meta/alloc.h"
#include "meta/redo.h"

struct json {
	char *p;
	size_t left;
	bool full, comma;
};

__attribute__((format(printf, 2, 3)))
static void put(struct json *j, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(j->p, j->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= j->left) {
		j->full = true;
		return;
	}
	j->p += n;
	j->left -= (size_t)n;
}

static void key(struct json *j, const char *name)
{
	put(j, "%s\"%s\":", j->comma ? "," : "", name);
	j->comma = true;
}

static void open_object(struct json *j, const char *name)
{
	if (name)
		key(j, name);
	put(j, "{");
	j->comma = false;
}

static void close_object(struct json *j)
{
	put(j, "}");
	j->comma = true;
}

static void num(struct json *j, const char *name, uint64_t v)
{
	key(j, name);
	put(j, "%" PRIu64, v);
}

static void flag(struct json *j, const char *name, bool v)
{
	key(j, name);
	put(j, v ? "true" : "false");
}

static void str(struct json *j, const char *name, const char *s)
{
	key(j, name);
	put(j, "\"");
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < ' ' || c == '"' || c == '\\' || c >= 0x7f)
			put(j, "\\u%04x", c);	/* a label is what mkfs was given */
		else
			put(j, "%c", c);
	}
	put(j, "\"");
}

static void uuid(struct json *j, const uint8_t u[16])
{
	key(j, "uuid");
	put(j, "\"");
	for (unsigned i = 0; i < 16; i++)
		put(j, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
	put(j, "\"");
}

/* ---- what it is ------------------------------------------------------------- */

static void put_mount(struct json *j, struct session *s)
{
	static const char *const dax[] = {
		[DAX_ALWAYS] = "always", [DAX_NEVER] = "never", [DAX_INODE] = "inode",
	};

	open_object(j, "mount");
	str(j, "version", PACKAGE_VERSION);
	num(j, "pid", (uint64_t)getpid());
	num(j, "uptime_ns", stats_clock() - s->started);
	str(j, "dax", dax[s->opt->dax]);
	str(j, "data", s->opt->fs.data == FS_DATA_ATOMIC ? "atomic" : "ordered");
	str(j, "transport", s->transport->name);
	str(j, "read", s->read_map ? "map" : "copy");
	num(j, "threads", s->nr_workers);
	num(j, "protocol_minor", s->minor);
	num(j, "protocol_flags", s->flags);
	num(j, "open_files", atomic_load_explicit(&s->open_files, memory_order_relaxed));
	close_object(j);
}

static void put_pool(struct json *j, struct fs *fs)
{
	static const char *const gran[] = {
		[PM_GRAN_BYTE] = "byte", [PM_GRAN_LINE] = "line", [PM_GRAN_PAGE] = "page",
	};
	char buf[160];

	open_object(j, "pool");
	uuid(j, fs->geo.uuid);
	str(j, "label", fs->geo.label);
	num(j, "size_bytes", pm_size(fs->pm));
	str(j, "medium", pm_describe(fs->pm, buf, sizeof(buf)));
	str(j, "granularity", gran[pm_granularity(fs->pm)]);
	flag(j, "survives_power_loss", pm_survives_power_loss(fs->pm));
	flag(j, "read_only", fs->ro);
	flag(j, "stopped_writing", !fs->ro && !fs_writable(fs));
	close_object(j);
}

/* ---- requests ----------------------------------------------------------------- */

static void put_histogram(struct json *j, const struct stats_sum *sum)
{
	unsigned from = 0, to = STATS_BUCKETS;

	while (from < to && !sum->bucket[from])
		from++;
	while (to > from && !sum->bucket[to - 1])
		to--;
	num(j, "first", from);
	key(j, "histogram");
	for (unsigned i = from; i < to; i++)
		put(j, "%c%" PRIu64, i == from ? '[' : ',', sum->bucket[i]);
	put(j, "%s", from == to ? "[]" : "]");
}

static void put_operations(struct json *j, bool histograms)
{
	struct stats_sum sum;

	if (histograms) {
		key(j, "histogram_bounds_ns");
		for (unsigned i = 0; i < STATS_BUCKETS - 1; i++)
			put(j, "%c%" PRIu64, i ? ',' : '[', stats_bound(i));
		put(j, "]");
	}
	open_object(j, "operations");
	for (uint32_t op = 0; op < FUSE_OPCODES; op++) {
		stats_sum(op, &sum);
		if (!sum.count)
			continue;					/* J2 */
		open_object(j, request_name(op));
		num(j, "count", sum.count);
		num(j, "errors", sum.errors);
		num(j, "total_ns", sum.total);
		num(j, "p50_ns", stats_quantile(&sum, 500));
		num(j, "p99_ns", stats_quantile(&sum, 990));
		num(j, "max_ns", sum.max);
		if (histograms)
			put_histogram(j, &sum);
		close_object(j);
	}
	close_object(j);
}

/* ---- below --------------------------------------------------------------------- */

static void put_counts(struct json *j, struct fs *fs)
{
	static const struct { const char *group, *name; enum counter id; } list[] = {
		{ "copy", "nocache_bytes", COUNT_NOCACHE },
		{ NULL, "pipe_bytes", COUNT_PIPE },
		{ NULL, "spliced_bytes", COUNT_SPLICED },
		{ NULL, "landed_bytes", COUNT_LANDED },
		{ NULL, "zero_bytes", COUNT_ZERO },
		{ NULL, "within_bytes", COUNT_WITHIN },
		{ NULL, "read_mapped_bytes", COUNT_READ_MAPPED },
		{ NULL, "read_copied_bytes", COUNT_READ_COPIED },
		{ "medium", "fences", COUNT_FENCES },
		{ NULL, "flushes", COUNT_FLUSHES },
		{ NULL, "flushed_bytes", COUNT_FLUSHED },
		{ NULL, "copies", COUNT_COPIES },
		{ NULL, "copied_bytes", COUNT_COPIED },
		{ NULL, "stored_bytes", COUNT_STORED },
		{ "waits", "lane", COUNT_WAIT_LANE },
		{ NULL, "log_room", COUNT_WAIT_LOG_ROOM },
		{ NULL, "inode", COUNT_WAIT_INODE },
		{ NULL, "inode_cache", COUNT_WAIT_ICACHE },
		{ NULL, "rename", COUNT_WAIT_RENAME },
		{ NULL, "inode_table", COUNT_WAIT_ITABLE },
		{ NULL, "block_group", COUNT_WAIT_GROUP },
		{ NULL, "quarantine", COUNT_WAIT_QUARANTINE },
		{ NULL, "orphan", COUNT_WAIT_ORPHAN },
	};
	const struct counters *c = pm_counters(fs->pm);

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		if (list[i].group) {
			if (i)
				close_object(j);
			open_object(j, list[i].group);
		}
		num(j, list[i].name, count_sum(c, list[i].id));
	}
	close_object(j);
}

/* Only where there is a device (J2): which, and why it was not asked. */
static void put_dsa(struct json *j, struct session *s)
{
	struct dsa_stats st;
	char what[256];

	if (!s->dsa)
		return;
	dsa_stats(s->dsa, &st);
	open_object(j, "dsa");
	str(j, "device", dsa_describe(s->dsa, what, sizeof(what)));
	num(j, "queues", st.queues);
	num(j, "queues_on", st.queues_on);
	num(j, "jobs", st.jobs);
	num(j, "descriptors", st.descriptors);
	num(j, "batches", st.batches);
	num(j, "device_bytes", st.bytes_device);
	num(j, "cpu_bytes", st.bytes_cpu);
	num(j, "in_flight", st.inflight);
	num(j, "in_flight_max", st.inflight_max);
	open_object(j, "fell_back");
	for (enum dsa_reason i = 0; i < DSA_NR_WHY; i++)
		num(j, dsa_why_name(i), st.why[i]);
	num(j, "no_room", atomic_load_explicit(&s->no_room, memory_order_relaxed));
	close_object(j);
	close_object(j);
}

static void put_log(struct json *j, struct fs *fs)
{
	const struct counters *c = pm_counters(fs->pm);
	struct redo_state st;

	if (!fs->redo)
		return;
	redo_get_state(fs, &st);
	open_object(j, "log");
	num(j, "lanes", st.lanes);
	num(j, "lane_bytes", st.lane_size);
	num(j, "busy_lanes", st.busy);
	num(j, "used_bytes", st.used);
	num(j, "touched_bytes", st.touched);
	num(j, "sequence", st.drawn);
	num(j, "watermark", st.watermark);
	num(j, "records", count_sum(c, COUNT_RECORDS));
	num(j, "record_bytes", count_sum(c, COUNT_RECORD_BYTES));
	num(j, "checkpoints", count_sum(c, COUNT_CHECKPOINTS));
	close_object(j);
}

static void put_space(struct json *j, struct fs *fs)
{
	struct alloc_state al;
	struct fs_stats st;

	fs_get_stats(fs, &st);
	alloc_get_state(fs, &al);
	open_object(j, "space");
	num(j, "block_bytes", PMEMFS_BLOCK_SIZE);
	num(j, "blocks", fs->geo.nr_blocks);
	num(j, "free_blocks", st.free_blocks);
	num(j, "available_blocks", alloc_avail_blocks(fs));
	num(j, "reserved_blocks", st.reserved_blocks);
	num(j, "quarantined_blocks", st.quarantined_blocks);
	num(j, "groups", fs->geo.nr_groups);
	num(j, "loaded_groups", al.loaded);
	num(j, "windows", al.windows);
	num(j, "used_windows", al.used_windows);
	num(j, "inodes", st.inodes_used);
	num(j, "cached_inodes", st.inodes_cached);
	close_object(j);
}

static void put_errors(struct json *j, struct fs *fs)
{
	open_object(j, "errors");
	num(j, "io", stats_errors(EIO));
	num(j, "no_space", stats_errors(ENOSPC));
	num(j, "damaged", stats_errors(EUCLEAN));
	num(j, "medium_faults", pm_fault_count(fs->pm, NULL));
	num(j, "damage_reports", atomic_load_explicit(&fs->damage, memory_order_relaxed));
	close_object(j);
}

size_t stats_json(struct session *s, char *buf, size_t size)
{
	for (int histograms = 1; histograms >= 0; histograms--) {	/* J1 */
		struct json j = { .p = buf, .left = size };

		open_object(&j, NULL);
		put_mount(&j, s);
		put_pool(&j, s->fs);
		put_operations(&j, histograms);
		put_counts(&j, s->fs);
		put_dsa(&j, s);
		put_log(&j, s->fs);
		put_space(&j, s->fs);
		put_errors(&j, s->fs);
		close_object(&j);
		put(&j, "\n");
		if (!j.full)
			return size - j.left;
	}
	return 0;
}
