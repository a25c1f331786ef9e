/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peek.h - look at structures of a pool without trusting any of them
 *
 * For dump.pmemfs: needs a mapping and a geometry, no opened filesystem.
 * What cannot be read is passed to damage() and left out. Nothing loops: the
 * nodes looked at are bounded by the size of the pool.
 */
#ifndef META_PEEK_H
#define META_PEEK_H

#include "meta/fs.h"

struct peek {
	const struct pm *pm;
	const struct geometry *geo;
	uint64_t nodes;			/* still to look at; 0: as many as blocks */
	void (*damage)(void *arg, uint64_t off, const char *text);
	/* each may be NULL */
	void (*node)(void *arg, const struct pmemfs_node *n, uint64_t blk);
	void (*item)(void *arg, uint64_t key, const uint8_t *val, unsigned len);
	void *arg;
};

/* [blk, blk + len) lies in the data area. */
bool peek_in_data(const struct peek *p, uint64_t blk, uint64_t len);
/* All nodes and items of a tree, in order. */
void peek_tree(struct peek *p, uint64_t root, enum pmemfs_tree kind);
/* Extents or entries of an inode; inline extents look like items of a tree. */
void peek_root(struct peek *p, const struct pmemfs_inode *di);
/* An inode by number (0: the inode table itself); *off: where it is. NULL:
 * there is no such slot. */
const struct pmemfs_inode *peek_inode(const struct peek *p, uint64_t ino, uint64_t *off);

#endif
