/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_offload.c - requests that wait for a device while others are served
 *
 * The device is played here: what the engine (copy/dsa.h) promises, and nothing
 * more. Requests come by hand and are answered into memory.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/count.h"
#include "fuse/offload.h"
#include "fuse/session.h"
#include "fuse/stats.h"
#include "fuse/transport.h"
#include "meta/alloc.h"
#include "support/check_main.h"
#include "support/pool.h"

#define MIB	(1u << 20)
#define LEN	(64u << 10)

/* ---- an engine ---------------------------------------------------------------- */

struct dsa { int none; };
struct dsa_port { int none; };

static struct dsa device;
static struct dsa_port port;
static struct pool pool;
static struct {
	struct dsa_job *job[OFFLOAD_DEPTH];	/* NULL: free */
	bool done[OFFLOAD_DEPTH];
	unsigned nr, asked, ports, waiting, waited;
	size_t min;
	bool unwilling, durable;
	int refuse;
} eng;

struct dsa_port *dsa_port_open(struct dsa *d, unsigned max_jobs)
{
	ck_assert_ptr_eq(d, &device);
	ck_assert_uint_le(max_jobs, OFFLOAD_DEPTH);
	eng.ports++;
	return &port;
}

void dsa_port_close(struct dsa_port *p)
{
	ck_assert_uint_eq(eng.nr, 0);
	eng.ports -= p != NULL;
}

bool dsa_wants(struct dsa_port *p, size_t len)
{
	(void)p;
	eng.asked++;
	eng.waited = eng.waiting;
	return !eng.unwilling && eng.nr < OFFLOAD_DEPTH && len >= eng.min;
}

int dsa_submit(struct dsa_port *p, struct dsa_job *j)
{
	unsigned i = 0;

	(void)p;
	if (eng.refuse)
		return eng.refuse;
	while (eng.job[i])
		i++;
	eng.job[i] = j;
	eng.done[i] = false;
	eng.nr++;
	return 0;
}

/* The device is done with the nth that was given to it. */
static void finish(unsigned i)
{
	struct dsa_job *j = eng.job[i];

	memcpy(pm_window(pool.fs->pm, j->off, j->len), j->src, j->len);
	pm_window_done(pool.fs->pm, j->off, j->len);
	j->by_device = j->len;
	if (eng.durable)
		pm_flush(pool.fs->pm, j->off, j->len);
	j->durable = eng.durable;
	eng.done[i] = true;
}

struct dsa_job *dsa_reap(struct dsa_port *p)
{
	struct dsa_job *j = NULL;

	(void)p;
	for (unsigned i = 0; i < OFFLOAD_DEPTH && !j; i++) {
		if (!eng.job[i] || !eng.done[i])
			continue;
		j = eng.job[i];
		eng.job[i] = NULL;
		eng.nr--;
	}
	return j;
}

uint64_t dsa_eta(const struct dsa_port *p)
{
	(void)p;
	for (unsigned i = 0; i < OFFLOAD_DEPTH; i++)
		if (eng.job[i] && !eng.done[i])
			return 12345;
	return UINT64_MAX;
}

/* The library has these in the same file, so they are here as well. */
int dsa_open(struct dsa **d, struct pm *pm, const struct dsa_opt *opt)
{
	(void)pm;
	(void)opt;
	*d = NULL;
	return -ENOTSUP;
}

void dsa_close(struct dsa *d) { (void)d; }
void dsa_port_waiting(struct dsa_port *p, unsigned nr) { (void)p; eng.waiting = nr; }
unsigned dsa_inflight(const struct dsa_port *p) { (void)p; return eng.nr; }

const char *dsa_describe(struct dsa *d, char *buf, size_t size)
{
	ck_assert_ptr_eq(d, &device);
	snprintf(buf, size, "a \"test\"");
	return buf;
}

const char *dsa_why_name(enum dsa_reason why)
{
	static char name[8];

	snprintf(name, sizeof(name), "why%d", (int)why);
	return name;
}

void dsa_stats(const struct dsa *d, struct dsa_stats *s)
{
	(void)d;
	*s = (struct dsa_stats){
		.jobs = 11, .bytes_device = 22, .queues = 2, .why[DSA_WHY_FULL] = 33,
	};
}

/* ---- a transport ---------------------------------------------------------------- */

static struct options opt;
static struct session s;
static struct offload off;
static struct place {
	struct request rq;
	struct parked parked;
	struct fuse_in_header h;
	struct fuse_write_in w;
	uint8_t data[MIB + 1];
	int answer;			/* 1: none yet */
	uint32_t size;
} place[OFFLOAD_DEPTH + 1];

static int send_to_place(struct request *rq, const struct iovec *iov, unsigned nr)
{
	struct place *pl = rq->state;
	struct fuse_out_header h;
	struct fuse_write_out w = { 0 };

	ck_assert_int_eq(pl->answer, 1);
	memcpy(&h, iov[0].iov_base, sizeof(h));
	if (nr > 1)
		memcpy(&w, iov[1].iov_base, sizeof(w));
	pl->answer = h.error;
	pl->size = w.size;
	return 0;
}

static const struct transport to_place = { .name = "place", .send = send_to_place };

static uint64_t file;

static void begin(uint64_t size)
{
	memset(&eng, 0, sizeof(eng));
	eng.min = 4096;
	pool_make(&pool, size);
	file = pool_file(&pool, ROOT, "f");
	s = (struct session){
		.fs = pool.fs, .opt = &opt, .fd = -1, .direct = true, .dsa = &device,
		.transport = &to_place, .started = stats_clock(),
	};
	offload_open(&off, &s, OFFLOAD_DEPTH);
	ck_assert_ptr_eq(off.port, &port);
}

static void end(void)
{
	ck_assert_uint_eq(off.nr, 0);
	offload_close(&off);
	ck_assert_uint_eq(eng.ports, 0);
	ck_assert_uint_eq(alloc_reserved(pool.fs), 0);
	pool_end(&pool);
}

/* A WRITE comes in at place i. True: it is parked. */
static bool come(unsigned i, uint64_t node, uint64_t pos, uint32_t len)
{
	struct place *pl = &place[i];

	pl->h = (struct fuse_in_header){
		.len = (uint32_t)(sizeof(pl->h) + sizeof(pl->w) + len),
		.opcode = FUSE_WRITE, .unique = i + 1, .nodeid = node,
	};
	pl->w = (struct fuse_write_in){ .offset = pos, .size = len };
	for (uint32_t n = 0; n < len; n++)
		pl->data[n] = (uint8_t)(i * 16 + n / 4096 * 3 + n % 251);
	/* what a transport does once; the rest stays as the last request left it */
	pl->rq.s = &s;
	pl->rq.tr = &to_place;
	pl->rq.state = pl;
	pl->rq.ctx.fs = s.fs;
	pl->answer = 1;
	request_lay_apart(&pl->rq, &pl->h, &pl->w, sizeof(pl->w), pl->data, len);
	return offload_serve(&off, &pl->rq, &pl->parked);
}

static void answered(unsigned i, int answer, uint32_t size)
{
	ck_assert_int_eq(place[i].answer, answer);
	ck_assert_uint_eq(place[i].size, size);
	place[i].size = 0;
}

static uint64_t counted(enum counter id)
{
	return count_sum(pm_counters(pool.fs->pm), id);
}

/* ---- claims ------------------------------------------------------------------------ */

START_TEST(parked_and_served_later)
{
	begin(32 << 20);
	ck_assert(come(0, file, 1000, LEN));
	ck_assert_uint_eq(off.nr, 1);
	ck_assert_uint_eq(offload_eta(&off), 12345);
	ck_assert_ptr_null(offload_reap(&off));
	ck_assert_int_eq(place[0].answer, 1);
	/* nobody waits for it: neither that file nor another */
	pool_fill(&pool, file, 0, 'a', 2000);
	ck_assert(!come(1, file, 500, 100));
	answered(1, 0, 100);
	finish(0);
	ck_assert_uint_eq(offload_eta(&off), 0);	/* it waits for nobody but us */
	ck_assert_ptr_eq(offload_reap(&off), &place[0].rq);
	answered(0, 0, LEN);
	ck_assert_uint_eq(counted(COUNT_LANDED), LEN);
	ck_assert_uint_eq(off.nr, 0);
	ck_assert_uint_eq(offload_eta(&off), UINT64_MAX);
	pool_expect(&pool, file, 1000, place[0].data, LEN);
	pool_expect(&pool, file, 500, place[1].data, 100);
	pool_expect_fill(&pool, file, 600, 'a', 400);
	end();
}
END_TEST

START_TEST(in_any_order)
{
	begin(128 << 20);
	for (unsigned i = 0; i < OFFLOAD_DEPTH; i++)
		ck_assert(come(i, file, i * LEN, LEN));
	ck_assert(!come(OFFLOAD_DEPTH, file, OFFLOAD_DEPTH * LEN, LEN));
	answered(OFFLOAD_DEPTH, 0, LEN);
	for (unsigned i = 0; i < OFFLOAD_DEPTH; i++) {
		unsigned n = (i * 7 + 3) % OFFLOAD_DEPTH;

		finish(n);
		ck_assert_ptr_eq(offload_reap(&off), &place[n].rq);
		ck_assert_ptr_null(offload_reap(&off));
		answered(n, 0, LEN);
	}
	for (unsigned i = 0; i <= OFFLOAD_DEPTH; i++)
		pool_expect(&pool, file, i * LEN, place[i].data, LEN);
	pool_remount(&pool);
	s.fs = pool.fs;
	file = pool_find(&pool, ROOT, "f");
	for (unsigned i = 0; i <= OFFLOAD_DEPTH; i++)
		pool_expect(&pool, file, i * LEN, place[i].data, LEN);
	end();
}
END_TEST

/* The policy is told how many there are besides. */
START_TEST(others_wait)
{
	begin(32 << 20);
	offload_waiting(&off, 5);
	ck_assert(!come(0, file, 0, 100));
	ck_assert_uint_eq(eng.waited, 5);
	offload_waiting(&off, 0);
	ck_assert(!come(0, file, 0, 100));
	ck_assert_uint_eq(eng.waited, 0);
	end();
	s.dsa = NULL;				/* nobody to tell */
	offload_open(&off, &s, OFFLOAD_DEPTH);
	offload_waiting(&off, 5);
	ck_assert_uint_eq(eng.waiting, 0);
	ck_assert_uint_eq(offload_eta(&off), UINT64_MAX);
	ck_assert_ptr_null(offload_reap(&off));
	offload_close(&off);
}
END_TEST

START_TEST(what_is_not_for_a_device)
{
	struct request *rq = &place[0].rq;

	begin(32 << 20);
	ck_assert(!come(0, file, 0, 100));		/* small */
	answered(0, 0, 100);
	ck_assert_uint_eq(eng.asked, 1);
	place[0].w.size = 99;				/* not what it says */
	place[0].answer = 1;
	request_lay_apart(rq, &place[0].h, &place[0].w, sizeof(place[0].w), place[0].data, 100);
	ck_assert(!offload_serve(&off, rq, &place[0].parked));
	answered(0, -EINVAL, 0);
	place[0].answer = 1;
	request_lay_apart(rq, &place[0].h, &place[0].w, 10, place[0].data, 100);
	ck_assert(!offload_serve(&off, rq, &place[0].parked));
	answered(0, -EINVAL, 0);
	/* another request that looks like one */
	place[0].h.opcode = FUSE_READ;
	place[0].w.size = 100;
	place[0].answer = 1;
	rq->out = place[1].data;
	request_lay_apart(rq, &place[0].h, &place[0].w, sizeof(place[0].w), place[0].data, 100);
	ck_assert(!offload_serve(&off, rq, &place[0].parked));
	ck_assert_int_eq(place[0].answer, 0);
	ck_assert_uint_eq(eng.asked, 1);
	eng.min = 0;					/* nothing, and too much */
	ck_assert(!come(0, file, 0, 0));
	answered(0, 0, 0);
	ck_assert(!come(0, file, 0, MIB + 1));
	answered(0, 0, MIB + 1);
	ck_assert_uint_eq(eng.asked, 1);
	eng.unwilling = true;
	ck_assert(!come(0, file, 0, LEN));
	answered(0, 0, LEN);
	eng.unwilling = false;
	eng.refuse = -EAGAIN;
	ck_assert(!come(1, file, 0, LEN));
	answered(1, 0, LEN);
	ck_assert_uint_eq(alloc_reserved(pool.fs), 0);
	pool_expect(&pool, file, 0, place[1].data, LEN);
	ck_assert_uint_eq(counted(COUNT_LANDED), 0);
	end();
}
END_TEST

/* What is so when it is served counts, not what was when it came. */
START_TEST(the_world_has_changed)
{
	uint64_t node;

	begin(64 << 20);
	node = pool_file(&pool, ROOT, "gone");
	ck_assert(come(0, node, 0, LEN));
	ck_assert(come(1, file, LEN, LEN));
	ck_assert(come(2, file, 0, LEN));
	ck_assert_int_eq(pool_unlink(&pool, ROOT, "gone"), 0);
	pool_forget(&pool, node, 1);
	pool_fill(&pool, file, 0, 'o', 3 * LEN);
	ck_assert_int_eq(pool_truncate(&pool, file, 10), 0);
	for (unsigned i = 0; i < 2; i++)
		finish(i);
	ck_assert_ptr_eq(offload_reap(&off), &place[0].rq);
	answered(0, -ESTALE, 0);
	ck_assert_ptr_eq(offload_reap(&off), &place[1].rq);
	answered(1, 0, LEN);
	pool_expect_fill(&pool, file, 0, 'o', 10);
	pool_expect_fill(&pool, file, 10, 0, LEN - 10);
	pool_expect(&pool, file, LEN, place[1].data, LEN);
	ck_assert_int_eq(op_set_flags(&pool.c, file, PMEMFS_FL_IMMUTABLE,
				      PMEMFS_FL_IMMUTABLE, NULL), 0);
	finish(2);
	ck_assert_ptr_eq(offload_reap(&off), &place[2].rq);
	answered(2, -EPERM, 0);
	pool_expect_fill(&pool, file, 0, 'o', 10);
	end();
}
END_TEST

/* O4: the blocks are not believed, the payload is still there. */
START_TEST(the_pool_failed)
{
	begin(32 << 20);
	ck_assert(come(0, file, 7, LEN));
	finish(0);
	place[0].parked.job.err = -EIO;
	memset(pm_window(pool.fs->pm, place[0].parked.land.off, LEN), 0, LEN);
	pm_window_done(pool.fs->pm, place[0].parked.land.off, LEN);
	ck_assert_ptr_eq(offload_reap(&off), &place[0].rq);
	answered(0, 0, LEN);
	ck_assert_uint_eq(counted(COUNT_LANDED), 0);
	pool_expect(&pool, file, 7, place[0].data, LEN);
	end();
}
END_TEST

START_TEST(durable_already)
{
	struct rec_counts n;

	begin(32 << 20);
	eng.durable = true;
	ck_assert(come(0, file, 0, LEN));
	finish(0);
	rec_counts_reset(pool.rec);
	ck_assert_ptr_nonnull(offload_reap(&off));
	rec_counts(pool.rec, &n);
	ck_assert_uint_lt(n.flushed_bytes, LEN);
	ck_assert_uint_eq(n.fences, 2);
	pool_expect(&pool, file, 0, place[0].data, LEN);
	end();
}
END_TEST

START_TEST(space_is_short)
{
	begin(32 << 20);
	ck_assert(!come(0, file, 0, MIB));		/* 1/32 of all */
	answered(0, 0, MIB);
	ck_assert_uint_eq(s.no_room, 1);
	for (unsigned i = 0; i < 16; i++)		/* it is not tried each time */
		ck_assert(!come(0, file, 0, 4096));
	ck_assert_uint_eq(s.no_room, 17);
	ck_assert(come(0, file, 0, 4096));
	finish(0);
	ck_assert_ptr_nonnull(offload_reap(&off));
	end();
}
END_TEST

/* Its time begins when it came, though it was served later. */
START_TEST(time_counts_from_arrival)
{
	struct stats_sum before, after;
	uint64_t t;

	begin(32 << 20);
	stats_sum(FUSE_WRITE, &before);
	ck_assert(come(0, file, 0, LEN));
	for (t = stats_clock(); stats_clock() - t < 3000000; )
		;
	finish(0);
	ck_assert_ptr_nonnull(offload_reap(&off));
	stats_sum(FUSE_WRITE, &after);
	ck_assert_uint_eq(after.count, before.count + 1);
	ck_assert_uint_ge(after.total - before.total, 3000000);
	/* and the next one at that place begins anew */
	before = after;
	t = stats_clock();
	ck_assert(!come(0, file, 0, 10));
	t = stats_clock() - t;
	stats_sum(FUSE_WRITE, &after);
	ck_assert_uint_le(after.total - before.total, t);
	end();
}
END_TEST

START_TEST(numbers)
{
	static char buf[STATS_MAX];

	begin(32 << 20);
	s.no_room = 44;
	ck_assert_uint_gt(stats_json(&s, buf, sizeof(buf)), 0);
	ck_assert_ptr_nonnull(strstr(buf, "\"dsa\":{\"device\":\"a \\u0022test\\u0022\","
				     "\"queues\":2"));
	ck_assert_ptr_nonnull(strstr(buf, "\"jobs\":11"));
	ck_assert_ptr_nonnull(strstr(buf, "\"device_bytes\":22"));
	ck_assert_ptr_nonnull(strstr(buf, "\"fell_back\":{\"why0\":0"));
	ck_assert_int_eq(DSA_WHY_FULL, 2);
	ck_assert_ptr_nonnull(strstr(buf, "\"why2\":33"));
	ck_assert_ptr_nonnull(strstr(buf, "\"no_room\":44}}"));
	s.dsa = NULL;
	ck_assert_uint_gt(stats_json(&s, buf, sizeof(buf)), 0);
	ck_assert_ptr_null(strstr(buf, "\"dsa\""));
	end();
}
END_TEST

CHECK_MAIN("offload", parked_and_served_later, in_any_order, others_wait,
	   what_is_not_for_a_device, the_world_has_changed, the_pool_failed, durable_already,
	   space_is_short, time_counts_from_arrival, numbers)
