/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hand.h - a pool written by hand
 *
 * Straight from format.h, with none of the program's code but checksums: a
 * third reading of the format, besides the code that writes pools and the
 * verifier. It is the body of a test program more than a library, and holds
 * one pool at a time: make it with mkfs_pool(), set geo and base, call fill().
 */
#ifndef SUPPORT_HAND_H
#define SUPPORT_HAND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/siphash.h"
#include "meta/fs.h"

enum {
	ROOT = 1, FILE_INO = 2, DIR_INO = 3, SUB_INO = 4, LINK_INO = 5, LONG_INO = 6,
	DEV_INO = 7, TREE_INO = 8, ORPHAN_INO = 9, XATTR_INO = 10, FREE_INO = 20,
	RETIRED_INO = 21, ORPHAN2_INO = 25,
};

static struct geometry geo;
static uint8_t *base;			/* the pool's bytes */
static uint64_t next_blk;
/* blocks that cases need to find again */
static uint64_t root_leaf, dir_leaf, tree_root, tree_leaf[2], xattr_leaf, xattr_blk;
static uint64_t file_blk;

/* ---- writing by hand --------------------------------------------------- */

static void *at(uint64_t off) { return base + off; }
static void *blk(uint64_t b) { return base + blk_off(b); }

static uint64_t ino_off(uint64_t ino)
{
	return blk_off(geo.data_blk) + ino * PMEMFS_INODE_SIZE;
}

static struct pmemfs_inode *inode(uint64_t ino) { return at(ino_off(ino)); }
static struct pmemfs_chunk *chunk(void) { return at(ino_off(0)); }
static struct pmemfs_system *sys_blk(void) { return blk(PMEMFS_BLK_SYSTEM); }

static void seal_off(uint64_t off, size_t len)
{
	le32 crc = put32(seal_crc(at(off), len, off));

	memcpy(at(off), &crc, sizeof(crc));
}

static void seal_inode(uint64_t ino) { seal_off(ino_off(ino), PMEMFS_INODE_SEALED); }
static void seal_link(uint64_t ino) { seal_off(ino_off(ino) + 192, 64); }
static void seal_node(uint64_t b) { seal_off(blk_off(b), PMEMFS_BLOCK_SIZE); }

static void bitmap(uint64_t b, bool set)
{
	uint8_t *map = blk(geo.bitmap_blk + b / PMEMFS_GROUP_BLOCKS);
	uint32_t bit = b % PMEMFS_GROUP_BLOCKS;

	if (set)
		map[bit / 8] |= (uint8_t)(1u << bit % 8);
	else
		map[bit / 8] &= (uint8_t)~(1u << bit % 8);
}

static uint64_t take(uint64_t n)
{
	uint64_t first = next_blk;

	for (; n; n--)
		bitmap(next_blk++, true);
	return first;
}

static uint64_t ext(uint64_t b, uint64_t len)
{
	return b | len << PMEMFS_EXT_BLK_BITS;
}

static void seal_chunk(void)
{
	struct pmemfs_chunk *h = chunk();
	le64 where = put64(ino_off(0));
	unsigned i, used = 0;

	for (i = 0; i < sizeof(h->used); i++)
		used += (unsigned)__builtin_popcount(h->used[i]);
	h->free = put32(PMEMFS_CHUNK_INODES - used);
	h->crc = put32(crc32c(crc32c(0, &where, 8), h, 96));
}

/* What a checkpoint derives: descriptors, totals. */
static void derive(void)
{
	uint64_t off, total = 0;
	struct pmemfs_group *d;
	struct pmemfs_slot *s;
	uint32_t g, i, nr_free;
	const uint8_t *map;

	for (g = 0; g < geo.nr_groups; g++) {
		map = blk(geo.bitmap_blk + g);
		nr_free = PMEMFS_GROUP_BLOCKS;
		for (i = 0; i < PMEMFS_BLOCK_SIZE; i++)
			nr_free -= (uint32_t)__builtin_popcount(map[i]);
		off = blk_off(geo.groups_blk) + g * sizeof(*d);
		d = at(off);
		d->free = put32(nr_free);
		d->bitmap_crc = put32(crc32c(0, map, PMEMFS_BLOCK_SIZE));
		seal_off(off, sizeof(*d));
		total += nr_free;
	}
	seal_chunk();
	for (i = 0; i < 2; i++) {
		s = blk(PMEMFS_BLK_SLOT0 + i);
		s->blocks_free = put64(total);
		s->inodes_used = put64(255 - get32(chunk()->free));
		seal_off(blk_off(PMEMFS_BLK_SLOT0 + i), sizeof(*s));
	}
}

static struct pmemfs_inode *new_inode(uint64_t ino, uint32_t mode, uint32_t nlink)
{
	struct pmemfs_inode *di = inode(ino);

	memset(di, 0, sizeof(*di));
	chunk()->used[ino / 8] |= (uint8_t)(1u << ino % 8);
	di->mode = put32(mode);
	di->nlink = put32(nlink);
	di->parent = put64(ROOT);
	return di;
}

static uint64_t new_node(uint8_t tree, uint8_t level, uint64_t owner)
{
	uint64_t b = take(1);
	struct pmemfs_node *n = blk(b);

	memset(n, 0, sizeof(*n));
	n->magic = put32(PMEMFS_NODE_MAGIC);
	n->level = level;
	n->tree = tree;
	n->owner = put64(owner);
	n->heap = put16(PMEMFS_BLOCK_SIZE);
	seal_node(b);
	return b;
}

static uint8_t *slot_item(uint64_t b, unsigned i)
{
	struct pmemfs_node *n = blk(b);

	return (uint8_t *)n + get16(n->slot[i].off);
}

/* Insert in key order. */
static void add_item(uint64_t b, uint64_t key, const void *val, size_t len)
{
	struct pmemfs_node *n = blk(b);
	unsigned nr = get16(n->nr), i = 0;
	uint16_t off = (uint16_t)(get16(n->heap) - len - 8);

	while (i < nr && load64(slot_item(b, i)) < key)
		i++;
	memmove(&n->slot[i + 1], &n->slot[i], (nr - i) * sizeof(n->slot[0]));
	n->slot[i].off = put16(off);
	n->slot[i].len = put16((uint16_t)len);
	save64((uint8_t *)n + off, key);
	memcpy((uint8_t *)n + off + 8, val, len);
	n->heap = put16(off);
	n->nr = put16((uint16_t)(nr + 1));
	seal_node(b);
}

static void add_u64(uint64_t b, uint64_t key, uint64_t val)
{
	le64 v = put64(val);

	add_item(b, key, &v, sizeof(v));
}

static uint64_t name_hash(const char *name)
{
	uint64_t h = siphash24(geo.seed, name, strlen(name)) & PMEMFS_KEY_MASK;

	return h ? h : PMEMFS_DIR_MIN_KEY;
}

static void add_name_key(uint64_t leaf, uint64_t dir, uint64_t key, const char *name,
			 uint64_t ino)
{
	struct pmemfs_inode *di = inode(dir);
	uint8_t val[8 + 255];
	size_t len = strlen(name);

	save64(val, ino | (uint64_t)(get32(inode(ino)->mode) >> 12) << 56);
	memcpy(val + 8, name, len);
	add_item(leaf, key, val, 8 + len);
	di->size = put64(get64(di->size) + 8 + len);
	seal_inode(dir);
}

static void add_name(uint64_t leaf, uint64_t dir, const char *name, uint64_t ino)
{
	add_name_key(leaf, dir, name_hash(name), name, ino);
}

static uint64_t make_dir_tree(uint64_t ino)
{
	struct pmemfs_inode *di = inode(ino);
	uint64_t leaf = new_node(PMEMFS_TREE_DIR, 0, ino);

	di->root_kind = PMEMFS_ROOT_TREE;
	di->root.tree = put64(leaf);
	di->blocks = put64(1);
	seal_inode(ino);
	return leaf;
}

/* ---- one of everything ------------------------------------------------- */

static void make_file(void)
{
	struct pmemfs_inode *di = new_inode(FILE_INO, S_IFREG | 0644, 2);

	file_blk = take(2);
	di->root_kind = PMEMFS_ROOT_INLINE;
	di->nr_inline = 1;
	di->root.extent[0].where = put64(ext(file_blk, 2));
	di->size = put64(5000);
	di->blocks = put64(2);
	seal_inode(FILE_INO);
}

static void make_links(void)
{
	struct pmemfs_inode *di = new_inode(LINK_INO, S_IFLNK | 0777, 1);
	uint64_t b = take(1);

	di->root_kind = PMEMFS_ROOT_BYTES;
	di->size = put64(6);
	memcpy(di->root.bytes, "target", 6);
	seal_inode(LINK_INO);

	di = new_inode(LONG_INO, S_IFLNK | 0777, 1);
	di->root_kind = PMEMFS_ROOT_INLINE;
	di->nr_inline = 1;
	di->root.extent[0].where = put64(ext(b, 1));
	di->size = put64(100);
	di->blocks = put64(1);
	memset(blk(b), 'x', 100);
	seal_inode(LONG_INO);
}

static void make_tree(void)
{
	struct pmemfs_inode *di = new_inode(TREE_INO, S_IFREG | 0644, 1);
	unsigned i;

	tree_root = new_node(PMEMFS_TREE_EXTENT, 1, TREE_INO);
	for (i = 0; i < 2; i++) {
		tree_leaf[i] = new_node(PMEMFS_TREE_EXTENT, 0, TREE_INO);
		add_u64(tree_leaf[i], 100 * i, ext(take(1), 1));
		add_u64(tree_leaf[i], 100 * i + 10, ext(take(3), 3) | PMEMFS_EXT_UNWRITTEN);
		add_u64(tree_root, 100 * i, tree_leaf[i]);
	}
	di->root_kind = PMEMFS_ROOT_TREE;
	di->root.tree = put64(tree_root);
	di->size = put64(200 * 4096);
	di->blocks = put64(3 + 2 * 4);
	seal_inode(TREE_INO);
}

static void put_orphan(uint64_t ino, uint64_t prev, uint64_t next)
{
	struct pmemfs_inode *di = new_inode(ino, S_IFREG | 0600, 0);

	seal_inode(ino);
	di->link.listed = put32(1);
	di->link.prev = put64(prev);
	di->link.next = put64(next);
	seal_link(ino);
}

static void seal_shard(unsigned i)
{
	seal_off(blk_off(PMEMFS_BLK_SYSTEM) + 2048 + i * 64, 64);
}

static void make_orphans(void)
{
	put_orphan(ORPHAN_INO, 0, ORPHAN2_INO);
	put_orphan(ORPHAN2_INO, ORPHAN_INO, 0);
	sys_blk()->orphans[9].first = put64(ORPHAN_INO);
	seal_shard(9);
}

static void add_xattr(const char *name, uint32_t size, uint64_t where)
{
	uint8_t val[1024] = { 0 };
	struct pmemfs_xattr x = { .name_len = (uint8_t)strlen(name), .size = put32(size) };
	size_t len = 12 + x.name_len;

	memcpy(val + 12, name, x.name_len);
	if (where) {
		x.nr_runs = 1;
		x.crc = put32(crc32c(0, blk(where & (PMEMFS_MAX_BLOCKS - 1)), size));
		save64(val + len, where);
		len += 8;
	} else {
		memset(val + len, 'v', size);
		len += size;
	}
	memcpy(val, &x, 12);
	add_item(xattr_leaf, name_hash(name), val, len);
}

static void make_xattrs(void)
{
	struct pmemfs_inode *di = new_inode(XATTR_INO, S_IFREG | 0644, 1);

	xattr_leaf = new_node(PMEMFS_TREE_XATTR, 0, XATTR_INO);
	xattr_blk = take(2);
	memset(blk(xattr_blk), 'y', 5000);
	di->xattr = put64(xattr_leaf);
	di->blocks = put64(3);
	add_xattr("user.small", 10, 0);
	add_xattr("user.large", 5000, ext(xattr_blk, 2));
	seal_inode(XATTR_INO);
}

static void make_names(void)
{
	root_leaf = make_dir_tree(ROOT);
	add_name(root_leaf, ROOT, "file", FILE_INO);
	add_name(root_leaf, ROOT, "dir", DIR_INO);
	add_name(root_leaf, ROOT, "link", LINK_INO);
	add_name(root_leaf, ROOT, "long", LONG_INO);
	add_name(root_leaf, ROOT, "dev", DEV_INO);
	add_name(root_leaf, ROOT, "tree", TREE_INO);
	add_name(root_leaf, ROOT, "xattr", XATTR_INO);
	inode(ROOT)->nlink = put32(3);
	seal_inode(ROOT);

	dir_leaf = make_dir_tree(DIR_INO);
	add_name(dir_leaf, DIR_INO, "sub", SUB_INO);
	add_name(dir_leaf, DIR_INO, "hard", FILE_INO);
}

static void fill(void)
{
	next_blk = geo.data_blk + PMEMFS_CHUNK_BLOCKS;
	make_file();
	make_links();
	make_tree();
	make_orphans();
	make_xattrs();
	new_inode(DIR_INO, S_IFDIR | 0755, 3);
	new_inode(SUB_INO, S_IFDIR | 0755, 2)->parent = put64(DIR_INO);
	new_inode(DEV_INO, S_IFCHR | 0600, 1)->rdev = put32(0x103);
	inode(RETIRED_INO)->gen = put32(PMEMFS_MAX_GEN);
	chunk()->used[RETIRED_INO / 8] |= 1u << RETIRED_INO % 8;
	inode(FREE_INO)->gen = put32(7);
	seal_inode(SUB_INO);
	seal_inode(DEV_INO);
	seal_inode(RETIRED_INO);
	seal_inode(FREE_INO);
	make_names();
	derive();
}

#endif
