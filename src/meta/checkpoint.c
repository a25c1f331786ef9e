/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint.c - make the past durable in place and let the log forget it
 *
 *   C1  S, the new watermark, is below every number still being worked on
 *       (L11), so every record up to S has been applied, and its stores have
 *       left their core: the bound was cleared with release after them.
 *   C2  Every line that records in (old watermark, S] touched, and what is
 *       derived from them, is flushed and fenced before any slot says S.
 *   C3  The two slots are written in turn with a fence between (L12); lanes
 *       are recycled and quarantine is released only after both say S, so the
 *       older slot alone is always enough to recover from.
 *   C4  A checkpoint takes no operation's lock (L4).
 *
 * It reads the records back from the lanes: they cannot change, for a half is
 * recycled only when all in it is at or below the watermark.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "meta/alloc.h"
#include "meta/contend.h"
#include "meta/redo_int.h"
#include "meta/touched.h"

void slot_write(struct fs *fs, const struct redo_start *st, uint32_t flags, uint64_t turn)
{
	uint64_t off = blk_off(turn & 1 ? PMEMFS_BLK_SLOT0 : PMEMFS_BLK_SLOT1);
	struct pmemfs_slot s;

	memset(&s, 0, sizeof(s));
	s.magic = put32(PMEMFS_SLOT_MAGIC);
	s.turn = put64(turn);
	s.watermark = put64(st->watermark);
	memcpy(s.epoch, st->epoch, sizeof(s.epoch));
	s.blocks_free = put64(st->blocks_free);
	s.inodes_used = put64(st->inodes_used);
	s.flags = put32(flags);
	s.mounts = put32(st->mounts);
	s.mount_time = put64(st->mount_time);
	s.crc = put32(seal_crc(&s, sizeof(s), off));
	pm_copy(fs->pm, off, &s, sizeof(s));
}

static bool slot_valid(struct fs *fs, uint32_t blk, const struct pmemfs_slot **out)
{
	const struct pmemfs_slot *s = pm_at(fs->pm, blk_off(blk), sizeof(*s));

	*out = s;
	return get32(s->magic) == PMEMFS_SLOT_MAGIC &&
	       get32(s->crc) == seal_crc(s, sizeof(*s), blk_off(blk)) &&
	       slot_numbers_ok(s);
}

int slot_read(struct fs *fs, struct redo_start *st, bool *other_ok)
{
	const struct pmemfs_slot *a, *b, *s;
	bool ok0 = slot_valid(fs, PMEMFS_BLK_SLOT0, &a);
	bool ok1 = slot_valid(fs, PMEMFS_BLK_SLOT1, &b);

	*other_ok = ok0 && ok1;
	if (!ok0 && !ok1)
		return -EUCLEAN;
	s = !ok0 ? b : !ok1 ? a : get64(a->turn) > get64(b->turn) ? a : b;
	memset(st, 0, sizeof(*st));
	st->watermark = get64(s->watermark);
	memcpy(st->epoch, s->epoch, sizeof(st->epoch));
	st->turn = get64(s->turn);
	st->blocks_free = min64(get64(s->blocks_free), fs->geo.nr_blocks);
	st->inodes_used = min64(get64(s->inodes_used), PMEMFS_MAX_INO);
	st->flags = get32(s->flags);
	st->mounts = get32(s->mounts);
	st->mount_time = get64(s->mount_time);
	return 0;
}

struct collect {
	struct touched *t;
	uint64_t from, to;
	int err;
};

static int collect_record(void *arg, const struct pmemfs_record *rec, uint32_t lane,
			  uint64_t off)
{
	struct collect *c = arg;
	uint64_t seq = get64(rec->seq);

	(void)lane;
	(void)off;
	if (seq > c->to)
		return 1;
	if (seq > c->from)
		c->err = touched_record(c->t, rec);
	return c->err;
}

static int collect_lanes(struct redo *r, struct touched *t, uint64_t to)
{
	struct collect c = { t, r->state.watermark, to, 0 };
	uint32_t i;
	unsigned half;

	for (i = 0; i < r->nr_lanes && !c.err; i++)
		for (half = 0; half < 2 && !c.err; half++)
			redo_scan_half(r->fs, r->epoch, i, half, collect_record, &c);
	return c.err;
}

static int advance_slots(struct redo *r, bool clean)
{
	uint32_t flags = (clean ? PMEMFS_SLOT_CLEAN : 0) |
			 (r->state.flags & PMEMFS_SLOT_ERROR) |
			 (atomic_load(&r->error) ? PMEMFS_SLOT_ERROR : 0);
	int i;

	for (i = 0; i < 2; i++) {
		slot_write(r->fs, &r->state, flags, ++r->state.turn);
		if (pm_fence(r->fs->pm))	/* C3, L12: one slot, then the other */
			return -EIO;
	}
	r->state.flags = flags;
	return 0;
}

static int checkpoint_locked(struct redo *r, struct touched *t, uint64_t to, bool clean)
{
	uint64_t before = atomic_load(&r->touched);
	int err = collect_lanes(r, t, to);

	if (err)
		return err;
	touched_derive(t);
	if (pm_fence(r->fs->pm))		/* C2: in place before the slots say so */
		return -EIO;
	r->state.watermark = to;
	r->state.blocks_free += (uint64_t)t->dblocks;
	r->state.inodes_used += (uint64_t)t->dinodes;
	err = advance_slots(r, clean);
	if (err)
		return err;
	atomic_store(&r->reuse, to);
	alloc_release(r->fs, to);		/* C3 */
	atomic_fetch_sub(&r->touched, min64(before, t->bytes));
	fs_count(r->fs, COUNT_CHECKPOINTS, 1);
	return 0;
}

int redo_checkpoint(struct fs *fs, bool clean)
{
	struct redo *r = fs->redo;
	struct touched *t;
	uint64_t to;
	int err = -ENOMEM;

	if (fs->ro)
		return 0;
	if (!fs_writable(fs))
		return -EROFS;
	pthread_mutex_lock(&r->ckpt_lock);
	atomic_store_explicit(&r->full, false, memory_order_relaxed);
	to = redo_horizon(r);
	if (to == r->state.watermark && !clean) {
		pthread_mutex_unlock(&r->ckpt_lock);
		return 0;
	}
	t = malloc(sizeof(*t));
	if (t) {
		err = touched_init(t, fs);
		if (!err)
			err = checkpoint_locked(r, t, to, clean);
		touched_free(t);
		free(t);
	}
	pthread_mutex_unlock(&r->ckpt_lock);
	if (err == -EIO)
		fs_shutdown(fs, "the medium refused a checkpoint");	/* L6 */
	return err;
}
