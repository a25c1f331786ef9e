/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_fake.h - a DSA that is a list of descriptors, for tests of when the engine uses it
 *
 * It executes when run() is called, or, unless it is dead, when somebody looks at the
 * clock, which stands still unless a test moves it. What becomes of bytes under
 * faults is tests/dsa's matter, which has a better one. One program, one of them.
 */
#ifndef UNIT_DSA_FAKE_H
#define UNIT_DSA_FAKE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

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
	_Atomic unsigned mapped;
	bool lies;			/* says that it has copied */
	bool sulks;			/* copies, and says that it has not */
	unsigned new_size;		/* what the administrator has made of it */
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

static inline void execute(const struct dsa_desc *c)
{
	struct dsa_record *r = (struct dsa_record *)(uintptr_t)c->record;
	bool ours = c->size == 64;	/* the trial always works */

	if (!ours)
		dev.flags = DSA_FLAGS(c->op_flags);

	ck_assert_uint_eq(DSA_OPCODE(c->op_flags), DSA_OP_MEMMOVE);
	ck_assert_uint_eq(r->status, 0);
	if (!dev.lies && (!dev.status || ours))
		memcpy((void *)(uintptr_t)c->dst, (void *)(uintptr_t)c->src, c->size);
	r->status = dev.sulks ? DSA_ST_HW_ERROR :
		    dev.status && !ours ? dev.status : DSA_ST_SUCCESS;
}

static inline void run(void)
{
	for (unsigned i = 0; i < dev.nr; i++)
		execute(&dev.desc[i]);
	dev.nr = 0;
}

static inline void take(const struct dsa_desc *c)
{
	ck_assert_uint_lt(dev.nr, 64);
	dev.desc[dev.nr++] = *c;
}

static inline int fake_open(void *arg, const char *path)
{
	(void)arg;
	ck_assert_str_eq(path, "/dev/dsa/wq0.1");
	dev.opened++;
	return dev.open_err ? dev.open_err : 7;
}

static inline void fake_close(void *arg, int fd)
{
	(void)arg;
	ck_assert_int_eq(fd, 7);
	ck_assert(dev.mapped < dev.opened - dev.closed && !dev.forked);	/* E1 */
	dev.closed++;
	memcpy(dev.at_close, pm_at(pm, 0, LEN), LEN);
	if (dev.finishes_on_close)
		run();
	dev.nr = 0;
}

static inline void *fake_map(void *arg, int fd)
{
	(void)arg;
	(void)fd;
	dev.mapped += !dev.unmapped;
	return dev.unmapped ? NULL : dev.portal;
}

static inline void fake_unmap(void *arg, void *portal)
{
	(void)arg;
	ck_assert(dev.mapped);
	ck_assert_ptr_eq(portal, dev.portal);
	dev.mapped--;
}

static inline int fake_write(void *arg, int fd, const struct dsa_desc *c, unsigned nr)
{
	(void)arg;
	(void)fd;
	if (dev.refuses)
		return -EAGAIN;
	for (unsigned i = 0; i < nr; i++)
		take(c + i);
	return (int)nr;
}

static inline void fake_movdir64b(void *arg, void *place, const struct dsa_desc *c)
{
	size_t at = (size_t)((uint8_t *)place - dev.portal);

	(void)arg;
	ck_assert(at < DSA_PORTAL_SIZE && at % DSA_PORTAL_SLOT == 0);
	ck_assert_uint_lt(dev.nr, ENTRIES);			/* E3 */
	take(c);
}

static inline bool fake_enqcmd(void *arg, void *place, const struct dsa_desc *c)
{
	(void)arg;
	(void)place;
	if (dev.refuses)
		return false;
	take(c);
	return true;
}

static inline uint64_t fake_now(void *arg)
{
	(void)arg;
	if (!dev.dead)
		run();
	return dev.now;
}

static inline enum dsa_wq_state fake_look(void *arg, struct dsa_wq *wq)
{
	(void)arg;
	if (dev.new_size)
		wq->size = dev.new_size;
	dev.looked++;
	return dev.state;
}

/* ---- a mount -------------------------------------------------------------------- */

static inline void count_line(enum log_level level, const char *line)
{
	if (level > LOG_LVL_INFO)
		return;
	lines++;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

static struct dsa_opt opt;

/* On one queue, or on several with other nodes. */
static inline int open_queues(const struct dsa_wq *wq, unsigned nr)
{
	struct dsa_sys sys = {
		.open = fake_open, .close = fake_close, .map = fake_map, .unmap = fake_unmap,
		.write = fake_write, .movdir64b = fake_movdir64b, .enqcmd = fake_enqcmd,
		.now = fake_now, .look = fake_look, .has_movdir64b = true, .has_enqcmd = true,
	};
	char text[256];

	opt.min = 4096;
	return dsa_open_on(&d, pm, &opt, &sys, wq, nr, text, sizeof(text));
}

static inline struct dsa_wq queue(bool shared, int node)
{
	return (struct dsa_wq){
		.name = "wq0.1", .dev = "dsa0", .path = "/dev/dsa/wq0.1", .size = ENTRIES,
		.threshold = ENTRIES, .max_transfer = 2 << 20, .node = node, .shared = shared,
		.readback = dev.readback, .engines = dev.engines,
	};
}

static inline int open_shared(bool shared)
{
	struct dsa_wq wq = queue(shared, -1);

	return open_queues(&wq, 1);
}

static inline void start_pool(void)
{
	struct pm_config cfg = { .backend = &pm_backend_mem, .backend_arg = &mem,
				 .granularity = -1 };

	mem = (struct pm_mem){ .size = SIZE };
	ck_assert_int_eq(pm_open(&pm, "-", &cfg), 0);
}

static inline void start_on(bool shared)
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

static inline void start(void)
{
	start_pool();
	start_on(false);
}

static inline void stop(void)
{
	dsa_port_close(port);
	dsa_close(d);
	ck_assert_uint_eq(dev.opened, dev.closed);
	pm_close(pm);
	pm_mem_free(&mem);
	log_to(NULL);
}

static inline uint64_t why(enum dsa_reason r)
{
	struct dsa_stats s;

	dsa_stats(d, &s);
	return s.why[r];
}

/* A job of LEN bytes at off has come back, and the bytes are there. */
static inline void came_back(const struct dsa_job *j, struct dsa_job *want, size_t by_device)
{
	ck_assert_ptr_eq(j, want);
	ck_assert_int_eq(j->err, 0);
	ck_assert_uint_eq(j->by_device, by_device);
	ck_assert_uint_eq(j->by_cpu, j->len - by_device);
	ck_assert_mem_eq(pm_at(pm, j->off, j->len), src, j->len);
}

static inline void works(void)
{
	struct dsa_job j = { .off = 1 << 20, .src = src, .len = LEN };

	ck_assert_int_eq(dsa_submit(port, &j), 0);
	run();
	came_back(dsa_reap(port), &j, LEN);
}

#endif
