/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_follow.c - when a worker binds itself to a CPU, and when it lets go
 */
#define _GNU_SOURCE
#include "fuse/follow.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuse/proto.h"
#include "support/check_main.h"

static struct follow_team team;

static struct follow fresh(void)
{
	struct follow f;

	memset(&f, 0, sizeof(f));
	f.team = &team;
	f.conn = -1;
	f.on = true;
	f.bound = f.cpu = f.fd = f.self = -1;
	f.every = f.left = FOLLOW_OFTEN;
	return f;
}

static int looks(struct follow *f, int cpu, int nr)
{
	int where = f->bound;

	while (nr--)
		where = follow_note(f, cpu);
	return where;
}

START_TEST(binds_to_a_single_client)
{
	struct follow f = fresh();

	ck_assert_int_eq(looks(&f, 3, 6), -1);
	ck_assert_int_eq(looks(&f, 3, 1), 3);
	/* and looks less and less often */
	looks(&f, 3, 8);
	ck_assert_uint_eq(f.every, FOLLOW_SELDOM);
}
END_TEST

/* F1 */
START_TEST(never_between_two_clients)
{
	struct follow f = fresh();

	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(follow_note(&f, i & 1), -1);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(follow_note(&f, i / 2 & 1), -1);
	ck_assert_uint_gt(f.every, FOLLOW_OFTEN);
}
END_TEST

/* F1 */
START_TEST(lets_go_of_many_requests_at_once)
{
	struct follow f = fresh();

	ck_assert_int_eq(looks(&f, 0, 20), 0);
	ck_assert_int_eq(looks(&f, -1, 1), 0);		/* once is chance */
	ck_assert_uint_eq(f.every, FOLLOW_OFTEN);
	ck_assert_int_eq(looks(&f, -1, 4), -1);
	ck_assert_int_eq(looks(&f, -1, 100), -1);
	ck_assert_int_eq(looks(&f, 0, 8), 0);
}
END_TEST

START_TEST(follows_a_client_that_moves)
{
	struct follow f = fresh();

	looks(&f, 0, 20);
	ck_assert_int_eq(looks(&f, 1, 3), 0);
	ck_assert_int_eq(looks(&f, 1, 9), 1);
	/* a thief that takes one request in eight changes nothing */
	for (int i = 0; i < 800; i++)
		ck_assert_int_eq(follow_note(&f, i % 8 ? 1 : 0), 1);
}
END_TEST

static int my_cpu(void)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	return cpu;
}

static void look(struct follow *f, int fd, unsigned opcode, int pid, int nr)
{
	f->conn = fd;
	while (nr--)
		follow_look(f, opcode, (uint32_t)pid);
}

/* F2, F5; this thread is both the worker and its client. */
START_TEST(looks_at_real_threads)
{
	struct follow f = fresh();
	int p[2], cpu = my_cpu(), me = getpid();

	follow_team_init(&team);
	ck_assert_int_eq(pipe(p), 0);
	CPU_SET(cpu, &f.all);
	look(&f, p[0], FUSE_RELEASE, me, 50);
	look(&f, p[0], FUSE_READ, 0, 50);
	ck_assert_int_eq(f.bound, -1);		/* said nothing */
	ck_assert_int_eq(f.seen, 0);
	look(&f, p[0], FUSE_READ, me, 8);
	ck_assert_int_eq(f.bound, cpu);

	ck_assert_int_eq(write(p[1], "", 1), 1);	/* another one waits */
	look(&f, p[0], FUSE_READ, me, 8);
	ck_assert_int_eq(f.bound, -1);
	follow_close(&f);

	f = fresh();				/* F2: not allowed there */
	CPU_SET(cpu ? 0 : 1, &f.all);
	ck_assert_int_eq(close(p[1]), 0);
	ck_assert_int_eq(pipe(p), 0);
	look(&f, p[0], FUSE_READ, me, 20);
	ck_assert_int_eq(f.bound, -1);
	look(&f, p[0], FUSE_READ, 0x7ffffffe, 20);	/* nobody has that pid */
	ck_assert_int_eq(f.bound, -1);
	follow_close(&f);
}
END_TEST

/* F3 */
START_TEST(one_serves_and_the_others_rest)
{
	struct follow a = fresh(), b = fresh();
	int p[2], cpu = my_cpu(), me = getpid();

	follow_team_init(&team);
	ck_assert_int_eq(pipe(p), 0);
	CPU_SET(cpu, &a.all);
	CPU_SET(cpu, &b.all);
	look(&a, p[0], FUSE_READ, me, 8);
	ck_assert_ptr_eq(team.first, &a);
	look(&b, p[0], FUSE_READ, me, 8);
	ck_assert(b.rest && !a.rest);
	follow_rest(&b);		/* a serves nobody: over at once */
	ck_assert(!b.rest);
	ck_assert_int_eq(b.bound, -1);

	look(&b, p[0], FUSE_READ, me, 8);
	ck_assert(b.rest);
	follow_close(&a);		/* it is gone: b takes its place */
	ck_assert_ptr_null(team.first);
	follow_rest(&b);
	look(&b, p[0], FUSE_READ, me, 8);
	ck_assert_ptr_eq(team.first, &b);
	follow_close(&b);
	ck_assert_ptr_null(team.first);
}
END_TEST

/* F4: a schedstat that says how long the worker waited. */
START_TEST(lets_go_of_a_crowded_cpu)
{
	struct follow f = fresh();
	char name[] = "/tmp/t_follow.XXXXXX", text[64];
	int p[2], cpu = my_cpu(), me = getpid(), n;

	follow_team_init(&team);
	ck_assert_int_eq(pipe(p), 0);
	CPU_SET(cpu, &f.all);
	f.self = mkstemp(name);
	ck_assert_int_ge(f.self, 0);
	ck_assert_int_eq(unlink(name), 0);
	for (int i = 1; i <= 16; i++) {		/* just below */
		n = snprintf(text, sizeof(text), "5 %llu 7\n",
			     1ull * i * FOLLOW_DELAY_NS);
		ck_assert_int_eq(pwrite(f.self, text, (size_t)n, 0), n);
		f.served++;
		look(&f, p[0], FUSE_READ, me, 1);
	}
	ck_assert_int_eq(f.bound, cpu);
	n = snprintf(text, sizeof(text), "5 %llu 7\n", 18ull * FOLLOW_DELAY_NS);
	ck_assert_int_eq(pwrite(f.self, text, (size_t)n, 0), n);
	f.served++;
	f.hurry = true;
	follow(&f, FUSE_READ, (uint32_t)me);	/* counts one more: not crowded */
	ck_assert_int_eq(f.bound, cpu);
	ck_assert(!f.hurry);
	n = snprintf(text, sizeof(text), "5 %llu 7\n", 30ull * FOLLOW_DELAY_NS);
	ck_assert_int_eq(pwrite(f.self, text, (size_t)n, 0), n);
	f.hurry = true;
	follow(&f, FUSE_READ, (uint32_t)me);
	ck_assert_int_eq(f.bound, -1);
	look(&f, p[0], FUSE_READ, me, FOLLOW_PAUSE);
	ck_assert_int_eq(f.bound, -1);
	look(&f, p[0], FUSE_READ, me, 8);
	ck_assert_int_eq(f.bound, cpu);
	follow_close(&f);
}
END_TEST

static _Atomic bool done;

static void *serve_on(void *arg)
{
	struct follow *f = arg;

	while (!atomic_load(&done)) {
		f->left = 2;		/* no look */
		follow(f, FUSE_READ, 1);
	}
	return NULL;
}

static void *rest(void *arg)
{
	follow_rest(arg);
	return NULL;
}

/* F3: while the first serves, only a waiting request or its leave ends a rest. */
START_TEST(a_rest_ends)
{
	struct follow a = fresh(), b = fresh();
	pthread_t first, second;
	int p[2];

	follow_team_init(&team);
	ck_assert_int_eq(pipe(p), 0);
	b.conn = p[0];
	team.first = &a;
	pthread_create(&first, NULL, serve_on, &a);
	pthread_create(&second, NULL, rest, &b);
	ck_assert_int_eq(write(p[1], "", 1), 1);
	pthread_join(second, NULL);

	ck_assert_int_eq(close(p[1]), 0);
	ck_assert_int_eq(pipe(p), 0);
	b.conn = p[0];
	pthread_create(&second, NULL, rest, &b);
	a.bound = -1;
	follow_close(&a);
	pthread_join(second, NULL);
	atomic_store(&done, true);
	pthread_join(first, NULL);
}
END_TEST

CHECK_MAIN("follow", binds_to_a_single_client, never_between_two_clients,
	   lets_go_of_many_requests_at_once, follows_a_client_that_moves,
	   looks_at_real_threads, one_serves_and_the_others_rest,
	   lets_go_of_a_crowded_cpu, a_rest_ends)
