/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_int.h - what the files of the repairer share, and nobody else
 *
 *   repair.c           the plot
 *   repair_boot.c      superblocks, checkpoint slots, the log
 *   repair_area.c      bad blocks, bitmap, group descriptors, totals
 *   repair_map.c       who owns which block
 *   repair_table.c     the inode table: where it is, its chunks
 *   repair_inode.c     every slot of it: fields, roots, link lines
 *   repair_tree.c      walk a tree and take out what is bad
 *   repair_content.c   extents and attributes
 *   repair_dir.c       names
 *   repair_link.c      link counts, parents, cycles, orphan lists
 *   repair_salvage.c   what can be found again in blocks that nobody owns
 *   repair_put.c       put things back, with the code that serves a mount
 *   repair_log.c       from the copy to the pool, through the log
 */
#ifndef META_REPAIR_INT_H
#define META_REPAIR_INT_H

#include "meta/node.h"
#include "meta/pieces.h"
#include "meta/redo.h"
#include "meta/repair.h"
#include "pm/overlay.h"

/* What is known of an inode while a round lasts. */
struct rnode {
	uint64_t parent : PMEMFS_INO_BITS;	/* directory that keeps its name */
	uint64_t type : 4;		/* mode >> 12 */
	uint64_t used : 1;
	uint64_t suspect : 1;		/* its checksum was wrong: believed last */
	uint64_t listed : 1;		/* its link says: on an orphan list */
	uint64_t seen : 1;		/* met on one */
	uint64_t named : 1;		/* parent is valid */
	uint64_t dotdot : 1;		/* the directory in its ".." names it */
	uint64_t lost : 1;		/* something of it was dropped */
	uint64_t resize : 1;		/* a file whose size says nothing */
	uint64_t mark : 2;		/* enum rmark */
	uint32_t links;			/* names kept */
	uint32_t subdirs;
	uint64_t blocks;
	uint64_t bytes;			/* of names */
};

enum rmark { RMARK_NONE, RMARK_REACHED, RMARK_WALKING, RMARK_LOST };

/* A bit a block, by group, made as needed. */
struct rmap { uint64_t **group; };

/* Something to be done by the code of a mount, once the trees are whole. */
enum rput_kind {
	PUT_UNNAME,	/* take the name of ino out of dir */
	PUT_NAME,	/* name -> ino into dir */
	PUT_XATTR,	/* name, value to ino */
	PUT_EXTENT,	/* blocks to ino at pos */
	PUT_CLONE,	/* a copy of the blocks to ino at pos */
	PUT_LOST,	/* ino into /lost+found */
};
struct rput {
	enum rput_kind kind;
	enum problem tell;		/* told when it was done; 0: nothing */
	uint64_t dir, ino, off;
	uint64_t pos, blk, len;		/* blocks */
	bool unwritten;
	bool skip;			/* an inode that is to be freed */
	bool again;			/* there was no space; once more */
	uint32_t name_len, val_len;
	uint8_t *bytes;			/* name, then value */
};

#define RWALK_SAME	256u		/* names that may share a hash */

struct rstep {
	struct pmemfs_node n;		/* a copy, changed, put back at the end */
	uint64_t blk, lo, hi;		/* keys: lo <= key < hi */
	unsigned i;
	bool dirty;
};

#define RHELD	16u		/* more than repair_boot.c can tell */
#define RTEXT	320u

struct repair {
	struct repair_options opt;
	struct repair_result *res;
	struct pm *real;		/* the pool itself; NULL with opt.look */
	struct pm_overlay *ov;
	struct fs fs;			/* the copy: pm, geo, and no more */
	struct pm *pm;			/* fs.pm */
	const struct geometry *geo;
	struct redo_start st;		/* of the copy, after its log was replayed */
	int super;			/* the good copy */
	bool super_bad;			/* the other one is not */
	enum fs_log log;		/* what is done with a damaged one */
	bool hold;			/* keep what is told for later */
	unsigned nr_held;
	struct { struct repair_problem p; char text[RTEXT]; } held[RHELD];

	unsigned round;
	bool exact;			/* bitmap: what is owned, no more */
	bool slots_made;		/* no totals to compare with */
	bool salvaged, table_bad, nomem;
	bool tight, tight_next;		/* space ran out once */
	uint64_t was_free, was_used;	/* totals as the first round met them */
	uint64_t nr_free, nr_used;	/* totals, counted */
	struct rmap owned, meta;	/* of this round */
	struct rmap first;		/* owned, as of the first round */
	uint64_t *distrust;		/* a bit a group: its bitmap is no witness */

	struct rnode **chunk;		/* 256 inodes; chunk by chunk */
	uint64_t nr_chunks;
	struct pieces pieces;
	uint64_t table_blocks;
	struct rput *put;
	size_t nr_puts, max_puts, nr_names;
	struct rstep way[PMEMFS_MAX_LEVEL];	/* of the one walk there is */
	struct { uint32_t len; char s[PMEMFS_NAME_MAX]; } same[RWALK_SAME];
	uint64_t take_hint;
};

/* Where a problem is. */
struct rplace { uint64_t ino, off; };

/* ---- repair.c -------------------------------------------------------------- */

void repair_tell(struct repair *r, enum problem nr, struct rplace at,
		 const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool repair_stopped(const struct repair *r);
/* Seal an object of the copy and store it. */
void repair_seal(struct repair *r, uint64_t off, void *obj, size_t len);
/* NULL: no such inode, or a free one. */
struct rnode *repair_node(struct repair *r, uint64_t ino);
void repair_each(struct repair *r, void (*fn)(struct repair *r, uint64_t ino));

/* ---- repair_boot.c ----------------------------------------------------------- */

/*
 * Of a pool (the copy or the real one) that has pm, geo and nothing else:
 * slots that can be read, log replayed as far as it goes, new slots. tell:
 * through r. st: for redo_open().
 */
int repair_boot(struct repair *r, struct fs *fs, struct redo_start *st, bool tell);
/* Superblock: choose, tell, and mend it in the copy. */
int repair_super(struct repair *r);

/* ---- repair_area.c ----------------------------------------------------------- */

void repair_areas(struct repair *r);
/* Which groups' bitmaps are witnesses (first round). */
void repair_groups_look(struct repair *r);
/* Bitmap and descriptors from the owners. */
void repair_groups(struct repair *r);
/* Both slots with the totals. */
void repair_totals(struct repair *r);
/* Is the block marked in the bitmap (as it is in the copy)? */
bool repair_is_marked(const struct repair *r, uint64_t blk);
/* Is the bitmap a witness for this block, and does it say that it is free? */
bool repair_is_trusted(const struct repair *r, uint64_t blk);
bool repair_is_free(const struct repair *r, uint64_t blk);
/* A run of free blocks, taken. 0: none. */
uint64_t repair_take(struct repair *r, uint64_t len);

/* ---- repair_map.c ------------------------------------------------------------ */

int rmap_new(struct rmap *m, const struct geometry *geo);
void rmap_free(struct rmap *m, const struct geometry *geo);
bool rmap_test(const struct rmap *m, uint64_t blk);
bool rmap_set(struct rmap *m, uint64_t blk, uint64_t len, bool set);
/* How many blocks from blk on, at most len, are alike; *set: what they are. */
uint64_t rmap_run(const struct rmap *m, uint64_t blk, uint64_t len, bool *set);

bool repair_in_data(const struct repair *r, uint64_t blk, uint64_t len);
bool repair_unowned(const struct repair *r, uint64_t blk, uint64_t len);
void repair_own(struct repair *r, uint64_t blk, uint64_t len, bool meta);
void repair_disown(struct repair *r, uint64_t blk, uint64_t len);

/* ---- repair_table.c ---------------------------------------------------------- */

/* Find the table's pieces and chunks. */
void repair_table(struct repair *r);
/* Holes filled, extents written anew where it was damaged. */
void repair_table_finish(struct repair *r);
void repair_chunks(struct repair *r);
/* Pool offset of a slot, 0: there is none. */
uint64_t repair_slot_off(const struct repair *r, uint64_t ino);
const struct pmemfs_inode *repair_inode_at(const struct repair *r, uint64_t off);
/* crc and free of a chunk header. */
void repair_seal_chunk(struct repair *r, uint64_t off, struct pmemfs_chunk *h);
void repair_mark_slot(struct repair *r, uint64_t ino, bool used);

/* ---- repair_inode.c ---------------------------------------------------------- */

/* Look at a slot; is its bit to be set? marked: it is; believe: that says something. */
bool repair_slot(struct repair *r, uint64_t ino, bool marked, bool believe);
/* Free an inode that cannot be used; its blocks lose their owner by themselves. */
void repair_clear(struct repair *r, uint64_t ino);
void repair_root_dir(struct repair *r);
void repair_put_inode(struct repair *r, uint64_t off, struct pmemfs_inode *di);

/* ---- repair_tree.c ----------------------------------------------------------- */

enum ritem { ITEM_KEEP, ITEM_DROP, ITEM_CHANGED };
struct rwalk;
typedef enum ritem (*ritem_fn)(struct rwalk *w, uint64_t key, uint8_t *val,
			       unsigned len, uint64_t off);

/* One tree being walked. */
struct rwalk {
	struct repair *r;
	struct rnode *node;		/* of its owner; NULL: the inode table */
	uint64_t ino;
	enum pmemfs_tree tree;
	bool claim;			/* first time: check nodes, own them */
	ritem_fn fn;			/* or NULL */
	bool dropped;			/* some node was */
	uint64_t nodes;
	uint64_t end;			/* extents: behind the last one */
	uint64_t hash;			/* names that collide with the one at hand */
	uint32_t nr_same;
};

/* The root of what is left, 0: nothing. */
uint64_t repair_walk(struct rwalk *w, uint64_t root);
/* NULL, or what is wrong with a node by itself. */
const char *repair_node_bad(const struct pmemfs_node *n, uint64_t blk);
/* Does the key fit the name? *twice: it was met before in this walk. */
bool repair_key_ok(struct rwalk *w, uint64_t key, const char *name, uint32_t len,
		   bool *twice);
void repair_walk_init(struct rwalk *w, struct repair *r, uint64_t ino);

/* ---- repair_content.c -------------------------------------------------------- */

void repair_nodes(struct repair *r, uint64_t ino);	/* trees: nodes */
void repair_data(struct repair *r, uint64_t ino);	/* extents, attributes */
void repair_sizes(struct repair *r, uint64_t ino);
/* NULL, or why where (PMEMFS_EXT_*) cannot be at file block pos. */
const char *repair_extent_bad(const struct repair *r, uint64_t pos, uint64_t where);
/* Header of an attribute in val; false: its fields do not fit each other. */
bool repair_xattr_fields(const uint8_t *val, unsigned len, struct pmemfs_xattr *x);
/* Put the value of an attribute together; false: wrong blocks or checksum. */
bool repair_xattr_value(const struct repair *r, const uint8_t *val,
			const struct pmemfs_xattr *x, uint8_t *out);

/* ---- repair_dir.c ------------------------------------------------------------ */

void repair_count_dirs(struct repair *r, uint64_t ino);	/* who names directories */
void repair_names(struct repair *r, uint64_t ino);
bool repair_name_ok(const char *name, uint32_t len);

/* ---- repair_link.c ----------------------------------------------------------- */

void repair_heads(struct repair *r);	/* of the orphan lists */
void repair_links(struct repair *r);

/* ---- repair_salvage.c -------------------------------------------------------- */

void repair_salvage(struct repair *r);

/* ---- repair_put.c ------------------------------------------------------------ */

struct rput *repair_put_add(struct repair *r, enum rput_kind kind, uint64_t ino);
void repair_put_bytes(struct repair *r, struct rput *p, const void *name, uint32_t name_len,
		      const void *val, uint32_t val_len);
void repair_puts_clear(struct repair *r);
/* Do all that was put down. -ENOMEM, -EIO. */
int repair_puts_run(struct repair *r);

/* ---- repair_log.c ------------------------------------------------------------ */

/* From the copy to fs, which is the real pool, booted. */
int repair_transfer(struct repair *r, struct fs *fs);

#endif
