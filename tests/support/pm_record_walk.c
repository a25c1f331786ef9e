/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_record_walk.c - replay a recorder's log and build crash images
 *
 * Two images go along: *stored*, what the program sees, and *durable*, what
 * no loss of power can take away. The difference is kept line by line as a
 * list of versions, newest first: the words a store changed and their new
 * values. A fence moves words from versions to the durable image (M1..M5 in
 * pm_record.h); everything still in a version is up to chance.
 *
 * Walking costs what the log costs; an image costs one copy of the pool and
 * a visit to each pending line.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/pm_mem.h"
#include "support/pm_record_int.h"

#define LINE	64u
#define PAGE	4096u
#define WORD	8u

struct version {
	uint32_t older;			/* number of the next version, 0: none */
	uint32_t event;			/* a flush from here on covers it */
	uint16_t thread;
	uint8_t mask;			/* words that it has */
	bool nt;			/* only its own thread's fence counts */
	uint8_t data[LINE];
};

struct range { uint64_t off, len; uint32_t event; };

struct flushes {			/* of one thread, since its last fence */
	struct range *range;
	size_t nr, room;
};

struct rec_walk {
	struct pm_rec *rec;
	size_t at;			/* next event */
	uint8_t *stored, *durable;
	uint32_t *head;			/* by line: newest version, 0: none */
	uint32_t *pos;			/* by line: where in pend */
	uint32_t *pend;			/* lines with versions */
	size_t nr_pend;
	struct version *ver;		/* [0] is not used */
	uint32_t nr_ver, room_ver, free_ver;
	struct flushes *by;		/* by thread */
	unsigned nr_by;
};

static void *must(void *p)
{
	assert(p);
	return p;
}

/* ---- versions ---------------------------------------------------------- */

static uint32_t take_version(struct rec_walk *w)
{
	uint32_t v = w->free_ver;

	if (v) {
		w->free_ver = w->ver[v].older;
		return v;
	}
	if (w->nr_ver == w->room_ver) {
		w->room_ver *= 2;
		w->ver = must(realloc(w->ver, w->room_ver * sizeof(*w->ver)));
	}
	return w->nr_ver++;
}

static void give_version(struct rec_walk *w, uint32_t v)
{
	w->ver[v].older = w->free_ver;
	w->free_ver = v;
}

static void now_pending(struct rec_walk *w, uint32_t line)
{
	w->pos[line] = (uint32_t)w->nr_pend;
	w->pend[w->nr_pend++] = line;
}

static void now_durable(struct rec_walk *w, uint32_t line)
{
	uint32_t last = w->pend[--w->nr_pend];

	w->pend[w->pos[line]] = last;
	w->pos[last] = w->pos[line];
}

/* Words of the line at `line` that [off, off + len) touches. */
static uint8_t words_of(uint64_t line, uint64_t off, uint64_t len)
{
	uint64_t from = max64(off, line), to = min64(off + len, line + LINE);
	unsigned first = (unsigned)(from - line) / WORD;
	unsigned last = (unsigned)(to - 1 - line) / WORD;

	return (uint8_t)((0xffu << first) & (0xffu >> (7 - last)));
}

/* The stored image has changed in [off, off + len): remember how. */
static void add_versions(struct rec_walk *w, const struct rec_event *e,
			 uint64_t off, uint64_t len, uint32_t event)
{
	bool nt = e->kind == REC_COPY || e->kind == REC_COPY_ZERO;

	for (uint64_t at = align_down(off, LINE); at < off + len; at += LINE) {
		uint32_t line = (uint32_t)(at / LINE), v = take_version(w);
		struct version *ver = &w->ver[v];

		ver->older = w->head[line];
		ver->event = event;
		ver->thread = (uint16_t)e->thread;
		ver->mask = words_of(at, off, len);
		ver->nt = nt;
		memcpy(ver->data, w->stored + at, LINE);
		if (!w->head[line])
			now_pending(w, line);
		w->head[line] = v;
	}
}

static void put_words(uint8_t *line, const uint8_t *data, uint8_t mask)
{
	for (unsigned i = 0; i < LINE / WORD; i++)
		if (mask & 1u << i)
			memcpy(line + i * WORD, data + i * WORD, WORD);
}

/*
 * A flush by `thread` at event `upto` has been fenced. The newest eligible
 * version of a word becomes durable; older ones can no longer arrive.
 */
static void promote(struct rec_walk *w, uint32_t line, uint32_t upto, unsigned thread)
{
	uint32_t *link = &w->head[line];
	uint8_t done = 0;

	while (*link) {
		uint32_t v = *link;
		struct version *ver = &w->ver[v];
		bool ours = ver->event <= upto && (!ver->nt || ver->thread == thread);

		ver->mask &= (uint8_t)~done;
		if (ours) {
			put_words(w->durable + (uint64_t)line * LINE, ver->data,
				  ver->mask);
			done |= ver->mask;
			ver->mask = 0;
		}
		if (ver->mask) {
			link = &ver->older;
			continue;
		}
		*link = ver->older;
		give_version(w, v);
	}
	if (!w->head[line])
		now_durable(w, line);
}

/* ---- events ------------------------------------------------------------ */

static struct flushes *flushes_of(struct rec_walk *w, unsigned thread)
{
	if (thread >= w->nr_by) {
		unsigned nr = thread + 1;

		w->by = must(realloc(w->by, nr * sizeof(*w->by)));
		memset(w->by + w->nr_by, 0, (nr - w->nr_by) * sizeof(*w->by));
		w->nr_by = nr;
	}
	return &w->by[thread];
}

static void add_flush(struct rec_walk *w, const struct rec_event *e, uint64_t off,
		      uint64_t len, uint32_t event)
{
	struct flushes *f = flushes_of(w, e->thread);

	if (w->rec->granularity == PM_GRAN_PAGE) {
		len = align_up(off + len, PAGE) - align_down(off, PAGE);
		off = align_down(off, PAGE);
		event = UINT32_MAX;	/* see do_fence */
	}
	if (f->nr == f->room) {
		f->room = f->room ? f->room * 2 : 64;
		f->range = must(realloc(f->range, f->room * sizeof(*f->range)));
	}
	f->range[f->nr++] = (struct range){ off, len, event };
}

/* Page granularity has no event of its own: msync takes what is there now. */
static void do_fence(struct rec_walk *w, const struct rec_event *e, uint32_t now)
{
	struct flushes *f = flushes_of(w, e->thread);

	if (e->failed)
		return;
	for (size_t i = 0; i < f->nr; i++) {
		uint64_t first = f->range[i].off / LINE;
		uint64_t end = DIV_UP(f->range[i].off + f->range[i].len, LINE);
		uint32_t upto = (uint32_t)min64(f->range[i].event, now);

		for (uint64_t line = first; line < end; line++)
			if (w->head[line])
				promote(w, (uint32_t)line, upto, e->thread);
	}
	f->nr = 0;
}

static void do_store(struct rec_walk *w, const struct rec_event *e, uint32_t event)
{
	uint8_t *to = w->stored + e->off;

	switch (e->kind) {
	case REC_BITS:
		pm_plain_bits(w->stored, e->off, e->bit, e->nr, e->set);
		break;
	case REC_ZERO:
	case REC_COPY_ZERO:
		memset(to, 0, e->len);
		break;
	default:
		memcpy(to, e->data, e->len);
	}
	add_versions(w, e, e->off, e->len, event);
	if (e->kind == REC_COPY || e->kind == REC_COPY_ZERO ||
	    w->rec->granularity == PM_GRAN_BYTE)
		add_flush(w, e, e->off, e->len, event);
}

/* Bytes of a window that the writer did not claim count where they changed. */
static void leftover(struct rec_walk *w, const struct rec_event *e,
		     const uint8_t *data, uint64_t from)
{
	for (uint64_t at = from, n; at < e->off + e->len; at += n) {
		n = min64(e->off + e->len, align_down(at, WORD) + WORD) - at;
		if (!memcmp(w->stored + at, data + (at - e->off), n))
			continue;
		memcpy(w->stored + at, data + (at - e->off), n);
		add_versions(w, e, at, n, (uint32_t)e->peer);
	}
}

/* M4: from here on anything of the new bytes may be there; flushes count
 * from the window's end. A window never closed leaves what it found. */
static void do_window(struct rec_walk *w, const struct rec_event *e)
{
	const struct rec_event *end = &w->rec->event[e->peer];

	if (!e->peer)
		return;
	if (end->len) {
		memcpy(w->stored + e->off, end->data, end->len);
		add_versions(w, e, e->off, end->len, (uint32_t)e->peer);
	}
	leftover(w, e, end->data, e->off + end->len);
}

static void step(struct rec_walk *w)
{
	uint32_t event = (uint32_t)w->at;
	const struct rec_event *e = &w->rec->event[w->at++];

	switch (e->kind) {
	case REC_WINDOW:
		do_window(w, e);
		break;
	case REC_WINDOW_DONE:
		if (w->rec->granularity == PM_GRAN_BYTE)
			add_flush(w, e, e->off, w->rec->event[e->peer].len, event);
		break;
	case REC_FLUSH:
		add_flush(w, e, e->off, e->len, event);
		break;
	case REC_FENCE:
		do_fence(w, e, event);
		break;
	case REC_MARK:
		break;
	default:
		do_store(w, e, event);
	}
}

/* ---- walks ------------------------------------------------------------- */

struct rec_walk *rec_walk_new(struct pm_rec *rec)
{
	struct rec_walk *w = must(calloc(1, sizeof(*w)));
	size_t lines = rec->size / LINE;

	assert(rec->start);
	w->rec = rec;
	w->stored = must(pm_mem_map(rec->size));
	w->durable = must(pm_mem_map(rec->size));
	memcpy(w->stored, rec->start, rec->size);
	memcpy(w->durable, rec->start, rec->size);
	w->head = must(calloc(lines, sizeof(*w->head)));
	w->pos = must(calloc(lines, sizeof(*w->pos)));
	w->pend = must(calloc(lines, sizeof(*w->pend)));
	w->room_ver = 1024;
	w->nr_ver = 1;
	w->ver = must(malloc(w->room_ver * sizeof(*w->ver)));
	return w;
}

void rec_walk_free(struct rec_walk *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < w->nr_by; i++)
		free(w->by[i].range);
	free(w->by);
	free(w->ver);
	free(w->pend);
	free(w->pos);
	free(w->head);
	pm_mem_unmap(w->durable, w->rec->size);
	pm_mem_unmap(w->stored, w->rec->size);
	free(w);
}

void rec_walk_to(struct rec_walk *w, size_t at)
{
	assert(at >= w->at && at <= w->rec->nr);
	while (w->at < at)
		step(w);
}

const uint8_t *rec_walk_durable(const struct rec_walk *w)
{
	return w->durable;
}

const uint8_t *rec_walk_stored(const struct rec_walk *w)
{
	return w->stored;
}

size_t rec_walk_nr_pending(const struct rec_walk *w)
{
	return w->nr_pend;
}

struct rec_line rec_walk_pending(const struct rec_walk *w, size_t i)
{
	struct rec_line out = { .off = (uint64_t)w->pend[i] * LINE };

	assert(i < w->nr_pend);
	for (uint32_t v = w->head[w->pend[i]]; v; v = w->ver[v].older) {
		out.mask |= w->ver[v].mask;
		out.versions++;
	}
	return out;
}

void rec_walk_patch(const struct rec_walk *w, size_t i, uint8_t mask, uint8_t *image)
{
	uint64_t off = (uint64_t)w->pend[i] * LINE;

	assert(i < w->nr_pend);
	put_words(image + off, w->stored + off, mask & rec_walk_pending(w, i).mask);
}

/* ---- images ------------------------------------------------------------ */

/* splitmix64: the same seed and line give the same choices, in any order. */
static uint64_t roll(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* One word of a line: stays as it is, or any version that has it. */
static void random_word(const struct rec_walk *w, uint32_t line, unsigned word,
			uint64_t *dice, uint8_t *out)
{
	unsigned n = 0, pick;

	for (uint32_t v = w->head[line]; v; v = w->ver[v].older)
		n += w->ver[v].mask >> word & 1;
	pick = (unsigned)(roll(dice) % (n + 1));
	for (uint32_t v = w->head[line]; v && pick; v = w->ver[v].older) {
		if (!(w->ver[v].mask >> word & 1))
			continue;
		if (--pick == 0)
			put_words(out, w->ver[v].data, (uint8_t)(1u << word));
	}
}

static void random_line(const struct rec_walk *w, size_t i, uint64_t seed, uint8_t *image)
{
	uint32_t line = w->pend[i];
	uint64_t dice = seed ^ (uint64_t)line << 32;
	unsigned how = roll(&dice) % 4;

	if (how == 0)
		return;
	if (how == 1) {
		rec_walk_patch(w, i, 0xff, image);
		return;
	}
	for (unsigned word = 0; word < LINE / WORD; word++)
		random_word(w, line, word, &dice, image + (uint64_t)line * LINE);
}

void rec_walk_image(const struct rec_walk *w, enum rec_engine engine,
		    uint64_t seed, uint8_t *out)
{
	memcpy(out, w->durable, w->rec->size);
	for (size_t i = 0; engine != REC_NONE && i < w->nr_pend; i++) {
		if (engine == REC_ALL)
			rec_walk_patch(w, i, 0xff, out);
		else
			random_line(w, i, seed, out);
	}
}

/* ---- what nobody flushed ----------------------------------------------- */

static bool covered(const struct rec_walk *w, uint64_t off, const struct version *ver)
{
	for (unsigned t = 0; t < w->nr_by; t++) {
		if (ver->nt && ver->thread != t)
			continue;
		for (size_t i = 0; i < w->by[t].nr; i++) {
			const struct range *r = &w->by[t].range[i];

			if (r->event >= ver->event && r->off < off + LINE &&
			    off < r->off + r->len)
				return true;
		}
	}
	return false;
}

size_t rec_walk_uncovered(const struct rec_walk *w, uint64_t *first)
{
	uint64_t lowest = UINT64_MAX;
	size_t n = 0;

	for (size_t i = 0; i < w->nr_pend; i++) {
		uint64_t off = (uint64_t)w->pend[i] * LINE;
		bool all = true;

		for (uint32_t v = w->head[w->pend[i]]; v; v = w->ver[v].older)
			all = all && covered(w, off, &w->ver[v]);
		if (all)
			continue;
		n++;
		lowest = min64(lowest, off);
	}
	if (first)
		*first = lowest;
	return n;
}

void rec_image(struct pm_rec *rec, size_t at_event, enum rec_engine engine,
	       uint64_t seed, uint8_t *out)
{
	struct rec_walk *w = rec_walk_new(rec);

	rec_walk_to(w, at_event);
	rec_walk_image(w, engine, seed, out);
	rec_walk_free(w);
}

size_t rec_uncovered(struct pm_rec *rec, uint64_t *first)
{
	struct rec_walk *w = rec_walk_new(rec);
	size_t n;

	rec_walk_to(w, rec->nr);
	n = rec_walk_uncovered(w, first);
	rec_walk_free(w);
	return n;
}
