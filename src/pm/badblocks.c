/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * badblocks.c - what the kernel knows about bad memory under a pool
 *
 * libpmem2 translates the device's list into offsets of the file (through its
 * extents) or of the devdax device. That list is as good as the last scrub of
 * the platform; what a load meets later is fault.c's.
 *
 * Clearing tells the device that the bytes are given up. For a file, libpmem2
 * punches a hole and allocates it anew; what is read there afterwards is zero.
 */
#include <errno.h>
#include <libpmem2.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/log.h"
#include "pm/badblocks.h"

#define PAGE	4096u

static struct pm_range whole_pages(const struct pmem2_badblock *bb, uint64_t size)
{
	uint64_t from = align_down(bb->offset, PAGE);
	uint64_t end = min64(align_up(bb->offset + bb->length, PAGE), size);

	return (struct pm_range){ from, end > from ? end - from : 0 };
}

static bool append(struct pm_map *m, struct pm_range r)
{
	struct pm_range *grown;

	if (!r.len)
		return true;
	grown = realloc(m->bad, (m->nr_bad + 1) * sizeof(*grown));
	if (!grown)
		return false;
	m->bad = grown;
	m->bad[m->nr_bad++] = r;
	return true;
}

void badblocks_find(struct pm_map *m, const struct pmem2_source *src)
{
	struct pmem2_badblock_context *ctx;
	struct pmem2_badblock bb;

	if (m->kind != PM_FSDAX && m->kind != PM_DEVDAX)
		return;
	if (pmem2_badblock_context_new(&ctx, src)) {
		log_debug("no list of bad blocks: %s", pmem2_errormsg());
		return;
	}
	while (m->nr_bad < PM_BAD_MAX && !pmem2_badblock_next(ctx, &bb))
		if (!append(m, whole_pages(&bb, m->size)))
			break;
	pmem2_badblock_context_delete(&ctx);
}

static bool touches(const struct pmem2_badblock *bb, struct pm_range r)
{
	return bb->offset < r.off + r.len && r.off < bb->offset + bb->length;
}

int badblocks_clear(const struct pmem2_source *src, struct pm_range r)
{
	struct pmem2_badblock_context *ctx;
	struct pmem2_badblock bb;
	int err = pmem2_badblock_context_new(&ctx, src), n = 0;

	if (err)
		return -EOPNOTSUPP;
	while (!err && !pmem2_badblock_next(ctx, &bb))
		if (touches(&bb, r)) {
			n++;
			err = pmem2_badblock_clear(ctx, &bb);
		}
	if (err)
		log_err("cannot clear the bad block at pool offset %llu: %s",
			(unsigned long long)bb.offset, pmem2_errormsg());
	pmem2_badblock_context_delete(&ctx);
	return err ? -EIO : n ? 0 : -ENOENT;
}
