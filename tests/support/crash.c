/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crash.c - run a load once, on a pool in memory, with everything written down
 *
 * Nothing here is left to chance: the clock is a counter of the thread, the
 * random numbers that the program asks for come from a seed (getrandom() is
 * ours), memory starts from the same bytes every time. So a load has the same
 * log whenever it runs, and an image a name.
 */
#include "support/crash_int.h"

#include <assert.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/log.h"
#include "meta/super.h"
#include "support/pm_mem.h"

#define FOREIGN	0xe7		/* fills whatever is free */

/* ---- what the program under test gets from outside ------------------------- */

static uint64_t random_state;

void crash_seed_random(uint64_t seed)
{
	random_state = hash_bytes(seed, "random", 6);
}

/* Instead of the C library's. */
ssize_t getrandom(void *buf, size_t len, unsigned flags)
{
	uint8_t *p = buf;

	(void)flags;
	for (size_t i = 0; i < len; i++) {
		random_state = hash_bytes(random_state, "more", 4);
		p[i] = (uint8_t)(random_state >> 32);
	}
	return (ssize_t)len;
}

static _Thread_local int64_t seconds;

void crash_set_clock(int64_t s)
{
	seconds = s;
}

static void counting_clock(struct timespec *now)
{
	*now = (struct timespec){ .tv_sec = ++seconds, .tv_nsec = 123456789 };
}

static char last_line[400];

static void keep_line(enum log_level lvl, const char *line)
{
	(void)lvl;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

const char *crash_last_line(void)
{
	return last_line;
}

void crash_bytes(void *buf, uint64_t nr, uint64_t pos, size_t len)
{
	uint8_t *p = buf;
	uint64_t word = 0, at = UINT64_MAX;

	for (size_t i = 0; i < len; i++, pos++) {
		if (pos / 8 != at) {
			at = pos / 8;
			word = hash_bytes(nr, &at, sizeof(at)) | 0x0101010101010101ull;
		}
		p[i] = (uint8_t)(word >> pos % 8 * 8);
	}
}

/* ---- life -------------------------------------------------------------------- */

struct crash *crash_new(int granularity, const struct crash_limits *lim,
			struct crash_stats *stats)
{
	struct crash *c = calloc(1, sizeof(*c));

	assert(c);
	mallopt(M_MMAP_THRESHOLD, 256 << 10);	/* large zeroed memory stays cheap */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);	/* and small memory with us */
	mallopt(M_TOP_PAD, 4 << 20);
	log_to(keep_line);
	c->granularity = granularity;
	c->lim = *lim;
	c->lim.cut_every += !c->lim.cut_every;
	c->stats = stats;
	undo_init(&c->live, CRASH_SIZE);
	undo_init(&c->image, CRASH_SIZE);
	c->base = pm_mem_map(CRASH_SIZE);
	assert(c->base);
	c->rec = rec_new_on(&pm_backend_undo, &c->live, c->base);
	c->rec2 = rec_new_on(&pm_backend_undo, &c->image, c->image.base);
	c->rec3 = rec_new_on(&pm_backend_undo, &c->image, c->base);
	return c;
}

void crash_free(struct crash *c)
{
	crash_forget_states(c);
	crash_model_free(&c->model);
	crash_model_free(&c->model_before);
	free(c->actor[0].state);
	free(c->actor[1].state);
	rec_walk_free(c->walk);
	rec_walk_free(c->walk2);
	rec_walk_free(c->walk3);
	rec_free(c->rec);
	rec_free(c->rec2);
	rec_free(c->rec3);
	undo_free(&c->live);
	undo_free(&c->image);
	pm_mem_unmap(c->base, CRASH_SIZE);
	free(c->cache);
	free(c);
}

void crash_mutate(struct crash *c, const struct pm_site *site)
{
	rec_mutate(c->rec, site);
	rec_mutate(c->rec2, site);
	rec_mutate(c->rec3, site);
	crash_cache_drop(c);
}

void crash_quiet(struct crash *c, bool quiet)
{
	c->quiet = quiet;
}

const char *crash_first(const struct crash *c)
{
	return c->first;
}

/* ---- the pool before ----------------------------------------------------------- */

static void options(struct crash *c, bool recorded, unsigned flags)
{
	c->opt = (struct fs_options){
		.no_background = true, .granularity = c->granularity,
		.clock = counting_clock,
		.atime = flags & LOAD_ATIME ? FS_STRICTATIME : FS_NOATIME,
		.data = flags & LOAD_ATOMIC ? FS_DATA_ATOMIC : FS_DATA_ORDERED,
		.backend = recorded ? &pm_backend_record : &pm_backend_undo,
		.backend_arg = recorded ? (void *)c->rec : (void *)&c->live,
	};
}

static void mount_live(struct crash *c)
{
	int err = fs_open(&c->fs, "live", &c->opt);

	if (err) {
		fprintf(stderr, "%s: cannot be mounted (%d): %s\n", c->setup->name, err,
			last_line);
		abort();
	}
	c->ctx = (struct op_ctx){ .fs = c->fs, .pid = 1 };
}

static void make_pool(struct crash *c, const struct crash_setup *s, struct geometry *geo)
{
	struct pm_config cfg = {
		.backend = &pm_backend_undo, .backend_arg = &c->live,
		.flags = PM_CREATE, .granularity = c->granularity,
	};
	struct mkfs_params mk = {
		.nr_blocks = CRASH_SIZE / PMEMFS_BLOCK_SIZE, .nr_lanes = s->nr_lanes,
		.root_mode = 0755, .time = 900000, .label = "crash", .uuid = { 7 },
	};
	struct pm *pm;
	int err = pm_open(&pm, "live", &cfg);

	assert(!err);
	err = mkfs_pool(pm, &mk, geo);
	assert(!err);
	pm_close(pm);
}

/* Bytes that nobody wrote, wherever nothing is. */
static void foul_free_blocks(struct crash *c, const struct geometry *geo)
{
	const uint8_t *map = c->live.base + blk_off(geo->bitmap_blk);

	for (uint64_t b = geo->data_blk; b < geo->nr_blocks; b++)
		if (!(map[b / 8] & 1u << b % 8))
			memset(c->live.base + blk_off(b), FOREIGN, PMEMFS_BLOCK_SIZE);
}

static void use_setup(struct crash *c, const struct crash_setup *s)
{
	struct geometry geo;

	if (c->setup == s)
		return;
	undo_back(&c->live);
	c->setup = s;
	c->unseen = true;
	crash_model_free(&c->model);
	crash_seed_random(3);
	crash_set_clock(1000000);
	memset(c->live.base, FOREIGN, CRASH_SIZE);
	make_pool(c, s, &geo);
	options(c, false, 0);
	mount_live(c);
	if (s->make)
		s->make(c);
	if (s->dirty)
		fs_crash(c->fs);
	else
		fs_close(c->fs);
	c->fs = NULL;
	c->unseen = false;
	c->live.fail_in = 0;
	c->live.failing = false;
	crash_model_copy(&c->model_before, &c->model);
	foul_free_blocks(c, &geo);
	if (s->spoil)
		s->spoil(c->live.base, CRASH_SIZE);
	undo_settle(&c->live);
	memcpy(c->base, c->live.base, CRASH_SIZE);
	undo_back(&c->image);
	memcpy(c->image.base, c->base, CRASH_SIZE);
	undo_rehash(&c->image);
}

/* ---- calls --------------------------------------------------------------------- */

const struct op_ctx *crash_ctx(struct crash *c)
{
	return &c->ctx;
}

struct pm_rec *crash_rec(struct crash *c)
{
	return c->rec;
}

void crash_stop_at_fence(struct crash *c, unsigned nth)
{
	c->live.fail_in = nth;
}

static struct crash_state *next_state(struct crash_actor *a)
{
	if (a->nr_calls + 2 > a->room) {
		a->room = a->room ? a->room * 2 : 16;
		a->state = realloc(a->state, a->room * sizeof(*a->state));
		assert(a->state && a->room <= CRASH_CALLS);
	}
	return &a->state[a->nr_calls];
}

void crash_forget_states(struct crash *c)
{
	for (unsigned i = 0; i < TREE_ACTORS; i++) {
		struct crash_actor *a = &c->actor[i];

		for (unsigned k = 0; a->state && k <= a->nr_calls; k++)
			tree_picture_free(&a->state[k].p);
		a->nr_calls = a->begun = a->acked = 0;
	}
	c->nr_fine = 0;
}

/* Looking must not change access times, nor be written down. */
void crash_observe(struct crash *c, unsigned actor)
{
	struct crash_state *s = next_state(&c->actor[actor]);
	enum fs_atime atime = c->fs->opt.atime;
	int err;

	memset(s, 0, sizeof(*s));
	c->fs->opt.atime = FS_NOATIME;
	err = tree_digest(&c->ctx, c->load->actors, &s->d);
	if (!err && c->load->actors == 1)
		err = tree_picture(&c->ctx, &s->p);
	if (!err && c->load->actors == 1)
		crash_model_check(c, &s->p);
	c->fs->opt.atime = atime;
	if (err)
		crash_complain(c, "the live tree cannot be looked at (%d): %s", err, last_line);
}

void crash_op(struct crash *c, unsigned nr)
{
	if (!c->unseen && nr == c->load->from_op)
		c->from_event = rec_now(c->rec);
}

void crash_begin(struct crash *c, const struct tree_blur *blur)
{
	struct crash_actor *a = &c->actor[crash_me()];

	if (c->unseen)
		return;
	if (blur)
		a->state[a->nr_calls].blur = *blur;
	rec_mark_nr(c->rec, "begin", (unsigned)crash_me());
}

/* While two threads run nobody looks: each did all this alone before. */
void crash_end(struct crash *c)
{
	struct crash_actor *a = &c->actor[crash_me()];

	if (c->unseen)
		return;
	rec_mark_nr(c->rec, "end", (unsigned)crash_me());
	c->stats->calls++;
	a->nr_calls++;
	if (!fs_writable(c->fs) && !c->shut) {
		c->shut = true;
		crash_complain(c, "call %u stopped the mount: %s", a->nr_calls, last_line);
	}
	if (c->load->actors == 1 || c->alone)
		crash_observe(c, (unsigned)crash_me());
}

void crash_unseen(struct crash *c, bool on)
{
	c->unseen = on;
	if (!on) {
		tree_picture_free(&c->actor[0].state[c->actor[0].nr_calls].p);
		crash_observe(c, 0);
		c->from_event = rec_now(c->rec);
	}
}

void crash_complain(struct crash *c, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!c->violations++)
		snprintf(c->first, sizeof(c->first), "%.120s: %.170s",
			 c->load ? c->load->name : "?", text);
	c->stats->violations++;
	if (!c->quiet)
		printf("VIOLATION CRASH=%s %s\n", c->load ? c->load->name : "?", text);
}

/* ---- the load ------------------------------------------------------------------ */

static void run_load(struct crash *c, const struct crash_load *l)
{
	mount_live(c);
	crash_observe(c, 0);
	c->from_event = l->flags & LOAD_MOUNT ? 0 : rec_now(c->rec);
	l->run(c, l, 0);
}

/*
 * First each actor alone, to know the states it goes through: the clock is
 * the thread's own, and inode numbers do not count, so they are the same.
 */
static void run_threads(struct crash *c, const struct crash_load *l)
{
	for (unsigned i = 0; i < TREE_ACTORS; i++) {
		mount_live(c);
		c->alone = true;
		crash_observe(c, i);
		crash_run_threads(c, l, i, 1);
		fs_crash(c->fs);
		undo_back(&c->live);
		crash_seed_random(4);
	}
	c->alone = false;
	rec_restart_on(c->rec, c->base);
	c->actor[0].nr_calls = c->actor[1].nr_calls = 0;
	mount_live(c);
	c->from_event = rec_now(c->rec);
	crash_run_threads(c, l, 0, TREE_ACTORS);
}

/*
 * Without a mounted pool: mkfs and the like. The trees before and after are
 * found by mounting the memory, unrecorded.
 */
static void run_raw(struct crash *c, const struct crash_load *l)
{
	struct pm_config cfg = {
		.backend = &pm_backend_record, .backend_arg = c->rec,
		.flags = PM_CREATE, .granularity = c->granularity,
	};
	struct crash_actor *a = &c->actor[0];
	struct pm *pm;

	memset(next_state(a), 0, sizeof(*a->state));
	crash_look_live(c, &a->state[0].d);
	undo_back(&c->live);
	if (pm_open(&pm, "live", &cfg))
		abort();
	rec_mark_nr(c->rec, "begin", 0);
	if (l->raw(c, pm))
		crash_complain(c, "failed: %s", last_line);
	rec_mark_nr(c->rec, "end", 0);
	pm_close(pm);
	a->nr_calls++;
	memset(next_state(a), 0, sizeof(*a->state));
	crash_look_live(c, &a->state[1].d);
	c->from_event = 0;
}

static void leave(struct crash *c, const struct crash_load *l)
{
	if (!c->fs)
		return;
	if (l->no_unmount)
		fs_crash(c->fs);
	else
		fs_close(c->fs);
	c->fs = NULL;
}

/* Leaves the log in c->rec and the states in c->actor. */
void crash_live(struct crash *c, const struct crash_load *l)
{
	if (c->load && c->load->actors != l->actors)
		crash_cache_drop(c);
	use_setup(c, l->setup);
	crash_forget_states(c);
	c->load = l;
	c->shut = false;
	crash_model_copy(&c->model, &c->model_before);
	rec_restart_on(c->rec, c->base);
	rec_thread(0);
	crash_seed_random(4);
	crash_set_clock(2000000);
	options(c, true, l->flags);
	if (l->raw)
		run_raw(c, l);
	else if (l->actors > 1)
		run_threads(c, l);
	else
		run_load(c, l);
	leave(c, l);
	undo_back(&c->live);
}
