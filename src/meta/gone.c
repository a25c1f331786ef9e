/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gone.c - wait for the space of what was unlinked
 *
 * What is waited for, each with a limit of its own, since nobody can tell a
 * request that is on its way from one that will not come for a long time:
 *
 *   Y1  Freeing that goes on, by a worker or by the draining of what a dead
 *       daemon left. It ends by itself: it needs nobody who waits here.
 *   Y2  Inodes that nobody has open and the kernel has not forgotten. It
 *       queues the FORGET before unlink(2) or close(2) returns, so it comes,
 *       unless a descriptor of O_PATH or a working directory holds it. Those
 *       that were waited for in vain are not waited for again (`round`).
 *   Y3  Files that are still open: their RELEASE may have been sent before the
 *       request that now waits, and be served beside it. A moment only.
 *
 *   Y4  Whoever waits holds no lock, no lane and no reservation, and the
 *       transport keeps somebody who reads what is waited for (session.h). So
 *       there is no circle, and all of it is bounded by the clock.
 */
#include "meta/gone.h"

#include <errno.h>
#include <stdlib.h>

#define MSEC		1000000ll
#define SLICE		(5 * MSEC)
#define CALL_MAX	(100 * MSEC)
#define KNOWN_MAX	(2000 * MSEC)	/* Y2 */
#define OPEN_MAX	(50 * MSEC)	/* Y3 */
#define TOTAL_MAX	(30000 * MSEC)

struct gone {
	pthread_mutex_t lock;
	pthread_cond_t more;
	_Atomic uint64_t freed;		/* steps that gave blocks back */
	_Atomic uint64_t busy;		/* inodes being freed */
	_Atomic unsigned waiting;
	uint64_t open, fresh;		/* of each class; fresh: known, in this round */
	uint32_t round;
};

int gone_open(struct fs *fs)
{
	struct gone *g = calloc(1, sizeof(*g));
	pthread_condattr_t attr;

	if (!g)
		return -ENOMEM;
	pthread_mutex_init(&g->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g->more, &attr);
	pthread_condattr_destroy(&attr);
	g->round = 1;
	fs->gone = g;
	return 0;
}

void gone_close(struct fs *fs)
{
	if (!fs->gone)
		return;
	pthread_cond_destroy(&fs->gone->more);
	pthread_mutex_destroy(&fs->gone->lock);
	free(fs->gone);
	fs->gone = NULL;
}

/* ---- what there is ------------------------------------------------------------ */

static void take_out(struct gone *g, const struct inode *ip)
{
	if (ip->gone == GONE_OPEN)
		g->open--;
	else if (ip->gone == GONE_KNOWN && ip->gone_round == g->round)
		g->fresh--;
}

void gone_note(struct inode *ip, enum gone_class class)
{
	struct gone *g = ip->fs->gone;

	if (ip->gone == class)
		return;
	pthread_mutex_lock(&g->lock);
	take_out(g, ip);
	ip->gone = class;
	ip->gone_round = g->round;
	g->open += class == GONE_OPEN;
	g->fresh += class == GONE_KNOWN;
	pthread_mutex_unlock(&g->lock);
}

/* Busy before it is out of its class, and not busy before what it freed is
 * counted: whoever waits sees one of them. */
void gone_begin(struct inode *ip)
{
	struct gone *g = ip->fs->gone;

	atomic_fetch_add(&g->busy, 1);
	gone_note(ip, GONE_NOT);
}

static void wake(struct gone *g)
{
	if (!atomic_load(&g->waiting))
		return;
	pthread_mutex_lock(&g->lock);
	pthread_cond_broadcast(&g->more);
	pthread_mutex_unlock(&g->lock);
}

void gone_step(struct fs *fs)
{
	atomic_fetch_add(&fs->gone->freed, 1);
	wake(fs->gone);
}

void gone_end(struct inode *ip)
{
	atomic_fetch_sub(&ip->fs->gone->busy, 1);
	wake(ip->fs->gone);
}

/* ---- waiting ------------------------------------------------------------------ */

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 * MSEC + ts.tv_nsec;
}

void gone_start(struct fs *fs, struct patience *p)
{
	p->seen = atomic_load(&fs->gone->freed);
	p->since = 0;
}

static bool drains(struct fs *fs)
{
	bool on;

	pthread_mutex_lock(&fs->worker_lock);
	on = fs->drain && fs->worker_runs;
	pthread_mutex_unlock(&fs->worker_lock);
	return on;
}

/* Is there something to wait for, after so long? Called with the lock. */
static bool hopes(struct gone *g, int64_t waited, bool draining)
{
	if (waited >= TOTAL_MAX)
		return false;
	if (atomic_load(&g->busy) || draining)
		return true;				/* Y1 */
	if (g->fresh && waited >= KNOWN_MAX) {
		g->round++;				/* Y2 */
		g->fresh = 0;
	}
	return g->fresh || (g->open && waited < OPEN_MAX);	/* Y3 */
}

static void sleep_a_slice(struct gone *g)
{
	int64_t until = now() + SLICE;
	struct timespec ts = {
		.tv_sec = until / (1000 * MSEC), .tv_nsec = until % (1000 * MSEC),
	};

	pthread_cond_timedwait(&g->more, &g->lock, &ts);
}

static bool has_freed(struct gone *g, struct patience *p)
{
	uint64_t freed = atomic_load(&g->freed);
	bool yes = freed != p->seen;

	p->seen = freed;
	return yes;
}

int gone_wait(struct fs *fs, struct patience *p)
{
	struct gone *g = fs->gone;
	int64_t begun = now();
	bool draining = drains(fs);
	int ret = 0;

	if (!p->since)
		p->since = begun;
	pthread_mutex_lock(&g->lock);
	atomic_fetch_add(&g->waiting, 1);
	while (!ret && now() < begun + CALL_MAX) {
		if (has_freed(g, p))
			ret = 1;
		else if (fs_writable(fs) && hopes(g, now() - p->since, draining))
			sleep_a_slice(g);
		else	/* the last of it may have come back in between */
			ret = has_freed(g, p) ? 1 : -ENOSPC;
	}
	atomic_fetch_sub(&g->waiting, 1);
	pthread_mutex_unlock(&g->lock);
	return ret;
}
