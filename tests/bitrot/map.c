/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.c - what every byte of a pool's metadata is
 *
 * Fields come from the table of the format (meta/fields.h), so that a new
 * field is a new stratum by itself. Trusts the image: it is our own.
 */
#include "bitrot/map.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "meta/fields.h"

#define LANE_TAIL	64u		/* bytes behind the last record */

static const void *at(const struct map *m, uint64_t off) { return m->s->u.base + off; }

/* ---- lists ------------------------------------------------------------- */

static void *room(void *list, uint32_t nr, uint32_t *max, size_t size)
{
	if (nr < *max)
		return list;
	*max = *max ? *max * 2 : 256;
	list = realloc(list, *max * size);
	assert(list);
	return list;
}

static uint16_t stratum(struct map *m, const char *label, const char *field)
{
	char name[64];
	uint32_t i;

	snprintf(name, sizeof(name), *field ? "%s.%s" : "%s%s", label, field);
	for (i = m->nr_strata; i-- > 0; )
		if (!strcmp(m->stratum[i].name, name))
			return (uint16_t)i;
	m->stratum = room(m->stratum, m->nr_strata, &m->max_strata, sizeof(*m->stratum));
	memset(&m->stratum[m->nr_strata], 0, sizeof(*m->stratum));
	memcpy(m->stratum[m->nr_strata].name, name, sizeof(name));
	return (uint16_t)m->nr_strata++;
}

static void piece(struct map *m, uint64_t off, uint32_t len, enum seal seal, const char *label)
{
	m->piece = room(m->piece, m->nr_pieces, &m->max_pieces, sizeof(*m->piece));
	m->piece[m->nr_pieces++] = (struct piece){
		.off = (uint32_t)off, .len = len, .seal = (uint8_t)seal,
		.label = stratum(m, label, ""),
	};
}

static void spots(struct map *m, uint64_t off, uint64_t len, const char *label,
		  const char *field, bool quiet)
{
	uint16_t s = stratum(m, label, field);
	uint64_t lanes = blk_off(m->s->geo.lanes_blk), end = blk_off(m->s->geo.groups_blk);

	for (; len; len--, off++) {
		m->spot = room(m->spot, m->nr_spots, &m->max_spots, sizeof(*m->spot));
		m->spot[m->nr_spots++] = (struct spot){
			.off = (uint32_t)off, .stratum = s, .quiet = quiet,
			.in_log = off >= lanes && off < end,
		};
		m->stratum[s].nr++;
	}
}

/* All the fields of a structure; those that are structures as one. */
static void fields(struct map *m, uint64_t off, const char *name, const char *label)
{
	const struct field_struct *fs = field_find(name);
	unsigned i;

	for (i = 0; i < fs->nr; i++)
		spots(m, off + fs->field[i].off, fs->field[i].size, label,
		      fs->field[i].name, false);
}

static void sealed(struct map *m, uint64_t off, const char *name, enum seal seal,
		   const char *label)
{
	piece(m, off, field_find(name)->size, seal, label);
	fields(m, off, name, label);
}

/* ---- areas ------------------------------------------------------------- */

static void map_areas(struct map *m)
{
	const struct geometry *geo = &m->s->geo;
	uint64_t sys = blk_off(PMEMFS_BLK_SYSTEM), off;
	unsigned i;

	sealed(m, 0, "super", SEAL_SUPER, "super primary");
	sealed(m, blk_off(geo->nr_blocks - 1), "super", SEAL_SUPER, "super replica");
	for (i = 0; i < 2; i++) {
		off = blk_off(PMEMFS_BLK_SLOT0 + i);
		sealed(m, off, "slot", SEAL_OWN, i ? "slot 1" : "slot 0");
		spots(m, off + sizeof(struct pmemfs_slot), 64, "slot", "unused", true);
	}
	for (i = 0; i < PMEMFS_SHARDS; i++)
		sealed(m, sys + offsetof(struct pmemfs_system, orphans[i]), "shard", SEAL_OWN,
		       "shard");
	spots(m, sys + offsetof(struct pmemfs_system, zero0), 64, "system", "zero0", true);
	spots(m, sys + offsetof(struct pmemfs_system, zero1), 64, "system", "zero1", true);
	sealed(m, blk_off(PMEMFS_BLK_BADBLOCKS), "badblocks", SEAL_OWN, "badblocks");
	spots(m, blk_off(PMEMFS_BLK_BADBLOCKS + 1), 3 * 64, "reserved blocks", "", false);
	for (i = 0; i < geo->nr_groups; i++) {
		off = blk_off(geo->groups_blk) + i * sizeof(struct pmemfs_group);
		sealed(m, off, "group", SEAL_OWN, "group");
		off = blk_off(geo->bitmap_blk + i);
		piece(m, off, PMEMFS_BLOCK_SIZE, SEAL_BITMAP, "bitmap");
		spots(m, off, PMEMFS_BLOCK_SIZE, "bitmap", "", false);
	}
	off = blk_off(geo->groups_blk) + geo->nr_groups * sizeof(struct pmemfs_group);
	spots(m, off, 64, "group", "unused", true);
}

/* ---- the log ----------------------------------------------------------- */

static bool map_record(void *arg, uint64_t off, const struct pmemfs_record *rec)
{
	struct map *m = arg;
	uint32_t len = get32(rec->len), pos = sizeof(*rec), pad;
	uint64_t next = off + align_up(len, PMEMFS_LINE);
	const struct pmemfs_form *f;

	sealed(m, off, "record", SEAL_RECORD, "record");
	m->piece[m->nr_pieces - 1].len = len;
	while (pos < len) {
		f = at(m, off + pos);
		fields(m, off + pos, "form", "form");
		pos += sizeof(*f);
		if (get16(f->kind) != PMEMFS_FORM_BYTES)
			continue;
		pad = (uint32_t)align_up(get32(f->len), 8);
		spots(m, off + pos, pad, "form", "bytes", false);
		pos += pad;
	}
	spots(m, off + len, next - off - len, "record", "padding", true);
	if (!get64(((const struct pmemfs_record *)at(m, next))->tag))
		spots(m, next, LANE_TAIL, "lane", "unused", true);
	return true;
}

/* ---- trees ------------------------------------------------------------- */

static void map_xattr(struct map *m, uint64_t off, unsigned len)
{
	struct pmemfs_xattr x;
	uint64_t rest, where;
	uint32_t left, n;
	unsigned i;

	memcpy(&x, at(m, off), PMEMFS_XATTR_HEAD);
	rest = off + PMEMFS_XATTR_HEAD + x.name_len;
	left = get32(x.size);
	fields(m, off, "xattr", "xattr");
	spots(m, off + PMEMFS_XATTR_HEAD, x.name_len, "xattr", "name", false);
	if (!x.nr_runs)
		spots(m, rest, off + len - rest, "xattr", "value", false);
	for (i = 0; i < x.nr_runs; i++) {
		spots(m, rest + 8 * i, 8, "xattr", "run", false);
		where = load64(at(m, rest + 8 * i));
		n = (uint32_t)min64(left, blk_off(where >> PMEMFS_EXT_BLK_BITS &
						  PMEMFS_EXT_MAX_LEN));
		spots(m, blk_off(where & (PMEMFS_MAX_BLOCKS - 1)), n, "xattr", "blocks", false);
		left -= n;
	}
}

static void map_item(struct map *m, const struct pmemfs_node *n, uint64_t off, unsigned len,
		     const char *label)
{
	spots(m, off, 8, label, "key", false);
	if (n->level) {
		spots(m, off + 8, len, label, "child", false);
	} else if (n->tree == PMEMFS_TREE_DIR) {
		fields(m, off + 8, "dirent", "dirent");
		spots(m, off + 16, len - 8, "dirent", "name", false);
	} else if (n->tree == PMEMFS_TREE_XATTR) {
		map_xattr(m, off + 8, len);
	} else {
		spots(m, off + 8, len, label, "where", false);
	}
}

static void map_node(struct map *m, uint64_t blk)
{
	static const char *const label[4][2] = {
		[PMEMFS_TREE_EXTENT] = { "node extent leaf", "node extent inner" },
		[PMEMFS_TREE_DIR] = { "node dir leaf", "node dir inner" },
		[PMEMFS_TREE_XATTR] = { "node xattr leaf", "node xattr inner" },
	};
	const struct pmemfs_node *n = at(m, blk_off(blk));
	const struct field_struct *head = field_find("node");
	const char *name = label[n->tree][n->level > 0];
	unsigned i, nr = get16(n->nr), heap = get16(n->heap);
	uint64_t off = blk_off(blk);

	piece(m, off, sizeof(*n), SEAL_OWN, name);
	for (i = 0; i < head->nr; i++)
		if (head->field[i].type != FIELD_STRUCT)
			spots(m, off + head->field[i].off, head->field[i].size, name,
			      head->field[i].name, false);
	spots(m, off + PMEMFS_NODE_HEAD + 4 * nr, heap - PMEMFS_NODE_HEAD - 4 * nr, name,
	      "free", false);
	for (i = 0; i < nr; i++) {
		fields(m, off + PMEMFS_NODE_HEAD + 4 * i, "nslot", name);
		map_item(m, n, off + get16(n->slot[i].off), get16(n->slot[i].len), name);
		if (n->level)
			map_node(m, load64((const uint8_t *)n + get16(n->slot[i].off) + 8));
	}
}

/* ---- inodes ------------------------------------------------------------ */

static const char *type_name(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return "file";
	case S_IFDIR: return "dir";
	case S_IFLNK: return "symlink";
	case 0: return "free";
	default: return "special";
	}
}

static void map_inode(struct map *m, uint64_t off)
{
	static const char *const root[] = { "none", "inline", "tree", "bytes" };
	const struct field_struct *fs = field_find("inode");
	const struct pmemfs_inode *di = at(m, off);
	char label[48];
	unsigned i;

	snprintf(label, sizeof(label), "inode %s%s %s", type_name(get32(di->mode)),
		 get32(di->link.listed) ? " orphan" : "", root[di->root_kind & 3]);
	piece(m, off, PMEMFS_INODE_SEALED, SEAL_INODE, label);
	for (i = 0; i < fs->nr && fs->field[i].off < PMEMFS_INODE_SEALED; i++)
		spots(m, off + fs->field[i].off, fs->field[i].size, label,
		      fs->field[i].name, false);
	/* the inode table itself is never on a list; nobody looks at its link */
	if (off_blk(off) == PMEMFS_BLK_SYSTEM)
		spots(m, off + PMEMFS_INODE_SEALED, sizeof(di->link), "link of the table",
		      "unused", true);
	else
		sealed(m, off + offsetof(struct pmemfs_inode, link), "link", SEAL_OWN,
		       get32(di->link.listed) ? "link listed" : "link idle");
	if (di->root_kind == PMEMFS_ROOT_TREE)
		map_node(m, get64(di->root.tree));
	if (get64(di->xattr))
		map_node(m, get64(di->xattr));
}

static void map_inodes(struct map *m)
{
	const struct pmemfs_chunk *h = NULL;
	bool virgin = false, used, first;
	uint64_t ino, off;

	map_inode(m, blk_off(PMEMFS_BLK_SYSTEM) + offsetof(struct pmemfs_system, itable));
	for (ino = 0; (off = hand_slot(m->s, ino)); ino++) {
		if (ino % PMEMFS_CHUNK_INODES == 0) {
			h = at(m, off);
			sealed(m, off, "chunk", SEAL_CHUNK, "chunk");
			continue;
		}
		used = h->used[ino % PMEMFS_CHUNK_INODES / 8] >> ino % 8 & 1;
		first = !used && !get32(((const struct pmemfs_inode *)at(m, off))->gen);
		if (first && virgin)
			continue;	/* one slot never used is like another */
		virgin |= first;
		map_inode(m, off);
	}
}

void map_make(struct map *m, struct specimen *s)
{
	memset(m, 0, sizeof(*m));
	m->s = s;
	map_areas(m);
	hand_records(s, map_record, m);
	map_inodes(m);
}

void map_free(struct map *m)
{
	free(m->piece);
	free(m->spot);
	free(m->stratum);
}

/* ---- sealing again ----------------------------------------------------- */

static void put32_at(const struct map *m, uint64_t off, uint32_t v)
{
	le32 x = put32(v);

	undo_put(&m->s->u, off, &x, sizeof(x));
}

static void reseal_bitmap(const struct map *m, const struct piece *p)
{
	const struct geometry *geo = &m->s->geo;
	uint64_t off = blk_off(geo->groups_blk) +
		(off_blk(p->off) - geo->bitmap_blk) * sizeof(struct pmemfs_group);
	const uint8_t *map = at(m, p->off);
	unsigned i, used = 0;

	for (i = 0; i < PMEMFS_BLOCK_SIZE; i++)
		used += (unsigned)__builtin_popcount(map[i]);
	put32_at(m, off + offsetof(struct pmemfs_group, free), PMEMFS_GROUP_BLOCKS - used);
	put32_at(m, off + offsetof(struct pmemfs_group, bitmap_crc), crc32c(0, map, p->len));
	put32_at(m, off, seal_crc(at(m, off), sizeof(struct pmemfs_group), off));
}

static void reseal_record(const struct map *m, const struct piece *p)
{
	const struct pmemfs_record *rec = at(m, p->off);
	uint64_t end = blk_off(m->s->geo.groups_blk);
	uint32_t len = get32(rec->len);

	if (len < sizeof(*rec) || len > end - p->off)
		return;
	put32_at(m, p->off, crc32c((uint32_t)get64(rec->tag), (const uint8_t *)rec + 4, len - 4));
}

void map_reseal(const struct map *m, const struct piece *p)
{
	le64 where = put64(p->off);

	switch ((enum seal)p->seal) {
	case SEAL_NONE:
		break;
	case SEAL_OWN:
	case SEAL_INODE:
		put32_at(m, p->off, seal_crc(at(m, p->off), p->len, p->off));
		break;
	case SEAL_SUPER:
		put32_at(m, p->off, seal_crc(at(m, p->off), p->len, 0));
		break;
	case SEAL_CHUNK:
		put32_at(m, p->off + offsetof(struct pmemfs_chunk, crc),
			 crc32c(crc32c(0, &where, 8), at(m, p->off), 96));
		break;
	case SEAL_RECORD:
		reseal_record(m, p);
		break;
	case SEAL_BITMAP:
		reseal_bitmap(m, p);
		break;
	}
}
