/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_readdir.c - a listing is stable while names come and go
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)
#define NAMES	2000u

static struct pool p;

struct seen {
	unsigned times[NAMES];		/* of "stay N" */
	unsigned dots, others, total;
	unsigned room;			/* entries per call */
	uint64_t off;
	uint64_t nodes[NAMES];
};

static bool see(void *arg, const struct op_dirent *d, const struct op_entry *e)
{
	struct seen *s = arg;
	char name[32];
	unsigned i;

	if (!s->room)
		return false;
	s->room--;
	s->total++;
	s->off = d->off;
	if (d->name[0] == '.') {
		ck_assert_uint_eq(d->type, DT_DIR);
		ck_assert_ptr_null(e);
		s->dots++;
		return true;
	}
	ck_assert_uint_lt(d->len, sizeof(name));
	memcpy(name, d->name, d->len);
	name[d->len] = 0;
	if (sscanf(name, "stay %u", &i) == 1) {
		ck_assert_uint_lt(i, NAMES);
		s->times[i]++;
		if (e)
			s->nodes[i] = e->nodeid;
	} else {
		s->others++;
	}
	return true;
}

static void make(const char *what, unsigned i)
{
	char name[32];

	snprintf(name, sizeof(name), "%s %u", what, i);
	pool_forget(&p, pool_file(&p, ROOT, name), 1);
}

static void drop(const char *what, unsigned i)
{
	char name[32];

	snprintf(name, sizeof(name), "%s %u", what, i);
	ck_assert_int_eq(pool_unlink(&p, ROOT, name), 0);
}

START_TEST(names_that_stay_are_seen_once)
{
	struct seen *s = calloc(1, sizeof(*s));
	unsigned i, round = 0, made = 0, dropped = 0, before;

	pool_make(&p, SIZE);
	for (i = 0; i < NAMES; i++) {
		make("stay", i);
		if (i % 2)
			make("go", made++);
	}
	do {
		before = s->total;
		s->room = 7;
		ck_assert_int_eq(op_readdir(&p.c, ROOT, s->off, false, see, s), 0);
		/* a burst of changes, including the entry we stand on */
		if (round % 3 == 0 && dropped < made)
			drop("go", dropped++);
		if (round % 5 == 0)
			make("go", made++);
		round++;
		if (round == 100)
			pool_remount(&p);	/* offsets survive that, too */
	} while (s->total > before);
	ck_assert_uint_eq(s->dots, 2);
	for (i = 0; i < NAMES; i++)
		ck_assert_uint_eq(s->times[i], 1);
	free(s);
	pool_end(&p);
}
END_TEST

START_TEST(deleting_what_was_listed)
{
	struct seen *s = calloc(1, sizeof(*s));
	unsigned i, left = NAMES;

	pool_make(&p, SIZE);
	for (i = 0; i < NAMES; i++)
		make("stay", i);
	/* as rm -r does: list some, remove them, go on */
	while (left) {
		memset(s->times, 0, sizeof(s->times));
		s->room = 50;
		ck_assert_int_eq(op_readdir(&p.c, ROOT, s->off, false, see, s), 0);
		for (i = 0; i < NAMES; i++)
			if (s->times[i]) {
				drop("stay", i);
				left--;
			}
		ck_assert_uint_lt(s->room, 50);
	}
	ck_assert_uint_eq(pool_names(&p, ROOT), 0);
	free(s);
	pool_end(&p);
}
END_TEST

START_TEST(plus_counts_what_was_taken)
{
	struct seen *s = calloc(1, sizeof(*s));
	struct op_attr a;
	unsigned i;

	pool_make(&p, SIZE);
	for (i = 0; i < 10; i++)
		make("stay", i);
	s->room = 5;				/* the dots and three names */
	ck_assert_int_eq(op_readdir(&p.c, ROOT, 0, true, see, s), 0);
	for (i = 0; i < 10; i++)
		drop("stay", i);
	for (i = 0; i < 10; i++) {
		if (!s->times[i])
			continue;
		/* its lookup keeps it */
		ck_assert_uint_eq(pool_attr(&p, s->nodes[i]).nlink, 0);
		pool_forget(&p, s->nodes[i], 1);
		ck_assert_int_eq(op_getattr(&p.c, s->nodes[i], &a), -ESTALE);
	}
	free(s);
	pool_end(&p);
}
END_TEST

START_TEST(dots_and_types)
{
	struct seen s = { .room = 1 };
	uint64_t d, f;

	pool_make(&p, SIZE);
	d = pool_dir(&p, ROOT, "d");
	f = pool_file(&p, d, "f");
	ck_assert_int_eq(op_readdir(&p.c, d, 0, false, see, &s), 0);
	ck_assert_uint_eq(s.off, 1);
	s.room = 1;
	ck_assert_int_eq(op_readdir(&p.c, d, 1, false, see, &s), 0);
	ck_assert_uint_eq(s.off, 2);
	s.room = 9;
	ck_assert_int_eq(op_readdir(&p.c, d, 2, false, see, &s), 0);
	ck_assert_uint_eq(s.total, 3);
	ck_assert_int_eq(op_readdir(&p.c, d, s.off, false, see, &s), 0);
	ck_assert_uint_eq(s.total, 3);
	ck_assert_int_eq(op_readdir(&p.c, d, INT64_MAX, false, see, &s), 0);
	ck_assert_int_eq(op_readdir(&p.c, f, 0, false, see, &s), -ENOTDIR);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/readdir", names_that_stay_are_seen_once, deleting_what_was_listed,
	   plus_counts_what_was_taken, dots_and_types)
