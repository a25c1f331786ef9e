/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify_tree.c - what hangs off an inode
 *
 * Reads tree nodes, extents, directory entries and extended attributes by
 * the letter of pmemfs.5, and shares no code with the B+tree that wrote
 * them: two readings of one text catch more than one.
 *
 * A walk cannot loop: levels fall by one at each step and a block is walked
 * only by its first owner. It does not recurse: the way down is an array of
 * PMEMFS_MAX_LEVEL places.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "base/siphash.h"
#include "meta/node.h"
#include "meta/verify_int.h"

#define COLLISIONS	256u		/* keys that share their upper 56 bits */

struct item {
	uint64_t key, off;		/* off: of the item, in the pool */
	const uint8_t *val;
	uint32_t len;
};

struct walk;
typedef void (*item_fn)(struct walk *w, const struct item *it);

/* One tree being walked. */
struct walk {
	struct verify *v;
	struct vcontent *c;
	uint64_t ino;
	enum pmemfs_tree tree;
	item_fn fn;
	/* names that collide with the one at hand */
	uint64_t hash;
	uint32_t nr_same;
	struct { const char *name; uint32_t len; } same[COLLISIONS];
};

static struct vplace place(const struct walk *w, uint64_t off)
{
	return (struct vplace){ .ino = w->ino, .off = off };
}

/* ---- nodes ------------------------------------------------------------- */

struct step {
	const struct pmemfs_node *n;
	uint64_t blk, lo, hi;		/* keys: lo <= key < hi */
	unsigned i;
};

static uint64_t slot_key(const struct pmemfs_node *n, unsigned i)
{
	return load64((const uint8_t *)n + get16(n->slot[i].off));
}

static const char *check_node(const struct walk *w, const struct pmemfs_node *n, uint64_t blk,
			      int want)
{
	const char *bad = node_head_bad(n);

	if (bad)
		return bad;
	if (get32(n->crc) != seal_crc(n, sizeof(*n), blk_off(blk)))
		return "has a wrong checksum";
	if (n->tree != w->tree)
		return "belongs to another kind of tree";
	if (get64(n->owner) != w->ino)
		return "belongs to another inode";
	if (want >= 0 && n->level != want)
		return "has a level that does not fit its parent";
	return node_items_bad(n);
}

/* Sorted, and within what the parent promised. */
static const char *check_keys(const struct step *s)
{
	/* the first key of an inner node counts as 0: it is not looked at */
	unsigned i = s->n->level ? 1 : 0;
	uint64_t key, low = s->lo;
	bool first = i == 0;

	for (; i < get16(s->n->nr); i++, first = false) {
		key = slot_key(s->n, i);
		if (key < low || (key == low && !first))
			return first ? "has a key below its range" :
				"has keys out of order";
		if (key >= s->hi)
			return "has a key above its range";
		low = key;
	}
	return NULL;
}

/* Is the node at s->blk fit to be walked? want: its level, -1: any. */
static bool enter(struct walk *w, struct step *s, int want)
{
	struct vplace at = place(w, blk_off(s->blk));
	const char *bad;

	if (!verify_in_data(w->v, s->blk, 1)) {
		verify_problem(w->v, VERIFY_NODE, at,
			       "tree node outside the data area: block %llu",
			       (unsigned long long)s->blk);
		goto bad;
	}
	w->c->blocks++;
	w->v->res->nodes++;
	if (!verify_own(w->v, s->blk, 1, at))
		goto bad;
	s->n = pm_at(w->v->pm, blk_off(s->blk), sizeof(*s->n));
	s->i = 0;
	bad = check_node(w, s->n, s->blk, want);
	if (!bad)
		bad = check_keys(s);
	if (!bad)
		return true;
	verify_problem(w->v, VERIFY_NODE, at, "tree node %s", bad);
bad:
	w->c->bad = true;
	return false;
}

static void leaf(struct walk *w, const struct step *s)
{
	unsigned i, off;
	struct item it;

	for (i = 0; i < get16(s->n->nr); i++) {
		off = get16(s->n->slot[i].off);
		it.key = slot_key(s->n, i);
		it.off = blk_off(s->blk) + off;
		it.val = (const uint8_t *)s->n + off + 8;
		it.len = get16(s->n->slot[i].len);
		w->fn(w, &it);
	}
}

static void walk_tree(struct walk *w, uint64_t root)
{
	struct step way[PMEMFS_MAX_LEVEL], *s = way, *t;
	unsigned i, nr;

	*s = (struct step){ .blk = root, .lo = 0, .hi = UINT64_MAX };
	if (!enter(w, s, -1))
		return;
	while (s >= way && !w->v->nomem) {
		nr = get16(s->n->nr);
		if (s->n->level == 0)
			leaf(w, s);
		if (s->n->level == 0 || s->i == nr) {
			s--;
			continue;
		}
		i = s->i++;
		t = s + 1;	/* in bounds: the level falls at each step */
		t->blk = load64((const uint8_t *)s->n + get16(s->n->slot[i].off) + 8);
		t->lo = i ? slot_key(s->n, i) : s->lo;
		t->hi = i + 1 < nr ? slot_key(s->n, i + 1) : s->hi;
		if (enter(w, t, s->n->level - 1))
			s = t;
	}
}

/* ---- extents ----------------------------------------------------------- */

static const char *check_extent(const struct walk *w, uint64_t pos, uint64_t where)
{
	uint64_t blk = ext_blk(where);
	uint64_t len = ext_len(where);
	uint64_t allowed = PMEMFS_EXT_UNWRITTEN;

	if (w->v->geo->ro_compat & PMEMFS_RO_COMPAT_SHARED)
		allowed |= PMEMFS_EXT_SHARED;
	if (where & PMEMFS_EXT_FLAGS & ~allowed)
		return "has an unknown flag";
	if (!verify_in_data(w->v, blk, len))
		return "is empty or outside the data area";
	if (pos >= off_blk(PMEMFS_MAX_SIZE) ||
	    len > off_blk(PMEMFS_MAX_SIZE) - pos)
		return "is behind the largest file";
	if (pos < w->c->end)
		return "overlaps the one before it, or is out of order";
	if (w->c->is_table && (where & PMEMFS_EXT_UNWRITTEN))
		return "of the inode table is unwritten";
	return NULL;
}

static void extent(struct walk *w, uint64_t pos, uint64_t where, uint64_t off)
{
	uint64_t blk = ext_blk(where);
	uint64_t len = ext_len(where);
	const char *bad = check_extent(w, pos, where);

	w->v->res->extents++;
	if (bad) {
		w->c->bad = true;
		verify_problem(w->v, VERIFY_EXTENT, place(w, off),
			       "extent of file block %llu (blocks %llu+%llu) %s",
			       (unsigned long long)pos, (unsigned long long)blk,
			       (unsigned long long)len, bad);
		return;
	}
	w->c->end = pos + len;
	w->c->blocks += len;
	/* a shared block has many owners by design; the first one marks it */
	if (where & PMEMFS_EXT_SHARED)
		verify_own_quietly(w->v, blk, len);
	else if (!verify_own(w->v, blk, len, place(w, off)))
		w->c->bad = true;
	if (w->c->is_table && !pieces_add(&w->v->pieces, pos, blk, len))
		w->v->nomem = true;
}

static void extent_item(struct walk *w, const struct item *it)
{
	if (it->len != sizeof(le64)) {
		w->c->bad = true;
		verify_problem(w->v, VERIFY_EXTENT, place(w, it->off),
			       "extent of %u bytes", it->len);
		return;
	}
	extent(w, it->key, load64(it->val), it->off);
}

/* ---- names ------------------------------------------------------------- */

/*
 * The upper bits of a key come from the name, and no two names that share
 * them are the same. NULL: fine.
 */
static const char *check_key(struct walk *w, uint64_t key, const char *name,
			     uint32_t len)
{
	uint64_t hash = siphash24(w->v->geo->seed, name, len) & PMEMFS_KEY_MASK;
	uint32_t i;

	if (hash < PMEMFS_DIR_MIN_KEY)
		hash = PMEMFS_DIR_MIN_KEY;
	if ((key & ~0xffull) != hash)
		return "is not where its hash puts it";
	if (hash != w->hash) {
		w->hash = hash;
		w->nr_same = 0;
	}
	for (i = 0; i < w->nr_same; i++)
		if (w->same[i].len == len && !memcmp(w->same[i].name, name, len))
			return "is there twice";
	if (w->nr_same < COLLISIONS) {
		w->same[w->nr_same].name = name;
		w->same[w->nr_same++].len = len;
	}
	return NULL;
}

static const char *check_name(const char *name, uint32_t len)
{
	if (memchr(name, '/', len) || memchr(name, '\0', len))
		return "contains a slash or a NUL";
	if ((len == 1 && name[0] == '.') ||
	    (len == 2 && name[0] == '.' && name[1] == '.'))
		return "is not stored in a directory";
	return NULL;
}

/* Count a name that is in order, and check what it points at. */
static const char *entry_target(struct walk *w, uint64_t ino, unsigned type)
{
	struct vinode *dir = verify_node(w->v, w->ino);
	struct vinode *vi = verify_node(w->v, ino);

	if (!vi)
		return "points at a free inode";
	vi->links++;
	if (vi->bad)
		return NULL;		/* reported with the inode */
	if (vi->type != type)
		return "has a type that is not the inode's";
	if (vi->type != S_IFDIR >> 12)
		return NULL;
	if (dir)
		dir->subdirs++;
	if (vi->named || ino == PMEMFS_ROOT_INO) {
		verify_problem(w->v, VERIFY_DIRTREE, (struct vplace){ .ino = ino },
			       "directory has a second parent, inode %llu",
			       (unsigned long long)w->ino);
		return NULL;
	}
	vi->named = 1;
	vi->parent = w->ino;
	return NULL;
}

static void dir_item(struct walk *w, const struct item *it)
{
	const char *name = (const char *)it->val + sizeof(le64), *bad;
	uint32_t len = it->len - sizeof(le64);
	char shown[80] = "";
	uint64_t raw;

	w->c->bytes += it->len;
	if (it->len <= sizeof(le64) || len > PMEMFS_NAME_MAX) {
		w->c->bad = true;
		verify_problem(w->v, VERIFY_DIRENT, place(w, it->off),
			       "entry of %u bytes", it->len);
		return;
	}
	raw = load64(it->val);
	if (raw & ~(PMEMFS_MAX_INO | 15ull << 56))
		bad = "has unknown bits set";
	else
		bad = check_name(name, len);
	if (!bad)
		bad = check_key(w, it->key, name, len);
	if (!bad)
		bad = entry_target(w, raw & PMEMFS_MAX_INO, raw >> 56 & 15);
	if (bad)
		verify_problem(w->v, VERIFY_DIRENT, place(w, it->off),
			       "name \"%s\" (inode %llu) %s",
			       log_name(shown, sizeof(shown), name, len),
			       (unsigned long long)(raw & PMEMFS_MAX_INO), bad);
}

/* ---- extended attributes ------------------------------------------------ */

/* A value kept in blocks: own them, sum them, compare the checksum. */
static const char *xattr_runs(struct walk *w, const struct item *it,
			      const struct pmemfs_xattr *x)
{
	const uint8_t *run = it->val + PMEMFS_XATTR_HEAD + x->name_len;
	uint64_t where, blk, len, left = get32(x->size), n;
	uint32_t crc = 0;
	unsigned i;

	for (i = 0; i < x->nr_runs; i++) {
		where = load64(run + i * sizeof(le64));
		blk = ext_blk(where);
		len = ext_len(where);
		if ((where & PMEMFS_EXT_FLAGS) || !verify_in_data(w->v, blk, len))
			return "has its value outside the data area";
		w->c->blocks += len;
		if (!verify_own(w->v, blk, len, place(w, it->off)))
			w->c->bad = true;
		if (len > bytes_blks(left))
			return "has more blocks than its value needs";
		n = min64(left, blk_off(len));
		crc = crc32c(crc, pm_at(w->v->pm, blk_off(blk), n), n);
		left -= n;
	}
	if (left)
		return "has fewer blocks than its value needs";
	return crc == get32(x->crc) ? NULL : "has a value with a wrong checksum";
}

static const char *check_xattr(struct walk *w, const struct item *it,
			       const struct pmemfs_xattr *x)
{
	const char *name = (const char *)it->val + PMEMFS_XATTR_HEAD, *bad;
	uint32_t size = get32(x->size), want = PMEMFS_XATTR_HEAD + x->name_len;

	want += x->nr_runs ? x->nr_runs * sizeof(le64) : size;
	if (!x->name_len || get16(x->zero) || size > PMEMFS_XATTR_MAX ||
	    it->len != want)
		return "has fields that do not fit each other";
	if (memchr(name, '\0', x->name_len))
		return "contains a NUL";
	bad = check_key(w, it->key, name, x->name_len);
	if (bad)
		return bad;
	if (x->nr_runs)
		return xattr_runs(w, it, x);
	if (get32(x->crc))
		return "has a checksum and no blocks";
	return size > PMEMFS_XATTR_INLINE ? "has a value that belongs into blocks" : NULL;
}

static void xattr_item(struct walk *w, const struct item *it)
{
	struct pmemfs_xattr x;
	char shown[80] = "";
	const char *bad;

	if (it->len < PMEMFS_XATTR_HEAD) {
		w->c->bad = true;
		verify_problem(w->v, VERIFY_XATTR, place(w, it->off),
			       "attribute of %u bytes", it->len);
		return;
	}
	memcpy(&x, it->val, PMEMFS_XATTR_HEAD);
	bad = check_xattr(w, it, &x);
	if (!bad)
		return;
	w->c->bad = true;
	log_name(shown, sizeof(shown), (const char *)it->val + PMEMFS_XATTR_HEAD,
		 min64(x.name_len, it->len - PMEMFS_XATTR_HEAD));
	verify_problem(w->v, VERIFY_XATTR, place(w, it->off),
		       "attribute \"%s\" %s", shown, bad);
}

/* ---- all of it --------------------------------------------------------- */

static void walk_root(struct walk *w, uint64_t off, const struct pmemfs_inode *di)
{
	unsigned i;

	if (di->root_kind == PMEMFS_ROOT_TREE) {
		w->tree = S_ISDIR(get32(di->mode)) ? PMEMFS_TREE_DIR : PMEMFS_TREE_EXTENT;
		w->fn = S_ISDIR(get32(di->mode)) ? dir_item : extent_item;
		walk_tree(w, get64(di->root.tree));
	} else if (di->root_kind == PMEMFS_ROOT_INLINE) {
		for (i = 0; i < di->nr_inline; i++)
			extent(w, get64(di->root.extent[i].blk),
			       get64(di->root.extent[i].where),
			       off + offsetof(struct pmemfs_inode, root.extent[i]));
	}
}

void verify_content(struct verify *v, uint64_t ino, uint64_t off,
		    const struct pmemfs_inode *di, struct vcontent *c)
{
	struct walk w;

	w.v = v;
	w.c = c;
	w.ino = ino;
	w.hash = 0;
	w.nr_same = 0;
	walk_root(&w, off, di);
	if (!get64(di->xattr))
		return;
	w.hash = 0;
	w.nr_same = 0;
	w.tree = PMEMFS_TREE_XATTR;
	w.fn = xattr_item;
	walk_tree(&w, get64(di->xattr));
}
