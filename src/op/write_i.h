/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write_i.h - what the ways of writing share (write.c, write_atomic.c,
 * write_shared.c)
 */
#ifndef OP_WRITE_I_H
#define OP_WRITE_I_H

#include "copy/copy.h"
#include "op/op_i.h"

struct writing {
	struct inode *ip;	/* locked exclusively, but in write_shared.c */
	struct payload *p;
	struct txn *t;
	uint64_t pos;		/* of the next byte */
	uint64_t end;		/* of the request */
	uint32_t flags;		/* OP_WRITE_* */
};

/* Has it landed where it is best left, whatever the file has in its place? */
static inline bool write_replaces(const struct writing *w)
{
	return w->p->land && w->p->land->replace;
}

/* What may be written, and where: w->pos and w->end. -EFBIG, -EPERM, ... */
int write_limits(struct writing *w);
/* What the file loses by being written to: mode bits, capabilities (W3). */
bool write_takes_priv(const struct writing *w, uint32_t *bits, bool *caps);
/* Where in the pool a hole at file block blk is best filled; ALLOC_* flags. */
uint64_t write_goal(struct writing *w, uint64_t blk, unsigned *flags);
/* The same before there is a transaction, for len bytes at pos; held shared. */
uint64_t write_goal_at(const struct inode *ip, uint64_t pos, uint64_t len, unsigned *flags);
/*
 * nr blocks that the file needs at file block blk: has the payload landed in free
 * blocks that can take the place? Then they are in w->t, as far as *r says. 0;
 * -ENOSPC: no.
 */
int write_land(struct writing *w, uint64_t blk, uint64_t nr, struct run *r);
void write_times(struct writing *w, struct pmemfs_inode *mi);
/* Everything up to w->pos is there: size and times. True: the file grew. */
bool write_note(struct writing *w, struct pmemfs_inode *mi);
/* w->p to w->pos, to w->end at the most; *done says how much (op_write). */
int write_range(struct writing *w, uint64_t mark, size_t *done);
/*
 * The whole request as one record, or nothing: 0 and w->pos == w->end, or
 * w->pos as it was. -ENOSPC, -EINVAL (more than OP_WRITE_MAX).
 */
int write_atomic(struct writing *w, uint64_t mark);
/*
 * For an inode that somebody else is using, not locked here: overwrite it
 * without waiting for him. 0: all is written. 1: it is not that simple, nothing
 * has happened, lock it. Else -errno.
 */
int write_shared(struct writing *w, uint64_t mark);

#endif
