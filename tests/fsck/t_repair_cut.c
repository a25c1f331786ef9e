/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_repair_cut.c - a repair that is cut short loses nothing
 *
 * The repair runs on the recorder. At every fence, at some places between
 * them, and with what a power cut could leave in flight, the pool is repaired
 * again: it must become whole, and hold all that the undisturbed repair kept.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fsck/lab.h"
#include "fsck/recipes.h"
#include "support/check_main.h"
#include "support/pm_record.h"

#define BETWEEN		3u		/* places between fences, in all */

static const char *const cut[] = {
	"slots_power", "log_killed", "log_power", "bitmap_gone", "double", "inode_dir",
	"inodes_garbage", "table_gone", "chunk_lost", "leaf_names", "root_extents", "removed",
};

static const struct recipe *recipe_of(const char *name)
{
	const struct recipe *d;

	for (d = recipes; d->name; d++)
		if (!strcmp(d->name, name))
			return d;
	ck_abort_msg("no recipe %s", name);
}

/* What is whole when nothing comes in between. */
static uint32_t repair_plainly(const char *name)
{
	struct repair_result res;
	struct repair *r = lab_try(NULL, &res);
	uint32_t whole;
	struct fs *fs;

	ck_assert_msg(!res.left && !res.never, "%s: there is no repair", name);
	ck_assert_int_eq(repair_write(r), 0);
	repair_free(r);
	fs = lab_look(name);
	whole = image_whole(fs);
	fs_close(fs);
	return whole;
}

static void one_image(struct rec_walk *w, size_t event, enum rec_engine engine, const char *name,
		      uint32_t whole)
{
	char what[80];
	uint32_t now;

	snprintf(what, sizeof(what), "%s cut at event %zu, engine %d", name, event, (int)engine);
	rec_walk_image(w, engine, event, lab.mem.buf);
	now = repair_plainly(what);
	ck_assert_msg(!(whole & ~now), "%s: %x were whole, %x are", what, whole, now);
	if (engine == REC_RANDOM)
		lab_again(what);
}

static void cut_everywhere(struct pm_rec *rec, const char *name, uint32_t whole)
{
	struct rec_walk *w = rec_walk_new(rec);
	size_t i, end = rec_now(rec), step = end / BETWEEN + 1;

	for (i = 1; i <= end; i++) {
		bool fence = i < end && rec_at(rec, i)->kind == REC_FENCE;

		if (!fence && i % step && i != end)
			continue;
		rec_walk_to(w, i);
		one_image(w, i, REC_RANDOM, name, whole);
		if (fence)
			one_image(w, i, i % 2 ? REC_NONE : REC_ALL, name, whole);
	}
	rec_walk_free(w);
}

static void one_recipe(const struct recipe *d)
{
	struct repair_options opt = { .peek = &pm_backend_mem, .peek_arg = &lab.mem };
	uint8_t *damaged = malloc(IMAGE_SIZE);
	struct repair_result res;
	struct pm_rec *rec;
	struct repair *r;
	uint32_t whole;

	lab_start(d->end);
	d->damage(&lab);
	memcpy(damaged, lab.mem.buf, IMAGE_SIZE);
	whole = repair_plainly(d->name);
	memcpy(lab.mem.buf, damaged, IMAGE_SIZE);
	free(damaged);
	rec = rec_new(&pm_backend_mem, &lab.mem);
	opt.backend = &pm_backend_record;
	opt.backend_arg = rec;
	r = lab_try(&opt, &res);
	ck_assert_int_eq(repair_write(r), 0);
	repair_free(r);
	ck_assert_uint_eq(rec_uncovered(rec, NULL), 0);
	cut_everywhere(rec, d->name, whole);
	rec_free(rec);
}

static void some(size_t from, size_t to)
{
	const char *only = getenv("T_REPAIR_ONLY");
	size_t i;

	lab_open();
	for (i = from; i < to; i++)
		if (!only || !strcmp(only, cut[i]))
			one_recipe(recipe_of(cut[i]));
}

START_TEST(power_cut_boot) { some(0, 4); } END_TEST
START_TEST(power_cut_inodes) { some(4, 8); } END_TEST
START_TEST(power_cut_trees) { some(8, ARRAY_SIZE(cut)); } END_TEST

/* ---- an interrupt -------------------------------------------------------------- */

static unsigned stop_at;		/* stop at the nth question; 0: never */

static bool stop_soon(void *arg)
{
	(void)arg;
	return stop_at && !--stop_at;
}

/* Asked to stop at any time, it does, and the next one finishes. */
START_TEST(interrupt)
{
	struct repair_options opt = {
		.backend = &pm_backend_mem, .backend_arg = &lab.mem, .stop = stop_soon,
	};
	const struct recipe *d = recipe_of("inodes_garbage");
	struct repair_result res;
	struct repair *r;
	unsigned n;
	int err = -EINTR;

	lab_open();
	for (n = 1; err == -EINTR; n++) {
		lab_start(d->end);
		d->damage(&lab);
		stop_at = 0;
		r = lab_try(&opt, &res);
		stop_at = n;
		err = repair_write(r);
		ck_assert(!err || err == -EINTR);
		repair_free(r);
		stop_at = 0;
		ck_assert_uint_eq(repair_plainly("interrupted"), T_ALL & ~d->lost);
		lab_again("interrupted");
	}
	ck_assert_uint_ge(n, 3);		/* it had more than one record */
}
END_TEST

CHECK_MAIN("repair_cut", power_cut_boot, power_cut_inodes, power_cut_trees, interrupt)
