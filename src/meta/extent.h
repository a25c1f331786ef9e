/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extent.h - file blocks to pool blocks
 *
 * Up to four extents live in the inode, more in a B+tree. Callers hold the
 * inode's lock (shared to look, exclusive to change).
 */
#ifndef META_EXTENT_H
#define META_EXTENT_H

#include "meta/inode.h"

struct extent {
	uint64_t blk;		/* first block of the file */
	uint64_t len;		/* blocks; a hole's may be huge */
	uint64_t pool;		/* pool block, 0: hole */
	bool unwritten;		/* allocated, reads as zero */
};

static inline bool extent_is_hole(const struct extent *e) { return e->pool == 0; }
static inline bool extent_has_data(const struct extent *e)
{
	return e->pool && !e->unwritten;
}

/* What file block blk maps to, starting exactly at blk. With t, changes made
 * in t are seen. -EUCLEAN. */
int extent_at(struct txn *t, const struct inode *ip, uint64_t blk,
	      struct extent *e);
/* The last extent that begins before file block blk (for a goal, or the end
 * of the file's blocks). -ENOENT. */
int extent_before(struct txn *t, const struct inode *ip, uint64_t blk,
		  struct extent *e);

/* Map a hole to a run of the same transaction, or to one that it unmapped;
 * neighbours are merged. Adds to inode.blocks. -ENOSPC (a tree node). */
int extent_insert(struct txn *t, struct inode *ip, uint64_t blk,
		  struct run r, bool unwritten);
/* Unwritten blocks become written ones. -ENOSPC. */
int extent_written(struct txn *t, struct inode *ip, uint64_t blk, uint64_t len);
/* Written blocks become unwritten (ZERO_RANGE). -ENOSPC. */
int extent_unwritten(struct txn *t, struct inode *ip, uint64_t blk, uint64_t len);
/*
 * Unmap [from, to) and free the blocks, working from the end, until done or
 * the record's bound is reached: 1 = more to do in a further record, 0 = done.
 * May need a node when it cuts the middle out of an extent (reserve).
 */
int extent_remove(struct txn *t, struct inode *ip, uint64_t from, uint64_t to);
/*
 * Unmap all of [from, to) and leave its blocks to the caller, who frees them
 * or maps them again in the same record; so the range is short. Takes from
 * inode.blocks. -ENOSPC (a tree node, or more than a record holds).
 */
int extent_unmap(struct txn *t, struct inode *ip, uint64_t from, uint64_t to);

#endif
