/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_atomic.c - data=atomic: a write is all there or has never been
 *
 * A claim is one write on a file of some shape. It runs under the recorder;
 * then the power goes in front of each of its fences and behind the last, the
 * daemon dies between any two stores, and what is left is mounted: the file
 * holds what it held before, or what it should hold now, byte for byte, and
 * the pool is whole. Free blocks are full of OLD bytes, the bytes that a write
 * replaced are in free blocks too, so nothing wrong looks right by chance.
 *
 * The same is claimed, with data=ordered, of a write whose payload a device has
 * brought into free blocks (op_land_for), as long as there is space for that.
 */
#include <errno.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>

#include "copy/copy.h"
#include "meta/extent.h"
#include "meta/verify.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)
#define BLK	4096ull
#define MIB	(1ull << 20)
#define OLD	0xee
#define LOOK	(6 * MIB)	/* files here are smaller */
#define IMAGES	5u		/* per fence */
#define KILLS	4u		/* deaths of the daemon looked at per write */

static struct pool p;
static uint64_t f;
static bool lands;		/* payloads come by a device */

static struct content { uint64_t size; uint8_t *b; } before, after, is;

static void look(const struct op_ctx *c, uint64_t node, struct content *to)
{
	size_t got;

	ck_assert_int_eq(op_pread(c, node, to->b, LOOK, 0, &got), 0);
	to->size = got;
}

static bool same(const struct content *a, const struct content *b)
{
	return a->size == b->size && !memcmp(a->b, b->b, a->size);
}

static void start(void)
{
	pool_make(&p, SIZE);
	pool_set_data(&p, lands ? FS_DATA_ORDERED : FS_DATA_ATOMIC);
	before.b = calloc(3, LOOK);
	after.b = before.b + LOOK;
	is.b = after.b + LOOK;
	pool_soil(&p, OLD);
	f = pool_file(&p, ROOT, "f");
}

static void end(void)
{
	free(before.b);
	pool_end(&p);
	lands = false;
}

/* ---- images ---------------------------------------------------------------------- */

static void problem(void *arg, const struct verify_problem *v)
{
	ck_abort_msg("event %zu: kind %d, inode %llu: %s", *(size_t *)arg, (int)v->kind,
		     (unsigned long long)v->ino, v->text);
}

/* True: the write has happened. */
static bool check_image(uint8_t *image, size_t at)
{
	struct pm_mem mem = { .size = SIZE, .buf = image };
	struct fs_options opt = {
		.no_background = true, .granularity = -1, .data = FS_DATA_ATOMIC,
		.backend = &pm_backend_mem, .backend_arg = &mem,
	};
	struct op_ctx c = { .fs = NULL };
	struct verify_result res;
	struct op_entry e;
	bool new;

	ck_assert_int_eq(fs_open(&c.fs, "image", &opt), 0);
	ck_assert_int_eq(fs_checkpoint(c.fs), 0);
	ck_assert_int_eq(verify_fs(c.fs, problem, &at, NULL, &res), 0);
	ck_assert_int_eq(op_lookup(&c, ROOT, "f", 1, &e), 0);
	look(&c, e.nodeid, &is);
	new = same(&is, &after);
	ck_assert_msg(new || same(&is, &before),
		      "event %zu: the file (%llu bytes) is neither old (%llu) nor new (%llu)", at,
		      (unsigned long long)is.size, (unsigned long long)before.size,
		      (unsigned long long)after.size);
	fs_crash(c.fs);
	return new;
}

static bool in_log(uint64_t off)
{
	const struct geometry *g = &p.fs->geo;

	return off >= blk_off(g->lanes_blk) &&
	       off < blk_off(g->lanes_blk) + (uint64_t)g->nr_lanes * g->lane_size;
}

/* Image k in front of event at. From 3 on the record arrived whole and the data
 * did not (3) or in part. */
static void make_image(struct rec_walk *w, size_t at, unsigned k, uint8_t *image)
{
	static const enum rec_engine engine[] = { REC_NONE, REC_ALL, REC_RANDOM };
	uint64_t seed = at * 8 + k;
	size_t i, n = rec_walk_nr_pending(w);

	if (k < 3) {
		rec_walk_image(w, engine[k], seed, image);
		return;
	}
	memcpy(image, rec_walk_durable(w), SIZE);
	for (i = 0; i < n; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		if (in_log(rec_walk_pending(w, i).off))
			rec_walk_patch(w, i, 0xff, image);
		else if (k > 3)
			rec_walk_patch(w, i, (uint8_t)(seed >> 33), image);
	}
}

/* Images [from, to) in front of event at; how many of them have the write. */
static unsigned images(struct rec_walk *w, size_t at, unsigned from, unsigned to,
		       uint8_t *image)
{
	unsigned k, new = 0;

	rec_walk_to(w, at);
	for (k = from; k < to; k++) {
		make_image(w, at, k, image);
		new += check_image(image, at);
	}
	return new;
}

static void explore(void)
{
	size_t at, last = rec_now(p.rec), step = last / KILLS + 1;
	uint8_t *image = pm_mem_map(SIZE);
	struct rec_walk *w = rec_walk_new(p.rec);
	unsigned fences = 0, new;

	for (at = 0; at < last; at++) {
		bool fence = rec_at(p.rec, at)->kind == REC_FENCE;

		if (!fence && at % step)
			continue;
		/* a death: all stores arrived */
		new = fence ? images(w, at, 0, IMAGES, image) : images(w, at, 1, 2, image);
		ck_assert(fences || !new);
		fences += fence;
	}
	ck_assert_uint_eq(fences, 2);
	ck_assert_uint_eq(images(w, last, 0, 3, image), 3);	/* it was acknowledged */
	rec_walk_free(w);
	pm_mem_unmap(image, SIZE);
}

/* ---- claims ------------------------------------------------------------------------ */

/* Bytes that differ from write to write and from block to block. */
static uint8_t *pattern(size_t len)
{
	static uint8_t buf[MIB];
	static unsigned nr;
	size_t i;

	nr += 37;
	for (i = 0; i < len; i++)
		buf[i] = (uint8_t)(1 + (i + i / BLK * 11 + nr) % 200);
	return buf;
}

/* False: there is too little space to have it land. */
static bool put_landed(uint64_t pos, const uint8_t *buf, size_t len)
{
	struct landing land;
	struct payload pl;
	size_t done;

	if (!op_land_for(&p.c, f, pos, len, &land))
		return false;
	memcpy(pm_window(p.fs->pm, land.off, len), buf, len);
	pm_window_done(p.fs->pm, land.off, len);
	pl = payload_landed(p.fs->pm, NULL, 0, &land);
	ck_assert_int_eq(op_write(&p.c, f, pos, &pl, 0, &done), 0);
	ck_assert_uint_eq(done, len);
	op_land_put(p.fs, &land);
	return true;
}

static void claim(uint64_t pos, size_t len)
{
	const uint8_t *buf = pattern(len);
	bool landed;

	look(&p.c, f, &before);
	memset(after.b, 0, LOOK);
	memcpy(after.b, before.b, before.size);
	memcpy(after.b + pos, buf, len);
	after.size = max64(before.size, pos + len);
	ck_assert_int_eq(fs_checkpoint(p.fs), 0);
	rec_log(p.rec, true);
	landed = lands && put_landed(pos, buf, len);
	if (!landed)
		pool_write(&p, f, pos, buf, len);
	look(&p.c, f, &is);
	ck_assert_msg(same(&is, &after), "%zu bytes at %llu: not what was written", len,
		      (unsigned long long)pos);
	if (landed == lands)
		explore();
	rec_log(p.rec, false);
}

/* All of it or -ENOSPC, and then nothing. True: it was written. */
static bool attempt(uint64_t pos, size_t len)
{
	const uint8_t *buf = pattern(len);
	uint64_t blocks = pool_settled_blocks(&p);
	struct op_attr a = pool_attr(&p, f), b;
	size_t done;
	int err;

	look(&p.c, f, &before);
	err = pool_try_write(&p, f, pos, buf, len, &done);
	if (!err) {
		ck_assert_uint_eq(done, len);
		pool_expect(&p, f, pos, buf, len);
		return true;
	}
	ck_assert_int_eq(err, -ENOSPC);
	ck_assert_uint_eq(done, 0);
	look(&p.c, f, &is);
	ck_assert(same(&is, &before));
	b = pool_attr(&p, f);
	ck_assert_int_eq(a.mtime.sec, b.mtime.sec);
	ck_assert_uint_eq(a.blocks512, b.blocks512);
	ck_assert_uint_eq(pool_settled_blocks(&p), blocks);
	return false;
}

/* ---- shapes ------------------------------------------------------------------------ */

static void put(uint64_t pos, size_t len)
{
	size_t n;

	for (; len; pos += n, len -= n) {
		n = min64(len, MIB);
		pool_write(&p, f, pos, pattern(n), n);
	}
}

static void reserve(uint64_t blk, uint64_t nr, uint32_t mode)
{
	ck_assert_int_eq(op_fallocate(&p.c, f, blk * BLK, nr * BLK, mode), 0);
}

static void punch(uint64_t node, uint64_t blk)
{
	ck_assert_int_eq(op_fallocate(&p.c, node, blk * BLK, BLK,
				      FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE), 0);
}

/* Backwards, so that no two blocks are neighbours in the pool, too. */
static void singles(uint64_t blk, uint64_t nr, uint64_t step)
{
	while (nr--)
		put((blk + nr * step) * BLK, BLK);
}

/* Free space in pieces of a block. g holds the rest. */
static void fragment(void)
{
	uint64_t g = pool_file(&p, ROOT, "g"), blk, n = 0;
	size_t done;

	while (!pool_try_write(&p, g, n * BLK, pattern(BLK), BLK, &done))
		n++;
	for (blk = 0; blk < n; blk += 2)
		punch(g, blk);
}

/* A test of each of the two kinds. */
#define SHAPE(name)							\
static void name##_shape(void);						\
START_TEST(name) { name##_shape(); } END_TEST				\
START_TEST(name##_landed) { lands = true; name##_shape(); } END_TEST	\
static void name##_shape(void)

static const size_t small[] = { 1, 7, 63, 65 };

/* Around the edges of block blk. */
static void edges(uint64_t blk)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(small); i++)
		claim(blk * BLK + small[i], small[ARRAY_SIZE(small) - 1 - i]);
	claim((blk + 1) * BLK - 65, 65);
	claim((blk + 1) * BLK - 1, 2);
	claim(blk * BLK + 7, BLK);
	claim((blk + 1) * BLK - 63, BLK + 65);
	claim(blk * BLK, BLK);
}

SHAPE(an_empty_file)
{
	unsigned i;

	start();
	claim(0, 1);
	for (i = 0; i < ARRAY_SIZE(small); i++) {
		ck_assert_int_eq(pool_truncate(&p, f, 0), 0);
		claim(small[i] * 100, small[i]);
	}
	ck_assert_int_eq(pool_truncate(&p, f, 0), 0);
	claim(3 * BLK + 65, 2 * BLK);
	ck_assert_int_eq(pool_truncate(&p, f, 0), 0);
	claim(0, 3 * BLK);
	end();
}

SHAPE(one_block)
{
	start();
	put(0, BLK);
	edges(0);
	end();
}

SHAPE(less_than_a_block)
{
	start();
	put(0, 100);
	claim(50, 50);
	claim(10, 7);
	claim(99, 2);			/* over the end, in the block */
	claim(101, 63);			/* at the end: in place */
	claim(200, 65);			/* behind the end, in the block */
	claim(63, 2 * BLK);		/* over the end and the block */
	claim(3 * BLK, 1);		/* leaves a tail and a hole */
	end();
}

SHAPE(one_long_extent)
{
	start();
	put(0, 64 * BLK);
	edges(10);
	claim(20 * BLK + 1, 20 * BLK);
	claim(63 * BLK + 7, BLK - 8);
	claim(63 * BLK, 2 * BLK + 1);	/* over the end */
	claim(65 * BLK, 65);		/* behind the tail, in its block */
	claim(0, 66 * BLK);
	end();
}

SHAPE(many_short_extents)
{
	start();
	singles(0, 40, 1);
	edges(10);
	claim(3 * BLK + 65, 20 * BLK);
	claim(39 * BLK + 1, 3 * BLK);
	claim(0, 50 * BLK);
	end();
}

SHAPE(holes)
{
	start();
	put(0, BLK);
	put(5 * BLK, 2 * BLK);
	put(9 * BLK, 10);
	edges(2);
	edges(4);
	claim(63, 9 * BLK);
	claim(20 * BLK + 7, 65);
	claim(9 * BLK + 5, 12 * BLK);
	end();
}

SHAPE(unwritten_blocks)
{
	uint64_t blocks;

	start();
	reserve(0, 8, 0);
	put(3 * BLK + 7, 10);
	blocks = pool_settled_blocks(&p);
	edges(1);			/* 1 is unwritten, then written */
	edges(4);
	claim(2 * BLK + 1, 5 * BLK);	/* both */
	reserve(10, 4, FALLOC_FL_KEEP_SIZE);
	claim(9 * BLK, BLK + 63);
	claim(11 * BLK + 65, 2 * BLK);	/* behind the end */
	reserve(2, 3, FALLOC_FL_ZERO_RANGE);
	claim(BLK + 7, 6 * BLK);
	/* the file has grown by 6, and may have got a tree */
	ck_assert_uint_ge(pool_settled_blocks(&p) + 7, blocks);
	end();
}

SHAPE(written_and_unwritten_in_turn)
{
	unsigned i;

	start();
	reserve(0, 40, 0);
	for (i = 0; i < 40; i += 2)
		put(i * BLK + 1000, 2000);
	claim(4 * BLK + 1, 8 * BLK);
	claim(BLK + 65, 37 * BLK);
	end();
}

SHAPE(a_pending_truncation)
{
	start();
	singles(0, 200, 2);
	ck_assert_int_eq(pool_truncate(&p, f, 3 * BLK + 5), 0);
	claim(3 * BLK, 10);
	claim(2 * BLK + 1, 9 * BLK);
	end();
}

SHAPE(a_tree)
{
	start();
	singles(0, 300, 2);
	edges(300);
	claim(100 * BLK + 1, 200 * BLK);
	claim(0, MIB);
	claim(290 * BLK + 63, MIB);
	end();
}

/* Behind a full leaf, keys that come backwards get a leaf each. */
START_TEST(leaves_of_one_extent)
{
	start();
	fragment();
	for (unsigned i = 0; i < 203; i++)
		put(2 * i * BLK, BLK);
	singles(500, 300, 1);
	claim(510 * BLK + 1, 3 * BLK);
	claim(520 * BLK + 65, MIB);		/* old and new in pieces of a block */
	claim(500 * BLK, MIB);
	end();
}
END_TEST

SHAPE(a_mebibyte)
{
	start();
	claim(0, MIB);
	claim(0, MIB);
	claim(1, MIB);
	claim(MIB - 63, MIB - 4096);
	claim(3 * MIB + 65, MIB);
	end();
}

/* 257 extents in as many places, replaced by as many. */
START_TEST(all_in_pieces)
{
	start();
	fragment();
	singles(0, 280, 1);
	claim(5 * BLK + 7, MIB);
	claim(0, MIB);
	reserve(300, 257, 0);
	claim(300 * BLK + 63, MIB);
	claim(280 * BLK + 1, MIB);
	end();
}
END_TEST

/* ---- shapes by chance ---------------------------------------------------------------- */

static uint64_t rng;

static uint64_t rnd(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % n;
}

static void some_change(uint64_t range)
{
	uint64_t pos = rnd(range), len = 1 + rnd(min64(range - pos, 5 * BLK));

	switch (rnd(8)) {
	case 0:
		ck_assert_int_eq(pool_truncate(&p, f, pos), 0);
		break;
	case 1:
		reserve(pos / BLK, 1 + len / BLK, rnd(2) ? 0 : FALLOC_FL_KEEP_SIZE);
		break;
	case 2:
		ck_assert_int_eq(op_fallocate(&p.c, f, pos, len, FALLOC_FL_PUNCH_HOLE |
					      FALLOC_FL_KEEP_SIZE), 0);
		break;
	case 3:
		reserve(pos / BLK, 1, FALLOC_FL_ZERO_RANGE);
		break;
	default:
		put(pos, len);
	}
}

static void by_chance(uint64_t seed)
{
	uint64_t range, pos;
	unsigned i, k;

	start();
	rng = seed;
	for (i = 0; i < 12; i++) {
		range = rnd(3) ? 30 * BLK : 500 * BLK;
		for (k = 0; k < 20; k++)
			some_change(range);
		pos = rnd(range);
		claim(pos, 1 + rnd(rnd(2) ? 300 : 20 * BLK));
	}
	end();
}

START_TEST(by_chance_1) { by_chance(0x9e3779b97f4a7c15ull); } END_TEST
START_TEST(by_chance_2) { by_chance(0xbf58476d1ce4e5b9ull); } END_TEST

START_TEST(by_chance_landed)
{
	lands = true;
	by_chance(0x94d049bb133111ebull);
}
END_TEST

/* ---- no space ------------------------------------------------------------------------- */

START_TEST(a_full_pool_keeps_the_old_bytes)
{
	uint64_t g, n = 0;
	unsigned k;
	size_t done;

	start();
	put(0, 512 * BLK);
	g = pool_file(&p, ROOT, "g");
	while (!pool_try_write(&p, g, n * BLK, pattern(BLK), BLK, &done))
		n++;
	ck_assert(!attempt(0, 1));
	ck_assert(!attempt(100 * BLK + 5, MIB));
	ck_assert(!attempt(512 * BLK - 10, 20));
	/* with k blocks to spare: just that many can be replaced, or one less
	 * where the map of the file needs a node */
	for (k = 1; k < 40; k++) {
		punch(g, 2 * k);
		ck_assert(!attempt(3 * k * BLK + 1, k * BLK + BLK));
		ck_assert(attempt(3 * k * BLK + 1, (k > 2 ? k - 2 : 1) * BLK - 1) || k < 3);
	}
	pool_verify(&p);
	ck_assert_int_eq(pool_truncate(&p, g, 0), 0);
	ck_assert(attempt(100 * BLK + 5, MIB));
	end();
}
END_TEST

/* Every number of free blocks, in pieces, while the map of the file grows too. */
START_TEST(no_space_anywhere)
{
	uint64_t g, n = 0, i;
	unsigned good = 0;
	size_t done;

	start();
	put(0, 900 * BLK);
	g = pool_file(&p, ROOT, "g");
	while (!pool_try_write(&p, g, n * BLK, pattern(BLK), BLK, &done))
		n++;
	for (i = 0; i < 120; i++) {
		punch(g, 2 * i);
		good += attempt((i * 7 % 880) * BLK + 100, (i % 5 + 1) * BLK);
	}
	ck_assert_uint_gt(good, 20);
	pool_verify(&p);
	end();
}
END_TEST

/* What fallocate has promised does not need space. */
START_TEST(reserved_blocks_can_be_written)
{
	uint64_t g, n = 0;
	size_t done;

	start();
	reserve(0, 300, 0);
	g = pool_file(&p, ROOT, "g");
	while (!pool_try_write(&p, g, n * BLK, pattern(BLK), BLK, &done))
		n++;
	ck_assert(attempt(0, MIB));
	ck_assert(attempt(256 * BLK, 44 * BLK));
	ck_assert(!attempt(0, 1));
	end();
}
END_TEST

START_TEST(limits)
{
	struct payload pl;
	size_t done;

	start();
	pl = payload_mem(pattern(MIB), OP_WRITE_MAX + 1);
	ck_assert_int_eq(op_write(&p.c, f, 0, &pl, 0, &done), -EINVAL);
	ck_assert_uint_eq(pl.len, OP_WRITE_MAX + 1);
	ck_assert_uint_eq(pool_attr(&p, f).size, 0);
	/* the largest size of a file cuts a write, as POSIX has it */
	ck_assert_int_eq(pool_try_write(&p, f, PMEMFS_MAX_SIZE - 5, pattern(10), 10, &done), 0);
	ck_assert_uint_eq(done, 5);
	ck_assert_int_eq(pool_try_write(&p, f, PMEMFS_MAX_SIZE, pattern(10), 10, &done), -EFBIG);
	ck_assert_int_eq(pool_try_write(&p, f, 0, pattern(1), 0, &done), 0);
	ck_assert_uint_eq(done, 0);
	end();
}
END_TEST

/* Changes of n whole blocks in one record. */
static int change_blocks(unsigned n)
{
	struct txn *t = txn_begin(p.fs, PMEMFS_OP_WRITE);
	struct run r;
	uint8_t *b;

	txn_uncut(t);
	while (n--) {
		ck_assert_int_eq(txn_alloc(t, TXN_META, 0, 0, 1, 1, &r), 0);
		b = txn_new(t, r.blk * BLK, BLK);
		if (b)
			memset(b, 0x11, BLK);
	}
	return txn_commit(t);
}

static int free_runs(unsigned n)
{
	struct txn *t = txn_begin(p.fs, PMEMFS_OP_WRITE);
	struct extent e;
	struct inode *ip;
	int err = 0;

	txn_uncut(t);
	ck_assert_int_eq(inode_get(p.fs, f, &ip), 0);
	while (n && !err) {
		ck_assert_int_eq(extent_at(t, ip, --n, &e), 0);
		err = txn_free(t, TXN_DATA, (struct run){ e.pool, 1 });
	}
	inode_put(ip);
	txn_abort(t);
	return err;
}

/* What one record cannot hold is no bug where the work cannot be cut. */
START_TEST(more_than_a_record)
{
	uint64_t blocks;

	start();
	put(0, (TXN_MAX_RUNS + 1) * BLK);
	blocks = pool_settled_blocks(&p);
	ck_assert_int_eq(change_blocks(TXN_MAX_RECORD / BLK), -ENOSPC);
	ck_assert_int_eq(change_blocks(TXN_MAX_SHADOWS + 1), -ENOSPC);
	ck_assert_int_eq(change_blocks(TXN_MAX_SHADOWS + 1), -ENOSPC);
	ck_assert_int_eq(free_runs(TXN_MAX_RUNS), 0);
	ck_assert_int_eq(free_runs(TXN_MAX_RUNS + 1), -ENOSPC);
	ck_assert_uint_eq(pool_settled_blocks(&p), blocks);
	claim(0, MIB);
	end();
}
END_TEST

#define BOTH(name)	name, name##_landed

CHECK_MAIN("op/atomic", BOTH(an_empty_file), BOTH(one_block), BOTH(less_than_a_block),
	   BOTH(one_long_extent), BOTH(many_short_extents), BOTH(holes),
	   BOTH(unwritten_blocks), BOTH(written_and_unwritten_in_turn),
	   BOTH(a_pending_truncation), BOTH(a_tree), leaves_of_one_extent, BOTH(a_mebibyte),
	   all_in_pieces, by_chance_1, by_chance_2, by_chance_landed,
	   a_full_pool_keeps_the_old_bytes, no_space_anywhere,
	   reserved_blocks_can_be_written, limits, more_than_a_record)
