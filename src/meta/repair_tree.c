/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_tree.c - walk a tree and take out what is bad
 *
 * The first walk of a tree checks every node and owns it; one that fails is
 * taken out of its parent, and with it all below. Its block stays marked and
 * has no owner any more, which is how repair_salvage.c finds it. Later walks
 * hand out items, which may be dropped or changed in place. Nodes left empty
 * go too. Taking out needs no space.
 *
 * A walk cannot loop: levels fall by one at each step, and a node is owned
 * once. It does not recurse.
 */
#include "base/crc32c.h"
#include "meta/namekey.h"
#include "meta/repair_int.h"

/* ---- nodes --------------------------------------------------------------- */

const char *repair_node_bad(const struct pmemfs_node *n, uint64_t blk)
{
	const char *bad = node_head_bad(n);

	if (!bad && get32(n->crc) != seal_crc(n, sizeof(*n), blk_off(blk)))
		bad = "has a wrong checksum";
	return bad ? bad : node_items_bad(n);
}

/* Sorted, and within what the parent promised. */
static const char *keys_bad(const struct rstep *s)
{
	/* the first key of an inner node counts as 0: it is not looked at */
	unsigned i = s->n.level ? 1 : 0;
	uint64_t key, low = s->lo;
	bool first = true;

	for (; i < node_nr(&s->n); i++, first = false) {
		key = node_key(&s->n, i);
		if (key < low || (key == low && (!first || s->n.level)))
			return "has keys out of order";
		if (key >= s->hi)
			return "has a key above its range";
		low = key;
	}
	return NULL;
}

/* NULL: the node in s is fit to be walked. want: its level, -1: any. */
static const char *unfit(const struct rwalk *w, const struct rstep *s, int want)
{
	const char *bad = repair_node_bad(&s->n, s->blk);

	if (bad)
		return bad;
	if (s->n.tree != w->tree)
		return "is of another kind of tree";
	if (get64(s->n.owner) != w->ino)
		return "is of another inode";
	if (want >= 0 && s->n.level != want)
		return "has a level that does not fit its parent";
	return keys_bad(s);
}

static bool enter(struct rwalk *w, struct rstep *s, int want)
{
	struct rplace at = { w->ino, blk_off(s->blk) };
	struct repair *r = w->r;
	const char *bad = NULL;

	if (w->claim && !repair_in_data(r, s->blk, 1)) {
		repair_tell(r, PROBLEM_NODE_BAD, at, "tree node is outside the data area");
		return false;
	}
	memcpy(&s->n, pm_at(r->pm, blk_off(s->blk), sizeof(s->n)), sizeof(s->n));
	s->i = 0;
	s->dirty = false;
	if (!w->claim)
		return true;
	bad = unfit(w, s, want);
	if (bad) {
		repair_tell(r, PROBLEM_NODE_BAD, at, "tree node %s", bad);
		return false;
	}
	if (!repair_unowned(r, s->blk, 1)) {
		repair_tell(r, PROBLEM_DOUBLE_NODE, at, "tree node has another owner");
		return false;
	}
	repair_own(r, s->blk, 1, true);
	w->nodes++;
	return true;
}

/* ---- walking --------------------------------------------------------------- */

static void drop_child(struct rwalk *w, struct rstep *s)
{
	/* the next one becomes the first, and gets the bound of the node */
	if (s->i == 0 && node_nr(&s->n) > 1)
		node_rekey(&s->n, 1, node_key(&s->n, 0));
	node_del(&s->n, s->i);
	s->dirty = true;
	w->dropped = true;
}

static void leaf(struct rwalk *w, struct rstep *s)
{
	unsigned i = 0, off;
	enum ritem what;

	while (w->fn && i < node_nr(&s->n)) {
		off = get16(s->n.slot[i].off);
		what = w->fn(w, node_key(&s->n, i), (uint8_t *)&s->n + off + NODE_ITEM_HEAD,
			     node_len(&s->n, i), blk_off(s->blk) + off);
		s->dirty |= what != ITEM_KEEP;
		if (what == ITEM_DROP)
			node_del(&s->n, i);
		else
			i++;
	}
}

/* All of the node has been walked; false: nothing is left of it. */
static bool leave(struct rwalk *w, struct rstep *s)
{
	if (!node_nr(&s->n)) {
		repair_disown(w->r, s->blk, 1);
		w->nodes--;
		return false;
	}
	if (s->dirty)
		repair_seal(w->r, blk_off(s->blk), &s->n, sizeof(s->n));
	return true;
}

static void down(const struct rstep *s, struct rstep *t)
{
	t->blk = node_child(&s->n, s->i);
	t->lo = s->i ? node_key(&s->n, s->i) : s->lo;
	t->hi = s->i + 1 < node_nr(&s->n) ? node_key(&s->n, s->i + 1) : s->hi;
}

uint64_t repair_walk(struct rwalk *w, uint64_t root)
{
	struct rstep *way = w->r->way, *s = way;
	bool there;

	s->blk = root;
	s->lo = 0;
	s->hi = UINT64_MAX;
	if (!enter(w, s, -1)) {
		w->dropped = true;
		return 0;
	}
	for (;;) {
		if (!s->n.level)
			leaf(w, s);
		if (s->n.level && s->i < node_nr(&s->n)) {
			down(s, s + 1);		/* in bounds: the level falls */
			if (enter(w, s + 1, s->n.level - 1))
				s++;
			else
				drop_child(w, s);
			continue;
		}
		there = leave(w, s);
		if (s == way)
			return there ? root : 0;
		s--;
		if (there)
			s->i++;
		else
			drop_child(w, s);
	}
}

/* ---- names that share a hash ---------------------------------------------- */

void repair_walk_init(struct rwalk *w, struct repair *r, uint64_t ino)
{
	memset(w, 0, sizeof(*w));
	w->r = r;
	w->ino = ino;
	w->node = ino ? repair_node(r, ino) : NULL;
}

bool repair_key_ok(struct rwalk *w, uint64_t key, const char *name, uint32_t len, bool *twice)
{
	uint64_t hash = name_key(w->r->geo->seed, name, len);
	struct repair *r = w->r;
	uint32_t i;

	*twice = false;
	if ((key & ~0xffull) != hash)
		return false;
	if (hash != w->hash)
		w->nr_same = 0;
	w->hash = hash;
	for (i = 0; i < w->nr_same; i++)
		*twice |= r->same[i].len == len && !memcmp(r->same[i].s, name, len);
	if (*twice || w->nr_same == RWALK_SAME)
		return true;
	memcpy(r->same[w->nr_same].s, name, len);
	r->same[w->nr_same++].len = len;
	return true;
}
