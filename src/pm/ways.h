/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ways.h - every way that this CPU has to store a stretch of bytes
 *
 * For measuring (pmemfs-bench): what the program itself uses is pm.h. Both
 * ends are multiples of 64 bytes, as is the length. Leaves: flushed, so that
 * pm_fence() makes it durable where lines are what is flushed; but for the
 * first way, which leaves: stored.
 */
#ifndef PM_WAYS_H
#define PM_WAYS_H

#include <stdbool.h>
#include <stddef.h>

struct pm_way {
	const char *name, *about;
	bool (*has)(void);		/* this CPU can */
	void (*store)(void *to, const void *from, size_t len);
};

#define PM_WAYS_MAX	16u
/* Fills in those that this CPU has; returns how many. */
unsigned pm_ways(const struct pm_way **out);

#endif
