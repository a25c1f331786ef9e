/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm.c - the medium, as the rest of the program sees it
 *
 * Checks bounds, counts, and passes on to the backend, which knows how.
 * Bounds are checked in every build: a store outside the pool is a bug that
 * must not become damage, so it stops the program with a line that says where.
 *
 * Faults (fault.c) and what a store leaves (pm.h) are promised per backend;
 * nothing here flushes or fences by itself.
 */
#include "pm/pm.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/count.h"
#include "base/log.h"
#include "pm/backend.h"
#include "pm/fault.h"
#include "pm/overlay.h"

struct pm {
	struct pm_map m;		/* (c) */
	const struct pm_backend *be;	/* (c) */
	struct pm_overlay *overlay;	/* (c) ours, or NULL */
	struct fault_pool fault;
	_Atomic uint64_t say_next;	/* log when so many faults are reached */
	struct counters counters;
};

#define PM_CHECK(pm, off, len) do { \
	if (__builtin_expect((off) > (pm)->m.size || \
			     (len) > (pm)->m.size - (off), 0)) \
		out_of_pool(__func__, (pm)->m.size, (off), (len)); \
} while (0)

__attribute__((noreturn, cold))
static void out_of_pool(const char *who, uint64_t size, uint64_t off, uint64_t len)
{
	log_err("%s: bug: %llu bytes at %llu in a pool of %llu", who,
		(unsigned long long)len, (unsigned long long)off,
		(unsigned long long)size);
	abort();
}

static inline void count(struct pm *pm, enum counter id, uint64_t n)
{
	count_add(&pm->counters, id, n);
}

/* ---- open and close ---------------------------------------------------- */

/* PM_RDONLY of what the kernel cannot map privately. */
static int open_by_hand(struct pm *pm, const char *path, const struct pm_config *cfg)
{
	int err = pm_overlay_new(&pm->overlay, path, cfg, true);
	struct pm_config over = { .backend_arg = pm->overlay, .granularity = -1 };

	if (err)
		return err;
	pm->be = &pm_backend_overlay;
	return pm->be->open(&pm->m, path, &over);
}

int pm_open(struct pm **out, const char *path, const struct pm_config *cfg)
{
	struct pm *pm;
	int err;

	pm = aligned_alloc(_Alignof(struct pm), sizeof(*pm));
	if (!pm)
		return -ENOMEM;
	memset(pm, 0, sizeof(*pm));
	pm->be = cfg->backend ? cfg->backend : &pm_backend_pmem2;
	pm->m = (struct pm_map){ .fd = -1, .numa = -1, .huge = -1 };
	err = pm->be->open(&pm->m, path, cfg);
	if (err && pm->m.by_hand)
		err = open_by_hand(pm, path, cfg);
	if (err)
		goto free_pm;
	for (unsigned i = 0; i < pm->m.nr_bad; i++)
		fault_note_bad(&pm->fault, pm->m.bad[i]);
	err = fault_register(&pm->fault, &pm->m);
	if (err)
		goto close_map;
	*out = pm;
	return 0;

close_map:
	pm->be->close(&pm->m);
free_pm:
	pm_overlay_free(pm->overlay);
	free(pm);
	return err;
}

void pm_close(struct pm *pm)
{
	if (!pm)
		return;
	fault_unregister(&pm->fault);
	pm->be->close(&pm->m);
	pm_overlay_free(pm->overlay);
	free(pm);
}

/* ---- what it is -------------------------------------------------------- */

uint64_t pm_size(const struct pm *pm)
{
	return pm->m.size;
}

enum pm_granularity pm_granularity(const struct pm *pm)
{
	return pm->m.granularity;
}

enum pm_kind pm_kind(const struct pm *pm)
{
	return pm->m.kind;
}

bool pm_has_holes(const struct pm *pm)
{
	return pm->m.holes;
}

bool pm_survives_power_loss(const struct pm *pm)
{
	return pm->m.survives;
}

int pm_numa(const struct pm *pm)
{
	return pm->m.numa;
}

static const char *remark(const struct pm_map *m)
{
	if (m->kind == PM_TMPFS)
		return "DRAM emulating pmem";
	if (m->kind == PM_MEMORY)
		return "private memory";
	if (!m->survives && (m->kind == PM_DEVDAX || m->map_sync))
		return "not known to keep its contents";
	if (!m->survives)
		return "forced, does not survive a loss of power";
	if (m->granularity == PM_GRAN_PAGE)
		return "page cache, synced by msync";
	return "persistent memory";
}

static void describe_huge(const struct pm_map *m, char *buf, size_t size)
{
	if (m->huge == 100)
		snprintf(buf, size, ", 2 MiB pages");
	else if (m->huge > 0)
		snprintf(buf, size, ", 2 MiB pages for %d%%", m->huge);
	else if (m->huge == 0)
		snprintf(buf, size, ", no 2 MiB pages");
	else
		*buf = '\0';
}

const char *pm_describe(const struct pm *pm, char *buf, size_t size)
{
	static const char *const kind[] = {
		[PM_FILE] = "regular file", [PM_TMPFS] = "tmpfs file",
		[PM_FSDAX] = "fsdax file", [PM_DEVDAX] = "devdax device",
		[PM_MEMORY] = "memory",
	};
	static const char *const gran[] = {
		[PM_GRAN_BYTE] = "byte", [PM_GRAN_LINE] = "cache-line",
		[PM_GRAN_PAGE] = "page",
	};

	char huge[32], numa[32] = "";

	describe_huge(&pm->m, huge, sizeof(huge));
	if (pm->m.numa >= 0)
		snprintf(numa, sizeof(numa), ", NUMA node %d", pm->m.numa);
	snprintf(buf, size, "%s, %s granularity%s%s%s (%s)%s", kind[pm->m.kind],
		 gran[pm->m.granularity], pm->m.map_sync && pm->m.kind == PM_FSDAX ?
		 ", MAP_SYNC" : "", huge, numa, remark(&pm->m),
		 pm->m.private ? ", read-only" : "");
	return buf;
}

const void *pm_at(const struct pm *pm, uint64_t off, size_t len)
{
	PM_CHECK(pm, off, len);
	return pm->m.base + off;
}

/* ---- stores ------------------------------------------------------------ */

void pm_write(struct pm *pm, uint64_t off, const void *src, size_t len)
{
	PM_CHECK(pm, off, len);
	count(pm, COUNT_STORED, len);
	pm->be->write(&pm->m, off, src, len);
}

void pm_zero(struct pm *pm, uint64_t off, size_t len)
{
	PM_CHECK(pm, off, len);
	count(pm, COUNT_STORED, len);
	pm->be->zero(&pm->m, off, len);
}

void pm_bits(struct pm *pm, uint64_t off, uint32_t bit, uint32_t nr, bool set)
{
	uint64_t bytes = align_up((uint64_t)bit + nr, 64) / 8;

	if (!nr)
		return;
	PM_CHECK(pm, off, bytes);
	if (off % 8)
		out_of_pool("pm_bits: unaligned", pm->m.size, off, bytes);
	count(pm, COUNT_STORED, bytes - bit / 64 * 8);
	pm->be->bits(&pm->m, off, bit, nr, set);
}

void pm_copy(struct pm *pm, uint64_t off, const void *src, size_t len)
{
	PM_CHECK(pm, off, len);
	count(pm, COUNT_COPIES, 1);
	count(pm, COUNT_COPIED, len);
	pm->be->copy(&pm->m, off, src, len);
}

void pm_copy_zero(struct pm *pm, uint64_t off, size_t len)
{
	PM_CHECK(pm, off, len);
	count(pm, COUNT_COPIES, 1);
	count(pm, COUNT_COPIED, len);
	pm->be->copy_zero(&pm->m, off, len);
}

void *pm_window(struct pm *pm, uint64_t off, size_t len)
{
	PM_CHECK(pm, off, len);
	pm->be->window(&pm->m, off, len);
	return pm->m.base + off;
}

void pm_window_done(struct pm *pm, uint64_t off, size_t len)
{
	PM_CHECK(pm, off, len);
	count(pm, COUNT_STORED, len);
	pm->be->window_done(&pm->m, off, len);
}

int pm_populate(struct pm *pm, uint64_t off, size_t len)
{
	uint64_t from = align_down(off, PMEMFS_BLOCK_SIZE);

	PM_CHECK(pm, off, len);
	return madvise(pm->m.base + from, off + len - from, MADV_POPULATE_WRITE) ? -errno : 0;
}

bool pm_can_splice(const struct pm *pm)
{
	return pm->be->splice && pm->m.kind == PM_FSDAX && pm->m.granularity != PM_GRAN_PAGE;
}

ssize_t pm_splice(struct pm *pm, uint64_t off, int pipe, size_t len)
{
	ssize_t n;

	if (!pm_can_splice(pm))
		return -EOPNOTSUPP;
	pm_window(pm, off, len);
	n = pm->be->splice(&pm->m, off, pipe, len);
	pm_window_done(pm, off, n > 0 ? (size_t)n : 0);
	return n;
}

/*
 * Set or clear a run of bits, a 64-bit word at a time, each word by one
 * atomic operation: neighbours in a word may be changed by other threads.
 */
void pm_plain_bits(uint8_t *base, uint64_t off, uint32_t bit, uint32_t nr, bool set)
{
	void *bytes = base + off;
	uint64_t *word = (uint64_t *)bytes + bit / 64;

	bit %= 64;
	while (nr) {
		uint32_t n = (uint32_t)min64(nr, 64 - bit);
		uint64_t mask = (n == 64 ? ~0ull : (1ull << n) - 1) << bit;

		mask = put64(mask).raw;
		if (set)
			__atomic_fetch_or(word, mask, __ATOMIC_RELEASE);
		else
			__atomic_fetch_and(word, ~mask, __ATOMIC_RELEASE);
		nr -= n;
		bit = 0;
		word++;
	}
}

/* ---- durability -------------------------------------------------------- */

void pm_flush(struct pm *pm, uint64_t off, size_t len)
{
	PM_CHECK(pm, off, len);
	if (!len)
		return;
	count(pm, COUNT_FLUSHES, 1);
	count(pm, COUNT_FLUSHED, len);
	pm->be->flush(&pm->m, off, len);
}

int pm_fence(struct pm *pm)
{
	count(pm, COUNT_FENCES, 1);
	return pm->be->fence(&pm->m);
}

void pm_get_stats(const struct pm *pm, struct pm_stats *out)
{
	const struct counters *c = &pm->counters;

	out->fences = count_sum(c, COUNT_FENCES);
	out->flushes = count_sum(c, COUNT_FLUSHES);
	out->flushed_bytes = count_sum(c, COUNT_FLUSHED);
	out->copies = count_sum(c, COUNT_COPIES);
	out->copied_bytes = count_sum(c, COUNT_COPIED);
	out->stored_bytes = count_sum(c, COUNT_STORED);
}

struct counters *pm_counters(struct pm *pm)
{
	return &pm->counters;
}

/* ---- faults ------------------------------------------------------------ */

uint64_t pm_fault_mark(const struct pm *pm)
{
	return atomic_load_explicit(&pm->fault.seq, memory_order_acquire);
}

bool pm_faulted(const struct pm *pm, uint64_t mark)
{
	uint64_t seq;

	atomic_thread_fence(memory_order_acquire);	/* after what was read */
	seq = atomic_load_explicit(&pm->fault.seq, memory_order_relaxed);
	return seq != mark || (seq & 1);
}

/* Ever more rarely, so that bad media do not fill a disk. */
static void say_fault(struct pm *pm)
{
	uint64_t last, n = pm_fault_count(pm, &last);
	uint64_t next = atomic_load(&pm->say_next);

	if (n < next || !atomic_compare_exchange_strong(&pm->say_next, &next, 2 * n))
		return;
	log_err("the medium failed to give a page at pool offset %llu (faults so "
		"far: %llu); the request got an I/O error",
		(unsigned long long)last, (unsigned long long)n);
}

void pm_fault_repair(struct pm *pm)
{
	if (fault_repair(&pm->fault))
		say_fault(pm);
}

uint64_t pm_fault_count(const struct pm *pm, uint64_t *last_off)
{
	if (last_off)
		*last_off = atomic_load(&pm->fault.last);
	return atomic_load(&pm->fault.count);
}

bool pm_fault_here(const struct pm *pm, uint64_t *off)
{
	return fault_here(&pm->fault, off);
}

/* ---- bad memory -------------------------------------------------------- */

unsigned pm_bad_count(const struct pm *pm)
{
	return atomic_load_explicit(&pm->fault.nr_bad, memory_order_acquire);
}

struct pm_range pm_bad(const struct pm *pm, unsigned i)
{
	return pm->fault.bad[i];
}

void pm_touch(const void *at, size_t len)
{
	const volatile uint8_t *p = at;

	for (size_t i = 0; i < len; i += 64)
		(void)p[i];
	if (len)
		(void)p[len - 1];
}

int pm_bad_clear(struct pm *pm, struct pm_range r)
{
	PM_CHECK(pm, r.off, r.len);
	return pm->be->clear ? pm->be->clear(&pm->m, r) : -EOPNOTSUPP;
}
