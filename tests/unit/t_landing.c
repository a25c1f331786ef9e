/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_landing.c - payloads that were received into free blocks
 *
 * Whether the blocks become the file's or are copied from, the file has the
 * bytes, durably, and no block is lost.
 */
#include <errno.h>
#include <string.h>

#include "base/count.h"
#include "copy/copy.h"
#include "meta/alloc.h"
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
	ck_assert_uint_eq(count_sum(pm_counters(p.fs->pm), COUNT_LANDED) - before,
			  taken > SPLIT ? min64(taken, len) - SPLIT : 0);
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
	land_at(3 * AREA - 10 * BLK, AREA, 10 * BLK);	/* hole, bytes, hole */
	pool_fill(&p, f, 5 * AREA, 'x', BLK);
	land_at(5 * AREA, AREA, 0);			/* bytes, hole */
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

START_TEST(none_where_space_is_short)
{
	struct landing l;

	start();
	ck_assert(op_land_get(p.fs, AREA, &l));
	op_land_put(p.fs, &l);
	ck_assert(!op_land_get(p.fs, SIZE / 32, &l));
	ck_assert_uint_eq(l.len, 0);
	ck_assert_uint_eq(alloc_reserved(p.fs), 0);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/landing", a_hole_takes_the_blocks, data_come_first, a_stream_is_one_extent,
	   what_does_not_fit_is_copied, atomic_replaces, a_failure_takes_nothing,
	   none_where_space_is_short)
