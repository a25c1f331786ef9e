/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_queue.c - one work queue: submission, and when to leave it alone
 *
 * A queue is on, or it is off and closed. What comes between the two is here: it
 * goes off by a drain, and comes back by a trial.
 *
 *   E1  Drained means: the portal is unmapped and the node closed. The kernel's
 *       release of the node waits until the device is done with all that was
 *       submitted through it; only then the epoch goes up, and whoever has seen
 *       it go up may use again what a descriptor named. (Q2)
 *       A forked child has copies of the node's descriptor, and as long as it does, closing
 *       ours waits for nothing: so nobody closes one between a fork and the moment
 *       when the child has closed its own (dsa_fork_begin()).
 *   E2  No lock that a submission needs is held while a drain waits; one thread does it.
 *   E3  A dedicated queue never holds more descriptors than it has entries: what is
 *       too many is lost without a word (MOVDIR64B has no status).
 *   E4  After opening, the first descriptor is a copy of our own, from DRAM to
 *       DRAM. Requests follow when its record and its bytes have arrived. So a queue
 *       that is open and dead costs no request its time, and the write() path, of
 *       which only a completion says that it works, is checked like the others.
 *
 * Not here: which descriptors, and what becomes of them (dsa_job.c).
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/log.h"
#include "copy/dsa_int.h"

#define TRIAL_POLLS	200u	/* while opening: a working device needs about 1 us */

static uint64_t now(const struct dsa_queue *q)
{
	return q->sys->now(q->sys->arg);
}

static int state(const struct dsa_queue *q)
{
	return atomic_load_explicit(&q->state, memory_order_acquire);
}

static void set_state(struct dsa_queue *q, enum dsa_queue_state s)
{
	atomic_store_explicit(&q->state, (int)s, memory_order_release);
}

static uint64_t timeout(const struct dsa_queue *q)
{
	return q->sys->timeout ? q->sys->timeout : DSA_TIMEOUT;
}

void *dsa_pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* A fork would write-protect them, and a record that faults never arrives. */
	madvise(p, size, MADV_DONTFORK);
	if (mlock(p, size))
		log_debug("DSA: completion records are not locked into memory: %s",
			  strerror(errno));
	return p;
}

void dsa_pages_free(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

/* ---- submission ------------------------------------------------------------- */

/* Locked. How many were taken. */
static unsigned put(struct dsa_queue *q, const struct dsa_desc *d, unsigned nr)
{
	struct dsa_sys *sys = q->sys;
	unsigned n = 0;
	int got;

	if (q->way == DSA_WRITE) {
		got = sys->write(sys->arg, q->fd, d, nr);
		return got > 0 ? (unsigned)got : 0;
	}
	for (; n < nr; n++) {
		/* any place will do; another each time, so that stores do not collide */
		uint8_t *to = q->portal + q->place % (DSA_PORTAL_SIZE / DSA_PORTAL_SLOT) *
			      DSA_PORTAL_SLOT;

		if (q->way == DSA_MOVDIR64B)
			sys->movdir64b(sys->arg, to, d + n);
		else if (!sys->enqcmd(sys->arg, to, d + n))
			break;				/* Q5 */
		q->place++;
	}
	return n;
}

unsigned dsa_queue_put(struct dsa_queue *q, unsigned epoch, const struct dsa_desc *d,
		       unsigned nr)
{
	unsigned n = 0;

	pthread_mutex_lock(&q->lock);
	if (state(q) == DSA_QUEUE_ON && dsa_queue_epoch(q) == epoch) {
		if (!q->wq.shared)
			nr = (unsigned)min64(nr, q->credits);	/* E3 */
		n = put(q, d, nr);
		if (!q->wq.shared)
			q->credits -= n;
		if (n)
			atomic_store(&q->refused, 0);
		else
			atomic_fetch_add(&q->refused, 1);
	}
	pthread_mutex_unlock(&q->lock);
	return n;
}

void dsa_queue_got(struct dsa_queue *q, unsigned epoch, unsigned nr)
{
	pthread_mutex_lock(&q->lock);
	if (!q->wq.shared && dsa_queue_epoch(q) == epoch)
		q->credits += nr;
	pthread_mutex_unlock(&q->lock);
}

bool dsa_queue_limits(struct dsa_queue *q, struct dsa_limits *l)
{
	bool on;

	pthread_mutex_lock(&q->lock);
	on = state(q) == DSA_QUEUE_ON;
	l->epoch = dsa_queue_epoch(q);
	l->max_transfer = q->wq.max_transfer;
	/* the kernel takes no batch by write() where it does not let us map the portal */
	l->max_batch = q->wq.batch && q->way != DSA_WRITE ? q->wq.max_batch : 0;
	l->room = q->wq.shared ? q->wq.threshold : q->credits;
	pthread_mutex_unlock(&q->lock);
	return on;
}

/* ---- opening and closing ---------------------------------------------------- */

/* Locked. Submit the copy of our own (E4). */
static void begin_trial(struct dsa_queue *q)
{
	struct dsa_trial *t = q->trial;

	memset(t, 0, sizeof(*t));
	for (unsigned i = 0; i < sizeof(t->src); i++)
		t->src[i] = (uint8_t)(q->place + 3 * i + 1);
	t->desc = (struct dsa_desc){
		.op_flags = DSA_OP_FLAGS(DSA_OP_MEMMOVE, DSA_FLAG_CRAV | DSA_FLAG_RCR),
		.record = (uintptr_t)&t->rec,
		.src = (uintptr_t)t->src, .dst = (uintptr_t)t->dst, .size = sizeof(t->src),
	};
	q->trial_end = now(q) + timeout(q);
	set_state(q, DSA_QUEUE_TRIED);
	if (!put(q, &t->desc, 1))
		q->trial_end = 0;		/* it will not come back */
}

/* Locked, off. 0 or -errno. */
static int open_locked(struct dsa_queue *q)
{
	struct dsa_sys *sys = q->sys;
	bool insn = q->wq.shared ? sys->has_enqcmd : sys->has_movdir64b;
	int fd;

	pthread_rwlock_rdlock(q->forking);			/* E1 */
	fd = sys->open(sys->arg, q->wq.path);
	q->fd = fd < 0 ? -1 : fd;
	pthread_rwlock_unlock(q->forking);
	if (fd < 0)
		return fd;
	q->portal = insn ? sys->map(sys->arg, fd) : NULL;
	q->way = !q->portal ? DSA_WRITE : q->wq.shared ? DSA_ENQCMD : DSA_MOVDIR64B;
	q->place = 0;
	q->credits = q->wq.size;
	atomic_store(&q->refused, 0);
	atomic_store(&q->faults, 0);
	begin_trial(q);
	return 0;
}

/* Who comes here has set the state to DRAINING: nobody else uses fd and portal. E1 */
static void drain(struct dsa_queue *q)
{
	struct dsa_sys *sys = q->sys;

	if (q->portal)
		sys->unmap(sys->arg, q->portal);
	pthread_rwlock_rdlock(q->forking);
	sys->close(sys->arg, q->fd);
	q->fd = -1;
	pthread_rwlock_unlock(q->forking);
	q->portal = NULL;
	atomic_fetch_add_explicit(&q->epoch, 1, memory_order_release);
}

/* ---- off ---------------------------------------------------------------------- */

static void say_off(const struct dsa_queue *q, enum dsa_reason why, bool first)
{
	static const char *const what[DSA_NR_WHY] = {
		[DSA_WHY_FAULT] = "page faults only",
		[DSA_WHY_STATUS] = "it reported an error",
		[DSA_WHY_TIMEOUT] = "no answer",
		[DSA_WHY_HALTED] = "the device is not enabled any more",
		[DSA_WHY_DISABLED] = "the queue is not enabled any more",
		[DSA_WHY_GONE] = "the queue is gone",
	};

	log_line(first ? LOG_LVL_WARN : LOG_LVL_DEBUG, "DSA %s: %s; off, the CPU copies; "
		 "next try in %llu s", q->wq.name, what[why] ? what[why] : "it cannot be opened",
		 (unsigned long long)(q->backoff / 1000000000u));
}

/* Locked. From now on off; for longer than the last time, unless that is long ago. */
static void stay_off(struct dsa_queue *q, enum dsa_reason why)
{
	uint64_t t = now(q);
	bool first = !q->off_since, calm = first && t - q->on_since >= DSA_BACKOFF_MAX;

	q->backoff = calm ? 0 : min64(2 * q->backoff, DSA_BACKOFF_MAX);
	q->backoff = max64(q->backoff, DSA_BACKOFF_MIN);
	q->retry_at = t + q->backoff;
	if (first)
		q->off_since = t ? t : 1;
	set_state(q, DSA_QUEUE_OFF);
	say_off(q, why, first);
}

void dsa_queue_off(struct dsa_queue *q, unsigned epoch, enum dsa_reason why)
{
	bool mine;

	pthread_mutex_lock(&q->lock);
	mine = (state(q) == DSA_QUEUE_ON || state(q) == DSA_QUEUE_TRIED) &&
	       dsa_queue_epoch(q) == epoch;
	if (mine) {
		set_state(q, DSA_QUEUE_DRAINING);
		atomic_store(&q->why, (int)why);
	}
	pthread_mutex_unlock(&q->lock);
	if (!mine)
		return;
	drain(q);						/* E2 */
	pthread_mutex_lock(&q->lock);
	stay_off(q, why);
	pthread_mutex_unlock(&q->lock);
}

static bool why_not(enum dsa_wq_state s, enum dsa_reason *why)
{
	*why = s == DSA_WQ_HALTED ? DSA_WHY_HALTED :
	       s == DSA_WQ_DISABLED ? DSA_WHY_DISABLED : DSA_WHY_GONE;
	return s != DSA_WQ_ENABLED;
}

void dsa_queue_look(struct dsa_queue *q, unsigned epoch)
{
	enum dsa_reason why;
	struct dsa_wq wq;

	pthread_mutex_lock(&q->lock);
	wq = q->wq;
	pthread_mutex_unlock(&q->lock);
	atomic_store(&q->refused, 0);
	if (why_not(q->sys->look(q->sys->arg, &wq), &why))
		dsa_queue_off(q, epoch, why);
}

/* ---- on again ------------------------------------------------------------------ */

/* Locked, tried. What has become of the trial? true: the queue has to go off. */
static bool end_trial(struct dsa_queue *q, enum dsa_reason *why)
{
	struct dsa_trial *t = q->trial;
	uint8_t status = __atomic_load_n(&t->rec.status, __ATOMIC_ACQUIRE);

	if (!status) {
		*why = DSA_WHY_TIMEOUT;
		return now(q) >= q->trial_end;
	}
	*why = DSA_WHY_STATUS;
	if (DSA_STATUS(status) != DSA_ST_SUCCESS || memcmp(t->src, t->dst, sizeof(t->src)))
		return true;
	q->on_since = now(q);
	set_state(q, DSA_QUEUE_ON);
	if (q->off_since)
		log_warn("DSA %s: works again after %llu s", q->wq.name,
			 (unsigned long long)((now(q) - q->off_since) / 1000000000u));
	q->off_since = 0;
	return false;
}

/* Locked, off. Is it time, and is there something to try? */
static void try_again(struct dsa_queue *q)
{
	enum dsa_reason why;
	struct dsa_wq wq = q->wq;

	if (now(q) < q->retry_at)
		return;
	if (why_not(q->sys->look(q->sys->arg, &wq), &why)) {
		stay_off(q, why);
		return;
	}
	q->wq = wq;			/* the administrator may have changed it */
	if (open_locked(q))
		stay_off(q, DSA_WHY_OFF);
}

bool dsa_queue_ready(struct dsa_queue *q)
{
	enum dsa_reason why = DSA_WHY_OFF;
	unsigned epoch;
	bool dead = false;

	if (state(q) == DSA_QUEUE_ON)
		return true;
	if (state(q) == DSA_QUEUE_DRAINING || pthread_mutex_trylock(&q->lock))
		return false;
	epoch = dsa_queue_epoch(q);
	if (state(q) == DSA_QUEUE_OFF)
		try_again(q);
	if (state(q) == DSA_QUEUE_TRIED)
		dead = end_trial(q, &why);
	pthread_mutex_unlock(&q->lock);
	if (dead)
		dsa_queue_off(q, epoch, why);
	return state(q) == DSA_QUEUE_ON;
}

/* ---- from beginning to end ------------------------------------------------------- */

int dsa_queue_open(struct dsa_queue *q, struct dsa *d, const struct dsa_wq *wq)
{
	int err;

	*q = (struct dsa_queue){ .sys = &d->sys, .forking = &d->forking, .wq = *wq, .fd = -1 };
	atomic_store(&q->why, DSA_WHY_OFF);
	q->trial = dsa_pages(sizeof(*q->trial));
	if (!q->trial)
		return -ENOMEM;
	pthread_mutex_init(&q->lock, NULL);
	pthread_mutex_lock(&q->lock);
	err = open_locked(q);
	pthread_mutex_unlock(&q->lock);
	if (err) {
		pthread_mutex_destroy(&q->lock);
		dsa_pages_free(q->trial, sizeof(*q->trial));
		return err;
	}
	for (unsigned i = 0; i < TRIAL_POLLS && !dsa_queue_ready(q); i++)
		;
	return 0;
}

void dsa_queue_close(struct dsa_queue *q)
{
	if (state(q) != DSA_QUEUE_OFF)
		drain(q);
	pthread_mutex_destroy(&q->lock);
	dsa_pages_free(q->trial, sizeof(*q->trial));
}
