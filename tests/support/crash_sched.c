/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crash_sched.c - two threads at once, the same way every time
 *
 * Only one of them runs at any moment. The baton passes in front of a call to
 * the medium, when the schedule says so, and where a thread would wait for a
 * lock: this program's pthread_mutex_lock() and its kin, which replace the C
 * library's for the code under test, try, and pass the baton if the lock is
 * held. So each schedule is a number, and what it leads to does not depend on
 * the machine.
 *
 * Schedules: a number below 2^19 lets thread nr % 2 make nr / 2 calls to the
 * medium, then the other one go on as far as it can, then the first again. One
 * below 2^20 has two numbers of calls in it (crash.h), after which the baton
 * passes: of the first thread, of the other. Any other number is the seed of
 * dice that are thrown in front of every call.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "support/crash_int.h"

#define STUCK	100000u

struct sched {
	bool on;
	sem_t go[TREE_ACTORS];
	bool done[TREE_ACTORS];
	unsigned calls[TREE_ACTORS];
	unsigned waits;			/* locks tried in vain since somebody got on */
	uint64_t nr, dice;
	unsigned switched;
};

static struct sched sched;
static _Thread_local int me = -1;	/* the actor that this thread is */

int crash_me(void)
{
	return me < 0 ? 0 : me;
}

bool crash_scheduled(void)
{
	return me >= 0;
}

/* ---- the baton ------------------------------------------------------------- */

static void pass(void)
{
	int other = !me;

	if (sched.done[other])
		return;
	sem_post(&sched.go[other]);
	sem_wait(&sched.go[me]);
}

static bool wants_switch(void)
{
	unsigned limit[2] = { sched.nr >> 1 & 0xff, sched.nr >> 9 & 0xff }, nr_limits = 1;

	if (sched.nr >= 1u << 20) {
		sched.dice = hash_bytes(sched.dice, "dice", 4);
		return sched.dice % 4 == 0;
	}
	if (sched.nr < 1u << 19)
		limit[0] = (unsigned)sched.nr / 2;
	else
		nr_limits = 2;
	if (sched.switched >= nr_limits ||
	    (int)((sched.nr + sched.switched) % 2) != me ||
	    sched.calls[me] <= limit[sched.switched])
		return false;
	sched.switched++;
	return true;
}

static void in_front_of_call(void *arg, enum rec_kind kind)
{
	(void)arg;
	(void)kind;
	if (me < 0)
		return;
	sched.waits = 0;
	sched.calls[me]++;
	if (wants_switch())
		pass();
}

/* ---- locks ------------------------------------------------------------------- */

static void would_wait(const char *what)
{
	if (me < 0 || sched.done[!me] || ++sched.waits > STUCK) {
		fprintf(stderr, "crash: a deadlock at %s\n", what);
		abort();
	}
	pass();
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
	int err;

	while ((err = pthread_mutex_trylock(m)) == EBUSY)
		would_wait("a mutex");
	return err;
}

int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	int err;

	while ((err = pthread_rwlock_tryrdlock(l)) == EBUSY)
		would_wait("a shared lock");
	return err;
}

int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	int err;

	while ((err = pthread_rwlock_trywrlock(l)) == EBUSY)
		would_wait("an exclusive lock");
	return err;
}

int sched_yield(void)
{
	if (me >= 0 && !sched.done[!me])
		pass();
	return 0;
}

/* ---- the load ------------------------------------------------------------------- */

struct worker {
	struct crash *c;
	const struct crash_load *l;
	int actor;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	me = w->actor;
	rec_thread((unsigned)me + 1);
	crash_set_clock(2000000 + me * 10000);
	sem_wait(&sched.go[me]);
	w->l->run(w->c, w->l, (unsigned)me);
	sched.done[me] = true;
	sem_post(&sched.go[!me]);
	return NULL;
}

static void start(struct sched *s, uint64_t nr)
{
	memset(s, 0, sizeof(*s));
	for (unsigned i = 0; i < TREE_ACTORS; i++)
		sem_init(&s->go[i], 0, 0);
	s->nr = s->dice = nr;
}

void crash_run_threads(struct crash *c, const struct crash_load *l, unsigned first,
		       unsigned nr)
{
	struct worker w[TREE_ACTORS];

	start(&sched, l->seed);
	rec_hook(c->rec, in_front_of_call, NULL);
	for (unsigned i = 0; i < TREE_ACTORS; i++) {
		w[i] = (struct worker){ c, l, (int)i, 0 };
		sched.done[i] = i < first || i >= first + nr;
		if (!sched.done[i] && pthread_create(&w[i].thread, NULL, work, &w[i]))
			abort();
	}
	sem_post(&sched.go[nr > 1 ? l->seed % 2 : first]);
	for (unsigned i = first; i < first + nr; i++)
		pthread_join(w[i].thread, NULL);
	rec_hook(c->rec, NULL, NULL);
}
