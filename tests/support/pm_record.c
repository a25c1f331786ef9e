/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_record.c - the recording backend
 *
 * Every call is logged and carried out under one lock, so the log's order is
 * the order in which memory changed. The data of a store are kept with it; of
 * a window they are known only at its end, where the whole window is kept,
 * because a foreign writer that failed half-way may have gone further than it
 * said.
 *
 * A pool opened with PM_RDONLY is passed through unrecorded: its stores go to
 * a copy.
 */
#include "support/pm_record.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/pm_mem.h"
#include "support/pm_record_int.h"
#include "support/site.h"

/* The macros of site.h are for the program, not for us. */
#undef pm_flush
#undef pm_fence
#undef pm_copy
#undef pm_copy_zero

#define CHUNK_SIZE	(1u << 20)

struct rec_chunk {
	struct rec_chunk *next;
	size_t used, size;
	uint8_t bytes[];
};

struct rec_open {		/* one pm_open() */
	struct pm_rec *rec;
	struct pm_map inner;
	bool silent;		/* read-only: not recorded */
};

_Thread_local const struct pm_site *pm_site_now;

/* ---- the log ----------------------------------------------------------- */

static _Thread_local unsigned mine;	/* this thread's number + 1 */

void rec_thread(unsigned nr)
{
	mine = nr + 1;
}

static unsigned my_number(void)
{
	static _Atomic unsigned threads;

	if (!mine)
		mine = atomic_fetch_add(&threads, 1) + 1;
	return mine - 1;
}

static const uint8_t *keep(struct pm_rec *rec, const void *src, size_t len)
{
	struct rec_chunk *c = rec->chunk;
	uint8_t *to;

	if (!c || len > c->size - c->used) {
		size_t size = len > CHUNK_SIZE ? len : CHUNK_SIZE;

		c = malloc(sizeof(*c) + size);
		assert(c);
		c->next = rec->chunk;
		c->size = size;
		c->used = 0;
		rec->chunk = c;
	}
	to = c->bytes + c->used;
	memcpy(to, src, len);
	c->used += len;
	return to;
}

static struct rec_event *append(struct pm_rec *rec, enum rec_kind kind,
				uint64_t off, uint64_t len)
{
	struct rec_event *e;

	if (!rec->logging)
		return NULL;
	if (rec->nr == rec->room) {
		rec->room = rec->room ? rec->room * 2 : 4096;
		rec->event = realloc(rec->event, rec->room * sizeof(*e));
		assert(rec->event);
	}
	e = &rec->event[rec->nr++];
	memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->thread = my_number();
	e->off = off;
	e->len = len;
	return e;
}

/* One piece of memory is kept for the next log. */
static void drop_log(struct pm_rec *rec)
{
	while (rec->chunk && rec->chunk->next) {
		struct rec_chunk *next = rec->chunk->next;

		free(rec->chunk);
		rec->chunk = next;
	}
	if (rec->chunk)
		rec->chunk->used = 0;
	rec->nr = 0;
}

static void snapshot(struct pm_rec *rec)
{
	assert(!rec->borrowed);
	drop_log(rec);
	if (!rec->own_start)
		rec->own_start = pm_mem_map(rec->size);
	assert(rec->own_start);
	memcpy(rec->own_start, rec->base, rec->size);
	rec->start = rec->own_start;
}

struct pm_rec *rec_new_on(const struct pm_backend *inner, void *inner_arg,
			  const uint8_t *start)
{
	struct pm_rec *rec = rec_new(inner, inner_arg);

	rec->start = start;
	rec->borrowed = true;
	return rec;
}

void rec_restart_on(struct pm_rec *rec, const uint8_t *start)
{
	pthread_mutex_lock(&rec->lock);
	assert(rec->borrowed);
	drop_log(rec);
	rec->start = start;
	rec->logging = true;
	pthread_mutex_unlock(&rec->lock);
}

void rec_continue(struct pm_rec *rec, const struct pm_rec *from, size_t upto)
{
	assert(rec->borrowed && upto <= from->nr);
	drop_log(rec);
	if (rec->room < upto) {
		rec->room = upto;
		rec->event = realloc(rec->event, rec->room * sizeof(*rec->event));
		assert(rec->event);
	}
	if (upto)
		memcpy(rec->event, from->event, upto * sizeof(*rec->event));
	rec->nr = upto;
	rec->start = from->start;
	/* a window that was still open then has no end any more */
	for (size_t i = 0; i < upto; i++)
		if (rec->event[i].kind == REC_WINDOW && rec->event[i].peer >= upto)
			rec->event[i].peer = 0;
}

void rec_mutate(struct pm_rec *rec, const struct pm_site *site)
{
	rec->mutant = site;
}

void rec_hook(struct pm_rec *rec, void (*fn)(void *arg, enum rec_kind kind), void *arg)
{
	rec->hook = fn;
	rec->hook_arg = arg;
}

struct pm_rec *rec_new(const struct pm_backend *inner, void *inner_arg)
{
	struct pm_rec *rec = calloc(1, sizeof(*rec));

	assert(rec);
	rec->inner = inner;
	rec->inner_arg = inner_arg;
	rec->logging = true;
	pthread_mutex_init(&rec->lock, NULL);
	return rec;
}

void rec_free(struct pm_rec *rec)
{
	if (!rec)
		return;
	drop_log(rec);
	free(rec->chunk);
	free(rec->event);
	pm_mem_unmap(rec->own_start, rec->size);
	pthread_mutex_destroy(&rec->lock);
	free(rec);
}

size_t rec_now(struct pm_rec *rec)
{
	size_t n;

	pthread_mutex_lock(&rec->lock);
	n = rec->nr;
	pthread_mutex_unlock(&rec->lock);
	return n;
}

const struct rec_event *rec_at(struct pm_rec *rec, size_t i)
{
	assert(i < rec->nr);
	return &rec->event[i];
}

size_t rec_mark_nr(struct pm_rec *rec, const char *tag, unsigned nr)
{
	struct rec_event *e;
	size_t i;

	pthread_mutex_lock(&rec->lock);
	i = rec->nr;
	e = append(rec, REC_MARK, 0, 0);
	if (e) {
		e->tag = tag;
		e->nr_tag = nr;
	}
	pthread_mutex_unlock(&rec->lock);
	return i;
}

size_t rec_mark(struct pm_rec *rec, const char *tag)
{
	return rec_mark_nr(rec, tag, 0);
}

void rec_death(struct pm_rec *rec)
{
	pthread_mutex_lock(&rec->lock);
	append(rec, REC_DEATH, 0, 0);
	pthread_mutex_unlock(&rec->lock);
}

void rec_restart(struct pm_rec *rec)
{
	rec_log(rec, true);
}

void rec_log(struct pm_rec *rec, bool on)
{
	pthread_mutex_lock(&rec->lock);
	if (on && rec->base)
		snapshot(rec);
	else
		drop_log(rec);
	rec->logging = on;
	pthread_mutex_unlock(&rec->lock);
}

void rec_fail_fence(struct pm_rec *rec, unsigned nth)
{
	pthread_mutex_lock(&rec->lock);
	rec->fail_in = nth;
	rec->failing = false;
	pthread_mutex_unlock(&rec->lock);
}

void rec_counts(struct pm_rec *rec, struct rec_counts *out)
{
	pthread_mutex_lock(&rec->lock);
	*out = rec->counts;
	pthread_mutex_unlock(&rec->lock);
}

void rec_counts_reset(struct pm_rec *rec)
{
	pthread_mutex_lock(&rec->lock);
	memset(&rec->counts, 0, sizeof(rec->counts));
	pthread_mutex_unlock(&rec->lock);
}

void rec_print(struct pm_rec *rec, size_t from, size_t to, FILE *out)
{
	static const char *const name[] = {
		[REC_STORE] = "store", [REC_ZERO] = "zero", [REC_BITS] = "bits",
		[REC_COPY] = "copy", [REC_COPY_ZERO] = "copy_zero",
		[REC_WINDOW] = "window", [REC_WINDOW_DONE] = "window_done",
		[REC_FLUSH] = "flush", [REC_FENCE] = "fence", [REC_MARK] = "mark",
		[REC_DEATH] = "death",
	};

	for (size_t i = from; i < to && i < rec->nr; i++) {
		const struct rec_event *e = &rec->event[i];

		fprintf(out, "%6zu T%u %-11s", i, e->thread, name[e->kind]);
		if (e->kind == REC_MARK)
			fprintf(out, " %s %u", e->tag, e->nr_tag);
		else if (e->kind == REC_FENCE)
			fprintf(out, "%s", e->failed ? " failed" : "");
		else if (e->kind != REC_DEATH)
			fprintf(out, " %#llx +%llu", (unsigned long long)e->off,
				(unsigned long long)e->len);
		if (e->kind == REC_BITS)
			fprintf(out, " %s %u from %u", e->set ? "set" : "clear",
				e->nr, e->bit);
		if (e->site)
			fprintf(out, "  (%s)", e->site->func);
		fputc('\n', out);
	}
}

/* ---- the backend ------------------------------------------------------- */

/* The recorder of a map, locked; NULL when this open is not recorded. */
static struct pm_rec *enter(const struct pm_map *m, enum rec_kind kind)
{
	struct rec_open *o = m->priv;

	if (o->silent)
		return NULL;
	if (o->rec->hook)
		o->rec->hook(o->rec->hook_arg, kind);
	pthread_mutex_lock(&o->rec->lock);
	return o->rec;
}

/* Takes the note of who calls. True: that line is missing (a mutation). */
static bool take_site(struct pm_rec *rec, const struct pm_site **site)
{
	*site = pm_site_now;
	pm_site_now = NULL;
	return rec && *site && rec->mutant == *site;
}

static void say_site(struct rec_event *e, const struct pm_site *site)
{
	if (e)
		e->site = site;
}

static void leave(struct pm_rec *rec)
{
	if (rec)
		pthread_mutex_unlock(&rec->lock);
}

static struct pm_map *inner_map(const struct pm_map *m)
{
	struct rec_open *o = m->priv;

	return &o->inner;
}

static const struct pm_backend *inner(const struct pm_map *m)
{
	struct rec_open *o = m->priv;

	return o->rec->inner;
}

static int record_open(struct pm_map *m, const char *path, const struct pm_config *cfg)
{
	struct pm_rec *rec = cfg->backend_arg;
	struct pm_config below = *cfg;
	struct rec_open *o;
	int err;

	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	below.backend = rec->inner;
	below.backend_arg = rec->inner_arg;
	o->rec = rec;
	o->silent = cfg->flags & PM_RDONLY;
	o->inner = *m;
	err = rec->inner->open(&o->inner, path, &below);
	if (err) {
		free(o);
		return err;
	}
	*m = o->inner;
	m->priv = o;
	if (o->silent)
		return 0;
	rec->base = m->base;
	rec->size = m->size;
	rec->granularity = m->granularity;
	if (!rec->start && rec->logging && !rec->borrowed)
		snapshot(rec);
	rec_mark(rec, "open");
	return 0;
}

static void record_close(struct pm_map *m)
{
	struct rec_open *o = m->priv;

	if (!o->silent)
		rec_mark(o->rec, "close");
	o->rec->inner->close(&o->inner);
	free(o);
}

static void count_store(struct pm_rec *rec, uint64_t len)
{
	rec->counts.stores++;
	rec->counts.stored_bytes += len;
}

static void count_copy(struct pm_rec *rec, uint64_t len)
{
	rec->counts.copies++;
	rec->counts.copied_bytes += len;
}

static void record_write(struct pm_map *m, uint64_t off, const void *src, size_t len)
{
	struct pm_rec *rec = enter(m, REC_STORE);

	if (rec && len) {
		struct rec_event *e = append(rec, REC_STORE, off, len);

		count_store(rec, len);
		if (e)
			e->data = keep(rec, src, len);
	}
	inner(m)->write(inner_map(m), off, src, len);
	leave(rec);
}

static void record_zero(struct pm_map *m, uint64_t off, size_t len)
{
	struct pm_rec *rec = enter(m, REC_ZERO);

	if (rec && len) {
		append(rec, REC_ZERO, off, len);
		count_store(rec, len);
	}
	inner(m)->zero(inner_map(m), off, len);
	leave(rec);
}

static void record_bits(struct pm_map *m, uint64_t off, uint32_t bit, uint32_t nr, bool set)
{
	uint64_t first = bit / 64 * 8, end = align_up((uint64_t)bit + nr, 64) / 8;
	struct pm_rec *rec = enter(m, REC_BITS);

	if (rec) {
		struct rec_event *e = append(rec, REC_BITS, off + first, end - first);

		count_store(rec, end - first);
		if (e) {
			e->bit = bit % 64;
			e->nr = nr;
			e->set = set;
		}
	}
	inner(m)->bits(inner_map(m), off, bit, nr, set);
	leave(rec);
}

static void record_copy(struct pm_map *m, uint64_t off, const void *src, size_t len)
{
	struct pm_rec *rec = enter(m, REC_COPY);
	const struct pm_site *site;
	bool missing = take_site(rec, &site);

	if (rec && len) {
		struct rec_event *e = append(rec, missing ? REC_STORE : REC_COPY, off, len);

		count_copy(rec, len);
		say_site(e, site);
		if (e)
			e->data = keep(rec, src, len);
	}
	inner(m)->copy(inner_map(m), off, src, len);
	leave(rec);
}

static void record_copy_zero(struct pm_map *m, uint64_t off, size_t len)
{
	struct pm_rec *rec = enter(m, REC_COPY_ZERO);
	const struct pm_site *site;
	bool missing = take_site(rec, &site);

	if (rec && len) {
		say_site(append(rec, missing ? REC_ZERO : REC_COPY_ZERO, off, len), site);
		count_copy(rec, len);
	}
	inner(m)->copy_zero(inner_map(m), off, len);
	leave(rec);
}

static void record_window(struct pm_map *m, uint64_t off, size_t len)
{
	struct pm_rec *rec = enter(m, REC_WINDOW);

	if (rec) {
		append(rec, REC_WINDOW, off, len);
		rec->counts.windows++;
	}
	inner(m)->window(inner_map(m), off, len);
	leave(rec);
}

/* The youngest window at off that is still open; SIZE_MAX: a bug above. */
static size_t open_window(const struct pm_rec *rec, uint64_t off)
{
	for (size_t i = rec->nr; i-- > 0;) {
		const struct rec_event *e = &rec->event[i];

		if (e->kind == REC_WINDOW && e->off == off && !e->peer)
			return i;
	}
	return SIZE_MAX;
}

static void record_window_done(struct pm_map *m, uint64_t off, size_t len)
{
	struct pm_rec *rec = enter(m, REC_WINDOW_DONE);

	if (rec && rec->logging) {
		size_t start = open_window(rec, off);
		struct rec_event *e;

		assert(start != SIZE_MAX && len <= rec->event[start].len);
		e = append(rec, REC_WINDOW_DONE, off, len);
		e->peer = start;
		e->data = keep(rec, m->base + off, rec->event[start].len);
		rec->event[start].peer = (size_t)(e - rec->event);
	}
	inner(m)->window_done(inner_map(m), off, len);
	leave(rec);
}

static void record_flush(struct pm_map *m, uint64_t off, size_t len)
{
	struct pm_rec *rec = enter(m, REC_FLUSH);
	const struct pm_site *site;

	if (take_site(rec, &site)) {
		leave(rec);
		return;
	}
	if (rec) {
		say_site(append(rec, REC_FLUSH, off, len), site);
		rec->counts.flushes++;
		rec->counts.flushed_bytes += len;
	}
	inner(m)->flush(inner_map(m), off, len);
	leave(rec);
}

static int record_fence(struct pm_map *m)
{
	struct pm_rec *rec = enter(m, REC_FENCE);
	const struct pm_site *site;
	int err;

	if (take_site(rec, &site)) {
		leave(rec);
		return 0;
	}
	if (rec) {
		struct rec_event *e = append(rec, REC_FENCE, 0, 0);

		rec->counts.fences++;
		if (rec->fail_in && --rec->fail_in == 0)
			rec->failing = true;
		say_site(e, site);
		if (e)
			e->failed = rec->failing;
	}
	err = rec && rec->failing ? -EIO : inner(m)->fence(inner_map(m));
	leave(rec);
	return err;
}

const struct pm_backend pm_backend_record = {
	.name		= "record",
	.open		= record_open,
	.close		= record_close,
	.write		= record_write,
	.zero		= record_zero,
	.bits		= record_bits,
	.copy		= record_copy,
	.copy_zero	= record_copy_zero,
	.window		= record_window,
	.window_done	= record_window_done,
	.flush		= record_flush,
	.fence		= record_fence,
};
