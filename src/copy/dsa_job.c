/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_job.c - a thread's jobs: split, submitted, reaped, finished by the CPU
 *
 * A job takes a run of slots; a slot is a descriptor, its completion record and
 * what we know about it. First come the descriptors that go to the queue (batches,
 * then copies), then the members of the batches.
 *
 *   J1  The epoch is read before a record's status, both with acquire: a record that
 *       is empty after a drain stays empty, and nobody stores to the blocks. (Q2)
 *   J2  Members of a batch are looked at when the batch has its record, which the
 *       device writes after theirs; a member without one was not carried out.
 *   J3  The CPU copies what is missing when all of the job's slots are done and its
 *       window is closed: before, a device may be storing beside it.
 *   J4  Fault marks cover everything from before the submission: a device stores
 *       to the page that stands in for a bad one as readily as a CPU does, and
 *       nothing else would tell.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count.h"
#include "copy/dsa_int.h"
#include "copy/dsa_policy.h"
#include "pm/pm.h"

#define LINE		64u
#define PAGE		4096u
#define COUNTED		16384u		/* shorter copies are over before they count */
#define TYPICAL		(1u << 20)	/* bytes of a job that slots are provided for */

struct slot {
	struct dsa_job *job;	/* NULL: free */
	uint32_t at, len;	/* of the job's middle; len 0: a batch */
	uint32_t done;		/* bytes that the device copied, from the front */
	uint16_t members;	/* a batch: so many, from `first` on */
	uint16_t first;
	unsigned epoch;		/* when it was submitted */
	bool open;		/* the device may have it */
	bool direct;		/* it was put into the queue itself: has a credit */
	bool again;		/* submitted once more after a page fault */
};

struct dsa_port {
	struct dsa *d;
	struct dsa_queue *q;
	unsigned nr_slots;
	struct dsa_desc *desc;		/* (pages) */
	struct dsa_record *rec;		/* (pages), side by side: few lines to look at */
	struct slot *slot;
	size_t pages_size;
	unsigned max_jobs, inflight, waiting;
	bool serving;			/* counted as a thread that copies or flushes */
	struct dsa_job *oldest, *newest;
	uint64_t look_at;		/* not before: a look at sysfs */
};

/* ---- ports ------------------------------------------------------------------- */

struct dsa_port *dsa_port_open(struct dsa *d, unsigned max_jobs)
{
	struct dsa_port *p = calloc(1, sizeof(*p));
	struct dsa_limits l;
	uint64_t each;
	char *pages;

	if (!p)
		return NULL;
	p->d = d;
	p->q = dsa_queue_get(d);
	p->max_jobs = max_jobs;
	dsa_queue_limits(p->q, &l);
	each = DIV_UP(TYPICAL, l.max_transfer) + (l.max_transfer < TYPICAL);
	p->nr_slots = (unsigned)min64(max64(max_jobs * each, 4), DSA_SLOTS_MAX);
	p->pages_size = align_up(p->nr_slots * (sizeof(*p->desc) + sizeof(*p->rec)), PAGE);
	pages = dsa_pages(p->pages_size);
	p->slot = calloc(p->nr_slots, sizeof(*p->slot));
	if (!pages || !p->slot) {
		dsa_pages_free(pages, p->pages_size);
		dsa_queue_leave(d, p->q);
		free(p->slot);
		free(p);
		return NULL;
	}
	p->desc = (void *)pages;
	p->rec = (void *)(pages + p->nr_slots * sizeof(*p->desc));
	return p;
}

/* From a refusal, or a job handed out, until the thread is back: load for the others. */
static void serves(struct dsa_port *p, bool yes)
{
	if (p->serving == yes)
		return;
	p->serving = yes;
	if (yes)
		atomic_fetch_add_explicit(&p->d->serving, 1, memory_order_relaxed);
	else
		atomic_fetch_sub_explicit(&p->d->serving, 1, memory_order_relaxed);
}

void dsa_port_close(struct dsa_port *p)
{
	if (!p)
		return;
	assert(!p->inflight);
	serves(p, false);
	dsa_queue_leave(p->d, p->q);
	dsa_pages_free(p->desc, p->pages_size);
	free(p->slot);
	free(p);
}

void dsa_port_waiting(struct dsa_port *p, unsigned nr)
{
	p->waiting = nr;
}

unsigned dsa_inflight(const struct dsa_port *p)
{
	return p->inflight;
}

static uint64_t now(const struct dsa_port *p)
{
	return p->d->sys.now(p->d->sys.arg);
}

static void add(struct dsa_port *p, enum counter id, uint64_t n)
{
	count_add(pm_counters(p->d->pm), id, n);
}

/* ---- may it be submitted? --------------------------------------------------------- */

static bool refuse(struct dsa_port *p, enum dsa_reason why)
{
	dsa_count(p->d, why);
	return false;
}

bool dsa_wants(struct dsa_port *p, size_t len)
{
	struct dsa *d = p->d;

	serves(p, false);
	if (len < d->min || len < 2 * LINE)
		return refuse(p, DSA_WHY_SMALL);
	if (!dsa_queue_ready(p->q))
		return refuse(p, DSA_WHY_OFF);
	if (p->inflight < p->max_jobs && dsa_policy_says(d, len, p->inflight, p->waiting))
		return true;
	serves(p, len >= COUNTED);
	return refuse(p, p->inflight < p->max_jobs ? DSA_WHY_POLICY : DSA_WHY_FULL);
}

/* ---- a job becomes descriptors ------------------------------------------------------ */

struct plan {
	struct dsa_limits lim;
	unsigned copies;	/* descriptors that copy */
	unsigned batches, members;	/* of those: in batches; max_batch each but the last */
	unsigned direct;	/* for the queue: batches, and copies that are in none */
};

/* Whole lines of the destination are the device's (Q1). */
static void find_middle(struct dsa_job *j)
{
	uint64_t from = align_up(j->off, LINE), to = align_down(j->off + j->len, LINE);

	j->mid = from;
	j->mid_len = to > from ? to - from : 0;
}

static void make_plan(struct plan *pl, const struct dsa_job *j)
{
	unsigned most = pl->lim.max_batch;

	pl->copies = (unsigned)DIV_UP(j->mid_len, pl->lim.max_transfer);
	pl->batches = pl->members = 0;
	if (most >= DSA_BATCH_MIN && pl->copies >= DSA_BATCH_MIN) {
		pl->members = pl->copies;
		if (pl->copies % most && pl->copies % most < DSA_BATCH_MIN)
			pl->members -= pl->copies % most;
		pl->batches = DIV_UP(pl->members, most);
	}
	pl->direct = pl->batches + pl->copies - pl->members;
}

/* nr slots side by side, or nr_slots. */
static unsigned find_run(const struct dsa_port *p, unsigned nr)
{
	unsigned free = 0;

	for (unsigned i = 0; i < p->nr_slots; i++) {
		free = p->slot[i].job ? 0 : free + 1;
		if (free == nr)
			return i + 1 - nr;
	}
	return p->nr_slots;
}

/* A descriptor with an empty record. */
static void describe(struct dsa_port *p, unsigned i, uint32_t op_flags, const void *src,
		     const void *dst, uint32_t size)
{
	p->rec[i] = (struct dsa_record){ .status = DSA_ST_NONE };
	p->desc[i] = (struct dsa_desc){
		.op_flags = op_flags | DSA_FLAG_CRAV | DSA_FLAG_RCR,
		.record = (uintptr_t)&p->rec[i],
		.src = (uintptr_t)src, .dst = (uintptr_t)dst, .size = size,
	};
}

/* The copy of bytes [at, at + len) of the middle. */
static void describe_copy(struct dsa_port *p, unsigned i, struct dsa_job *j, uint64_t at,
			  uint64_t len)
{
	uint64_t off = j->mid + at;

	describe(p, i, DSA_OP_FLAGS(DSA_OP_MEMMOVE, p->d->readback ? DSA_FLAG_DRDBK : 0),
		 j->src + (off - j->off), pm_at(p->d->pm, off, len), (uint32_t)len);
}

static void fill_slots(struct dsa_port *p, struct dsa_job *j, const struct plan *pl)
{
	unsigned member = j->first + pl->direct, most = pl->lim.max_batch, left = pl->members;
	uint64_t at = 0;

	for (unsigned i = j->first; i < j->first + j->slots; i++) {
		struct slot *s = &p->slot[i];

		*s = (struct slot){ .job = j, .epoch = pl->lim.epoch, .open = true,
				    .direct = i < j->first + pl->direct };
		if (i < j->first + pl->batches) {
			s->first = (uint16_t)member;
			s->members = (uint16_t)min64(left, most);
			describe(p, i, DSA_OP_FLAGS(DSA_OP_BATCH, 0), &p->desc[member], NULL,
				 s->members);
			member += s->members;
			left -= s->members;
			continue;
		}
		s->at = (uint32_t)at;
		s->len = (uint32_t)min64(j->mid_len - at, pl->lim.max_transfer);
		describe_copy(p, i, j, at, s->len);
		at += s->len;
	}
}

/* ---- bytes by CPU -------------------------------------------------------------------- */

/* Leaves: stored. A bad page of the pool costs a fault mark, not the process. */
static void by_cpu(struct dsa_port *p, struct dsa_job *j, uint64_t off, uint64_t len)
{
	const uint8_t *src = j->src + (off - j->off);

	if (!len)
		return;
	pm_write(p->d->pm, off, src, len);
	j->by_cpu += len;
}

/* ---- submit ---------------------------------------------------------------------------- */

static void link_job(struct dsa_port *p, struct dsa_job *j)
{
	uint64_t n, max;

	j->next = NULL;
	j->prev = p->newest;
	*(p->newest ? &p->newest->next : &p->oldest) = j;
	p->newest = j;
	p->inflight++;
	atomic_fetch_add(&p->q->inflight, j->mid_len);
	n = atomic_fetch_add(&p->d->inflight, 1) + 1;
	max = atomic_load(&p->d->inflight_max);
	while (n > max && !atomic_compare_exchange_weak(&p->d->inflight_max, &max, n))
		;
}

static void unlink_job(struct dsa_port *p, struct dsa_job *j)
{
	*(j->prev ? &j->prev->next : &p->oldest) = j->next;
	*(j->next ? &j->next->prev : &p->newest) = j->prev;
	p->inflight--;
	atomic_fetch_sub(&p->q->inflight, j->mid_len);
	atomic_fetch_sub(&p->d->inflight, 1);
}

static void free_slots(struct dsa_port *p, const struct dsa_job *j)
{
	for (unsigned i = j->first; i < j->first + j->slots; i++)
		p->slot[i].job = NULL;
}

/* The slots that a queue, full now, has not taken: nobody will copy them (J3). */
static void close_rest(struct dsa_port *p, struct dsa_job *j, unsigned taken, unsigned direct)
{
	for (unsigned i = j->first + taken; i < j->first + direct; i++) {
		struct slot *s = &p->slot[i];

		for (unsigned m = s->first; m < s->first + s->members; m++) {
			p->slot[m].open = false;
			j->open--;
		}
		s->open = false;
		j->open--;
		dsa_count(p->d, DSA_WHY_FULL);
	}
}

/* 0, or -EAGAIN: nothing was taken. */
static int put(struct dsa_port *p, struct dsa_job *j, const struct plan *pl)
{
	struct pm *pm = p->d->pm;
	unsigned taken;

	j->mark = pm_fault_mark(pm);				/* J4 */
	pm_window(pm, j->mid, j->mid_len);
	taken = dsa_queue_put(p->q, pl->lim.epoch, &p->desc[j->first], pl->direct);
	if (!taken) {
		pm_window_done(pm, j->mid, 0);
		free_slots(p, j);
		dsa_count(p->d, DSA_WHY_FULL);
		if (atomic_load(&p->q->refused) >= DSA_REFUSED)
			dsa_queue_look(p->q, pl->lim.epoch);
		return -EAGAIN;
	}
	add(p, COUNT_DSA_DESCRIPTORS, taken);
	add(p, COUNT_DSA_BATCHES, min64(taken, pl->batches));
	close_rest(p, j, taken, pl->direct);
	return 0;
}

int dsa_submit(struct dsa_port *p, struct dsa_job *j)
{
	struct plan pl;

	if (!dsa_wants(p, j->len))
		return -EAGAIN;
	j->err = 0;
	j->by_device = j->by_cpu = 0;
	j->durable = false;
	find_middle(j);
	if (!dsa_queue_limits(p->q, &pl.lim))
		return dsa_count(p->d, DSA_WHY_OFF), -EAGAIN;
	make_plan(&pl, j);
	j->slots = j->open = pl.batches + pl.copies;
	j->first = find_run(p, j->slots);
	if (j->first == p->nr_slots || pl.direct > pl.lim.room)
		return dsa_count(p->d, DSA_WHY_FULL), -EAGAIN;	/* Q5 */
	fill_slots(p, j, &pl);
	if (put(p, j, &pl))
		return -EAGAIN;

	/* what is not whole lines, while the device copies the rest */
	by_cpu(p, j, j->off, j->mid - j->off);
	by_cpu(p, j, j->mid + j->mid_len, j->off + j->len - j->mid - j->mid_len);
	j->submitted = now(p);
	j->due = j->submitted + dsa_expect(p->d, j->mid_len);
	link_job(p, j);
	add(p, COUNT_DSA_JOBS, 1);
	return 0;
}

/* ---- what has become of a descriptor ------------------------------------------------------ */

/* Does the device have it no more? *status DSA_ST_NONE then: it never finished. */
static bool is_done(const struct dsa_port *p, unsigned i, uint8_t *status)
{
	bool drained = dsa_queue_epoch(p->q) != p->slot[i].epoch;	/* J1 */

	*status = __atomic_load_n(&p->rec[i].status, __ATOMIC_ACQUIRE);
	return *status || drained;
}

static void close_slot(struct dsa_port *p, struct slot *s)
{
	s->open = false;
	s->job->open--;
	if (s->direct)
		dsa_queue_got(p->q, s->epoch, 1);
}

/*
 * The pages are there now, if they can be had at all: once more, what is left. If it was
 * a member of a batch, the batch is done, so nobody reads the old descriptor.
 */
static bool try_rest(struct dsa_port *p, unsigned i, bool write)
{
	struct slot *s = &p->slot[i];
	uint64_t off = s->job->mid + s->at + s->done, rest = s->len - s->done;
	const volatile uint8_t *src = s->job->src + (off - s->job->off);
	struct dsa_limits lim;

	if (s->again || rest < DSA_AGAIN_MIN || !dsa_queue_limits(p->q, &lim) ||
	    rest > lim.max_transfer)
		return false;
	if (write && pm_populate(p->d->pm, off, rest))
		return false;
	for (uint64_t at = 0; !write && at < rest; at += PAGE)
		(void)src[at];
	describe_copy(p, i, s->job, s->at + s->done, rest);
	if (!dsa_queue_put(p->q, lim.epoch, &p->desc[i], 1))
		return false;
	add(p, COUNT_DSA_DESCRIPTORS, 1);
	s->again = s->direct = s->open = true;
	s->epoch = lim.epoch;
	s->job->open++;
	return true;
}

static void page_fault(struct dsa_port *p, unsigned i, uint8_t status)
{
	struct slot *s = &p->slot[i];
	const struct dsa_record *r = &p->rec[i];
	unsigned epoch = s->epoch;

	/* from the end on (result 1) is how overlapping places are copied; ours never overlap */
	if (!r->result && r->completed <= s->len - s->done)
		s->done += r->completed;
	close_slot(p, s);
	/* the first to come to a page meets a fault, and many come at once: no reason to go off */
	if (try_rest(p, i, status & DSA_STATUS_WRITE))
		return;
	dsa_count(p->d, DSA_WHY_FAULT);
	if (atomic_fetch_add(&p->q->faults, 1) + 1 >= DSA_FAULTS)
		dsa_queue_off(p->q, epoch, DSA_WHY_FAULT);
}

/* A copy is done with. lost: why, if it has no record. */
static void copy_done(struct dsa_port *p, unsigned i, uint8_t status, enum dsa_reason lost)
{
	struct slot *s = &p->slot[i];
	unsigned epoch = s->epoch;

	switch (DSA_STATUS(status)) {
	case DSA_ST_SUCCESS:
		s->done = s->len;
		atomic_store_explicit(&p->q->faults, 0, memory_order_relaxed);
		close_slot(p, s);
		break;
	case DSA_ST_FAULT:
		page_fault(p, i, status);
		break;
	case DSA_ST_NONE:
		close_slot(p, s);
		dsa_count(p->d, lost);
		break;
	default:						/* Q3 */
		close_slot(p, s);
		dsa_count(p->d, DSA_WHY_STATUS);
		dsa_queue_off(p->q, epoch, DSA_WHY_STATUS);
	}
}

/* A batch is done with, so its members are. J2 */
static void batch_done(struct dsa_port *p, unsigned i, uint8_t status)
{
	struct slot *s = &p->slot[i];
	unsigned code = DSA_STATUS(status), epoch = s->epoch;
	enum dsa_reason lost = code == DSA_ST_NONE ? (enum dsa_reason)atomic_load(&p->q->why) :
			       code == DSA_ST_BATCH_FAULT ? DSA_WHY_FAULT : DSA_WHY_STATUS;

	close_slot(p, s);
	for (unsigned m = s->first; m < s->first + s->members; m++)
		copy_done(p, m, __atomic_load_n(&p->rec[m].status, __ATOMIC_ACQUIRE), lost);
	switch (code) {
	case DSA_ST_SUCCESS:
	case DSA_ST_BATCH_FAIL:
	case DSA_ST_BATCH_FAULT:
	case DSA_ST_NONE:
		break;
	default:						/* Q3 */
		dsa_queue_off(p->q, epoch, DSA_WHY_STATUS);
	}
}

static void poll_job(struct dsa_port *p, struct dsa_job *j)
{
	uint8_t status;

	for (unsigned i = j->first; i < j->first + j->slots; i++) {
		struct slot *s = &p->slot[i];

		/* the members of an open batch are not looked at: they are not direct */
		if (!s->open || !s->direct || !is_done(p, i, &status))
			continue;
		if (s->members)
			batch_done(p, i, status);
		else
			copy_done(p, i, status, (enum dsa_reason)atomic_load(&p->q->why));
	}
}

/* ---- reap ------------------------------------------------------------------------------------ */

/* Every slot is closed. */
static void finish(struct dsa_port *p, struct dsa_job *j)
{
	struct pm *pm = p->d->pm;
	bool faulted = false;

	pm_window_done(pm, j->mid, j->mid_len);
	for (unsigned i = j->first; i < j->first + j->slots; i++) {
		const struct slot *s = &p->slot[i];

		j->by_device += s->done;
		by_cpu(p, j, j->mid + s->at + s->done, s->len - s->done);	/* J3 */
		/* what came before a page fault may not have been read back */
		faulted |= s->again;
	}
	j->durable = p->d->readback && !j->by_cpu && !faulted;
	if (pm_faulted(pm, j->mark)) {				/* J4 */
		dsa_count(p->d, DSA_WHY_MEDIUM);
		j->err = -EIO;
		j->durable = false;
	}
	add(p, COUNT_DSA_DEVICE, j->by_device);
	add(p, COUNT_DSA_CPU, j->by_cpu);
	free_slots(p, j);
	unlink_job(p, j);
}

/* Nothing has come back: has anything gone wrong? Q4 */
static void watch(struct dsa_port *p)
{
	const struct dsa_job *j = p->oldest;
	uint64_t limit = p->d->sys.timeout ? p->d->sys.timeout : DSA_TIMEOUT, t = now(p);
	unsigned i = j->first;

	while (!p->slot[i].open)
		i++;
	if (t - j->submitted >= limit) {
		dsa_queue_off(p->q, p->slot[i].epoch, DSA_WHY_TIMEOUT);
	} else if (t >= max64(p->look_at, j->due + DSA_LOOK)) {
		p->look_at = t + DSA_LOOK;
		dsa_queue_look(p->q, p->slot[i].epoch);
	}
}

struct dsa_job *dsa_reap(struct dsa_port *p)
{
	serves(p, false);
	/* twice: what the watch gave up is done then */
	for (unsigned turn = 0; turn < 2 && p->oldest; turn++) {
		for (struct dsa_job *j = p->oldest; j; j = j->next) {
			poll_job(p, j);
			if (!j->open) {
				finish(p, j);
				serves(p, j->len >= COUNTED);
				return j;
			}
		}
		if (!turn)
			watch(p);
	}
	return NULL;
}

uint64_t dsa_eta(const struct dsa_port *p)
{
	uint64_t t, nap, least = UINT64_MAX;

	if (!p->oldest)
		return least;
	t = now(p);
	for (const struct dsa_job *j = p->oldest; j; j = j->next) {
		nap = dsa_policy_nap(j->due > t ? j->due - t : 0, t > j->due ? t - j->due : 0);
		least = min64(least, nap);
	}
	return min64(least, DSA_LOOK / 2);
}
