/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_crash.c - every operation, cut off anywhere by a loss of power
 *
 * Free space holds old bytes (OLD) before each story begins. The story runs
 * once under the recorder; then, in front of each of its fences, images that
 * power loss could leave are mounted. (What may be missing there includes all
 * that may be missing since the fence before.) Each must be whole (verify),
 * hold the file either before or after the step that was cut, and show no OLD
 * byte.
 */
#include <errno.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "meta/verify.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)
#define OLD	0xee
#define STEPS	8
#define IMAGES	6u		/* per fence */
#define LOOK	(1u << 20)	/* bytes compared; files here are smaller */

static struct pool p;
static uint64_t f;

struct state {			/* of what a story can see, after a step */
	size_t event;
	uint64_t size;
	bool there, in_place;	/* the step overwrote: mixed bytes are allowed */
	uint8_t bytes[LOOK];
};

static struct state *after;	/* STEPS + 1 of them */
static unsigned nr_states;

static void note_state(bool in_place)
{
	struct state *s = &after[nr_states++];
	size_t got;

	s->event = rec_now(p.rec);
	s->in_place = in_place;
	s->there = pool_look(&p, ROOT, "f") == 0;
	if (!s->there)
		return;
	s->size = pool_attr(&p, f).size;
	ck_assert_uint_le(s->size, LOOK);
	ck_assert_int_eq(op_pread(&p.c, f, s->bytes, LOOK, 0, &got), 0);
	ck_assert_uint_eq(got, s->size);
}

static void begin(void)
{
	pool_make(&p, SIZE);
	after = calloc(STEPS + 1, sizeof(*after));
	nr_states = 0;
	f = pool_file(&p, ROOT, "f");
	pool_soil(&p, OLD);
	rec_log(p.rec, true);
	note_state(false);
}

/* ---- looking at an image ------------------------------------------------------- */

static void image_problem(void *arg, const struct verify_problem *v)
{
	ck_abort_msg("event %zu: kind %d, inode %llu: %s", *(size_t *)arg, (int)v->kind,
		     (unsigned long long)v->ino, v->text);
}

/* Is what the image holds the state s? mixed: bytes may be those of t, too. */
static bool is_state(const struct state *s, const struct state *t, bool there,
		     uint64_t size, const uint8_t *bytes)
{
	uint64_t i;

	if (s->there != there || (there && s->size != size))
		return false;
	for (i = 0; there && i < size; i++)
		if (bytes[i] != s->bytes[i] && !(t && t->size > i && bytes[i] == t->bytes[i]))
			return false;
	return true;
}

static void check_file(const struct op_ctx *c, size_t at)
{
	static uint8_t bytes[LOOK];
	const struct state *a, *b;
	struct op_entry e = { .nodeid = 0 };
	unsigned i = 0;
	size_t got = 0;
	bool there = op_lookup(c, ROOT, "f", 1, &e) == 0, ok;

	while (i + 1 < nr_states && after[i + 1].event <= at)
		i++;
	a = &after[i];
	b = i + 1 < nr_states ? &after[i + 1] : a;
	if (there)
		ck_assert_int_eq(op_pread(c, e.nodeid, bytes, LOOK, 0, &got), 0);
	/* A claim that holds costs a message to Check: not one for each byte. */
	for (size_t k = 0; k < got; k++)
		if (bytes[k] == OLD)
			ck_abort_msg("event %zu: byte %zu is an old one", at, k);
	ok = is_state(a, b->in_place ? b : NULL, there, got, bytes) ||
	     is_state(b, b->in_place ? a : NULL, there, got, bytes);
	ck_assert_msg(ok, "event %zu (step %u): size %zu is neither before (%llu) nor after (%llu)",
		      at, i + 1, got, (unsigned long long)a->size, (unsigned long long)b->size);
}

/* Long targets and large values: all of it or nothing. */
static void check_rest(const struct op_ctx *c)
{
	char buf[5000], v[5000];
	struct op_entry e;
	size_t n = 0;

	memset(v, 'v', sizeof(v));
	if (op_lookup(c, ROOT, "s", 1, &e) == 0 && S_ISLNK(e.attr.mode)) {
		ck_assert_int_eq(op_readlink(c, e.nodeid, buf, &n), 0);
		ck_assert_uint_eq(n, 3000);
		ck_assert(!memcmp(buf, v, n));
	}
	if (op_lookup(c, ROOT, "f", 1, &e))
		return;
	switch (op_getxattr(c, e.nodeid, "user.large", buf, sizeof(buf), &n)) {
	case 0:
		ck_assert(n == 5000 || n == 4000);
		ck_assert(!memcmp(buf, v, n));
		break;
	case -ENODATA:
		break;
	default:
		ck_abort_msg("the value is unreadable");
	}
}

static void check_image(uint8_t *image, size_t at)
{
	struct pm_mem mem = { .size = SIZE, .buf = image };
	struct fs_options opt = {
		.no_background = true, .granularity = -1,
		.backend = &pm_backend_mem, .backend_arg = &mem,
	};
	struct verify_result res;
	struct op_ctx c = { .fs = NULL };
	struct fs *fs;

	ck_assert_int_eq(fs_open(&fs, "image", &opt), 0);
	c.fs = fs;
	ck_assert_int_eq(fs_drain(fs), 0);
	ck_assert_int_eq(fs_checkpoint(fs), 0);
	ck_assert_int_eq(verify_fs(fs, image_problem, &at, NULL, &res), 0);
	check_file(&c, at);
	check_rest(&c);
	fs_crash(fs);
}

static bool in_log(uint64_t off)
{
	const struct geometry *g = &p.fs->geo;

	return off >= blk_off(g->lanes_blk) &&
	       off < blk_off(g->lanes_blk) + (uint64_t)g->nr_lanes * g->lane_size;
}

/*
 * Nothing, everything and chance alone rarely hit what matters: a record that
 * arrived whole while the data it speaks of did not.
 */
static void make_image(struct rec_walk *w, size_t at, unsigned k, uint8_t *image)
{
	size_t i, n = rec_walk_nr_pending(w);
	uint64_t seed = at * IMAGES + k;
	struct rec_line line;

	if (k < 3) {
		rec_walk_image(w, k == 0 ? REC_NONE : k == 1 ? REC_ALL : REC_RANDOM, seed, image);
		return;
	}
	memcpy(image, rec_walk_durable(w), SIZE);
	for (i = 0; i < n; i++) {
		line = rec_walk_pending(w, i);
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		if (in_log(line.off))
			rec_walk_patch(w, i, 0xff, image);
		else if (k > 3)		/* 3: none of it */
			rec_walk_patch(w, i, (uint8_t)(seed >> 33), image);
	}
}

static void end(void)
{
	uint8_t *image = pm_mem_map(SIZE);
	struct rec_walk *w = rec_walk_new(p.rec);
	size_t at, last = rec_now(p.rec);
	unsigned k;

	for (at = after[0].event; at <= last; at++) {
		if (at < last && rec_at(p.rec, at)->kind != REC_FENCE)
			continue;
		rec_walk_to(w, at);
		for (k = 0; k < IMAGES; k++) {
			make_image(w, at, k, image);
			check_image(image, at);
		}
	}
	rec_walk_free(w);
	pm_mem_unmap(image, SIZE);
	rec_log(p.rec, false);
	free(after);
	pool_end(&p);
}

#define STEP(call)	do { ck_assert_int_eq(call, 0); note_state(false); } while (0)
#define OVERWRITE(call)	do { ck_assert_int_eq(call, 0); note_state(true); } while (0)

static int put(uint64_t pos, int byte, size_t len)
{
	pool_fill(&p, f, pos, byte, len);
	return 0;
}

/* ---- stories -------------------------------------------------------------------- */

START_TEST(appending)
{
	begin();
	STEP(put(0, 'a', 100));
	STEP(put(100, 'b', 5000));
	STEP(put(20000, 'c', 3));		/* leaves a hole */
	STEP(put(10000, 'f', 10));		/* into it */
	OVERWRITE(put(50, 'd', 6000));		/* in place */
	OVERWRITE(put(4000, 'e', 20000));	/* in place, a hole, and growth */
	end();
}
END_TEST

START_TEST(cutting_and_growing)
{
	begin();
	STEP(put(0, 'a', 30000));
	STEP(pool_truncate(&p, f, 10001));
	STEP(pool_truncate(&p, f, 10500));
	STEP(pool_truncate(&p, f, 60000));
	STEP(pool_truncate(&p, f, 77));
	STEP(put(9999, 'b', 10));
	end();
}
END_TEST

START_TEST(reserving_and_punching)
{
	begin();
	STEP(op_fallocate(&p.c, f, 0, 50000, 0));
	STEP(put(60000, 'a', 10));
	OVERWRITE(put(5000, 'b', 10000));	/* unwritten blocks */
	OVERWRITE(op_fallocate(&p.c, f, 6000, 4000, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE));
	OVERWRITE(op_fallocate(&p.c, f, 100, 14000, FALLOC_FL_ZERO_RANGE));
	OVERWRITE(put(7000, 'c', 300));
	end();
}
END_TEST

START_TEST(names_and_attributes)
{
	char value[5000];
	struct op_entry e;

	memset(value, 'v', sizeof(value));
	begin();
	STEP(put(0, 'a', 5000));
	STEP(op_set_flags(&p.c, f, OP_FL_USER, PMEMFS_FL_DAX, &(uint32_t){ 5 }));
	STEP(op_setxattr(&p.c, f, "user.large", value, sizeof(value), 0));
	STEP(op_symlink(&p.c, ROOT, "s", 1, value, 3000, &e));
	STEP(op_setxattr(&p.c, f, "user.large", value, 4000, 0));
	STEP(pool_rename(&p, ROOT, "f", ROOT, "s", 0));
	STEP(pool_rename(&p, ROOT, "s", ROOT, "f", RENAME_WHITEOUT));
	STEP(pool_unlink(&p, ROOT, "f"));
	end();
}
END_TEST

/* More pieces than one record frees: truncation and eviction take several. */
static void scatter(void)
{
	unsigned i;

	begin();
	for (i = 0; i < 120; i++)
		put(i * 8192, 'p', 10);
	ck_assert_int_eq(fs_checkpoint(p.fs), 0);
	nr_states = 0;
	rec_restart(p.rec);
	note_state(false);
}

START_TEST(freeing_in_steps)
{
	scatter();
	STEP(pool_truncate(&p, f, 20000));
	STEP(put(30000, 'q', 10));		/* finished before it grows again */
	end();
}
END_TEST

START_TEST(freeing_in_steps_at_last)
{
	scatter();
	STEP(pool_unlink(&p, ROOT, "f"));
	pool_forget(&p, f, 1);
	note_state(false);
	end();
}
END_TEST

/* L6: what the medium refused is an error, and nothing is written any more. */
START_TEST(a_refused_record_stops_the_mount)
{
	struct op_entry e;

	pool_make(&p, 16 << 20);
	pool_file(&p, ROOT, "before");
	rec_fail_fence(p.rec, 1);
	ck_assert_int_eq(op_mknod(&p.c, ROOT, "a", 1, S_IFREG | 0644, 0, &e), -EIO);
	rec_fail_fence(p.rec, 0);
	ck_assert(!fs_writable(p.fs));
	ck_assert_int_eq(op_mknod(&p.c, ROOT, "b", 1, S_IFREG | 0644, 0, &e), -EROFS);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "before"), -EROFS);
	ck_assert_int_eq(fs_checkpoint(p.fs), -EROFS);
	ck_assert_int_eq(pool_look(&p, ROOT, "before"), 0);
	pool_crash(&p);
	ck_assert(fs_writable(p.fs));
	ck_assert_int_eq(pool_look(&p, ROOT, "before"), 0);
	ck_assert_int_eq(pool_look(&p, ROOT, "b"), -ENOENT);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/crash", a_refused_record_stops_the_mount, appending,
	   cutting_and_growing, reserving_and_punching,
	   names_and_attributes, freeing_in_steps, freeing_in_steps_at_last)
