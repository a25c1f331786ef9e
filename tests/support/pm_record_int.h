/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_record_int.h - what pm_record.c and pm_record_walk.c share
 */
#ifndef SUPPORT_PM_RECORD_INT_H
#define SUPPORT_PM_RECORD_INT_H

#include <pthread.h>

#include "support/pm_record.h"

struct rec_chunk;

struct pm_rec {
	const struct pm_backend *inner;	/* (c) */
	void *inner_arg;		/* (c) */
	pthread_mutex_t lock;
	struct rec_event *event;
	size_t nr, room;
	struct rec_chunk *chunk;	/* holds what events point to */
	struct rec_counts counts;
	bool logging;
	unsigned fail_in;		/* fences until they fail; 0: never */
	bool failing;
	uint8_t *base;			/* of the pool, as last opened */
	uint64_t size;
	const uint8_t *start;		/* the pool when the log began */
	uint8_t *own_start;		/* start, if it is our own copy */
	bool borrowed;			/* never take a copy */
	const struct pm_site *mutant;
	void (*hook)(void *arg, enum rec_kind kind);
	void *hook_arg;
	enum pm_granularity granularity;
};					/* (c) constant, all else under lock */

#endif
