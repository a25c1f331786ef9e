/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_range.c - from file to file without leaving the pool (copy_file_range)
 *
 * A piece of the source is where it lies in the pool; it is the payload of an
 * ordinary write to the destination. So all that write.c says of a write holds
 * for each piece, records, fences and data=atomic included, and nothing of it
 * for the request as a whole: as with write(2), a short count is an answer.
 *
 *   R1  The source is held shared and the destination exclusively, from the
 *       moment a piece is found until its bytes are durable. Two files are
 *       locked by number (inode.h); one file is locked once, and the ranges
 *       must not overlap. They may share a block, which data=atomic replaces
 *       and frees: within one file a piece is good for one write only.
 *   R2  Locks are let go after each STEP, so that others get at the files, and
 *       a request ends after STEPS of them, so that it can be interrupted.
 *   R3  A hole is copied as zeros, which take space, as ext4 does it: who
 *       wants holes in the copy looks for them (SEEK_HOLE, as cp does).
 */
#include <errno.h>

#include "copy/copy.h"
#include "op/write_i.h"

#define STEP		(4ull << 20)
#define STEPS		16u
#define PIECES		64u

struct ranging {
	struct writing w;	/* the destination */
	struct inode *src;
	uint64_t from;		/* of the next byte in src */
	uint64_t left;
	uint64_t done;
	bool ended;		/* of src */
};

/* ---- locks (R1) -------------------------------------------------------------- */

static void lock_both(const struct ranging *r)
{
	if (r->src != r->w.ip && r->src->ino < r->w.ip->ino)
		inode_rdlock(r->src);
	inode_wrlock(r->w.ip);
	if (r->src != r->w.ip && r->src->ino > r->w.ip->ino)
		inode_rdlock(r->src);
}

static void unlock_both(const struct ranging *r)
{
	inode_unlock(r->w.ip);
	if (r->src != r->w.ip)
		inode_unlock(r->src);
}

/* ---- one step ------------------------------------------------------------------ */

static int copy_piece(struct ranging *r, const struct op_piece *piece, uint64_t mark)
{
	struct payload p;
	size_t n = 0, done;
	int err = 0;

	while (!err && n < piece->len) {
		p = payload_mem((const uint8_t *)piece->base + n,
				min64(piece->len - n, OP_WRITE_MAX));
		r->w.p = &p;
		r->w.pos = r->w.end;
		done = 0;
		err = write_range(&r->w, mark, &done);
		if (!err && !done)
			err = -ENOSPC;
		n += done;
		r->w.end = r->w.pos;
	}
	r->done += n;
	r->from += n;
	r->left -= n;
	return err;
}

/* What the copy itself adds to the file is not copied. */
static void stop_at_end(struct ranging *r)
{
	uint64_t size = get64(inode_media(r->src)->size);

	if (!r->done)
		r->left = r->from < size ? min64(r->left, size - r->from) : 0;
}

/* As much as the pieces cover; locked. */
static int copy_step(struct ranging *r, uint64_t mark)
{
	bool one = r->src == r->w.ip;				/* R1 */
	struct op_piece piece[PIECES];
	unsigned nr = one ? 1 : PIECES, i;
	size_t got = 0;
	int err = op_reg_ok(r->src);

	if (!err && one)
		stop_at_end(r);
	if (!err)
		err = op_pieces(r->src, r->from, min64(r->left, one ? OP_WRITE_MAX : STEP),
				piece, &nr, &got);
	if (err)
		return err;
	r->ended = !got;
	inode_accessed(r->src);
	for (i = 0; i < nr && !err; i++)
		err = copy_piece(r, &piece[i], mark);
	return err;
}

/* ---- the request ------------------------------------------------------------------ */

static int copy_all(struct ranging *r, uint64_t mark)
{
	unsigned step;
	int err = 0;

	for (step = 0; step < STEPS && r->left && !r->ended && !err; step++) {	/* R2 */
		lock_both(r);
		err = copy_step(r, mark);
		unlock_both(r);
	}
	/* what is there is there; the next call says what the matter is */
	return r->done && err == -ENOSPC ? 0 : err;
}

static int range_ok(const struct ranging *r)
{
	uint64_t to = r->w.end;

	if (r->from > PMEMFS_MAX_SIZE || to > PMEMFS_MAX_SIZE)
		return -EFBIG;
	if (r->src == r->w.ip && r->from < to + r->left && to < r->from + r->left)
		return -EINVAL;
	return 0;
}

int op_copy_range(const struct op_ctx *c, uint64_t from_node, uint64_t from,
		  uint64_t to_node, uint64_t to, uint64_t len, uint32_t flags,
		  uint64_t *done)
{
	struct ranging r = {
		.w = { .end = to, .flags = flags }, .from = from,
		.left = min64(len, PMEMFS_MAX_SIZE),
	};
	uint64_t mark = op_enter(c);
	int err = op_get_rw(c, to_node, &r.w.ip);

	*done = 0;
	if (err)
		return op_leave(c, mark, err);
	err = op_get(c, from_node, &r.src);
	if (!err) {
		err = range_ok(&r);
		if (!err)
			err = copy_all(&r, mark);
		*done = r.done;
		inode_put(r.src);
	}
	inode_put(r.w.ip);
	return op_leave(c, mark, err);
}
