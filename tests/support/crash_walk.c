/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crash_walk.c - walk a load's log and try images in front of every event
 *
 * A *point* is a place in the log where something new could be lost: behind
 * each store, copy and fence, and where a call returned. At full points, in
 * front of fences and behind returns, all engines work; at the others only
 * those whose images do not also occur at the next full point, where more is
 * asked of them. An image met before, at another point or in another load,
 * is not mounted again: what it turns into is remembered by its hash.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/crash_int.h"
#include "support/site.h"

#define MAX_LINES	32768u		/* pending at one point that are looked at */
#define SHOW_MAX	3u		/* violations told of one load */

static const char *const engine_name[ENG_NR] = {
	"none", "all", "subset", "missing", "only", "prefix", "word", "torn", "version",
	"random", "kill",
};

struct pending {			/* a line that may have arrived, or not */
	size_t nr;			/* for rec_walk_*() */
	struct rec_line line;
};

struct choice {
	enum crash_engine engine;
	uint64_t seed;
};

struct point {
	struct crash *c;
	struct rec_walk *w;
	size_t event;
	bool nested;			/* of a cut recovery */
	struct choice outer;		/* then: of the image recovered */
	size_t outer_event;
	bool fresh;			/* the last image had not been met before */
	struct pending *p;		/* in the order they were stored */
	size_t nr;
	struct choice *todo;
	size_t nr_todo, room;
};

/* ---- pending lines -------------------------------------------------------- */

static int by_event(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->line.event != y->line.event)
		return x->line.event < y->line.event ? -1 : 1;
	return x->line.off < y->line.off ? -1 : x->line.off > y->line.off;
}

/* Is it all the same whether the line arrives? (Zeros on zeros.) */
static bool no_matter(const struct rec_walk *w, size_t i, unsigned versions)
{
	uint8_t now[64], old[64];

	rec_walk_version(w, i, versions, old);
	for (unsigned v = 0; v < versions; v++) {
		rec_walk_version(w, i, v, now);
		if (memcmp(now, old, sizeof(now)))
			return false;
	}
	return true;
}

static void gather(struct point *pt)
{
	size_t n = rec_walk_nr_pending(pt->w);
	struct rec_line line;

	pt->p = malloc((n + 1) * sizeof(*pt->p));
	assert(pt->p);
	pt->nr = 0;
	for (size_t i = 0; i < n; i++) {
		line = rec_walk_pending(pt->w, i);
		if (!no_matter(pt->w, i, line.versions))
			pt->p[pt->nr++] = (struct pending){ i, line };
	}
	qsort(pt->p, pt->nr, sizeof(*pt->p), by_event);
}

/* ---- one image ------------------------------------------------------------- */

static void put_line(struct point *pt, size_t i, const uint8_t line[64])
{
	undo_put(&pt->c->image, pt->p[i].line.off, line, UNDO_LINE);
}

static void put_newest(struct point *pt, size_t i)
{
	uint8_t line[64];

	rec_walk_version(pt->w, pt->p[i].nr, 0, line);
	put_line(pt, i, line);
}

static void put_all_but(struct point *pt, size_t but)
{
	for (size_t i = 0; i < pt->nr; i++)
		if (i != but)
			put_newest(pt, i);
}

/* Line i with some of its words only. */
static void put_torn(struct point *pt, size_t i, unsigned words)
{
	uint8_t line[64], old[64];

	rec_walk_version(pt->w, pt->p[i].nr, 0, line);
	rec_walk_version(pt->w, pt->p[i].nr, pt->p[i].line.versions, old);
	for (unsigned word = 0; word < 8; word++)
		if (!(words >> word & 1))
			memcpy(line + word * 8, old + word * 8, 8);
	put_line(pt, i, line);
}

static void put_random(struct point *pt, uint64_t seed)
{
	uint8_t line[64];

	for (size_t i = 0; i < pt->nr; i++) {
		rec_walk_random(pt->w, pt->p[i].nr, seed, line);
		put_line(pt, i, line);
	}
}

/* What the walk's log made durable, where the image does not follow it. */
static void put_durable(struct point *pt)
{
	const uint8_t *line;

	for (size_t i = 0; i < rec_walk_nr_touched(pt->w); i++) {
		uint64_t off = rec_walk_touched(pt->w, i, &line);

		undo_put(&pt->c->image, off, line, UNDO_LINE);
	}
}

/* On top of what is durable; false: there is no such image. */
static bool build(struct point *pt, struct choice ch)
{
	uint8_t line[64];
	size_t i;

	if (pt->nested)
		put_durable(pt);
	switch (ch.engine) {
	case ENG_NONE:
		break;
	case ENG_ALL:
	case ENG_KILL:
		put_all_but(pt, SIZE_MAX);
		break;
	case ENG_SUBSET:
		for (i = 0; i < pt->nr && i < 64; i++)
			if (ch.seed >> i & 1)
				put_newest(pt, i);
		break;
	case ENG_MISSING:
		put_all_but(pt, ch.seed);
		break;
	case ENG_ONLY:
		if (ch.seed >= pt->nr)
			return false;
		put_newest(pt, ch.seed);
		break;
	case ENG_PREFIX:
		for (i = 0; i < pt->nr && i < ch.seed; i++)
			put_newest(pt, i);
		break;
	case ENG_WORD:
		if (ch.seed / 8 >= pt->nr)
			return false;
		put_all_but(pt, ch.seed / 8);
		put_torn(pt, ch.seed / 8, ~(1u << ch.seed % 8));
		break;
	case ENG_TORN:
		for (i = 0; i < pt->nr; i++)
			put_torn(pt, i, (unsigned)ch.seed);
		break;
	case ENG_VERSION:
		if (ch.seed / 64 >= pt->nr)
			return false;
		put_all_but(pt, ch.seed / 64);
		rec_walk_version(pt->w, pt->p[ch.seed / 64].nr, ch.seed % 64, line);
		put_line(pt, ch.seed / 64, line);
		break;
	case ENG_RANDOM:
		put_random(pt, ch.seed);
		break;
	default:
		return false;
	}
	return true;
}

/* ---- violations ------------------------------------------------------------- */

static void tell(struct point *pt, struct choice ch, const char *what)
{
	struct crash *c = pt->c;
	char outer[64] = "", text[300];

	if (pt->nested)
		snprintf(outer, sizeof(outer), "%zu:%s:%llu/", pt->outer_event,
			 engine_name[pt->outer.engine], (unsigned long long)pt->outer.seed);
	snprintf(text, sizeof(text), "%s:%s%zu:%s:%llu", c->load->name, outer, pt->event,
		 engine_name[ch.engine], (unsigned long long)ch.seed);
	if (!c->violations++)
		snprintf(c->first, sizeof(c->first), "%.200s: %.90s", text, what);
	c->stats->violations++;
	if (c->quiet || (c->violations > SHOW_MAX && !c->loud))
		return;
	printf("VIOLATION CRASH=%s\n    %s\n", text, what);
	fflush(stdout);
}

static void show_image(struct point *pt, struct choice ch)
{
	struct crash *c = pt->c;

	undo_back(&c->image);
	build(pt, ch);
	crash_show_diff(c);
	if (c->loud) {
		printf("    pending lines: %zu; events around:\n", pt->nr);
		rec_print(pt->nested ? (pt->w == c->walk3 ? c->rec3 : c->rec2) : c->rec,
			  pt->event > 12 ? pt->event - 12 : 0, pt->event + 3, stdout);
	}
	undo_back(&c->image);
}

static bool stop(const struct crash *c)
{
	return c->quiet && c->violations;
}

/* ---- trying ------------------------------------------------------------------ */

static void cut_recovery(struct point *pt, struct choice ch);

/* The image is built; says whether all is well with it. */
static bool look(struct point *pt, struct choice ch, bool deep)
{
	struct crash *c = pt->c;
	struct crash_look out;
	uint64_t key = undo_hash_now(&c->image) +
		       (c->load->raw ? c->actor[0].acked * 0x9e3779b97f4a7c15ull + 1 : 0);
	struct crash_cached *seen = crash_cache_find(c, key);
	const char *bad;

	c->stats->images++;
	pt->fresh = !seen || (deep && !seen->deep);
	if (!pt->fresh) {
		bad = crash_judge(c, &seen->d);
	} else {
		if (pt->nested)
			c->stats->cut_images++;
		else
			c->stats->distinct++;
		crash_look(c, NULL, deep, &out);
		if (!*out.bad)
			crash_cache_add(c, key, &out.d, deep);
		bad = *out.bad ? out.bad : NULL;
		undo_back(&c->image);
		build(pt, ch);
		if (!bad && deep && !c->load->raw) {
			bad = crash_look_ro(c, &out.d);
			undo_back(&c->image);
			build(pt, ch);
		}
		if (!bad)
			bad = crash_judge(c, &out.d);
	}
	if (bad)
		tell(pt, ch, bad);
	undo_back(&c->image);
	if (c->loud || (bad && !c->quiet && c->violations <= SHOW_MAX))
		show_image(pt, ch);
	return !bad;
}

static void try_image(struct point *pt, struct choice ch)
{
	unsigned flags = pt->c->load->flags;
	bool deep;
	uint64_t h;

	if (!build(pt, ch)) {
		undo_back(&pt->c->image);
		return;
	}
	h = undo_hash_now(&pt->c->image) >> 7;
	deep = !pt->nested && (flags & LOAD_AGAIN || h % 8 == 0);
	if (look(pt, ch, deep) && !pt->nested && flags & LOAD_DEPTH2 && pt->fresh &&
	    (pt->c->rerun || h % pt->c->lim.cut_every == 0))
		cut_recovery(pt, ch);
}

/* ---- choosing ----------------------------------------------------------------- */

static void add(struct point *pt, enum crash_engine engine, uint64_t seed)
{
	if (pt->nr_todo == pt->room) {
		pt->room = pt->room ? pt->room * 2 : 256;
		pt->todo = realloc(pt->todo, pt->room * sizeof(*pt->todo));
		assert(pt->todo);
	}
	pt->todo[pt->nr_todo++] = (struct choice){ engine, seed };
}

/* The first and last ones, and some in between. */
static size_t pick(const struct point *pt, size_t k, size_t want)
{
	size_t ends = want / 4;

	if (want >= pt->nr || k < ends)
		return k;
	if (k >= want - ends)
		return pt->nr - (want - k);
	return ends + (pt->nr - 2 * ends) * (k - ends) / (want - 2 * ends);
}

static void choose_lines(struct point *pt, size_t lines, bool full)
{
	size_t n = lines && lines < pt->nr ? lines : pt->nr;

	for (size_t k = 0; k < n; k++) {
		size_t i = pick(pt, k, n);

		add(pt, ENG_PREFIX, i);
		add(pt, ENG_ONLY, i);
		if (!full)
			continue;
		add(pt, ENG_MISSING, i);
		for (unsigned v = 1; v < pt->p[i].line.versions && v < 8; v++)
			add(pt, ENG_VERSION, i * 64 + v);
		for (unsigned word = 0; word < 8; word++)
			if (pt->p[i].line.mask >> word & 1 && (pt->nr < 40 || word == i % 8))
				add(pt, ENG_WORD, i * 8 + word);
	}
}

static uint64_t next_random(uint64_t *x)
{
	return *x = hash_bytes(*x, "choose", 6);
}

/* Those that stay are the same every time; the first four always do. */
static void cap(struct point *pt, size_t most)
{
	uint64_t x = pt->event;

	for (size_t i = 4; i < most && pt->nr_todo > most; i++) {
		size_t k = i + next_random(&x) % (pt->nr_todo - i);
		struct choice ch = pt->todo[i];

		pt->todo[i] = pt->todo[k];
		pt->todo[k] = ch;
	}
	pt->nr_todo = min64(pt->nr_todo, most);
}

static void choose(struct point *pt, bool full)
{
	static const uint8_t torn[] = { 0x01, 0xfe, 0x0f, 0xf0, 0x55, 0xaa };
	const struct crash_limits *lim = &pt->c->lim;
	size_t most = pt->nested ? lim->per_recovery : lim->per_point;

	pt->nr_todo = 0;
	add(pt, ENG_NONE, 0);
	if (pt->nr)
		add(pt, ENG_ALL, 0);
	for (unsigned i = 0; pt->nr && full && i < ARRAY_SIZE(torn); i++)
		add(pt, ENG_TORN, torn[i]);
	if (pt->nr > 1 && pt->nr <= lim->exhaustive && (!most || 1ull << pt->nr <= most))
		for (uint64_t s = 1; s + 1 < 1ull << pt->nr; s++)
			add(pt, ENG_SUBSET, s);
	else if (pt->nr > 1)
		choose_lines(pt, lim->lines, full);
	for (unsigned s = 0; pt->nr && s < (full ? lim->seeds : 1); s++)
		add(pt, ENG_RANDOM, pt->event * 100 + s);
	if (most)
		cap(pt, most);
}

static void count_point(struct point *pt)
{
	const struct crash_limits *lim = &pt->c->lim;

	pt->c->stats->points++;
	if (pt->nr <= lim->exhaustive && (!lim->per_point || 1ull << pt->nr <= lim->per_point)) {
		pt->c->stats->exhausted++;
		pt->c->stats->subsets += 1ull << pt->nr;
	}
}

static void visit(struct point *pt, bool full)
{
	gather(pt);
	if (!pt->nested)
		count_point(pt);
	choose(pt, full);
	for (size_t i = 0; i < pt->nr_todo && !stop(pt->c); i++)
		try_image(pt, pt->todo[i]);
	free(pt->p);
	pt->p = NULL;
}

static void end_point(struct point *pt)
{
	free(pt->todo);
	free(pt->p);
}

/* ---- which events --------------------------------------------------------------- */

static bool is_mark(const struct rec_event *e, const char *tag)
{
	return e->kind == REC_MARK && !strcmp(e->tag, tag);
}

static bool stores(const struct rec_event *e)
{
	return e->kind != REC_FLUSH && e->kind != REC_MARK && e->kind != REC_DEATH;
}

/* What returned and what began, in the events in front of the walk. */
static void follow(struct crash *c, size_t event)
{
	const struct rec_event *e = rec_at(c->rec, event);
	struct crash_actor *a = &c->actor[e->nr_tag < TREE_ACTORS ? e->nr_tag : 0];

	if (is_mark(e, "begin"))
		a->begun++;
	if (is_mark(e, "end"))
		a->acked++;
}

static void sync_image(struct crash *c, struct rec_walk *w)
{
	const uint32_t *nr;
	size_t n = rec_walk_changed(w, &nr);
	const uint8_t *line;

	for (size_t i = 0; i < n; i++) {
		uint64_t off = rec_walk_touched(w, nr[i], &line);

		undo_put(&c->image, off, line, UNDO_LINE);
	}
	undo_settle(&c->image);
}

/* The image is what the load began with again. */
static void reset_image(struct crash *c, struct rec_walk *w)
{
	const uint8_t *line;

	for (size_t i = 0; i < rec_walk_nr_touched(w); i++) {
		uint64_t off = rec_walk_touched(w, i, &line);

		undo_put(&c->image, off, c->base + off, UNDO_LINE);
	}
	undo_settle(&c->image);
}

/* ---- recoveries that are cut ------------------------------------------------------ */

static void cut_at_fences(struct point *pt, struct pm_rec *rec, size_t from)
{
	for (size_t e = from; e <= rec_now(rec) && !stop(pt->c); e++) {
		rec_walk_to(pt->w, e);
		pt->event = e;
		if (e == rec_now(rec) || rec_at(rec, e)->kind == REC_FENCE)
			visit(pt, true);
	}
}

/*
 * Recover the image with a recorder below, then cut that recovery. While this
 * goes on the image is what undo_back() leads to.
 */
static void cut_recovery(struct point *outer, struct choice ch)
{
	struct crash *c = outer->c;
	struct point pt = { .c = c, .nested = true, .outer = ch, .outer_event = outer->event };
	struct undo_line *patch;
	struct crash_look out;
	size_t nr;

	build(outer, ch);
	nr = c->image.nr;
	patch = malloc((nr + 1) * sizeof(*patch));
	assert(patch);
	if (nr)
		memcpy(patch, c->image.old, nr * sizeof(*patch));
	undo_settle(&c->image);
	rec_restart_on(c->rec2, c->image.base);
	crash_look(c, c->rec2, false, &out);
	undo_back(&c->image);
	if (!c->walk2)
		c->walk2 = rec_walk_new(c->rec2);
	rec_walk_reset(c->walk2);
	pt.w = c->walk2;
	cut_at_fences(&pt, c->rec2, 0);
	for (size_t i = 0; i < nr; i++)
		undo_put(&c->image, (uint64_t)patch[i].line * UNDO_LINE, patch[i].was, UNDO_LINE);
	undo_settle(&c->image);
	free(patch);
	end_point(&pt);
}

/*
 * The daemon died in front of this event and its memory lived on: whatever it
 * stored is seen by the next one, and not one byte of it is more durable.
 */
static void die_here(struct point *outer)
{
	struct crash *c = outer->c;
	struct point pt = { .c = c, .nested = true, .outer = { ENG_KILL, 0 },
			    .outer_event = outer->event };
	struct crash_look out;

	c->stats->killed++;
	gather(outer);
	build(outer, (struct choice){ ENG_KILL, 0 });
	free(outer->p);
	outer->p = NULL;
	rec_continue(c->rec3, c->rec, outer->event);
	rec_death(c->rec3);
	crash_look(c, c->rec3, false, &out);
	undo_back(&c->image);
	if (!c->walk3)
		c->walk3 = rec_walk_new(c->rec3);
	rec_walk_reset(c->walk3);
	pt.w = c->walk3;
	rec_walk_to(pt.w, outer->event + 1);
	cut_at_fences(&pt, c->rec3, outer->event + 1);
	end_point(&pt);
}

/* ---- the whole log ------------------------------------------------------------------ */

static void visit_event(struct point *pt, size_t last)
{
	struct crash *c = pt->c;
	size_t e = pt->event;
	const struct rec_event *before = e ? rec_at(c->rec, e - 1) : NULL;
	bool fence = e == last || rec_at(c->rec, e)->kind == REC_FENCE;
	bool returned = before && is_mark(before, "end");

	if (!fence && !returned && before && !stores(before) && e != c->from_event)
		return;
	visit(pt, fence || returned || e == c->from_event);
	if ((fence || (before && before->kind == REC_FENCE)) && c->load->flags & LOAD_KILL &&
	    !stop(c))
		die_here(pt);
}

static void check_coverage(struct crash *c)
{
	uint64_t first;
	size_t n = rec_walk_uncovered(c->walk, &first);

	if (!c->load->no_unmount && (n || rec_walk_nr_pending(c->walk)))	/* C5 */
		crash_complain(c, "%zu lines were stored and never flushed, the first at %#llx; "
			       "%zu are not durable after the unmount", n,
			       (unsigned long long)first, rec_walk_nr_pending(c->walk));
}

static void count_site(_Atomic uint64_t *by_site, const struct rec_event *e)
{
	size_t k = e->site ? (size_t)(e->site - __start_pm_sites) : CRASH_SITES;

	if (k < CRASH_SITES)
		by_site[k]++;
}

/* What was asked for in vain. */
static void count_cost(struct crash *c)
{
	const uint32_t *idle;
	size_t n = rec_walk_idle(c->walk, &idle);

	for (size_t e = c->from_event; e < rec_now(c->rec); e++)
		if (rec_at(c->rec, e)->kind == REC_FENCE || rec_at(c->rec, e)->kind == REC_FLUSH)
			count_site(c->stats->asked, rec_at(c->rec, e));
	for (size_t i = 0; i < n; i++) {
		const struct rec_event *e = rec_at(c->rec, idle[i]);

		if (idle[i] < c->from_event)
			continue;
		count_site(c->stats->idle, e);
		if (e->kind == REC_FENCE)
			c->stats->idle_fences++;
		else
			c->stats->idle_flushes++;
	}
}

static void begin_walk(struct crash *c)
{
	if (!c->walk)
		c->walk = rec_walk_new(c->rec);
	rec_walk_reset(c->walk);
	for (unsigned i = 0; i < TREE_ACTORS; i++)
		c->actor[i].begun = c->actor[i].acked = 0;
}

unsigned crash_explore(struct crash *c, const struct crash_load *l)
{
	struct point pt = { .c = c };
	size_t last, e;

	c->violations = 0;
	crash_live(c, l);
	begin_walk(c);
	pt.w = c->walk;
	last = rec_now(c->rec);
	for (e = 0; e <= last && !stop(c); e++) {
		if (e)
			follow(c, e - 1);
		rec_walk_to(c->walk, e);
		if (e < c->from_event)
			continue;
		sync_image(c, c->walk);
		pt.event = e;
		visit_event(&pt, last);
	}
	if (!stop(c)) {
		check_coverage(c);
		count_cost(c);
	}
	reset_image(c, c->walk);
	end_point(&pt);
	c->stats->loads++;
	return c->violations;
}

/* ---- one image again ------------------------------------------------------------------ */

/* "event:engine:seed"; what follows it, or NULL. */
static const char *parse(const char *s, size_t *event, struct choice *ch)
{
	char name[16] = "";
	unsigned long long seed;
	int used = 0;

	if (sscanf(s, "%zu:%15[a-z]:%llu%n", event, name, &seed, &used) != 3 || !used)
		return NULL;
	for (ch->engine = 0; ch->engine < ENG_NR; ch->engine++)
		if (!strcmp(engine_name[ch->engine], name))
			break;
	ch->seed = seed;
	return ch->engine < ENG_NR ? s + used : NULL;
}

static void rerun_inner(struct point *pt, size_t event, struct choice ch)
{
	struct crash *c = pt->c;
	struct pm_rec *rec = pt->w == c->walk3 ? c->rec3 : c->rec2;

	if (event > rec_now(rec))
		return;
	rec_walk_to(pt->w, event);
	pt->event = event;
	gather(pt);
	try_image(pt, ch);
}

/* As cut_recovery() and die_here(), for one image of theirs. */
static void rerun_nested(struct point *outer, struct choice och, size_t event, struct choice ch)
{
	struct crash *c = outer->c;
	struct point pt = { .c = c, .nested = true, .outer = och, .outer_event = outer->event };
	bool kill = och.engine == ENG_KILL;
	struct pm_rec *rec = kill ? c->rec3 : c->rec2;
	struct rec_walk **w = kill ? &c->walk3 : &c->walk2;
	struct crash_look out;

	build(outer, och);
	if (kill) {
		rec_continue(rec, c->rec, outer->event);
		rec_death(rec);
	} else {
		undo_settle(&c->image);
		rec_restart_on(rec, c->image.base);
	}
	crash_look(c, rec, false, &out);
	undo_back(&c->image);
	if (!*w)
		*w = rec_walk_new(rec);
	rec_walk_reset(*w);
	pt.w = *w;
	rerun_inner(&pt, event, ch);
	end_point(&pt);
}

int crash_rerun(struct crash *c, const struct crash_load *l, const char *image)
{
	struct point pt = { .c = c };
	struct choice ch, inner;
	size_t event, at = 0;
	const char *rest = parse(image, &event, &ch);

	if (!rest || (*rest && (*rest != '/' || !parse(rest + 1, &at, &inner))))
		return -1;
	c->violations = 0;
	c->loud = c->rerun = true;
	crash_live(c, l);
	begin_walk(c);
	pt.w = c->walk;
	if (event > rec_now(c->rec))
		return -1;
	for (size_t e = 0; e < event; e++)
		follow(c, e);
	rec_walk_to(c->walk, event);
	sync_image(c, c->walk);
	pt.event = event;
	gather(&pt);
	if (*rest)
		rerun_nested(&pt, ch, at, inner);
	else
		try_image(&pt, ch);
	end_point(&pt);
	return (int)c->violations;
}
