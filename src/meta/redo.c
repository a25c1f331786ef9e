/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redo.c - lanes: write a record, fence once, and it is law
 *
 * The rules are those of the design's list L1..L22 (pmemfs.7 repeats them).
 * This file keeps:
 *
 *   L1   The number is drawn after the lane is held and everything is decided;
 *        between draw and redo_applied() nothing blocks. One record in flight
 *        per lane, so the numbers of dependent operations are in order.
 *   L4   Whoever waits here for a checkpoint holds a lane but no number.
 *   L6   A record whose fence failed leaves its bound published for ever: the
 *        watermark cannot pass it, and the mount stops writing.
 *   L8   Bytes touched above the watermark are bounded.
 *   L10  Records are padded to 64 bytes and do not cross a half. A half is
 *        filled from its start and recycled whole, once every record in it is
 *        at or below the lower watermark. The tag ties a record to the epoch,
 *        the lane and the offset; each carries the floor.
 *   L11  bound is published before the draw, cleared with release after the
 *        in-place stores; redo_horizon() reads the counter first.
 */
#include "meta/redo.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/siphash.h"
#include "meta/contend.h"
#include "meta/redo_int.h"
#include "meta/txn.h"

int redo_open(struct fs *fs, const struct redo_start *st)
{
	struct redo *r = calloc(1, sizeof(*r));
	uint32_t i;

	if (!r)
		return -ENOMEM;
	r->nr_lanes = fs->geo.nr_lanes;
	r->lanes = aligned_alloc(PMEMFS_LINE, align_up(r->nr_lanes * sizeof(*r->lanes), 64));
	if (!r->lanes) {
		free(r);
		return -ENOMEM;
	}
	memset(r->lanes, 0, r->nr_lanes * sizeof(*r->lanes));
	r->fs = fs;
	r->half_size = fs->geo.lane_size / 2;
	r->state = *st;
	memcpy(r->epoch, st->epoch, sizeof(r->epoch));
	r->counter = st->watermark;
	r->reuse = st->watermark;
	pthread_mutex_init(&r->ckpt_lock, NULL);
	for (i = 0; i < r->nr_lanes; i++) {
		pthread_mutex_init(&r->lanes[i].lock, NULL);
		r->lanes[i].fs = fs;
		r->lanes[i].index = i;
		r->lanes[i].off = blk_off(fs->geo.lanes_blk) + (uint64_t)i * fs->geo.lane_size;
	}
	fs->redo = r;
	return 0;
}

void redo_close(struct fs *fs)
{
	struct redo *r = fs->redo;
	uint32_t i;

	if (!r)
		return;
	for (i = 0; i < r->nr_lanes; i++)
		pthread_mutex_destroy(&r->lanes[i].lock);
	pthread_mutex_destroy(&r->ckpt_lock);
	free(r->lanes);
	free(r);
	fs->redo = NULL;
}

uint64_t redo_horizon(struct redo *r)
{
	uint64_t s = atomic_load(&r->counter), b;	/* L11: the counter first */
	uint32_t i;

	for (i = 0; i < r->nr_lanes; i++) {
		b = atomic_load(&r->lanes[i].bound);
		if (b && b - 1 < s)
			s = b - 1;
	}
	return s;
}

/* ---- lanes ------------------------------------------------------------------ */

/* A thread comes back to the lane it used last: its lines are warm. */
static struct lane *grab(struct redo *r)
{
	static _Atomic uint32_t next;
	static _Thread_local uint32_t mine = UINT32_MAX;
	uint32_t i;

	if (mine == UINT32_MAX)
		mine = atomic_fetch_add(&next, 1);
	for (i = 0; i < r->nr_lanes; i++) {
		struct lane *l = &r->lanes[(mine + i) % r->nr_lanes];

		if (!pthread_mutex_trylock(&l->lock))
			return l;
	}
	fs_count(r->fs, COUNT_WAIT_LANE, 1);
	pthread_mutex_lock(&r->lanes[mine % r->nr_lanes].lock);
	return &r->lanes[mine % r->nr_lanes];
}

static uint64_t get_relaxed(const _Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static void set_relaxed(_Atomic uint64_t *p, uint64_t v)
{
	atomic_store_explicit(p, v, memory_order_relaxed);
}

/* Room in this half, or in the other one if it may be recycled (L10). */
static bool fits(struct redo *r, struct lane *l, uint64_t need)
{
	if (l->pos + need <= r->half_size)
		return true;
	if (get_relaxed(&l->last[!l->half]) > atomic_load(&r->reuse))
		return false;
	l->half = !l->half;
	l->pos = 0;
	set_relaxed(&l->last[l->half], 0);
	atomic_store_explicit(&r->full, true, memory_order_relaxed);
	fs_kick(l->fs);
	return true;
}

int redo_lane_get(struct fs *fs, size_t len, struct lane **out)
{
	struct redo *r = fs->redo;
	uint64_t need = align_up(len, PMEMFS_LINE);
	struct lane *l = grab(r);
	int err;

	assert(need <= r->half_size);
	while (!fits(r, l, need) || atomic_load(&r->touched) > REDO_TOUCHED_MAX) {
		fs_count(fs, COUNT_WAIT_LOG_ROOM, 1);
		err = redo_checkpoint(fs, false);	/* L4: no number is held */
		if (!err && !fs_writable(fs))
			err = -EROFS;
		if (err) {
			redo_lane_put(l);
			return err;
		}
		sched_yield();		/* an older number may still be in flight */
	}
	*out = l;
	return 0;
}

void redo_lane_put(struct lane *l)
{
	pthread_mutex_unlock(&l->lock);
}

static uint64_t record_tag(const uint8_t epoch[16], uint32_t lane, uint64_t off)
{
	struct { le32 lane, off; } where = { put32(lane), put32((uint32_t)off) };

	return siphash24(epoch, &where, sizeof(where));
}

static uint32_t record_crc(const struct pmemfs_record *rec, size_t len)
{
	return crc32c((uint32_t)get64(rec->tag), (const uint8_t *)rec + 4, len - 4);
}

int redo_commit(struct lane *l, struct pmemfs_record *rec, uint64_t *seq)
{
	struct redo *r = l->fs->redo;
	size_t len = get32(rec->len), padded = align_up(len, PMEMFS_LINE);
	uint64_t at = l->half * r->half_size + l->pos;

	atomic_store(&l->bound, atomic_load(&r->counter) + 1);	/* L11: before the draw */
	*seq = atomic_fetch_add(&r->counter, 1) + 1;
	rec->seq = put64(*seq);
	rec->floor = put64(redo_horizon(r));
	rec->tag = put64(record_tag(r->epoch, l->index, at));
	rec->crc = put32(record_crc(rec, len));
	l->pos += padded;
	set_relaxed(&l->last[l->half], *seq);
	set_relaxed(&l->fill[l->half], l->pos);
	pm_copy(l->fs->pm, l->off + at, rec, padded);
	if (pm_fence(l->fs->pm)) {		/* L1: the one fence; the record is law */
		fs_shutdown(l->fs, "the medium refused a log record");	/* L6 */
		redo_lane_put(l);
		return -EIO;
	}
	fs_count(l->fs, COUNT_RECORDS, 1);
	fs_count(l->fs, COUNT_RECORD_BYTES, padded);
	return 0;
}

void redo_applied(struct lane *l, uint64_t touched)
{
	struct redo *r = l->fs->redo;

	atomic_fetch_add_explicit(&r->touched, touched, memory_order_relaxed);
	atomic_store_explicit(&l->bound, 0, memory_order_release);	/* L11 */
	redo_lane_put(l);
}

/* ---- reading the log ---------------------------------------------------------- */

static bool record_valid(const struct pmemfs_record *rec, uint64_t room, uint64_t tag,
			 uint64_t after)
{
	uint64_t len = get32(rec->len);

	return get64(rec->tag) == tag && len >= sizeof(*rec) && len <= room &&
	       get64(rec->seq) > after && get64(rec->floor) < get64(rec->seq) &&
	       get32(rec->crc) == record_crc(rec, len);
}

/* Ends at the first record that is invalid or does not increase (L10). */
int redo_scan_half(struct fs *fs, const uint8_t epoch[16], uint32_t lane,
		   unsigned half, record_fn cb, void *arg)
{
	uint64_t size = fs->geo.lane_size / 2, pos = 0, at, after = 0;
	uint64_t base = blk_off(fs->geo.lanes_blk) + (uint64_t)lane * fs->geo.lane_size;
	const struct pmemfs_record *rec;
	int stop;

	while (pos + sizeof(*rec) <= size) {
		at = half * size + pos;
		rec = pm_at(fs->pm, base + at, size - pos);
		if (!record_valid(rec, size - pos, record_tag(epoch, lane, at), after))
			return 0;
		stop = cb(arg, rec, lane, base + at);
		if (stop)
			return stop;
		after = get64(rec->seq);
		pos += align_up(get32(rec->len), PMEMFS_LINE);
	}
	return 0;
}

/* The number of a valid record above `after` at this place of a lane, or 0. */
static uint64_t number_at(struct fs *fs, const uint8_t epoch[16], uint32_t lane,
			  uint64_t at, uint64_t after)
{
	uint64_t half = fs->geo.lane_size / 2, stop = (at / half + 1) * half;
	const struct pmemfs_record *rec;

	if (at >= fs->geo.lane_size || at + sizeof(*rec) > stop)
		return 0;
	rec = pm_at(fs->pm, blk_off(fs->geo.lanes_blk) + (uint64_t)lane * fs->geo.lane_size + at,
		    stop - at);
	if (get64(rec->seq) <= after)
		return 0;		/* old: most are */
	return record_valid(rec, stop - at, record_tag(epoch, lane, at), after) ?
		get64(rec->seq) : 0;
}

/*
 * Only as much is looked at as damage to one field makes necessary: what lies
 * behind the end is mostly old, or a hole of a sparse file. Is the tag ours, it
 * may be the length that is wrong, and the next record begins no further than
 * the largest would reach; else the length is right if the tag was the damage.
 */
uint64_t redo_hidden(struct fs *fs, const uint8_t epoch[16], uint32_t lane,
		     unsigned half, uint64_t end, uint64_t after)
{
	uint64_t start = blk_off(fs->geo.lanes_blk) + (uint64_t)lane * fs->geo.lane_size;
	uint64_t at = end - start, stop = (half + 1) * (uint64_t)(fs->geo.lane_size / 2);
	const struct pmemfs_record *rec;
	uint64_t seq = 0;

	if (stop - at < sizeof(*rec))
		return 0;
	rec = pm_at(fs->pm, end, sizeof(*rec));
	if (get64(rec->tag) != record_tag(epoch, lane, at)) {
		at += align_up(get32(rec->len), PMEMFS_LINE);
		return at < stop ? number_at(fs, epoch, lane, at, after) : 0;
	}
	stop = min64(stop, at + TXN_MAX_RECORD + PMEMFS_LINE);
	while (!seq && (at += PMEMFS_LINE) < stop)
		seq = number_at(fs, epoch, lane, at, after);
	return seq;
}

/* Read without locks, while it changes: a picture, not a proof. */
void redo_get_state(struct fs *fs, struct redo_state *out)
{
	struct redo *r = fs->redo;
	uint32_t i;
	unsigned half;

	memset(out, 0, sizeof(*out));
	out->lanes = r->nr_lanes;
	out->lane_size = 2 * r->half_size;
	out->drawn = get_relaxed(&r->counter);
	out->watermark = get_relaxed(&r->reuse);
	out->touched = get_relaxed(&r->touched);
	for (i = 0; i < r->nr_lanes; i++) {
		out->busy += get_relaxed(&r->lanes[i].bound) != 0;
		for (half = 0; half < 2; half++)
			if (get_relaxed(&r->lanes[i].last[half]) > out->watermark)
				out->used += get_relaxed(&r->lanes[i].fill[half]);
	}
}

void redo_note_error(struct fs *fs)
{
	if (fs->redo)
		atomic_store(&fs->redo->error, true);
}

bool redo_wants_checkpoint(struct fs *fs)
{
	struct redo *r = fs->redo;

	return atomic_load_explicit(&r->full, memory_order_relaxed) ||
	       atomic_load_explicit(&r->touched, memory_order_relaxed) > REDO_TOUCHED_MAX / 2;
}
