/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_badlist.c - bad memory that the pool itself remembers (badlist.h)
 *
 * The pool in memory is told of bad blocks when it is opened, as the kernel
 * would; they can be read all the same.
 */
#include <errno.h>
#include <string.h>

#include "meta/badlist.h"
#include "meta/verify.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)
#define BLK	4096u
#define FREE	3000u			/* a block that nobody uses */
#define IMAGES	6u			/* at each point */

static struct pool p;
static struct pm_backend backend;
static struct pm_range bad[2 * PMEMFS_BAD_MAX];
static unsigned nr_bad;
static bool holes;

static int open_bad(struct pm_map *m, const char *path, const struct pm_config *cfg)
{
	int err = pm_backend_record.open(m, path, cfg);

	if (err)
		return err;
	m->bad = bad;
	m->nr_bad = nr_bad;
	m->holes = holes;
	return 0;
}

static void begin(void)
{
	nr_bad = 0;
	holes = false;
	pool_make(&p, SIZE);
	backend = pm_backend_record;
	backend.open = open_bad;
	p.opt.backend = &backend;
	pool_remount(&p);
}

static void know(uint64_t blk, uint64_t len)
{
	bad[nr_bad++] = (struct pm_range){ blk_off(blk), blk_off(len) };
}

static const struct pmemfs_badblocks *list(const uint8_t *pool)
{
	return (const void *)(pool + blk_off(PMEMFS_BLK_BADBLOCKS));
}

static unsigned nr_listed(void) { return get32(list(p.mem.buf)->nr); }

static bool is_used(const uint8_t *pool, uint64_t blk)
{
	const uint8_t *map = pool + blk_off(p.fs->geo.bitmap_blk);

	return map[blk / 8] >> blk % 8 & 1;
}

/* Appends until there is no more; the bytes written. */
static uint64_t fill(uint64_t node)
{
	static const uint8_t buf[64 * BLK];
	uint64_t size = 0;
	size_t done;
	int err;

	do {
		err = pool_try_write(&p, node, size, buf, sizeof(buf), &done);
		size += done;
	} while (!err && done == sizeof(buf));
	return size;
}

START_TEST(a_free_block_is_remembered)
{
	uint64_t before, file;

	begin();
	ck_assert(!is_used(p.mem.buf, FREE));
	before = pool_settled_blocks(&p);
	know(FREE, 2);
	know(FREE + 2, 1);
	pool_remount(&p);
	pool_unmount(&p);			/* nobody asked for a block */
	nr_bad = 0;				/* the kernel forgets */
	pool_mount(&p);
	ck_assert_uint_eq(nr_listed(), 1);	/* neighbours share a run */
	ck_assert_uint_eq(get64(list(p.mem.buf)->run[0].blk), FREE);
	ck_assert_uint_eq(get64(list(p.mem.buf)->run[0].len), 3);
	ck_assert_uint_eq(pool_settled_blocks(&p), before - 3);
	file = pool_file(&p, ROOT, "full");
	memset((uint8_t *)p.mem.buf + blk_off(FREE), 'x', 3 * BLK);
	fill(file);
	for (unsigned i = 0; i < 3 * BLK; i++)
		ck_assert(((uint8_t *)p.mem.buf)[blk_off(FREE) + i] == 'x');
	pool_end(&p);
}
END_TEST

START_TEST(a_block_in_use_is_its_files_until_freed)
{
	uint64_t f, blk = 0;

	begin();
	f = pool_file(&p, ROOT, "f");
	pool_fill(&p, f, 0, 'f', BLK);
	for (uint64_t b = p.fs->geo.data_blk; !blk && b < p.fs->geo.nr_blocks; b++)
		if (((uint8_t *)p.mem.buf)[blk_off(b)] == 'f' &&
		    ((uint8_t *)p.mem.buf)[blk_off(b) + BLK - 1] == 'f')
			blk = b;
	ck_assert_uint_ne(blk, 0);
	know(blk, 1);
	pool_remount(&p);
	pool_remount(&p);
	ck_assert_uint_eq(nr_listed(), 0);
	pool_verify(&p);
	pool_find(&p, ROOT, "f");
	pool_file(&p, ROOT, "g");
	pool_fill(&p, pool_find(&p, ROOT, "g"), 0, 'g', BLK);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), 0);
	pool_remount(&p);
	ck_assert_uint_eq(nr_listed(), 1);
	ck_assert_uint_eq(get64(list(p.mem.buf)->run[0].blk), blk);
	pool_end(&p);
}
END_TEST

START_TEST(a_full_list_stops_growing)
{
	begin();
	for (unsigned i = 0; i < PMEMFS_BAD_MAX + 20; i++)
		know(FREE + 2 * i, 1);
	pool_remount(&p);
	pool_remount(&p);
	ck_assert_uint_eq(nr_listed(), PMEMFS_BAD_MAX);
	pool_verify(&p);
	fill(pool_file(&p, ROOT, "full"));
	pool_remount(&p);
	ck_assert_uint_eq(nr_listed(), PMEMFS_BAD_MAX);
	pool_end(&p);
}
END_TEST

START_TEST(what_can_be_read_again_is_given_back)
{
	uint64_t before, n;

	begin();
	before = pool_settled_blocks(&p);
	know(FREE, 2);
	know(FREE + 10, 3);
	know(FREE + 20, 4);
	pool_remount(&p);
	pool_remount(&p);
	ck_assert_uint_eq(nr_listed(), 3);
	ck_assert_int_eq(badlist_review(p.fs, &n), 0);
	ck_assert_uint_eq(n, 0);
	bad[0] = bad[1];			/* the middle one stays bad */
	nr_bad = 1;
	pool_remount(&p);
	ck_assert_int_eq(badlist_review(p.fs, &n), 0);
	ck_assert_uint_eq(n, 6);
	ck_assert_uint_eq(nr_listed(), 1);
	ck_assert_uint_eq(get64(list(p.mem.buf)->run[0].blk), FREE + 10);
	ck_assert_uint_eq(pool_settled_blocks(&p), before - 3);
	ck_assert(!is_used(p.mem.buf, FREE));
	nr_bad = 0;
	pool_end(&p);
}
END_TEST

START_TEST(holes_are_not_bad_memory)
{
	begin();
	know(FREE, 1);
	holes = true;
	pool_remount(&p);
	pool_remount(&p);
	ck_assert_uint_eq(nr_listed(), 0);
	nr_bad = 0;
	pool_end(&p);
}
END_TEST

START_TEST(a_damaged_list_is_left_alone)
{
	begin();
	know(FREE, 1);
	pool_remount(&p);
	((uint8_t *)p.mem.buf)[blk_off(PMEMFS_BLK_BADBLOCKS) + 40] ^= 1;
	ck_assert_int_eq(badlist_record(p.fs, NULL), -EUCLEAN);
	ck_assert(!is_used(p.mem.buf, FREE));
	fs_crash(p.fs);
	rec_free(p.rec);
	pm_mem_free(&p.mem);
}
END_TEST

/* ---- power cuts ------------------------------------------------------------------ */

static void problem(void *arg, const struct verify_problem *v)
{
	ck_abort_msg("event %zu: %s", *(size_t *)arg, v->text);
}

/* B1: on the list and used, or neither. Returns which. */
static bool look(uint8_t *image, size_t at)
{
	struct pm_mem mem = { .size = SIZE, .buf = image };
	struct fs_options opt = {
		.no_background = true, .granularity = -1,
		.backend = &pm_backend_mem, .backend_arg = &mem,
	};
	struct verify_result res;
	struct fs *fs;
	bool listed;

	ck_assert_int_eq(fs_open(&fs, "image", &opt), 0);
	ck_assert_int_eq(fs_checkpoint(fs), 0);
	ck_assert_int_eq(verify_fs(fs, problem, &at, NULL, &res), 0);
	listed = get32(list(image)->nr) == 1;
	ck_assert_uint_eq(is_used(image, FREE), listed);
	fs_crash(fs);
	return listed;
}

/* What is recorded now, cut before every event; *listed: images that have it. */
static unsigned cut(unsigned *listed)
{
	struct rec_walk *w = rec_walk_new(p.rec);
	size_t at, last = rec_now(p.rec);
	uint8_t *image = pm_mem_map(SIZE);
	unsigned n = 0;

	*listed = 0;
	for (at = 0; at <= last; at++) {
		rec_walk_to(w, at);
		for (unsigned k = 0; k < IMAGES; k++, n++) {
			rec_walk_image(w, k == 0 ? REC_NONE : k == 1 ? REC_ALL : REC_RANDOM,
				       at * IMAGES + k, image);
			*listed += look(image, at);
		}
	}
	rec_walk_free(w);
	pm_mem_unmap(image, SIZE);
	rec_log(p.rec, false);
	return n;
}

START_TEST(a_power_cut_leaves_both_or_neither)
{
	unsigned n, listed;
	uint64_t blocks;

	begin();
	know(FREE, 2);
	pool_remount(&p);
	rec_log(p.rec, true);
	ck_assert_int_eq(badlist_record(p.fs, &blocks), 0);
	ck_assert_uint_eq(blocks, 2);
	ck_assert_int_eq(fs_checkpoint(p.fs), 0);
	n = cut(&listed);
	ck_assert_uint_gt(listed, 0);
	ck_assert_uint_lt(listed, n);
	nr_bad = 0;
	pool_remount(&p);
	rec_log(p.rec, true);
	ck_assert_int_eq(badlist_review(p.fs, &blocks), 0);
	ck_assert_uint_eq(blocks, 2);
	ck_assert_int_eq(fs_checkpoint(p.fs), 0);
	n = cut(&listed);
	ck_assert_uint_gt(listed, 0);
	ck_assert_uint_lt(listed, n);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("meta/badlist", a_free_block_is_remembered, a_block_in_use_is_its_files_until_freed,
	   a_full_list_stops_growing, what_can_be_read_again_is_given_back,
	   holes_are_not_bad_memory, a_damaged_list_is_left_alone,
	   a_power_cut_leaves_both_or_neither)
