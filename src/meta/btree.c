/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btree.c - the one B+tree
 *
 *   T1  A node read from the medium is checked (seal, kind, owner, level,
 *       shape) before anything in it is used. Nodes checked in this mount are
 *       remembered in a small table, so that the checksum of 4 KiB is paid
 *       once and not at every level of every lookup; freeing a block forgets
 *       it. Shape is what protects us from wild indices, and it is part of
 *       the seal: a node that passed once is changed only by us.
 *   T2  All changes go to shadows; a split, its new nodes and the parents are
 *       in the same record as the insertion, so every record leaves a tree.
 *   T3  Deleting needs no space. An empty node is freed and leaves its parent;
 *       a nearly empty one joins a neighbour under the same parent.
 *   T4  The first key of an inner node is the lower bound of the node (0 on the
 *       left spine), not that of its first child's keys: when the first child
 *       goes, its key stays and the next child gets it; joining takes it from
 *       the parent. So a separator that comes up from a child is always larger.
 *   T5  A hostile pool may seal nodes whose keys do not fit each other, or map
 *       a file over a node that was checked long ago. So a step to the next
 *       leaf must lead to a larger key (or a listing would never end), shadows
 *       are checked again before they are changed, and whatever a node says,
 *       nothing outside its block is looked at.
 */
#include "meta/btree.h"

#include <assert.h>
#include <errno.h>

#include "base/crc32c.h"
#include "meta/node.h"

#define VERIFIED	65536u

struct path {
	struct { uint64_t blk; unsigned idx; } at[PMEMFS_MAX_LEVEL];
	unsigned depth;			/* at[depth - 1] is the leaf */
};

/* ---- reading nodes -------------------------------------------------------------- */

static uint64_t *remembered(struct fs *fs, uint64_t blk)
{
	return &fs->verified[(blk ^ blk >> 16) % VERIFIED];
}

size_t tree_table_size(void) { return VERIFIED * sizeof(uint64_t); }

static int bad_node(struct tree *tr, uint64_t blk, const char *what)
{
	return damaged(tr->fs, blk_off(blk), "inode %llu: %s",
		       (unsigned long long)tr->owner, what);
}

static int node_verify(struct tree *tr, uint64_t blk, const struct pmemfs_node *n)
{
	const char *bad;

	if (__atomic_load_n(remembered(tr->fs, blk), __ATOMIC_RELAXED) == blk)
		return 0;
	if (get32(n->crc) != seal_crc(n, sizeof(*n), blk_off(blk)))
		bad = get32(n->magic) == PMEMFS_NODE_MAGIC ?
			"tree node's checksum is wrong" : "no tree node where one should be";
	else
		bad = node_check(n);
	if (bad)
		return bad_node(tr, blk, bad);
	__atomic_store_n(remembered(tr->fs, blk), blk, __ATOMIC_RELAXED);
	return 0;
}

/* level < 0: a root, any level. */
static int node_read(struct tree *tr, uint64_t blk, int level, const struct pmemfs_node **out)
{
	const struct pmemfs_node *n;
	int err;

	if (blk < tr->fs->geo.data_blk || blk >= tr->fs->geo.nr_blocks - 1)
		return damaged(tr->fs, blk_off(blk), "inode %llu: tree node outside the pool",
			       (unsigned long long)tr->owner);
	if (tr->t && txn_has_shadow(tr->t, blk_off(blk))) {
		*out = txn_view(tr->t, blk_off(blk), PMEMFS_BLOCK_SIZE);
		return 0;
	}
	n = pm_at(tr->fs->pm, blk_off(blk), PMEMFS_BLOCK_SIZE);
	err = node_verify(tr, blk, n);
	if (err)
		return err;
	if (n->tree != tr->kind || get64(n->owner) != tr->owner ||
	    (level >= 0 && n->level != level))
		return damaged(tr->fs, blk_off(blk),
			       "inode %llu: tree node belongs to inode %llu, kind %u, level %u",
			       (unsigned long long)tr->owner, (unsigned long long)get64(n->owner),
			       n->tree, n->level);
	*out = n;
	return 0;
}

static struct pmemfs_node *node_edit(struct tree *tr, uint64_t blk)
{
	bool ours = txn_has_shadow(tr->t, blk_off(blk));
	struct pmemfs_node *n = txn_edit(tr->t, blk_off(blk), PMEMFS_BLOCK_SIZE);
	const char *bad = n && !ours ? node_check(n) : NULL;	/* T5 */

	if (!bad)
		return n;
	txn_fail(tr->t, bad_node(tr, blk, bad));
	return NULL;
}

/* ---- walking ---------------------------------------------------------------------- */

static int descend(struct tree *tr, uint64_t key, struct path *p, const struct pmemfs_node **leaf)
{
	const struct pmemfs_node *n;
	uint64_t blk = tr->root;
	int level = -1, err;

	for (p->depth = 0;;) {
		err = node_read(tr, blk, level, &n);
		if (err)
			return err;
		level = n->level - 1;
		p->at[p->depth].blk = blk;
		if (!n->level)
			break;
		p->at[p->depth].idx = node_route(n, key);
		blk = node_child(n, p->at[p->depth].idx);
		if (++p->depth == PMEMFS_MAX_LEVEL)		/* T5 */
			return bad_node(tr, blk, "tree is too deep");
	}
	p->at[p->depth].idx = node_lower(n, key);
	p->depth++;
	*leaf = n;
	return 0;
}

/* Step to the next or previous leaf; -ENOENT at the end. */
static int step(struct tree *tr, struct path *p, bool forward, const struct pmemfs_node **leaf)
{
	const struct pmemfs_node *n;
	unsigned d = p->depth - 1;
	int err, level;

	do {
		if (!d)
			return -ENOENT;
		d--;
		err = node_read(tr, p->at[d].blk, -1, &n);
		if (err)
			return err;
	} while (forward ? p->at[d].idx + 1 >= node_nr(n) : p->at[d].idx == 0);
	p->at[d].idx += forward ? 1 : -1u;
	for (; d + 1 < p->depth; d++) {
		level = n->level - 1;
		p->at[d + 1].blk = node_child(n, p->at[d].idx);
		err = node_read(tr, p->at[d + 1].blk, level, &n);
		if (!err && !node_nr(n))			/* T5 */
			err = bad_node(tr, p->at[d + 1].blk, "tree node without items");
		if (err)
			return err;
		p->at[d + 1].idx = forward ? 0 : node_nr(n) - 1;
	}
	*leaf = n;
	return 0;
}

static int fill(struct tree *tr, const struct path *p, const struct pmemfs_node *n,
		unsigned i, struct item *it)
{
	it->key = node_key(n, i);
	it->val = node_val(n, i);
	it->len = node_len(n, i);
	if ((size_t)(it->val - (const uint8_t *)n) + it->len <= PMEMFS_BLOCK_SIZE)
		return 0;
	return bad_node(tr, p->at[p->depth - 1].blk, "tree item outside its node");	/* T5 */
}

static int out_of_order(struct tree *tr, const struct path *p)
{
	return bad_node(tr, p->at[p->depth - 1].blk, "tree keys out of order between nodes");
}

int tree_ge(struct tree *tr, uint64_t key, struct item *it)
{
	const struct pmemfs_node *n;
	struct path p;
	int err;

	if (!tr->root)
		return -ENOENT;
	err = descend(tr, key, &p, &n);
	if (err || p.at[p.depth - 1].idx < node_nr(n))
		return err ? err : fill(tr, &p, n, p.at[p.depth - 1].idx, it);
	err = step(tr, &p, true, &n);
	if (err)
		return err;
	return node_key(n, 0) > key ? fill(tr, &p, n, 0, it) :
				      out_of_order(tr, &p);	/* T5 */
}

int tree_le(struct tree *tr, uint64_t key, struct item *it)
{
	const struct pmemfs_node *n;
	struct path p;
	unsigned *i;
	int err;

	if (!tr->root)
		return -ENOENT;
	err = descend(tr, key, &p, &n);
	if (err)
		return err;
	i = &p.at[p.depth - 1].idx;
	if (*i < node_nr(n) && node_key(n, *i) == key)
		return fill(tr, &p, n, *i, it);
	if (*i)
		return fill(tr, &p, n, *i - 1, it);
	err = step(tr, &p, false, &n);
	if (err)
		return err;
	return node_key(n, *i) < key ? fill(tr, &p, n, *i, it) :
				       out_of_order(tr, &p);	/* T5 */
}

int tree_get(struct tree *tr, uint64_t key, struct item *it)
{
	int err = tree_ge(tr, key, it);

	return !err && it->key != key ? -ENOENT : err;
}

/* ---- inserting ---------------------------------------------------------------------- */

static int new_node(struct tree *tr, unsigned level, uint64_t goal, uint64_t *blk,
		    struct pmemfs_node **n)
{
	struct run r;
	int err = txn_alloc(tr->t, TXN_META, 0, goal, 1, 1, &r);

	if (err)
		return err;
	*n = txn_new(tr->t, blk_off(r.blk), PMEMFS_BLOCK_SIZE);
	if (!*n)
		return txn_error(tr->t);
	node_init(*n, tr->kind, level, tr->owner);
	*blk = r.blk;
	tr->dblocks++;
	return 0;
}

static int grow_root(struct tree *tr, unsigned level, uint64_t left, uint64_t right,
		     uint64_t right_key)
{
	struct pmemfs_node *n;
	uint8_t v[8];
	int err;

	if (level >= PMEMFS_MAX_LEVEL)
		return -ENOSPC;
	err = new_node(tr, level, 0, &tr->root, &n);
	if (err)
		return err;
	save64(v, left);
	node_put(n, 0, 0, v, 8);		/* T4 */
	save64(v, right);
	node_put(n, 1, right_key, v, 8);
	return 0;
}

static unsigned item_size(size_t len) { return 4 + NODE_ITEM_HEAD + (unsigned)len; }

/*
 * Where to cut the sequence of items with the new one at slot i: at the very
 * end when the new one goes there, so that ascending keys (appends) leave full
 * nodes behind; else where the halves differ least. Values are at most a
 * third of a node, so both halves fit. Returns how many items stay left, the
 * new one counted.
 */
static unsigned split_point(const struct pmemfs_node *n, unsigned i, size_t len)
{
	unsigned total = node_used(n) + item_size(len), left = 0, v, best = 1;
	unsigned nr = node_nr(n), diff, least = UINT32_MAX;

	if (i == nr)
		return nr;
	for (v = 0; v < nr; v++) {		/* v + 1 items left */
		left += item_size(v == i ? len : node_len(n, v < i ? v : v - 1));
		diff = left * 2 > total ? left * 2 - total : total - left * 2;
		if (diff < least) {
			least = diff;
			best = v + 1;
		}
	}
	return best;
}

/*
 * Put an item into the full node n (on the path at depth d, slot i): split it,
 * choose the side. *up_key, *up_blk: what the parent must learn.
 */
static int split_put(struct tree *tr, uint64_t blk, unsigned i, uint64_t key, const void *val,
		     size_t len, uint64_t *up_key, uint64_t *up_blk)
{
	struct pmemfs_node *left = node_edit(tr, blk), *right;
	unsigned cut;
	int err;

	if (!left)
		return txn_error(tr->t);
	err = new_node(tr, left->level, blk + 1, up_blk, &right);
	if (err)
		return err;
	cut = split_point(left, i, len);
	node_split(left, i < cut ? cut - 1 : cut, right);
	if (i < cut)
		node_put(left, i, key, val, len);
	else
		node_put(right, i - cut, key, val, len);
	*up_key = node_key(right, 0);
	return 0;
}

static int insert_at(struct tree *tr, struct path *p, uint64_t key, const void *val, size_t len)
{
	const struct pmemfs_node *n;
	uint64_t up_key = 0, up_blk = 0;
	struct pmemfs_node *e;
	uint8_t child[8];
	unsigned d = p->depth, i;
	int err;

	while (d-- > 0) {
		err = node_read(tr, p->at[d].blk, -1, &n);
		if (err)
			return err;
		i = p->at[d].idx + (n->level ? 1 : 0);
		if (node_fits(n, len)) {
			e = node_edit(tr, p->at[d].blk);
			if (!e)
				return txn_error(tr->t);
			node_put(e, i, key, val, len);
			return 0;
		}
		err = split_put(tr, p->at[d].blk, i, key, val, len, &up_key, &up_blk);
		if (err)
			return err;
		key = up_key;
		save64(child, up_blk);
		val = child;
		len = 8;
		if (!d)
			return grow_root(tr, n->level + 1u, p->at[0].blk, up_blk, key);
	}
	return 0;
}

int tree_insert(struct tree *tr, uint64_t key, const void *val, size_t len)
{
	const struct pmemfs_node *n;
	struct pmemfs_node *e;
	struct path p;
	unsigned i;
	int err;

	assert(len <= PMEMFS_MAX_VALUE);
	if (txn_error(tr->t))
		return txn_error(tr->t);
	if (!tr->root) {
		err = new_node(tr, 0, 0, &tr->root, &e);
		if (!err)
			node_put(e, 0, key, val, len);
		return err;
	}
	err = descend(tr, key, &p, &n);
	if (err)
		return err;
	i = p.at[p.depth - 1].idx;
	if (i < node_nr(n) && node_key(n, i) == key)
		return -EEXIST;
	return insert_at(tr, &p, key, val, len);
}

/* ---- deleting ------------------------------------------------------------------------ */

static int free_node(struct tree *tr, uint64_t blk)
{
	int err;

	txn_drop(tr->t, blk_off(blk));
	err = txn_free(tr->t, TXN_META, (struct run){ blk, 1 });
	if (err)
		return err;
	__atomic_store_n(remembered(tr->fs, blk), 0, __ATOMIC_RELAXED);
	tr->dblocks--;
	return 0;
}

/* T3: join child i of the parent with a neighbour if both fit into three
 * quarters of a node. 1: a child left the parent. */
static int try_join(struct tree *tr, uint64_t parent, unsigned i)
{
	const struct pmemfs_node *pn, *a, *b;
	struct pmemfs_node *pe, *le;
	unsigned l, level;
	int err;

	err = node_read(tr, parent, -1, &pn);
	if (err || node_nr(pn) < 2)
		return err;
	level = pn->level - 1u;
	l = i ? i - 1 : 0;
	if (node_child(pn, l) == node_child(pn, l + 1))		/* T5 */
		return bad_node(tr, parent, "a tree node is in its parent twice");
	err = node_read(tr, node_child(pn, l), (int)level, &a);
	if (!err)
		err = node_read(tr, node_child(pn, l + 1), (int)level, &b);
	if (err || node_used(a) + node_used(b) > NODE_ROOM * 3 / 4)
		return err;
	le = node_edit(tr, node_child(pn, l));
	pe = node_edit(tr, parent);
	if (!le || !pe)
		return txn_error(tr->t);
	err = node_read(tr, node_child(pe, l + 1), (int)level, &b);
	if (!err && node_check(b))
		err = bad_node(tr, node_child(pe, l + 1), node_check(b));	/* T5 */
	if (err)
		return err;
	/* T4. A leaf's keys are its own; an inner node's first is the parent's. */
	node_join(le, b, level ? node_key(pe, l + 1) : node_key(b, 0));
	err = free_node(tr, node_child(pe, l + 1));
	if (err)
		return err;
	node_del(pe, l + 1);
	return 1;
}

/* A root with one child is no root. */
static int shrink_root(struct tree *tr)
{
	const struct pmemfs_node *n;
	uint64_t child;
	int err;

	while (tr->root) {
		err = node_read(tr, tr->root, -1, &n);
		if (err)
			return err;
		if (!n->level || node_nr(n) != 1)
			return 0;
		child = node_child(n, 0);
		err = free_node(tr, tr->root);
		if (err)
			return err;
		tr->root = child;
	}
	return 0;
}

/* The node at depth d lost something: join it if it is nearly empty, and its
 * parent, which then lost a child, and so on. */
static int rebalance(struct tree *tr, struct path *p, unsigned d)
{
	const struct pmemfs_node *n;
	int err;

	for (; d; d--) {
		err = node_read(tr, p->at[d].blk, -1, &n);
		if (err)
			return err;
		if (node_used(n) >= NODE_ROOM / 4)
			break;
		err = try_join(tr, p->at[d - 1].blk, p->at[d - 1].idx);
		if (err < 0)
			return err;
		if (!err)
			break;
	}
	return shrink_root(tr);
}

/* The slot on the path goes; whatever becomes empty goes with it. */
static int delete_at(struct tree *tr, struct path *p)
{
	struct pmemfs_node *e;
	unsigned d = p->depth;
	int err;

	while (d-- > 0) {
		e = node_edit(tr, p->at[d].blk);
		if (!e)
			return txn_error(tr->t);
		if (e->level && !p->at[d].idx && node_nr(e) > 1)
			node_rekey(e, 1, node_key(e, 0));	/* T4 */
		node_del(e, p->at[d].idx);
		if (node_nr(e))
			return rebalance(tr, p, d);
		err = free_node(tr, p->at[d].blk);
		if (err)
			return err;
	}
	tr->root = 0;
	return 0;
}

int tree_delete(struct tree *tr, uint64_t key)
{
	const struct pmemfs_node *n;
	struct path p;
	unsigned i;
	int err;

	if (txn_error(tr->t))
		return txn_error(tr->t);
	if (!tr->root)
		return -ENOENT;
	err = descend(tr, key, &p, &n);
	if (err)
		return err;
	i = p.at[p.depth - 1].idx;
	if (i >= node_nr(n) || node_key(n, i) != key)
		return -ENOENT;
	return delete_at(tr, &p);
}

int tree_replace(struct tree *tr, uint64_t key, const void *val, size_t len)
{
	const struct pmemfs_node *n;
	struct pmemfs_node *e;
	struct path p;
	unsigned i;
	int err;

	assert(len <= PMEMFS_MAX_VALUE);
	if (txn_error(tr->t))
		return txn_error(tr->t);
	if (!tr->root)
		return -ENOENT;
	err = descend(tr, key, &p, &n);
	if (err)
		return err;
	i = p.at[p.depth - 1].idx;
	if (i >= node_nr(n) || node_key(n, i) != key)
		return -ENOENT;
	e = node_edit(tr, p.at[p.depth - 1].blk);
	if (!e)
		return txn_error(tr->t);
	if (node_len(e, i) == len) {
		memcpy((uint8_t *)e + get16(e->slot[i].off) + NODE_ITEM_HEAD, val, len);
		return 0;
	}
	node_del(e, i);			/* the leaf may be empty for a moment */
	return insert_at(tr, &p, key, val, len);
}
