/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover.c - after a crash, or after none: the two look the same
 *
 * Recovery never asks whether the last unmount was clean, how many CPUs
 * there are or what time it is (L13). It can be cut anywhere and started
 * again: until both slots carry the new epoch nothing it did is relied on.
 *
 *   R1  Every valid record and both slots are made durable first: a killed
 *       daemon may have left one that only the CPU's cache knows. A slot that
 *       could still tear must not be all there is while the other is written.
 *   R2  All records are checked before the first is replayed: numbers unique,
 *       none missing at or below the largest floor, none hidden behind a bad
 *       one, every form inside its bounds. Damage ends the mount with -EUCLEAN
 *       and the pool untouched. What remains unseen is damage to the newest
 *       record: it looks like one that a loss of power cut short.
 *   R3  Replay in the order of the numbers, across lanes; then everything
 *       touched and derived is flushed and fenced.
 *   R4  Both slots get the new watermark and a new secret epoch, in turn with
 *       a fence between. From then on no old record is valid any more.
 *   R5  Memory that cannot be read looks like zeros, and zeros like the end of
 *       the log: nothing is believed, and no slot written, after a fault.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/log.h"
#include "meta/apply.h"
#include "meta/redo_int.h"
#include "meta/touched.h"

struct found {
	const struct pmemfs_record *rec;
	uint64_t off;
};

struct scan {
	struct fs *fs;
	uint64_t watermark, floor;
	struct found *v;
	size_t nr, room;
	uint64_t end;			/* behind the last record of this half */
	int err;
};

static int scan_record(void *arg, const struct pmemfs_record *rec, uint32_t lane, uint64_t off)
{
	struct scan *s = arg;
	struct found *grown;

	(void)lane;
	s->end = off + align_up(get32(rec->len), PMEMFS_LINE);
	if (get64(rec->seq) <= s->watermark)
		return 0;
	if (get64(rec->seq) >= REDO_MAX_NUMBER) {
		s->floor = REDO_MAX_NUMBER;	/* which no other number reaches: damage */
		return 1;
	}
	if (s->nr == s->room) {
		s->room = s->room ? s->room * 2 : 1024;
		grown = realloc(s->v, s->room * sizeof(*grown));
		if (!grown) {
			s->err = -ENOMEM;
			return 1;
		}
		s->v = grown;
	}
	s->v[s->nr].rec = rec;
	s->v[s->nr++].off = off;
	s->floor = max64(s->floor, get64(rec->floor));
	pm_flush(s->fs->pm, off, get32(rec->len));
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = get64(((const struct found *)a)->rec->seq);
	uint64_t y = get64(((const struct found *)b)->rec->seq);

	return x < y ? -1 : x > y;
}

static int check_numbers(struct scan *s)
{
	uint64_t want = s->watermark + 1, seq;
	size_t i;

	for (i = 0; i < s->nr; i++, want++) {
		seq = get64(s->v[i].rec->seq);
		if (i && seq < want)
			return damaged(s->fs, s->v[i].off,
				       "log: number %llu occurs twice", (unsigned long long)seq);
		if (seq > want && want <= s->floor)
			return damaged(s->fs, s->v[i].off,
				       "log: record %llu is missing below the floor %llu",
				       (unsigned long long)want, (unsigned long long)s->floor);
		want = seq;
	}
	if (want <= s->floor)
		return damaged(s->fs, blk_off(s->fs->geo.lanes_blk),
			       "log: record %llu is missing below the floor %llu",
			       (unsigned long long)want, (unsigned long long)s->floor);
	return 0;
}

/* What replay may cost (L8); twice, for one of the slots may be a checkpoint behind. */
static uint64_t touched_max(const struct scan *s)
{
	return 2 * (uint64_t)REDO_TOUCHED_MAX +
	       s->fs->geo.nr_lanes * (uint64_t)RECORD_TOUCHED_MAX;
}

/* NULL, or why record i must not be replayed. *left: bytes it may touch. */
static const char *bad_record(const struct scan *s, size_t i, uint64_t *left, uint64_t *where)
{
	const char *bad = record_check(&s->fs->geo, s->v[i].rec, where);
	uint64_t n = bad ? 0 : record_touched(s->v[i].rec);

	if (n > *left)
		bad = "more than all records together may touch";
	*left -= min64(n, *left);
	return bad;
}

static int check_forms(struct scan *s)
{
	uint64_t where = 0, left = touched_max(s);
	const char *bad;
	size_t i;

	for (i = 0; i < s->nr; i++) {
		bad = bad_record(s, i, &left, &where);
		if (bad)
			return damaged(s->fs, s->v[i].off, "log: record %llu holds %s (at %llu)",
				       (unsigned long long)get64(s->v[i].rec->seq), bad,
				       (unsigned long long)where);
	}
	return 0;
}

/*
 * fsck: keep the records before the first damage, which may be replayed one
 * after the other, or none. fs->cut says how many numbers that leaves out.
 */
static void cut_at_damage(struct scan *s)
{
	uint64_t last = s->watermark, most = s->floor, seq, where, left = touched_max(s);
	size_t i;

	if (s->nr)
		most = max64(most, get64(s->v[s->nr - 1].rec->seq));
	for (i = 0; i < s->nr; i++) {
		seq = get64(s->v[i].rec->seq);
		if ((seq != last + 1 && last < s->floor) || seq == last ||
		    bad_record(s, i, &left, &where))
			break;
		last = seq;
	}
	if (i == s->nr && last >= s->floor)
		return;			/* there is none */
	if (s->fs->opt.log == FS_LOG_NONE) {
		last = s->watermark;
		i = 0;
	}
	s->fs->cut = most - last;
	s->nr = i;
	s->floor = 0;
}

static void collect_half(struct scan *s, const uint8_t epoch[16], uint32_t lane, unsigned half)
{
	const struct geometry *geo = &s->fs->geo;
	uint64_t hidden;

	s->end = blk_off(geo->lanes_blk) + (uint64_t)lane * geo->lane_size +
		 half * (geo->lane_size / 2);
	redo_scan_half(s->fs, epoch, lane, half, scan_record, s);
	hidden = redo_hidden(s->fs, epoch, lane, half, s->end, s->watermark);
	if (hidden)		/* the number of the bad one is below, and missing */
		s->floor = max64(s->floor, hidden - 1);
}

static int collect(struct scan *s, const uint8_t epoch[16])
{
	uint32_t i;

	for (i = 0; i < 2 * s->fs->geo.nr_lanes && !s->err; i++)
		collect_half(s, epoch, i / 2, i % 2);
	if (s->err)
		return s->err;
	pm_flush(s->fs->pm, blk_off(PMEMFS_BLK_SLOT0), sizeof(struct pmemfs_slot));
	pm_flush(s->fs->pm, blk_off(PMEMFS_BLK_SLOT1), sizeof(struct pmemfs_slot));
	if (pm_fence(s->fs->pm))		/* R1, L13 */
		return -EIO;
	if (s->nr)
		qsort(s->v, s->nr, sizeof(*s->v), by_number);
	if (s->fs->opt.log != FS_LOG_WHOLE)
		cut_at_damage(s);
	s->err = check_numbers(s);		/* R2 */
	return s->err ? s->err : check_forms(s);
}

/* The sums of a hostile pool may be anything; free space is a promise. */
static void add_totals(struct fs *fs, struct redo_start *st, const struct touched *t)
{
	st->blocks_free += (uint64_t)t->dblocks;
	st->inodes_used += (uint64_t)t->dinodes;
	st->blocks_free = min64(st->blocks_free, fs->geo.nr_blocks);
	st->inodes_used = min64(st->inodes_used, PMEMFS_MAX_INO);
}

static int replay(struct scan *s, struct redo_start *st)
{
	struct touched *t = malloc(sizeof(*t));
	size_t i;
	int err;

	if (!t)
		return -ENOMEM;
	err = touched_init(t, s->fs);
	for (i = 0; i < s->nr && !err; i++)
		apply_record(s->fs->pm, s->v[i].rec);
	for (i = 0; i < s->nr && !err; i++)
		err = touched_record(t, s->v[i].rec);
	if (!err) {
		touched_derive(t);
		add_totals(s->fs, st, t);
		st->watermark = get64(s->v[s->nr - 1].rec->seq);
		if (pm_fence(s->fs->pm))	/* R3, L13 */
			err = -EIO;
	}
	touched_free(t);
	free(t);
	return err;
}

static int new_epoch(struct fs *fs, struct redo_start *st)
{
	struct timespec now;
	int i;

	if (getrandom(st->epoch, sizeof(st->epoch), 0) != sizeof(st->epoch))
		return -EIO;
	fs_now(fs, &now);
	st->mounts++;
	st->mount_time = (uint64_t)now.tv_sec;
	st->flags &= ~PMEMFS_SLOT_CLEAN;
	for (i = 0; i < 2; i++) {
		slot_write(fs, st, st->flags, ++st->turn);
		if (pm_fence(fs->pm))		/* R4, L12: one slot, then the other */
			return -EIO;
	}
	return 0;
}

/* R5 */
static int unreadable(struct fs *fs, const char *what)
{
	uint64_t off = 0;

	pm_fault_count(fs->pm, &off);
	log_err("%s lies in bad memory, at pool offset %llu: unmounted, fsck.pmemfs "
		"--media clears it", what, (unsigned long long)off);
	return -EIO;
}

int recover(struct fs *fs, struct redo_start *st, uint64_t *replayed)
{
	uint64_t mark = pm_fault_mark(fs->pm);
	struct scan s = { .fs = fs };
	bool other_ok;
	int err;

	*replayed = 0;
	err = slot_read(fs, st, &other_ok);
	if (pm_faulted(fs->pm, mark) && (err || !fs->ro))
		return unreadable(fs, "a checkpoint slot");
	pm_fault_repair(fs->pm);
	mark = pm_fault_mark(fs->pm);
	if (err)
		return damaged(fs, blk_off(PMEMFS_BLK_SLOT0), "both checkpoint slots are bad");
	if (!other_ok)
		log_warn("one of the two checkpoint slots is bad; it will be rewritten");
	if (fs->opt.norecovery)
		return 0;
	s.watermark = st->watermark;
	err = collect(&s, st->epoch);
	if (pm_faulted(fs->pm, mark))
		err = unreadable(fs, "the log");
	if (!err && s.nr)
		err = replay(&s, st);
	if (!err && pm_faulted(fs->pm, mark))
		err = unreadable(fs, "what the log is replayed onto");
	*replayed = s.nr;
	free(s.v);
	if (err || fs->ro)
		return err;
	return new_epoch(fs, st);
}
