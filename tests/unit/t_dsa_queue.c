/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_dsa_queue.c - when the DSA engine leaves a work queue alone, and when it comes back
 *
 * The device here is a list of descriptors and a flag; the clock stands still unless a
 * test moves it. What all of that does to the bytes is tests/dsa's matter.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "copy/dsa_int.h"
#include "pm/pm.h"
#include "support/check_main.h"
#include "support/pm_mem.h"

#define SIZE	(4u << 20)
#define LEN	65536u
#define SECOND	1000000000ull
#define ENTRIES	4u

static struct {
	uint64_t now;
	struct dsa_desc desc[64];
	unsigned nr;			/* submitted, not executed */
	bool dead;			/* executes nothing */
	bool refuses;			/* ENQCMD, write() */
	bool unmapped;			/* no portal for us */
	_Atomic bool mapped;
	bool lies;			/* says that it has copied */
	_Atomic bool forked;		/* somebody else has the node open, too */
	bool readback;			/* it can */
	unsigned engines;		/* sysfs says; 0: not known */
	uint32_t flags;			/* of the last copy of a request's */
	int open_err;
	uint8_t status;			/* instead of success, if not 0 */
	enum dsa_wq_state state;
	unsigned opened, closed, looked;
	bool finishes_on_close;
	uint8_t at_close[LEN];		/* what the pool had then */
	_Alignas(64) uint8_t portal[DSA_PORTAL_SIZE];
} dev;

static struct pm_mem mem;
static struct pm *pm;
static struct dsa *d;
static struct dsa_port *port;
static uint8_t src[LEN];
static unsigned lines;
static char last_line[512];

/* ---- the device ---------------------------------------------------------------- */

static void execute(const struct dsa_desc *c)
{
	struct dsa_record *r = (struct dsa_record *)(uintptr_t)c->record;
	bool ours = c->size == 64;	/* the trial always works */

	if (!ours)
		dev.flags = DSA_FLAGS(c->op_flags);

	ck_assert_uint_eq(DSA_OPCODE(c->op_flags), DSA_OP_MEMMOVE);
	ck_assert_uint_eq(r->status, 0);
	if (!dev.lies && (!dev.status || ours))
		memcpy((void *)(uintptr_t)c->dst, (void *)(uintptr_t)c->src, c->size);
	r->status = dev.status && !ours ? dev.status : DSA_ST_SUCCESS;
}

static void run(void)
{
	for (unsigned i = 0; i < dev.nr; i++)
		execute(&dev.desc[i]);
	dev.nr = 0;
}

static void take(const struct dsa_desc *c)
{
	ck_assert_uint_lt(dev.nr, 64);
	dev.desc[dev.nr++] = *c;
}

static int fake_open(void *arg, const char *path)
{
	(void)arg;
	ck_assert_str_eq(path, "/dev/dsa/wq0.1");
	dev.opened++;
	return dev.open_err ? dev.open_err : 7;
}

static void fake_close(void *arg, int fd)
{
	(void)arg;
	ck_assert_int_eq(fd, 7);
	ck_assert(!dev.mapped && !dev.forked);			/* E1 */
	dev.closed++;
	memcpy(dev.at_close, pm_at(pm, 0, LEN), LEN);
	if (dev.finishes_on_close)
		run();
	dev.nr = 0;
}

static void *fake_map(void *arg, int fd)
{
	(void)arg;
	(void)fd;
	dev.mapped = !dev.unmapped;
	return dev.mapped ? dev.portal : NULL;
}

static void fake_unmap(void *arg, void *portal)
{
	(void)arg;
	ck_assert(dev.mapped);
	ck_assert_ptr_eq(portal, dev.portal);
	dev.mapped = false;
}

static int fake_write(void *arg, int fd, const struct dsa_desc *c, unsigned nr)
{
	(void)arg;
	(void)fd;
	if (dev.refuses)
		return -EAGAIN;
	for (unsigned i = 0; i < nr; i++)
		take(c + i);
	return (int)nr;
}

static void fake_movdir64b(void *arg, void *place, const struct dsa_desc *c)
{
	size_t at = (size_t)((uint8_t *)place - dev.portal);

	(void)arg;
	ck_assert(at < DSA_PORTAL_SIZE && at % DSA_PORTAL_SLOT == 0);
	ck_assert_uint_lt(dev.nr, ENTRIES);			/* E3 */
	take(c);
}

static bool fake_enqcmd(void *arg, void *place, const struct dsa_desc *c)
{
	(void)arg;
	(void)place;
	if (dev.refuses)
		return false;
	take(c);
	return true;
}

static uint64_t fake_now(void *arg)
{
	(void)arg;
	if (!dev.dead)
		run();
	return dev.now;
}

static enum dsa_wq_state fake_look(void *arg, struct dsa_wq *wq)
{
	(void)arg;
	(void)wq;
	dev.looked++;
	return dev.state;
}

/* ---- a mount -------------------------------------------------------------------- */

static void count_line(enum log_level level, const char *line)
{
	if (level > LOG_LVL_INFO)
		return;
	lines++;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

static struct dsa_opt opt;

static int open_shared(bool shared)
{
	struct dsa_sys sys = {
		.open = fake_open, .close = fake_close, .map = fake_map, .unmap = fake_unmap,
		.write = fake_write, .movdir64b = fake_movdir64b, .enqcmd = fake_enqcmd,
		.now = fake_now, .look = fake_look, .has_movdir64b = true, .has_enqcmd = true,
	};
	struct dsa_wq wq = {
		.name = "wq0.1", .dev = "dsa0", .path = "/dev/dsa/wq0.1", .size = ENTRIES,
		.threshold = ENTRIES, .max_transfer = 2 << 20, .node = -1, .shared = shared,
		.readback = dev.readback, .engines = dev.engines,
	};
	char why[256];

	opt.min = 4096;
	return dsa_open_on(&d, pm, &opt, &sys, &wq, 1, why, sizeof(why));
}

static void start_pool(void)
{
	struct pm_config cfg = { .backend = &pm_backend_mem, .backend_arg = &mem,
				 .granularity = -1 };

	mem = (struct pm_mem){ .size = SIZE };
	ck_assert_int_eq(pm_open(&pm, "-", &cfg), 0);
}

static void start_on(bool shared)
{
	for (size_t i = 0; i < LEN; i++)
		src[i] = (uint8_t)(i * 7 + i / 256 + 1);
	log_to(count_line);
	dev.now = 1000 * SECOND;
	ck_assert_int_eq(open_shared(shared), 0);
	port = dsa_port_open(d, 16);
	ck_assert_ptr_nonnull(port);
	lines = 0;
}

static void start(void)
{
	start_pool();
	start_on(false);
}

static void stop(void)
{
	dsa_port_close(port);
	dsa_close(d);
	ck_assert_uint_eq(dev.opened, dev.closed);
	pm_close(pm);
	pm_mem_free(&mem);
	log_to(NULL);
}

static uint64_t why(enum dsa_reason r)
{
	struct dsa_stats s;

	dsa_stats(d, &s);
	return s.why[r];
}

/* A job of LEN bytes at off has come back, and the bytes are there. */
static void came_back(const struct dsa_job *j, struct dsa_job *want, size_t by_device)
{
	ck_assert_ptr_eq(j, want);
	ck_assert_int_eq(j->err, 0);
	ck_assert_uint_eq(j->by_device, by_device);
	ck_assert_uint_eq(j->by_cpu, j->len - by_device);
	ck_assert_mem_eq(pm_at(pm, j->off, j->len), src, j->len);
}

static void works(void)
{
	struct dsa_job j = { .off = 1 << 20, .src = src, .len = LEN };

	ck_assert_int_eq(dsa_submit(port, &j), 0);
	run();
	came_back(dsa_reap(port), &j, LEN);
}

/* ---- claims ------------------------------------------------------------------------ */

START_TEST(a_queue_is_tried_first)
{
	start();
	works();
	ck_assert_uint_eq(dev.opened, 1);
	stop();

	/* one that does not answer its first copy gets no request */
	dev.dead = true;
	dev.opened = dev.closed = 0;
	start();
	ck_assert(!dsa_wants(port, LEN));
	ck_assert_uint_eq(why(DSA_WHY_OFF), 1);
	ck_assert_uint_eq(dev.closed, 0);
	dev.now += 3 * SECOND;
	ck_assert(!dsa_wants(port, LEN));
	ck_assert_uint_eq(dev.closed, 1);
	ck_assert_uint_eq(lines, 1);
	ck_assert_ptr_nonnull(strstr(last_line, "no answer"));

	/* and comes back when it answers */
	dev.dead = false;
	dev.now += SECOND;
	ck_assert(!dsa_wants(port, LEN) || dev.opened == 2);
	ck_assert(dsa_wants(port, LEN));
	ck_assert_uint_eq(lines, 2);
	ck_assert_ptr_nonnull(strstr(last_line, "works again after 1 s"));
	works();
	stop();
}
END_TEST

/* One that only says so gets no request either. */
START_TEST(a_trial_is_believed_when_seen)
{
	dev.lies = true;
	start();
	ck_assert_uint_eq(dev.closed, 1);
	ck_assert(!dsa_wants(port, LEN));
	dev.now += SECOND;
	ck_assert(!dsa_wants(port, LEN));
	ck_assert_uint_eq(dev.opened, 2);
	dev.lies = false;
	dev.now += 2 * SECOND;
	for (unsigned i = 0; i < 20 && !dsa_wants(port, LEN); i++)
		dev.now += SECOND / 2;
	works();
	stop();
}
END_TEST

START_TEST(no_more_than_its_entries)
{
	struct dsa_job j[ENTRIES + 2];

	start();
	dev.dead = true;
	for (unsigned i = 0; i < ENTRIES + 2; i++) {
		j[i] = (struct dsa_job){ .off = i * LEN, .src = src, .len = LEN };
		ck_assert_int_eq(dsa_submit(port, &j[i]), i < ENTRIES ? 0 : -EAGAIN);
	}
	ck_assert_uint_eq(why(DSA_WHY_FULL), 2);
	ck_assert_ptr_null(dsa_reap(port));
	ck_assert_uint_eq(dsa_inflight(port), ENTRIES);
	run();
	for (unsigned i = 0; i < ENTRIES; i++)
		came_back(dsa_reap(port), &j[i], LEN);
	ck_assert_ptr_null(dsa_reap(port));
	ck_assert_int_eq(dsa_submit(port, &j[0]), 0);
	run();
	came_back(dsa_reap(port), &j[0], LEN);
	stop();
}
END_TEST

START_TEST(no_answer)
{
	struct dsa_job j[2] = { { .off = 0, .src = src, .len = LEN },
				{ .off = LEN, .src = src, .len = LEN } };

	start();
	dev.dead = true;
	ck_assert_int_eq(dsa_submit(port, &j[0]), 0);
	dev.now += SECOND;
	ck_assert_int_eq(dsa_submit(port, &j[1]), 0);
	dev.now += SECOND - 1;
	ck_assert_ptr_null(dsa_reap(port));
	ck_assert_uint_gt(dsa_eta(port), 0);
	ck_assert_uint_eq(dev.closed, 0);
	dev.now += 1;
	/* the younger one too: nobody will answer it any more */
	came_back(dsa_reap(port), &j[0], 0);
	came_back(dsa_reap(port), &j[1], 0);
	ck_assert_uint_eq(dev.closed, 1);
	ck_assert_uint_eq(why(DSA_WHY_TIMEOUT), 2);
	/* Q2: drained before anybody else stored to the blocks */
	ck_assert(all_zero(dev.at_close, LEN));
	ck_assert_uint_eq(lines, 1);
	ck_assert_ptr_nonnull(strstr(last_line, "wq0.1: no answer; off"));
	stop();
}
END_TEST

/* The kernel's drain may well bring records. */
START_TEST(an_answer_while_draining)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	start();
	dev.dead = dev.finishes_on_close = true;
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	dev.now += 2 * SECOND;
	came_back(dsa_reap(port), &j, LEN);
	ck_assert_uint_eq(dev.closed, 1);
	ck_assert_uint_eq(why(DSA_WHY_TIMEOUT), 0);
	stop();
}
END_TEST

static void off_after(enum dsa_wq_state state, enum dsa_reason r, const char *text)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	memset(&dev, 0, sizeof(dev));
	start();
	dev.dead = true;
	dev.state = state;
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	ck_assert_ptr_null(dsa_reap(port));
	ck_assert_uint_eq(dev.looked, 0);
	dev.now += SECOND / 10;
	came_back(dsa_reap(port), &j, 0);
	ck_assert_uint_eq(why(r), 1);
	ck_assert_ptr_nonnull(strstr(last_line, text));

	/* not opened while sysfs says no */
	dev.now += 2 * SECOND;
	ck_assert(!dsa_wants(port, LEN));
	ck_assert_uint_eq(dev.opened, 1);
	dev.state = DSA_WQ_ENABLED;
	dev.dead = false;
	dev.now += 2 * SECOND;
	dsa_wants(port, LEN);
	works();
	ck_assert_uint_eq(dev.opened, 2);
	ck_assert_uint_eq(lines, 2);
	stop();
}

START_TEST(sysfs_says_why)
{
	off_after(DSA_WQ_HALTED, DSA_WHY_HALTED, "the device is not enabled");
	off_after(DSA_WQ_DISABLED, DSA_WHY_DISABLED, "the queue is not enabled");
	off_after(DSA_WQ_GONE, DSA_WHY_GONE, "the queue is gone");
}
END_TEST

/* Overdue, but enabled: only slow. */
START_TEST(a_slow_device)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	start();
	dev.dead = true;
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	for (unsigned i = 0; i < 15; i++) {
		dev.now += SECOND / 10;
		ck_assert_ptr_null(dsa_reap(port));
	}
	ck_assert_uint_eq(dev.looked, 15);
	run();
	came_back(dsa_reap(port), &j, LEN);
	ck_assert_uint_eq(dev.closed, 0);
	ck_assert_uint_eq(lines, 0);
	stop();
}
END_TEST

START_TEST(ever_longer_times)
{
	uint64_t wait = 0, before;

	start();
	dev.dead = true;
	dev.now += 100 * SECOND;
	dev.state = DSA_WQ_GONE;
	dsa_queue_off(&d->queue[0], 0, DSA_WHY_TIMEOUT);
	for (unsigned want = 1, i = 0; i < 9; i++, want = want < 32 ? 2 * want : 60) {
		before = dev.looked;
		for (wait = 0; dev.looked == before; wait++, dev.now += SECOND / 2)
			ck_assert(!dsa_wants(port, LEN));
		ck_assert_uint_eq(wait - 1, 2 * want);
		dev.now -= SECOND / 2;
	}
	ck_assert_uint_eq(lines, 1);	/* once off, nothing is news */
	stop();
}
END_TEST

/* Works when tried, fails when used: the time goes on growing. */
START_TEST(a_queue_that_wavers)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	start();
	dev.now += 100 * SECOND;
	dev.status = DSA_ST_HW_ERROR;
	for (unsigned want = 1; want <= 8; want *= 2) {
		ck_assert_int_eq(dsa_submit(port, &j), 0);
		run();
		came_back(dsa_reap(port), &j, 0);
		ck_assert_uint_eq(d->queue[0].backoff, want * SECOND);
		dev.now += want * SECOND - 1;
		ck_assert(!dsa_wants(port, LEN));
		dev.now += 1;
		while (!dsa_wants(port, LEN))
			ck_assert_uint_eq(dev.opened, dev.closed + 1);
	}
	/* calm for a minute: from the beginning */
	dev.now += 60 * SECOND;
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	run();
	came_back(dsa_reap(port), &j, 0);
	ck_assert_uint_eq(d->queue[0].backoff, SECOND);
	stop();
}
END_TEST

/* A code that nobody knows is no success; the write bit is not part of it. */
START_TEST(status_codes)
{
	static const uint8_t codes[] = {
		DSA_ST_PRED_FALSE, DSA_ST_FAULT_RESPONSE, DSA_ST_BAD_OPCODE, DSA_ST_HW_ERROR,
		0x41, 0x7f, 0xc1,
	};

	for (unsigned i = 0; i < ARRAY_SIZE(codes); i++) {
		struct dsa_job j = { .off = 0, .src = src, .len = LEN };

		memset(&dev, 0, sizeof(dev));
		start();
		dev.status = codes[i];
		ck_assert_int_eq(dsa_submit(port, &j), 0);
		run();
		came_back(dsa_reap(port), &j, 0);
		ck_assert_uint_eq(why(DSA_WHY_STATUS), 1);
		ck_assert_uint_eq(dev.closed, 1);
		stop();
	}
}
END_TEST

/* Page faults are the CPU's, one by one; if there is nothing else, the queue goes off. */
START_TEST(page_faults_only)
{
	start();
	dev.status = DSA_ST_FAULT | DSA_STATUS_WRITE;
	for (unsigned i = 1; i <= DSA_FAULTS; i++) {
		struct dsa_job j = { .off = 0, .src = src, .len = 8192 };

		ck_assert_uint_eq(dev.closed, 0);
		ck_assert_int_eq(dsa_submit(port, &j), 0);
		run();
		came_back(dsa_reap(port), &j, 0);
		ck_assert_uint_eq(why(DSA_WHY_FAULT), i);
	}
	ck_assert_uint_eq(dev.closed, 1);
	ck_assert_ptr_nonnull(strstr(last_line, "page faults only"));
	stop();
}
END_TEST

START_TEST(a_shared_queue_that_refuses)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	start_pool();
	start_on(true);
	works();
	dev.refuses = true;
	for (unsigned i = 1; i <= DSA_REFUSED; i++) {
		ck_assert_uint_eq(dev.looked, 0);
		ck_assert_int_eq(dsa_submit(port, &j), -EAGAIN);
		ck_assert_uint_eq(why(DSA_WHY_FULL), i);
	}
	ck_assert_uint_eq(dev.looked, 1);	/* others fill it, nothing is wrong */
	dev.refuses = false;
	works();

	dev.refuses = true;
	dev.state = DSA_WQ_HALTED;
	for (unsigned i = 1; i <= DSA_REFUSED; i++)
		ck_assert_int_eq(dsa_submit(port, &j), -EAGAIN);
	ck_assert_uint_eq(dev.closed, 1);
	stop();
}
END_TEST

START_TEST(where_mmap_is_refused)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };
	char buf[256];

	dev.unmapped = true;
	start();
	ck_assert_str_eq(dsa_describe(d, buf, sizeof(buf)),
			 "wq0.1 (dedicated, write(), 4 entries), durable by CPU flush");
	works();
	dev.refuses = true;
	ck_assert_int_eq(dsa_submit(port, &j), -EAGAIN);
	stop();
}
END_TEST

START_TEST(a_node_that_cannot_be_opened)
{
	start_pool();
	dev.open_err = -EACCES;
	ck_assert_int_eq(open_shared(false), -EACCES);
	ck_assert_ptr_null(d);
	pm_close(pm);

	/* later: off, and tried again */
	dev.open_err = 0;
	start();
	dev.open_err = -EBUSY;
	dev.state = DSA_WQ_ENABLED;
	dsa_queue_off(&d->queue[0], 0, DSA_WHY_DISABLED);
	dev.now += SECOND;
	ck_assert(!dsa_wants(port, LEN));
	dev.open_err = 0;
	dev.now += SECOND;
	ck_assert(!dsa_wants(port, LEN));
	dev.now += SECOND;
	dsa_wants(port, LEN);
	works();
	dev.opened -= 2;		/* those that failed need no close */
	stop();
}
END_TEST

/* With all of it read back nothing has to be flushed; otherwise all of it has. */
START_TEST(readback)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };

	dev.readback = opt.readback = true;
	start();
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	run();
	came_back(dsa_reap(port), &j, LEN);
	ck_assert(j.durable && dev.flags & DSA_FLAG_DRDBK);
	j.off = 1;
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	run();
	ck_assert_ptr_eq(dsa_reap(port), &j);
	ck_assert(!j.durable);
	stop();

	/* it cannot; or nobody asked */
	for (unsigned i = 0; i < 2; i++) {
		dev.readback = i;
		opt.readback = !i;
		j.off = 0;
		start();
		ck_assert_int_eq(dsa_submit(port, &j), 0);
		run();
		came_back(dsa_reap(port), &j, LEN);
		ck_assert(!j.durable);
		ck_assert_uint_eq(dev.flags, DSA_FLAG_CRAV | DSA_FLAG_RCR);
		stop();
	}
}
END_TEST

/* The pool's pages have gone: nobody may believe the blocks, and nothing dies of it. */
START_TEST(a_pool_that_fails)
{
	struct pm_config cfg = { .granularity = PM_GRAN_LINE };
	struct dsa_job j = { .off = 1 << 20, .src = src, .len = LEN };
	char path[] = "/tmp/t_dsa_queue.XXXXXX";
	int fd = mkstemp(path);

	pm_fault_install();
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	ck_assert_int_eq(pm_open(&pm, path, &cfg), 0);
	unlink(path);
	start_on(false);
	works();
	dev.status = DSA_ST_FAULT | DSA_STATUS_WRITE;
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	run();
	ck_assert_ptr_eq(dsa_reap(port), &j);
	ck_assert_int_eq(j.err, -EIO);
	ck_assert_uint_eq(j.by_cpu, LEN);
	ck_assert_uint_eq(why(DSA_WHY_MEDIUM), 1);

	/* nor if another's fault may have put a page under ours while the device stored */
	dev.status = 0;
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	pm_fault_repair(pm);
	works();
	ck_assert_int_eq(dsa_submit(port, &j), 0);
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	pm_write(pm, 2 << 20, src, 64);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	pm_fault_repair(pm);
	run();
	ck_assert_ptr_eq(dsa_reap(port), &j);
	ck_assert_int_eq(j.err, -EIO);
	ck_assert_uint_eq(j.by_device, LEN);
	stop();
	close(fd);
}
END_TEST

/*
 * In DRAM the CPU copies what comes alone. Threads that copy or flush are not alone; one
 * that is back asks, reaps or closes its port.
 */
START_TEST(threads_that_serve_are_load)
{
	struct dsa_job j = { .off = 0, .src = src, .len = LEN };
	struct dsa_port *other[4];

	start();
	for (unsigned i = 0; i < 4; i++)
		other[i] = dsa_port_open(d, 4);
	d->medium = dsa_medium(false, true);
	d->min = 0;				/* the rule decides */
	ck_assert(!dsa_wants(port, 2 << 20));
	ck_assert(!dsa_wants(other[0], 2 << 20));
	ck_assert(!dsa_wants(port, 2 << 20));		/* one other, and the same again */
	ck_assert(dsa_wants(other[1], 2 << 20));
	ck_assert_ptr_null(dsa_reap(port));
	ck_assert(!dsa_wants(other[1], 2 << 20));
	ck_assert_ptr_null(dsa_reap(other[1]));
	for (unsigned i = 0; i < 4; i++)		/* the first is served already */
		ck_assert(!dsa_wants(other[i], 4096));
	ck_assert(!dsa_wants(port, 2 << 20));

	/* a job that has been handed out */
	ck_assert_ptr_null(dsa_reap(port));
	d->min = LEN;
	ck_assert_int_eq(dsa_submit(other[0], &j), 0);
	ck_assert_int_eq(atomic_load(&d->serving), 0);
	run();
	ck_assert_ptr_eq(dsa_reap(other[0]), &j);
	ck_assert_int_eq(atomic_load(&d->serving), 1);
	for (unsigned i = 0; i < 4; i++)
		dsa_port_close(other[i]);
	ck_assert_int_eq(atomic_load(&d->serving), 0);
	stop();
}
END_TEST

static void *go_off(void *arg)
{
	dsa_queue_off(arg, 0, DSA_WHY_TIMEOUT);
	return NULL;
}

/* Closing waits for the device only if nobody else has the node open. */
START_TEST(a_fork)
{
	pthread_t t;

	start();
	dev.forked = true;
	dsa_fork_begin(d);
	ck_assert_int_eq(pthread_create(&t, NULL, go_off, &d->queue[0]), 0);
	while (atomic_load(&d->queue[0].state) != DSA_QUEUE_DRAINING)
		sched_yield();
	while (dev.mapped)
		sched_yield();
	for (unsigned i = 0; i < 100; i++)
		sched_yield();
	dev.forked = false;
	dsa_fork_child(d);		/* it would have been a copy of everything here */
	ck_assert_uint_eq(dev.closed, 1);
	dsa_fork_end(d);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_uint_eq(dev.closed, 2);
	dsa_fork_child(d);		/* nothing is open */
	ck_assert_uint_eq(dev.closed, 2);
	dev.opened++;
	stop();
}
END_TEST

/* One engine does not keep up with sixteen CPUs in pieces of 8 KiB; four do. */
START_TEST(engines_count)
{
	for (unsigned engines = 0; engines <= 4; engines += 4) {
		dev.engines = engines;
		start();
		d->medium = dsa_medium(true, true);
		d->min = 0;
		atomic_store(&d->serving, 15);
		ck_assert_int_eq(dsa_wants(port, 8192), engines == 4);
		stop();
		dev.opened = dev.closed = 0;
	}
}
END_TEST

CHECK_MAIN("dsa_queue", a_queue_is_tried_first, a_trial_is_believed_when_seen,
	   no_more_than_its_entries, no_answer, an_answer_while_draining, sysfs_says_why,
	   a_slow_device, ever_longer_times, a_queue_that_wavers, status_codes,
	   page_faults_only, a_shared_queue_that_refuses, where_mmap_is_refused,
	   a_node_that_cannot_be_opened, readback, a_pool_that_fails,
	   threads_that_serve_are_load, a_fork, engines_count)
