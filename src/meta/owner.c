/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * owner.c - whose is this block, and what is that file called
 *
 * Names are found from below: an inode notes its directory (a hint for files,
 * the truth for directories), and in that directory an entry with the inode's
 * number is looked for. Owners are found from above: every inode's trees are
 * walked once, whatever the number of blocks asked for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "meta/owner.h"
#include "meta/peek.h"
#include "meta/pieces.h"

#define MAX_DEPTH	256u

/* ---- names ------------------------------------------------------------------ */

struct entry { uint64_t ino; char name[4 * PMEMFS_NAME_MAX + 1]; };

static void show_name(char *to, const uint8_t *name, size_t len)
{
	bool plain;

	for (size_t i = 0; i < len; i++) {
		plain = name[i] >= 0x20 && name[i] != 0x7f && name[i] != '\\';
		to += snprintf(to, 5, plain ? "%c" : "\\x%02x", name[i]);
	}
}

static void find_entry(void *arg, uint64_t key, const uint8_t *val, unsigned len)
{
	struct entry *e = arg;

	(void)key;
	if (!*e->name && len > 8 && len <= 8 + PMEMFS_NAME_MAX &&
	    (load64(val) & PMEMFS_MAX_INO) == e->ino)
		show_name(e->name, val + 8, len - 8);
}

/* Put "/NAME" in front of what is at *at. false: no room. */
static bool prepend(char *buf, char **at, const char *name)
{
	size_t len = strlen(name);

	if ((size_t)(*at - buf) < len + 1)
		return false;
	*at -= len;
	memcpy(*at, name, len);
	*--*at = '/';
	return true;
}

void owner_path(const struct pm *pm, const struct geometry *geo, uint64_t ino,
		char *buf, size_t size)
{
	struct entry *e = malloc(sizeof(*e));
	struct peek p = { .pm = pm, .geo = geo, .item = find_entry, .arg = e };
	char path[OWNER_PATH_MAX], *at = path + sizeof(path) - 1;
	const struct pmemfs_inode *di;
	uint64_t off, up, me = ino;
	unsigned depth;

	*at = '\0';
	for (depth = 0; e && me != PMEMFS_ROOT_INO && depth < MAX_DEPTH; depth++, me = up) {
		di = peek_inode(&p, me, &off);
		up = di ? get64(di->parent) : 0;
		di = up ? peek_inode(&p, up, &off) : NULL;
		if (!di || !S_ISDIR(get32(di->mode)))
			break;
		e->ino = me;
		*e->name = '\0';
		p.nodes = 0;
		peek_root(&p, di);
		if (!*e->name || !prepend(path, &at, e->name))
			break;
	}
	free(e);
	if (me == PMEMFS_ROOT_INO)
		snprintf(buf, size, "%s", *at ? at : "/");
	else
		snprintf(buf, size, "inode %llu", (unsigned long long)ino);
}

/* ---- owners ------------------------------------------------------------------- */

struct hunt {
	const struct pm *pm;
	const struct geometry *geo;
	const uint64_t *blk;
	size_t nr;
	uint64_t ino;			/* whose trees are being walked */
	bool *found;
	void (*fn)(void *arg, const struct owner *o);
	void *arg;
};

static void tell(struct hunt *h, size_t i, enum owner_kind kind, uint64_t pos,
		 const char *text)
{
	struct owner o = { .kind = kind, .blk = h->blk[i], .ino = h->ino, .pos = pos,
			   .text = text };

	h->found[i] = true;
	h->fn(h->arg, &o);
}

/* The first of the blocks asked for that is not below b. */
static size_t first_from(const struct hunt *h, uint64_t b)
{
	size_t lo = 0, hi = h->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (h->blk[mid] < b)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void hunt_run(struct hunt *h, enum owner_kind kind, uint64_t key, uint64_t where)
{
	uint64_t n = ext_len(where), pos;

	where = ext_blk(where);
	for (size_t i = first_from(h, where); i < h->nr && h->blk[i] < where + n; i++) {
		pos = key + (h->blk[i] - where);
		if (h->ino) {
			tell(h, i, kind, kind == OWNER_DATA ? blk_off(pos) : 0, kind == OWNER_DATA ?
			     "data" : "the value of an extended attribute");
			continue;
		}
		h->ino = pos * PMEMFS_INODES_PER_BLOCK;
		tell(h, i, OWNER_TABLE, 0, "the inode table");
		h->ino = 0;
	}
}

static void hunt_extent(void *arg, uint64_t key, const uint8_t *val, unsigned len)
{
	if (len == 8)
		hunt_run(arg, OWNER_DATA, key, load64(val));
}

static void hunt_xattr(void *arg, uint64_t key, const uint8_t *val, unsigned len)
{
	struct pmemfs_xattr x;
	unsigned i, at;

	(void)key;
	if (len < PMEMFS_XATTR_HEAD)
		return;
	memcpy(&x, val, PMEMFS_XATTR_HEAD);
	at = PMEMFS_XATTR_HEAD + x.name_len;
	for (i = 0; i < x.nr_runs && at + 8 * (i + 1) <= len; i++)
		hunt_run(arg, OWNER_XATTR, 0, load64(val + at + 8 * i));
}

static void hunt_node(void *arg, const struct pmemfs_node *n, uint64_t blk)
{
	struct hunt *h = arg;
	size_t i = first_from(h, blk);

	(void)n;
	if (i < h->nr && h->blk[i] == blk)
		tell(h, i, OWNER_TREE, 0, "a node of its trees");
}

/* A node that cannot be read is named by peek as damage, with its place. */
static void hunt_damage(void *arg, uint64_t off, const char *text)
{
	(void)text;
	hunt_node(arg, NULL, off_blk(off));
}

static void hunt_inode(struct hunt *h, const struct pmemfs_inode *di)
{
	struct peek p = { .pm = h->pm, .geo = h->geo, .node = hunt_node,
			  .damage = hunt_damage, .arg = h };

	if (!S_ISDIR(get32(di->mode)))
		p.item = hunt_extent;
	peek_root(&p, di);
	p.item = hunt_xattr;
	p.nodes = 0;
	if (get64(di->xattr))
		peek_tree(&p, get64(di->xattr), PMEMFS_TREE_XATTR);
}

static const char *fixed_text(const struct geometry *g, uint64_t blk)
{
	if (blk == PMEMFS_BLK_SUPER)
		return "the superblock (a replica is at the end)";
	if (blk == g->nr_blocks - 1)
		return "the superblock's replica";
	if (blk == PMEMFS_BLK_SLOT0 || blk == PMEMFS_BLK_SLOT1)
		return "a checkpoint slot (there are two)";
	if (blk == PMEMFS_BLK_SYSTEM)
		return "the system block";
	if (blk < g->groups_blk)
		return blk < g->lanes_blk ? "reserved" : "the log";
	return blk < g->data_blk ? "block bitmaps (derived from the files)" : NULL;
}

static bool is_marked(const struct hunt *h, uint64_t blk)
{
	const uint8_t *map = pm_at(h->pm, blk_off(h->geo->bitmap_blk + blk / PMEMFS_GROUP_BLOCKS),
				   PMEMFS_BLOCK_SIZE);

	return map[blk % PMEMFS_GROUP_BLOCKS / 8] >> blk % 8 & 1;
}

static const char *rest_text(const struct hunt *h, uint64_t blk)
{
	return is_marked(h, blk) ? "in use, but nothing that can be read says for what" : "free";
}

static void hunt_rest(struct hunt *h)
{
	const char *text;

	h->ino = 0;
	for (size_t i = 0; i < h->nr; i++) {
		text = fixed_text(h->geo, h->blk[i]);
		if (!h->found[i])
			tell(h, i, text ? OWNER_FIXED : OWNER_NONE, 0,
			     text ? text : rest_text(h, h->blk[i]));
	}
}

struct table { const struct peek *p; struct pieces pieces; bool nomem; };

static void table_extent(void *arg, uint64_t key, const uint8_t *val, unsigned len)
{
	uint64_t where = len == 8 ? load64(val) : 0;
	uint64_t n = ext_len(where);
	struct table *t = arg;
	const struct piece *last = t->pieces.nr ? &t->pieces.at[t->pieces.nr - 1] : NULL;

	where = ext_blk(where);
	if (n && peek_in_data(t->p, where, n) && (!last || key >= last->pos + last->len))
		t->nomem |= !pieces_add(&t->pieces, key, where, n);
}

int owner_find(const struct pm *pm, const struct geometry *geo, const uint64_t *blk,
	       size_t nr, void (*fn)(void *arg, const struct owner *o), void *arg)
{
	struct peek p = { .pm = pm, .geo = geo, .item = table_extent };
	struct table t = { .p = &p };
	struct hunt h = { .pm = pm, .geo = geo, .blk = blk, .nr = nr, .fn = fn, .arg = arg,
			  .found = calloc(nr + 1, sizeof(bool)) };
	const struct pmemfs_inode *di, *table;
	uint64_t off, slots;

	p.arg = &t;
	table = peek_inode(&p, 0, &off);
	peek_root(&p, table);
	if (!h.found || t.nomem) {
		free(h.found);
		pieces_free(&t.pieces);
		return -ENOMEM;
	}
	slots = min64(off_blk(get64(table->size)), geo->nr_blocks) * PMEMFS_INODES_PER_BLOCK;
	hunt_inode(&h, table);
	for (h.ino = 1; h.ino < slots; h.ino++) {
		off = h.ino % PMEMFS_CHUNK_INODES ? pieces_slot_off(&t.pieces, h.ino) : 0;
		di = off ? pm_at(pm, off, sizeof(*di)) : NULL;
		if (di && get32(di->mode))
			hunt_inode(&h, di);
	}
	hunt_rest(&h);
	free(h.found);
	pieces_free(&t.pieces);
	return 0;
}
