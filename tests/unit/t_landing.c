/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_landing.c - payloads that were received into free blocks
 *
 * Whether the blocks become the file's or are copied from, the file has the
 * bytes, durably, and no block is lost.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count.h"
#include "copy/copy.h"
#include "meta/alloc.h"
#include "meta/inode.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(64ull << 20)
#define BLK	4096u
#define AREA	(64u * BLK)
#define SPLIT	(4u * BLK)

static struct pool p;
static uint64_t f;
static uint8_t bytes[AREA];
static struct landing land;

static void start(void)
{
	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	pool_soil(&p, 0xee);
}

/* What the transport does: the head in a buffer, the rest in the pool. */
static int land_write(uint64_t pos, size_t len, uint8_t first)
{
	struct payload pl;
	size_t done;
	void *to;
	int err;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(first + i / BLK * 3 + i % 251);
	ck_assert(op_land_get(p.fs, AREA, &land));
	to = pm_window(p.fs->pm, land.off + SPLIT, AREA - SPLIT);
	memcpy(to, bytes + SPLIT, len - SPLIT);
	pm_window_done(p.fs->pm, land.off + SPLIT, len - SPLIT);
	land.total = len;
	pl = payload_landed(p.fs->pm, bytes, SPLIT, &land);
	err = op_write(&p.c, f, pos, &pl, 0, &done);
	ck_assert_uint_eq(done, err ? 0 : len);
	return err;
}

static void land_at(uint64_t pos, size_t len, uint64_t taken)
{
	uint64_t before = count_sum(pm_counters(p.fs->pm), COUNT_LANDED);

	ck_assert_int_eq(land_write(pos, len, (uint8_t)pos), 0);
	ck_assert_uint_eq(land.taken, taken);
	/* what was received elsewhere is copied, also into blocks that are taken */
	if (taken == AREA || !taken)
		ck_assert_uint_eq(count_sum(pm_counters(p.fs->pm), COUNT_LANDED) - before,
				  taken ? len - SPLIT : 0);
	op_land_put(p.fs, &land);
	ck_assert_uint_eq(alloc_reserved(p.fs), 0);
	pool_expect(&p, f, pos, bytes, len);
}

/* Where the file's block is, as an offset in the pool; and how far it goes on. */
static uint64_t place(uint64_t pos, size_t *len)
{
	struct op_piece piece;
	struct op_read r;
	unsigned nr = 1;
	size_t got;

	ck_assert_int_eq(op_read(&p.c, f, pos, SIZE, &piece, &nr, &got, &r), 0);
	op_read_done(&p.c, &r);
	*len = piece.len;
	return (uint64_t)((const uint8_t *)piece.base - (const uint8_t *)pm_at(p.fs->pm, 0, 1));
}

START_TEST(a_hole_takes_the_blocks)
{
	static const uint8_t none[BLK];
	uint64_t at;
	size_t len;

	start();
	rec_log(p.rec, true);
	land_at(0, AREA - 100, AREA);
	at = land.off;
	ck_assert_uint_eq(place(0, &len), at);
	pool_truncate(&p, f, AREA + BLK);
	pool_expect(&p, f, AREA - 100, none, 100);	/* and not what was there */
	pool_crash(&p);
	pool_expect(&p, f, 0, bytes, AREA - 100);
	pool_unmount(&p);
	ck_assert_uint_eq(rec_uncovered(p.rec, NULL), 0);	/* the bytes were flushed */
	pool_mount(&p);
	pool_end(&p);
}
END_TEST

/* Durable before the record: a fence of their own, and a cut right behind it has them. */
START_TEST(data_come_first)
{
	uint8_t *image = pm_mem_map(SIZE);
	size_t len, at = 0;

	start();
	rec_log(p.rec, true);
	pool_fences(&p);
	land_at(0, AREA, AREA);
	ck_assert_uint_eq(pool_fences(&p), 2);
	while (rec_at(p.rec, at)->kind != REC_FENCE)
		at++;
	rec_image(p.rec, at + 1, REC_NONE, 0, image);
	ck_assert(!memcmp(image + place(0, &len), bytes, AREA));
	pm_mem_unmap(image, SIZE);
	pool_end(&p);
}
END_TEST

START_TEST(a_stream_is_one_extent)
{
	size_t len;

	start();
	for (unsigned i = 0; i < 20; i++)
		land_at(i * AREA, AREA, AREA);
	place(0, &len);
	ck_assert_uint_eq(len, 20 * AREA);
	pool_end(&p);
}
END_TEST

START_TEST(what_does_not_fit_is_copied)
{
	uint64_t before, after;
	size_t len;

	start();
	land_at(100, AREA - BLK, 0);			/* not at a block */
	before = place(BLK, &len);
	land_at(BLK, AREA / 2, 0);			/* over bytes: in place */
	after = place(BLK, &len);
	ck_assert_uint_eq(before, after);
	pool_fill(&p, f, 3 * AREA, 'x', BLK);
	land_at(3 * AREA - 10 * BLK, AREA, AREA - BLK);	/* hole, bytes, hole */
	pool_fill(&p, f, 5 * AREA, 'x', BLK);
	land_at(5 * AREA, AREA, AREA - BLK);		/* bytes, hole */
	pool_remount(&p);
	pool_expect(&p, f, 5 * AREA, bytes, AREA);
	pool_end(&p);
}
END_TEST

START_TEST(atomic_replaces)
{
	uint64_t was, free_blocks;
	size_t len;

	start();
	pool_set_data(&p, FS_DATA_ATOMIC);
	f = pool_find(&p, ROOT, "f");
	land_at(0, AREA, AREA);
	was = place(0, &len);
	free_blocks = pool_settled_blocks(&p);
	land_at(0, AREA, AREA);
	ck_assert_uint_ne(place(0, &len), was);
	ck_assert_uint_eq(pool_settled_blocks(&p), free_blocks);
	land_at(BLK / 2, AREA / 2, 0);
	pool_end(&p);
}
END_TEST

/* The record is not written: the blocks stay reserved, and come back. */
START_TEST(a_failure_takes_nothing)
{
	start();
	rec_fail_fence(p.rec, 1);
	ck_assert_int_eq(land_write(0, AREA, 1), -EIO);
	ck_assert_uint_eq(land.taken, 0);
	ck_assert_uint_ge(alloc_reserved(p.fs), AREA / BLK);
	op_land_put(p.fs, &land);
	ck_assert_uint_eq(alloc_reserved(p.fs), 0);
	rec_fail_fence(p.rec, 0);
	pool_crash(&p);
	ck_assert_uint_eq(pool_attr(&p, pool_find(&p, ROOT, "f")).size, 0);
	pool_end(&p);
}
END_TEST

/* ---- landed by a device, for a place that is known -------------------------------- */

static int dev_write_as(uint64_t pos, size_t len, uint8_t first, uint32_t flags)
{
	struct payload pl;
	size_t done;
	int err;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(first + i / BLK * 3 + i % 251);
	ck_assert(op_land_for(&p.c, f, pos, len, &land));
	ck_assert_uint_eq(land.off % BLK, pos % BLK);
	memcpy(pm_window(p.fs->pm, land.off, len), bytes, len);
	pm_window_done(p.fs->pm, land.off, len);
	pl = payload_landed(p.fs->pm, NULL, 0, &land);
	err = op_write(&p.c, f, pos, &pl, flags, &done);
	ck_assert_uint_eq(done, err ? 0 : len);
	return err;
}

/* How many bytes of it were left where they had landed. */
static uint64_t dev_write(uint64_t pos, size_t len)
{
	uint64_t before = count_sum(pm_counters(p.fs->pm), COUNT_LANDED);

	ck_assert_int_eq(dev_write_as(pos, len, (uint8_t)pos, 0), 0);
	op_land_put(p.fs, &land);
	ck_assert_uint_eq(alloc_reserved(p.fs), 0);
	pool_expect(&p, f, pos, bytes, len);
	return count_sum(pm_counters(p.fs->pm), COUNT_LANDED) - before;
}

START_TEST(odd_appends)
{
	static const size_t odd[] = { 1, 7777, BLK, 5 * BLK + 1, BLK - 1, 77777, 2 * BLK + 4095 };
	uint8_t *all = calloc(1, SIZE);
	uint64_t pos = 0, first;

	start();
	for (unsigned i = 0; i < 21; i++) {
		size_t len = odd[i % ARRAY_SIZE(odd)];

		/* what belongs into the block that the file ends in is copied there */
		first = min64(pos % BLK ? BLK - pos % BLK : 0, len);
		ck_assert_uint_eq(dev_write(pos, len), len - first);
		memcpy(all + pos, bytes, len);
		pos += len;
	}
	ck_assert_uint_eq(pool_attr(&p, f).size, pos);
	pool_crash(&p);
	pool_expect(&p, f, 0, all, pos);
	ck_assert_int_eq(pool_truncate(&p, f, pos + 2 * BLK), 0);
	pool_expect_fill(&p, f, pos, 0, 2 * BLK);	/* and not what was there */
	free(all);
	pool_end(&p);
}
END_TEST

/* A file that grows beside another: its pieces double, as those of any write do. */
START_TEST(a_file_stays_together)
{
	unsigned pieces = 0;
	uint64_t g, pos;
	size_t len;

	start();
	g = pool_file(&p, ROOT, "g");
	for (unsigned i = 0; i < 32; i++) {
		dev_write(i * AREA, AREA);
		pool_fill(&p, g, i * BLK, 'g', BLK);
	}
	for (pos = 0; pos < 32 * AREA; pos += len, pieces++)
		place(pos, &len);
	ck_assert_uint_le(pieces, 7);
	pool_end(&p);
}
END_TEST

/* Replaced as a whole, with what shares its first and its last block. */
START_TEST(device_replaces)
{
	uint64_t was, blocks;
	size_t len;

	start();
	pool_fill(&p, f, 0, 'x', 2 * AREA);
	was = place(10 * BLK, &len);
	blocks = pool_settled_blocks(&p);
	pool_fences(&p);
	ck_assert_uint_eq(dev_write(10 * BLK + 100, 20 * BLK), 20 * BLK);
	ck_assert_uint_eq(pool_fences(&p), 2);
	ck_assert_uint_eq(land.taken, 21 * BLK);
	ck_assert_uint_eq(place(10 * BLK, &len), land.start);
	ck_assert_uint_ne(land.start, was);
	pool_expect_fill(&p, f, 0, 'x', 10 * BLK + 100);
	pool_expect_fill(&p, f, 30 * BLK + 100, 'x', 2 * AREA - 30 * BLK - 100);
	ck_assert_uint_eq(pool_settled_blocks(&p), blocks);
	ck_assert_uint_eq(pool_attr(&p, f).size, 2 * AREA);
	/* over the end, in pieces of all kinds */
	pool_fill(&p, f, 2 * AREA + 8 * BLK, 'y', BLK);
	pool_fill(&p, f, 2 * AREA + 10 * BLK, 'y', 100);
	ck_assert_uint_eq(dev_write(2 * AREA - 77, 12 * BLK), 12 * BLK);
	pool_crash(&p);
	pool_expect(&p, f, 2 * AREA - 77, bytes, 12 * BLK);
	pool_end(&p);
}
END_TEST

/* What fallocate(2) promised was space, not these blocks. */
START_TEST(promised_blocks_are_replaced)
{
	uint64_t blocks;

	start();
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 40 * BLK, 0), 0);
	blocks = pool_settled_blocks(&p);
	ck_assert_uint_eq(dev_write(BLK + 5, 9 * BLK), 9 * BLK);
	pool_expect_fill(&p, f, 0, 0, BLK + 5);
	pool_expect_fill(&p, f, 10 * BLK + 5, 0, 30 * BLK - 5);
	ck_assert_uint_eq(pool_settled_blocks(&p), blocks);
	pool_end(&p);
}
END_TEST

/* No node for the extents that replacing would make: copied, from the blocks. */
START_TEST(without_space_in_place)
{
	struct landing kept;
	struct payload pl;
	uint64_t was, g;
	size_t len, done;

	start();
	for (unsigned i = 0; i < 4; i++)		/* the inode is full of extents */
		pool_fill(&p, f, i * 20 * BLK, 'x', 10 * BLK);
	was = place(3 * BLK, &len);
	ck_assert(op_land_for(&p.c, f, 3 * BLK + 9, 2 * BLK, &kept));
	memset(pm_window(p.fs->pm, kept.off, 2 * BLK), 'n', 2 * BLK);
	pm_window_done(p.fs->pm, kept.off, 2 * BLK);
	g = pool_file(&p, ROOT, "g");
	for (len = AREA; len >= BLK; len /= 2)
		while (!pool_try_write(&p, g, pool_attr(&p, g).size, bytes, len, &done))
			;
	pl = payload_landed(p.fs->pm, NULL, 0, &kept);
	ck_assert_int_eq(op_write(&p.c, f, 3 * BLK + 9, &pl, 0, &done), 0);
	ck_assert_uint_eq(done, 2 * BLK);
	ck_assert_uint_eq(kept.taken, 0);
	op_land_put(p.fs, &kept);
	ck_assert_uint_eq(alloc_reserved(p.fs), 0);
	ck_assert_uint_eq(place(3 * BLK, &len), was);
	pool_expect_fill(&p, f, 0, 'x', 3 * BLK + 9);
	pool_expect_fill(&p, f, 3 * BLK + 9, 'n', 2 * BLK);
	pool_expect_fill(&p, f, 5 * BLK + 9, 'x', 5 * BLK - 9);
	pool_end(&p);
}
END_TEST

/* W3: the mode of a file that has new bytes in it is the new one. */
START_TEST(privileges_go_first)
{
	struct op_setattr set = { .valid = OP_SET_MODE, .mode = 06755 };
	uint8_t *image = pm_mem_map(SIZE);
	struct op_attr a;
	uint64_t ino_off, at, was;
	unsigned fences = 0;
	size_t len;

	start();
	pool_fill(&p, f, 0, 'x', AREA);
	ck_assert_int_eq(op_setattr(&p.c, f, &set, &a), 0);
	ck_assert_int_eq(fs_checkpoint(p.fs), 0);
	was = place(0, &len);
	ck_assert_int_eq(itable_slot(p.fs, a.ino, &ino_off), 0);
	rec_log(p.rec, true);
	ck_assert_int_eq(dev_write_as(0, AREA, 1, OP_WRITE_KILL_PRIV), 0);
	op_land_put(p.fs, &land);
	ck_assert_uint_eq(pool_attr(&p, f).mode & 06000, 0);
	for (at = 0; at < rec_now(p.rec) && fences < 3; at++)
		fences += rec_at(p.rec, at)->kind == REC_FENCE;
	rec_image(p.rec, at, REC_ALL, 0, image);
	ck_assert_uint_eq(get32(((struct pmemfs_inode *)(void *)(image + ino_off))->mode) & 06000,
			  0);
	ck_assert_uint_eq(fences, 3);		/* the mode; the bytes, their record */
	ck_assert_uint_eq(rec_at(p.rec, at - 1)->kind, REC_FENCE);
	ck_assert_uint_ne(place(0, &len), was);
	pm_mem_unmap(image, SIZE);
	pool_end(&p);
}
END_TEST

static void *write_thread(void *arg)
{
	*(int *)arg = dev_write_as(0, AREA, 5, 0);
	return NULL;
}

/* Who is in the file is waited for, not joined: the bytes stay where they are. */
START_TEST(a_reader_is_waited_for)
{
	const struct counters *c;
	struct op_piece piece;
	struct op_read r;
	unsigned nr = 1;
	uint64_t waits;
	size_t got, len;
	pthread_t tid;
	int err = 1;

	start();
	c = pm_counters(p.fs->pm);
	pool_fill(&p, f, 0, 'x', AREA);
	waits = count_sum(c, COUNT_WAIT_INODE);
	ck_assert_int_eq(op_read(&p.c, f, 0, AREA, &piece, &nr, &got, &r), 0);
	ck_assert_int_eq(pthread_create(&tid, NULL, write_thread, &err), 0);
	while (count_sum(c, COUNT_WAIT_INODE) == waits)
		sched_yield();
	op_read_done(&p.c, &r);
	pthread_join(tid, NULL);
	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(place(0, &len), land.start);
	op_land_put(p.fs, &land);
	pool_expect(&p, f, 0, bytes, AREA);
	pool_end(&p);
}
END_TEST

/* Made durable by who brought them: no flush, but the fence that it needs. */
START_TEST(durable_ones_are_not_flushed)
{
	struct rec_counts n;
	struct payload pl;
	size_t done;

	start();
	ck_assert(op_land_for(&p.c, f, 0, AREA, &land));
	memset(pm_window(p.fs->pm, land.off, AREA), 'd', AREA);
	pm_window_done(p.fs->pm, land.off, AREA);
	pm_flush(p.fs->pm, land.off, AREA);
	land.durable = true;
	pl = payload_landed(p.fs->pm, NULL, 0, &land);
	rec_counts_reset(p.rec);
	ck_assert_int_eq(op_write(&p.c, f, 0, &pl, 0, &done), 0);
	rec_counts(p.rec, &n);
	ck_assert_uint_lt(n.flushed_bytes, AREA);
	ck_assert_uint_eq(n.fences, 2);
	op_land_put(p.fs, &land);
	pool_expect_fill(&p, f, 0, 'd', AREA);
	pool_end(&p);
}
END_TEST

START_TEST(none_where_space_is_short)
{
	struct landing l;

	start();
	ck_assert(op_land_get(p.fs, AREA, &l));
	op_land_put(p.fs, &l);
	ck_assert(!op_land_get(p.fs, (1u << 20) + 1, &l));
	ck_assert_uint_eq(l.len, 0);
	ck_assert(!op_land_for(&p.c, f, 0, 1u << 20, &l));
	ck_assert_uint_eq(alloc_reserved(p.fs), 0);
	/* a node that is not there, or no file, is found out by the write */
	ck_assert(op_land_for(&p.c, 12345, 0, BLK, &l));
	op_land_put(p.fs, &l);
	ck_assert(op_land_for(&p.c, ROOT, UINT64_MAX, BLK, &l));
	op_land_put(p.fs, &l);
	ck_assert(op_land_for(&p.c, f, UINT64_MAX, BLK, &l));
	op_land_put(p.fs, &l);
	ck_assert_uint_eq(p.fs->damage, 0);
	ck_assert_uint_eq(alloc_reserved(p.fs), 0);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/landing", a_hole_takes_the_blocks, data_come_first, a_stream_is_one_extent,
	   what_does_not_fit_is_copied, atomic_replaces, a_failure_takes_nothing,
	   odd_appends, a_file_stays_together, device_replaces, promised_blocks_are_replaced,
	   without_space_in_place, privileges_go_first, a_reader_is_waited_for,
	   durable_ones_are_not_flushed, none_where_space_is_short)
