/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * follow.h - a worker runs on the CPU of the client that it serves
 *
 * A synchronous request is a hand-over: the client sleeps while the daemon
 * works. The scheduler cannot know that, sees the other CPU idle and wakes the
 * worker there; then both hand-overs of the round trip wait for a sleeping CPU
 * to wake up, which in a virtual machine costs several times all the rest. So
 * where all the work comes from one CPU, one request at a time, a worker binds
 * itself to that CPU.
 *
 *   F1  Clients on several CPUs, or one that keeps several requests in
 *       flight, find the workers free to run anywhere.
 *   F2  A worker is bound only to a CPU that it was allowed when it started,
 *       and free means that set again.
 *   F3  Of workers bound to one CPU one serves, and the others rest instead of
 *       being woken for requests that it takes before they get to run. They
 *       are back at once when it lets go of the CPU, and after REST_MS when a
 *       request waits or it has served none: what holds it up holds up nobody
 *       for longer.
 *   F4  A CPU where a worker has to wait for its turn is not worth to be bound
 *       to: it lets go, and tries again after FOLLOW_PAUSE looks. A worker that
 *       ends its rest because little happens has the first one look at that.
 *   F5  One request in many is looked at; what is looked at is the client's
 *       last CPU in /proc and whether another request waits. Without /proc
 *       nothing is ever bound.
 */
#ifndef FUSE_FOLLOW_H
#define FUSE_FOLLOW_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Requests between two looks, at least and at most. */
#define FOLLOW_OFTEN	4u
#define FOLLOW_SELDOM	64u
#define FOLLOW_PAUSE	32u
/* Waiting for a turn, on average over the requests between two looks. */
#define FOLLOW_DELAY_NS	100000u
#define REST_MS		10

enum follow_how {
	FOLLOW_AUTO,
	FOLLOW_ALWAYS,			/* without F4 */
	FOLLOW_NEVER,
};

/* What the workers of a session share; touched by looks only. */
struct follow_team {
	pthread_mutex_t lock;
	pthread_cond_t let_go;
	struct follow *first;		/* the one that serves, or NULL */
	int cpu;			/* where */
};

struct follow {
	struct follow_team *team;	/* (c) */
	int conn;			/* (c) the connection */
	bool on, always;
	bool rest;			/* F3: not needed now */
	_Atomic uint64_t served;	/* written by its worker, read by others */
	_Atomic bool hurry;		/* written by others: look now */
	cpu_set_t all;			/* F2 */
	int bound;			/* CPU, or -1 */
	int cpu;			/* what the last looks are compared with */
	uint8_t seen;			/* of the last eight, the agreeing ones */
	unsigned every, left, pause;
	int fd, pid;			/* the client's stat file, or -1 */
	int self;			/* our own schedstat, or -1 */
	uint64_t delay, at;		/* at the last look: waited, served */
};

void follow_team_init(struct follow_team *team);

/* For the calling thread; conn is what it receives from. */
void follow_open(struct follow *f, struct follow_team *team, int conn,
		 enum follow_how how);
void follow_close(struct follow *f);

/*
 * Decide after a look: it found the client on cpu, or is no reason to bind at
 * all (-1). Returns where to be from now on: a CPU, or -1 for anywhere.
 */
int follow_note(struct follow *f, int cpu);

/* The look itself. */
void follow_look(struct follow *f, uint32_t opcode, uint32_t pid);
/* Rest as long as F3 allows; with no request in hand. */
void follow_rest(struct follow *f);

/* For every request, before it is served. */
static inline void follow(struct follow *f, uint32_t opcode, uint32_t pid)
{
	uint64_t n = atomic_load_explicit(&f->served, memory_order_relaxed);

	atomic_store_explicit(&f->served, n + 1, memory_order_relaxed);
	if (f->on && (--f->left == 0 ||
		      atomic_load_explicit(&f->hurry, memory_order_relaxed)))
		follow_look(f, opcode, pid);
}

#endif
