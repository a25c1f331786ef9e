/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_count.c - nothing is lost, however many threads count
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>

#include "base/count.h"
#include "support/check_main.h"

#define TIMES	20000u
#define MANY	(COUNT_ROWS + 20)

static struct counters c;
static sem_t ready, leave;

static void *add(void *arg)
{
	for (unsigned i = 0; i < TIMES; i++) {
		count_add(&c, COUNT_FENCES, 1);
		count_add(&c, COUNT_COPIED, 3);
	}
	*(unsigned *)arg = count_row();
	sem_post(&ready);
	sem_wait(&leave);
	return NULL;
}

/* All alive at once: rows for as many as there are, the last one shared. */
START_TEST(every_thread_counts)
{
	static pthread_t t[MANY];
	static unsigned row[MANY];
	unsigned users[COUNT_ROWS] = { 0 };

	memset(&c, 0, sizeof(c));
	sem_init(&ready, 0, 0);
	sem_init(&leave, 0, 0);
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, add, &row[i]), 0);
	for (unsigned i = 0; i < MANY; i++)
		sem_wait(&ready);
	for (unsigned i = 0; i < MANY; i++) {
		ck_assert_uint_lt(row[i], COUNT_ROWS);
		users[row[i]]++;
	}
	ck_assert_uint_gt(users[COUNT_SHARED], 1);
	for (unsigned i = 0; i < COUNT_SHARED; i++)
		ck_assert_uint_le(users[i], 1);
	for (unsigned i = 0; i < MANY; i++)
		sem_post(&leave);
	for (unsigned i = 0; i < MANY; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(count_sum(&c, COUNT_FENCES), (uint64_t)MANY * TIMES);
	ck_assert_uint_eq(count_sum(&c, COUNT_COPIED), (uint64_t)MANY * TIMES * 3);
	ck_assert_uint_eq(count_sum(&c, COUNT_FLUSHES), 0);
}
END_TEST

/* A process that starts threads for ever does not run out of rows. */
START_TEST(a_row_is_inherited)
{
	unsigned first = 0, row;
	pthread_t t;

	memset(&c, 0, sizeof(c));
	sem_init(&ready, 0, 0);
	sem_init(&leave, 0, 2 * COUNT_ROWS);
	for (unsigned i = 0; i < 2 * COUNT_ROWS; i++) {
		ck_assert_int_eq(pthread_create(&t, NULL, add, &row), 0);
		pthread_join(t, NULL);
		if (i == 0)
			first = row;
		ck_assert_uint_eq(row, first);
	}
	ck_assert_uint_ne(first, COUNT_SHARED);
	ck_assert_uint_eq(count_sum(&c, COUNT_FENCES), 2ull * COUNT_ROWS * TIMES);
}
END_TEST

CHECK_MAIN("count", every_thread_counts, a_row_is_inherited)
