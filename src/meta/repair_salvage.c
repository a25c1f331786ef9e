/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_salvage.c - what can be found again in blocks that nobody owns
 *
 * A block that is marked used and has no owner comes from a tree that lost
 * it: a mount leaves none behind. If it is a leaf, its owner is written in it,
 * and its items are put back where they are missing. Blocks of groups whose
 * bitmap is damaged are looked at only for inodes that did lose something, and
 * with less faith, or leaves of long ago could come back.
 *
 *   V1  From a sealed leaf everything is taken that its owner has room for. A
 *       name must still be missing: its inode has fewer names than links.
 *   V2  From a leaf with a wrong checksum names are taken if their hash is
 *       the key and the inode agrees, attributes if their value has a sum of
 *       its own, extents if their blocks are marked and nobody's; those last
 *       are told apart, for nothing vouches for their place in the file.
 */
#include <sys/stat.h>

#include "meta/namekey.h"
#include "meta/repair_int.h"

#define ENTRY_BITS	(PMEMFS_MAX_INO | 15ull << 56)

struct found {
	struct repair *r;
	struct rnode *node;		/* of the owner */
	uint64_t ino;
	bool sealed;
};

struct found_item { uint64_t key, off; const uint8_t *val; unsigned len; };

static const struct pmemfs_inode *inode_of(const struct repair *r, uint64_t ino)
{
	return repair_inode_at(r, repair_slot_off(r, ino));
}

/* ---- names ----------------------------------------------------------------- */

/* V1, V2: is the name one that its inode misses? */
static bool misses_name(const struct found *f, const struct rnode *n, uint64_t ino)
{
	const struct pmemfs_inode *di = inode_of(f->r, ino);
	bool dir = n->type == S_IFDIR >> 12;

	if (ino == PMEMFS_ROOT_INO || (dir && n->named))
		return false;
	if (!f->sealed && n->links && get64(di->parent) != f->ino)
		return false;
	return dir || !n->links || n->links < get32(di->nlink);
}

static void salvage_name(struct found *f, const struct found_item *it)
{
	const char *name = (const char *)it->val + sizeof(le64);
	uint32_t len = it->len - (uint32_t)sizeof(le64);
	struct rnode *n;
	struct rput *p;
	uint64_t raw;

	if (it->len <= sizeof(le64) || !repair_name_ok(name, len))
		return;
	raw = load64(it->val);
	n = repair_node(f->r, raw & PMEMFS_MAX_INO);
	if (!n || raw & ~ENTRY_BITS || raw >> 56 != n->type ||
	    (it->key & ~0xffull) != name_key(f->r->geo->seed, name, len) ||
	    !misses_name(f, n, raw & PMEMFS_MAX_INO))
		return;
	p = repair_put_add(f->r, PUT_NAME, raw & PMEMFS_MAX_INO);
	if (!p)
		return;
	p->dir = f->ino;
	p->off = it->off;
	p->tell = PROBLEM_SALVAGE_NAME;
	repair_put_bytes(f->r, p, name, len, NULL, 0);
}

/* ---- extents ----------------------------------------------------------------- */

static bool all_marked(const struct repair *r, uint64_t blk, uint64_t len)
{
	for (; len; blk++, len--)
		if (repair_is_free(r, blk))
			return false;
	return true;
}

static void salvage_extent(struct found *f, const struct found_item *it)
{
	uint64_t where = it->len == sizeof(le64) ? load64(it->val) : 0;
	uint64_t blk = ext_blk(where);
	uint64_t len = ext_len(where);
	struct rput *p;

	if (repair_extent_bad(f->r, it->key, where) ||
	    where & PMEMFS_EXT_FLAGS & ~PMEMFS_EXT_UNWRITTEN ||
	    !repair_unowned(f->r, blk, len) || !all_marked(f->r, blk, len))
		return;
	p = repair_put_add(f->r, PUT_EXTENT, f->ino);
	if (!p)
		return;
	repair_own(f->r, blk, len, false);
	p->pos = it->key;
	p->blk = blk;
	p->len = len;
	p->unwritten = where & PMEMFS_EXT_UNWRITTEN;
	p->off = it->off;
	p->tell = f->sealed ? PROBLEM_SALVAGE_EXTENT : PROBLEM_SALVAGE_DOUBT;
}

/* ---- attributes --------------------------------------------------------------- */

static void salvage_xattr(struct found *f, const struct found_item *it)
{
	const char *name = (const char *)it->val + PMEMFS_XATTR_HEAD;
	uint8_t value[PMEMFS_XATTR_MAX];
	struct pmemfs_xattr x;
	struct rput *p;

	if (!repair_xattr_fields(it->val, it->len, &x) || (!f->sealed && !x.nr_runs) ||
	    (it->key & ~0xffull) != name_key(f->r->geo->seed, name, x.name_len) ||
	    !repair_xattr_value(f->r, it->val, &x, value))
		return;
	p = repair_put_add(f->r, PUT_XATTR, f->ino);
	if (!p)
		return;
	p->off = it->off;
	p->tell = PROBLEM_SALVAGE_XATTR;
	repair_put_bytes(f->r, p, name, x.name_len, value, get32(x.size));
}

/* ---- leaves ---------------------------------------------------------------------- */

static void salvage_item(struct found *f, const struct pmemfs_node *n, unsigned i, uint64_t blk)
{
	unsigned off = get16(n->slot[i].off), len = get16(n->slot[i].len);
	struct found_item it = { .off = blk_off(blk) + off, .len = len };

	if (off < PMEMFS_NODE_HEAD || off + NODE_ITEM_HEAD + len > sizeof(*n))
		return;
	it.key = load64((const uint8_t *)n + off);
	it.val = (const uint8_t *)n + off + NODE_ITEM_HEAD;
	if (n->tree == PMEMFS_TREE_DIR && f->node->type == S_IFDIR >> 12)
		salvage_name(f, &it);
	else if (n->tree == PMEMFS_TREE_EXTENT && f->node->type == S_IFREG >> 12)
		salvage_extent(f, &it);
	else if (n->tree == PMEMFS_TREE_XATTR)
		salvage_xattr(f, &it);
}

static void look(struct repair *r, uint64_t blk, bool sealed)
{
	const struct pmemfs_node *n = pm_at(r->pm, blk_off(blk), sizeof(*n));
	struct found f = { .r = r, .sealed = sealed };
	unsigned i;

	if (get32(n->magic) != PMEMFS_NODE_MAGIC || n->level ||
	    get16(n->nr) > ARRAY_SIZE(n->slot))
		return;
	if (sealed != !repair_node_bad(n, blk))
		return;
	f.ino = get64(n->owner);
	f.node = repair_node(r, f.ino);
	f.sealed &= repair_is_trusted(r, blk);
	if (!f.node || (!repair_is_trusted(r, blk) && !f.node->lost))
		return;
	for (i = 0; i < get16(n->nr) && !repair_stopped(r); i++)
		salvage_item(&f, n, i, blk);
}

/* All blocks that are marked and nobody's. */
static void sweep(struct repair *r, bool sealed)
{
	uint64_t blk, end = r->geo->nr_blocks - 1, words, w;
	const uint64_t *owned;

	for (blk = r->geo->data_blk; blk < end; blk++) {
		if (blk % 64 == 0) {	/* skip what holds nothing of interest */
			owned = r->owned.group[blk / PMEMFS_GROUP_BLOCKS];
			w = blk % PMEMFS_GROUP_BLOCKS / 64;
			words = load64((const uint8_t *)pm_at(r->pm, blk_off(r->geo->bitmap_blk +
				blk / PMEMFS_GROUP_BLOCKS), PMEMFS_BLOCK_SIZE) + w * 8);
			if (!(words & ~(owned ? owned[w] : 0))) {
				blk += 63;
				continue;
			}
		}
		if (!rmap_test(&r->owned, blk) && repair_is_marked(r, blk))
			look(r, blk, sealed);
	}
}

void repair_salvage(struct repair *r)
{
	sweep(r, true);				/* V1 */
	sweep(r, false);			/* V2 */
}
