/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa.h - copies into unpublished pool blocks by an Intel DSA work queue
 *
 * Asynchronous: a thread that serves requests has a port, submits jobs to it and
 * reaps those that are done, in any order. A job that was taken always comes
 * back, with every byte in its place: what a device did not do, for whatever
 * reason, the CPU has done by then, and no device writes to the job's blocks or
 * reads its source any more. Nothing is durable: the caller flushes and fences
 * before a record points at the blocks (completion is not durability; L20).
 *
 *   Q1  A device stores only to blocks that no record points at, and to whole
 *       cache lines of them; heads and tails are the CPU's.
 *   Q2  Source, destination, descriptor and completion record stay untouched from
 *       submission until the device is known to be done with them: it said so in
 *       the record, or the queue was drained (portal unmapped and closed).
 *   Q3  Bytes count as copied by the device only as far as a record of theirs says;
 *       a status that is not known is a failure, and the CPU copies.
 *   Q4  No wait for a device is without end. A queue that does not answer, refuses
 *       or is gone is drained, and its jobs are finished by the CPU; it is tried
 *       again after ever longer times, by a copy of our own that nobody waits for.
 *   Q5  A full queue is never waited for: the CPU copies.
 *   Q6  Queues are opened by the process that uses them (after daemonizing): the
 *       kernel ties a queue to the address space that opened it.
 *
 * Locks: a port belongs to one thread. Ports may share a queue, which has a mutex.
 */
#ifndef COPY_DSA_H
#define COPY_DSA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pm;
struct dsa;			/* the work queues of a mount */
struct dsa_port;		/* one thread's: slots, descriptors, completion records */

enum dsa_mode { DSA_AUTO, DSA_OFF, DSA_ON };

struct dsa_opt {
	enum dsa_mode mode;	/* ON: it is an error if there is none */
	uint64_t min;		/* smallest job; 0: the default of dsa_policy.h */
	const char *wq;		/* the queue's node, /dev/dsa/wqX.Y; NULL: discover */
	bool readback;		/* let the device make its bytes durable, if it can:
				   see `durable` below */
};

struct dsa_job {
	uint64_t off;		/* in the pool, any alignment */
	const uint8_t *src;
	size_t len;
	void *user;		/* the caller's */
	/*
	 * Results. 0; -EIO: the pool failed meanwhile (pm_faulted): do not believe the
	 * blocks, write from src elsewhere, and call pm_fault_repair().
	 */
	int err;
	size_t by_device, by_cpu;	/* they add up to len */
	bool durable;		/* no flush is needed any more: only with dsa_opt.readback,
				   if the device copied, and read back, every byte */

	/* private to dsa_job.c: */
	uint64_t mark;		/* pm_fault_mark() at submission */
	uint64_t mid, mid_len;	/* the device's part: whole lines */
	uint64_t submitted, due;	/* ns; due: expected */
	unsigned first, slots, open;	/* its descriptors: where, how many, not yet done */
	struct dsa_job *next, *prev;	/* in flight, oldest first */
};

/* Why a job, or some of its bytes, went by the CPU. */
enum dsa_reason {
	DSA_WHY_SMALL,		/* shorter than dsa_min */
	DSA_WHY_POLICY,		/* the CPU is quicker now */
	DSA_WHY_FULL,		/* the queue, or the port */
	DSA_WHY_OFF,		/* the queue is off, or not yet tried */
	DSA_WHY_FAULT,		/* page fault of the device */
	DSA_WHY_STATUS,		/* another error in a completion record */
	DSA_WHY_TIMEOUT,	/* no completion record in time */
	DSA_WHY_HALTED,		/* the device is not enabled any more */
	DSA_WHY_DISABLED,	/* the queue is not enabled any more */
	DSA_WHY_GONE,		/* sysfs knows no such queue any more */
	DSA_WHY_MEDIUM,		/* the pool failed: dsa_job.err */
	DSA_NR_WHY
};
const char *dsa_why_name(enum dsa_reason why);	/* "small", "policy", ... */

/*
 * Find and open work queues. Call it in the process, and after the fork, that will
 * use them (Q6). *d NULL with 0: there is none, and none was demanded; a line of the
 * log says why (at level debug on a machine without any DSA). -errno with mode ON or
 * a queue named: said so, *d is NULL.
 */
int dsa_open(struct dsa **d, struct pm *pm, const struct dsa_opt *opt);
/* All ports are closed. NULL is fine. */
void dsa_close(struct dsa *d);

/*
 * Around a fork while queues are open, unless an exec follows at once: from before it until
 * the child has said that it has closed all descriptors it was born with. Meanwhile no
 * queue is opened or closed, because nobody could be sure that it is drained. NULL is fine.
 */
void dsa_fork_begin(struct dsa *d);
void dsa_fork_end(struct dsa *d);

/* For at most max_jobs in flight. NULL: no memory. Any thread; then one thread's. */
struct dsa_port *dsa_port_open(struct dsa *d, unsigned max_jobs);
/* No job is in flight (reap them: it ends, Q4). NULL is fine. */
void dsa_port_close(struct dsa_port *p);
/* So many requests besides have arrived at this thread and are not begun (policy). */
void dsa_port_waiting(struct dsa_port *p, unsigned nr);

/*
 * Would a job of len bytes be taken now? For whoever has to reserve blocks first. A
 * false is counted as a fall-back, like a refusal of dsa_submit().
 */
bool dsa_wants(struct dsa_port *p, size_t len);
/* 0: taken; all of *j is the port's until it is reaped. -EAGAIN: copy by CPU. */
int dsa_submit(struct dsa_port *p, struct dsa_job *j);
/* One that is done, or NULL. Never waits for a device, except to drain it (Q4). */
struct dsa_job *dsa_reap(struct dsa_port *p);
unsigned dsa_inflight(const struct dsa_port *p);
/*
 * How many ns a thread that has nothing else to do should sleep before it reaps; 0: now.
 * Grows while a job is overdue, so that nobody spins for a dead device. UINT64_MAX: none is
 * in flight.
 */
uint64_t dsa_eta(const struct dsa_port *p);

/* "wq0.1 (dedicated, MOVDIR64B, 32 entries), durability by CPU flush". */
const char *dsa_describe(struct dsa *d, char *buf, size_t size);

struct dsa_stats {
	uint64_t jobs, descriptors, batches, bytes_device, bytes_cpu;
	uint64_t why[DSA_NR_WHY];
	uint64_t inflight, inflight_max;
	unsigned queues, queues_on;	/* on: taking jobs now */
};
/* d NULL: zeros. Any thread. */
void dsa_stats(const struct dsa *d, struct dsa_stats *s);

#endif
