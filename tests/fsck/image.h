/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image.h - a pool with one of everything, to be damaged and looked at
 *
 * Made by mkfs and filled through op.h, so what the repairer meets is what a
 * mount leaves. The bytes are in memory: a buffer, or a file that is mapped.
 * Everything here ends the program with a line when it fails.
 */
#ifndef FSCK_IMAGE_H
#define FSCK_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "meta/fs.h"
#include "meta/node.h"
#include "op/op.h"
#include "support/pm_mem.h"

#define IMAGE_SIZE	(16ull << 20)

struct image {
	struct pm_mem mem;		/* mem.buf: the bytes */
	struct geometry geo;
};

/* What there is: a bit each. */
enum thing {
	T_FILE,		/* /file, one extent */
	T_HARD,		/* /dir/hard, the same */
	T_TAIL,		/* /tail, 3 extents, one of them unwritten */
	T_DEEP,		/* /dir/sub/deep */
	T_BIG,		/* /big, 900 extents */
	T_MANY,		/* /many, a directory of 600 */
	T_LINK,		/* /link -> file */
	T_LONG,		/* /long -> 300 bytes */
	T_DEV,		/* /dev, a character device */
	T_FIFO,		/* /fifo */
	T_SMALL,	/* /attrs: 60 small attributes */
	T_LARGE,	/* /attrs: user.large, 20000 bytes */
	T_SETUID,	/* /setuid is 04755 */
	T_NR
};
#define T_BIT(t)	(1u << (t))
#define T_ALL		(T_BIT(T_NR) - 1)

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);

/*
 * At rest; or with records above the watermark, after the daemon was killed
 * (what they say is in place) or the power failed (it is not).
 */
enum ending { AT_REST, KILLED, POWER_CUT, NR_ENDINGS };
#define NR_LOGGED	30u	/* files that only the log knows: /logged0 .. */

void image_make(struct image *img, enum ending end);
void image_map(struct image *img, const char *path);
void image_geometry(struct image *img);
struct fs *image_open(struct image *img, bool ro);

/* Which things are whole. */
uint32_t image_whole(struct fs *fs);
/* How many of the logged files are there and whole. */
unsigned image_logged(struct fs *fs);
/* Entries of /lost+found; -1: there is none. */
int image_found(struct fs *fs);
/* The walk of a mount: everything is listed, read, asked; no error. */
void image_walk(struct fs *fs);
uint64_t image_find(struct fs *fs, const char *path);	/* node id, 0: none */

/* ---- bytes ------------------------------------------------------------- */

void *at(struct image *img, uint64_t off);
struct pmemfs_node *node_at(struct image *img, uint64_t blk);
uint64_t ino_of(struct image *img, const char *path);
uint64_t ino_off(struct image *img, uint64_t ino);	/* 0: none */
struct pmemfs_inode *inode_of(struct image *img, const char *path);
struct pmemfs_chunk *chunk_of(struct image *img, uint64_t ino);
void seal_at(struct image *img, uint64_t off, size_t len);
void seal_inode(struct image *img, struct pmemfs_inode *di);
void seal_node(struct image *img, uint64_t blk);
void seal_chunks(struct image *img);
/* The nth leaf of a tree, from the left; *nr: how many there are. */
uint64_t leaf_of(struct image *img, uint64_t root, unsigned nth, unsigned *nr);
/* Leaf and slot of a name; its item can be changed in place. */
uint64_t entry_of(struct image *img, const char *dir, const char *name, unsigned *slot);
/* Set or clear bits of the block bitmap. */
void mark(struct image *img, uint64_t blk, uint64_t len, bool used);
bool is_marked(struct image *img, uint64_t blk);
/* What a checkpoint would: descriptors, chunk headers, slots. */
void derive(struct image *img);

#endif
