/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * space.c - fallocate: space without bytes, holes, zeros
 *
 * All of it works in bounded records (L9), each of which leaves a valid file;
 * a crash in between leaves a part done, which nobody was told of. Space that
 * was got before -ENOSPC stays, as with ext4.
 *
 * Bytes at the edges of a range that share a block with bytes outside it are
 * zeroed in place; that is data, not metadata (L5), and durable with the
 * first record's fence.
 */
#include <errno.h>
#include <linux/falloc.h>

#include "copy/copy.h"
#include "op/op_i.h"

#define SPACE_CHANGES	64u		/* extents changed by one record */
#define SPACE_BLOCKS	TXN_FREE_BLOCKS	/* blocks allocated by one record */

struct space {
	struct inode *ip;
	uint64_t mark;
	uint32_t mode;
	uint64_t pos, end;	/* bytes */
	uint64_t blk, stop;	/* blocks still to be looked at */
	uint64_t in_from, in_to;/* blocks that lie in the range as a whole */
	struct txn *t;
	unsigned changes;	/* in this record */
	uint64_t blocks;
};

/* ---- one stretch ------------------------------------------------------------- */

static int reserve_hole(struct space *s, struct extent *e)
{
	uint64_t goal = 0;
	unsigned flags = e->len >= PMEMFS_HUGE_BLOCKS ? ALLOC_ALIGN : 0;
	struct extent before;
	struct run r;
	int err;

	e->len = min64(e->len, SPACE_BLOCKS - s->blocks);
	if (extent_before(s->t, s->ip, e->blk, &before) == 0 &&
	    before.blk + before.len == e->blk) {
		goal = before.pool + before.len;
		flags = 0;
	}
	err = txn_alloc(s->t, TXN_DATA, flags, goal, e->len, 1, &r);
	if (err)
		return err;
	e->len = r.len;
	s->changes++;
	s->blocks += r.len;
	err = extent_insert(s->t, s->ip, e->blk, r, true);
	if (err)
		txn_fail(s->t, err);	/* no node: the run is lost with t */
	return err;
}

/* Written blocks become unwritten where the range covers them whole. */
static int unwrite(struct space *s, struct extent *e)
{
	int err;

	if (e->blk < s->in_from || e->blk >= s->in_to) {
		e->len = 1;		/* an edge: zeroed in place */
		return 0;
	}
	e->len = min64(e->len, s->in_to - e->blk);
	s->changes++;
	err = extent_unwritten(s->t, s->ip, e->blk, e->len);
	if (err)
		txn_fail(s->t, err);
	return err;
}

static int reserve_stretch(struct space *s)
{
	struct extent e;
	int err = extent_at(s->t, s->ip, s->blk, &e);

	if (err)
		return err;
	e.len = min64(e.len, s->stop - s->blk);
	if (extent_is_hole(&e))
		err = reserve_hole(s, &e);
	else if (!e.unwritten && (s->mode & FALLOC_FL_ZERO_RANGE))
		err = unwrite(s, &e);
	if (!err)
		s->blk += e.len;
	return err;
}

/* ---- the parts of a record ------------------------------------------------------ */

/* Zero [from, to), which lies in one block, if there are bytes in it. */
static int zero_part(struct space *s, uint64_t from, uint64_t to)
{
	struct extent e;
	int err;

	if (from >= to)
		return 0;
	err = extent_at(s->t, s->ip, off_blk(from), &e);
	if (!err && extent_has_data(&e))
		copy_zero(s->ip->fs->pm,
			  blk_off(e.pool) + (from & (PMEMFS_BLOCK_SIZE - 1)), to - from);
	return err;
}

static int zero_edges(struct space *s)
{
	uint64_t head = align_up(s->pos, PMEMFS_BLOCK_SIZE);
	uint64_t tail = align_down(s->end, PMEMFS_BLOCK_SIZE);
	int err;

	if (head > tail)			/* all inside one block */
		return zero_part(s, s->pos, s->end);
	err = zero_part(s, s->pos, head);
	return err ? err : zero_part(s, tail, s->end);
}

/* 1: more to be done in a further record. */
static int build_reserve(struct space *s)
{
	int err = 0;

	while (!err && s->blk < s->stop) {
		if (s->changes >= SPACE_CHANGES || s->blocks >= SPACE_BLOCKS)
			return 1;
		err = reserve_stretch(s);
	}
	return err;
}

static int build_punch(struct space *s)
{
	return s->in_from < s->in_to ?
		extent_remove(s->t, s->ip, s->in_from, s->in_to) : 0;
}

static int grow(struct space *s, struct pmemfs_inode *mi)
{
	uint64_t old = get64(mi->size);
	int err;

	if ((s->mode & FALLOC_FL_KEEP_SIZE) || s->end <= old)
		return 0;
	err = op_zero_tail(s->t, s->ip, old, s->end);
	if (!err)
		mi->size = put64(s->end);
	return err;
}

/* 0 done, 1 more, -errno. What a full pool allowed is committed first. */
static int space_record(struct space *s, bool first)
{
	bool punch = s->mode & FALLOC_FL_PUNCH_HOLE, full;
	struct pmemfs_inode *mi;
	struct timespec now;
	int more = 0, err;

	s->changes = 0;
	s->blocks = 0;
	s->t = txn_begin(s->ip->fs, PMEMFS_OP_FALLOCATE);
	if (!s->t)
		return -ENOMEM;
	if (punch)
		txn_allow_reserve(s->t);
	mi = inode_edit(s->t, s->ip);
	if (mi && first && (s->mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)))
		more = zero_edges(s);
	if (mi && !more)
		more = punch ? build_punch(s) : build_reserve(s);
	full = more == -ENOSPC && s->changes && !txn_error(s->t);
	if (mi && more == 0)
		more = grow(s, mi);
	if (more < 0 && !full)
		txn_fail(s->t, more);
	if (mi) {
		fs_now(s->ip->fs, &now);
		inode_set_mtime(mi, &now);
		inode_set_ctime(mi, &now);
	}
	err = op_commit(s->t, s->mark);
	return err ? err : more;
}

/* ---- the request ----------------------------------------------------------------- */

/* A request that cannot be met at all should not fill the pool in trying. */
static int enough_space(struct space *s)
{
	struct fs *fs = s->ip->fs;
	uint64_t holes = 0, blk;
	struct extent e;
	int err;

	for (blk = s->blk; blk < s->stop; blk += e.len) {
		err = extent_at(NULL, s->ip, blk, &e);
		if (err)
			return err;
		e.len = min64(e.len, s->stop - blk);
		if (extent_is_hole(&e))
			holes += e.len;
	}
	return holes > alloc_our_blocks(fs) + alloc_quarantined(fs) ? -ENOSPC : 0;
}

static int space_ok(struct space *s)
{
	const struct pmemfs_inode *mi = inode_media(s->ip);
	uint32_t flags = get32(mi->flags);
	int err = op_reg_ok(s->ip);

	if (err)
		return err;
	if (flags & PMEMFS_FL_IMMUTABLE)
		return -EPERM;
	if ((flags & PMEMFS_FL_APPEND) && (s->mode & ~(uint32_t)FALLOC_FL_KEEP_SIZE))
		return -EPERM;
	if (flags & PMEMFS_FL_TRUNC)
		err = inode_finish_trunc(s->ip);	/* L9 */
	if (!err && !(s->mode & FALLOC_FL_PUNCH_HOLE))
		err = enough_space(s);
	return err;
}

static int space_locked(struct space *s)
{
	bool first = true;
	int err;

	s->blk = off_blk(s->pos);
	s->stop = bytes_blks(s->end);
	s->in_from = bytes_blks(s->pos);
	s->in_to = off_blk(s->end);
	err = space_ok(s);
	if (err)
		return err;
	do {
		err = space_record(s, first);
		first = false;
	} while (err > 0);
	return err;
}

static int mode_ok(uint32_t mode)
{
	switch (mode) {
	case 0:
	case FALLOC_FL_KEEP_SIZE:
	case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE:
	case FALLOC_FL_ZERO_RANGE:
	case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int op_fallocate(const struct op_ctx *c, uint64_t nodeid, uint64_t pos,
		 uint64_t len, uint32_t mode)
{
	struct space s = { .mode = mode, .pos = pos, .mark = op_enter(c) };
	int err = mode_ok(mode);

	if (!err && len == 0)
		err = -EINVAL;
	if (!err && (pos > PMEMFS_MAX_SIZE || len > PMEMFS_MAX_SIZE - pos))
		err = -EFBIG;
	if (!err)
		err = op_get_rw(c, nodeid, &s.ip);
	if (err)
		return op_leave(c, s.mark, err);
	s.end = pos + len;
	inode_wrlock(s.ip);
	err = space_locked(&s);
	inode_unlock(s.ip);
	inode_put(s.ip);
	return op_leave(c, s.mark, err);
}
