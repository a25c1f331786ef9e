/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peek.c - look at structures of a pool without trusting any of them
 *
 * Between verify.c, which judges, and btree.c, which believes: a damaged node
 * is named and skipped, and the rest of the tree is still shown.
 */
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "meta/node.h"
#include "meta/peek.h"

bool peek_in_data(const struct peek *p, uint64_t blk, uint64_t len)
{
	uint64_t end = p->geo->nr_blocks - 1;

	return blk >= p->geo->data_blk && blk < end && len <= end - blk;
}

static const char *node_bad(const struct pmemfs_node *n, uint64_t blk, unsigned kind)
{
	unsigned i, nr = get16(n->nr), off;

	if (get32(n->magic) != PMEMFS_NODE_MAGIC)
		return "no tree node";
	if (get32(n->crc) != seal_crc(n, sizeof(*n), blk_off(blk)))
		return "tree node with a wrong checksum";
	if (n->tree != kind || n->level >= PMEMFS_MAX_LEVEL || nr > ARRAY_SIZE(n->slot))
		return "tree node of a wrong kind, level or size";
	for (i = 0; i < nr; i++) {
		off = get16(n->slot[i].off);
		if (off < PMEMFS_NODE_HEAD || off + 8u + get16(n->slot[i].len) > sizeof(*n) ||
		    (n->level && get16(n->slot[i].len) != 8))
			return "tree node with an item outside of it";
	}
	return NULL;
}

static void damage(const struct peek *p, uint64_t off, const char *text)
{
	if (p->damage)
		p->damage(p->arg, off, text);
}

/* The node at blk, or NULL when it cannot be used; level -1: any. */
static const struct pmemfs_node *get_node(struct peek *p, uint64_t blk, unsigned kind,
					  int level)
{
	const struct pmemfs_node *n;
	const char *bad;

	if (!p->nodes || !peek_in_data(p, blk, 1)) {
		damage(p, blk_off(blk), p->nodes ? "tree node outside the data area" :
		       "more tree nodes than blocks");
		return NULL;
	}
	p->nodes--;
	n = pm_at(p->pm, blk_off(blk), sizeof(*n));
	bad = node_bad(n, blk, kind);
	if (!bad && level >= 0 && n->level != level)
		bad = "tree node of a wrong level";
	if (bad) {
		damage(p, blk_off(blk), bad);
		return NULL;
	}
	if (p->node)
		p->node(p->arg, n, blk);
	return n;
}

static void leaf(struct peek *p, const struct pmemfs_node *n)
{
	const uint8_t *item;
	unsigned i, len;

	for (i = 0; p->item && i < node_nr(n); i++) {
		item = node_item(n, i);
		len = node_len(n, i);
		if ((size_t)(item - (const uint8_t *)n) + NODE_ITEM_HEAD + len <= sizeof(*n))
			p->item(p->arg, load64(item), item + NODE_ITEM_HEAD, len);
	}
}

void peek_tree(struct peek *p, uint64_t root, enum pmemfs_tree kind)
{
	struct { const struct pmemfs_node *n; unsigned i; } way[PMEMFS_MAX_LEVEL];
	const struct pmemfs_node *n, *child;
	unsigned i;
	int depth = 0;

	if (!p->nodes)
		p->nodes = p->geo->nr_blocks;
	way[0].n = get_node(p, root, kind, -1);
	way[0].i = 0;
	while (depth >= 0 && way[depth].n) {
		n = way[depth].n;
		i = way[depth].i++;
		if (!n->level)
			leaf(p, n);
		if (!n->level || i >= node_nr(n) || depth + 1 == (int)PMEMFS_MAX_LEVEL) {
			depth--;
			continue;
		}
		child = get_node(p, node_child(n, i), kind, n->level - 1);
		if (child) {
			way[++depth].n = child;
			way[depth].i = 0;
		}
	}
}

void peek_root(struct peek *p, const struct pmemfs_inode *di)
{
	bool dir = S_ISDIR(get32(di->mode));
	uint8_t val[8];
	unsigned i;

	if (di->root_kind == PMEMFS_ROOT_TREE)
		peek_tree(p, get64(di->root.tree), dir ? PMEMFS_TREE_DIR : PMEMFS_TREE_EXTENT);
	if (di->root_kind != PMEMFS_ROOT_INLINE || !p->item)
		return;
	for (i = 0; i < di->nr_inline && i < PMEMFS_ROOT_EXTENTS; i++) {
		save64(val, get64(di->root.extent[i].where));
		p->item(p->arg, get64(di->root.extent[i].blk), val, sizeof(val));
	}
}

/* ---- inodes -------------------------------------------------------------- */

struct seek { const struct peek *p; uint64_t pos, blk; };

static void seek_extent(void *arg, uint64_t key, const uint8_t *val, unsigned len)
{
	uint64_t where = len == 8 ? load64(val) : 0, n;
	struct seek *s = arg;

	n = ext_len(where);
	where = ext_blk(where);
	if (s->pos >= key && s->pos - key < n && peek_in_data(s->p, where, n))
		s->blk = where + (s->pos - key);
}

const struct pmemfs_inode *peek_inode(const struct peek *p, uint64_t ino, uint64_t *off)
{
	const struct pmemfs_inode *table;
	struct seek s = { .p = p, .pos = ino / PMEMFS_INODES_PER_BLOCK };
	struct peek find = { .pm = p->pm, .geo = p->geo, .item = seek_extent, .arg = &s };

	*off = blk_off(PMEMFS_BLK_SYSTEM);
	table = pm_at(p->pm, *off, sizeof(*table));
	if (!ino)
		return table;
	if (ino > PMEMFS_MAX_INO || ino % PMEMFS_CHUNK_INODES == 0 ||
	    s.pos >= off_blk(get64(table->size)))
		return NULL;
	peek_root(&find, table);
	if (!s.blk)
		return NULL;
	*off = blk_off(s.blk) + ino % PMEMFS_INODES_PER_BLOCK * PMEMFS_INODE_SIZE;
	return pm_at(p->pm, *off, sizeof(struct pmemfs_inode));
}
