/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault.h - what pm.c and the SIGBUS handler share about one pool
 *
 * Private to src/pm; the promise to others is in pm.h.
 */
#ifndef PM_FAULT_H
#define PM_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pm/backend.h"

#define FAULT_STAND_INS	64	/* remembered one by one; more: the whole pool */

struct fault_pool {
	uint8_t *base;			/* (c) */
	uint64_t size, unit;		/* (c) unit divides base, not size */
	int fd, map_flags, prot;	/* (c) */
	const uint8_t *copied;		/* (c) see struct pm_map */
	bool registered;		/* (c) */
	_Atomic uint64_t seq;		/* odd: stand-ins are mapped */
	_Atomic uint64_t count, last;	/* faults, and where the last was */
	atomic_flag busy;		/* spinlock: taken by the handler too */
	unsigned nr;			/* (busy) stand-ins, > max: not all listed */
	bool lost;			/* (busy) one hides what no file has */
	uint64_t at[FAULT_STAND_INS];	/* (busy) their offsets */
	_Atomic unsigned nr_bad;	/* of bad[]; entries below it are constant */
	struct pm_range bad[PM_BAD_MAX];
};				/*     (c) constant */

/* -EMFILE when too many pools are mapped. */
int fault_register(struct fault_pool *fp, const struct pm_map *m);
/* Before the pool is unmapped; nobody touches it any more. */
void fault_unregister(struct fault_pool *fp);
/* Remember a range of bad memory, once. */
void fault_note_bad(struct fault_pool *fp, struct pm_range r);
/* See pm_fault_here(). */
bool fault_here(const struct fault_pool *fp, uint64_t *off);
/* Map the pool back over the stand-ins; true if there were any. */
bool fault_repair(struct fault_pool *fp);

#endif
