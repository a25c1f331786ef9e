/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * landing.c - free blocks for a payload to be received into
 *
 *   G1  The blocks are reserved in DRAM and nowhere else. Whatever the kernel or
 *       a device stores there has no meaning until a record points at it, so a
 *       crash costs nothing, and a request that turns out to be something else
 *       has only soiled free blocks.
 *   G2  The nth block is for the nth block of the file that the payload touches.
 *       A record takes it if there is a hole in that place, or if what is there
 *       is replaced (write_atomic.c), and if the payload begins at the same byte
 *       of its first block as in the file. It is then flushed like any copy,
 *       before the record (W1). One that is not taken stays reserved: the bytes
 *       in it are the only ones there are, and are copied from there instead.
 *   G3  Reservations are for those who have space to spare: none is made where
 *       less than SPARE times as much is free.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "copy/copy.h"
#include "op/write_i.h"

#define SPARE		64u
#define BLK		PMEMFS_BLOCK_SIZE

_Static_assert(OP_WRITE_MAX / BLK + 1 <= LAND_BLOCKS, "the longest request, at any byte");

static bool reserve(struct fs *fs, unsigned flags, uint64_t goal, uint64_t nr,
		    struct landing *l)
{
	struct run r;

	memset(l, 0, sizeof(*l));
	assert(nr <= LAND_BLOCKS);
	alloc_for_root(false);			/* what is set aside is not to spare */
	if (!fs_writable(fs) || alloc_avail_blocks(fs) < SPARE * nr)	/* G3 */
		return false;
	if (alloc_reserve(fs, flags, goal, nr, nr, &r))
		return false;
	l->start = l->off = blk_off(r.blk);
	l->len = blk_off(r.len);
	return true;
}

bool op_land_get(struct fs *fs, uint64_t len, struct landing *l)
{
	if (!reserve(fs, 0, atomic_load(&fs->land_goal), bytes_blks(len), l))
		return false;
	atomic_store(&fs->land_goal, off_blk(l->start + l->len));
	return true;
}

/* Where a hole at pos would be filled; 0: anywhere. Waits for nobody. */
static uint64_t goal_of(const struct op_ctx *c, uint64_t nodeid, uint64_t pos, uint64_t len,
			unsigned *flags)
{
	uint64_t goal = 0;
	struct inode *ip;

	*flags = 0;
	if (op_get(c, nodeid, &ip))
		return 0;
	if (inode_try_rdlock(ip)) {
		if (!op_reg_ok(ip))
			goal = write_goal_at(ip, pos, len, flags);
		inode_unlock(ip);
	}
	inode_put(ip);
	return goal;
}

bool op_land_for(const struct op_ctx *c, uint64_t nodeid, uint64_t pos, uint64_t len,
		 struct landing *l)
{
	unsigned flags;
	uint64_t in = pos % BLK, goal = goal_of(c, nodeid, pos, len, &flags);

	if (!reserve(c->fs, flags, goal, bytes_blks(in + len), l))
		return false;
	l->off = l->start + in;
	l->total = len;
	l->replace = true;
	return true;
}

void op_land_put(struct fs *fs, struct landing *l)
{
	uint64_t nr = off_blk(l->len), i, n;

	for (i = 0; i < nr; i += n ? n : 1) {
		for (n = 0; i + n < nr && l->block[i + n] == LAND_FREE; n++)
			;
		assert(n || l->block[i] == LAND_TAKEN);
		if (n)
			alloc_unreserve(fs, (struct run){ off_blk(l->start) + i, n });
	}
	l->len = 0;
}

static void land_end(struct fs *fs, void *arg, bool committed)
{
	struct landing *l = arg;
	uint64_t i;

	(void)fs;
	l->lending = false;
	for (i = 0; i < LAND_BLOCKS; i++) {
		if (l->block[i] != LAND_LENT)
			continue;
		l->block[i] = committed ? LAND_TAKEN : LAND_FREE;
		l->taken += committed ? BLK : 0;
	}
}

int write_land(struct writing *w, uint64_t blk, uint64_t nr, struct run *r)
{
	struct landing *l = w->p->land;
	uint64_t pos, first;
	int err;

	if (!l)
		return -ENOSPC;
	pos = w->pos - (l->total - w->p->len);		/* of the first byte */
	if (pos % BLK != l->off % BLK)			/* G2 */
		return -ENOSPC;
	first = blk - off_blk(pos);
	assert(first + nr <= bytes_blks(pos % BLK + l->total));
	*r = (struct run){ off_blk(l->start) + first, nr };
	err = txn_lend(w->t, TXN_DATA, *r);
	if (err)
		return err;
	memset(l->block + first, LAND_LENT, nr);
	if (!l->lending)
		txn_at_end(w->t, land_end, l);
	l->lending = true;
	return 0;
}
