/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write.c - bytes into a file
 *
 * The life of a write: limits; privileges away (a record of its own, before
 * the first byte); then record after record, each in three steps:
 *
 *   plan    stretch by stretch: in place, into unwritten blocks, or into
 *           fresh ones, which are reserved and mapped in the transaction;
 *   copy    the bytes, in order, to where the plan says;
 *   commit  extents, size and times.
 *
 * Usually that is one record for the whole request. In a fragmented pool the
 * work is cut after WRITE_STRETCHES, and each record leaves a valid file. No
 * byte is taken from the payload before its place is certain, so running out
 * of space costs nothing but the rest of the request.
 *
 *   W1 (L5)  What a record makes reachable is durable before it: fresh and
 *            unwritten blocks, and everything beyond the old end of file,
 *            allocated or not. Only an overwrite inside the file goes with
 *            the record's own fence.
 *   W2 (L5)  A block that was not written before gets the rest of it zeroed,
 *            and so does the tail that a write beyond the end uncovers.
 *   W3       suid, sgid and file capabilities are gone, durably, before the
 *            first byte is stored.
 *
 * data=ordered: bytes of an overwrite that fails, or that is cut by a crash,
 * may be old, new or both. data=atomic takes another way after the limits and
 * the privileges: write_atomic.c. So does a payload that has landed in blocks that
 * may replace those of the file (op_land_for); should there be no space for that,
 * this one is left.
 *
 * The inode is held exclusively while bytes are copied, which costs nothing when
 * nobody else is using it. If somebody is, a plain overwrite goes another way:
 * write_shared.c.
 */
#include <errno.h>

#include "copy/copy.h"
#include "op/write_i.h"

#define WRITE_STRETCHES	64u		/* well below TXN_MAX_RUNS */
/* Worth a huge page; what begins with the longest request is likely to grow to one. */
#define LARGE		((1ull << 20) - PMEMFS_BLOCK_SIZE)
#define ROOM_MAX	4096u		/* blocks kept free behind a piece */

struct stretch {
	uint64_t pool, nr;	/* blocks */
	bool fresh;		/* whatever else is in them becomes zero (W2) */
};

struct plan {
	unsigned nr;		/* of this record's stretches */
	struct stretch at[WRITE_STRETCHES];
};

/* ---- plan --------------------------------------------------------------------- */

/*
 * Exactly behind what comes before it in the file; else as far from it in the
 * pool as in the file. A large file likes huge pages, and one that grows in
 * small pieces room to go on as long as it is already (ALLOC_ROOM).
 */
static uint64_t goal(struct txn *t, const struct inode *ip, uint64_t end, uint64_t blk,
		     unsigned *flags)
{
	uint64_t size = get64((t ? inode_view(t, ip) : inode_media(ip))->size);
	uint64_t blks = min64(bytes_blks(size), ROOM_MAX);
	struct extent e;

	*flags = max64(end, size) >= LARGE ? ALLOC_ALIGN : 0;
	if (extent_before(t, ip, blk, &e))
		return 0;
	if (blks > 1)
		*flags |= ALLOC_ROOM(63u - (unsigned)__builtin_clzll(blks));
	return min64(e.pool + (blk - e.blk), ip->fs->geo.nr_blocks - 1);
}

uint64_t write_goal(struct writing *w, uint64_t blk, unsigned *flags)
{
	return goal(w->t, w->ip, w->end, blk, flags);
}

uint64_t write_goal_at(const struct inode *ip, uint64_t pos, uint64_t len, unsigned *flags)
{
	return goal(NULL, ip, pos + len, off_blk(pos), flags);
}

/* -ENOSPC without a sticky error: no block, and nothing has changed. */
static int plan_hole(struct writing *w, struct extent *e)
{
	struct run r;
	unsigned flags;
	uint64_t goal = write_goal(w, e->blk, &flags);
	int err = write_land(w, e->blk, e->len, &r);

	if (err)
		err = txn_alloc(w->t, TXN_DATA, flags, goal, e->len, 1, &r);
	if (err)
		return err;
	e->pool = r.blk;
	e->len = r.len;
	err = extent_insert(w->t, w->ip, e->blk, r, false);
	if (err)
		txn_fail(w->t, err);	/* no node: the run is lost with t */
	return err;
}

static int plan_stretch(struct writing *w, struct plan *pl, struct extent *e)
{
	bool fresh = !extent_has_data(e);
	int err = 0;

	if (extent_is_hole(e)) {
		err = plan_hole(w, e);
	} else if (e->unwritten) {
		err = extent_written(w->t, w->ip, e->blk, e->len);
		if (err)
			txn_fail(w->t, err);
	}
	if (!err)
		pl->at[pl->nr++] = (struct stretch){ e->pool, e->len, fresh };
	return err;
}

/* Up to limit stretches; as many as there is space for, if any. */
static int plan(struct writing *w, struct plan *pl, unsigned limit)
{
	uint64_t blk = off_blk(w->pos), stop = bytes_blks(w->end);
	struct extent e;
	int err = 0;

	pl->nr = 0;
	while (blk < stop && pl->nr < limit) {
		err = extent_at(w->t, w->ip, blk, &e);
		if (err)
			return err;
		e.len = min64(e.len, stop - blk);
		err = plan_stretch(w, pl, &e);
		if (err)
			break;
		blk += e.len;
	}
	return err == -ENOSPC && pl->nr && !txn_error(w->t) ? 0 : err;
}

/* ---- copy --------------------------------------------------------------------- */

static int put_bytes(struct writing *w, const struct stretch *s)
{
	uint64_t in = w->pos & (PMEMFS_BLOCK_SIZE - 1), off = blk_off(s->pool);
	uint64_t len = min64(blk_off(s->nr) - in, w->end - w->pos);
	uint64_t tail = blk_off(s->nr) - in - len;
	struct pm *pm = w->ip->fs->pm;
	int err;

	if (s->fresh && in)
		copy_zero(pm, off, in);
	err = copy_in(pm, off + in, w->p, len);
	if (err)
		return err;
	if (s->fresh && tail)
		copy_zero(pm, off + in + len, tail);
	w->pos += len;
	return 0;
}

void write_times(struct writing *w, struct pmemfs_inode *mi)
{
	struct timespec now;

	if (w->flags & OP_WRITE_KEEP_TIMES)
		return;				/* the kernel keeps them */
	fs_now(w->ip->fs, &now);
	inode_set_mtime(mi, &now);
	inode_set_ctime(mi, &now);
}

bool write_note(struct writing *w, struct pmemfs_inode *mi)
{
	bool grew = w->pos > get64(mi->size);

	if (grew)
		mi->size = put64(w->pos);
	write_times(w, mi);
	return grew;
}

/* All of the plan; then what the record says besides extents. */
static int carry_out(struct writing *w, const struct plan *pl)
{
	struct pmemfs_inode *mi = inode_edit(w->t, w->ip);
	bool fresh = false;
	unsigned i;
	int err;

	if (!mi)
		return txn_error(w->t);
	err = op_zero_tail(w->t, w->ip, get64(mi->size), w->pos);
	for (i = 0; i < pl->nr && !err; i++) {
		err = put_bytes(w, &pl->at[i]);
		fresh |= pl->at[i].fresh;
	}
	if (err)
		return err;
	if (write_note(w, mi) || fresh)
		txn_data_first(w->t);			/* W1 */
	return 0;
}

/* ---- one record ----------------------------------------------------------------- */

/* A transaction with a plan; only as much of it as nodes can be had for. */
static int begin_record(struct writing *w, struct plan *pl)
{
	unsigned limit = WRITE_STRETCHES;
	int err;

	do {
		w->t = txn_begin(w->ip->fs, PMEMFS_OP_WRITE);
		if (!w->t)
			return -ENOMEM;
		err = plan(w, pl, limit);
		if (!err)
			return 0;
		txn_abort(w->t);
		limit = pl->nr;
	} while (err == -ENOSPC && limit);
	return err;
}

static int write_record(struct writing *w, uint64_t mark)
{
	uint64_t start = w->pos;
	struct plan pl;
	int err = begin_record(w, &pl);

	if (err)
		return err;
	err = carry_out(w, &pl);
	if (err)
		txn_fail(w->t, err);
	err = op_commit(w->t, mark);
	if (err)
		w->pos = start;
	return err;
}

/* ---- the request ------------------------------------------------------------------ */

int write_limits(struct writing *w)
{
	const struct pmemfs_inode *mi = inode_media(w->ip);
	uint32_t flags = get32(mi->flags);
	int err = op_reg_ok(w->ip);

	if (err)
		return err;
	/* What the page cache holds was accepted when nothing forbade it, and a
	 * page of an append-only file begins before its end (flags.c). */
	if ((flags & PMEMFS_FL_IMMUTABLE) && !(w->flags & OP_WRITE_CACHE))
		return -EPERM;
	if (w->p->len && w->pos >= PMEMFS_MAX_SIZE)
		return -EFBIG;
	w->end = w->pos + min64(w->p->len, PMEMFS_MAX_SIZE - w->pos);
	return 0;
}

static int write_ok(struct writing *w)
{
	int err = write_limits(w);

	/* L9: an unfinished truncation would free what we write */
	if (!err && (get32(inode_media(w->ip)->flags) & PMEMFS_FL_TRUNC))
		err = inode_finish_trunc(w->ip);
	return err;
}

bool write_takes_priv(const struct writing *w, uint32_t *bits, bool *caps)
{
	*bits = 0;
	if (w->flags & OP_WRITE_KILL_PRIV)
		*bits = op_priv_bits(get32(inode_media(w->ip)->mode));
	*caps = op_has_caps(w->ip);
	return *bits || *caps;
}

/* W3: a record of its own, and only if there is something to take away. */
static int kill_priv(struct writing *w, uint64_t mark)
{
	struct timespec now;
	struct txn *t;
	uint32_t bits;
	bool caps;
	int err;

	if (!write_takes_priv(w, &bits, &caps))
		return 0;
	t = txn_begin(w->ip->fs, PMEMFS_OP_SETATTR);
	if (!t)
		return -ENOMEM;
	err = op_drop_priv(t, w->ip, bits, caps);
	if (err) {
		txn_fail(t, err);
	} else {
		fs_now(w->ip->fs, &now);
		inode_set_ctime(inode_edit(t, w->ip), &now);
	}
	return op_commit(t, mark);
}

static int write_next(struct writing *w, uint64_t mark)
{
	bool atomic = w->ip->fs->opt.data == FS_DATA_ATOMIC;
	int err = -ENOSPC;

	if (atomic || write_replaces(w))
		err = write_atomic(w, mark);
	return err == -ENOSPC && !atomic ? write_record(w, mark) : err;
}

int write_range(struct writing *w, uint64_t mark, size_t *done)
{
	uint64_t start;
	int err = write_ok(w);

	if (!err && w->pos < w->end)
		err = kill_priv(w, mark);
	start = w->pos;
	while (!err && w->pos < w->end)
		err = write_next(w, mark);
	*done = w->pos - start;
	return err == -ENOSPC && *done ? 0 : err;
}

/*
 * L18: without waiting if it can be had; else beside those who are in it. Where
 * nothing is copied, waiting is cheaper.
 */
static int write_in_turn(struct writing *w, uint64_t mark, size_t *done)
{
	bool mine = inode_try_wrlock(w->ip);
	int err = mine || write_replaces(w) ? 1 : write_shared(w, mark);

	if (err < 1) {
		*done = err ? 0 : w->end - w->pos;
		return err;
	}
	if (!mine)
		inode_wrlock(w->ip);
	err = write_range(w, mark, done);
	inode_unlock(w->ip);
	return err;
}

int op_write(const struct op_ctx *c, uint64_t nodeid, uint64_t pos,
	     struct payload *p, uint32_t flags, size_t *done)
{
	struct writing w = { .p = p, .pos = pos, .flags = flags };
	uint64_t mark = op_enter(c);
	int err = op_get_rw(c, nodeid, &w.ip);

	*done = 0;
	if (err)
		return op_leave(c, mark, err);
	if (flags & OP_WRITE_CACHE)		/* gathered from whomever */
		alloc_for_root(false);
	err = write_in_turn(&w, mark, done);
	inode_put(w.ip);
	return op_leave(c, mark, err);
}
