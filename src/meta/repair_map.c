/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_map.c - who owns which block
 *
 * A bit a block, kept by group and only for groups in which a bit is set. In
 * the first round this is what decides which blocks nobody has a claim on, so
 * it must know every owner before anything is allocated (L22).
 */
#include <errno.h>
#include <stdlib.h>

#include "meta/repair_int.h"

#define WORDS	(PMEMFS_GROUP_BLOCKS / 64)

int rmap_new(struct rmap *m, const struct geometry *geo)
{
	m->group = calloc(geo->nr_groups, sizeof(*m->group));
	return m->group ? 0 : -ENOMEM;
}

void rmap_free(struct rmap *m, const struct geometry *geo)
{
	uint32_t g;

	for (g = 0; m->group && g < geo->nr_groups; g++)
		free(m->group[g]);
	free(m->group);
	m->group = NULL;
}

bool rmap_test(const struct rmap *m, uint64_t blk)
{
	const uint64_t *w = m->group[blk / PMEMFS_GROUP_BLOCKS];
	uint32_t bit = blk % PMEMFS_GROUP_BLOCKS;

	return w && w[bit / 64] >> bit % 64 & 1;
}

/* false: no memory. */
bool rmap_set(struct rmap *m, uint64_t blk, uint64_t len, bool set)
{
	uint64_t **w, n, mask;
	uint32_t bit;

	for (; len; blk += n, len -= n) {
		w = &m->group[blk / PMEMFS_GROUP_BLOCKS];
		bit = blk % PMEMFS_GROUP_BLOCKS;
		n = min64(len, 64 - bit % 64);
		mask = (n == 64 ? ~0ull : (1ull << n) - 1) << bit % 64;
		if (!*w && set)
			*w = calloc(WORDS, sizeof(uint64_t));
		if (!*w && set)
			return false;
		if (set)
			(*w)[bit / 64] |= mask;
		else if (*w)
			(*w)[bit / 64] &= ~mask;
	}
	return true;
}

uint64_t rmap_run(const struct rmap *m, uint64_t blk, uint64_t len, bool *set)
{
	uint64_t n = 1, all;
	const uint64_t *w;

	*set = rmap_test(m, blk);
	all = *set ? ~0ull : 0;
	while (n < len && rmap_test(m, blk + n) == *set) {
		n++;
		w = m->group[(blk + n) / PMEMFS_GROUP_BLOCKS];
		while ((blk + n) % 64 == 0 && n + 64 <= len && (blk + n) % PMEMFS_GROUP_BLOCKS &&
		       (w ? w[(blk + n) % PMEMFS_GROUP_BLOCKS / 64] : 0) == all)
			n += 64;
	}
	return n;
}

/* ---- owners ------------------------------------------------------------ */

bool repair_in_data(const struct repair *r, uint64_t blk, uint64_t len)
{
	uint64_t end = r->geo->nr_blocks - 1;	/* the replica */

	return len && blk >= r->geo->data_blk && blk < end && len <= end - blk;
}

bool repair_unowned(const struct repair *r, uint64_t blk, uint64_t len)
{
	bool set;

	return rmap_run(&r->owned, blk, len, &set) == len && !set;
}

void repair_own(struct repair *r, uint64_t blk, uint64_t len, bool meta)
{
	if (!rmap_set(&r->owned, blk, len, true) ||
	    (meta && !rmap_set(&r->meta, blk, len, true)))
		r->nomem = true;
}

void repair_disown(struct repair *r, uint64_t blk, uint64_t len)
{
	rmap_set(&r->owned, blk, len, false);
	rmap_set(&r->meta, blk, len, false);
}
