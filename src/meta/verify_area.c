/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify_area.c - what lies outside the data: superblocks, slots, bad blocks
 */
#include "base/bytes.h"
#include "base/crc32c.h"
#include "meta/badlist.h"
#include "meta/redo.h"
#include "meta/super.h"
#include "meta/verify_int.h"

static void check_supers(struct verify *v)
{
	const char *other_bad;
	struct geometry geo;
	int which;

	if (super_read(v->pm, &geo, &which, &other_bad)) {
		verify_problem(v, VERIFY_SUPER, (struct vplace){ 0 },
			       "no superblock can be read");
		return;
	}
	if (other_bad)
		verify_problem(v, VERIFY_SUPER, (struct vplace){
			.off = which ? 0 : blk_off(geo.nr_blocks - 1) },
			"the %s superblock is bad: %s",
			which ? "primary" : "replica", other_bad);
	if (!all_zero(pm_at(v->pm, blk_off(PMEMFS_BLK_BADBLOCKS + 1),
				   blk_off(PMEMFS_BLK_LANES - PMEMFS_BLK_BADBLOCKS - 1)),
			     blk_off(PMEMFS_BLK_LANES - PMEMFS_BLK_BADBLOCKS - 1)))
		verify_problem(v, VERIFY_SUPER, (struct vplace){
			.off = blk_off(PMEMFS_BLK_BADBLOCKS + 1) },
			"reserved blocks are not zero");
}

static const char *check_slot(const struct pmemfs_slot *s, uint64_t off)
{
	if (get32(s->magic) != PMEMFS_SLOT_MAGIC)
		return "is not one";
	if (get32(s->crc) != seal_crc(s, sizeof(*s), off))
		return "has a wrong checksum";
	if (!slot_numbers_ok(s))
		return "has impossible numbers";
	if (get32(s->flags) & ~(PMEMFS_SLOT_CLEAN | PMEMFS_SLOT_ERROR))
		return "has unknown flags";
	if (!all_zero(s->zero, sizeof(s->zero)))
		return "has reserved bytes set";
	return NULL;
}

const struct pmemfs_slot *verify_slots(struct verify *v)
{
	static const unsigned blk[2] = { PMEMFS_BLK_SLOT0, PMEMFS_BLK_SLOT1 };
	const struct pmemfs_slot *s[2], *best = NULL;
	const char *bad;
	unsigned i;

	for (i = 0; i < 2; i++) {
		s[i] = pm_at(v->pm, blk_off(blk[i]), sizeof(*s[i]));
		bad = check_slot(s[i], blk_off(blk[i]));
		if (bad)
			verify_problem(v, VERIFY_SLOT,
				       (struct vplace){ .off = blk_off(blk[i]) },
				       "checkpoint slot %u %s", i, bad);
		else if (!best || get64(s[i]->turn) > get64(best->turn))
			best = s[i];
		else if (get64(s[i]->turn) == get64(best->turn))
			verify_problem(v, VERIFY_SLOT,
				       (struct vplace){ .off = blk_off(blk[i]) },
				       "both checkpoint slots have the same turn");
	}
	return best;
}

void verify_totals(struct verify *v, const struct pmemfs_slot *s)
{
	uint64_t off = blk_off(PMEMFS_BLK_SLOT0);

	/* replayed into DRAM only: the slots are as old as the log */
	if (!s || (v->fs->ro && v->fs->replayed))
		return;
	if (s != pm_at(v->pm, off, sizeof(*s)))
		off = blk_off(PMEMFS_BLK_SLOT1);
	if (get64(s->blocks_free) != v->res->blocks_free)
		verify_problem(v, VERIFY_SLOT, (struct vplace){ .off = off },
			       "%llu blocks are free, the checkpoint says %llu",
			       (unsigned long long)v->res->blocks_free,
			       (unsigned long long)get64(s->blocks_free));
	if (get64(s->inodes_used) != v->used_inodes)
		verify_problem(v, VERIFY_SLOT, (struct vplace){ .off = off },
			       "%llu inodes are used, the checkpoint says %llu",
			       (unsigned long long)v->used_inodes,
			       (unsigned long long)get64(s->inodes_used));
}

/* Bad blocks in the data area belong to their list, and to no file. */
static void check_badblock_list(struct verify *v)
{
	const struct pmemfs_badblocks *b;
	uint64_t blk = PMEMFS_BLK_BADBLOCKS, start, len;
	struct vplace at;
	const char *bad;
	unsigned i;

	while (blk) {
		at = (struct vplace){ .off = blk_off(blk) };
		b = pm_at(v->pm, at.off, sizeof(*b));
		bad = badlist_check(b, at.off);
		if (bad) {
			verify_problem(v, VERIFY_SUPER, at, "list of bad blocks %s", bad);
			return;
		}
		for (i = 0; i < get32(b->nr); i++) {
			start = get64(b->run[i].blk);
			len = get64(b->run[i].len);
			if (start >= v->geo->nr_blocks || !len ||
			    len > v->geo->nr_blocks - start)
				verify_problem(v, VERIFY_SUPER, at,
					       "bad blocks outside the pool");
			else if (verify_in_data(v, start, len))
				verify_own(v, start, len, at);
		}
		blk = get64(b->next);
		if (blk && !verify_in_data(v, blk, 1)) {
			verify_problem(v, VERIFY_SUPER, at,
				       "list of bad blocks leaves the data area");
			return;
		}
		if (blk && !verify_own(v, blk, 1, at))
			return;		/* a cycle, among other things */
	}
}

void verify_areas(struct verify *v)
{
	verify_own_quietly(v, 0, v->geo->data_blk);
	verify_own_quietly(v, v->geo->nr_blocks - 1, 1);
	check_supers(v);
	check_badblock_list(v);
}
