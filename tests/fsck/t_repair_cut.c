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
#include "support/site.h"

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

/* All has arrived but what was stored first. */
static void all_but_first(struct rec_walk *w)
{
	size_t i, n = rec_walk_nr_pending(w);
	struct rec_line first = { .event = SIZE_MAX }, l;

	rec_walk_image(w, REC_ALL, 0, lab.mem.buf);
	for (i = 0; i < n; i++) {
		l = rec_walk_pending(w, i);
		if (l.event < first.event)
			first = l;
	}
	if (n)
		memcpy(at(&lab, first.off), rec_walk_durable(w) + first.off, PMEMFS_LINE);
}

enum engine { E_RANDOM, E_NONE, E_ALL, E_BUT_FIRST };

/* The things that are whole after a cut there and a second repair. */
static uint32_t after_cut(struct rec_walk *w, size_t event, enum engine engine, const char *name)
{
	char what[80];
	uint32_t whole;

	snprintf(what, sizeof(what), "%s cut at event %zu, engine %d", name, event, (int)engine);
	if (engine == E_BUT_FIRST)
		all_but_first(w);
	else
		rec_walk_image(w, engine == E_ALL ? REC_ALL : engine == E_NONE ? REC_NONE :
			       REC_RANDOM, event, lab.mem.buf);
	whole = repair_plainly(what);
	if (engine == E_RANDOM)
		lab_again(what);
	return whole;
}

/* What every cut leaves. */
static uint32_t cut_everywhere(struct pm_rec *rec, const char *name)
{
	struct rec_walk *w = rec_walk_new(rec);
	size_t i, end = rec_now(rec), step = end / BETWEEN + 1;
	uint32_t whole = T_ALL;

	for (i = 1; i <= end; i++) {
		bool fence = i < end && rec_at(rec, i)->kind == REC_FENCE;

		if (!fence && i % step && i != end)
			continue;
		rec_walk_to(w, i);
		whole &= after_cut(w, i, E_RANDOM, name);
		if (fence) {
			whole &= after_cut(w, i, i % 2 ? E_NONE : E_ALL, name);
			whole &= after_cut(w, i, E_BUT_FIRST, name);
		}
	}
	rec_walk_free(w);
	return whole;
}

/* Repair it on the recorder; a place in the program may be silent. */
static uint32_t cut_repair(const struct recipe *d, const struct pm_site *silent)
{
	struct pm_rec *rec = rec_new(&pm_backend_mem, &lab.mem);
	struct repair_options opt = {
		.peek = &pm_backend_mem, .peek_arg = &lab.mem,
		.backend = &pm_backend_record, .backend_arg = rec,
	};
	struct repair_result res;
	struct repair *r;
	uint32_t whole;

	lab_start(d->end);
	d->damage(&lab);
	r = lab_try(&opt, &res);
	rec_mutate(rec, silent);
	ck_assert_int_eq(repair_write(r), 0);
	repair_free(r);
	if (!silent)
		ck_assert_uint_eq(rec_uncovered(rec, NULL), 0);
	whole = cut_everywhere(rec, d->name);
	rec_free(rec);
	return whole;
}

static void one_recipe(const struct recipe *d)
{
	uint32_t whole, now;

	lab_start(d->end);
	d->damage(&lab);
	whole = repair_plainly(d->name);
	now = cut_repair(d, NULL);
	ck_assert_msg(!(whole & ~now), "%s: %x are whole, and only %x after a cut", d->name,
		      whole, now);
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

/*
 * Each flush and fence of repair_log.c is needed: without it some cut loses
 * something. (The program is linked from objects that site.h numbered.)
 */
START_TEST(silence)
{
	const struct recipe *d = recipe_of("leaf_names");
	const struct pm_site *s;
	unsigned n = 0;

	lab_open();
	for (s = __start_pm_sites; s < __stop_pm_sites; s++) {
		if (!strstr(s->file, "repair_log.c"))
			continue;
		n++;
		ck_assert_msg(cut_repair(d, s) != T_ALL, "%s:%d: nothing shows that it is silent",
			      s->func, s->line);
	}
	ck_assert_uint_eq(n, 2);
}
END_TEST

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

CHECK_MAIN("repair_cut", power_cut_boot, power_cut_inodes, power_cut_trees, silence,
	   interrupt)
