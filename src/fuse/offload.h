/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * offload.h - requests that wait for a copying device while others are served
 *
 * A serving thread has one struct offload, and a struct parked for each request
 * that it can keep. A large WRITE is parked while a device (copy/dsa.h) brings its
 * bytes into free blocks of the pool (op_land_for); then it is served like any
 * other, which finds them in place.
 *
 *	if (!offload_serve(&o, rq, parked))
 *		...rq is answered...
 *	while ((rq = offload_reap(&o)))
 *		...rq, parked some time ago, is answered...
 *	...receive, but for no longer than offload_eta(&o)...
 */
#ifndef FUSE_OFFLOAD_H
#define FUSE_OFFLOAD_H

#include "copy/dsa.h"
#include "fuse/request.h"

#define OFFLOAD_DEPTH	16u		/* requests of one thread that a device may have */

struct parked {
	struct request *rq;
	struct dsa_job job;
	struct landing land;
};

struct offload {
	struct session *s;
	struct dsa_port *port;		/* NULL: nothing is ever parked */
	unsigned nr;			/* parked */
	unsigned skip;			/* requests not to reserve blocks for */
};

/* For depth requests. Without a device, or memory, it serves all at once. */
void offload_open(struct offload *o, struct session *s, unsigned depth);
/* Nothing is parked. */
void offload_close(struct offload *o);

/* So many more have come to this thread; what is worth a device depends on it. */
void offload_waiting(struct offload *o, unsigned nr);
/*
 * Serve rq now: false, it has been answered (or nothing was due). True: it is
 * parked. Then it, p and its payload are the offload's until offload_reap().
 */
bool offload_serve(struct offload *o, struct request *rq, struct parked *p);
/* One that was parked and has now been served and answered; NULL: none is done. */
struct request *offload_reap(struct offload *o);
/* ns to sleep before looking again; 0: look now. UINT64_MAX: nothing is parked. */
uint64_t offload_eta(const struct offload *o);
/* For whoever has nothing else to do: until then. */
void offload_pause(const struct offload *o);

#endif
