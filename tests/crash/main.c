/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c - the crash tests: every workload, on all processors
 *
 *	crash [--full | --brief] [--jobs N] [--part K/N] [--cost] [--first] [NAME...]
 *						families, or single loads
 *	crash NAME:EVENT:ENGINE:SEED[/...]	one image again, with details
 *	crash --mutants				does every missing fence show?
 *	crash --search FUNCTION[:KIND[:NR]]	which loads show this one?
 *	crash --list				the names of all loads
 *	crash --known				the table behind --mutants
 *
 * --full: every load of a family, without caps on images; --part K/N: the Kth
 * of N equal shares of the loads, for a run in pieces.
 *
 * Without a name CRASH=... in the environment is one. Exit status: 0 nothing found,
 * 1 a violation, 2 bad usage.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "crash/loads.h"
#include "support/site.h"

#define MAX_JOBS	64u
#define CHUNK		8u		/* loads that a worker takes at once */

static const struct crash_limits deep = {
	.exhaustive = 10, .per_point = 1100, .seeds = 4, .lines = 40, .per_recovery = 16,
	.cut_every = 4,
};
static const struct crash_limits some = {
	.exhaustive = 8, .per_point = 40, .seeds = 3, .lines = 24, .per_recovery = 6,
	.cut_every = 16,
};
static const struct crash_limits few = {
	.exhaustive = 4, .per_point = 12, .seeds = 2, .lines = 12, .per_recovery = 4,
	.cut_every = 32,
};
static const struct crash_limits all = {
	.exhaustive = 14, .seeds = 16, .per_recovery = 40,
};

static const struct family {
	const char *name, *about;
	family_fn get;
	const struct crash_limits *lim;	/* of the short run */
	uint64_t step;			/* the short run takes every so manieth load */
	uint64_t first;			/* and no more than so many, 0: all */
	uint64_t brief;			/* the brief one every so manieth of those */
	int granularity;
	bool forks;			/* a process for each load */
} families[] = {
	{ "make", "mkfs and superblocks", get_raw, &some, 1, 0, 1, -1, false },
	{ "mount", "recovery of busy pools", get_mount, &few, 1, 0, 3, -1, true },
	{ "one", "every operation", get_one, &deep, 1, 0, 8, -1, false },
	{ "page", "the same, 4 KiB pages and msync", get_one, &few, 1, 0, 16, PM_GRAN_PAGE, false },
	{ "byte", "the same, nothing but fences (eADR)", get_one, &few, 1, 0, 16, PM_GRAN_BYTE,
	  false },
	{ "atime", "access times", get_atime, &some, 1, 0, 2, -1, false },
	{ "shape", "inodes of every shape", get_shape, &few, 1, 0, 23, -1, false },
	{ "atomic", "writes to them with data=atomic", get_atomic, &some, 1, 0, 11, -1, false },
	{ "edge", "writes that begin and end anywhere", get_edge, &few, 7, 0, 13, -1, false },
	{ "dsa", "writes that a device brings", get_dsa, &few, 1, 0, 17, -1, false },
	{ "log", "the lane's edges", get_log, &some, 1, 0, 16, -1, false },
	{ "full", "a pool that is full", get_full, &few, 1, 0, 67, -1, false },
	{ "reuse", "blocks that were nodes", get_reuse, &some, 1, 0, 3, -1, false },
	{ "grow", "a full inode table", get_grow, &some, 1, 0, 19, -1, false },
	{ "names", "directories that grow and shrink", get_names, &few, 1, 0, 2, -1, false },
	{ "threads", "two workers", get_threads, &few, 37, 0, 4, -1, true },
	{ "next", "one takes what the other frees", get_next, &few, 1, 0, 4, -1, true },
	{ "recycle", "one waits for the other's checkpoint", get_recycle, &few, 5, 0, 8, -1, true },
	{ "two", "every two operations", get_two, &few, 1, 0, 101, -1, false },
	{ "three", "some of three operations", get_three, &few, 1, 300, 20, -1, false },
};

struct shared {
	struct crash_stats stats[ARRAY_SIZE(families)];
	_Atomic uint64_t next[ARRAY_SIZE(families)];
	_Atomic uint64_t failed;
};

struct run {
	struct shared *sh;
	bool full, brief, cost, first;
	unsigned jobs, part, parts;
	char **name;			/* wanted; none: all */
	unsigned nr_names;
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of processors, by everything that has ended. */
static double cpu_seconds(void)
{
	struct rusage ru;

	getrusage(RUSAGE_CHILDREN, &ru);
	return (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

/* ---- names ---------------------------------------------------------------------- */

bool family_at(unsigned f, const char **name, family_fn *get)
{
	if (f >= ARRAY_SIZE(families))
		return false;
	*name = families[f].name;
	*get = families[f].get;
	return true;
}

/* The family of a load's name; granularities have names of their own. */
static const struct family *family_of(const char *name)
{
	size_t len = strcspn(name, "/");

	for (unsigned f = 0; f < ARRAY_SIZE(families); f++)
		if (strlen(families[f].name) == len && !strncmp(families[f].name, name, len))
			return &families[f];
	return NULL;
}

static bool get_load(const struct family *f, uint64_t i, struct crash_load *l)
{
	char rest[sizeof(l->name)];

	if (!f->get(i, l))
		return false;
	snprintf(rest, sizeof(rest), "%s", strchr(l->name, '/'));
	snprintf(l->name, sizeof(l->name), "%s%.100s", f->name, rest);
	return true;
}

bool find_load(const char *name, struct crash_load *l)
{
	const struct family *f = family_of(name);
	size_t len = strcspn(name, ":");

	for (uint64_t i = 0; f && get_load(f, i, l); i++)
		if (strlen(l->name) == len && !strncmp(l->name, name, len))
			return true;
	return false;
}

/* ---- workers ---------------------------------------------------------------------- */

static void forked(const struct family *f, const struct crash_limits *lim,
		   struct crash_stats *st, const struct crash_load *l)
{
	struct crash *c;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (!pid) {
		c = crash_new(f->granularity, lim, st);
		crash_explore(c, l);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status)) {
		printf("VIOLATION CRASH=%s the test itself died (%#x)\n", l->name, status);
		st->violations++;
	}
}

static void work_family(struct run *r, unsigned which)
{
	const struct family *f = &families[which];
	const struct crash_limits *lim = r->full ? &all : r->brief ? &few : f->lim;
	uint64_t every = r->brief ? f->brief : 1, step = r->full ? 1 : f->step * every;
	uint64_t end = r->full || !f->first ? UINT64_MAX : f->first / every;
	struct crash_stats *st = &r->sh->stats[which];
	struct crash *c = f->forks ? NULL : crash_new(f->granularity, lim, st);
	struct crash_load l;
	bool more = true;

	while (more) {
		uint64_t at = r->sh->next[which]++ * CHUNK;

		for (uint64_t i = at; more && i < at + CHUNK; i++) {
			uint64_t nr = i * r->parts + r->part;

			more = nr < end && !(r->first && st->violations) &&
			       get_load(f, nr * step, &l);
			if (more && f->forks)
				forked(f, lim, st, &l);
			else if (more)
				crash_explore(c, &l);
			fflush(stdout);
		}
	}
	if (c)
		crash_free(c);
}

static bool wanted(const struct run *r, unsigned nr)
{
	for (unsigned i = 0; i < r->nr_names; i++)
		if (!strcmp(r->name[i], families[nr].name))
			return true;
	return !r->nr_names;
}

static void run_family(struct run *r, unsigned nr)
{
	pid_t pid[MAX_JOBS];
	int status;

	fflush(stdout);
	for (unsigned j = 0; j < r->jobs; j++) {
		pid[j] = fork();
		if (pid[j] < 0)
			abort();
		if (!pid[j]) {
			work_family(r, nr);
			_exit(0);
		}
	}
	for (unsigned j = 0; j < r->jobs; j++) {
		if (waitpid(pid[j], &status, 0) == pid[j] && WIFEXITED(status) &&
		    !WEXITSTATUS(status))
			continue;
		printf("VIOLATION %s: a worker died (%#x)\n", families[nr].name, status);
		r->sh->failed++;
	}
}

/* ---- telling ------------------------------------------------------------------------ */

/* tests/crash/sum.sh adds the columns up. */
static void headline(void)
{
	printf("%-8s %6s %7s %7s %8s %8s %10s %10s %9s %7s %5s %6s %6s  %s\n", "family", "loads",
	       "of", "calls", "points", "all", "images", "distinct", "cut recov", "deaths",
	       "viol", "sec", "cpu", "");
}

static void line(const char *name, const struct crash_stats *s, uint64_t of, double secs,
		 double cpu, const char *about)
{
	printf("%-8s %6llu %7llu %7llu %8llu %8llu %10llu %10llu %9llu %7llu %5llu %6.1f %6.1f"
	       "  %s\n", name,
	       (unsigned long long)s->loads, (unsigned long long)of,
	       (unsigned long long)s->calls, (unsigned long long)s->points,
	       (unsigned long long)s->exhausted, (unsigned long long)s->images,
	       (unsigned long long)s->distinct, (unsigned long long)s->cut_images,
	       (unsigned long long)s->killed, (unsigned long long)s->violations, secs, cpu, about);
	fflush(stdout);
}

/* How many loads a family has. */
static uint64_t size_of(const struct family *f)
{
	struct crash_load l;
	uint64_t n = 0;

	while (get_load(f, n, &l))
		n++;
	return n;
}

static void add_up(struct crash_stats *sum, const struct crash_stats *s)
{
	sum->loads += s->loads;
	sum->calls += s->calls;
	sum->points += s->points;
	sum->exhausted += s->exhausted;
	sum->images += s->images;
	sum->distinct += s->distinct;
	sum->cut_images += s->cut_images;
	sum->killed += s->killed;
	sum->violations += s->violations;
	sum->idle_flushes += s->idle_flushes;
	sum->idle_fences += s->idle_fences;
}

/* How often each place asked for something that changed nothing. */
static void cost(const struct run *r)
{
	const struct pm_site *site;

	for (unsigned k = 0; k < CRASH_SITES; k++) {
		uint64_t asked = 0, idle = 0;

		for (unsigned f = 0; f < ARRAY_SIZE(families); f++) {
			asked += r->sh->stats[f].asked[k];
			idle += r->sh->stats[f].idle[k];
		}
		site = &__start_pm_sites[k];
		if (asked && site < __stop_pm_sites)
			printf("%10llu calls, %5.1f %% needless  %s() %s:%d\n",
			       (unsigned long long)asked, 100.0 * (double)idle / (double)asked,
			       site->func, site->file, site->line);
	}
}

static int run_all(struct run *r)
{
	struct crash_stats sum = { .loads = 0 };
	double t, cpu;

	headline();
	for (unsigned f = 0; f < ARRAY_SIZE(families); f++) {
		if (!wanted(r, f))
			continue;
		t = seconds();
		cpu = cpu_seconds();
		run_family(r, f);
		line(families[f].name, &r->sh->stats[f], size_of(&families[f]), seconds() - t,
		     cpu_seconds() - cpu, families[f].about);
		add_up(&sum, &r->sh->stats[f]);
	}
	if (r->cost)
		cost(r);
	printf("needless: %llu flushes, %llu fences\nviolations: %llu\n",
	       (unsigned long long)sum.idle_flushes, (unsigned long long)sum.idle_fences,
	       (unsigned long long)(sum.violations + r->sh->failed));
	return sum.violations || r->sh->failed;
}

/* One load, or one image of it. */
static int run_named(struct run *r, const char *name)
{
	const struct family *f = family_of(name);
	const char *image = strchr(name, ':');
	struct crash_load l;
	struct crash *c;
	int bad;

	if (!find_load(name, &l)) {
		fprintf(stderr, "crash: nothing is called %s\n", name);
		return 2;
	}
	c = crash_new(f->granularity, r->full ? &all : f->lim, &r->sh->stats[f - families]);
	if (image)
		bad = crash_rerun(c, &l, image + 1);
	else
		bad = (int)crash_explore(c, &l);
	crash_free(c);
	if (bad < 0) {
		fprintf(stderr, "crash: %s is no image\n", name);
		return 2;
	}
	headline();
	line(f->name, &r->sh->stats[f - families], 1, 0, 0, name);
	return bad ? 1 : 0;
}

static int list(void)
{
	struct crash_load l;

	for (unsigned f = 0; f < ARRAY_SIZE(families); f++)
		for (uint64_t i = 0; get_load(&families[f], i, &l); i++)
			puts(l.name);
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: crash [--full | --brief] [--jobs N] [--part K/N] [--cost] "
		"[--first] [--mutants | --search SITE | --list | --known | NAME...]\n");
	return 2;
}

static int run_names(struct run *r)
{
	int bad = 0;

	if (!r->nr_names || !strchr(r->name[0], '/'))
		return run_all(r);
	for (unsigned i = 0; i < r->nr_names && bad < 2; i++)
		bad |= run_named(r, r->name[i]);
	return bad;
}

static bool simple_option(struct run *r, const char *arg)
{
	const struct { const char *name; bool *on; } options[] = {
		{ "--full", &r->full }, { "--brief", &r->brief }, { "--cost", &r->cost },
		{ "--first", &r->first },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(options); i++) {
		if (strcmp(arg, options[i].name))
			continue;
		*options[i].on = true;
		return true;
	}
	return false;
}

/* What else there is to do: returns an exit status, or -1. */
static int other_work(const struct run *r, const char *what, const char *arg)
{
	if (!strcmp(what, "--mutants"))
		return mutants_check(&deep, r->jobs);
	if (!strcmp(what, "--search") && arg)
		return mutants_search(&deep, arg);
	if (!strcmp(what, "--list"))
		return list();
	if (!strcmp(what, "--known"))
		return mutants_list();
	return -1;
}

/* Returns the first argument that is no option, or -1: what there was to do is done. */
static int options(struct run *r, int argc, char **argv, int *status)
{
	int i;

	for (i = 1; i < argc && !strncmp(argv[i], "--", 2); i++) {
		const char *arg = i + 1 < argc ? argv[i + 1] : NULL;

		if (simple_option(r, argv[i]))
			continue;
		if (!strcmp(argv[i], "--jobs") && arg) {
			r->jobs = (unsigned)strtoul(argv[++i], NULL, 10);
			r->jobs = r->jobs < 1 ? 1 : r->jobs > MAX_JOBS ? MAX_JOBS : r->jobs;
		} else if (!strcmp(argv[i], "--part") && arg &&
			   sscanf(argv[++i], "%u/%u", &r->part, &r->parts) == 2 &&
			   r->part && r->part <= r->parts) {
			r->part--;
		} else {
			*status = other_work(r, argv[i], arg);
			*status = *status < 0 ? usage() : *status;
			return -1;
		}
	}
	return i;
}

int main(int argc, char **argv)
{
	struct run r = { .jobs = (unsigned)sysconf(_SC_NPROCESSORS_ONLN), .parts = 1 };
	char *env = getenv("CRASH");
	int i, status = 0;

	r.jobs = r.jobs < 1 ? 1 : r.jobs > MAX_JOBS ? MAX_JOBS : r.jobs;
	r.sh = mmap(NULL, sizeof(*r.sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	if (r.sh == MAP_FAILED)
		return 2;
	i = options(&r, argc, argv, &status);
	if (i < 0)
		return status;
	r.name = argv + i;
	r.nr_names = (unsigned)(argc - i);
	if (env && *env && i == argc) {
		r.name = &env;
		r.nr_names = 1;
	}
	return run_names(&r);
}
