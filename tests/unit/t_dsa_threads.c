/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_dsa_threads.c - threads that share a DSA work queue which comes and goes
 *
 * The device is a thread. Every so often it loses a descriptor, so that somebody
 * runs out of patience and drains the queue under the feet of the others. Time is
 * what the threads make it by looking at the clock. Whatever happens in whatever
 * order, each job comes back once, with its bytes, and the device has then
 * nothing left of it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "copy/dsa_int.h"
#include "pm/pm.h"
#include "support/check_main.h"
#include "support/pm_mem.h"

#define THREADS	3u
#define DEPTH	4u
#define LEN	20000u
#define PLACE	32768u
#define JOBS	250u		/* of a thread */
#define LOST	197u		/* each such descriptor */
#define ENTRIES	8u

static struct {
	pthread_mutex_t lock;
	struct dsa_desc desc[64];
	unsigned nr;
	unsigned taken, lost, closed;
	bool end;
	_Atomic uint64_t now;
	_Alignas(64) uint8_t portal[DSA_PORTAL_SIZE];
} dev = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct pm *pm;
static struct dsa *d;

/* ---- the device --------------------------------------------------------------------- */

/* The youngest first: nobody may count on an order. */
static void *device(void *arg)
{
	bool end = false;

	(void)arg;
	while (!end) {
		pthread_mutex_lock(&dev.lock);
		if (dev.nr) {
			struct dsa_desc c = dev.desc[--dev.nr];
			struct dsa_record *r = (struct dsa_record *)(uintptr_t)c.record;

			memcpy((void *)(uintptr_t)c.dst, (void *)(uintptr_t)c.src, c.size);
			__atomic_store_n(&r->status, DSA_ST_SUCCESS, __ATOMIC_RELEASE);
		}
		end = dev.end;
		pthread_mutex_unlock(&dev.lock);
		sched_yield();
	}
	return NULL;
}

static void take(void *arg, void *place, const struct dsa_desc *c)
{
	(void)arg;
	(void)place;
	pthread_mutex_lock(&dev.lock);
	ck_assert_uint_lt(dev.nr, ENTRIES);
	/* not the trials: they would only take time */
	if (++dev.taken % LOST || c->size == 64)
		dev.desc[dev.nr++] = *c;
	else
		dev.lost++;
	pthread_mutex_unlock(&dev.lock);
}

static int dev_open(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	return 7;
}

/* What was submitted is gone; nothing is written from here on. */
static void dev_close(void *arg, int fd)
{
	(void)arg;
	(void)fd;
	pthread_mutex_lock(&dev.lock);
	dev.nr = 0;
	dev.closed++;
	pthread_mutex_unlock(&dev.lock);
}

static void *dev_map(void *arg, int fd)
{
	(void)arg;
	(void)fd;
	return dev.portal;
}

static void dev_unmap(void *arg, void *portal)
{
	(void)arg;
	(void)portal;
}

static uint64_t dev_now(void *arg)
{
	(void)arg;
	return atomic_fetch_add(&dev.now, 50000);
}

static enum dsa_wq_state dev_look(void *arg, struct dsa_wq *wq)
{
	(void)arg;
	(void)wq;
	return DSA_WQ_ENABLED;
}

/* ---- the threads ----------------------------------------------------------------------- */

struct work {
	pthread_t thread;
	unsigned nr;
	unsigned submitted, reaped, wrong;
	uint64_t by_device;
	struct dsa_job job[DEPTH];
	uint8_t src[DEPTH][LEN];
};

static void fill(uint8_t *p, unsigned seed)
{
	for (unsigned i = 0; i < LEN; i++)
		p[i] = (uint8_t)(seed * 31 + i * 7 + i / 256);
}

static void reap_one(struct work *w, struct dsa_port *port, bool *busy)
{
	struct dsa_job *j = dsa_reap(port);

	if (!j)
		return;
	w->reaped++;
	w->by_device += j->by_device;
	w->wrong += j->err || j->by_device + j->by_cpu != j->len ||
		    memcmp(pm_at(pm, j->off, j->len), j->src, j->len);
	/* whoever writes to it later is found out */
	memset(w->src[j - w->job], 0xdb, LEN);
	busy[j - w->job] = false;
}

/* If not, time goes by faster. */
static bool try_it(struct dsa_port *port)
{
	bool wanted = dsa_wants(port, LEN);

	if (!wanted)
		atomic_fetch_add(&dev.now, 5000000);
	return wanted;
}

static void *serve(void *arg)
{
	struct work *w = arg;
	struct dsa_port *port = dsa_port_open(d, DEPTH);
	bool busy[DEPTH] = { false };

	for (unsigned n = 0; w->submitted < JOBS || dsa_inflight(port); n++) {
		unsigned i = n % DEPTH;
		struct dsa_job *j = &w->job[i];

		if (w->submitted < JOBS && !busy[i] && try_it(port)) {
			*j = (struct dsa_job){
				.off = (w->nr * DEPTH + i) * PLACE + n % 100, .len = LEN,
				.src = w->src[i],
			};
			fill(w->src[i], w->nr * JOBS + n);
			busy[i] = !dsa_submit(port, j);
			w->submitted += busy[i];
		}
		reap_one(w, port, busy);
		if (n % 8 == 0)
			sched_yield();
	}
	dsa_port_close(port);
	return NULL;
}

static void silent(enum log_level level, const char *line)
{
	(void)level;
	(void)line;
}

START_TEST(together)
{
	struct pm_mem mem = { .size = align_up(THREADS * DEPTH * PLACE, 1 << 21) };
	struct pm_config cfg = { .backend = &pm_backend_mem, .backend_arg = &mem,
				 .granularity = -1 };
	struct dsa_sys sys = {
		.open = dev_open, .close = dev_close, .map = dev_map, .unmap = dev_unmap,
		.movdir64b = take, .now = dev_now, .look = dev_look, .has_movdir64b = true,
		.timeout = 100000000,
	};
	struct dsa_wq wq = { .name = "wq0.1", .path = "/dev/dsa/wq0.1", .size = ENTRIES,
			     .max_transfer = 4096, .node = -1 };
	struct dsa_opt opt = { .mode = DSA_ON, .min = 4096 };
	static struct work w[THREADS];
	uint64_t by_device = 0;
	struct dsa_stats s;
	pthread_t t;
	char why[100];

	log_to(silent);
	ck_assert_int_eq(pm_open(&pm, "-", &cfg), 0);
	ck_assert_int_eq(pthread_create(&t, NULL, device, NULL), 0);
	ck_assert_int_eq(dsa_open_on(&d, pm, &opt, &sys, &wq, 1, why, sizeof(why)), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		w[i].nr = i;
		ck_assert_int_eq(pthread_create(&w[i].thread, NULL, serve, &w[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(w[i].thread, NULL), 0);
		ck_assert_uint_eq(w[i].reaped, w[i].submitted);
		ck_assert_uint_eq(w[i].wrong, 0);
		by_device += w[i].by_device;
	}
	dsa_stats(d, &s);
	ck_assert_uint_eq(s.inflight, 0);
	ck_assert_uint_eq(s.bytes_device, by_device);
	ck_assert_uint_gt(by_device, 0);
	dsa_close(d);
	pthread_mutex_lock(&dev.lock);
	dev.end = true;
	pthread_mutex_unlock(&dev.lock);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_uint_gt(dev.lost, 0);
	ck_assert_uint_gt(s.why[DSA_WHY_TIMEOUT], 0);
	ck_assert_uint_gt(dev.closed, 1);
	pm_close(pm);
	pm_mem_free(&mem);
}
END_TEST

CHECK_MAIN("dsa_threads", together)
