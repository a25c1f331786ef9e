/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_log.c - from the copy to the pool, through the log
 *
 * The difference between the two becomes records like any other: bounded,
 * sealed, durable before they are applied. A repair that fits one record is
 * there as a whole or not at all. A larger one is cut, in an order in which
 * no prefix loses what the next fsck.pmemfs could still find:
 *
 *   W1  Blocks that were nobody's, marked or not, get their new content
 *       first, unlogged, and durable before any record (L5).
 *   W2  Then their marks are set, then everything else changes, and only at
 *       the end do blocks become free.
 *   W3  The log is empty when this begins and when it ends, so no record of
 *       it is replayed over anything that a mount writes (L4).
 *   W4  Descriptors and chunk counts are derived by the checkpoint (L7). One
 *       that is wrong by itself gets a bit set that is set already.
 */
#include <errno.h>
#include <stdlib.h>

#include "meta/apply.h"
#include "meta/repair_int.h"
#include "meta/txn.h"

#define GAP		16u		/* a form header: cheaper to bridge */
#define TOUCH_MAX	(4u << 20)	/* bytes that one record changes */
#define BITS_OFF	offsetof(struct pmemfs_chunk, used)
#define BITS_LEN	sizeof(((struct pmemfs_chunk *)0)->used)

struct out {
	struct repair *r;
	struct fs *fs;
	uint8_t *rec;
	size_t len;
	unsigned nr_forms;
	int64_t dblocks;
	int32_t dinodes;
	uint64_t touched, mark;
	int err;
};

/* ---- records ------------------------------------------------------------- */

static void begin(struct out *o)
{
	memset(o->rec, 0, sizeof(struct pmemfs_record));
	o->len = sizeof(struct pmemfs_record);
	o->nr_forms = 0;
	o->dblocks = 0;
	o->dinodes = 0;
	o->touched = 0;
}

static void commit(struct out *o)
{
	struct pmemfs_record *rec = (void *)o->rec;
	size_t padded = align_up(o->len, PMEMFS_LINE);
	struct lane *lane;
	uint64_t seq;

	if (o->err || !o->nr_forms)
		return;
	if (repair_stopped(o->r)) {
		o->err = -EINTR;
		return;
	}
	memset(o->rec + o->len, 0, padded - o->len);
	rec->len = put32((uint32_t)o->len);
	rec->dblocks = put64((uint64_t)o->dblocks);
	rec->dinodes = put32((uint32_t)o->dinodes);
	rec->nr_forms = put16((uint16_t)o->nr_forms);
	rec->op = put16(PMEMFS_OP_REPAIR);
	o->err = redo_lane_get(o->fs, o->len, &lane);
	if (!o->err && pm_faulted(o->fs->pm, o->mark)) {
		redo_lane_put(lane);
		o->err = -EIO;
	}
	if (o->err)
		return;
	o->err = redo_commit(lane, rec, &seq);
	if (o->err)
		return;
	o->touched = apply_record(o->fs->pm, rec);
	if (pm_faulted(o->fs->pm, o->mark)) {
		fs_shutdown(o->fs, "the medium failed while a repair was put in place");
		o->err = -EIO;			/* L6: the horizon stays below it */
		return;
	}
	redo_applied(lane, o->touched);
	begin(o);
}

static void emit(struct out *o, uint64_t off, uint32_t len, enum pmemfs_form_kind kind,
		 uint32_t bit, const void *bytes)
{
	size_t pad = kind == PMEMFS_FORM_BYTES ? align_up(len, 8) : 0;
	struct pmemfs_form *f;

	if (o->len + sizeof(*f) + pad > TXN_MAX_RECORD - PMEMFS_LINE ||
	    o->nr_forms == UINT16_MAX || o->touched > TOUCH_MAX)
		commit(o);
	if (o->err)
		return;
	f = (void *)(o->rec + o->len);
	f->off = put64(off);
	f->len = put32(len);
	f->kind = put16((uint16_t)kind);
	f->bit = put16((uint16_t)bit);
	if (pad) {
		memcpy(f + 1, bytes, len);
		memset((uint8_t *)(f + 1) + len, 0, pad - len);
	}
	o->len += sizeof(*f) + pad;
	o->touched += pad ? pad : len / 8 + 1;
	o->nr_forms++;
}

/* ---- differences ------------------------------------------------------------ */

static const uint8_t *theirs(const struct out *o, uint64_t off, size_t len)
{
	return pm_at(o->fs->pm, off, len);
}

static const uint8_t *ours(const struct out *o, uint64_t off, size_t len)
{
	return pm_at(o->r->pm, off, len);
}

/* A stretch of at most a block, both ends at multiples of 8. */
static void emit_bytes(struct out *o, uint64_t off, size_t len)
{
	const uint8_t *was = theirs(o, off, len), *will = ours(o, off, len);
	size_t i = 0, start, end;

	while (i < len && !o->err) {
		if (!memcmp(was + i, will + i, 8)) {
			i += 8;
			continue;
		}
		start = i;
		end = i + 8;
		for (i = end; i < len && i < end + GAP; i += 8)
			if (memcmp(was + i, will + i, 8))
				end = i + 8;
		emit(o, off + start, (uint32_t)(end - start), PMEMFS_FORM_BYTES, 0,
		     will + start);
		i = end;
	}
}

static bool bit_of(const uint8_t *map, uint32_t i) { return map[i / 8] >> i % 8 & 1; }

/* Runs of bits that become `set`; how many bits. */
static uint32_t emit_bits(struct out *o, uint64_t off, uint32_t nr, bool set)
{
	const uint8_t *was = theirs(o, off, nr / 8), *will = ours(o, off, nr / 8);
	uint32_t i, start, all = 0;

	for (i = 0; i < nr && !o->err; ) {
		if (i % 64 == 0 && !memcmp(was + i / 8, will + i / 8, 8)) {
			i += 64;
			continue;
		}
		start = i;
		while (i < nr && bit_of(will, i) == set && bit_of(was, i) != set)
			i++;
		if (i == start) {
			i++;
			continue;
		}
		emit(o, off, i - start, set ? PMEMFS_FORM_SET : PMEMFS_FORM_CLEAR, start, NULL);
		all += i - start;
	}
	return all;
}

/* ---- kinds of blocks ------------------------------------------------------------ */

static uint64_t group_of(const struct out *o, uint64_t blk)
{
	return blk - o->r->geo->bitmap_blk;
}

static bool is_bitmap(const struct out *o, uint64_t blk)
{
	return blk >= o->r->geo->bitmap_blk && group_of(o, blk) < o->r->geo->nr_groups;
}

/* W1: nobody's before, as far as anybody knows, and somebody's now. */
static bool is_fresh(const struct out *o, uint64_t blk)
{
	uint64_t off = blk_off(o->r->geo->bitmap_blk + blk / PMEMFS_GROUP_BLOCKS);

	return repair_in_data(o->r, blk, 1) && !rmap_test(&o->r->first, blk) &&
	       !bit_of(theirs(o, off, PMEMFS_BLOCK_SIZE), blk % PMEMFS_GROUP_BLOCKS) &&
	       rmap_test(&o->r->owned, blk);
}

static bool is_chunk(const struct out *o, uint64_t blk)
{
	const struct repair *r = o->r;
	size_t i;

	for (i = 0; i < r->pieces.nr; i++)
		if (blk >= r->pieces.at[i].blk && blk - r->pieces.at[i].blk < r->pieces.at[i].len)
			return (r->pieces.at[i].pos + (blk - r->pieces.at[i].blk)) %
				PMEMFS_CHUNK_BLOCKS == 0;
	return false;
}

/* A chunk header: its bits by themselves, its sums by the checkpoint (W4). */
static void emit_chunk(struct out *o, uint64_t off)
{
	size_t behind = BITS_OFF + BITS_LEN, sums = offsetof(struct pmemfs_chunk, crc);
	uint32_t set, cleared;

	emit_bytes(o, off, BITS_OFF);
	emit_bytes(o, off + behind, sums - behind);
	emit_bytes(o, off + sums + 8, sizeof(struct pmemfs_chunk) - sums - 8);
	set = emit_bits(o, off + BITS_OFF, PMEMFS_CHUNK_INODES, true);
	o->dinodes += (int32_t)set;
	cleared = emit_bits(o, off + BITS_OFF, PMEMFS_CHUNK_INODES, false);
	o->dinodes -= (int32_t)cleared;
	if (!set && !cleared && memcmp(theirs(o, off + sums, 8), ours(o, off + sums, 8), 8))
		emit(o, off + BITS_OFF, 1, PMEMFS_FORM_SET, 0, NULL);
	emit_bytes(o, off + sizeof(struct pmemfs_chunk),
		   PMEMFS_BLOCK_SIZE - sizeof(struct pmemfs_chunk));
}

/* A descriptor that does not fit a bitmap that stays as it is (W4). */
static void derive(struct out *o, uint64_t g)
{
	uint64_t off = blk_off(o->r->geo->bitmap_blk + g);
	const uint8_t *map = ours(o, off, PMEMFS_BLOCK_SIZE);
	bool first = bit_of(map, 0);

	emit(o, off, 1, first ? PMEMFS_FORM_SET : PMEMFS_FORM_CLEAR, 0, NULL);
}

static void derive_block(struct out *o, uint64_t blk)
{
	const uint64_t per = PMEMFS_BLOCK_SIZE / sizeof(struct pmemfs_group);
	const size_t len = sizeof(struct pmemfs_group);
	uint64_t g = (blk - o->r->geo->groups_blk) * per, i, off = blk_off(blk);

	for (i = 0; i < per && g + i < o->r->geo->nr_groups; i++, off += len)
		if (memcmp(theirs(o, off, len), ours(o, off, len), len))
			derive(o, g + i);
}

/* ---- the passes -------------------------------------------------------------------- */

static void pass_fresh(struct out *o, uint64_t blk)
{
	bool reserved = blk > PMEMFS_BLK_BADBLOCKS && blk < PMEMFS_BLK_LANES;

	if (!reserved && !is_fresh(o, blk))
		return;
	/* reserved blocks are only ever zeroed */
	pm_copy(o->fs->pm, blk_off(blk), ours(o, blk_off(blk), PMEMFS_BLOCK_SIZE),
		PMEMFS_BLOCK_SIZE);
}

static void pass_set(struct out *o, uint64_t blk)
{
	if (is_bitmap(o, blk))
		o->dblocks -= emit_bits(o, blk_off(blk), PMEMFS_GROUP_BLOCKS, true);
}

static void pass_change(struct out *o, uint64_t blk)
{
	bool inside = blk == PMEMFS_BLK_SYSTEM || blk == PMEMFS_BLK_BADBLOCKS ||
		repair_in_data(o->r, blk, 1);

	if (inside && is_chunk(o, blk))
		emit_chunk(o, blk_off(blk));
	else if (inside)
		emit_bytes(o, blk_off(blk), PMEMFS_BLOCK_SIZE);
}

static void pass_clear(struct out *o, uint64_t blk)
{
	if (is_bitmap(o, blk))
		o->dblocks += emit_bits(o, blk_off(blk), PMEMFS_GROUP_BLOCKS, false);
	else if (blk >= o->r->geo->groups_blk && blk < o->r->geo->bitmap_blk)
		derive_block(o, blk);
}

static void each_dirty(struct out *o, void (*fn)(struct out *o, uint64_t blk))
{
	uint64_t blk = 0;

	for (; !o->err && pm_overlay_next(o->r->ov, &blk) && blk < o->r->geo->nr_blocks; blk++)
		fn(o, blk);
}

int repair_transfer(struct repair *r, struct fs *fs)
{
	struct out o = { .r = r, .fs = fs, .mark = pm_fault_mark(fs->pm) };

	o.rec = aligned_alloc(PMEMFS_LINE, TXN_MAX_RECORD);
	if (!o.rec)
		return -ENOMEM;
	begin(&o);
	each_dirty(&o, pass_fresh);
	if (!o.err && pm_fence(fs->pm))			/* W1, L5 */
		o.err = -EIO;
	each_dirty(&o, pass_set);			/* W2 */
	each_dirty(&o, pass_change);
	each_dirty(&o, pass_clear);
	commit(&o);
	free(o.rec);
	return o.err ? o.err : redo_checkpoint(fs, false);	/* W3 */
}
