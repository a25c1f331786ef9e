/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extent.c - where a file's blocks are
 *
 *   E1  Extents of a file are sorted by file block and do not overlap; pool
 *       blocks lie in the data area; lengths are never zero.
 *   E2  Up to four live in the inode; a fifth moves all into a B+tree. A tree
 *       that loses its last extent gives way to an empty root again.
 *   E3  Removing works from the end of the range, so that a record cut short
 *       leaves a file whose mapped part is a prefix of the range (L9).
 *   E4  Neighbours that continue each other in file and pool are one extent.
 *
 * Written and unwritten extents never merge (L5).
 *
 * E1 is checked where an extent is read: its own numbers always, its order
 * among others for those in the inode here, for those in a tree by btree.c.
 */
#include "meta/extent.h"

#include <assert.h>
#include <errno.h>

#include "meta/btree.h"

static uint64_t pack(const struct extent *e)
{
	return ext_where(e->pool, e->len) | (e->unwritten ? PMEMFS_EXT_UNWRITTEN : 0);
}

/* E1: check what the medium says before anybody uses it. */
static int unpack(const struct inode *ip, uint64_t blk, uint64_t where, struct extent *e)
{
	const struct geometry *geo = &ip->fs->geo;

	e->blk = blk;
	e->pool = ext_blk(where);
	e->len = ext_len(where);
	e->unwritten = where & PMEMFS_EXT_UNWRITTEN;
	if (!e->len || e->pool < geo->data_blk || e->pool > geo->nr_blocks - 1 ||
	    e->len > geo->nr_blocks - 1 - e->pool ||
	    where & PMEMFS_EXT_FLAGS & ~PMEMFS_EXT_UNWRITTEN ||
	    blk > bytes_blks(PMEMFS_MAX_SIZE) - e->len)
		return damaged(ip->fs, ip->off, "inode %llu: extent at block %llu is out of range",
			       (unsigned long long)ip->ino, (unsigned long long)blk);
	return 0;
}

static const struct pmemfs_inode *view(struct txn *t, const struct inode *ip)
{
	return t ? inode_view(t, ip) : inode_media(ip);
}

static struct tree tree_of(struct txn *t, const struct inode *ip)
{
	const struct pmemfs_inode *mi = view(t, ip);

	return (struct tree){
		.fs = ip->fs, .t = t, .owner = ip->ino, .kind = PMEMFS_TREE_EXTENT,
		.root = mi->root_kind == PMEMFS_ROOT_TREE ? get64(mi->root.tree) : 0,
	};
}

static int bad_root(const struct inode *ip)
{
	return damaged(ip->fs, ip->off, "inode %llu: its root is not of extents",
		       (unsigned long long)ip->ino);
}

/* ---- looking ---------------------------------------------------------------------- */

static int inline_find(const struct inode *ip, const struct pmemfs_inode *mi, uint64_t blk,
		       bool le, struct extent *e)
{
	struct extent x = { .blk = 0, .len = 0 };
	uint64_t end = 0;
	bool found = false;
	int i, err;

	if (mi->nr_inline > PMEMFS_ROOT_EXTENTS)
		return bad_root(ip);
	for (i = 0; i < mi->nr_inline; i++, end = x.blk + x.len) {
		err = unpack(ip, get64(mi->root.extent[i].blk),
			     get64(mi->root.extent[i].where), &x);
		if (err)
			return err;
		if (x.blk < end)
			return damaged(ip->fs, ip->off, "inode %llu: extents out of order",
				       (unsigned long long)ip->ino);
		if (le ? x.blk <= blk : x.blk >= blk && !found) {
			*e = x;
			found = true;
		}
	}
	return found ? 0 : -ENOENT;
}

/* The last extent with key <= blk (le), or the first with key >= blk. */
static int find(struct txn *t, const struct inode *ip, uint64_t blk, bool le, struct extent *e)
{
	const struct pmemfs_inode *mi = view(t, ip);
	struct tree tr;
	struct item it;
	int err;

	switch (mi->root_kind) {
	case PMEMFS_ROOT_NONE:
		return -ENOENT;
	case PMEMFS_ROOT_INLINE:
		return inline_find(ip, mi, blk, le, e);
	case PMEMFS_ROOT_TREE:
		break;
	default:
		return bad_root(ip);
	}
	tr = tree_of(t, ip);
	err = le ? tree_le(&tr, blk, &it) : tree_ge(&tr, blk, &it);
	if (err)
		return err;
	if (it.len != 8)
		return damaged(ip->fs, ip->off, "inode %llu: extent item of %zu bytes",
			       (unsigned long long)ip->ino, it.len);
	return unpack(ip, it.key, load64(it.val), e);
}

int extent_at(struct txn *t, const struct inode *ip, uint64_t blk, struct extent *e)
{
	struct extent x;
	int err;

	err = find(t, ip, blk, true, &x);
	if (!err && x.blk + x.len > blk) {
		e->blk = blk;
		e->len = x.blk + x.len - blk;
		e->pool = x.pool + (blk - x.blk);
		e->unwritten = x.unwritten;
		return 0;
	}
	if (err && err != -ENOENT)
		return err;
	err = find(t, ip, blk, false, &x);
	if (err && err != -ENOENT)
		return err;
	e->blk = blk;
	e->len = (err ? bytes_blks(PMEMFS_MAX_SIZE) : x.blk) - blk;
	e->pool = 0;
	e->unwritten = false;
	return 0;
}

int extent_before(struct txn *t, const struct inode *ip, uint64_t blk, struct extent *e)
{
	return blk ? find(t, ip, blk - 1, true, e) : -ENOENT;
}

/* ---- changing single entries --------------------------------------------------------- */

static int tree_done(struct tree *tr, struct pmemfs_inode *mi, int err)
{
	mi->root_kind = tr->root ? PMEMFS_ROOT_TREE : PMEMFS_ROOT_NONE;
	memset(&mi->root, 0, sizeof(mi->root));
	mi->root.tree = put64(tr->root);
	mi->blocks = put64(get64(mi->blocks) + (uint64_t)tr->dblocks);
	return err;
}

/* E2: the inode is full. */
static int to_tree(struct txn *t, struct inode *ip, struct pmemfs_inode *mi)
{
	struct tree tr = tree_of(t, ip);
	unsigned i;
	int err = 0;

	for (i = 0; i < PMEMFS_ROOT_EXTENTS && !err; i++)
		err = tree_insert(&tr, get64(mi->root.extent[i].blk),
				  &mi->root.extent[i].where, 8);
	if (err)
		return err;
	mi->nr_inline = 0;
	return tree_done(&tr, mi, 0);
}

static void inline_put(struct pmemfs_inode *mi, const struct extent *e)
{
	unsigned n = mi->nr_inline, i = n;

	while (i > 0 && get64(mi->root.extent[i - 1].blk) > e->blk) {
		mi->root.extent[i] = mi->root.extent[i - 1];
		i--;
	}
	mi->root.extent[i].blk = put64(e->blk);
	mi->root.extent[i].where = put64(pack(e));
	mi->nr_inline = (uint8_t)(n + 1);
	mi->root_kind = PMEMFS_ROOT_INLINE;
}

static int put(struct txn *t, struct inode *ip, const struct extent *e)
{
	struct pmemfs_inode *mi = inode_edit(t, ip);
	le64 where = put64(pack(e));
	struct tree tr;
	int err;

	if (!mi)
		return txn_error(t);
	if (mi->root_kind != PMEMFS_ROOT_TREE) {
		if (mi->nr_inline < PMEMFS_ROOT_EXTENTS) {
			inline_put(mi, e);
			return 0;
		}
		err = to_tree(t, ip, mi);
		if (err)
			return err;
	}
	tr = tree_of(t, ip);
	err = tree_insert(&tr, e->blk, &where, 8);
	if (err == -EEXIST)
		err = damaged(ip->fs, ip->off, "inode %llu: overlapping extents",
			      (unsigned long long)ip->ino);
	return tree_done(&tr, mi, err);
}

static int inline_index(const struct pmemfs_inode *mi, uint64_t blk)
{
	int i;

	for (i = 0; i < mi->nr_inline; i++)
		if (get64(mi->root.extent[i].blk) == blk)
			return i;
	return -1;
}

/* Same first block, new length or flag. */
static int set(struct txn *t, struct inode *ip, const struct extent *e)
{
	struct pmemfs_inode *mi = inode_edit(t, ip);
	le64 where = put64(pack(e));
	struct tree tr;

	if (!mi)
		return txn_error(t);
	if (mi->root_kind == PMEMFS_ROOT_INLINE) {
		mi->root.extent[inline_index(mi, e->blk)].where = where;
		return 0;
	}
	tr = tree_of(t, ip);
	return tree_done(&tr, mi, tree_replace(&tr, e->blk, &where, 8));
}

static int del(struct txn *t, struct inode *ip, uint64_t blk)
{
	struct pmemfs_inode *mi = inode_edit(t, ip);
	struct tree tr;
	unsigned i;

	if (!mi)
		return txn_error(t);
	if (mi->root_kind == PMEMFS_ROOT_TREE) {
		tr = tree_of(t, ip);
		return tree_done(&tr, mi, tree_delete(&tr, blk));
	}
	for (i = (unsigned)inline_index(mi, blk); i + 1 < mi->nr_inline; i++)
		mi->root.extent[i] = mi->root.extent[i + 1];
	memset(&mi->root.extent[i], 0, sizeof(mi->root.extent[i]));
	if (--mi->nr_inline == 0)
		mi->root_kind = PMEMFS_ROOT_NONE;
	return 0;
}

/* ---- ranges ---------------------------------------------------------------------------- */

static bool continues(const struct extent *a, const struct extent *b)
{
	return a->blk + a->len == b->blk && a->pool + a->len == b->pool &&
	       a->unwritten == b->unwritten && a->len + b->len <= PMEMFS_EXT_MAX_LEN;
}

/* E4. The range is a hole. */
static int put_merged(struct txn *t, struct inode *ip, struct extent e)
{
	struct extent prev, next;
	int err;

	err = find(t, ip, e.blk + e.len, false, &next);
	if (err && err != -ENOENT)
		return err;
	if (!err && continues(&e, &next)) {
		err = del(t, ip, next.blk);
		if (err)
			return err;
		e.len += next.len;
	}
	err = extent_before(t, ip, e.blk, &prev);
	if (err && err != -ENOENT)
		return err;
	if (!err && continues(&prev, &e)) {
		prev.len += e.len;
		return set(t, ip, &prev);
	}
	return put(t, ip, &e);
}

static int add_blocks(struct txn *t, struct inode *ip, int64_t n)
{
	struct pmemfs_inode *mi = inode_edit(t, ip);

	if (!mi)
		return txn_error(t);
	mi->blocks = put64(get64(mi->blocks) + (uint64_t)n);
	return 0;
}

int extent_insert(struct txn *t, struct inode *ip, uint64_t blk, struct run r, bool unwritten)
{
	int err;

	err = put_merged(t, ip, (struct extent){ blk, r.len, r.blk, unwritten });
	return err ? err : add_blocks(t, ip, (int64_t)r.len);
}

/* Take [from, to) out of extent e, which covers it. The tail needs an entry of
 * its own when the middle goes. */
static int carve(struct txn *t, struct inode *ip, const struct extent *e, uint64_t from,
		 uint64_t to)
{
	struct extent head = *e, tail = *e;
	int err;

	head.len = from - e->blk;
	tail.blk = to;
	tail.pool += to - e->blk;
	tail.len = e->blk + e->len - to;
	err = head.len ? set(t, ip, &head) : del(t, ip, e->blk);
	if (!err && tail.len)
		err = put(t, ip, &tail);
	return err;
}

static int flip(struct txn *t, struct inode *ip, uint64_t blk, uint64_t len, bool unwritten)
{
	uint64_t end = blk + len, upto;
	struct extent e, part;
	int err;

	while (blk < end) {
		err = extent_at(t, ip, blk, &part);
		if (err)
			return err;
		upto = min64(end, blk + part.len);
		if (part.pool && part.unwritten != unwritten) {
			err = find(t, ip, blk, true, &e);
			if (!err)
				err = carve(t, ip, &e, blk, upto);
			part.len = upto - blk;
			part.unwritten = unwritten;
			if (!err)
				err = put_merged(t, ip, part);
			if (err)
				return err;
		}
		blk = upto;
	}
	return 0;
}

int extent_written(struct txn *t, struct inode *ip, uint64_t blk, uint64_t len)
{
	return flip(t, ip, blk, len, false);
}

int extent_unwritten(struct txn *t, struct inode *ip, uint64_t blk, uint64_t len)
{
	return flip(t, ip, blk, len, true);
}

/* How much of n blocks this record may still free, from the end. */
static uint64_t bounded(struct txn *t, uint64_t n)
{
	while (n && !txn_can_free(t, n))
		n /= 2;
	return n;
}

/* The part of [from, to) that the last extent in there covers, and that extent.
 * -ENOENT: the range is a hole. */
static int last_of(struct txn *t, struct inode *ip, uint64_t from, uint64_t to,
		   struct extent *e, struct extent *part)
{
	int err = find(t, ip, to - 1, true, e);

	if (!err && e->blk + e->len <= from)
		err = -ENOENT;
	if (err)
		return err;
	*part = *e;
	part->blk = max64(from, e->blk);
	part->len = min64(to, e->blk + e->len) - part->blk;
	part->pool += part->blk - e->blk;
	return 0;
}

int extent_remove(struct txn *t, struct inode *ip, uint64_t from, uint64_t to)
{
	struct extent e, part;
	uint64_t n, cut;
	int err;

	txn_allow_reserve(t);
	while (from < to) {
		err = last_of(t, ip, from, to, &e, &part);
		if (err)
			return err == -ENOENT ? 0 : err;
		n = bounded(t, part.len);		/* E3 */
		if (!n)
			return 1;
		cut = part.len - n;
		err = carve(t, ip, &e, part.blk + cut, part.blk + part.len);
		if (!err)
			err = txn_free(t, TXN_DATA, (struct run){ part.pool + cut, n });
		if (!err)
			err = add_blocks(t, ip, -(int64_t)n);
		if (err)
			return err;
		to = part.blk + cut;
	}
	return 0;
}

int extent_unmap(struct txn *t, struct inode *ip, uint64_t from, uint64_t to)
{
	struct extent e, part;
	int err;

	while (from < to) {
		err = last_of(t, ip, from, to, &e, &part);
		if (err)
			return err == -ENOENT ? 0 : err;
		err = carve(t, ip, &e, part.blk, part.blk + part.len);
		if (!err)
			err = add_blocks(t, ip, -(int64_t)part.len);
		if (err)
			return err;
		to = part.blk;
	}
	return 0;
}
