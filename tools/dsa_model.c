/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_model.c - requests, threads, a queue and its engines, in virtual time
 *
 *   M1  A request belongs to one thread, in turn. A thread does one thing at a
 *       time, in the order of the serving loop: the requests that have come,
 *       the jobs that are done, and when there are neither, waiting. A slot
 *       of the queue is free again when its job is reaped.
 *   M2  A job is cut into descriptors of max_transfer. Each takes the first free
 *       engine, in order, which prepares it for `hold`, while the bytes of the
 *       one before flow; then its own do. What is left of `latency` passes
 *       after that, beside others.
 *   M3  Bytes that flow share the memory evenly, CPU or engine, and no CPU, engine
 *       or device exceeds its own rate. A byte of a CPU uses 1/cpu_max of
 *       the memory's time, one of the device 1/device_max.
 *   M4  CPU time is what threads spend on requests, submitting, reaping, flushing,
 *       copying (stalled by the memory or not), polling and waking up; not
 *       what they sleep. The clients' time is not counted.
 *   M5  No randomness: the same parameters, the same result.
 *
 * Not here: batches of descriptors, other traffic, caches, NUMA, what a page of
 * the source costs to find.
 */
#include "tools/dsa_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPSILON		1e-3		/* ns, and bytes */
#define LOOK_AGAIN	20000.0		/* a thread that polls reconsiders */
#define WARM_UP		8u		/* requests per client before counting */

enum doing { IDLE, BUSY, COPYING, POLLING, ASLEEP };
enum step { REQUEST, SUBMIT, REAP, REST };

struct job {
	double arrived, due;
	double visible;		/* its completion, when its last descriptor is through */
	double rest;		/* bytes that a fault left for the CPU */
	unsigned parts;		/* descriptors that are not through */
	bool flying, device;
};

struct fifo { unsigned item[2 * MODEL_MAX_JOBS], head, len; };

struct thread {
	enum doing doing;
	enum step step;		/* that BUSY or COPYING is part of */
	unsigned job;		/* of that step */
	double until;		/* BUSY, POLLING, ASLEEP */
	double left;		/* bytes, COPYING */
	double cpu;
	unsigned own;		/* jobs submitted and not reaped */
	unsigned turn;		/* requests to take before jobs are reaped */
	struct fifo in, done;
};

struct part { unsigned job; double len; };

struct engine {
	struct part next, now;	/* prepared, and flowing */
	double until;		/* next is prepared */
	bool prepares, flows;
};

struct run {
	const struct model *m;
	enum model_mode mode;
	double len, now, ahead;
	unsigned nr_jobs, nr_threads, nr_engines, flying, submitted;
	double cpu_rate, engine_rate;		/* as shared now */
	struct job job[MODEL_MAX_JOBS];
	struct thread thread[MODEL_MAX_THREADS];
	struct engine engine[MODEL_MAX_ENGINES];
	struct part *part;			/* descriptors in the queue */
	size_t nr_parts, room;
	/* counted */
	unsigned answered, from, to;
	double start, cpu, by_device;
	double *took;
};

static void put(struct fifo *f, unsigned item)
{
	f->item[(f->head + f->len++) % (2 * MODEL_MAX_JOBS)] = item;
}

static unsigned take(struct fifo *f)
{
	unsigned item = f->item[f->head];

	f->head = (f->head + 1) % (2 * MODEL_MAX_JOBS);
	f->len--;
	return item;
}

/* ---- the memory (M3) ----------------------------------------------------------- */

static void share_memory(struct run *r)
{
	const struct dsa_medium *m = &r->m->medium;
	const struct dsa_kind *k = &r->m->kind;
	double cpus = 0, engines = 0, c = m->cpu_rate, e = k->engine_rate, each;

	for (unsigned i = 0; i < r->nr_threads; i++)
		cpus += r->thread[i].doing == COPYING;
	for (unsigned i = 0; i < r->nr_engines; i++)
		engines += r->engine[i].flows;
	if (engines > 0)
		e = fmin(e, k->device_rate / engines);
	if (cpus * c / m->cpu_max + engines * e / m->device_max > 1) {
		each = 1 / (cpus / m->cpu_max + engines / m->device_max);
		if (c <= each)
			e = (1 - cpus * c / m->cpu_max) * m->device_max / engines;
		else if (e <= each)
			c = (1 - engines * e / m->device_max) * m->cpu_max / cpus;
		else
			c = e = each;
	}
	r->cpu_rate = c;
	r->engine_rate = e;
}

/* ---- the device (M2) ----------------------------------------------------------- */

static void submit(struct run *r, unsigned i)
{
	struct job *j = &r->job[i];
	double left = r->len, n;
	uint64_t ahead = (uint64_t)r->ahead, every = (uint64_t)r->m->fault_every;

	r->submitted++;
	j->flying = j->device = true;
	j->visible = 0;
	j->rest = 0;
	j->parts = 0;
	j->due = r->now + (double)dsa_policy_expect(&r->m->rule_kind,
						    &r->m->rule_medium, ahead,
						    (size_t)r->len);
	r->ahead += r->len;
	r->flying++;
	for (; left > 0; left -= n) {
		n = fmin(left, r->m->max_transfer);
		if (every && !j->parts && !(r->submitted % every))
			j->rest = n / 2;
		r->part[r->nr_parts++] = (struct part){ i, j->parts ? n : n - j->rest };
		j->parts++;
	}
}

static void feed_engines(struct run *r)
{
	for (unsigned i = 0; i < r->nr_engines && r->nr_parts; i++) {
		struct engine *e = &r->engine[i];

		if (e->prepares)
			continue;
		e->prepares = true;
		e->next = r->part[0];
		e->until = r->now + r->m->kind.hold;
		memmove(r->part, r->part + 1, --r->nr_parts * sizeof(r->part[0]));
	}
}

static void run_engines(struct run *r)
{
	for (unsigned i = 0; i < r->nr_engines; i++) {
		struct engine *e = &r->engine[i];
		struct job *j = &r->job[e->now.job];

		if (e->flows && e->now.len <= EPSILON) {
			e->flows = false;
			j->parts--;
			j->visible = r->now + fmax(0, r->m->kind.latency - r->m->kind.hold);
		}
		if (e->prepares && !e->flows && e->until <= r->now + EPSILON) {
			e->prepares = false;
			e->flows = true;
			e->now = e->next;
		}
	}
	feed_engines(r);
}

static void complete(struct run *r)
{
	for (unsigned i = 0; i < r->nr_jobs; i++) {
		struct job *j = &r->job[i];
		struct thread *t = &r->thread[i % r->nr_threads];

		if (!j->flying || j->parts || j->visible > r->now + EPSILON)
			continue;
		j->flying = false;
		put(&t->done, i);
		if (t->doing == POLLING)
			t->until = r->now;
	}
}

/* ---- the threads (M1) ------------------------------------------------------------ */

static void busy(struct run *r, struct thread *t, enum step step, unsigned job, double ns)
{
	t->doing = BUSY;
	t->step = step;
	t->job = job;
	t->until = r->now + ns;
}

/* A request by CPU, or the end of one by the device. */
static bool serves(const struct thread *t)
{
	return t->doing == COPYING || (t->doing == BUSY && t->step != SUBMIT);
}

static bool to_device(struct run *r, const struct thread *t)
{
	struct dsa_load l = { .queue = r->flying, .ahead = (uint64_t)r->ahead, .own = t->own,
			      .waiting = t->in.len };

	if (r->mode == MODEL_CPU || r->flying >= r->m->slots)
		return false;
	if (r->mode == MODEL_DEVICE)
		return true;
	for (unsigned i = 0; i < r->nr_threads; i++)
		if (&r->thread[i] != t && serves(&r->thread[i]))
			l.serving++;
	return r->m->use(&r->m->rule_kind, &r->m->rule_medium, &l, (size_t)r->len, 0);
}

static void reply(struct run *r, unsigned i)
{
	struct job *j = &r->job[i];

	if (r->answered >= r->from) {
		r->took[r->answered - r->from] = r->now - j->arrived;
		r->by_device += j->device ? r->len - j->rest : 0;
	}
	if (++r->answered == r->from) {
		r->start = r->now;
		for (unsigned k = 0; k < r->nr_threads; k++)
			r->thread[k].cpu = 0;
	}
	j->arrived = r->now;
	put(&r->thread[i % r->nr_threads].in, i);
}

static void copy(struct thread *t, enum step step, unsigned job, double len)
{
	t->doing = COPYING;
	t->step = step;
	t->job = job;
	t->left = len;
}

static void wait_for_device(struct run *r, struct thread *t)
{
	double due = INFINITY, nap;

	if (!t->own || r->m->interrupts) {
		t->doing = IDLE;
		return;
	}
	for (unsigned i = 0; i < r->nr_jobs; i++)
		if (r->job[i].flying && &r->thread[i % r->nr_threads] == t)
			due = fmin(due, r->job[i].due);
	nap = (double)r->m->nap((uint64_t)fmax(0, due - r->now), (uint64_t)fmax(0, r->now - due));
	t->doing = nap > 0 ? ASLEEP : POLLING;
	t->until = r->now + (nap > 0 ? nap + r->m->wake_late : LOOK_AGAIN);
	if (nap > 0)
		t->cpu += r->m->wake;
}

static void begin(struct run *r, struct thread *t)
{
	unsigned i = take(&t->in);
	bool device = to_device(r, t);

	t->turn -= t->turn > 0;
	r->job[i].device = device;
	busy(r, t, device ? SUBMIT : REQUEST, i,
	     r->m->request + (device ? r->m->kind.submit : 0));
}

static void reap(struct run *r, struct thread *t)
{
	const struct dsa_kind *k = &r->m->kind;
	unsigned i = take(&t->done);
	double rest = r->job[i].rest, bytes = r->len - rest;

	t->own--;
	r->flying--;
	r->ahead -= r->len;
	busy(r, t, REAP, i, k->reap + bytes * (k->cpu_byte + r->m->medium.flush_byte) +
	     (rest > 0 ? r->m->fault : 0));
}

static void next_thing(struct run *r, struct thread *t)
{
	bool may = t->in.len && (r->mode != MODEL_DEVICE || r->flying < r->m->slots);

	if (may && (t->turn || !t->done.len))
		begin(r, t);
	else if (t->done.len)
		reap(r, t);
	else
		wait_for_device(r, t);
	if (!t->done.len)
		t->turn = t->in.len;
}

/* What the thread was at is over. */
static void finish(struct run *r, struct thread *t)
{
	bool copied = t->doing == COPYING;

	t->doing = IDLE;
	if (copied)
		reply(r, t->job);
	else if (t->step == REQUEST)
		copy(t, REQUEST, t->job, r->len);
	else if (t->step == SUBMIT)
		t->own++, submit(r, t->job);
	else if (r->job[t->job].rest > 0)
		copy(t, REST, t->job, r->job[t->job].rest);
	else
		reply(r, t->job);
	if (t->doing == IDLE)
		next_thing(r, t);
}

static void run_threads(struct run *r)
{
	for (unsigned i = 0; i < r->nr_threads; i++) {
		struct thread *t = &r->thread[i];

		if (t->doing == COPYING ? t->left <= EPSILON :
		    t->doing == BUSY && t->until <= r->now + EPSILON)
			finish(r, t);
		else if (t->doing == IDLE ? t->in.len || t->done.len :
			 (t->doing == POLLING || t->doing == ASLEEP) &&
			 t->until <= r->now + EPSILON)
			next_thing(r, t);
	}
}

/* ---- time ------------------------------------------------------------------------ */

static double next_event(const struct run *r)
{
	double at = INFINITY;

	for (unsigned i = 0; i < r->nr_threads; i++) {
		const struct thread *t = &r->thread[i];

		if (t->doing == COPYING)
			at = fmin(at, r->now + t->left / r->cpu_rate);
		else if (t->doing != IDLE)
			at = fmin(at, t->until);
	}
	for (unsigned i = 0; i < r->nr_engines; i++) {
		const struct engine *e = &r->engine[i];

		if (e->flows)
			at = fmin(at, r->now + e->now.len / r->engine_rate);
		else if (e->prepares)
			at = fmin(at, e->until);
	}
	for (unsigned i = 0; i < r->nr_jobs; i++)
		if (r->job[i].flying && !r->job[i].parts)
			at = fmin(at, r->job[i].visible);
	return fmax(at, r->now);
}

static void pass(struct run *r, double at)
{
	double ns = at - r->now;

	for (unsigned i = 0; i < r->nr_threads; i++) {
		struct thread *t = &r->thread[i];

		if (t->doing == COPYING)
			t->left -= ns * r->cpu_rate;
		if (t->doing == BUSY || t->doing == COPYING || t->doing == POLLING)
			t->cpu += ns;
	}
	for (unsigned i = 0; i < r->nr_engines; i++)
		if (r->engine[i].flows)
			r->engine[i].now.len -= ns * r->engine_rate;
	r->now = at;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sum_up(struct run *r, struct model_result *out)
{
	unsigned n = r->to - r->from;
	double bytes = n * r->len, cpu = 0, all = 0;

	for (unsigned i = 0; i < r->nr_threads; i++)
		cpu += r->thread[i].cpu;
	for (unsigned i = 0; i < n; i++)
		all += r->took[i];
	qsort(r->took, n, sizeof(r->took[0]), by_value);
	out->rate = bytes / (r->now - r->start);
	out->latency = all / n;
	out->worst = r->took[n * 99 / 100];
	out->cpu = cpu / bytes * (1u << 30) / 1e9;
	out->share = r->by_device / bytes;
}

static unsigned at_most(double want, unsigned max)
{
	return want < 1 ? 1 : want < max ? (unsigned)want : max;
}

void model_run(const struct model *m, enum model_mode mode, size_t len, unsigned in_flight,
	       struct model_result *out)
{
	struct run *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	r->m = m;
	r->mode = mode;
	r->len = (double)len;
	r->nr_jobs = at_most(in_flight, MODEL_MAX_JOBS);
	r->nr_threads = at_most(fmin(m->threads, r->nr_jobs), MODEL_MAX_THREADS);
	r->nr_engines = at_most(m->kind.engines, MODEL_MAX_ENGINES);
	r->from = WARM_UP * r->nr_jobs;
	/* whole turns: those that are answered together are counted together */
	r->to = r->from + (25 + 500 / r->nr_jobs) * r->nr_jobs;
	r->room = r->nr_jobs * (size_t)(r->len / m->max_transfer + 2);
	r->part = calloc(r->room, sizeof(r->part[0]));
	r->took = calloc(r->to - r->from + MODEL_MAX_THREADS, sizeof(r->took[0]));
	if (!r->part || !r->took)
		abort();
	for (unsigned i = 0; i < r->nr_jobs; i++)
		put(&r->thread[i % r->nr_threads].in, i);
	while (r->answered < r->to) {
		run_engines(r);
		complete(r);
		run_threads(r);
		feed_engines(r);
		share_memory(r);
		pass(r, next_event(r));
	}
	sum_up(r, out);
	free(r->part);
	free(r->took);
	free(r);
}
