/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_content.c - what hangs off an inode: nodes, extents, attributes
 *
 * Two passes over all inodes: first every tree's nodes find their owner, then
 * the blocks of data. So a file never gets a block that is a live tree node.
 * Of two files that claim a block of data the first keeps it; which of them
 * wrote it last cannot be told, so the other gets a copy.
 */
#include <sys/stat.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "meta/repair_int.h"

static void drop_root(struct pmemfs_inode *di)
{
	di->root_kind = PMEMFS_ROOT_NONE;
	di->nr_inline = 0;
	memset(&di->root, 0, sizeof(di->root));
}

/* ---- nodes ------------------------------------------------------------------- */

static uint64_t own_nodes(struct repair *r, uint64_t ino, enum pmemfs_tree tree, uint64_t root)
{
	struct rwalk w;

	repair_walk_init(&w, r, ino);
	w.tree = tree;
	w.claim = true;
	root = repair_walk(&w, root);
	w.node->blocks += w.nodes;
	if (w.dropped)
		w.node->lost = 1;
	return root;
}

void repair_nodes(struct repair *r, uint64_t ino)
{
	uint64_t off = repair_slot_off(r, ino), root;
	struct pmemfs_inode di = *repair_inode_at(r, off);

	if (di.root_kind == PMEMFS_ROOT_TREE) {
		root = own_nodes(r, ino, S_ISDIR(get32(di.mode)) ? PMEMFS_TREE_DIR :
				 PMEMFS_TREE_EXTENT, get64(di.root.tree));
		if (!root)
			drop_root(&di);
	}
	if (get64(di.xattr))
		di.xattr = put64(own_nodes(r, ino, PMEMFS_TREE_XATTR, get64(di.xattr)));
	repair_put_inode(r, off, &di);
}

/* ---- extents ------------------------------------------------------------------- */

const char *repair_extent_bad(const struct repair *r, uint64_t pos, uint64_t where)
{
	uint64_t len = ext_len(where);

	if (!repair_in_data(r, ext_blk(where), len))
		return "is empty or outside the data area";
	if (pos >= off_blk(PMEMFS_MAX_SIZE) || len > off_blk(PMEMFS_MAX_SIZE) - pos)
		return "is behind the largest file";
	return NULL;
}

static void later(struct rwalk *w, enum rput_kind kind, uint64_t pos, uint64_t where,
		  uint64_t blk, uint64_t len)
{
	struct rput *p = repair_put_add(w->r, kind, w->ino);

	if (!p)
		return;
	p->pos = pos;
	p->blk = blk;
	p->len = len;
	p->unwritten = where & PMEMFS_EXT_UNWRITTEN;
}

/* Blocks that somebody owns already: a copy, or a hole. */
static void taken(struct rwalk *w, uint64_t pos, uint64_t where, uint64_t blk, uint64_t len,
		  uint64_t off)
{
	struct rplace at = { w->ino, off };
	struct repair *r = w->r;
	uint64_t n;
	bool meta;

	for (; len; pos += n, blk += n, len -= n) {
		n = rmap_run(&r->meta, blk, len, &meta);
		if (meta || w->node->suspect) {
			repair_tell(r, PROBLEM_DOUBLE_META, at,
				    "file block %llu: blocks %llu+%llu are %s",
				    (unsigned long long)pos, (unsigned long long)blk,
				    (unsigned long long)n, meta ? "metadata" : "another file's");
			continue;
		}
		repair_tell(r, PROBLEM_DOUBLE_DATA, at,
			    "file block %llu: blocks %llu+%llu have another owner",
			    (unsigned long long)pos, (unsigned long long)blk,
			    (unsigned long long)n);
		if (!(where & PMEMFS_EXT_UNWRITTEN))
			later(w, PUT_CLONE, pos, where, blk, n);
	}
}

/* Take it apart: what is free is put back as it is. */
static void piecewise(struct rwalk *w, uint64_t pos, uint64_t where, uint64_t off)
{
	uint64_t blk = ext_blk(where), len = ext_len(where), n;
	bool set;

	for (; len; pos += n, blk += n, len -= n) {
		n = rmap_run(&w->r->owned, blk, len, &set);
		if (set) {
			taken(w, pos, where, blk, n, off);
			continue;
		}
		repair_own(w->r, blk, n, false);
		later(w, PUT_EXTENT, pos, where, blk, n);
	}
	w->node->lost = 1;
}

static enum ritem extent(struct rwalk *w, uint64_t pos, uint8_t *val, uint64_t off)
{
	uint64_t where = load64(val), flags = where & PMEMFS_EXT_FLAGS & ~PMEMFS_EXT_UNWRITTEN;
	uint64_t blk = ext_blk(where), len = ext_len(where);
	const char *bad = repair_extent_bad(w->r, pos, where);
	struct rplace at = { w->ino, off };

	if (bad) {
		repair_tell(w->r, PROBLEM_EXTENT_BAD, at,
			    "extent of file block %llu (blocks %llu+%llu) %s",
			    (unsigned long long)pos, (unsigned long long)blk,
			    (unsigned long long)len, bad);
		w->node->lost = 1;
		return ITEM_DROP;
	}
	if (flags)
		repair_tell(w->r, PROBLEM_EXTENT_FLAGS, at,
			    "extent of file block %llu has unknown flags", (unsigned long long)pos);
	where &= ~flags;
	save64(val, where);
	if (pos < w->end)
		repair_tell(w->r, PROBLEM_EXTENT_OVERLAP, at,
			    "extent of file block %llu overlaps another, or is out of order",
			    (unsigned long long)pos);
	if (pos < w->end || !repair_unowned(w->r, blk, len)) {
		piecewise(w, pos, where, off);
		w->end = max64(w->end, pos + len);
		return ITEM_DROP;
	}
	repair_own(w->r, blk, len, false);
	w->end = pos + len;
	w->node->blocks += len;
	return flags ? ITEM_CHANGED : ITEM_KEEP;
}

static enum ritem extent_item(struct rwalk *w, uint64_t pos, uint8_t *val, unsigned len,
			      uint64_t off)
{
	if (len == sizeof(le64))
		return extent(w, pos, val, off);
	repair_tell(w->r, PROBLEM_EXTENT_BAD, (struct rplace){ w->ino, off },
		    "extent of %u bytes", len);
	w->node->lost = 1;
	return ITEM_DROP;
}

static void inline_extents(struct rwalk *w, struct pmemfs_inode *di, uint64_t off)
{
	uint64_t at = off + offsetof(struct pmemfs_inode, root.extent);
	struct pmemfs_extent e[PMEMFS_ROOT_EXTENTS];
	unsigned i, kept = 0, nr = di->nr_inline;
	uint8_t val[8];

	memset(e, 0, sizeof(e));
	for (i = 0; i < nr; i++, at += sizeof(e[0])) {
		save64(val, get64(di->root.extent[i].where));
		if (extent(w, get64(di->root.extent[i].blk), val, at) == ITEM_DROP)
			continue;
		e[kept] = di->root.extent[i];
		e[kept++].where = put64(load64(val));
	}
	if (kept == nr && nr) {
		memcpy(di->root.extent, e, nr * sizeof(e[0]));	/* flags, if any */
		return;
	}
	memcpy(di->root.extent, e, sizeof(e));
	di->nr_inline = (uint8_t)kept;
	if (!kept)
		di->root_kind = PMEMFS_ROOT_NONE;
}

/* A long target: one written block without a NUL in it. */
static bool target_bad(const struct repair *r, const struct pmemfs_inode *di)
{
	uint64_t where = get64(di->root.extent[0].where), size = get64(di->size);

	if (di->root_kind == PMEMFS_ROOT_TREE || di->root_kind == PMEMFS_ROOT_BYTES)
		return false;
	if (di->root_kind != PMEMFS_ROOT_INLINE || di->nr_inline != 1 ||
	    get64(di->root.extent[0].blk) || where & PMEMFS_EXT_UNWRITTEN ||
	    repair_extent_bad(r, 0, where))
		return true;
	return memchr(pm_at(r->pm, blk_off(ext_blk(where)), size), '\0', size);
}

/* ---- attributes ------------------------------------------------------------------ */

bool repair_xattr_fields(const uint8_t *val, unsigned len, struct pmemfs_xattr *x)
{
	uint32_t size, want;

	if (len < PMEMFS_XATTR_HEAD)
		return false;
	memcpy(x, val, PMEMFS_XATTR_HEAD);
	size = get32(x->size);
	if (!x->name_len || get16(x->zero) || size > PMEMFS_XATTR_MAX)
		return false;
	want = PMEMFS_XATTR_HEAD + x->name_len +
		(x->nr_runs ? x->nr_runs * (uint32_t)sizeof(le64) : size);
	return len == want && x->nr_runs <= PMEMFS_XATTR_MAX / PMEMFS_BLOCK_SIZE &&
	       (x->nr_runs || !get32(x->crc)) &&
	       !memchr(val + PMEMFS_XATTR_HEAD, '\0', x->name_len);
}

bool repair_xattr_value(const struct repair *r, const uint8_t *val,
			const struct pmemfs_xattr *x, uint8_t *out)
{
	const uint8_t *rest = val + PMEMFS_XATTR_HEAD + x->name_len;
	uint64_t left = get32(x->size), done = 0, where, n;
	unsigned i;

	if (!x->nr_runs) {
		memcpy(out, rest, left);
		return true;
	}
	for (i = 0; i < x->nr_runs; i++, done += n, left -= n) {
		where = load64(rest + i * sizeof(le64));
		if ((where & PMEMFS_EXT_FLAGS) ||
		    !repair_in_data(r, ext_blk(where), ext_len(where)) ||
		    ext_len(where) > bytes_blks(left))
			return false;
		n = min64(left, blk_off(ext_len(where)));
		memcpy(out + done, pm_at(r->pm, blk_off(ext_blk(where)), n), n);
	}
	return !left && crc32c(0, out, done) == get32(x->crc);
}

/* The blocks of a value, all or none. */
static bool own_runs(struct rwalk *w, const uint8_t *val, const struct pmemfs_xattr *x)
{
	const uint8_t *rest = val + PMEMFS_XATTR_HEAD + x->name_len;
	uint64_t where;
	unsigned i;

	for (i = 0; i < x->nr_runs; i++) {
		where = load64(rest + i * sizeof(le64));
		if (!repair_unowned(w->r, ext_blk(where), ext_len(where)))
			break;
		repair_own(w->r, ext_blk(where), ext_len(where), false);
		w->node->blocks += ext_len(where);
	}
	if (i == x->nr_runs)
		return true;
	while (i-- > 0) {
		where = load64(rest + i * sizeof(le64));
		repair_disown(w->r, ext_blk(where), ext_len(where));
		w->node->blocks -= ext_len(where);
	}
	return false;
}

static enum ritem drop_xattr(struct rwalk *w, const uint8_t *val, unsigned len, uint64_t off,
			     const char *why)
{
	unsigned room = len > PMEMFS_XATTR_HEAD ? len - PMEMFS_XATTR_HEAD : 0;
	char shown[80] = "";

	if (room)
		log_name(shown, sizeof(shown), (const char *)val + PMEMFS_XATTR_HEAD,
			 min64(val[0], room));
	repair_tell(w->r, PROBLEM_XATTR_BAD, (struct rplace){ w->ino, off },
		    "attribute \"%s\" %s", shown, why);
	w->node->lost = 1;
	return ITEM_DROP;
}

/* Its value is whole: it is put back under its own key. */
static enum ritem move_xattr(struct rwalk *w, const uint8_t *val, const struct pmemfs_xattr *x,
			     uint64_t off)
{
	uint8_t value[PMEMFS_XATTR_MAX];
	struct rput *p;

	if (!repair_xattr_value(w->r, val, x, value))
		return drop_xattr(w, val, PMEMFS_XATTR_HEAD + x->name_len, off,
				  "has a value with a wrong checksum");
	p = repair_put_add(w->r, PUT_XATTR, w->ino);
	w->node->lost = 1;
	if (!p)
		return ITEM_DROP;
	p->off = off;
	p->tell = PROBLEM_XATTR_KEY;
	repair_put_bytes(w->r, p, val + PMEMFS_XATTR_HEAD, x->name_len, value, get32(x->size));
	return ITEM_DROP;
}

static enum ritem xattr_item(struct rwalk *w, uint64_t key, uint8_t *val, unsigned len,
			     uint64_t off)
{
	const char *name = (const char *)val + PMEMFS_XATTR_HEAD;
	uint8_t value[PMEMFS_XATTR_MAX];
	struct pmemfs_xattr x;
	bool twice, fits;

	if (!repair_xattr_fields(val, len, &x))
		return drop_xattr(w, val, len, off, "has fields that do not fit each other");
	fits = repair_key_ok(w, key, name, x.name_len, &twice);
	if (twice)
		return drop_xattr(w, val, len, off, "is there twice");
	if (!fits || (!x.nr_runs && get32(x.size) > PMEMFS_XATTR_INLINE))
		return move_xattr(w, val, &x, off);
	if (!repair_xattr_value(w->r, val, &x, value))
		return drop_xattr(w, val, len, off, "has a value with a wrong checksum");
	if (!own_runs(w, val, &x))
		return drop_xattr(w, val, len, off, "has its value in blocks of somebody else");
	return ITEM_KEEP;
}

/* ---- all of it --------------------------------------------------------------------- */

static void data_of_root(struct repair *r, uint64_t ino, uint64_t off, struct pmemfs_inode *di)
{
	struct rwalk w;

	repair_walk_init(&w, r, ino);
	w.tree = PMEMFS_TREE_EXTENT;
	w.fn = extent_item;
	if (di->root_kind == PMEMFS_ROOT_INLINE)
		inline_extents(&w, di, off);
	else if (di->root_kind == PMEMFS_ROOT_TREE && !repair_walk(&w, get64(di->root.tree)))
		drop_root(di);
	w.node->blocks += w.nodes;		/* those that went */
	if (w.node->resize)
		di->size = put64(min64(blk_off(w.end), PMEMFS_MAX_SIZE));
}

void repair_data(struct repair *r, uint64_t ino)
{
	uint64_t off = repair_slot_off(r, ino);
	struct pmemfs_inode di = *repair_inode_at(r, off);
	struct rwalk w;

	if (S_ISLNK(get32(di.mode)) && target_bad(r, &di)) {
		repair_tell(r, PROBLEM_INODE_TARGET, (struct rplace){ ino, off },
			    "symbolic link without a target");
		repair_clear(r, ino);
		return;
	}
	if (!S_ISDIR(get32(di.mode)))
		data_of_root(r, ino, off, &di);
	if (get64(di.xattr)) {
		repair_walk_init(&w, r, ino);
		w.tree = PMEMFS_TREE_XATTR;
		w.fn = xattr_item;
		di.xattr = put64(repair_walk(&w, get64(di.xattr)));
		w.node->blocks += w.nodes;
	}
	repair_put_inode(r, off, &di);
}

void repair_sizes(struct repair *r, uint64_t ino)
{
	struct rnode *n = repair_node(r, ino);
	uint64_t off = repair_slot_off(r, ino);
	struct pmemfs_inode di = *repair_inode_at(r, off);
	struct rplace at = { ino, off };

	if (n->blocks != get64(di.blocks) && !n->lost)
		repair_tell(r, PROBLEM_SIZE_BLOCKS, at, "holds %llu blocks, its inode says %llu",
			    (unsigned long long)n->blocks, (unsigned long long)get64(di.blocks));
	di.blocks = put64(n->blocks);
	if (S_ISDIR(get32(di.mode))) {
		if (n->bytes != get64(di.size) && !n->lost)
			repair_tell(r, PROBLEM_SIZE_DIR, at,
				    "holds %llu bytes of names, its inode says %llu",
				    (unsigned long long)n->bytes,
				    (unsigned long long)get64(di.size));
		di.size = put64(n->bytes);
	}
	repair_put_inode(r, off, &di);
}
