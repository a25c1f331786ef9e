/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_int.h - the parts of the DSA engine; private to src/copy and its tests
 *
 *   dsa_find.c   which work queues are there (libaccel-config, or _none)
 *   dsa_sysfs.c  what one of them is
 *   dsa_sys.c    system calls
 *   dsa_door.c   the instructions that submit
 *   dsa_queue.c  one queue: on, off, tried; submission
 *   dsa_job.c    a port's jobs: split, submitted, reaped, finished by CPU
 *   dsa.c        a mount's queues and ports; statistics
 */
#ifndef COPY_DSA_INT_H
#define COPY_DSA_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "copy/dsa.h"
#include "copy/dsa_desc.h"
#include "copy/dsa_policy.h"

#define DSA_QUEUES_MAX	4u		/* opened at once; more ports share them */
#define DSA_TIMEOUT	2000000000ull	/* ns: the longest wait for a record */
#define DSA_LOOK	20000000ull	/* ns overdue: look at sysfs, and again after each */
#define DSA_BACKOFF_MIN	1000000000ull	/* ns off after a failure; doubled, up to */
#define DSA_BACKOFF_MAX	60000000000ull
#define DSA_REFUSED	64u		/* in a row, by a shared queue: look at sysfs */
#define DSA_FAULTS	16u		/* page faults for good, nothing without between: off */
#define DSA_AGAIN_MIN	16384u		/* bytes left by a page fault that are submitted again */
#define DSA_SLOTS_MAX	1024u		/* descriptors of a port */

/* ---- what a queue is (dsa_find.c, dsa_sysfs.c) -------------------------------------------- */

struct dsa_wq {
	char name[32];			/* "wq0.1": in /sys/bus/dsa/devices */
	char dev[32];			/* "dsa0" */
	char path[64];			/* "/dev/dsa/wq0.1" */
	bool shared;			/* ENQCMD; else dedicated: MOVDIR64B and credits */
	unsigned size;			/* entries */
	unsigned threshold;		/* shared: entries we can fill */
	uint64_t max_transfer;		/* bytes of one descriptor */
	unsigned max_batch;		/* descriptors of one batch */
	int node;			/* NUMA; -1: not known */
	unsigned engines;		/* of its group: so many descriptors at once */
	bool batch;			/* op_cap has BATCH */
	bool readback;			/* gen_cap has destination readback */
	bool block_on_fault;		/* the queue allows BOF (we never set it) */
};

enum dsa_wq_state { DSA_WQ_ENABLED, DSA_WQ_DISABLED, DSA_WQ_HALTED, DSA_WQ_GONE };

/*
 * The queues for a pool on a NUMA node (-1: not known), best first: dedicated ones
 * of that node. Returns how many were put into wq, and in `why` a sentence about why no
 * more or none. *any: the machine has a DSA.
 */
unsigned dsa_find(int node, struct dsa_wq *wq, unsigned max, bool *any, char *why, size_t size);
/* The queue of a node named by hand. 0 or -errno, `why` set. */
int dsa_find_named(const char *path, struct dsa_wq *wq, char *why, size_t size);
/* Is it still there and enabled? If so, *wq is what it is now. */
enum dsa_wq_state dsa_find_again(struct dsa_wq *wq);

/* ---- the system (dsa_sys.c; tests have their own) ----------------------------- */

struct dsa_sys {
	void *arg;			/* first argument of all */
	/* Open for reading and writing. fd or -errno. */
	int (*open)(void *arg, const char *path);
	void (*close)(void *arg, int fd);
	/* The portal, one page. NULL: refused. */
	void *(*map)(void *arg, int fd);
	void (*unmap)(void *arg, void *portal);
	/* Descriptors by write(2): how many were taken, or -errno (-EAGAIN: full). */
	int (*write)(void *arg, int fd, const struct dsa_desc *d, unsigned nr);
	/*
	 * To a 64-byte place of the portal. Whatever was stored before is visible to the
	 * device first: the store fence is in here. enqcmd: true: taken.
	 */
	void (*movdir64b)(void *arg, void *place, const struct dsa_desc *d);
	bool (*enqcmd)(void *arg, void *place, const struct dsa_desc *d);
	/* Monotonic, ns. */
	uint64_t (*now)(void *arg);
	/* As dsa_find_again(). */
	enum dsa_wq_state (*look)(void *arg, struct dsa_wq *wq);
	bool has_movdir64b, has_enqcmd;	/* else write() */
	uint64_t timeout;		/* ns; 0: DSA_TIMEOUT */
};
/* The real one; has_... from CPUID. */
void dsa_sys_real(struct dsa_sys *sys);

/* dsa_door.c */
void dsa_door_has(bool *movdir64b, bool *enqcmd);
void dsa_door_movdir64b(void *place, const struct dsa_desc *d);
bool dsa_door_enqcmd(void *place, const struct dsa_desc *d);	/* true: taken */

/* ---- one queue (dsa_queue.c) --------------------------------------------------- */

enum dsa_queue_state {
	DSA_QUEUE_OFF,			/* closed; tried again at retry_at */
	DSA_QUEUE_TRIED,		/* open; a copy of ours has not come back yet */
	DSA_QUEUE_ON,
	DSA_QUEUE_DRAINING,		/* somebody is closing it */
};

enum dsa_way { DSA_MOVDIR64B, DSA_ENQCMD, DSA_WRITE };

struct dsa_trial {			/* the copy of our own: DRAM to DRAM */
	struct dsa_desc desc;
	struct dsa_record rec;
	_Alignas(64) uint8_t src[64];
	_Alignas(64) uint8_t dst[64];
};

struct dsa_queue {
	struct dsa_sys *sys;		/* (c) */
	pthread_rwlock_t *forking;	/* (c) held for reading to open or close the node */
	pthread_mutex_t lock;		/* (l) below; (c) constant */
	struct dsa_wq wq;		/* (l) the name and the path (c) */
	_Atomic int state;		/* (l) changed; read by all */
	_Atomic unsigned epoch;		/* (l) changed: drained so many times */
	_Atomic int why;		/* (l) enum dsa_reason: of the last drain */
	enum dsa_way way;		/* (l) */
	int fd;				/* (l) */
	uint8_t *portal;		/* (l) NULL: write() */
	unsigned place;			/* (l) the next of the portal */
	unsigned credits;		/* (l) dedicated: entries not in use */
	_Atomic unsigned refused;	/* in a row */
	_Atomic unsigned faults;	/* in a row */
	uint64_t retry_at, backoff;	/* (l) */
	uint64_t on_since, off_since;	/* (l) off_since 0: it is on, or was never */
	uint64_t trial_end;		/* (l) */
	struct dsa_trial *trial;	/* (l) */
	unsigned ports;			/* struct dsa's lock */
	_Atomic uint64_t inflight;	/* bytes submitted and not reaped */
};

struct dsa_limits {
	unsigned epoch;
	uint64_t max_transfer;
	unsigned max_batch;		/* 0: no batches */
	unsigned room;			/* descriptors that can be submitted; a guess if shared */
};

/* 0, or -errno of open: nothing to close then. Tried, not on, on return. */
int dsa_queue_open(struct dsa_queue *q, struct dsa *d, const struct dsa_wq *wq);
void dsa_queue_close(struct dsa_queue *q);
/* Is it on? Ends a trial, or begins one if it is time to. */
bool dsa_queue_ready(struct dsa_queue *q);
/* false: not on. */
bool dsa_queue_limits(struct dsa_queue *q, struct dsa_limits *l);
/* Submit the first of nr descriptors: so many were taken. 0 also if drained since `epoch`. */
unsigned dsa_queue_put(struct dsa_queue *q, unsigned epoch, const struct dsa_desc *d,
		       unsigned nr);
/* nr descriptors have completed that were put in `epoch`. */
void dsa_queue_got(struct dsa_queue *q, unsigned epoch, unsigned nr);
/*
 * No more submissions, and wait until the device is done with what it has: unless that has
 * been done since `epoch`, or is being done by another thread.
 */
void dsa_queue_off(struct dsa_queue *q, unsigned epoch, enum dsa_reason why);
/* Off if sysfs says that it is not enabled. */
void dsa_queue_look(struct dsa_queue *q, unsigned epoch);

static inline unsigned dsa_queue_epoch(const struct dsa_queue *q)
{
	return atomic_load_explicit(&q->epoch, memory_order_acquire);
}

/* ---- all of a mount (dsa.c) ---------------------------------------------------- */

struct dsa {
	struct pm *pm;
	struct dsa_sys sys;
	uint64_t min;
	struct dsa_kind kind;		/* (policy) */
	struct dsa_medium medium;
	bool readback;			/* asked for, and all queues can */
	unsigned nr;			/* queues */
	pthread_mutex_t lock;		/* who has which queue */
	pthread_rwlock_t forking;	/* for writing: a fork */
	_Atomic uint64_t inflight, inflight_max;	/* jobs */
	_Atomic unsigned serving;	/* threads that copy or flush what no device does */
	struct dsa_queue queue[DSA_QUEUES_MAX];
};

/*
 * As dsa_open(), on this system and these queues (both are copied): tests begin here.
 * -errno: none of them could be opened; the last says why. Logs nothing then.
 */
int dsa_open_on(struct dsa **d, struct pm *pm, const struct dsa_opt *opt,
		const struct dsa_sys *sys, const struct dsa_wq *wq, unsigned nr, char *why,
		size_t size);

/* Count a request, or a part of one, that went by the CPU. */
void dsa_count(struct dsa *d, enum dsa_reason why);
/* When a job of len bytes, submitted now, is expected to be done; ns. */
uint64_t dsa_expect(const struct dsa *d, size_t len);
/* Is the device to have it, with `own` jobs of this thread in flight and others waiting? */
bool dsa_policy_says(const struct dsa *d, size_t len, unsigned own, unsigned waiting);
/* The queue that the fewest ports have. */
struct dsa_queue *dsa_queue_get(struct dsa *d);
void dsa_queue_leave(struct dsa *d, struct dsa_queue *q);

/* Pages that are there before a process forks and stay where they are. NULL: none. */
void *dsa_pages(size_t size);
void dsa_pages_free(void *p, size_t size);

#endif
