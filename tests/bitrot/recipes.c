/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recipes.c - hostile pools, each made to break one thing
 *
 * All checksums are right: whoever made these pools had this source. The
 * comment of each says what a program that trusts them does.
 */
#include "bitrot/recipes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "bitrot/survey.h"
#include "copy/copy.h"

#define NODE_ID(ino, gen)	((ino) | (uint64_t)(gen) << PMEMFS_INO_BITS)

/* ---- finding and changing ---------------------------------------------- */

static const void *at(const struct map *m, uint64_t off) { return m->s->u.base + off; }

static void put(const struct map *m, uint64_t off, const void *src, size_t len)
{
	undo_put(&m->s->u, off, src, len);
}

static void put_num(const struct map *m, uint64_t off, uint64_t v, size_t len)
{
	le64 x = put64(v);

	put(m, off, &x, len);
}

static const struct piece *piece_at(const struct map *m, uint64_t off)
{
	for (uint32_t i = 0; i < m->nr_pieces; i++)
		if (m->piece[i].off == off)
			return &m->piece[i];
	abort();
}

static void seal(const struct map *m, uint64_t off) { map_reseal(m, piece_at(m, off)); }

static const struct pmemfs_node *node(const struct map *m, uint64_t blk)
{
	return at(m, blk_off(blk));
}

static uint64_t item_off(const struct map *m, uint64_t blk, unsigned i)
{
	return blk_off(blk) + get16(node(m, blk)->slot[i].off);
}

static uint64_t child(const struct map *m, uint64_t blk, unsigned i)
{
	return load64(at(m, item_off(m, blk, i) + 8));
}

static bool is_label(const struct map *m, uint32_t i, const char *label)
{
	return !strcmp(m->stratum[m->piece[i].label].name, label);
}

/* The inode that a name of the specimen points at. */
static uint64_t ino_of(const struct map *m, const char *name)
{
	size_t len = strlen(name);
	uint64_t blk, off;
	uint32_t i;
	unsigned k;

	for (i = 0; i < m->nr_pieces; i++) {
		if (!is_label(m, i, "node dir leaf"))
			continue;
		blk = off_blk(m->piece[i].off);
		for (k = 0; k < get16(node(m, blk)->nr); k++) {
			off = item_off(m, blk, k);
			if (get16(node(m, blk)->slot[k].len) == 8 + len &&
			    !memcmp(at(m, off + 16), name, len))
				return load64(at(m, off + 8)) & PMEMFS_MAX_INO;
		}
	}
	abort();
}

static uint64_t slot_of(const struct map *m, const char *name)
{
	return hand_slot(m->s, ino_of(m, name));
}

static const struct pmemfs_inode *inode(const struct map *m, const char *name)
{
	return at(m, slot_of(m, name));
}

static void set_field(const struct map *m, const char *name, size_t field, uint64_t v, size_t len)
{
	put_num(m, slot_of(m, name) + field, v, len);
	seal(m, slot_of(m, name));
}

#define SET(m, name, field, v) \
	set_field(m, name, offsetof(struct pmemfs_inode, field), v, \
		  sizeof(((struct pmemfs_inode *)0)->field))

static uint64_t node_id_of(const struct map *m, const char *name)
{
	return NODE_ID(ino_of(m, name), get32(inode(m, name)->gen));
}

static uint64_t tree_of(const struct map *m, const char *name)
{
	return get64(inode(m, name)->root.tree);
}

/* The lowest inner node on the left of a tree. */
static uint64_t above_leaves(const struct map *m, uint64_t root)
{
	while (node(m, root)->level > 1)
		root = child(m, root, 0);
	assert(node(m, root)->level == 1 && get16(node(m, root)->nr) > 1);
	return root;
}

/* ---- trees ------------------------------------------------------------- */

/*
 * The parent says that the keys of a leaf begin behind its last. Whoever looks
 * for the second key of that leaf comes from the left, steps into it and meets
 * the first one, again and again.
 */
static void raise_bound(const struct map *m, uint64_t root)
{
	uint64_t up = above_leaves(m, root), leaf = child(m, up, 1);
	uint64_t last = load64(at(m, item_off(m, leaf, get16(node(m, leaf)->nr) - 1u)));

	assert(get16(node(m, leaf)->nr) > 1);
	put_num(m, item_off(m, up, 1), last + 1, 8);
	seal(m, blk_off(up));
}

static void late_names(const struct map *m) { raise_bound(m, tree_of(m, "big")); }
static void late_extents(const struct map *m) { raise_bound(m, tree_of(m, "deep")); }
static void late_attrs(const struct map *m)
{
	raise_bound(m, get64(inode(m, "deepattrs")->xattr));
}

/* A key with no number behind it: "go on behind it" is "from the start". */
static void last_key(const struct map *m, uint64_t blk)
{
	while (node(m, blk)->level)
		blk = child(m, blk, get16(node(m, blk)->nr) - 1u);
	put_num(m, item_off(m, blk, get16(node(m, blk)->nr) - 1u), UINT64_MAX, 8);
	seal(m, blk_off(blk));
}

static void endless_names(const struct map *m) { last_key(m, tree_of(m, "big")); }
static void endless_attrs(const struct map *m)
{
	last_key(m, get64(inode(m, "attrs")->xattr));
}

/* So many removed bytes that "used" is nearly 4 GiB, and anything fits. */
static void miscounted_leaves(const struct map *m)
{
	uint64_t up = above_leaves(m, tree_of(m, "big")), blk;
	const struct pmemfs_node *n;
	unsigned i, dead;

	for (i = 0; i < get16(node(m, up)->nr); i++) {
		blk = child(m, up, i);
		n = node(m, blk);
		dead = PMEMFS_BLOCK_SIZE - get16(n->heap) + 4u * get16(n->nr) + 12;
		put_num(m, blk_off(blk) + offsetof(struct pmemfs_node, dead), dead, 2);
		seal(m, blk_off(blk));
	}
}

static void fill(struct fs *fs, uint64_t dir)
{
	struct op_ctx c = { .fs = fs, .pid = 1 };
	char name[200] = "n";
	struct op_entry e;

	memset(name + 1, 'x', sizeof(name) - 1);
	for (unsigned i = 0; i < 80; i++) {
		name[0] = (char)('0' + i);
		if (!op_mknod(&c, dir, name, sizeof(name), S_IFREG | 0600, 0, &e))
			op_forget(fs, e.nodeid, 1);
	}
}

static void fill_dir(const struct map *m, struct fs *fs) { fill(fs, node_id_of(m, "dir")); }
static void fill_big(const struct map *m, struct fs *fs) { fill(fs, node_id_of(m, "big")); }

/* One item in two slots, of lengths that add up to more than a node. */
static void long_items(const struct map *m)
{
	uint64_t blk = child(m, above_leaves(m, tree_of(m, "big")), 0), off = blk_off(blk);
	struct pmemfs_node n = *node(m, blk);
	unsigned i, nr = 5, len = 1320;

	memset((uint8_t *)&n + 2000, 0, sizeof(n) - 2000);
	for (i = 0; i < nr; i++) {
		n.slot[i].off = put16((uint16_t)(2000 + 8 * i));
		n.slot[i].len = put16((uint16_t)len);
		save64((uint8_t *)&n + 2000 + 8 * i, (i + 1) << 12);
	}
	n.nr = put16((uint16_t)nr);
	n.heap = put16(2000);
	n.dead = put16(0);
	put(m, off, &n, sizeof(n));
	seal(m, off);
}

static void set_attrs(struct fs *fs, uint64_t n)
{
	static const uint8_t val[500];
	struct op_ctx c = { .fs = fs, .pid = 1 };

	for (unsigned i = 0; i < 8; i++) {
		char name[] = "user.0";

		name[5] = (char)('0' + i);
		op_setxattr(&c, n, name, val, sizeof(val), 0);
	}
}

/* A child twice in its parent: it is joined with its neighbour, itself. */
static void twin_children(const struct map *m)
{
	uint64_t up = above_leaves(m, tree_of(m, "deep"));

	put_num(m, item_off(m, up, 1) + 8, child(m, up, 0), 8);
	seal(m, blk_off(up));
}

static void cut_deep(const struct map *m, struct fs *fs)
{
	struct op_setattr in = { .valid = OP_SET_SIZE, .size = 0 };
	struct op_ctx c = { .fs = fs, .pid = 1 };
	struct op_attr out;

	op_setattr(&c, node_id_of(m, "deep"), &in, &out);
}

/* ---- space ------------------------------------------------------------- */

/* Two extents of one file are one block, which is then freed twice at once. */
static void one_block_twice(const struct map *m)
{
	uint64_t where = get64(inode(m, "inline4")->root.extent[0].where);

	SET(m, "inline4", root.extent[1].where, where);
}

/* The same of two files. */
static void one_block_for_two(const struct map *m)
{
	uint64_t where = get64(inode(m, "inline4")->root.extent[0].where);

	SET(m, "hard", root.extent[0].where, where);
}

/* Extents that go backwards: a hole of no length between them, for ever. */
static void backward_extents(const struct map *m)
{
	SET(m, "inline4", root.extent[0].blk, 7);
	SET(m, "inline4", root.extent[1].blk, 5);
}

static void too_many_extents(const struct map *m) { SET(m, "inline4", nr_inline, 200); }

static void extents_without_root(const struct map *m)
{
	SET(m, "inline4", root_kind, PMEMFS_ROOT_NONE);
	SET(m, "inline4", nr_inline, 255);
}

/* Only blocks behind the end of the pool are free. */
static void free_behind_the_end(const struct map *m)
{
	uint8_t map[PMEMFS_BLOCK_SIZE] = { 0 };

	memset(map, 0xff, m->s->geo.nr_blocks / 8);
	put(m, blk_off(m->s->geo.bitmap_blk), map, sizeof(map));
	seal(m, blk_off(m->s->geo.bitmap_blk));
}

/* Only metadata are. */
static void free_metadata(const struct map *m)
{
	uint8_t map[PMEMFS_BLOCK_SIZE];

	memset(map, 0xff, sizeof(map));
	memset(map, 0, m->s->geo.data_blk / 8);
	put(m, blk_off(m->s->geo.bitmap_blk), map, sizeof(map));
	seal(m, blk_off(m->s->geo.bitmap_blk));
}

static void set_totals(const struct map *m, size_t field, uint64_t v)
{
	for (unsigned i = 0; i < 2; i++) {
		put_num(m, blk_off(PMEMFS_BLK_SLOT0 + i) + field, v, 8);
		seal(m, blk_off(PMEMFS_BLK_SLOT0 + i));
	}
}

/* More free blocks than numbers can add up. */
static void huge_totals(const struct map *m)
{
	set_totals(m, offsetof(struct pmemfs_slot, blocks_free), 1ull << 63);
}

/* The next number is 0. */
static void last_number(const struct map *m)
{
	set_totals(m, offsetof(struct pmemfs_slot, watermark), UINT64_MAX);
}

/* ---- a file over something else ----------------------------------------- */

static void map_over(const struct map *m, uint64_t blk)
{
	SET(m, "hard", root.extent[0].where, blk | 1ull << PMEMFS_EXT_BLK_BITS);
}

/* Over a tree node that has been checked before the file is written. */
static void file_over_names(const struct map *m)
{
	map_over(m, child(m, above_leaves(m, tree_of(m, "big")), 0));
}

static void file_over_attrs(const struct map *m)
{
	map_over(m, get64(inode(m, "attrs")->xattr));
}

/* Over an inode that is in use meanwhile. */
static void file_over_table(const struct map *m)
{
	map_over(m, off_blk(slot_of(m, "inline4")));
}

static void write_over(struct fs *fs, uint64_t n, uint64_t pos, int byte, size_t len)
{
	struct op_ctx c = { .fs = fs, .pid = 1 };
	uint8_t bytes[PMEMFS_BLOCK_SIZE];
	struct payload p;
	size_t done;

	memset(bytes, byte, sizeof(bytes));
	p = payload_mem(bytes, len);
	op_write(&c, n, pos, &p, 0, &done);
}

/* Slots that point out of their node. */
static void spoil_node(const struct map *m, struct fs *fs)
{
	uint64_t hard = node_id_of(m, "hard"), big = node_id_of(m, "big");
	uint64_t attrs = node_id_of(m, "attrs");
	struct survey_result res;

	for (int byte = 0; byte < 256; byte += 51) {
		write_over(fs, hard, PMEMFS_NODE_HEAD, byte, 400);
		survey_check(NULL, fs, &res);
		fill(fs, big);
		set_attrs(fs, attrs);
	}
}

/* An inode that is open, and has 200 extents in a root of four. */
static void spoil_table(const struct map *m, struct fs *fs)
{
	uint64_t n = node_id_of(m, "inline4"), in = slot_of(m, "inline4") % PMEMFS_BLOCK_SIZE;
	static const uint8_t bytes[100];
	struct op_ctx c = { .fs = fs, .pid = 1 };
	struct payload p = payload_mem(bytes, sizeof(bytes));
	size_t done;

	op_open(&c, n, 0);
	write_over(fs, node_id_of(m, "hard"),
		   in + offsetof(struct pmemfs_inode, nr_inline), 200, 1);
	op_write(&c, n, 9 * PMEMFS_BLOCK_SIZE, &p, 0, &done);
	op_fallocate(&c, n, 0, 8 * PMEMFS_BLOCK_SIZE, 0);
	op_unlink(&c, PMEMFS_ROOT_INO, "inline4", 7);
	op_release(fs, n);
}

/* ---- directories -------------------------------------------------------- */

/* The name in `dir` leads to the inode of another. */
static void point_at(const struct map *m, const char *dir, uint64_t ino)
{
	uint64_t blk = tree_of(m, dir);

	put_num(m, item_off(m, blk, 0) + 8, ino | (uint64_t)(S_IFDIR >> 12) << 56, 8);
	seal(m, blk_off(blk));
}

/* A directory that is in itself: its lock is taken twice. */
static void dir_in_itself(const struct map *m)
{
	point_at(m, "b", ino_of(m, "b"));
	SET(m, "b", parent, ino_of(m, "b"));
}

static void remove_in_itself(const struct map *m, struct fs *fs)
{
	struct op_ctx c = { .fs = fs, .pid = 1 };
	uint64_t b = node_id_of(m, "b");
	struct op_entry e;

	op_open(&c, b, 0);		/* the same lock all the time */
	op_rmdir(&c, b, "b", 1);
	op_unlink(&c, b, "b", 1);
	op_rename(&c, b, "b", 1, PMEMFS_ROOT_INO, "x", 1, 0);
	if (!op_lookup(&c, b, "b", 1, &e))
		op_forget(fs, e.nodeid, 1);
	if (!op_lookup(&c, b, "..", 2, &e))
		op_forget(fs, e.nodeid, 1);
	op_release(fs, b);
}

/* Parents in a circle, and a count of inodes that would let a climber climb
 * for a thousand years. */
static void parents_in_a_circle(const struct map *m)
{
	SET(m, "b", parent, ino_of(m, "deepdir"));
	SET(m, "deepdir", parent, ino_of(m, "b"));
	set_totals(m, offsetof(struct pmemfs_slot, inodes_used), PMEMFS_MAX_INO / 2);
}

static void move_into_circle(const struct map *m, struct fs *fs)
{
	struct op_ctx c = { .fs = fs, .pid = 1 };

	op_rename(&c, PMEMFS_ROOT_INO, "empty", 5, node_id_of(m, "deepdir"), "x", 1, 0);
	op_rename(&c, node_id_of(m, "deepdir"), "name0", 5, PMEMFS_ROOT_INO, "y", 1, 0);
}

/* ---- orphans ------------------------------------------------------------ */

/* A list that bites its tail, of inodes that cannot be freed. */
static void orphans_in_a_circle(const struct map *m)
{
	uint64_t first = get64(((const struct pmemfs_system *)
		at(m, blk_off(PMEMFS_BLK_SYSTEM)))->orphans[7].first), ino, off;
	const struct pmemfs_inode *di;

	for (ino = first; ino; ino = get64(di->link.next)) {
		off = hand_slot(m->s, ino);
		di = at(m, off);
		put_num(m, off + offsetof(struct pmemfs_inode, nlink), 1, 4);
		seal(m, off);
		if (get64(di->link.next))
			continue;
		put_num(m, off + offsetof(struct pmemfs_inode, link.next), first, 8);
		seal(m, off + offsetof(struct pmemfs_inode, link));
		return;
	}
}

/* ---- the log ------------------------------------------------------------ */

/* Thousands of forms, each of which zeroes the whole data area. */
static void zero_bomb(const struct map *m)
{
	const struct geometry *geo = &m->s->geo;
	const struct pmemfs_record *last = at(m, m->s->last_record);
	uint64_t off = m->s->last_record + align_up(get32(last->len), PMEMFS_LINE), n, i;
	uint64_t in = (off - blk_off(geo->lanes_blk)) % (geo->lane_size / 2);
	struct pmemfs_record *rec = calloc(1, geo->lane_size / 2);
	struct pmemfs_form *f = (struct pmemfs_form *)(rec + 1);

	assert(rec);
	n = (geo->lane_size / 2 - in - sizeof(*rec)) / sizeof(*f) - 4;
	for (i = 0; i < n; i++) {
		f[i].off = put64(blk_off(geo->data_blk));
		f[i].len = put32((uint32_t)blk_off(geo->nr_blocks - 1 - geo->data_blk));
		f[i].kind = put16(PMEMFS_FORM_ZERO);
	}
	rec->len = put32((uint32_t)(sizeof(*rec) + n * sizeof(*f)));
	rec->nr_forms = put16((uint16_t)n);
	rec->seq = put64(get64(last->seq) + 1);
	rec->floor = put64(get64(last->seq));
	rec->tag = put64(hand_tag(m->s, off));
	rec->crc = put32(crc32c((uint32_t)get64(rec->tag), (const uint8_t *)rec + 4,
				get32(rec->len) - 4));
	put(m, off, rec, get32(rec->len));
	free(rec);
}

/* ---- all of them -------------------------------------------------------- */

const struct recipe recipes[] = {
	{ "names that come late", late_names, NULL },
	{ "extents that come late", late_extents, cut_deep },
	{ "attributes that come late", late_attrs, NULL },
	{ "names without end", endless_names, NULL },
	{ "attributes without end", endless_attrs, NULL },
	{ "leaves that miscount", miscounted_leaves, fill_big },
	{ "items longer than their node", long_items, fill_big },
	{ "a child twice in its parent", twin_children, cut_deep },
	{ "a block twice in a file", one_block_twice, NULL },
	{ "a block in two files", one_block_for_two, NULL },
	{ "extents backward", backward_extents, NULL },
	{ "too many extents", too_many_extents, NULL },
	{ "extents without a root", extents_without_root, NULL },
	{ "free behind the end", free_behind_the_end, fill_dir },
	{ "free metadata", free_metadata, fill_dir },
	{ "huge totals", huge_totals, NULL },
	{ "the last number", last_number, NULL },
	{ "a file over a node", file_over_names, spoil_node },
	{ "a file over attributes", file_over_attrs, spoil_node },
	{ "a file over the inode table", file_over_table, spoil_table },
	{ "a directory in itself", dir_in_itself, remove_in_itself },
	{ "parents in a circle", parents_in_a_circle, move_into_circle },
	{ "orphans in a circle", orphans_in_a_circle, NULL },
	{ "a record that zeroes everything, often", zero_bomb, NULL },
};
const unsigned nr_recipes = ARRAY_SIZE(recipes);
