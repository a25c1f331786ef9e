/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_record_walk.c - replay a recorder's log and build crash images
 *
 * For every line that the log touched two pictures go along: *stored*, what
 * the program sees, and *durable*, what no loss of power can take away. The
 * difference is kept as a list of versions, newest first: the words a store
 * changed and their new values. A fence moves words from versions to the
 * durable picture (M1..M6 in pm_record.h); everything still in a version is
 * up to chance. Lines never touched are those of the recorder's start.
 *
 * Walking costs what the log costs, and starting again what it touched: a
 * walk over the few dozen events of a recovery does not care how large the
 * pool is.
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
#define NO_POS	UINT32_MAX

struct version {
	uint32_t older;			/* number of the next version, 0: none */
	uint32_t event;			/* a flush from here on covers it */
	uint32_t stored_at;		/* the event that made it */
	uint16_t thread;
	uint8_t mask;			/* words that it has */
	bool nt;			/* only its own thread's fence counts */
	bool covered;			/* a flush has been asked for */
	uint8_t data[LINE];
};

struct touched {			/* a line of the pool */
	uint32_t line;
	uint32_t head;			/* newest version, 0: none */
	uint32_t pos;			/* where in pend, or NO_POS */
	bool changed;			/* is on that list */
	uint8_t stored[LINE], durable[LINE];
};

struct range { uint64_t off, len; uint32_t event; };

struct flushes {			/* of one thread, since its last fence */
	struct range *range;
	size_t nr, room;
};

struct list { uint32_t *v; size_t nr, room; };

struct rec_walk {
	struct pm_rec *rec;
	size_t at;			/* next event */
	uint32_t *index;		/* by line: its number in tl + 1, 0: none */
	struct touched *tl;
	size_t nr_tl, room_tl;
	struct list pend;		/* numbers in tl: those with versions */
	struct list changed, idle;
	struct version *ver;		/* [0] is not used */
	uint32_t nr_ver, room_ver, free_ver;
	struct flushes *by;		/* by thread */
	unsigned nr_by;
	uint8_t *full[2];		/* whole pictures, made when asked for */
	size_t full_at[2];
};

static void *must(void *p)
{
	assert(p);
	return p;
}

static void push(struct list *l, uint32_t v)
{
	if (l->nr == l->room) {
		l->room = l->room ? l->room * 2 : 256;
		l->v = must(realloc(l->v, l->room * sizeof(*l->v)));
	}
	l->v[l->nr++] = v;
}

/* ---- lines ------------------------------------------------------------- */

/* The number of a line, from now on touched. */
static uint32_t touch(struct rec_walk *w, uint32_t line)
{
	struct touched *t;

	if (w->index[line])
		return w->index[line] - 1;
	if (w->nr_tl == w->room_tl) {
		w->room_tl *= 2;
		w->tl = must(realloc(w->tl, w->room_tl * sizeof(*w->tl)));
	}
	t = &w->tl[w->nr_tl++];
	t->line = line;
	t->head = 0;
	t->pos = NO_POS;
	t->changed = false;
	memcpy(t->stored, w->rec->start + (uint64_t)line * LINE, LINE);
	memcpy(t->durable, t->stored, LINE);
	w->index[line] = (uint32_t)w->nr_tl;
	return (uint32_t)w->nr_tl - 1;
}

/* The line if it has versions. */
static struct touched *pending_at(const struct rec_walk *w, uint64_t line)
{
	uint32_t i = w->index[line];

	return i && w->tl[i - 1].head ? &w->tl[i - 1] : NULL;
}

static void get_stored(const struct rec_walk *w, uint64_t off, void *out, size_t len)
{
	uint8_t *to = out;
	uint64_t n;
	uint32_t i;

	for (; len; off += n, to += n, len -= n) {
		n = min64(len, LINE - off % LINE);
		i = w->index[off / LINE];
		if (i)
			memcpy(to, w->tl[i - 1].stored + off % LINE, n);
		else
			memcpy(to, w->rec->start + off, n);
	}
}

static void now_pending(struct rec_walk *w, uint32_t i)
{
	w->tl[i].pos = (uint32_t)w->pend.nr;
	push(&w->pend, i);
}

static void now_durable(struct rec_walk *w, struct touched *t)
{
	uint32_t last = w->pend.v[--w->pend.nr];

	w->pend.v[t->pos] = last;
	w->tl[last].pos = t->pos;
	t->pos = NO_POS;
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

/* Words of a line that bytes [from, to) of it touch. */
static uint8_t words_of(uint64_t from, uint64_t to)
{
	return (uint8_t)((0xffu << from / WORD) & (0xffu >> (7 - (to - 1) / WORD)));
}

/* New bytes (NULL: zeros) for [off, off + len); a flush from `event` on counts. */
static void add_versions(struct rec_walk *w, const struct rec_event *e, uint64_t off,
			 uint64_t len, const uint8_t *data, uint32_t event)
{
	uint64_t end = off + len, n;

	for (; off < end; off += n, data = data ? data + n : NULL) {
		uint32_t i = touch(w, (uint32_t)(off / LINE)), v = take_version(w);
		struct version *ver = &w->ver[v];
		struct touched *t = &w->tl[i];

		n = min64(end - off, LINE - off % LINE);
		if (data)
			memcpy(t->stored + off % LINE, data, n);
		else
			memset(t->stored + off % LINE, 0, n);
		ver->older = t->head;
		ver->event = event;
		ver->stored_at = (uint32_t)(e - w->rec->event);
		ver->thread = (uint16_t)e->thread;
		ver->mask = words_of(off % LINE, off % LINE + n);
		ver->nt = e->kind == REC_COPY || e->kind == REC_COPY_ZERO;
		ver->covered = false;
		memcpy(ver->data, t->stored, LINE);
		if (!t->head)
			now_pending(w, i);
		t->head = v;
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
 * version of a word becomes durable; older ones can no longer arrive, but for
 * copies that still wait in another processor's buffers (M3).
 */
static bool promote(struct rec_walk *w, struct touched *t, uint32_t upto, unsigned thread)
{
	uint32_t *link = &t->head;
	uint8_t done = 0;

	while (*link) {
		uint32_t v = *link;
		struct version *ver = &w->ver[v];
		bool ours = ver->event <= upto && (!ver->nt || ver->thread == thread);

		if (!ver->nt || ver->thread == thread)
			ver->mask &= (uint8_t)~done;
		if (ours) {
			put_words(t->durable, ver->data, ver->mask);
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
	if (!t->head)
		now_durable(w, t);
	if (done && !t->changed) {
		t->changed = true;
		push(&w->changed, (uint32_t)(t - w->tl));
	}
	return done;
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

/* Marks what the range covers; false: there was nothing left to flush. */
static bool cover(struct rec_walk *w, uint64_t off, uint64_t len, unsigned thread)
{
	bool any = false;

	for (uint64_t line = off / LINE; line < DIV_UP(off + len, LINE); line++) {
		struct touched *t = pending_at(w, line);

		for (uint32_t v = t ? t->head : 0; v; v = w->ver[v].older) {
			if (w->ver[v].covered || (w->ver[v].nt && w->ver[v].thread != thread))
				continue;
			w->ver[v].covered = true;
			any = true;
		}
	}
	return any;
}

static bool add_flush(struct rec_walk *w, const struct rec_event *e, uint64_t off,
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
	return cover(w, off, len, e->thread);
}

/* Page granularity has no event of its own: msync takes what is there now. */
static void do_fence(struct rec_walk *w, const struct rec_event *e, uint32_t now)
{
	struct flushes *f = flushes_of(w, e->thread);
	bool any = false;

	if (e->failed)
		return;
	for (size_t i = 0; i < f->nr; i++) {
		uint64_t first = f->range[i].off / LINE;
		uint64_t end = DIV_UP(f->range[i].off + f->range[i].len, LINE);
		uint32_t upto = (uint32_t)min64(f->range[i].event, now);

		for (uint64_t line = first; line < end; line++) {
			struct touched *t = pending_at(w, line);

			any |= t && promote(w, t, upto, e->thread);
		}
	}
	f->nr = 0;
	if (!any)
		push(&w->idle, now);
}

static void do_bits(struct rec_walk *w, const struct rec_event *e, uint32_t event)
{
	uint64_t tmp[PAGE / 8], *buf = e->len <= sizeof(tmp) ? tmp : must(malloc(e->len));

	get_stored(w, e->off, buf, e->len);
	pm_plain_bits((uint8_t *)buf, 0, e->bit, e->nr, e->set);
	add_versions(w, e, e->off, e->len, (uint8_t *)buf, event);
	if (buf != tmp)
		free(buf);
}

static void do_store(struct rec_walk *w, const struct rec_event *e, uint32_t event)
{
	if (e->kind == REC_BITS)
		do_bits(w, e, event);
	else
		add_versions(w, e, e->off, e->len, e->data, event);
	if (e->kind == REC_COPY || e->kind == REC_COPY_ZERO ||
	    w->rec->granularity == PM_GRAN_BYTE)
		add_flush(w, e, e->off, e->len, event);
}

/* Bytes of a window that the writer did not claim count where they changed. */
static void leftover(struct rec_walk *w, const struct rec_event *e,
		     const uint8_t *data, uint64_t from)
{
	uint8_t was[WORD];

	for (uint64_t at = from, n; at < e->off + e->len; at += n) {
		n = min64(e->off + e->len, align_down(at, WORD) + WORD) - at;
		get_stored(w, at, was, n);
		if (memcmp(was, data + (at - e->off), n))
			add_versions(w, e, at, n, data + (at - e->off), (uint32_t)e->peer);
	}
}

/* M4: from here on anything of the new bytes may be there; flushes count
 * from the window's end. A window never closed leaves what it found. */
static void do_window(struct rec_walk *w, const struct rec_event *e)
{
	const struct rec_event *end = &w->rec->event[e->peer];

	if (!e->peer)
		return;
	if (end->len)
		add_versions(w, e, e->off, end->len, end->data, (uint32_t)e->peer);
	leftover(w, e, end->data, e->off + end->len);
}

/* M6 */
static void do_death(struct rec_walk *w)
{
	for (unsigned t = 0; t < w->nr_by; t++)
		w->by[t].nr = 0;
	for (size_t i = 0; i < w->pend.nr; i++)
		for (uint32_t v = w->tl[w->pend.v[i]].head; v; v = w->ver[v].older)
			w->ver[v].nt = w->ver[v].covered = false;
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
		if (!add_flush(w, e, e->off, e->len, event))
			push(&w->idle, event);
		break;
	case REC_FENCE:
		do_fence(w, e, event);
		break;
	case REC_MARK:
		break;
	case REC_DEATH:
		do_death(w);
		break;
	default:
		do_store(w, e, event);
	}
}

/* ---- walks ------------------------------------------------------------- */

struct rec_walk *rec_walk_new(struct pm_rec *rec)
{
	struct rec_walk *w = must(calloc(1, sizeof(*w)));

	assert(rec->start);
	w->rec = rec;
	w->index = must(calloc(rec->size / LINE, sizeof(*w->index)));
	w->room_tl = 1024;
	w->tl = must(malloc(w->room_tl * sizeof(*w->tl)));
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
	free(w->tl);
	free(w->pend.v);
	free(w->changed.v);
	free(w->idle.v);
	free(w->index);
	pm_mem_unmap(w->full[0], w->rec->size);
	pm_mem_unmap(w->full[1], w->rec->size);
	free(w);
}

void rec_walk_reset(struct rec_walk *w)
{
	for (size_t i = 0; i < w->nr_tl; i++)
		w->index[w->tl[i].line] = 0;
	for (unsigned t = 0; t < w->nr_by; t++)
		w->by[t].nr = 0;
	w->nr_tl = w->pend.nr = w->changed.nr = w->idle.nr = 0;
	w->nr_ver = 1;
	w->free_ver = 0;
	w->at = 0;
}

void rec_walk_to(struct rec_walk *w, size_t at)
{
	assert(at >= w->at && at <= w->rec->nr);
	while (w->at < at)
		step(w);
}

size_t rec_walk_nr_touched(const struct rec_walk *w)
{
	return w->nr_tl;
}

uint64_t rec_walk_touched(const struct rec_walk *w, size_t i, const uint8_t **durable)
{
	assert(i < w->nr_tl);
	*durable = w->tl[i].durable;
	return (uint64_t)w->tl[i].line * LINE;
}

size_t rec_walk_changed(struct rec_walk *w, const uint32_t **nr)
{
	size_t n = w->changed.nr;

	for (size_t i = 0; i < n; i++)
		w->tl[w->changed.v[i]].changed = false;
	w->changed.nr = 0;
	*nr = w->changed.v;
	return n;
}

size_t rec_walk_idle(const struct rec_walk *w, const uint32_t **event)
{
	*event = w->idle.v;
	return w->idle.nr;
}

static void picture(const struct rec_walk *w, bool stored, uint8_t *out)
{
	memcpy(out, w->rec->start, w->rec->size);
	for (size_t i = 0; i < w->nr_tl; i++)
		memcpy(out + (uint64_t)w->tl[i].line * LINE,
		       stored ? w->tl[i].stored : w->tl[i].durable, LINE);
}

static const uint8_t *full(struct rec_walk *w, bool stored)
{
	if (!w->full[stored])
		w->full[stored] = must(pm_mem_map(w->rec->size));
	else if (w->full_at[stored] == w->at)
		return w->full[stored];
	picture(w, stored, w->full[stored]);
	w->full_at[stored] = w->at;
	return w->full[stored];
}

const uint8_t *rec_walk_durable(struct rec_walk *w)
{
	return full(w, false);
}

const uint8_t *rec_walk_stored(struct rec_walk *w)
{
	return full(w, true);
}

/* ---- pending lines ----------------------------------------------------- */

static const struct touched *pending(const struct rec_walk *w, size_t i)
{
	assert(i < w->pend.nr);
	return &w->tl[w->pend.v[i]];
}

size_t rec_walk_nr_pending(const struct rec_walk *w)
{
	return w->pend.nr;
}

struct rec_line rec_walk_pending(const struct rec_walk *w, size_t i)
{
	const struct touched *t = pending(w, i);
	struct rec_line out = {
		.off = (uint64_t)t->line * LINE, .event = w->ver[t->head].stored_at,
	};

	for (uint32_t v = t->head; v; v = w->ver[v].older) {
		out.mask |= w->ver[v].mask;
		out.versions++;
	}
	return out;
}

static uint8_t all_words(const struct rec_walk *w, const struct touched *t)
{
	uint8_t mask = 0;

	for (uint32_t v = t->head; v; v = w->ver[v].older)
		mask |= w->ver[v].mask;
	return mask;
}

void rec_walk_patch(const struct rec_walk *w, size_t i, uint8_t mask, uint8_t *image)
{
	const struct touched *t = pending(w, i);

	put_words(image + (uint64_t)t->line * LINE, t->stored, mask & all_words(w, t));
}

void rec_walk_version(const struct rec_walk *w, size_t i, unsigned skip, uint8_t out[64])
{
	const struct touched *t = pending(w, i);
	uint8_t done = 0;

	memcpy(out, t->durable, LINE);
	for (uint32_t v = t->head; v; v = w->ver[v].older) {
		if (skip) {
			skip--;
			continue;
		}
		put_words(out, w->ver[v].data, w->ver[v].mask & (uint8_t)~done);
		done |= w->ver[v].mask;
	}
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
static void random_word(const struct rec_walk *w, const struct touched *t, unsigned word,
			uint64_t *dice, uint8_t *out)
{
	unsigned n = 0, pick;

	for (uint32_t v = t->head; v; v = w->ver[v].older)
		n += w->ver[v].mask >> word & 1;
	pick = (unsigned)(roll(dice) % (n + 1));
	for (uint32_t v = t->head; v && pick; v = w->ver[v].older) {
		if (!(w->ver[v].mask >> word & 1))
			continue;
		if (--pick == 0)
			put_words(out, w->ver[v].data, (uint8_t)(1u << word));
	}
}

void rec_walk_random(const struct rec_walk *w, size_t i, uint64_t seed, uint8_t out[64])
{
	const struct touched *t = pending(w, i);
	uint64_t dice = seed ^ (uint64_t)t->line << 32;
	unsigned how = roll(&dice) % 4;

	memcpy(out, t->durable, LINE);
	if (how == 0)
		return;
	if (how == 1) {
		put_words(out, t->stored, all_words(w, t));
		return;
	}
	for (unsigned word = 0; word < LINE / WORD; word++)
		random_word(w, t, word, &dice, out);
}

void rec_walk_image(const struct rec_walk *w, enum rec_engine engine,
		    uint64_t seed, uint8_t *out)
{
	picture(w, false, out);
	for (size_t i = 0; engine != REC_NONE && i < w->pend.nr; i++) {
		if (engine == REC_ALL)
			rec_walk_patch(w, i, 0xff, out);
		else
			rec_walk_random(w, i, seed, out + (uint64_t)pending(w, i)->line * LINE);
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

	for (size_t i = 0; i < w->pend.nr; i++) {
		const struct touched *t = pending(w, i);
		uint64_t off = (uint64_t)t->line * LINE;
		bool all = true;

		for (uint32_t v = t->head; v; v = w->ver[v].older)
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
