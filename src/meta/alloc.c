/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * alloc.c - which blocks are free
 *
 * The medium has one bit per block, in groups of 32768. DRAM adds, for every
 * group that was ever asked (never for the others: mounting walks nothing), a
 * busy bitmap: used, reserved and quarantined blocks together.
 *
 *   P1  A block is handed out only if its busy bit is clear, and the bit is
 *       set under the group's lock before anyone else can look (L1).
 *   P2  A busy bit is cleared only by alloc_unreserve() (nothing on the
 *       medium says otherwise), by alloc_freed() after the record that freed
 *       the block was applied (L3), or by alloc_release() when that record is
 *       below both watermarks (L4).
 *   P3  A group is loaded, and its checksum compared, before the first record
 *       of this mount that changes it; so a mismatch is damage, never us.
 *   P4  Data leave geo.reserve blocks alone, so that freeing never fails (L9);
 *       those of others than root geo.root_reserve more.
 *
 *   P5  What lies outside the data area is marked used in a bitmap, or the
 *       group is not believed: nothing else keeps us from giving it out.
 *   P6  A hostile pool lets two inodes own a block; both may pass P3's
 *       comparison before either record is applied. The second to free it
 *       finds it free and leaves it so.
 *   P7  A block that is known to be bad memory stays busy from then on: one
 *       that is free is taken out at once, one in use when it is freed. It is
 *       held then: free on the medium until badlist.c makes it the pool's own.
 *
 * Placement: after goal if there is one; else from a cursor of the thread, so
 * that threads work in different groups. A run never crosses a group.
 */
#include "meta/alloc.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "meta/contend.h"
#include "meta/redo.h"

#define WINDOWS		64u
#define WORDS		(PMEMFS_GROUP_BLOCKS / 64)

struct group {
	pthread_mutex_t lock;
	uint64_t *busy;			/* NULL: not loaded; under lock */
	uint32_t free;			/* clear bits in busy; under lock */
	_Atomic uint32_t longest;	/* no run is longer than this; a hint */
	uint64_t *lost;			/* bad memory, NULL: none; under lock (P7) */
	uint64_t *held;			/* those that are busy for no other reason */
	bool bad;			/* damaged: nothing is taken or freed */
};

struct waiting {			/* quarantined */
	struct run r;
	uint64_t seq;
};

struct window {			/* of a thread: where it goes on */
	_Alignas(64) _Atomic uint64_t cursor;
};

struct alloc {
	struct group *group;
	_Atomic int64_t free;		/* neither used, reserved nor quarantined */
	_Atomic int64_t reserved, quarantined;
	struct window window[WINDOWS];	/* data */
	struct window nodes;
	pthread_mutex_t wait_lock;	/* guards the quarantine */
	struct waiting *wait;
	size_t nr_wait, room;
	pthread_mutex_t bad_lock;	/* before a group's */
	_Atomic unsigned bad_seen;	/* ranges of pm_bad() that the groups know */
	_Atomic int64_t held;		/* bits in the groups' held */
};

static _Thread_local bool for_root;

void alloc_for_root(bool root)
{
	for_root = root;
}

/* P4: what this thread must leave. */
static int64_t to_keep(struct fs *fs)
{
	return (int64_t)(fs->geo.reserve + (for_root ? 0 : fs->geo.root_reserve));
}

static uint64_t first_cursor(struct fs *fs, unsigned w)
{
	return (uint64_t)fs->geo.nr_groups * w / WINDOWS * PMEMFS_GROUP_BLOCKS;
}

int alloc_open(struct fs *fs, uint64_t blocks_free)
{
	struct alloc *a = aligned_alloc(_Alignof(struct alloc), sizeof(*a));
	uint32_t g;

	if (!a)
		return -ENOMEM;
	memset(a, 0, sizeof(*a));
	a->group = calloc(fs->geo.nr_groups, sizeof(*a->group));
	if (!a->group) {
		free(a);
		return -ENOMEM;
	}
	for (g = 0; g < fs->geo.nr_groups; g++) {
		pthread_mutex_init(&a->group[g].lock, NULL);
		a->group[g].longest = PMEMFS_GROUP_BLOCKS;
	}
	for (g = 0; g < WINDOWS; g++)
		a->window[g].cursor = first_cursor(fs, g);
	pthread_mutex_init(&a->wait_lock, NULL);
	pthread_mutex_init(&a->bad_lock, NULL);
	a->free = (int64_t)blocks_free;
	fs->alloc = a;
	return 0;
}

void alloc_close(struct fs *fs)
{
	struct alloc *a = fs->alloc;
	uint32_t g;

	if (!a)
		return;
	for (g = 0; g < fs->geo.nr_groups; g++) {
		pthread_mutex_destroy(&a->group[g].lock);
		free(a->group[g].busy);
		free(a->group[g].lost);
	}
	pthread_mutex_destroy(&a->wait_lock);
	pthread_mutex_destroy(&a->bad_lock);
	free(a->group);
	free(a->wait);
	free(a);
	fs->alloc = NULL;
}

/* ---- bits ------------------------------------------------------------------- */

static bool bit_get(const uint64_t *w, uint32_t b) { return w[b / 64] >> (b % 64) & 1; }

static void bits_set(uint64_t *w, uint32_t b, uint64_t n, bool set)
{
	uint64_t mask, k;

	for (; n; b += k, n -= k) {
		k = min64(n, 64 - b % 64);
		mask = (k == 64 ? ~0ull : (1ull << k) - 1) << (b % 64);
		if (set)
			w[b / 64] |= mask;
		else
			w[b / 64] &= ~mask;
	}
}

/* First bit >= b with the value, or PMEMFS_GROUP_BLOCKS. */
static uint32_t bit_next(const uint64_t *w, uint32_t b, bool value)
{
	uint64_t v;
	uint32_t i;

	if (b >= PMEMFS_GROUP_BLOCKS)
		return PMEMFS_GROUP_BLOCKS;
	v = (value ? w[b / 64] : ~w[b / 64]) & ~0ull << (b % 64);
	for (i = b / 64; !v; v = value ? w[i] : ~w[i])
		if (++i == WORDS)
			return PMEMFS_GROUP_BLOCKS;
	return i * 64 + (uint32_t)__builtin_ctzll(v);
}

static bool bits_all_set(const uint64_t *w, uint32_t b, uint64_t n)
{
	return bit_next(w, b, false) >= b + n;
}

static uint32_t count_clear(const uint64_t *w)
{
	uint32_t i, n = 0;

	for (i = 0; i < WORDS; i++)
		n += (uint32_t)__builtin_popcountll(~w[i]);
	return n;
}

/* ---- groups ------------------------------------------------------------------- */

static uint64_t bitmap_off(struct fs *fs, uint32_t g) { return blk_off(fs->geo.bitmap_blk + g); }

static uint64_t desc_off(struct fs *fs, uint32_t g)
{
	return blk_off(fs->geo.groups_blk) + (uint64_t)g * sizeof(struct pmemfs_group);
}

static int group_damaged(struct fs *fs, struct group *gr, uint32_t g, const char *what)
{
	gr->bad = true;
	return damaged(fs, desc_off(fs, g), "block group %u: %s", g, what);
}

/* P5 */
static bool outside_is_used(struct fs *fs, uint32_t g, const uint64_t *busy)
{
	uint64_t first = (uint64_t)g * PMEMFS_GROUP_BLOCKS, end = first + PMEMFS_GROUP_BLOCKS;
	uint64_t data = fs->geo.data_blk, last = fs->geo.nr_blocks - 1;

	if (data > first && !bits_all_set(busy, 0, min64(data, end) - first))
		return false;
	return last >= end || bits_all_set(busy, (uint32_t)(max64(last, first) - first),
					   end - max64(last, first));
}

/* P3. Called with the group's lock. */
static int group_load(struct fs *fs, uint32_t g)
{
	struct group *gr = &fs->alloc->group[g];
	const struct pmemfs_group *d;
	const void *map;
	uint32_t i;

	if (gr->bad)
		return -EUCLEAN;
	if (gr->busy)
		return 0;
	d = pm_at(fs->pm, desc_off(fs, g), sizeof(*d));
	map = pm_at(fs->pm, bitmap_off(fs, g), PMEMFS_BLOCK_SIZE);
	if (get32(d->crc) != seal_crc(d, sizeof(*d), desc_off(fs, g)))
		return group_damaged(fs, gr, g, "its descriptor's checksum is wrong");
	if (get32(d->bitmap_crc) != crc32c(0, map, PMEMFS_BLOCK_SIZE))
		return group_damaged(fs, gr, g, "the bitmap's checksum is wrong");
	gr->busy = malloc(PMEMFS_BLOCK_SIZE);
	if (!gr->busy)
		return -ENOMEM;
	for (i = 0; i < WORDS; i++)
		gr->busy[i] = load64((const uint8_t *)map + i * 8);
	gr->free = count_clear(gr->busy);
	if (gr->free != get32(d->free) || !outside_is_used(fs, g, gr->busy)) {
		free(gr->busy);
		gr->busy = NULL;
		return group_damaged(fs, gr, g, gr->free != get32(d->free) ?
				     "its free count is wrong" :
				     "metadata or what lies behind the pool is marked free");
	}
	gr->longest = gr->free;
	return 0;
}

void alloc_derive(struct fs *fs, uint32_t g)
{
	const uint64_t *map = pm_at(fs->pm, bitmap_off(fs, g), PMEMFS_BLOCK_SIZE);
	struct pmemfs_group d = { .zero = put32(0) };
	uint64_t copy[WORDS];

	memcpy(copy, map, sizeof(copy));	/* one picture for both fields */
	d.free = put32(count_clear(copy));
	d.bitmap_crc = put32(crc32c(0, copy, sizeof(copy)));
	d.crc = put32(seal_crc(&d, sizeof(d), desc_off(fs, g)));
	pm_write(fs->pm, desc_off(fs, g), &d, sizeof(d));
	pm_flush(fs->pm, desc_off(fs, g), sizeof(d));
}

/* ---- bad memory (P7) ------------------------------------------------------------ */

/* Called with the group's lock, the group loaded. */
static void lose_block(struct alloc *a, struct group *gr, uint32_t bit)
{
	if (!gr->lost)
		gr->lost = calloc(2 * (size_t)WORDS, sizeof(*gr->lost));
	if (!gr->lost || bit_get(gr->lost, bit))
		return;			/* out of memory: at worst it fails once more */
	gr->held = gr->lost + WORDS;
	bits_set(gr->lost, bit, 1, true);
	if (bit_get(gr->busy, bit))
		return;
	bits_set(gr->busy, bit, 1, true);
	bits_set(gr->held, bit, 1, true);
	atomic_fetch_add(&a->held, 1);
	gr->free--;
	atomic_fetch_sub(&a->free, 1);
}

static void lose_range(struct fs *fs, struct pm_range r)
{
	uint64_t blk = max64(off_blk(r.off), fs->geo.data_blk);
	uint64_t end = min64(off_blk(r.off + r.len), fs->geo.nr_blocks - 1);

	for (; blk < end; blk++) {
		uint32_t g = (uint32_t)(blk / PMEMFS_GROUP_BLOCKS);
		struct group *gr = &fs->alloc->group[g];

		pthread_mutex_lock(&gr->lock);
		if (!group_load(fs, g))
			lose_block(fs->alloc, gr, blk % PMEMFS_GROUP_BLOCKS);
		pthread_mutex_unlock(&gr->lock);
	}
}

static void learn_bad(struct fs *fs)
{
	struct alloc *a = fs->alloc;
	unsigned n = pm_bad_count(fs->pm);

	if (n == atomic_load_explicit(&a->bad_seen, memory_order_acquire))
		return;
	pthread_mutex_lock(&a->bad_lock);
	for (unsigned i = atomic_load(&a->bad_seen); i < n; i++) {
		lose_range(fs, pm_bad(fs->pm, i));
		atomic_store_explicit(&a->bad_seen, i + 1, memory_order_release);
	}
	pthread_mutex_unlock(&a->bad_lock);
}

/* Back to busy what is bad among bits that were cleared. Returns how many. */
static uint32_t keep_lost(struct group *gr, uint32_t bit, uint64_t n)
{
	uint32_t kept = 0;

	for (; gr->lost && n; bit++, n--)
		if (bit_get(gr->lost, bit)) {
			bits_set(gr->busy, bit, 1, true);
			bits_set(gr->held, bit, 1, true);
			kept++;
		}
	return kept;
}

/* The first run that is held, with the group's lock; length 0: none. */
static struct run first_held(const struct group *gr)
{
	uint32_t b = gr->held ? bit_next(gr->held, 0, true) : PMEMFS_GROUP_BLOCKS;

	if (b == PMEMFS_GROUP_BLOCKS)
		return (struct run){ 0, 0 };
	return (struct run){ b, bit_next(gr->held, b, false) - b };
}

bool alloc_held(struct fs *fs, struct run *out)
{
	*out = (struct run){ 0, 0 };
	learn_bad(fs);
	if (!atomic_load(&fs->alloc->held))
		return false;
	for (uint32_t g = 0; g < fs->geo.nr_groups && !out->len; g++) {
		struct group *gr = &fs->alloc->group[g];

		pthread_mutex_lock(&gr->lock);
		*out = first_held(gr);
		if (out->len)
			bits_set(gr->held, (uint32_t)out->blk, out->len, false);
		pthread_mutex_unlock(&gr->lock);
		out->blk += (uint64_t)g * PMEMFS_GROUP_BLOCKS;
	}
	atomic_fetch_sub(&fs->alloc->held, (int64_t)out->len);
	atomic_fetch_add(&fs->alloc->reserved, (int64_t)out->len);
	return out->len;
}

void alloc_hold(struct fs *fs, struct run r)
{
	struct group *gr = &fs->alloc->group[r.blk / PMEMFS_GROUP_BLOCKS];

	pthread_mutex_lock(&gr->lock);
	bits_set(gr->held, r.blk % PMEMFS_GROUP_BLOCKS, r.len, true);
	pthread_mutex_unlock(&gr->lock);
	atomic_fetch_add(&fs->alloc->held, (int64_t)r.len);
	atomic_fetch_sub(&fs->alloc->reserved, (int64_t)r.len);
}

/* ---- finding a run -------------------------------------------------------------- */

struct want {
	uint64_t want, min;
	uint64_t room;			/* better with so many free ones behind it */
	bool align, exact;
};

/* The first huge-page boundary in a free stretch, if enough lies behind it. */
static uint32_t aligned(uint32_t b, uint32_t end, const struct want *w)
{
	uint32_t at = (uint32_t)align_up(b, PMEMFS_HUGE_BLOCKS);

	return at < end && end - at >= min64(w->want, PMEMFS_HUGE_BLOCKS) ? at : b;
}

/* The first run of want blocks (and room) at or behind from, else the longest of at
 * least min; wraps. Length 0: none. */
static struct run search(struct group *gr, uint32_t from, const struct want *w)
{
	struct run best = { 0, 0 };
	uint32_t b, end, limit = PMEMFS_GROUP_BLOCKS, longest = 0, pass;

	for (pass = 0; pass < 2; pass++) {
		for (b = bit_next(gr->busy, pass ? 0 : from, false); b < limit; ) {
			end = bit_next(gr->busy, b, true);
			if (w->align)
				b = aligned(b, end, w);
			if (end - b > best.len)
				best = (struct run){ b, end - b };
			if (end - b > longest)
				longest = end - b;
			if (best.len >= w->want + w->room)
				return best;
			b = bit_next(gr->busy, end, false);
		}
		limit = from;
		if (!from)
			break;
	}
	if (longest < gr->longest)
		gr->longest = longest;
	return best.len >= w->min ? best : (struct run){ 0, 0 };
}

static void take_at(struct group *gr, uint32_t b, const struct want *w, struct run *r)
{
	uint32_t end = bit_get(gr->busy, b) ? b : bit_next(gr->busy, b, true);

	if (end - b >= w->min)
		*r = (struct run){ b, end - b };
}

/* P1. w->exact: right at `from`, or not at all. */
static int group_take(struct fs *fs, uint32_t g, uint32_t from, const struct want *w,
		      struct run *out)
{
	struct group *gr = &fs->alloc->group[g];
	struct run r = { 0, 0 };
	int err;

	if (atomic_load_explicit(&gr->longest, memory_order_relaxed) < w->min)
		return -ENOSPC;
	contend_lock(fs, &gr->lock, COUNT_WAIT_GROUP);
	err = group_load(fs, g);
	if (!err && w->exact)
		take_at(gr, from, w, &r);
	else if (!err)
		r = search(gr, from, w);
	if (!err && !r.len)
		err = -ENOSPC;
	if (!err) {
		r.len = min64(r.len, w->want);
		bits_set(gr->busy, (uint32_t)r.blk, r.len, true);
		gr->free -= (uint32_t)r.len;
		*out = (struct run){ (uint64_t)g * PMEMFS_GROUP_BLOCKS + r.blk, r.len };
	}
	pthread_mutex_unlock(&gr->lock);
	return err;
}

static _Atomic uint64_t *cursor_of(struct alloc *a, unsigned flags)
{
	if (flags & ALLOC_NODE)
		return &a->nodes.cursor;
	/* neighbours in number are far apart in the pool: few threads spread too */
	return &a->window[count_row() * 37 % WINDOWS].cursor;
}

/* All groups once, from start on: first for a run as long as wanted (or half
 * a group's worth of it), then for anything that will do. */
static int find(struct fs *fs, uint64_t start, const struct want *w, struct run *out)
{
	uint32_t n = fs->geo.nr_groups, g0 = (uint32_t)(start / PMEMFS_GROUP_BLOCKS), i;
	struct want good = *w;
	bool damage = false;
	int err;

	for (i = 0; i < 2; i++) {
		uint32_t k;

		good.min = i ? w->min : max64(w->min, min64(w->want + w->room,
							     PMEMFS_HUGE_BLOCKS));
		if (i && good.min == max64(w->min, min64(w->want + w->room, PMEMFS_HUGE_BLOCKS)))
			break;
		for (k = 0; k < n; k++) {
			err = group_take(fs, (g0 + k) % n,
					 k ? 0 : start % PMEMFS_GROUP_BLOCKS, &good, out);
			if (err != -ENOSPC && err != -EUCLEAN)
				return err;
			damage |= err == -EUCLEAN;
		}
	}
	return damage ? -EUCLEAN : -ENOSPC;
}

/* Take a promise of up to want blocks from the count; 0: not even min. */
static uint64_t promise(struct fs *fs, unsigned flags, uint64_t want, uint64_t min)
{
	int64_t keep = flags & ALLOC_META ? 0 : to_keep(fs), have, n;
	struct alloc *a = fs->alloc;

	have = atomic_load(&a->free);
	do {
		n = have - keep;
		if (n < (int64_t)min)
			return 0;
		if (n > (int64_t)want)
			n = (int64_t)want;
	} while (!atomic_compare_exchange_weak(&a->free, &have, have - n));
	return (uint64_t)n;
}

/* Right at goal if that is free; else, for what grows, at the cursor with
 * room behind it; else near goal. */
static int place(struct fs *fs, uint64_t goal, uint64_t cursor, struct want *w, struct run *out)
{
	struct want exact = *w;
	int err = -ENOSPC;

	if (goal) {
		exact.exact = true;
		err = group_take(fs, (uint32_t)(goal / PMEMFS_GROUP_BLOCKS),
				 goal % PMEMFS_GROUP_BLOCKS, &exact, out);
	}
	if (err != -ENOSPC || w->exact)
		return err;
	return find(fs, goal && !w->room ? goal : cursor, w, out);
}

static int reserve_once(struct fs *fs, unsigned flags, uint64_t goal, uint64_t want,
			uint64_t min, struct run *out)
{
	struct alloc *a = fs->alloc;
	_Atomic uint64_t *cursor = cursor_of(a, flags);
	uint64_t start = atomic_load(cursor) % fs->geo.nr_blocks;
	struct want w = { .min = min, .align = flags & ALLOC_ALIGN, .exact = flags & ALLOC_EXACT };
	int err;

	if (ALLOC_ROOM_OF(flags))
		w.room = 1ull << ALLOC_ROOM_OF(flags);
	learn_bad(fs);
	w.want = promise(fs, flags, min64(want, PMEMFS_GROUP_BLOCKS), min);
	if (!w.want)
		return -ENOSPC;
	err = place(fs, goal < fs->geo.nr_blocks ? goal : 0, start, &w, out);
	atomic_fetch_add(&a->free, (int64_t)(w.want - (err ? 0 : out->len)));
	if (err)
		return err;
	atomic_fetch_add(&a->reserved, (int64_t)out->len);
	if (out->blk != goal)			/* somebody went on from where he was */
		atomic_store_explicit(cursor, out->blk + out->len + w.room,
				      memory_order_relaxed);
	return 0;
}

int alloc_reserve(struct fs *fs, unsigned flags, uint64_t goal, uint64_t want,
		  uint64_t min, struct run *out)
{
	int err = reserve_once(fs, flags, goal, want, min, out);

	assert(min > 0 && want >= min);
	if (err != -ENOSPC || flags & ALLOC_EXACT || !alloc_quarantined(fs))
		return err;
	err = redo_checkpoint(fs, false);	/* L4: quarantine is space, too */
	return err ? err : reserve_once(fs, flags, goal, want, min, out);
}

/* ---- giving back ------------------------------------------------------------------ */

static uint64_t count_busy(const uint64_t *w, uint32_t b, uint64_t n)
{
	uint64_t set = 0;

	for (; n; b++, n--)
		set += bit_get(w, b);
	return set;
}

/* P2. Returns how many it cleared: all, but for P6 and P7. */
static uint64_t clear_busy(struct fs *fs, struct run r)
{
	uint64_t n, k, all = 0, lost = 0, want = r.len, first = r.blk;

	for (; r.len; r.blk += n, r.len -= n) {
		uint32_t bit = r.blk % PMEMFS_GROUP_BLOCKS;
		struct group *gr = &fs->alloc->group[r.blk / PMEMFS_GROUP_BLOCKS];

		n = min64(r.len, PMEMFS_GROUP_BLOCKS - bit);
		contend_lock(fs, &gr->lock, COUNT_WAIT_GROUP);
		assert(gr->busy);
		k = bits_all_set(gr->busy, bit, n) ? n : count_busy(gr->busy, bit, n);
		bits_set(gr->busy, bit, n, false);
		gr->free += (uint32_t)k;
		all += k;
		k = keep_lost(gr, bit, n);
		gr->free -= (uint32_t)k;
		gr->longest = gr->free;
		pthread_mutex_unlock(&gr->lock);
		lost += k;
	}
	atomic_fetch_add(&fs->alloc->held, (int64_t)lost);
	if (all != want)
		damaged(fs, blk_off(first), "a block was freed by two owners");	/* P6 */
	return all - lost;
}

void alloc_unreserve(struct fs *fs, struct run r)
{
	atomic_fetch_add(&fs->alloc->free, (int64_t)clear_busy(fs, r));
	atomic_fetch_sub(&fs->alloc->reserved, (int64_t)r.len);
}

void alloc_used(struct fs *fs, struct run r)
{
	atomic_fetch_sub(&fs->alloc->reserved, (int64_t)r.len);
}

void alloc_freed(struct fs *fs, struct run r)
{
	atomic_fetch_add(&fs->alloc->free, (int64_t)clear_busy(fs, r));
}

int alloc_check_used(struct fs *fs, struct run r)
{
	uint64_t n;
	int err = 0;

	if (r.blk < fs->geo.data_blk || r.len > fs->geo.nr_blocks ||
	    r.blk + r.len > fs->geo.nr_blocks - 1)
		return damaged(fs, blk_off(r.blk), "blocks outside the data area were to be freed");
	for (; r.len && !err; r.blk += n, r.len -= n) {
		uint32_t g = (uint32_t)(r.blk / PMEMFS_GROUP_BLOCKS);
		uint32_t bit = r.blk % PMEMFS_GROUP_BLOCKS;
		const uint64_t *map = pm_at(fs->pm, bitmap_off(fs, g), PMEMFS_BLOCK_SIZE);

		n = min64(r.len, PMEMFS_GROUP_BLOCKS - bit);
		contend_lock(fs, &fs->alloc->group[g].lock, COUNT_WAIT_GROUP);
		err = group_load(fs, g);
		if (!err && !bits_all_set(map, bit, n))
			err = damaged(fs, blk_off(r.blk), "a block in use is marked free");
		pthread_mutex_unlock(&fs->alloc->group[g].lock);
	}
	return err;
}

void alloc_quarantine(struct fs *fs, struct run r, uint64_t seq)
{
	struct alloc *a = fs->alloc;
	struct waiting *grown;

	contend_lock(fs, &a->wait_lock, COUNT_WAIT_QUARANTINE);
	if (a->nr_wait == a->room) {
		a->room = a->room ? a->room * 2 : 256;
		grown = realloc(a->wait, a->room * sizeof(*grown));
		if (!grown) {		/* busy until the next mount: safe, only lost */
			a->room = a->nr_wait;
			pthread_mutex_unlock(&a->wait_lock);
			return;
		}
		a->wait = grown;
	}
	a->wait[a->nr_wait++] = (struct waiting){ r, seq };
	atomic_fetch_add(&a->quarantined, (int64_t)r.len);
	pthread_mutex_unlock(&a->wait_lock);
}

void alloc_release(struct fs *fs, uint64_t seq)
{
	struct alloc *a = fs->alloc;
	size_t i, kept = 0;

	contend_lock(fs, &a->wait_lock, COUNT_WAIT_QUARANTINE);
	for (i = 0; i < a->nr_wait; i++) {
		if (a->wait[i].seq > seq) {
			a->wait[kept++] = a->wait[i];
			continue;
		}
		atomic_fetch_add(&a->free, (int64_t)clear_busy(fs, a->wait[i].r));
		atomic_fetch_sub(&a->quarantined, (int64_t)a->wait[i].r.len);
	}
	a->nr_wait = kept;
	pthread_mutex_unlock(&a->wait_lock);
}

static uint64_t at_least_0(int64_t v) { return v > 0 ? (uint64_t)v : 0; }

uint64_t alloc_free_blocks(struct fs *fs)
{
	return at_least_0(atomic_load(&fs->alloc->free) + atomic_load(&fs->alloc->quarantined));
}

uint64_t alloc_avail_blocks(struct fs *fs)
{
	return at_least_0((int64_t)alloc_free_blocks(fs) -
			  (int64_t)(fs->geo.reserve + fs->geo.root_reserve));
}

uint64_t alloc_our_blocks(struct fs *fs)
{
	return at_least_0((int64_t)alloc_free_blocks(fs) - to_keep(fs));
}

uint64_t alloc_quarantined(struct fs *fs)
{
	return at_least_0(atomic_load(&fs->alloc->quarantined));
}

uint64_t alloc_reserved(struct fs *fs)
{
	return at_least_0(atomic_load(&fs->alloc->reserved));
}

void alloc_get_state(struct fs *fs, struct alloc_state *out)
{
	struct alloc *a = fs->alloc;
	uint32_t i;

	*out = (struct alloc_state){ .windows = WINDOWS };
	for (i = 0; i < WINDOWS; i++)
		out->used_windows += atomic_load(&a->window[i].cursor) != first_cursor(fs, i);
	for (i = 0; i < fs->geo.nr_groups; i++)
		out->loaded += __atomic_load_n(&a->group[i].busy, __ATOMIC_RELAXED) != NULL;
}
