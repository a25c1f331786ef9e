/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_table.c - the inode table: where it is, and its chunks
 *
 * Where the table's own inode or a node of its tree is damaged, what is left
 * of it is believed as far as chunk headers bear it out, and the rest of the
 * chunks is looked for in the whole data area: a header knows its number and
 * is sealed with its place. Only then are holes filled with empty chunks. A
 * chunk found that way is taken to lie in one piece, as nearly all do; blocks
 * of it that do not look like inodes are not used.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "meta/chunk.h"
#include "meta/repair_int.h"

#define CHUNK_BYTES	((uint64_t)PMEMFS_CHUNK_BLOCKS * PMEMFS_BLOCK_SIZE)
#define LEAF_ITEMS	200u		/* of 20 bytes */

/* The table block by block, while it is put together again. 0: a hole. */
struct tmap { uint64_t *blk, nr, room; };

/* ---- pieces --------------------------------------------------------------- */

static void add_piece(struct repair *r, uint64_t pos, uint64_t blk, uint64_t len)
{
	if (!pieces_add(&r->pieces, pos, blk, len))
		r->nomem = true;
}

uint64_t repair_slot_off(const struct repair *r, uint64_t ino)
{
	return pieces_slot_off(&r->pieces, ino);
}

const struct pmemfs_inode *repair_inode_at(const struct repair *r, uint64_t off)
{
	return pm_at(r->pm, off, sizeof(struct pmemfs_inode));
}

static enum ritem table_item(struct rwalk *w, uint64_t pos, uint8_t *val, unsigned len,
			     uint64_t off)
{
	uint64_t where = len == 8 ? load64(val) : 0;
	uint64_t blk = ext_blk(where);
	uint64_t n = ext_len(where);
	const char *bad = repair_extent_bad(w->r, pos, where);

	if (!bad && pos + n > w->r->geo->nr_blocks)
		bad = "is behind the largest table";
	if (!bad && pos < w->end)
		bad = "overlaps the one before it";
	if (!bad && !repair_unowned(w->r, blk, n))
		bad = "has blocks of somebody else";
	if (bad || (where & PMEMFS_EXT_FLAGS)) {
		repair_tell(w->r, PROBLEM_EXTENT_BAD, (struct rplace){ .off = off },
			    "extent %llu of the inode table %s", (unsigned long long)pos,
			    bad ? bad : "has flags");
		w->dropped = true;
		return ITEM_KEEP;	/* all of them will be written anew */
	}
	w->end = pos + n;
	w->r->table_blocks += n;
	repair_own(w->r, blk, n, true);
	add_piece(w->r, pos, blk, n);
	return ITEM_KEEP;
}

/* false: some of it was no use. */
static bool read_pieces(struct repair *r, const struct pmemfs_inode *di, uint64_t off)
{
	struct rwalk w;
	uint8_t val[8];
	unsigned i;

	repair_walk_init(&w, r, 0);
	w.tree = PMEMFS_TREE_EXTENT;
	w.claim = true;
	w.fn = table_item;
	r->table_blocks = 0;
	if (di->root_kind == PMEMFS_ROOT_TREE)
		repair_walk(&w, get64(di->root.tree));
	for (i = 0; di->root_kind == PMEMFS_ROOT_INLINE && i < di->nr_inline &&
	     i < PMEMFS_ROOT_EXTENTS; i++) {
		save64(val, get64(di->root.extent[i].where));
		table_item(&w, get64(di->root.extent[i].blk), val, 8,
			   off + offsetof(struct pmemfs_inode, root.extent[i]));
	}
	r->table_blocks += w.nodes;
	return !w.dropped;
}

/* ---- is it whole? ----------------------------------------------------------- */

static const char *table_bad(const struct repair *r, const struct pmemfs_inode *di,
			     uint64_t off)
{
	uint64_t size = get64(di->size);

	if (get32(di->crc) != seal_crc(di, PMEMFS_INODE_SEALED, off))
		return "has a wrong checksum";
	if (!S_ISREG(get32(di->mode)))
		return "is not a file";
	if (!size || size % CHUNK_BYTES || size > blk_off(r->geo->nr_blocks) ||
	    size / PMEMFS_INODE_SIZE > PMEMFS_MAX_INO + 1)
		return "has an impossible size";
	if (get32(di->mode) >> 16 || get32(di->gen) > PMEMFS_MAX_GEN ||
	    get32(di->flags) & ~PMEMFS_FL_ALL || get16(di->zero0) ||
	    get32(di->nlink) > PMEMFS_LINK_MAX || get32(di->rdev) ||
	    get64(di->parent) > PMEMFS_MAX_INO || get64(di->xattr))
		return "has a field out of range";
	if (get32(di->atime_ns) >= 1000000000 || get32(di->mtime_ns) >= 1000000000 ||
	    get32(di->ctime_ns) >= 1000000000 || get32(di->btime_ns) >= 1000000000)
		return "has an impossible time";
	if (di->root_kind != PMEMFS_ROOT_TREE &&
	    (di->root_kind != PMEMFS_ROOT_INLINE || di->nr_inline > PMEMFS_ROOT_EXTENTS))
		return "has no extents";
	if (di->root_kind == PMEMFS_ROOT_TREE && di->nr_inline)
		return "has a tree and extents";
	return NULL;
}

static bool covers(const struct repair *r, uint64_t blocks)
{
	uint64_t pos = 0;
	size_t i;

	for (i = 0; i < r->pieces.nr && r->pieces.at[i].pos == pos; i++)
		pos += r->pieces.at[i].len;
	return pos == blocks && i == r->pieces.nr;
}

/* ---- put it together again ---------------------------------------------------- */

static void tmap_put(struct repair *r, struct tmap *t, uint64_t pos, uint64_t blk)
{
	uint64_t room = max64(t->room, 256), *grown;

	while (room <= pos)
		room *= 2;
	if (room != t->room) {
		grown = realloc(t->blk, room * sizeof(*grown));
		if (!grown) {
			r->nomem = true;
			return;
		}
		memset(grown + t->room, 0, (room - t->room) * sizeof(*grown));
		t->blk = grown;
		t->room = room;
	}
	t->blk[pos] = blk;
	t->nr = max64(t->nr, pos + 1);
}

/* Is a chunk header at blk, and of which chunk? strict: with its checksum. */
static bool is_head(const struct repair *r, uint64_t blk, bool strict, uint64_t *c)
{
	const struct pmemfs_chunk *h = pm_at(r->pm, blk_off(blk), sizeof(*h));
	uint64_t first = get64(h->first);

	*c = first / PMEMFS_CHUNK_INODES;
	return get32(h->magic) == PMEMFS_CHUNK_MAGIC && first % PMEMFS_CHUNK_INODES == 0 &&
	       *c < r->geo->nr_blocks / PMEMFS_CHUNK_BLOCKS &&
	       (!strict || get32(h->crc) == chunk_crc(h, blk_off(blk)));
}

/* Every slot of the block is empty or carries a seal. skip: of a header. */
static bool holds_inodes(const struct repair *r, uint64_t blk, unsigned skip)
{
	const struct pmemfs_inode *di;
	uint64_t off = blk_off(blk) + skip * PMEMFS_INODE_SIZE;
	unsigned i, bad = 0;

	for (i = skip; i < PMEMFS_INODES_PER_BLOCK; i++, off += PMEMFS_INODE_SIZE) {
		di = repair_inode_at(r, off);
		bad += !all_zero(di, PMEMFS_INODE_SEALED) &&
			get32(di->crc) != seal_crc(di, PMEMFS_INODE_SEALED, off);
	}
	return bad <= 1;		/* one may be damaged itself */
}

/* Blocks of chunk c that follow one that is known, and look like it. */
static void follow(struct repair *r, struct tmap *t, uint64_t c)
{
	uint64_t pos = c * PMEMFS_CHUNK_BLOCKS, end = pos + PMEMFS_CHUNK_BLOCKS, blk;

	while (++pos < end) {
		blk = (pos - 1 < t->nr ? t->blk[pos - 1] : 0) + 1;
		if ((pos < t->nr && t->blk[pos]) || blk == 1 || !repair_in_data(r, blk, 1) ||
		    !repair_unowned(r, blk, 1) || !repair_is_marked(r, blk) ||
		    !holds_inodes(r, blk, 0))
			continue;
		tmap_put(r, t, pos, blk);
		repair_own(r, blk, 1, true);
	}
}

static void search(struct repair *r, struct tmap *t)
{
	uint64_t blk, c, end = r->geo->nr_blocks - 1;

	for (blk = r->geo->data_blk; blk < end && !repair_stopped(r); blk++) {
		/* an older pool may have left headers in free blocks */
		if (repair_is_free(r, blk) || rmap_test(&r->owned, blk) ||
		    !is_head(r, blk, true, &c) || !holds_inodes(r, blk, 1))
			continue;
		if (c * PMEMFS_CHUNK_BLOCKS < t->nr && t->blk[c * PMEMFS_CHUNK_BLOCKS])
			continue;
		tmap_put(r, t, c * PMEMFS_CHUNK_BLOCKS, blk);
		repair_own(r, blk, 1, true);
		follow(r, t, c);
	}
}

/* What the pieces say; without a seal only chunks whose header agrees. */
static void from_pieces(struct repair *r, struct tmap *t, bool sealed)
{
	const struct piece *p;
	uint64_t i, c, pos;
	size_t k;

	for (k = 0; k < r->pieces.nr; k++) {
		p = &r->pieces.at[k];
		for (i = 0; i < p->len; i++)
			tmap_put(r, t, p->pos + i, p->blk + i);
	}
	for (pos = 0; !sealed && pos < t->nr; pos++) {
		i = align_down(pos, PMEMFS_CHUNK_BLOCKS);
		if (t->blk[pos] && (!t->blk[i] || !is_head(r, t->blk[i], false, &c) ||
				    c != i / PMEMFS_CHUNK_BLOCKS)) {
			repair_disown(r, t->blk[pos], 1);
			t->blk[pos] = 0;
		}
	}
}

static uint64_t last_chunk(const struct tmap *t)
{
	uint64_t n = t->nr;

	while (n && !t->blk[n - 1])
		n--;
	return DIV_UP(n, PMEMFS_CHUNK_BLOCKS);
}

static void rebuild(struct repair *r, const struct pmemfs_inode *di, bool sealed)
{
	struct tmap t = { .nr = 0 };
	uint64_t c, pos, holes = 0;

	from_pieces(r, &t, sealed);
	for (c = 0; c < DIV_UP(t.nr, PMEMFS_CHUNK_BLOCKS); c++)
		follow(r, &t, c);
	search(r, &t);
	r->nr_chunks = last_chunk(&t);
	if (sealed)
		r->nr_chunks = max64(r->nr_chunks, get64(di->size) / CHUNK_BYTES);
	r->nr_chunks = max64(r->nr_chunks, 1);
	r->pieces.nr = 0;
	for (pos = 0; pos < r->nr_chunks * PMEMFS_CHUNK_BLOCKS; pos++) {
		if (pos < t.nr && t.blk[pos])
			add_piece(r, pos, t.blk[pos], 1);
		else
			holes++;
	}
	if (holes)
		repair_tell(r, PROBLEM_TABLE_HOLE, (struct rplace){ .off = 0 },
			    "%llu blocks of the inode table are lost", (unsigned long long)holes);
	free(t.blk);
}

void repair_table(struct repair *r)
{
	uint64_t off = blk_off(PMEMFS_BLK_SYSTEM);
	const struct pmemfs_inode *di = repair_inode_at(r, off);
	const char *bad = table_bad(r, di, off);
	bool whole;

	if (bad)
		repair_tell(r, PROBLEM_TABLE_INODE, (struct rplace){ .off = off },
			    "the inode of the inode table %s", bad);
	whole = read_pieces(r, di, off);
	r->nr_chunks = get64(di->size) / CHUNK_BYTES;
	r->table_bad = bad || !whole || !covers(r, r->nr_chunks * PMEMFS_CHUNK_BLOCKS);
	if (r->table_bad && !bad)
		repair_tell(r, PROBLEM_TABLE_HOLE, (struct rplace){ .off = off },
			    "parts of the inode table are missing");
	if (r->table_bad)
		rebuild(r, di, !bad);
	r->chunk = calloc(r->nr_chunks, sizeof(*r->chunk));
	if (!r->chunk) {
		r->nr_chunks = 0;
		r->nomem = true;
	}
}

/* ---- write it ----------------------------------------------------------------- */

/* An empty block of the table; the first of a chunk carries its header. */
static bool fill_hole(struct repair *r, uint64_t pos)
{
	uint64_t blk = repair_take(r, 1), c = pos / PMEMFS_CHUNK_BLOCKS;
	struct pmemfs_chunk h = { .magic = put32(PMEMFS_CHUNK_MAGIC), .used = { 1 } };
	unsigned i;

	if (!blk)
		return false;
	pm_zero(r->pm, blk_off(blk), PMEMFS_BLOCK_SIZE);
	if (pos % PMEMFS_CHUNK_BLOCKS == 0) {
		h.first = put64(c * PMEMFS_CHUNK_INODES);
		for (i = 1; r->chunk[c] && i < PMEMFS_CHUNK_INODES; i++)
			if (r->chunk[c][i].used)
				h.used[i / 8] |= (uint8_t)(1u << i % 8);
		repair_seal_chunk(r, blk_off(blk), &h);
	}
	add_piece(r, pos, blk, 1);
	return true;
}

/* The pieces again, with the holes filled in their places. */
static bool fill_holes(struct repair *r)
{
	struct pieces old = r->pieces;
	size_t i = 0;
	uint64_t pos, end = r->nr_chunks * PMEMFS_CHUNK_BLOCKS;
	bool ok = true;

	r->pieces = (struct pieces){ .nr = 0 };
	for (pos = 0; pos < end && ok; ) {
		if (i < old.nr && old.at[i].pos == pos) {
			add_piece(r, pos, old.at[i].blk, old.at[i].len);
			pos += old.at[i++].len;
		} else {
			ok = fill_hole(r, pos++);
		}
	}
	pieces_free(&old);
	return ok && !r->nomem;
}

static uint64_t pack(const struct piece *p)
{
	return ext_where(p->blk, p->len);
}

/* A level of the tree over nr items; replaces them by the nodes. */
static size_t build_level(struct repair *r, struct pmemfs_extent *it, size_t nr, unsigned level,
			  uint64_t *blocks)
{
	struct pmemfs_node n;
	size_t made = 0, i;
	uint64_t blk;

	for (i = 0; i < nr; i++) {
		if (i % LEAF_ITEMS == 0) {
			memset(&n, 0, sizeof(n));
			node_init(&n, PMEMFS_TREE_EXTENT, level, 0);
		}
		node_put(&n, node_nr(&n), get64(it[i].blk), &it[i].where, 8);
		if (i % LEAF_ITEMS != LEAF_ITEMS - 1 && i + 1 < nr)
			continue;
		blk = repair_take(r, 1);
		if (!blk)
			return 0;
		repair_seal(r, blk_off(blk), &n, sizeof(n));
		++*blocks;
		it[made].blk = made ? put64(node_key(&n, 0)) : put64(0);
		it[made++].where = put64(blk);
	}
	return made;
}

static bool write_extents(struct repair *r, struct pmemfs_inode *di, uint64_t *blocks)
{
	struct pmemfs_extent *it = calloc(r->pieces.nr, sizeof(*it));
	size_t nr = r->pieces.nr, i;
	unsigned level = 0;

	for (i = 0; it && i < nr; i++) {
		it[i].blk = put64(r->pieces.at[i].pos);
		it[i].where = put64(pack(&r->pieces.at[i]));
	}
	memset(&di->root, 0, sizeof(di->root));
	di->root_kind = PMEMFS_ROOT_INLINE;
	di->nr_inline = (uint8_t)nr;
	if (it && nr <= PMEMFS_ROOT_EXTENTS) {
		memcpy(di->root.extent, it, nr * sizeof(*it));
		free(it);
		return true;
	}
	di->root_kind = PMEMFS_ROOT_TREE;
	di->nr_inline = 0;
	while (it && nr && (nr > 1 || !level))
		nr = build_level(r, it, nr, level++, blocks);
	if (it && nr)
		di->root.tree = it[0].where;
	free(it);
	return it && nr;
}

static void table_size(struct repair *r, uint64_t off)
{
	struct pmemfs_inode di = *repair_inode_at(r, off);

	if (get64(di.blocks) == r->table_blocks)
		return;
	repair_tell(r, PROBLEM_SIZE_BLOCKS, (struct rplace){ .off = off },
		    "the inode table holds %llu blocks, its inode says %llu",
		    (unsigned long long)r->table_blocks, (unsigned long long)get64(di.blocks));
	di.blocks = put64(r->table_blocks);
	repair_seal(r, off, &di, PMEMFS_INODE_SEALED);
}

/* Nothing in it but what is needed: nobody sees this inode. */
void repair_table_finish(struct repair *r)
{
	struct pmemfs_inode di = { .mode = put32(S_IFREG | 0600), .nlink = put32(1) };
	uint64_t off = blk_off(PMEMFS_BLK_SYSTEM), blocks = r->nr_chunks * PMEMFS_CHUNK_BLOCKS;
	const struct pmemfs_inode *was = repair_inode_at(r, off);
	uint64_t now = r->geo->mkfs_time;

	if (!r->table_bad) {
		table_size(r, off);
		return;
	}
	if (!fill_holes(r) || !write_extents(r, &di, &blocks)) {
		repair_tell(r, PROBLEM_UNKNOWN, (struct rplace){ .off = off },
			    "there is no space to put the inode table together");
		return;
	}
	di.size = put64(r->nr_chunks * CHUNK_BYTES);
	di.blocks = put64(blocks);
	di.atime = di.mtime = di.ctime = di.btime = put64(now);
	di.version = put64(get64(was->version) + 1);
	repair_seal(r, off, &di, PMEMFS_INODE_SEALED);
}

/* ---- chunks -------------------------------------------------------------------- */

void repair_seal_chunk(struct repair *r, uint64_t off, struct pmemfs_chunk *h)
{
	unsigned i, used = 0;

	for (i = 0; i < sizeof(h->used); i++)
		used += (unsigned)__builtin_popcount(h->used[i]);
	h->free = put32(PMEMFS_CHUNK_INODES - used);
	h->crc = put32(chunk_crc(h, off));
	if (memcmp(h, pm_at(r->pm, off, sizeof(*h)), sizeof(*h)))
		pm_write(r->pm, off, h, sizeof(*h));
}

void repair_mark_slot(struct repair *r, uint64_t ino, bool used)
{
	uint64_t off = repair_slot_off(r, align_down(ino, PMEMFS_CHUNK_INODES));
	unsigned i = ino % PMEMFS_CHUNK_INODES;
	struct pmemfs_chunk h = { .used = { 0 } };

	if (off)
		memcpy(&h, pm_at(r->pm, off, sizeof(h)), sizeof(h));
	if (off && (h.used[i / 8] >> i % 8 & 1) == used)
		return;
	r->nr_used += used ? 1 : -1ull;
	if (!off)
		return;			/* its header will be made anew */
	if (used)
		h.used[i / 8] |= (uint8_t)(1u << i % 8);
	else
		h.used[i / 8] &= (uint8_t)~(1u << i % 8);
	repair_seal_chunk(r, off, &h);
}

static void one_chunk(struct repair *r, uint64_t c)
{
	uint64_t first = c * PMEMFS_CHUNK_INODES, off = repair_slot_off(r, first);
	struct pmemfs_chunk h = { .used = { 0 } };
	struct pmemfs_chunk will = { .magic = put32(PMEMFS_CHUNK_MAGIC), .used = { 1 } };
	bool believe = false;
	const char *bad = NULL;
	unsigned i;

	r->chunk[c] = calloc(PMEMFS_CHUNK_INODES, sizeof(struct rnode));
	if (!r->chunk[c]) {
		r->nomem = true;
		return;
	}
	if (off) {
		memcpy(&h, pm_at(r->pm, off, sizeof(h)), sizeof(h));
		bad = chunk_bad(&h, first, off, &believe);
	}
	if (bad)
		repair_tell(r, PROBLEM_CHUNK_HEAD, (struct rplace){ first, off },
			    "chunk header %s", bad);
	for (i = 1; i < PMEMFS_CHUNK_INODES; i++) {
		bool marked = h.used[i / 8] >> i % 8 & 1;

		r->was_used += r->round == 1 && marked;
		if (!repair_slot_off(r, first + i) ||
		    !repair_slot(r, first + i, marked, believe))
			continue;
		will.used[i / 8] |= (uint8_t)(1u << i % 8);
		r->nr_used++;
	}
	will.first = put64(first);
	if (off)
		repair_seal_chunk(r, off, &will);
}

void repair_chunks(struct repair *r)
{
	uint64_t c;

	r->nr_used = 0;
	for (c = 0; c < r->nr_chunks && !repair_stopped(r); c++)
		one_chunk(r, c);
}
