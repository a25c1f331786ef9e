/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_area.c - bad blocks, block bitmap, group descriptors, totals
 *
 * The bitmap is written from the owners, never the other way round. Until the
 * last round a bit is only ever set: what was marked stays marked, so that
 * nothing put back in between lands on blocks that may still be needed.
 */
#include "base/crc32c.h"
#include "meta/badlist.h"
#include "meta/repair_int.h"

#define WORDS	(PMEMFS_GROUP_BLOCKS / 64)

/* ---- areas ----------------------------------------------------------------- */

static void check_reserved(struct repair *r)
{
	uint64_t off = blk_off(PMEMFS_BLK_BADBLOCKS + 1);
	size_t len = blk_off(PMEMFS_BLK_LANES) - off;

	if (all_zero(pm_at(r->pm, off, len), len))
		return;
	repair_tell(r, PROBLEM_SUPER_RESERVED, (struct rplace){ .off = off },
		    "reserved blocks are not zero");
	pm_zero(r->pm, off, len);
}

/* The runs of one block of the list; true: some were taken off. */
static bool bad_runs(struct repair *r, struct pmemfs_badblocks *b, struct rplace at)
{
	unsigned i, kept = 0, nr = get32(b->nr);
	uint64_t blk, len;

	for (i = 0; i < nr; i++) {
		blk = get64(b->run[i].blk);
		len = get64(b->run[i].len);
		if (blk >= r->geo->nr_blocks || !len || len > r->geo->nr_blocks - blk ||
		    (repair_in_data(r, blk, len) && !repair_unowned(r, blk, len))) {
			repair_tell(r, PROBLEM_BAD_RUN, at,
				    "bad blocks %llu+%llu are not in the pool, or there twice",
				    (unsigned long long)blk, (unsigned long long)len);
			continue;
		}
		if (repair_in_data(r, blk, len))
			repair_own(r, blk, len, false);
		b->run[kept++] = b->run[i];
	}
	memset(&b->run[kept], 0, (nr - kept) * sizeof(b->run[0]));
	b->nr = put32(kept);
	return kept != nr;
}

/* May the list go on at blk? */
static bool next_ok(const struct repair *r, uint64_t blk)
{
	const uint64_t off = blk_off(blk);

	return !blk || (repair_in_data(r, blk, 1) && repair_unowned(r, blk, 1) &&
			!badlist_check(pm_at(r->pm, off, PMEMFS_BLOCK_SIZE), off));
}

static void check_bad_blocks(struct repair *r)
{
	struct rplace at = { .off = blk_off(PMEMFS_BLK_BADBLOCKS) };
	struct pmemfs_badblocks b;
	const char *bad;
	bool changed;

	do {
		memcpy(&b, pm_at(r->pm, at.off, sizeof(b)), sizeof(b));
		bad = badlist_check(&b, at.off);
		if (bad) {			/* only the first: see next_ok() */
			repair_tell(r, PROBLEM_BAD_LIST, at, "the list of bad blocks %s", bad);
			memset(&b, 0, sizeof(b));
			b.magic = put32(PMEMFS_BAD_MAGIC);
		}
		changed = bad_runs(r, &b, at) || bad;
		if (!next_ok(r, get64(b.next))) {
			repair_tell(r, PROBLEM_BAD_LIST, at,
				    "the list of bad blocks goes on at block %llu, and cannot",
				    (unsigned long long)get64(b.next));
			b.next = put64(0);
			changed = true;
		}
		if (changed)
			repair_seal(r, at.off, &b, sizeof(b));
		at.off = blk_off(get64(b.next));
		if (at.off)
			repair_own(r, get64(b.next), 1, true);
	} while (at.off);
}

void repair_areas(struct repair *r)
{
	uint64_t end = (uint64_t)r->geo->nr_groups * PMEMFS_GROUP_BLOCKS;

	repair_own(r, 0, r->geo->data_blk, true);
	/* the replica, and what lies behind the end of the pool */
	repair_own(r, r->geo->nr_blocks - 1, end - r->geo->nr_blocks + 1, true);
	check_reserved(r);
	check_bad_blocks(r);
}

/* ---- the bitmap ------------------------------------------------------------- */

static uint64_t bitmap_off(const struct repair *r, uint32_t g)
{
	return blk_off(r->geo->bitmap_blk + g);
}

static const uint8_t *bitmap_at(const struct repair *r, uint32_t g)
{
	return pm_at(r->pm, bitmap_off(r, g), PMEMFS_BLOCK_SIZE);
}

bool repair_is_marked(const struct repair *r, uint64_t blk)
{
	uint32_t bit = blk % PMEMFS_GROUP_BLOCKS;

	return bitmap_at(r, (uint32_t)(blk / PMEMFS_GROUP_BLOCKS))[bit / 8] >> bit % 8 & 1;
}

bool repair_is_trusted(const struct repair *r, uint64_t blk)
{
	uint64_t g = blk / PMEMFS_GROUP_BLOCKS;

	return !(r->distrust[g / 64] >> g % 64 & 1);
}

bool repair_is_free(const struct repair *r, uint64_t blk)
{
	return repair_is_trusted(r, blk) && !repair_is_marked(r, blk);
}

static uint32_t count_clear(const uint8_t *map)
{
	uint32_t i, n = 0;

	for (i = 0; i < PMEMFS_BLOCK_SIZE; i += 8)
		n += (uint32_t)__builtin_popcountll(~load64(map + i));
	return n;
}

static uint64_t desc_off(const struct repair *r, uint32_t g)
{
	return blk_off(r->geo->groups_blk) + (uint64_t)g * sizeof(struct pmemfs_group);
}

void repair_groups_look(struct repair *r)
{
	const struct pmemfs_group *d;
	const uint8_t *map;
	bool sealed, same;
	uint32_t g, nr_free;

	for (g = 0; g < r->geo->nr_groups; g++) {
		d = pm_at(r->pm, desc_off(r, g), sizeof(*d));
		map = bitmap_at(r, g);
		nr_free = count_clear(map);
		r->was_free += nr_free;
		sealed = get32(d->crc) == seal_crc(d, sizeof(*d), desc_off(r, g));
		same = get32(d->bitmap_crc) == crc32c(0, map, PMEMFS_BLOCK_SIZE);
		if (!sealed || !same)
			r->distrust[g / 64] |= 1ull << g % 64;
		if (!sealed || !same || get32(d->free) != nr_free || get32(d->zero))
			repair_tell(r, PROBLEM_GROUP_DESC, (struct rplace){ .off = desc_off(r, g) },
				    "descriptor of group %u %s", g,
				    !sealed ? "has a wrong checksum" :
				    !same ? "does not fit its bitmap" :
				    get32(d->zero) ? "has reserved bytes set" :
				    "has a wrong number of free blocks");
	}
}

static void tell_run(struct repair *r, uint64_t blk, uint64_t len, bool marked)
{
	struct rplace at = { .off = blk_off(blk) };

	if (marked)
		repair_tell(r, PROBLEM_LEAK, at,
			    "blocks %llu+%llu are marked used and owned by nobody",
			    (unsigned long long)blk, (unsigned long long)len);
	else
		repair_tell(r, PROBLEM_UNMARKED, at, "blocks %llu+%llu are in use and marked free",
			    (unsigned long long)blk, (unsigned long long)len);
}

/* One line for each run of blocks that change sides. */
static void tell_bits(struct repair *r, uint32_t g, const uint8_t *was, const uint64_t *will)
{
	uint64_t base = (uint64_t)g * PMEMFS_GROUP_BLOCKS;
	uint32_t bit, start = 0;
	int run = -1, state;		/* -1: the same, else: was marked */

	for (bit = 0; bit <= PMEMFS_GROUP_BLOCKS; bit++) {
		state = -1;
		if (bit < PMEMFS_GROUP_BLOCKS &&
		    (was[bit / 8] >> bit % 8 & 1) != (int)(will[bit / 64] >> bit % 64 & 1))
			state = was[bit / 8] >> bit % 8 & 1;
		if (state == run)
			continue;
		if (run >= 0)
			tell_run(r, base + start, bit - start, run);
		run = state;
		start = bit;
	}
}

/* The bitmap block as it should be; false: as it is. */
static bool wanted(struct repair *r, uint32_t g, const uint8_t *was, uint64_t *will)
{
	const uint64_t *owned = r->owned.group[g];
	bool differs = false;
	uint32_t w;

	for (w = 0; w < WORDS; w++) {
		will[w] = (owned ? owned[w] : 0) | (r->exact ? 0 : load64(was + w * 8));
		differs |= will[w] != load64(was + w * 8);
	}
	return differs;
}

static void one_group(struct repair *r, uint32_t g)
{
	uint64_t will[WORDS], off = bitmap_off(r, g);
	struct pmemfs_group d = { .zero = put32(0) };
	const uint8_t *was = bitmap_at(r, g);
	uint8_t bytes[PMEMFS_BLOCK_SIZE];
	uint32_t w;

	if (wanted(r, g, was, will)) {
		tell_bits(r, g, was, will);
		for (w = 0; w < WORDS; w++)
			save64(bytes + w * 8, will[w]);
		pm_write(r->pm, off, bytes, sizeof(bytes));
	}
	d.free = put32(count_clear(was));	/* of what is there now */
	d.bitmap_crc = put32(crc32c(0, was, PMEMFS_BLOCK_SIZE));
	d.crc = put32(seal_crc(&d, sizeof(d), desc_off(r, g)));
	if (memcmp(&d, pm_at(r->pm, desc_off(r, g), sizeof(d)), sizeof(d)))
		pm_write(r->pm, desc_off(r, g), &d, sizeof(d));
	r->nr_free += get32(d.free);
}

void repair_groups(struct repair *r)
{
	uint32_t g;

	r->nr_free = 0;
	for (g = 0; g < r->geo->nr_groups; g++)
		one_group(r, g);
}

/* ---- totals ------------------------------------------------------------------- */

static void tell_totals(struct repair *r)
{
	struct rplace at = { .off = blk_off(PMEMFS_BLK_SLOT0) };

	if (r->round > 1 || r->slots_made)
		return;
	if (r->st.blocks_free != r->was_free)
		repair_tell(r, PROBLEM_SLOT_TOTALS, at,
			    "%llu blocks are marked free, the checkpoint says %llu",
			    (unsigned long long)r->was_free,
			    (unsigned long long)r->st.blocks_free);
	if (r->st.inodes_used != r->was_used)
		repair_tell(r, PROBLEM_SLOT_TOTALS, at,
			    "%llu inodes are marked used, the checkpoint says %llu",
			    (unsigned long long)r->was_used,
			    (unsigned long long)r->st.inodes_used);
}

void repair_totals(struct repair *r)
{
	bool other_ok;
	int i;

	tell_totals(r);
	/* a mount of the copy may have written them since */
	if (slot_read(&r->fs, &r->st, &other_ok))
		return;			/* cannot be: repair_boot() made them */
	r->st.blocks_free = r->nr_free;
	r->st.inodes_used = r->nr_used;
	r->st.flags = 0;
	for (i = 0; i < 2; i++)
		slot_write(&r->fs, &r->st, r->st.flags, ++r->st.turn);
}

/* ---- room for the inode table --------------------------------------------------- */

/* From blk on: how far to the next try; 0: this is it. */
static uint64_t taken_ahead(const struct repair *r, uint64_t blk, uint64_t len, bool marked_too)
{
	uint64_t i;

	for (i = len; i-- > 0; )
		if (rmap_test(&r->owned, blk + i) ||
		    (!marked_too && repair_is_marked(r, blk + i)))
			return i + 1;
	return 0;
}

uint64_t repair_take(struct repair *r, uint64_t len)
{
	uint64_t end = r->geo->nr_blocks - 1, blk, ahead;
	int pass;

	for (pass = 0; pass < 2; pass++) {
		blk = pass ? r->geo->data_blk : max64(r->take_hint, r->geo->data_blk);
		for (; blk + len <= end; blk += ahead) {
			ahead = taken_ahead(r, blk, len, pass);
			if (ahead)
				continue;
			repair_own(r, blk, len, true);
			r->take_hint = pass ? 0 : blk + len;
			return blk;
		}
	}
	return 0;
}
