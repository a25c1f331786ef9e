/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa.c - the work queues of a mount: found, opened, handed to ports, described
 *
 * A thread's port gets the queue that the fewest others have. Dedicated queues are
 * taken while there are any, because they take descriptors without a round trip; a
 * shared one, which anybody may fill, only if there is none. At most DSA_QUEUES_MAX
 * are opened: that many feed a device, and others want some, too.
 */
#include "copy/dsa.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count.h"
#include "base/log.h"
#include "copy/dsa_int.h"
#include "pm/pm.h"

#define FOUND_MAX	32u

_Static_assert(COUNT_DSA_WHY_LAST - COUNT_DSA_WHY + 1 == DSA_NR_WHY, "base/count.h");

void dsa_count(struct dsa *d, enum dsa_reason why)
{
	count_add(pm_counters(d->pm), (enum counter)(COUNT_DSA_WHY + why), 1);
}

/* ---- policy ---------------------------------------------------------------------- */

static uint64_t bytes_inflight(const struct dsa *d)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < d->nr; i++)
		sum += atomic_load_explicit(&d->queue[i].inflight, memory_order_relaxed);
	return sum;
}

uint64_t dsa_expect(const struct dsa *d, size_t len)
{
	return dsa_policy_expect(&d->kind, &d->medium, bytes_inflight(d), len);
}

bool dsa_policy_says(const struct dsa *d, size_t len, unsigned own, unsigned waiting)
{
	struct dsa_load l = {
		.queue = (unsigned)atomic_load_explicit(&d->inflight, memory_order_relaxed),
		.ahead = bytes_inflight(d), .own = own, .waiting = waiting,
		.serving = atomic_load_explicit(&d->serving, memory_order_relaxed),
	};

	return dsa_policy_use(&d->kind, &d->medium, &l, len, d->min);
}

/* ---- who has which queue ------------------------------------------------------------ */

struct dsa_queue *dsa_queue_get(struct dsa *d)
{
	struct dsa_queue *q = &d->queue[0];

	pthread_mutex_lock(&d->lock);
	for (unsigned i = 1; i < d->nr; i++)
		if (d->queue[i].ports < q->ports)
			q = &d->queue[i];
	q->ports++;
	pthread_mutex_unlock(&d->lock);
	return q;
}

void dsa_queue_leave(struct dsa *d, struct dsa_queue *q)
{
	pthread_mutex_lock(&d->lock);
	q->ports--;
	pthread_mutex_unlock(&d->lock);
}

/* ---- open --------------------------------------------------------------------------- */

static void say_refused(const struct dsa_wq *wq, int err, char *why, size_t size)
{
	const char *hint = err == -EACCES ? ": whoever mounts needs read and write permission" :
			   err == -EBUSY ? ": another process has this dedicated queue" :
			   err == -EOPNOTSUPP || err == -ENODEV ?
			   ": shared virtual memory is off (intel_iommu=on,sm_on)" : "";

	snprintf(why, size, "%s cannot be opened: %s%s", wq->path, strerror(-err), hint);
	log_debug("DSA: %s", why);
}

static struct dsa *make(struct pm *pm, const struct dsa_opt *opt, const struct dsa_sys *sys)
{
	bool flush = pm_granularity(pm) != PM_GRAN_BYTE;
	struct dsa *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->pm = pm;
	d->sys = *sys;
	d->min = opt->min;
	d->readback = opt->readback;
	d->kind = dsa_kind_dsa;
	d->medium = dsa_medium(pm_kind(pm) == PM_FSDAX || pm_kind(pm) == PM_DEVDAX,
			       flush && !opt->readback);
	pthread_mutex_init(&d->lock, NULL);
	pthread_rwlock_init(&d->forking, NULL);
	return d;
}

int dsa_open_on(struct dsa **out, struct pm *pm, const struct dsa_opt *opt,
		const struct dsa_sys *sys, const struct dsa_wq *wq, unsigned nr, char *why,
		size_t size)
{
	struct dsa *d = make(pm, opt, sys);
	int err = -ENODEV;

	*out = NULL;
	snprintf(why, size, "no memory");
	if (!d)
		return -ENOMEM;
	for (unsigned i = 0; i < nr && d->nr < DSA_QUEUES_MAX; i++) {
		/* best first; those that follow have to be its like */
		if (d->nr && (wq[i].shared != d->queue[0].wq.shared ||
			      wq[i].node != d->queue[0].wq.node))
			continue;
		err = dsa_queue_open(&d->queue[d->nr], d, &wq[i]);
		if (err) {
			say_refused(&wq[i], err, why, size);
			continue;
		}
		d->readback &= wq[i].readback;
		d->nr++;
	}
	if (!d->nr) {
		dsa_close(d);
		return err;
	}
	d->kind.engines = d->queue[0].wq.engines ? d->queue[0].wq.engines : 1;
	if (opt->readback && !d->readback)
		log_warn("DSA: no readback of the destination, so the CPU flushes");
	*out = d;
	return 0;
}

/* Is the absence of a queue an error, and how loud is it? */
static int without(const struct dsa_opt *opt, int err, bool any, const char *why)
{
	bool demanded = opt->mode == DSA_ON || opt->wq;

	log_line(demanded ? LOG_LVL_ERR : any ? LOG_LVL_INFO : LOG_LVL_DEBUG,
		 "DSA: %s%s", why, demanded ? "" : "; the CPU copies");
	return demanded ? err : 0;
}

int dsa_open(struct dsa **d, struct pm *pm, const struct dsa_opt *opt)
{
	struct dsa_wq wq[FOUND_MAX];
	struct dsa_sys sys;
	unsigned nr = 1;
	char why[256];
	bool any = true;
	int err = 0;

	*d = NULL;
	if (opt->mode == DSA_OFF)
		return 0;
	/* there is nothing to gain where the kernel writes pages back */
	if (opt->mode == DSA_AUTO && !opt->wq && pm_granularity(pm) == PM_GRAN_PAGE)
		return without(opt, 0, false, "not for a pool in the page cache");
	dsa_sys_real(&sys);
	if (opt->wq)
		err = dsa_find_named(opt->wq, &wq[0], why, sizeof(why));
	else
		nr = dsa_find(pm_numa(pm), wq, FOUND_MAX, &any, why, sizeof(why));
	if (err || !nr)
		return without(opt, err ? err : -ENODEV, any, why);
	err = dsa_open_on(d, pm, opt, &sys, wq, nr, why, sizeof(why));
	return err ? without(opt, err, true, why) : 0;
}

void dsa_close(struct dsa *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < d->nr; i++)
		dsa_queue_close(&d->queue[i]);
	pthread_rwlock_destroy(&d->forking);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* ---- a fork ------------------------------------------------------------------------------ */

void dsa_fork_begin(struct dsa *d)
{
	if (d)
		pthread_rwlock_wrlock(&d->forking);
}

void dsa_fork_end(struct dsa *d)
{
	if (d)
		pthread_rwlock_unlock(&d->forking);
}

/* ---- what it is, and what it did ------------------------------------------------------- */

static const char *durability(const struct dsa *d)
{
	if (pm_granularity(d->pm) == PM_GRAN_BYTE)
		return "durable as stored";
	return d->readback ? "durable by readback" : "durable by CPU flush";
}

const char *dsa_describe(struct dsa *d, char *buf, size_t size)
{
	static const char *const way[] = {
		[DSA_MOVDIR64B] = "MOVDIR64B", [DSA_ENQCMD] = "ENQCMD", [DSA_WRITE] = "write()",
	};
	size_t n = 0;

	for (unsigned i = 0; i < d->nr && n < size; i++) {
		struct dsa_queue *q = &d->queue[i];

		pthread_mutex_lock(&q->lock);
		n += (size_t)snprintf(buf + n, size - n, "%s (%s, %s, %u entries), ", q->wq.name,
				      q->wq.shared ? "shared" : "dedicated", way[q->way],
				      q->wq.size);
		pthread_mutex_unlock(&q->lock);
	}
	if (n < size)
		snprintf(buf + n, size - n, "%s", durability(d));
	return buf;
}

void dsa_stats(const struct dsa *d, struct dsa_stats *s)
{
	const struct counters *c;

	memset(s, 0, sizeof(*s));
	if (!d)
		return;
	c = pm_counters(d->pm);
	s->jobs = count_sum(c, COUNT_DSA_JOBS);
	s->descriptors = count_sum(c, COUNT_DSA_DESCRIPTORS);
	s->batches = count_sum(c, COUNT_DSA_BATCHES);
	s->bytes_device = count_sum(c, COUNT_DSA_DEVICE);
	s->bytes_cpu = count_sum(c, COUNT_DSA_CPU);
	for (unsigned i = 0; i < DSA_NR_WHY; i++)
		s->why[i] = count_sum(c, (enum counter)(COUNT_DSA_WHY + i));
	s->inflight = atomic_load(&d->inflight);
	s->inflight_max = atomic_load(&d->inflight_max);
	s->queues = d->nr;
	for (unsigned i = 0; i < d->nr; i++)
		s->queues_on += atomic_load(&d->queue[i].state) == DSA_QUEUE_ON;
}

const char *dsa_why_name(enum dsa_reason why)
{
	static const char *const name[DSA_NR_WHY] = {
		[DSA_WHY_SMALL] = "small", [DSA_WHY_POLICY] = "policy",
		[DSA_WHY_FULL] = "full", [DSA_WHY_OFF] = "off", [DSA_WHY_FAULT] = "fault",
		[DSA_WHY_STATUS] = "status", [DSA_WHY_TIMEOUT] = "timeout",
		[DSA_WHY_HALTED] = "halted", [DSA_WHY_DISABLED] = "disabled",
		[DSA_WHY_GONE] = "gone", [DSA_WHY_MEDIUM] = "medium",
	};

	return name[why];
}
