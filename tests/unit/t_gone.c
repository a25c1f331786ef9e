/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_gone.c - who waits for the space of an unlinked file, and who does not
 */
#include <errno.h>
#include <pthread.h>

#include "meta/gone.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)

static struct pool p;

/* What a request does that finds no space: 1 again, -ENOSPC no. */
static int wait_for_space(struct patience *pa)
{
	int got;

	do
		got = gone_wait(p.fs, pa);
	while (!got);
	return got;
}

static unsigned slices;

/* The same, counting the looks that ended without an answer. */
static int count_slices(struct patience *pa)
{
	int got;

	for (slices = 0; !(got = gone_wait(p.fs, pa)); slices++)
		;
	return got;
}

/* The first look is enough to say so. */
static bool hopeless(void)
{
	struct patience pa;

	gone_start(p.fs, &pa);
	return gone_wait(p.fs, &pa) == -ENOSPC;
}

static uint64_t unlinked(const char *name)
{
	uint64_t f = pool_file(&p, ROOT, name);

	ck_assert_int_eq(pool_unlink(&p, ROOT, name), 0);
	return f;
}

START_TEST(nothing_to_wait_for)
{
	pool_make(&p, SIZE);
	ck_assert(hopeless());
	pool_file(&p, ROOT, "f");
	ck_assert(hopeless());
	pool_end(&p);
}
END_TEST

START_TEST(what_was_freed_meanwhile)
{
	struct patience pa;
	uint64_t f;

	pool_make(&p, SIZE);
	f = unlinked("f");
	gone_start(p.fs, &pa);
	pool_forget(&p, f, 1);
	ck_assert_int_eq(wait_for_space(&pa), 1);
	ck_assert_int_eq(wait_for_space(&pa), -ENOSPC);
	ck_assert(hopeless());
	pool_end(&p);
}
END_TEST

static void *forgetter(void *arg)
{
	pool_forget(&p, *(uint64_t *)arg, 1);
	return NULL;
}

/* 50 times, so that the one comes before, amid and after the other. */
START_TEST(a_forget_comes)
{
	struct patience pa;
	pthread_t t;
	uint64_t f;

	pool_make(&p, SIZE);
	for (int i = 0; i < 50; i++) {
		f = unlinked("f");
		gone_start(p.fs, &pa);
		ck_assert_int_eq(pthread_create(&t, NULL, forgetter, &f), 0);
		ck_assert_int_eq(wait_for_space(&pa), 1);
		pthread_join(t, NULL);
		ck_assert(hopeless());
	}
	pool_end(&p);
}
END_TEST

/* Held by something that is no open file: once, and then not again. */
START_TEST(in_vain_only_once)
{
	struct patience pa;
	uint64_t f, g;

	pool_make(&p, SIZE);
	f = unlinked("f");
	gone_start(p.fs, &pa);
	ck_assert_int_eq(gone_wait(p.fs, &pa), 0);	/* there is hope */
	ck_assert_int_eq(wait_for_space(&pa), -ENOSPC);
	ck_assert(hopeless());
	g = unlinked("g");				/* but for another one */
	gone_start(p.fs, &pa);
	ck_assert_int_eq(gone_wait(p.fs, &pa), 0);
	pool_forget(&p, g, 1);
	ck_assert_int_eq(wait_for_space(&pa), 1);
	ck_assert(hopeless());
	gone_start(p.fs, &pa);
	pool_forget(&p, f, 1);				/* late, but it counts */
	ck_assert_int_eq(wait_for_space(&pa), 1);
	ck_assert(hopeless());
	pool_end(&p);
}
END_TEST

START_TEST(open_files)
{
	struct patience pa;
	struct op_entry e;
	uint64_t f;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	ck_assert_int_eq(op_open(&p.c, f, 0), 0);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), 0);
	gone_start(p.fs, &pa);
	ck_assert_int_eq(count_slices(&pa), -ENOSPC);
	ck_assert_uint_le(slices, 1);			/* a moment only */
	op_release(p.fs, f);
	gone_start(p.fs, &pa);
	ck_assert_int_eq(gone_wait(p.fs, &pa), 0);	/* now it is as good as gone */
	pool_forget(&p, f, 1);
	ck_assert_int_eq(wait_for_space(&pa), 1);
	ck_assert(hopeless());
	ck_assert_int_eq(op_tmpfile(&p.c, ROOT, 0600, &e), 0);
	ck_assert_int_eq(op_open(&p.c, e.nodeid, 0), 0);
	gone_start(p.fs, &pa);
	ck_assert_int_eq(count_slices(&pa), -ENOSPC);
	ck_assert_uint_le(slices, 1);			/* not two seconds */
	op_release(p.fs, e.nodeid);
	pool_forget(&p, e.nodeid, 1);
	/* one that gets a name is not to be waited for any more */
	ck_assert_int_eq(op_tmpfile(&p.c, ROOT, 0600, &e), 0);
	ck_assert_int_eq(op_link(&p.c, e.nodeid, ROOT, "g", 1, &e), 0);
	ck_assert(hopeless());
	pool_end(&p);
}
END_TEST

/* What a dead daemon left is freed by a thread in the background. */
START_TEST(draining)
{
	struct patience pa;

	pool_make(&p, SIZE);
	p.fs->drain = p.fs->worker_runs = true;		/* as if there were one */
	gone_start(p.fs, &pa);
	ck_assert_int_eq(gone_wait(p.fs, &pa), 0);
	p.fs->drain = p.fs->worker_runs = false;
	ck_assert_int_eq(wait_for_space(&pa), -ENOSPC);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("gone", nothing_to_wait_for, what_was_freed_meanwhile, a_forget_comes,
	   in_vain_only_once, open_files, draining)
