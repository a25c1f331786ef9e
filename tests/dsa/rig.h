/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rig.h - jobs for the DSA engine, over a software device, and what must come of them
 *
 * Jobs of every size and alignment, 1 to 32 of them in flight, go to the engine of
 * src/copy over a software device (softdsa.h) that does what a script says. What
 * the engine refuses is copied by the CPU, as its callers do. Then, for each job:
 *
 *   T1  All bytes are in their place, and none beside it has changed.
 *   T2  by_device and by_cpu add up, and the device is done with it: with its
 *       blocks, its source, and its records.
 *   T3  It came back, and no later than the engine's limits allow, by a clock
 *       that is the test's own.
 *
 * And in the end the device has nothing to complain of (Z4).
 */
#ifndef DSA_RIG_H
#define DSA_RIG_H

#include <check.h>

#include "dsa/softdsa_attach.h"
#include "pm/pm.h"
#include "support/pm_mem.h"

#define AREA		(4u << 20)	/* of the pool, for each job */
#define LONGEST		(3u << 20)
#define JOBS		32u
#define SIZE		((uint64_t)JOBS * AREA)
#define SEC		1000000000ull

struct way {
	const char *name;
	bool shared, no_map, small;	/* small: transfers of 16 KiB, batches of 4 */
};

enum { MOVDIR, MOVDIR_SMALL, ENQ, ENQ_SMALL, WRITE, WRITE_SMALL, WRITE_SHARED, NR_WAYS };
extern const struct way ways[NR_WAYS];

extern struct pm_mem mem;
extern struct pm *pm;
extern struct soft_sys sys;
extern struct dsa *dsa;
extern uint8_t *source;
extern char what[200];			/* is being tried */
extern uint64_t timeout;		/* of the engine, if not 0 */
extern bool page_tables;		/* struct softdsa_conf.present */
extern const struct dsa_opt any_size;

/* Of each thread: */
extern _Thread_local struct dsa_port *port;
extern _Thread_local unsigned first;	/* of its areas */
extern _Thread_local uint64_t dice;
extern _Thread_local struct doing {
	struct dsa_job j;
	bool busy;
	uint64_t since;
} doing[JOBS];

uint64_t roll(uint64_t sides);
void open_pool(const struct pm_backend *backend, void *arg);
void close_pool(void);			/* and its memory */
/* An engine, a port, and a queue that is on; then the script begins. */
void open_way(const struct way *w, const char *script, const struct dsa_opt *opt);
void close_way(void);
/* More of the script. */
void script(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
uint64_t why(enum dsa_reason reason);	/* counted so often */

/* Nonsense for a job to fall into. */
void soil(uint64_t off, uint64_t len);
uint64_t some_size(uint64_t longest);
/* A job of so many bytes as number i. False: by the CPU, and done. */
bool begin(unsigned i, uint64_t len);
/* Reap and check what is done; false: nothing was. */
bool reap_all(void);
/* So many operations of the device; reap; time goes on if nothing else does. */
void turn(unsigned steps);
void finish(void);			/* until all are back */
/* So many jobs, up to depth at once. Returns how many the device got. */
unsigned work(unsigned nr, unsigned depth, uint64_t longest);

#endif
