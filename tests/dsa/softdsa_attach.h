/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softdsa_attach.h - the engine of src/copy on a software device, without nodes
 *
 *	struct soft_sys s;
 *	soft_sys_init(&s, &softdsa_usual);
 *	dsa_open_on(&d, pm, &opt, &s.sys, &s.wq[1], 1);
 *	... submit; while (softdsa_step(s.dev)) ...; reap ...
 *	soft_sys_end(&s);
 *
 * Time is s.now: it goes on by a little with each look at it, and by what a test
 * adds. So nothing depends on how fast anything is. What the engine does to files it
 * has not opened, and to portals it has not mapped, is told as a violation.
 */
#ifndef DSA_SOFTDSA_ATTACH_H
#define DSA_SOFTDSA_ATTACH_H

#include "copy/dsa_int.h"
#include "dsa/softdsa.h"

#define SOFT_LOOK	100u		/* ns: what a look at the clock takes */

struct soft_sys {
	struct dsa_sys sys;		/* for dsa_open_on() */
	struct dsa_wq wq[SOFT_WQS];
	struct softdsa *dev;
	_Atomic uint64_t now;
	bool no_map;			/* portals cannot be mapped: write() */
	bool blind;			/* sysfs says that all is well, whatever happens */
	bool gone;			/* sysfs has no queues */
	bool slow;			/* closing takes its time, for other threads to use */
	unsigned opens, closes;		/* by one thread */
	/* private: */
	unsigned nr_wq, fds[SOFT_WQS], maps[SOFT_WQS];
	uint8_t *portal[SOFT_WQS];
};

void soft_sys_init(struct soft_sys *s, const struct softdsa_conf *conf);
/* The engine is closed. Complains of what it left open; then frees the device. */
void soft_sys_end(struct soft_sys *s);

#endif
