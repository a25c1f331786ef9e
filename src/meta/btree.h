/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btree.h - the one index: extents, directories, xattrs
 *
 * A tree is a root block number (0: empty) that its owner keeps. Callers
 * hold the owner's lock: shared to read, exclusive to change.
 */
#ifndef META_BTREE_H
#define META_BTREE_H

#include "meta/txn.h"

struct tree {
	struct fs *fs;
	struct txn *t;		/* NULL: read only */
	uint64_t root;		/* changes with insert and delete */
	uint64_t owner;		/* inode number */
	enum pmemfs_tree kind;
	int64_t dblocks;	/* nodes gained or lost by this handle */
};

/* An item; val points into the medium or a shadow and lives until the next
 * change of the tree. */
struct item {
	uint64_t key;
	const uint8_t *val;
	size_t len;
};

/* First item with key >= key; last one with key <= key. -ENOENT. -EUCLEAN. */
int tree_ge(struct tree *tr, uint64_t key, struct item *it);
int tree_le(struct tree *tr, uint64_t key, struct item *it);
int tree_get(struct tree *tr, uint64_t key, struct item *it);

/* -EEXIST; -ENOSPC: the caller must abort the transaction. */
int tree_insert(struct tree *tr, uint64_t key, const void *val, size_t len);
/* Same key, any length. -ENOENT. */
int tree_replace(struct tree *tr, uint64_t key, const void *val, size_t len);
/* Needs no space (L9). -ENOENT. */
int tree_delete(struct tree *tr, uint64_t key);

/* Bytes of fs->verified, the table of nodes checked in this mount. */
size_t tree_table_size(void);

#endif
