/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softdsa.c - the queues of the software device
 *
 * An entry is in its queue from the moment it is taken until its record is
 * written; d->lock is held while one is executed, so whoever asks what is in
 * flight never sees half of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "dsa/softdsa_int.h"

const struct softdsa_conf softdsa_usual = {
	.nr_wq = 2,
	.wq = {
		{ .shared = true, .size = 32, .threshold = 28, .max_batch = 32,
		  .max_xfer = 2u << 20 },
		{ .size = 32, .max_batch = 32, .max_xfer = 2u << 20 },
	},
	.readback = true,
};

struct softdsa *softdsa_new(const struct softdsa_conf *conf)
{
	struct softdsa *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	d->conf = *conf;
	d->pagemap = -1;
	pthread_mutex_init(&d->lock, NULL);
	return d;
}

static void drop(struct softdsa *d, unsigned i)
{
	d->used[d->entry[i].wq]--;
	free(d->entry[i].child);
	d->nr--;
	memmove(&d->entry[i], &d->entry[i + 1], (d->nr - i) * sizeof(d->entry[0]));
}

void softdsa_free(struct softdsa *d)
{
	while (d->nr)
		drop(d, 0);
	soft_pagemap_close(d);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

bool softdsa_script(struct softdsa *d, const char *text, char *err, size_t size)
{
	bool ok;

	pthread_mutex_lock(&d->lock);
	ok = soft_parse(&d->script, text, err, size);
	pthread_mutex_unlock(&d->lock);
	return ok;
}

void softdsa_well(struct softdsa *d)
{
	pthread_mutex_lock(&d->lock);
	memset(&d->script, 0, sizeof(d->script));
	memset(d->disabled, 0, sizeof(d->disabled));
	d->halted = false;
	pthread_mutex_unlock(&d->lock);
}

void softdsa_set_pid(struct softdsa *d, pid_t pid)
{
	pthread_mutex_lock(&d->lock);
	soft_pagemap_close(d);
	d->conf.pid = pid;
	pthread_mutex_unlock(&d->lock);
}

/* ---- stopping -------------------------------------------------------------------- */

/* What waits in a queue (in all: wq SOFT_WQS) gets no record. */
static void lose(struct softdsa *d, unsigned wq)
{
	for (unsigned i = d->nr; i-- > 0;) {
		if (wq != SOFT_WQS && d->entry[i].wq != wq)
			continue;
		d->stats.lost++;
		drop(d, i);
	}
}

static void halt(struct softdsa *d, uint64_t until)
{
	d->halted = true;
	d->halt_until = until;
	lose(d, SOFT_WQS);
}

void softdsa_halt(struct softdsa *d)
{
	pthread_mutex_lock(&d->lock);
	halt(d, UINT64_MAX);
	pthread_mutex_unlock(&d->lock);
}

void softdsa_resume(struct softdsa *d)
{
	pthread_mutex_lock(&d->lock);
	d->halted = false;
	pthread_mutex_unlock(&d->lock);
}

void softdsa_disable(struct softdsa *d, unsigned wq, bool disabled)
{
	pthread_mutex_lock(&d->lock);
	d->disabled[wq] = disabled;
	if (disabled)
		lose(d, wq);
	pthread_mutex_unlock(&d->lock);
}

static bool stopped(struct softdsa *d, unsigned wq)
{
	if (d->halted && soft_now(d) >= d->halt_until)
		d->halted = false;
	return d->halted || d->disabled[wq];
}

bool softdsa_stopped(struct softdsa *d, unsigned wq, bool *halted)
{
	bool is;

	pthread_mutex_lock(&d->lock);
	is = stopped(d, wq);
	*halted = d->halted;
	pthread_mutex_unlock(&d->lock);
	return is;
}

/* ---- users ------------------------------------------------------------------------- */

int softdsa_open(struct softdsa *d, unsigned wq)
{
	int err = 0;

	pthread_mutex_lock(&d->lock);
	if (wq >= d->conf.nr_wq || d->disabled[wq])
		err = -ENODEV;
	else if (!d->conf.wq[wq].shared && d->users[wq])
		err = -EBUSY;
	else
		d->users[wq]++;
	pthread_mutex_unlock(&d->lock);
	return err;
}

/*
 * Z3. Which of several users of a shared queue an entry belongs to is not known
 * here, so with the last one all of them go.
 */
void softdsa_close(struct softdsa *d, unsigned wq)
{
	pthread_mutex_lock(&d->lock);
	if (!d->users[wq] || --d->users[wq]) {
		pthread_mutex_unlock(&d->lock);
		return;
	}
	for (unsigned i = 0; i < d->nr;) {
		if (d->entry[i].wq != wq) {
			i++;
			continue;
		}
		soft_execute(d, &d->entry[i], d->entry[i].stuck);
		drop(d, i);
	}
	pthread_mutex_unlock(&d->lock);
}

void softdsa_forget(struct softdsa *d, unsigned wq)
{
	pthread_mutex_lock(&d->lock);
	lose(d, wq);
	pthread_mutex_unlock(&d->lock);
}

/* ---- submission ---------------------------------------------------------------------- */

static void note_sums(struct softdsa *d, struct soft_op *op)
{
	op->src_sum = op->dst_sum = 0;
	if (op->d.opcode == DSA_OPCODE_BATCH)
		return;
	op->src_sum = soft_sum(d, soft_src(&op->d));
	op->dst_sum = soft_sum(d, soft_dst(&op->d));
}

static void note_children(struct softdsa *d, struct soft_entry *e)
{
	const struct dsa_hw_desc *desc = &e->op.d;

	if (desc->opcode != DSA_OPCODE_BATCH || desc->desc_count < 2 ||
	    desc->desc_count > d->conf.wq[e->wq].max_batch)
		return;
	e->nr_child = desc->desc_count;
	e->child = calloc(e->nr_child, sizeof(e->child[0]));
	if (!e->child)
		abort();
	for (unsigned i = 0; i < e->nr_child; i++) {
		if (soft_read(d, &e->child[i].d, desc->desc_list_addr + i * SOFT_DESC,
			      SOFT_DESC) != SOFT_DESC)
			softdsa_complain(d, "child %u cannot be read", i);
		note_sums(d, &e->child[i]);
	}
}

static void take(struct softdsa *d, unsigned wq, const struct dsa_hw_desc *desc,
		 const struct soft_rule *r)
{
	struct soft_entry *e = &d->entry[d->nr];

	*e = (struct soft_entry){ .wq = wq, .op.d = *desc };
	e->stuck = r && r->act == ACT_NEVER;
	e->due = r && r->act == ACT_DELAY ? soft_now(d) + r->ns : 0;
	note_children(d, e);
	note_sums(d, &e->op);
	soft_judge_entry(d, e);
	d->nr++;
	d->used[wq]++;
	d->stats.submitted++;
	d->stats.queued_max = max64(d->stats.queued_max, d->nr);
}

/* The script may stop the device, or the queue, before it takes this one. */
static const struct soft_rule *before(struct softdsa *d, unsigned wq,
				      const struct dsa_hw_desc *desc)
{
	const struct soft_rule *r = soft_at_submit(&d->script, wq, desc);

	if (r && r->act == ACT_HALT)
		halt(d, r->ns ? soft_now(d) + r->ns : UINT64_MAX);
	if (r && r->act == ACT_DISABLE) {
		d->disabled[wq] = true;
		lose(d, wq);
	}
	if (r && r->act == ACT_FULL)
		d->script.full = r->window ? r->window : 1;
	return r;
}

static bool room(const struct softdsa *d, unsigned wq)
{
	const struct softdsa_wq *q = &d->conf.wq[wq];

	return d->nr < SOFT_QUEUED && d->used[wq] < (q->shared ? q->threshold : q->size);
}

/* Is there no room for a user's operation, or does the script say so? */
static bool is_full(struct softdsa *d, unsigned wq)
{
	if (d->script.full) {
		d->script.full--;
		return true;
	}
	return !room(d, wq);
}

static void judge_way(struct softdsa *d, unsigned wq, bool shared)
{
	if (d->conf.wq[wq].shared != shared)
		softdsa_complain(d, "the instruction of a %s queue", shared ? "shared" :
				 "dedicated");
	if (!d->users[wq])
		softdsa_complain(d, "a queue that is not open");
}

/*
 * Posted: whatever becomes of it, nobody is told. A script cannot make a
 * dedicated queue full, since credits are its user's own.
 */
static void posted(struct softdsa *d, unsigned wq, const struct dsa_hw_desc *desc)
{
	const struct soft_rule *r = before(d, wq, desc);

	d->script.full = 0;
	if (stopped(d, wq)) {
		d->stats.lost++;
		return;
	}
	if (is_full(d, wq)) {
		softdsa_complain(d, "dedicated queue %u overrun", wq);
		d->stats.lost++;
		return;
	}
	take(d, wq, desc, r);
}

static bool tried(struct softdsa *d, unsigned wq, const struct dsa_hw_desc *desc)
{
	const struct soft_rule *r = before(d, wq, desc);

	if (stopped(d, wq) || is_full(d, wq)) {
		d->stats.full++;
		return false;
	}
	take(d, wq, desc, r);
	return true;
}

void softdsa_movdir64b(struct softdsa *d, unsigned wq, const void *desc)
{
	struct dsa_hw_desc copy;

	memcpy(&copy, desc, sizeof(copy));
	pthread_mutex_lock(&d->lock);
	judge_way(d, wq, false);
	posted(d, wq, &copy);
	pthread_mutex_unlock(&d->lock);
}

bool softdsa_enqcmd(struct softdsa *d, unsigned wq, const void *desc)
{
	struct dsa_hw_desc copy;
	bool ok;

	memcpy(&copy, desc, sizeof(copy));
	pthread_mutex_lock(&d->lock);
	judge_way(d, wq, true);
	ok = tried(d, wq, &copy);
	pthread_mutex_unlock(&d->lock);
	return !ok;
}

/* One descriptor by write(2): the kernel posts it, or tries. */
static int by_write(struct softdsa *d, unsigned wq, const void *desc)
{
	struct dsa_hw_desc copy;

	memcpy(&copy, desc, sizeof(copy));
	judge_way(d, wq, d->conf.wq[wq].shared);
	if (copy.completion_addr % SOFT_RECORD)
		return -EINVAL;
	if (copy.opcode == DSA_OPCODE_BATCH && !d->conf.batch_by_write) {
		softdsa_complain(d, "a batch by write(2)");
		return -EINVAL;
	}
	if (d->conf.wq[wq].shared)
		return tried(d, wq, &copy) ? 0 : -EAGAIN;
	posted(d, wq, &copy);
	return 0;
}

ssize_t softdsa_write(struct softdsa *d, unsigned wq, const void *desc, size_t len)
{
	const uint8_t *p = desc;
	size_t done = 0;
	int err = len && len % SOFT_DESC == 0 ? 0 : -EINVAL;

	pthread_mutex_lock(&d->lock);
	while (!err && done < len) {
		err = by_write(d, wq, p + done);
		done += err ? 0 : SOFT_DESC;
	}
	pthread_mutex_unlock(&d->lock);
	return done ? (ssize_t)done : err;
}

/* ---- execution ----------------------------------------------------------------------- */

/* May it be executed now? A drain waits for all before it in its queue. */
static bool ready(struct softdsa *d, unsigned i, uint64_t now)
{
	const struct soft_entry *e = &d->entry[i];

	if (e->stuck || e->due > now || stopped(d, e->wq))
		return false;
	for (unsigned k = 0; k < i && e->op.d.opcode == DSA_OPCODE_DRAIN; k++)
		if (d->entry[k].wq == e->wq)
			return false;
	return true;
}

bool softdsa_step(struct softdsa *d)
{
	unsigned window, found = SOFT_QUEUED, nr = 0;
	uint64_t now;

	pthread_mutex_lock(&d->lock);
	now = soft_now(d);
	window = d->script.window ? d->script.window : 1;
	for (unsigned i = 0; i < d->nr && nr < window; i++)
		if (ready(d, i, now)) {
			found = i;
			nr++;
		}
	if (nr) {
		soft_execute(d, &d->entry[found], false);
		drop(d, found);
	}
	pthread_mutex_unlock(&d->lock);
	return nr;
}

uint64_t softdsa_next(struct softdsa *d)
{
	uint64_t next = UINT64_MAX;

	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < d->nr; i++)
		if (!d->entry[i].stuck)
			next = min64(next, d->entry[i].due);
	pthread_mutex_unlock(&d->lock);
	return next;
}

bool softdsa_room(struct softdsa *d, unsigned wq)
{
	bool is;

	pthread_mutex_lock(&d->lock);
	is = room(d, wq);
	pthread_mutex_unlock(&d->lock);
	return is;
}

unsigned softdsa_queued(struct softdsa *d)
{
	unsigned nr;

	pthread_mutex_lock(&d->lock);
	nr = d->nr;
	pthread_mutex_unlock(&d->lock);
	return nr;
}
