/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mutants.c - does it show when a flush or a fence is missing?
 *
 * For every place in the program that asks for one (site.h finds them all) a
 * load is named that turns red when the place is silent. A place that is not
 * in the table, and a line of the table without a place, are failures too, so
 * whoever adds a fence says which crash it prevents. Copies lose the flush that
 * is part of them. "unit/" names a unit test instead, where what is prevented
 * needs three things in turn, which no load here has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "crash/loads.h"
#include "support/site.h"

#define MAX_SITES	256u

/* file:function:kind:number of that kind in the function */
static const struct known {
	const char *site, *load;
} known[] = {
	{ "alloc.c:alloc_derive:flush:1", "one/write_first" },
	{ "checkpoint.c:advance_slots:fence:1", "one/create" },
	{ "checkpoint.c:checkpoint_locked:fence:1", "one/create" },
	{ "checkpoint.c:slot_write:copy:1", "one/create" },
	{ "copy.c:copy_settle:fence:1", "unit/t_op_threads" },
	{ "copy.c:copy_within:copy:1", "atomic/block+over_1" },
	{ "copy.c:copy_zero:copy_zero:1", "one/write_sparse" },
	{ "copy_cpu.c:copy_cpu:copy:1", "one/write_append_blocks" },
	{ "copy_cpu.c:copy_landed:flush:1", "dsa/tree+over_blocks+ordered" },
	{ "copy_pipe.c:take_into:flush:1", "unit/t_copy" },	/* not with lines */
	{ "copy_pipe.c:take_through:copy:1", "one/pipe_append" },
	{ "itable.c:itable_derive:flush:1", "one/create" },
	{ "recover.c:collect:fence:1", "one/create" },
	{ "recover.c:collect:flush:1", "one/link" },
	{ "recover.c:collect:flush:2", "one/link" },
	{ "recover.c:new_epoch:fence:1", "one/create" },
	{ "recover.c:replay:fence:1", "one/create" },
	{ "recover.c:scan_record:flush:1", "one/create" },
	{ "redo.c:redo_commit:copy:1", "one/create" },
	{ "redo.c:redo_commit:fence:1", "one/create" },
	{ "super.c:build:copy_zero:1", "make/mkfs_busy" },
	{ "super.c:mkfs_pool:copy:1", "make/mkfs" },
	{ "super.c:mkfs_pool:copy:2", "make/mkfs" },
	{ "super.c:mkfs_pool:fence:1", "make/mkfs_zeroed" },
	{ "super.c:mkfs_pool:fence:2", "make/mkfs" },
	{ "super.c:mkfs_pool:fence:3", "make/mkfs" },
	{ "super.c:put_chunk:copy:1", "make/mkfs" },
	{ "super.c:put_groups:copy:1", "make/mkfs" },
	{ "super.c:put_groups:copy:2", "make/mkfs" },
	{ "super.c:put_inode:copy:1", "make/mkfs" },
	{ "super.c:put_sealed:copy:1", "make/mkfs" },
	{ "super.c:super_repair:copy:1", "make/mend_primary" },
	{ "super.c:super_repair:fence:1", "make/mend_label" },
	{ "super.c:super_repair:fence:2", "make/mend_primary" },
	{ "super.c:super_repair:flush:1", "make/mend_after_kill" },
	{ "super.c:wipe_supers:copy_zero:1", "make/mkfs" },
	{ "super.c:wipe_supers:copy_zero:2", "make/mkfs" },
	{ "super.c:wipe_supers:copy_zero:3", "make/mkfs_smaller" },
	{ "super.c:wipe_supers:fence:1", "make/mkfs" },
	{ "touched.c:flush_range:flush:1", "one/mkdir_in_e" },
	{ "touched.c:flush_range:flush:2", "one/create" },
	{ "txn.c:commit_record:fence:1", "one/write_first" },
	{ "txn.c:txn_abort:fence:1", "threads/abort+write+12" },
	{ "xattr.c:write_value:copy:1", "one/setxattr_large" },
};

static const char *const kind_name[] = {
	[SITE_FLUSH] = "flush", [SITE_FENCE] = "fence", [SITE_COPY] = "copy",
	[SITE_COPY_ZERO] = "copy_zero",
};

struct mutant {
	const struct pm_site *site;
	char name[100];
};

struct mutants {
	struct mutant m[MAX_SITES];
	unsigned nr;
};

static void name_site(struct mutant *m, const struct pm_site *site)
{
	const char *file = strrchr(site->file, '/');
	unsigned nr = 1;

	for (const struct pm_site *s = __start_pm_sites; s < __stop_pm_sites; s++)
		nr += s->kind == site->kind && s->line < site->line &&
		      !strcmp(s->file, site->file) && !strcmp(s->func, site->func);
	m->site = site;
	snprintf(m->name, sizeof(m->name), "%s:%s:%s:%u", file ? file + 1 : site->file,
		 site->func, kind_name[site->kind], nr);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct mutant *)a)->name, ((const struct mutant *)b)->name);
}

static void find_sites(struct mutants *all)
{
	all->nr = 0;
	for (const struct pm_site *s = __start_pm_sites; s < __stop_pm_sites; s++)
		if (all->nr < MAX_SITES)
			name_site(&all->m[all->nr++], s);
	qsort(all->m, all->nr, sizeof(all->m[0]), by_name);
}

/* ---- one mutant ------------------------------------------------------------------ */

static struct crash_stats unwanted;

/* True: the load turned red. */
static bool shows(const struct crash_limits *lim, const struct pm_site *site, const char *load)
{
	struct crash_load l;
	struct crash *c;
	bool red;

	if (!find_load(load, &l))
		return false;
	c = crash_new(-1, lim, &unwanted);
	crash_mutate(c, site);
	crash_quiet(c, true);
	red = crash_explore(c, &l);
	if (red)
		printf("%s\n", crash_first(c));
	crash_free(c);
	return red;
}

static const char *load_of(const char *site)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].site, site))
			return known[i].load;
	return NULL;
}

static int check_one(const struct crash_limits *lim, const struct mutant *m)
{
	const char *load = load_of(m->name);

	printf("%-40s ", m->name);
	if (!load) {
		printf("FAIL: %s:%d is not in the table of tests/crash/mutants.c\n",
		       m->site->file, m->site->line);
		return 1;
	}
	if (!strncmp(load, "unit/", 5)) {
		printf("%s\n", load);
		return 0;
	}
	if (shows(lim, m->site, load))
		return 0;
	printf("FAIL: %s:%d may be left out without %s noticing\n", m->site->file,
	       m->site->line, load);
	return 1;
}

/* ---- all of them ------------------------------------------------------------------- */

static unsigned wait_one(void)
{
	int status;

	if (wait(&status) < 0)
		return 0;
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

static unsigned stale(const struct mutants *all)
{
	unsigned bad = 0;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		bool there = false;

		for (unsigned k = 0; k < all->nr; k++)
			there |= !strcmp(all->m[k].name, known[i].site);
		if (there)
			continue;
		printf("%-40s FAIL: there is no such place\n", known[i].site);
		bad++;
	}
	return bad;
}

int mutants_check(const struct crash_limits *lim, unsigned jobs)
{
	static struct mutants all;
	unsigned bad, running = 0;

	find_sites(&all);
	bad = stale(&all);
	for (unsigned i = 0; i < all.nr; i++) {
		pid_t pid;

		if (running == jobs) {
			bad += wait_one();
			running--;
		}
		fflush(stdout);
		pid = fork();
		if (pid < 0)
			abort();
		if (!pid) {
			int err = check_one(lim, &all.m[i]);

			fflush(stdout);
			_exit(err);
		}
		running++;
	}
	while (running--)
		bad += wait_one();
	printf("mutants: %u flushes, fences and copies left out one at a time, %u not noticed\n",
	       all.nr, bad);
	return bad != 0;
}

int mutants_list(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		printf("%s %s\n", known[i].site, known[i].load);
	return 0;
}

/* ---- looking for a load --------------------------------------------------------------- */

static void search_family(const struct crash_limits *lim, const struct mutant *m,
			  const char *family, family_fn get)
{
	struct crash *c = crash_new(-1, lim, &unwanted);
	uint64_t before = 0, i;
	struct crash_load l;

	crash_mutate(c, m->site);
	crash_quiet(c, true);
	for (i = 0; i < 400 && get(i, &l); i++) {
		before = unwanted.images;
		if (!crash_explore(c, &l))
			continue;
		printf("  %-40s %s/%s, %llu images: %s\n", m->name, family,
		       strchr(l.name, '/') + 1,
		       (unsigned long long)(unwanted.images - before), crash_first(c));
		break;
	}
	crash_free(c);
}

int mutants_search(const struct crash_limits *lim, const char *what)
{
	static struct mutants all;
	const char *family;
	family_fn get;

	find_sites(&all);
	for (unsigned i = 0; i < all.nr; i++) {
		if (strncmp(all.m[i].name, what, strlen(what)))
			continue;
		printf("%s (%s:%d)\n", all.m[i].name, all.m[i].site->file, all.m[i].site->line);
		for (unsigned f = 0; family_at(f, &family, &get); f++)
			if (strcmp(family, "page") && strcmp(family, "byte"))
				search_family(lim, &all.m[i], family, get);
		fflush(stdout);
	}
	return 0;
}
