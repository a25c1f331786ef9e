/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count.c - which thread adds to which row (count.h)
 *
 * Rows are given out lowest first, so that a process of a few threads touches
 * a few. The lock orders what the last owner of a row stored before what the
 * next one loads (K1).
 */
#include "base/count.h"

#include <pthread.h>
#include <stdbool.h>

_Thread_local unsigned count_thread_row;

static struct {
	pthread_mutex_t lock;
	pthread_key_t key;		/* its destructor gives the row back */
	bool taken[COUNT_SHARED];
} rows = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void give_back(void *arg)
{
	pthread_mutex_lock(&rows.lock);
	rows.taken[(uintptr_t)arg - 1] = false;
	pthread_mutex_unlock(&rows.lock);
	/* other destructors may still count */
	count_thread_row = COUNT_SHARED + 1;
}

static void make_key(void)
{
	if (pthread_key_create(&rows.key, give_back))
		for (unsigned i = 0; i < COUNT_SHARED; i++)
			rows.taken[i] = true;	/* all share: slower, still right */
}

unsigned count_take_row(void)
{
	unsigned i = 0;

	pthread_once(&once, make_key);
	pthread_mutex_lock(&rows.lock);
	while (i < COUNT_SHARED && rows.taken[i])
		i++;
	if (i < COUNT_SHARED) {
		rows.taken[i] = true;
		if (pthread_setspecific(rows.key, (void *)(uintptr_t)(i + 1))) {
			rows.taken[i] = false;	/* nobody would give it back */
			i = COUNT_SHARED;
		}
	}
	pthread_mutex_unlock(&rows.lock);
	count_thread_row = i + 1;
	return i + 1;
}

uint64_t count_sum(const struct counters *c, enum counter id)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < COUNT_ROWS; i++)
		sum += atomic_load_explicit(&c->row[i].n[id], memory_order_relaxed);
	return sum;
}
