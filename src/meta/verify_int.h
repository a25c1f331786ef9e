/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify_int.h - what the files of the verifier share, and nobody else
 *
 *   verify.c        the plot
 *   verify_area.c   superblocks, checkpoint slots, bad blocks
 *   verify_inode.c  the inode table and every slot in it
 *   verify_tree.c   what hangs off an inode: tree nodes, extents, entries, xattrs
 *   verify_link.c   orphan lists, link counts, parents
 *   verify_map.c    who owns which block; bitmap and group descriptors
 */
#ifndef META_VERIFY_INT_H
#define META_VERIFY_INT_H

#include "meta/pieces.h"
#include "meta/verify.h"

/* What is remembered of an inode between the passes: 16 bytes. */
struct vinode {
	uint64_t parent : PMEMFS_INO_BITS;	/* directory that names it */
	uint64_t type : 4;		/* mode >> 12 */
	uint64_t used : 1;
	uint64_t bad : 1;		/* do not look inside */
	uint64_t listed : 1;		/* its link says: on the orphan list */
	uint64_t seen : 1;		/* met on an orphan list */
	uint64_t named : 1;		/* parent is valid */
	uint64_t mark : 2;		/* enum vmark */
	uint32_t links;			/* names found */
	uint32_t subdirs;
};
_Static_assert(sizeof(struct vinode) == 16, "verify.h promises little memory");

enum vmark { MARK_NONE, MARK_REACHED, MARK_WALKING, MARK_LOST };


struct verify {
	struct fs *fs;
	struct pm *pm;
	const struct geometry *geo;
	verify_fn fn;
	void *arg;
	void (*progress)(void *arg, unsigned permille);
	struct verify_result *res;
	uint64_t **owned;		/* a bit a block; group by group, lazily */
	struct vinode **chunk;		/* 256 inodes; chunk by chunk, lazily */
	uint64_t nr_chunks;
	struct pieces pieces;
	uint64_t used_inodes;		/* bits, without chunk headers */
	bool nomem;			/* give up: every pass looks */
};

/* Where a problem is. */
struct vplace { uint64_t ino, off; };

void verify_problem(struct verify *v, enum verify_kind kind, struct vplace at,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* NULL: no such inode, or a free one. */
struct vinode *verify_node(struct verify *v, uint64_t ino);

/* verify_area.c */

/* Owns the metadata areas and the bad blocks. */
void verify_areas(struct verify *v);
/* Both slots; returns the newest good one, or NULL. */
const struct pmemfs_slot *verify_slots(struct verify *v);
/* The totals of that slot against what was counted. */
void verify_totals(struct verify *v, const struct pmemfs_slot *s);

/* verify_inode.c */

/* Find the table's pieces. false: without them there is nothing to walk. */
bool verify_table(struct verify *v);
/* Look at every slot of a chunk. */
void verify_chunk(struct verify *v, uint64_t c);
/* Pool offset of a slot of the table, 0: there is none. */
uint64_t verify_slot_off(const struct verify *v, uint64_t ino);
const struct pmemfs_inode *verify_inode_at(const struct verify *v, uint64_t off);

/* verify_link.c */

void verify_orphans(struct verify *v);
void verify_root_dir(struct verify *v);
/* Of one inode in use: is it known by as many as its link count says? */
void verify_links(struct verify *v, uint64_t ino);

/* verify_map.c */

/* [blk, blk + len) can belong to a file: in the data area, no overflow. */
bool verify_in_data(const struct verify *v, uint64_t blk, uint64_t len);
/* Take blocks for their owner; reports those that had one already. true: all
 * were free. The range must lie in the pool. */
bool verify_own(struct verify *v, uint64_t blk, uint64_t len, struct vplace at);
/* Take them without a word (metadata areas). */
void verify_own_quietly(struct verify *v, uint64_t blk, uint64_t len);
/* Bitmap and descriptors against what was owned; fills blocks_used, _free. */
void verify_groups(struct verify *v);

/* verify_tree.c */

/* What was found behind an inode. */
struct vcontent {
	uint64_t blocks;	/* data, nodes, xattrs */
	uint64_t bytes;		/* of directory entries */
	uint64_t end;		/* file block behind the last extent */
	bool is_table;		/* this is the inode table: keep the pieces */
	bool bad;		/* something was damaged: do not count on it */
};
/* Everything an inode points at: extents or entries, then xattrs. off: of the
 * inode. Its fields have been checked. */
void verify_content(struct verify *v, uint64_t ino, uint64_t off,
		    const struct pmemfs_inode *di, struct vcontent *c);

#endif
