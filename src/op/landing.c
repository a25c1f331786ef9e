/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * landing.c - free blocks for a payload to be received into
 *
 *   G1  The blocks are reserved in DRAM and nowhere else. Whatever the kernel
 *       stores there has no meaning until a record points at it, so a crash
 *       costs nothing, and a request that turns out to be something else has
 *       only soiled free blocks.
 *   G2  A record takes them from the first byte of the payload on, if that
 *       belongs at the start of a block that is a hole, or is replaced
 *       (data=atomic). They are then flushed like any copy, before the record
 *       (W1). If it is given up, they stay reserved: the bytes in them are the
 *       only ones there are, and are copied from there instead.
 *   G3  Reservations are for those who have space to spare: none is made where
 *       less than SPARE times as much is free.
 */
#include <errno.h>

#include "copy/copy.h"
#include "op/write_i.h"

#define SPARE		64u

bool op_land_get(struct fs *fs, uint64_t len, struct landing *l)
{
	uint64_t nr = bytes_blks(len), goal = atomic_load(&fs->land_goal);
	struct run r;

	*l = (struct landing){ .len = 0 };
	alloc_for_root(false);			/* whose it will be is not known */
	if (!fs_writable(fs) || alloc_avail_blocks(fs) < SPARE * nr)	/* G3 */
		return false;
	if (alloc_reserve(fs, 0, goal, nr, nr, &r))
		return false;
	atomic_store(&fs->land_goal, r.blk + r.len);
	l->off = blk_off(r.blk);
	l->len = blk_off(r.len);
	return true;
}

void op_land_put(struct fs *fs, struct landing *l)
{
	uint64_t taken = bytes_blks(l->taken);
	struct run rest = { off_blk(l->off) + taken, off_blk(l->len) - taken };

	if (l->len && rest.len)
		alloc_unreserve(fs, rest);
	l->len = 0;
}

static void land_end(struct fs *fs, void *arg, bool committed)
{
	struct landing *l = arg;

	(void)fs;
	if (committed)
		l->taken = l->lent;
}

int write_land(struct writing *w, uint64_t blk, uint64_t nr, struct run *r)
{
	struct landing *l = w->p->land;
	int err;

	/* G2: nothing has been written yet, and the first byte begins a block */
	if (!l || w->p->len != l->total || w->pos % PMEMFS_BLOCK_SIZE ||
	    blk != off_blk(w->pos))
		return -ENOSPC;
	*r = (struct run){ off_blk(l->off), min64(nr, bytes_blks(l->total)) };
	err = txn_lend(w->t, TXN_DATA, *r);
	if (err)
		return err;
	l->lent = blk_off(r->len);
	txn_at_end(w->t, land_end, l);
	return 0;
}
