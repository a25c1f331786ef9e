/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * offload.c - requests that wait for a copying device while others are served
 *
 *   O1  Nobody waits for a parked request: it holds no lock, no lane and no
 *       transaction, only free blocks, which a crash gives back by itself.
 *   O2  Its payload and its place (struct parked) are untouched until the engine
 *       hands the job back, which it does whatever becomes of the device (dsa.h, Q4).
 *   O3  It is then served as if it had just come: who may write, where the file
 *       ends and what is there is decided then, not when it was parked.
 *   O4  Where the pool failed under the copy, the payload is written from where it
 *       was received, to other blocks.
 *   O5  Whoever leaves serves first what is parked (the engine bounds the wait).
 *
 * Not here: which request is worth a device, and when (dsa_wants()).
 */
#define _GNU_SOURCE
#include "fuse/offload.h"

#include <assert.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/bytes.h"
#include "base/log.h"
#include "fuse/session.h"
#include "fuse/stats.h"
#include "pm/pm.h"

#define SKIP	16u			/* requests after one that got no free blocks */

void offload_open(struct offload *o, struct session *s, unsigned depth)
{
	*o = (struct offload){ .s = s };
	if (!s->dsa)
		return;
	o->port = dsa_port_open(s->dsa, depth);
	if (o->port)		/* a device is done long before the usual 50 us have passed */
		prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	else
		log_warn("no memory for a device to copy by: a thread does without");
}

void offload_close(struct offload *o)
{
	dsa_port_close(o->port);
	o->port = NULL;
}

void offload_waiting(struct offload *o, unsigned nr)
{
	if (o->port)
		dsa_port_waiting(o->port, nr);
}

uint64_t offload_eta(const struct offload *o)
{
	uint64_t ns = o->nr ? dsa_eta(o->port) : UINT64_MAX;

	return o->nr && ns == UINT64_MAX ? 0 : ns;	/* all are done, not yet served */
}

void offload_pause(const struct offload *o)
{
	uint64_t ns = min64(offload_eta(o), 1000000);

	if (ns)
		nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
	else
		sched_yield();
}

static bool is_sound_write(const struct request *rq)
{
	const struct fuse_write_in *in = rq->arg;

	return rq->h->opcode == FUSE_WRITE && in && rq->data.len == in->size &&
	       in->size && in->size <= OP_WRITE_MAX;
}

static bool park(struct offload *o, struct request *rq, struct parked *p)
{
	const struct fuse_write_in *in = rq->arg;
	uint64_t now = stats_clock();

	assert(rq->data.mem && !rq->data.land);		/* other routes: no port (main.c) */
	if (!dsa_wants(o->port, in->size))
		return false;
	if (o->skip) {
		o->skip--;
	} else if (!op_land_for(&rq->ctx, rq->h->nodeid, in->offset, in->size, &p->land)) {
		o->skip = SKIP;
	} else {
		p->rq = rq;
		p->job = (struct dsa_job){
			.off = p->land.off, .src = rq->data.mem, .len = in->size, .user = p,
		};
		if (!dsa_submit(o->port, &p->job)) {
			rq->arrived = now;
			o->nr++;
			return true;
		}
		op_land_put(o->s->fs, &p->land);
		return false;
	}
	atomic_fetch_add_explicit(&o->s->no_room, 1, memory_order_relaxed);
	return false;
}

bool offload_serve(struct offload *o, struct request *rq, struct parked *p)
{
	if (o->port && is_sound_write(rq) && park(o, rq, p))
		return true;
	dispatch(rq);
	return false;
}

/* O4. Blocks that are known to be bad are not reserved again. */
static void medium_failed(struct offload *o)
{
	struct pm *pm = o->s->fs->pm;
	uint64_t bad;

	pm_fault_repair(pm);
	if (pm_fault_here(pm, &bad))
		log_err("bad memory at pool offset %llu: a copy into free blocks met it; the"
			" page is not used again", (unsigned long long)bad);
}

struct request *offload_reap(struct offload *o)
{
	struct dsa_job *j = o->port ? dsa_reap(o->port) : NULL;
	struct parked *p;
	struct request *rq;

	if (!j)
		return NULL;
	o->nr--;
	p = j->user;
	rq = p->rq;
	if (j->err) {
		medium_failed(o);
	} else {
		p->land.durable = j->durable;
		rq->data = payload_landed(o->s->fs->pm, NULL, 0, &p->land);
	}
	dispatch(rq);						/* O3 */
	log_debug("%llu: %zu bytes by device, %zu by CPU, %llu of the blocks taken",
		  (unsigned long long)rq->h->unique, j->by_device, j->by_cpu,
		  (unsigned long long)p->land.taken);
	op_land_put(o->s->fs, &p->land);
	return rq;
}
