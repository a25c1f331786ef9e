/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write_atomic.c - a write that happens or does not (data=atomic)
 *
 *   look     what is there: a hole, unwritten blocks, bytes of the file;
 *   remap    the whole range in one transaction, old blocks freed in it;
 *   copy     the bytes to blocks that nobody can see, the edges around them;
 *   commit   one record: extents, freed blocks, size, times.
 *
 *   N1 (L17) One request is one record. Before it the file is as it was, with
 *            it as it will be; a failure at any point leaves it as it was.
 *   N2       Nothing is stored where a reader could see it before the record:
 *            only in fresh blocks, in unwritten ones, and at or beyond the end
 *            of the file. Written blocks inside the file are replaced, never
 *            changed, also by a request that goes on beyond the end.
 *   N3 (L5)  All of it is durable before the record: two fences, always.
 *   N4       The bytes that share a replaced block with the request are copied
 *            from the old block, as far as the file reaches; whatever else is
 *            in a fresh or unwritten block becomes zero.
 *   N5 (L3)  Replaced blocks become free with the record that replaces them,
 *            as data: no record addresses them, and no reader is at them, since
 *            the inode is held exclusively.
 *   N6       Unwritten blocks stay where they are, so what fallocate promised
 *            still holds. Replacing needs space and fails with -ENOSPC when
 *            there is none; the reserve for freeing is not touched.
 *   N7       A payload that landed to replace (op_land_for) replaces unwritten
 *            blocks as well: the space is there already. What fails leaves the
 *            payload whole, for write.c to take its own way.
 *
 * The request is bounded (OP_WRITE_MAX), because it cannot be cut. What one
 * record needs for it in the worst case, BLOCKS old extents replaced by as
 * many new ones, is added up below. The range is unmapped as a whole before it
 * is mapped anew: so the nodes that change are those at its two ends, however
 * many leaves lie between, and those that the new extents fill. What is worse
 * still (a tree deeper than LEVELS that changes on every level, or whose leaves
 * hold next to nothing) may end in -ENOSPC, with the file as it was.
 *
 * Not here: the limits of a file and its privileges (write.c). A set-user-id
 * bit goes in a record of its own before, as for any write (W3).
 */
#include <assert.h>
#include <errno.h>

#include "copy/copy.h"
#include "meta/node.h"
#include "op/write_i.h"

/* ---- what a record holds (L8) ------------------------------------------------ */

#define BLOCKS		(OP_WRITE_MAX / PMEMFS_BLOCK_SIZE + 1)	/* unaligned */
#define LEVELS		4u		/* half full: 10^8 extents */
#define ITEM		(4u + NODE_ITEM_HEAD + 8u)
#define HALF_NODE	(NODE_ROOM / ITEM / 2)
/* Leaves left and right of the range, the neighbour that one of them joins,
 * and what the new extents fill: a leaf that is cut stays half full. */
#define LEAVES		(3u + BLOCKS / HALF_NODE + 3u)
/* The nodes above those: three as well, and two when they are cut. */
#define INNERS(levels)	(5u * ((levels) - 1u))
#define NODES(levels)	(LEAVES + INNERS(levels))

#define FORM		sizeof(struct pmemfs_form)
#define RECORD		(sizeof(struct pmemfs_record) +				\
			 TXN_COST(PMEMFS_INODE_SEALED) +			\
			 TXN_COST(PMEMFS_BLOCK_SIZE) * NODES(LEVELS) +		\
			 FORM * (BLOCKS + NODES(LEVELS)) +	/* allocated */	\
			 FORM * TXN_MAX_RUNS)			/* freed */

_Static_assert(RECORD <= TXN_MAX_RECORD - PMEMFS_LINE, "L17: the largest write fits");
_Static_assert(1 + NODES(PMEMFS_MAX_LEVEL) <= TXN_MAX_SHADOWS, "and what it changes");
_Static_assert(BLOCKS + NODES(PMEMFS_MAX_LEVEL) <= TXN_MAX_RUNS, "and what it allocates");
/* every block an extent, every extent a leaf, under nodes that are half full */
_Static_assert(2 * BLOCKS + HALF_NODE <= TXN_MAX_RUNS, "and what it frees");
_Static_assert(PMEMFS_MIN_LANE_SIZE / 2 >= TXN_MAX_RECORD, "a lane takes it");

/* ---- the request ------------------------------------------------------------- */

enum was {
	WAS_HOLE,
	WAS_UNWRITTEN,
	WAS_PROMISED,		/* unwritten: replaced (N7) */
	WAS_BYTES,		/* of the file: replaced */
	WAS_BEYOND,		/* written, but no byte of the request is in the file */
};

struct part {
	uint64_t pool, nr;	/* blocks; a hole has no pool */
	enum was was;
};

struct atomic {
	struct writing *w;
	bool lands;		/* N7 */
	uint64_t size;		/* of the file, before */
	uint64_t blk, stop;	/* of the file: blocks of the request */
	uint64_t remap;		/* the first one that does not stay as it is */
	uint64_t head, tail;	/* pool blocks with bytes to keep (N4), or 0 */
	unsigned nr_old, nr_new;
	struct part old[BLOCKS];	/* what is there */
	struct part new[BLOCKS];	/* where the bytes go */
};

/* ---- look ---------------------------------------------------------------------- */

static enum was was_of(const struct atomic *a, const struct extent *e)
{
	if (extent_is_hole(e))
		return WAS_HOLE;
	if (e->unwritten)
		return a->lands ? WAS_PROMISED : WAS_UNWRITTEN;
	return a->w->pos < a->size ? WAS_BYTES : WAS_BEYOND;
}

static void note_edges(struct atomic *a)
{
	const struct part *first = &a->old[0], *last = &a->old[a->nr_old - 1];

	a->head = first->was == WAS_BYTES ? first->pool : 0;
	a->tail = last->was == WAS_BYTES ? last->pool + last->nr - 1 : 0;
}

static int look(struct atomic *a)
{
	struct writing *w = a->w;
	struct extent e;
	uint64_t blk;
	int err;

	a->blk = off_blk(w->pos);
	a->stop = bytes_blks(w->end);
	a->remap = a->stop;
	a->nr_old = a->nr_new = 0;
	for (blk = a->blk; blk < a->stop; blk += e.len) {
		err = extent_at(w->t, w->ip, blk, &e);
		if (err)
			return err;
		e.len = min64(e.len, a->stop - blk);
		a->old[a->nr_old++] = (struct part){ e.pool, e.len, was_of(a, &e) };
		if (was_of(a, &e) != WAS_BEYOND)
			a->remap = min64(a->remap, blk);
	}
	note_edges(a);
	return 0;
}

/* ---- remap --------------------------------------------------------------------- */

static int map_fresh(struct atomic *a, const struct part *p, uint64_t blk)
{
	struct writing *w = a->w;
	uint64_t end = blk + p->nr, goal;
	unsigned flags;
	struct run r;
	int err = 0;

	for (; blk < end && !err; blk += r.len) {
		goal = write_goal(w, blk, &flags);
		if (p->pool) {			/* the file does not grow by it */
			goal = goal ? goal : p->pool;
			flags = 0;
		}
		if (write_land(w, blk, end - blk, &r))
			err = txn_alloc(w->t, TXN_DATA, flags, goal, end - blk, 1, &r);
		if (err)
			return err;
		a->new[a->nr_new++] = (struct part){ r.blk, r.len, p->was };
		err = extent_insert(w->t, w->ip, blk, r, false);
	}
	return err;
}

/* N6. Blocks that stay; unwritten ones are written from now on. */
static int map_again(struct atomic *a, const struct part *p, uint64_t blk)
{
	a->new[a->nr_new++] = *p;
	if (blk < a->remap)
		return 0;
	return extent_insert(a->w->t, a->w->ip, blk, (struct run){ p->pool, p->nr }, false);
}

static int remap(struct atomic *a)
{
	struct writing *w = a->w;
	uint64_t blk = a->blk;
	unsigned i;
	int err = extent_unmap(w->t, w->ip, a->remap, a->stop);

	for (i = 0; i < a->nr_old && !err; i++)		/* N5, N7 */
		if (a->old[i].was == WAS_BYTES || a->old[i].was == WAS_PROMISED)
			err = txn_free(w->t, TXN_DATA,
				       (struct run){ a->old[i].pool, a->old[i].nr });
	for (i = 0; i < a->nr_old && !err; blk += a->old[i++].nr) {
		bool keep = a->old[i].was == WAS_UNWRITTEN || a->old[i].was == WAS_BEYOND;

		err = keep ? map_again(a, &a->old[i], blk) : map_fresh(a, &a->old[i], blk);
	}
	return err;
}

/* ---- copy ---------------------------------------------------------------------- */

/* N4: the bytes in front of the request, in its first block. */
static void put_head(struct atomic *a, uint64_t off, uint64_t len)
{
	struct pm *pm = a->w->ip->fs->pm;

	if (a->head)		/* the request begins inside the file, so do these */
		copy_within(pm, off, blk_off(a->head), len);
	else
		copy_zero(pm, off, len);
}

/* N4: and those behind it, in its last block. */
static void put_tail(struct atomic *a, uint64_t off, uint64_t len)
{
	struct pm *pm = a->w->ip->fs->pm;
	uint64_t in = PMEMFS_BLOCK_SIZE - len, keep = 0;

	if (a->tail && a->size > a->w->end)
		keep = min64(a->size - a->w->end, len);
	if (keep)
		copy_within(pm, off, blk_off(a->tail) + in, keep);
	copy_zero(pm, off + keep, len - keep);
}

static int put_part(struct atomic *a, const struct part *p)
{
	struct writing *w = a->w;
	uint64_t in = w->pos & (PMEMFS_BLOCK_SIZE - 1), off = blk_off(p->pool);
	uint64_t len = min64(blk_off(p->nr) - in, w->end - w->pos);
	uint64_t rest = blk_off(p->nr) - in - len;
	int err;

	if (in && p->was != WAS_BEYOND)
		put_head(a, off, in);
	err = copy_in(w->ip->fs->pm, off + in, w->p, len);
	if (err)
		return err;
	if (rest && p->was != WAS_BEYOND)
		put_tail(a, off + in + len, rest);
	w->pos += len;
	return 0;
}

static int copy(struct atomic *a)
{
	struct writing *w = a->w;
	unsigned i;
	int err = op_zero_tail(w->t, w->ip, a->size, w->pos);

	for (i = 0; i < a->nr_new && !err; i++)
		err = put_part(a, &a->new[i]);
	txn_data_first(w->t);				/* N3 */
	return err;
}

/* ---- one record ------------------------------------------------------------------ */

static int build(struct atomic *a)
{
	struct writing *w = a->w;
	struct pmemfs_inode *mi = inode_edit(w->t, w->ip);
	int err;

	if (!mi)
		return txn_error(w->t);
	a->size = get64(mi->size);
	err = look(a);
	if (!err)
		err = remap(a);
	if (!err)
		err = copy(a);
	if (!err)
		write_note(w, mi);
	return err;
}

int write_atomic(struct writing *w, uint64_t mark)
{
	const struct payload whole = *w->p;
	uint64_t start = w->pos;
	struct atomic a;
	int err;

	a.w = w;
	a.lands = write_replaces(w);
	if (w->end - w->pos > OP_WRITE_MAX)
		return -EINVAL;
	w->t = txn_begin(w->ip->fs, PMEMFS_OP_WRITE);
	if (!w->t)
		return -ENOMEM;
	txn_uncut(w->t);
	err = build(&a);
	if (err)
		txn_fail(w->t, err);
	assert(err || w->pos == w->end);
	err = op_commit(w->t, mark);			/* N1 */
	if (err) {
		w->pos = start;
		if (a.lands)
			*w->p = whole;			/* N7 */
	}
	return err;
}
