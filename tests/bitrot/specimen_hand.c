/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * specimen_hand.c - what no call makes, straight from format.h
 *
 * Uses none of the program's code but checksums and hashes.
 */
#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/siphash.h"
#include "bitrot/specimen.h"

#define ITEMS_A_LEAF	2u
#define WAYS		2u		/* children of an inner node */

static void *at(const struct specimen *s, uint64_t off) { return s->u.base + off; }

static void seal(const struct specimen *s, uint64_t off, size_t len)
{
	le32 crc = put32(seal_crc(at(s, off), len, off));

	memcpy(at(s, off), &crc, sizeof(crc));
}

static const struct pmemfs_system *sys(const struct specimen *s)
{
	return at(s, blk_off(PMEMFS_BLK_SYSTEM));
}

uint64_t hand_slot(const struct specimen *s, uint64_t ino)
{
	const struct pmemfs_inode *table = &sys(s)->itable;
	uint64_t blk = ino / PMEMFS_INODES_PER_BLOCK, first, where, len;
	unsigned i;

	assert(table->root_kind == PMEMFS_ROOT_INLINE);
	for (i = 0; i < table->nr_inline; i++) {
		first = get64(table->root.extent[i].blk);
		where = get64(table->root.extent[i].where);
		len = where >> PMEMFS_EXT_BLK_BITS & PMEMFS_EXT_MAX_LEN;
		if (blk >= first && blk - first < len)
			return blk_off((where & (PMEMFS_MAX_BLOCKS - 1)) + blk - first) +
				ino % PMEMFS_INODES_PER_BLOCK * PMEMFS_INODE_SIZE;
	}
	return 0;
}

/* ---- space ------------------------------------------------------------- */

static void derive(struct specimen *s, int64_t dblocks, int64_t dinodes)
{
	uint64_t off = blk_off(s->geo.groups_blk);
	const uint8_t *map = at(s, blk_off(s->geo.bitmap_blk));
	struct pmemfs_group *g = at(s, off);
	struct pmemfs_slot *slot;
	unsigned i, used = 0;

	assert(s->geo.nr_groups == 1);
	for (i = 0; i < PMEMFS_BLOCK_SIZE; i++)
		used += (unsigned)__builtin_popcount(map[i]);
	g->free = put32(PMEMFS_GROUP_BLOCKS - used);
	g->bitmap_crc = put32(crc32c(0, map, PMEMFS_BLOCK_SIZE));
	seal(s, off, sizeof(*g));
	for (i = 0; i < 2; i++) {
		slot = at(s, blk_off(PMEMFS_BLK_SLOT0 + i));
		slot->blocks_free = put64(get64(slot->blocks_free) + (uint64_t)dblocks);
		slot->inodes_used = put64(get64(slot->inodes_used) + (uint64_t)dinodes);
		seal(s, blk_off(PMEMFS_BLK_SLOT0 + i), sizeof(*slot));
	}
}

static uint64_t take_block(struct specimen *s)
{
	uint8_t *map = at(s, blk_off(s->geo.bitmap_blk));
	uint64_t b;

	for (b = s->geo.nr_blocks - 2; map[b / 8] >> b % 8 & 1; b--)
		;
	map[b / 8] |= (uint8_t)(1u << b % 8);
	derive(s, -1, 0);
	return b;
}

void hand_bad_block(struct specimen *s)
{
	struct pmemfs_badblocks *b = at(s, blk_off(PMEMFS_BLK_BADBLOCKS));

	b->nr = put32(1);
	b->run[0].blk = put64(take_block(s));
	b->run[0].len = put64(1);
	seal(s, blk_off(PMEMFS_BLK_BADBLOCKS), sizeof(*b));
}

void hand_retire_a_slot(struct specimen *s)
{
	uint64_t off = hand_slot(s, 0), ino = PMEMFS_CHUNK_INODES - 1, where;
	struct pmemfs_chunk *h = at(s, off);
	struct pmemfs_inode *di;
	le64 seed = put64(off);

	while (h->used[ino / 8] >> ino % 8 & 1)
		ino--;
	where = hand_slot(s, ino);
	di = at(s, where);
	di->gen = put32(PMEMFS_MAX_GEN);
	seal(s, where, PMEMFS_INODE_SEALED);
	h->used[ino / 8] |= (uint8_t)(1u << ino % 8);
	h->free = put32(get32(h->free) - 1);
	h->crc = put32(crc32c(crc32c(0, &seed, 8), h, 96));
	derive(s, 0, 1);
}

/* ---- deep trees -------------------------------------------------------- */

struct child { uint64_t key, blk; };

static struct pmemfs_node *new_node(struct specimen *s, const struct pmemfs_node *like,
				    unsigned level, uint64_t *blk)
{
	struct pmemfs_node *n;

	*blk = take_block(s);
	n = at(s, blk_off(*blk));
	memset(n, 0, sizeof(*n));
	n->magic = put32(PMEMFS_NODE_MAGIC);
	n->level = (uint8_t)level;
	n->tree = like->tree;
	n->heap = put16(PMEMFS_BLOCK_SIZE);
	n->owner = like->owner;
	return n;
}

/* Behind the last one; keys come in order. */
static void add_item(struct pmemfs_node *n, uint64_t key, const void *val, unsigned len)
{
	unsigned nr = get16(n->nr), off = get16(n->heap) - len - 8u;

	save64((uint8_t *)n + off, key);
	memcpy((uint8_t *)n + off + 8, val, len);
	n->slot[nr].off = put16((uint16_t)off);
	n->slot[nr].len = put16((uint16_t)len);
	n->nr = put16((uint16_t)(nr + 1));
	n->heap = put16((uint16_t)off);
}

/* Leaves of two items each; returns how many, *made counts blocks. */
static unsigned split_leaf(struct specimen *s, const struct pmemfs_node *old,
			   struct child *c)
{
	struct pmemfs_node *n = NULL;
	unsigned i, off, nr = 0;

	for (i = 0; i < get16(old->nr); i++) {
		off = get16(old->slot[i].off);
		if (i % ITEMS_A_LEAF == 0) {
			n = new_node(s, old, 0, &c[nr].blk);
			c[nr++].key = load64((const uint8_t *)old + off);
		}
		add_item(n, load64((const uint8_t *)old + off),
			 (const uint8_t *)old + off + 8, get16(old->slot[i].len));
		seal(s, blk_off(c[nr - 1].blk), PMEMFS_BLOCK_SIZE);
	}
	return nr;
}

/* One level of inner nodes over c, in place; returns how many. */
static unsigned raise_level(struct specimen *s, const struct pmemfs_node *old,
			    struct child *c, unsigned nr, unsigned level)
{
	struct pmemfs_node *n = NULL;
	unsigned i, up = 0;
	struct child made = { 0, 0 };
	le64 blk;

	for (i = 0; i < nr; i++) {
		if (i % WAYS == 0) {
			n = new_node(s, old, level, &made.blk);
			made.key = up ? c[i].key : 0;	/* 0 on the left spine */
		}
		blk = put64(c[i].blk);
		add_item(n, i % WAYS ? c[i].key : made.key, &blk, sizeof(blk));
		seal(s, blk_off(made.blk), PMEMFS_BLOCK_SIZE);
		if (i % WAYS == 0)
			c[up++] = made;
	}
	return up;
}

/*
 * The tree that is one leaf becomes one of few items a node. The old leaf's
 * block becomes a leaf again, so that nothing is freed. Returns the root and
 * how many nodes there are more.
 */
static uint64_t deepen(struct specimen *s, uint64_t leaf, uint64_t *more)
{
	uint64_t before = get32(((struct pmemfs_group *)at(s, blk_off(s->geo.groups_blk)))->free);
	struct pmemfs_node *old = at(s, blk_off(leaf));
	struct child c[PMEMFS_BLOCK_SIZE / 32];
	unsigned nr, level = 0;

	assert(old->level == 0 && get16(old->nr) >= 8);
	nr = split_leaf(s, old, c);
	memcpy(old, at(s, blk_off(c[0].blk)), sizeof(*old));
	seal(s, blk_off(leaf), PMEMFS_BLOCK_SIZE);
	/* the block of the first new leaf is given back */
	((uint8_t *)at(s, blk_off(s->geo.bitmap_blk)))[c[0].blk / 8] &=
		(uint8_t)~(1u << c[0].blk % 8);
	memset(at(s, blk_off(c[0].blk)), 0, PMEMFS_BLOCK_SIZE);
	derive(s, 1, 0);
	c[0].blk = leaf;
	while (nr > 1)
		nr = raise_level(s, old, c, nr, ++level);
	*more = before - get32(((struct pmemfs_group *)at(s, blk_off(s->geo.groups_blk)))->free);
	return c[0].blk;
}

static void deepen_inode(struct specimen *s, uint64_t ino, bool xattr)
{
	uint64_t off = hand_slot(s, ino), more;
	struct pmemfs_inode *di = at(s, off);

	if (xattr)
		di->xattr = put64(deepen(s, get64(di->xattr), &more));
	else
		di->root.tree = put64(deepen(s, get64(di->root.tree), &more));
	di->blocks = put64(get64(di->blocks) + more);
	seal(s, off, PMEMFS_INODE_SEALED);
}

void hand_deepen_file(struct specimen *s, uint64_t ino) { deepen_inode(s, ino, false); }
void hand_deepen_dir(struct specimen *s, uint64_t ino) { deepen_inode(s, ino, false); }
void hand_deepen_xattrs(struct specimen *s, uint64_t ino) { deepen_inode(s, ino, true); }

/* ---- the log ----------------------------------------------------------- */

static const struct pmemfs_slot *newest(const struct specimen *s)
{
	const struct pmemfs_slot *a = at(s, blk_off(PMEMFS_BLK_SLOT0));
	const struct pmemfs_slot *b = at(s, blk_off(PMEMFS_BLK_SLOT1));

	return get64(a->turn) > get64(b->turn) ? a : b;
}

uint64_t hand_tag(const struct specimen *s, uint64_t off)
{
	uint64_t in = off - blk_off(s->geo.lanes_blk);
	struct { le32 lane, off; } where = {
		put32((uint32_t)(in / s->geo.lane_size)),
		put32((uint32_t)(in % s->geo.lane_size)),
	};

	return siphash24(newest(s)->epoch, &where, sizeof(where));
}

void hand_records(const struct specimen *s, hand_record_fn fn, void *arg)
{
	uint64_t half = s->geo.lane_size / 2, off, start;
	const struct pmemfs_record *rec;
	uint32_t h;

	for (h = 0; h < 2 * s->geo.nr_lanes; h++) {
		start = blk_off(s->geo.lanes_blk) + h * half;
		for (off = start; off + sizeof(*rec) <= start + half;
		     off += align_up(get32(rec->len), PMEMFS_LINE)) {
			rec = at(s, off);
			if (get64(rec->tag) != hand_tag(s, off) || !get32(rec->len) ||
			    !fn(arg, off, rec))
				break;
		}
	}
}
