/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * owner.h - whose is this block, and what is that file called
 *
 * For lines about bad memory. Looks without trusting or locking anything
 * (peek.h): what changes meanwhile may be missed, never misused.
 */
#ifndef META_OWNER_H
#define META_OWNER_H

#include "meta/fs.h"

#define OWNER_PATH_MAX	4096u

/*
 * A name of an inode, from the root, '/' between; "inode N" where none can be
 * found. Unprintable bytes are shown as \xNN. Costs a look at each directory
 * on the way.
 */
void owner_path(const struct pm *pm, const struct geometry *geo, uint64_t ino,
		char *buf, size_t size);

enum owner_kind {
	OWNER_DATA,		/* bytes of a file or a symbolic link */
	OWNER_XATTR,		/* the value of an extended attribute */
	OWNER_TREE,		/* a node of an inode's trees */
	OWNER_TABLE,		/* inodes themselves */
	OWNER_FIXED,		/* superblock, slots, log, bitmaps: see text */
	OWNER_NONE,		/* free, or its owner cannot be read: see text */
};

struct owner {
	enum owner_kind kind;
	uint64_t blk;		/* the pool block asked for */
	uint64_t ino;		/* DATA, TREE; TABLE: the first inode in the block */
	uint64_t pos;		/* DATA: byte in the file */
	const char *text;	/* what it is, for people */
};

/* Tell fn the owner of each of nr sorted blocks, in the order they are met. */
int owner_find(const struct pm *pm, const struct geometry *geo, const uint64_t *blk,
	       size_t nr, void (*fn)(void *arg, const struct owner *o), void *arg);

#endif
