/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn.c - decide in DRAM, commit with one record
 *
 * A transaction keeps shadows (DRAM copies of sealed objects), zero runs,
 * raw bytes and runs of bits. txn_commit() compares each shadow with the
 * medium and turns the difference into forms, so a record holds exactly what
 * changed, and nothing that changed can be left out of it.
 *
 * Order inside txn_commit (the numbers are those of LOG.md in pmemfs.7):
 *   L5  data copied by this operation are durable        (fence, if asked)
 *   L1  lane, sequence number, record, fence             (redo.c)
 *   L2  the same stores in place, only now visible
 *   L11 the lane's bound is cleared: the horizon may pass
 *   L3  freed data blocks become free, freed metadata blocks are quarantined
 *       (L4), reservations end, locks held by the transaction are released
 *
 * Forms are emitted in this order: zero runs, bytes, bits. Within a record a
 * later form may overwrite an earlier one; applying it twice gives the same
 * bytes (L7).
 */
#include "meta/txn.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "meta/apply.h"
#include "meta/inode.h"
#include "meta/redo.h"

#define MAX_ZEROS	20u
#define MAX_RAWS	4u
#define MAX_BITS	8u
#define MAX_ENDS	12u
#define GAP		16u		/* a form header: cheaper to bridge */

struct shadow {
	uint64_t off;
	uint32_t len;
	bool fresh;			/* the medium counts as zeros */
	bool dropped;
	uint8_t *buf;
};

struct trun {
	struct run r;
	enum txn_kind kind;
	bool lent;			/* reserved by the caller */
};

struct txn {
	struct fs *fs;
	struct txn *next;		/* in the cache */
	enum pmemfs_op op;
	int err;
	bool data_first;
	bool may_reserve;		/* freeing work: may dip into the reserve */
	bool uncut;			/* too large is -ENOSPC, not a bug */
	uint64_t mark;			/* pm_fault_mark at the start */
	unsigned nr_shadows, nr_zeros, nr_raws, nr_allocs, nr_frees, nr_bits, nr_ends;
	uint64_t freed_blocks;
	struct shadow shadow[TXN_MAX_SHADOWS];
	struct { uint64_t off; uint64_t len; } zero[MAX_ZEROS];
	struct { uint64_t off; uint32_t len; uint8_t b[32]; } raw[MAX_RAWS];
	struct { uint64_t off; unsigned bit; bool set; } bits[MAX_BITS];
	struct trun alloc[TXN_MAX_RUNS];
	struct trun free[TXN_MAX_RUNS];
	struct { void (*fn)(struct fs *, void *, bool); void *arg; } end[MAX_ENDS];
	void (*before)(struct fs *);
	size_t arena_used;
	uint8_t *arena;			/* shadows live here */
	uint8_t *rec;			/* TXN_MAX_RECORD bytes */
	size_t rec_len;
	unsigned nr_forms;
};

#define ARENA	((size_t)TXN_MAX_SHADOWS * PMEMFS_BLOCK_SIZE)

/* Each thread gets the one back that it used last; others wait in a list. */
struct txn_cache {
	struct { _Alignas(64) struct txn *_Atomic t; } mine[COUNT_ROWS];
	pthread_mutex_t lock;
	struct txn *free;		/* under lock */
};

/* ---- life --------------------------------------------------------------- */

int txn_cache_open(struct fs *fs)
{
	fs->txns = aligned_alloc(_Alignof(struct txn_cache), sizeof(*fs->txns));
	if (!fs->txns)
		return -ENOMEM;
	memset(fs->txns, 0, sizeof(*fs->txns));
	pthread_mutex_init(&fs->txns->lock, NULL);
	return 0;
}

static void txn_free_memory(struct txn *t)
{
	free(t->arena);
	free(t->rec);
	free(t);
}

void txn_cache_close(struct fs *fs)
{
	struct txn *t, *next;

	if (!fs->txns)
		return;
	for (unsigned i = 0; i < COUNT_ROWS; i++)
		if (fs->txns->mine[i].t)
			txn_free_memory(fs->txns->mine[i].t);
	for (t = fs->txns->free; t; t = next) {
		next = t->next;
		txn_free_memory(t);
	}
	pthread_mutex_destroy(&fs->txns->lock);
	free(fs->txns);
	fs->txns = NULL;
}

static struct txn *txn_new_memory(void)
{
	struct txn *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->arena = malloc(ARENA);
	t->rec = aligned_alloc(PMEMFS_LINE, TXN_MAX_RECORD);
	if (!t->arena || !t->rec) {
		txn_free_memory(t);
		return NULL;
	}
	return t;
}

static bool op_may_reserve(enum pmemfs_op op)
{
	switch (op) {
	case PMEMFS_OP_UNLINK:
	case PMEMFS_OP_RMDIR:
	case PMEMFS_OP_RENAME:
	case PMEMFS_OP_TRUNCATE:
	case PMEMFS_OP_SETATTR:
	case PMEMFS_OP_REMOVEXATTR:
	case PMEMFS_OP_EVICT:
	case PMEMFS_OP_ATIME:
	case PMEMFS_OP_REPAIR:
		return true;
	default:
		return false;
	}
}

static struct txn *txn_get(struct txn_cache *c)
{
	struct txn *t = atomic_exchange(&c->mine[count_row()].t, NULL);

	if (t)
		return t;
	pthread_mutex_lock(&c->lock);
	t = c->free;
	if (t)
		c->free = t->next;
	pthread_mutex_unlock(&c->lock);
	return t ? t : txn_new_memory();
}

static void txn_put(struct txn_cache *c, struct txn *t)
{
	t = atomic_exchange(&c->mine[count_row()].t, t);
	if (!t)
		return;
	pthread_mutex_lock(&c->lock);
	t->next = c->free;
	c->free = t;
	pthread_mutex_unlock(&c->lock);
}

struct txn *txn_begin(struct fs *fs, enum pmemfs_op op)
{
	struct txn *t = txn_get(fs->txns);

	if (!t)
		return NULL;
	t->fs = fs;
	t->op = op;
	t->err = 0;
	t->data_first = false;
	t->may_reserve = op_may_reserve(op);
	t->uncut = false;
	t->mark = pm_fault_mark(fs->pm);
	t->nr_shadows = t->nr_zeros = t->nr_raws = t->nr_allocs = 0;
	t->nr_frees = t->nr_bits = t->nr_ends = 0;
	t->freed_blocks = 0;
	t->arena_used = 0;
	t->before = NULL;
	return t;
}

static void txn_done(struct txn *t, bool committed)
{
	unsigned i;

	for (i = t->nr_ends; i-- > 0; )
		t->end[i].fn(t->fs, t->end[i].arg, committed);
	txn_put(t->fs->txns, t);
}

void txn_abort(struct txn *t)
{
	unsigned i;

	/* L20: bytes copied to blocks that somebody else may get next must have
	 * left this CPU's buffers, or they could still land on top. */
	if (t->nr_allocs && pm_fence(t->fs->pm))
		fs_shutdown(t->fs, "the medium refused a fence");	/* L6 */
	for (i = 0; i < t->nr_allocs; i++)
		if (!t->alloc[i].lent)
			alloc_unreserve(t->fs, t->alloc[i].r);
	txn_done(t, false);
}

void txn_fail(struct txn *t, int err)
{
	if (!t->err)
		t->err = err;
}

/* A record cannot hold it all. */
static void txn_full(struct txn *t, const char *what)
{
	if (!t->uncut && !t->err)
		log_err("bug: an operation (%d) %s", t->op, what);
	txn_fail(t, t->uncut ? -ENOSPC : -EIO);
}

int txn_error(const struct txn *t) { return t->err; }
struct fs *txn_fs(const struct txn *t) { return t->fs; }
void txn_data_first(struct txn *t) { t->data_first = true; }
void txn_allow_reserve(struct txn *t) { t->may_reserve = true; }
void txn_uncut(struct txn *t) { t->uncut = true; }

void txn_at_end(struct txn *t, void (*fn)(struct fs *, void *, bool), void *arg)
{
	assert(t->nr_ends < MAX_ENDS);
	t->end[t->nr_ends].fn = fn;
	t->end[t->nr_ends++].arg = arg;
}

void txn_before_record(struct txn *t, void (*fn)(struct fs *))
{
	assert(!t->before);
	t->before = fn;
}

/* ---- shadows -------------------------------------------------------------- */

static struct shadow *shadow_find(struct txn *t, uint64_t off)
{
	unsigned i;

	for (i = t->nr_shadows; i-- > 0; )
		if (t->shadow[i].off == off && !t->shadow[i].dropped)
			return &t->shadow[i];
	return NULL;
}

/* The place of one that was dropped, or a new one: a record may free more
 * nodes than it can change. */
static struct shadow *shadow_place(struct txn *t, size_t len)
{
	struct shadow *s;
	unsigned i;

	for (i = 0; i < t->nr_shadows; i++)
		if (t->shadow[i].dropped && t->shadow[i].len == len)
			return &t->shadow[i];
	if (t->nr_shadows == TXN_MAX_SHADOWS || t->arena_used + len > ARENA)
		return NULL;
	s = &t->shadow[t->nr_shadows++];
	s->len = (uint32_t)len;
	s->buf = t->arena + t->arena_used;
	t->arena_used += align_up(len, PMEMFS_LINE);
	return s;
}

static struct shadow *shadow_add(struct txn *t, uint64_t off, size_t len, bool fresh)
{
	struct shadow *s = shadow_place(t, len);

	if (!s) {
		txn_full(t, "touches too many objects");
		return NULL;
	}
	s->off = off;
	s->fresh = fresh;
	s->dropped = false;
	return s;
}

void *txn_edit(struct txn *t, uint64_t off, size_t len)
{
	struct shadow *s;

	if (t->err)
		return NULL;
	s = shadow_find(t, off);
	if (s && s->len != len) {
		txn_fail(t, damaged(t->fs, off, "a tree node and an inode in one place"));
		return NULL;
	}
	if (s)
		return s->buf;
	s = shadow_add(t, off, len, false);
	if (!s)
		return NULL;
	memcpy(s->buf, pm_at(t->fs->pm, off, len), len);
	return s->buf;
}

void *txn_new(struct txn *t, uint64_t off, size_t len)
{
	struct shadow *s;

	if (t->err)
		return NULL;
	s = shadow_add(t, off, len, true);
	if (!s)
		return NULL;
	memset(s->buf, 0, len);
	return s->buf;
}

const void *txn_view(struct txn *t, uint64_t off, size_t len)
{
	struct shadow *s = t ? shadow_find(t, off) : NULL;

	if (s)
		return s->buf;
	return t ? pm_at(t->fs->pm, off, len) : NULL;
}

bool txn_has_shadow(struct txn *t, uint64_t off)
{
	return shadow_find(t, off) != NULL;
}

void txn_drop(struct txn *t, uint64_t off)
{
	struct shadow *s = shadow_find(t, off);

	if (s)
		s->dropped = true;
}

void txn_zero(struct txn *t, uint64_t off, size_t len)
{
	assert(t->nr_zeros < MAX_ZEROS);
	t->zero[t->nr_zeros].off = off;
	t->zero[t->nr_zeros++].len = len;
}

void txn_bytes(struct txn *t, uint64_t off, const void *src, size_t len)
{
	assert(t->nr_raws < MAX_RAWS && len <= sizeof(t->raw[0].b));
	t->raw[t->nr_raws].off = off;
	t->raw[t->nr_raws].len = (uint32_t)len;
	memcpy(t->raw[t->nr_raws++].b, src, len);
}

void txn_chunk_bit(struct txn *t, uint64_t used_off, unsigned bit, bool set)
{
	assert(t->nr_bits < MAX_BITS);
	t->bits[t->nr_bits].off = used_off;
	t->bits[t->nr_bits].bit = bit;
	t->bits[t->nr_bits++].set = set;
}

/* ---- blocks --------------------------------------------------------------- */

int txn_alloc(struct txn *t, enum txn_kind kind, unsigned flags, uint64_t goal,
	      uint64_t want, uint64_t min, struct run *out)
{
	int err;

	if (t->err)
		return t->err;
	if (t->nr_allocs == TXN_MAX_RUNS)
		return -ENOSPC;		/* callers cut their work before this */
	if (t->may_reserve)
		flags |= ALLOC_META;
	if (kind == TXN_META)
		flags |= ALLOC_NODE;
	err = alloc_reserve(t->fs, flags, goal, want, min, out);
	if (err)
		return err;
	t->alloc[t->nr_allocs++] = (struct trun){ *out, kind, false };
	return 0;
}

int txn_lend(struct txn *t, enum txn_kind kind, struct run r)
{
	if (t->err)
		return t->err;
	if (t->nr_allocs == TXN_MAX_RUNS)
		return -ENOSPC;
	t->alloc[t->nr_allocs++] = (struct trun){ r, kind, true };
	return 0;
}

/* A block this very transaction allocated: nothing to log. */
static bool free_own(struct txn *t, struct run r)
{
	unsigned i;

	for (i = 0; i < t->nr_allocs; i++) {
		if (t->alloc[i].r.blk != r.blk || t->alloc[i].r.len != r.len)
			continue;
		assert(!t->alloc[i].lent);
		alloc_unreserve(t->fs, r);
		t->alloc[i] = t->alloc[--t->nr_allocs];
		return true;
	}
	return false;
}

bool txn_can_free(const struct txn *t, uint64_t blocks)
{
	uint64_t forms = blocks / PMEMFS_GROUP_BLOCKS + 2;

	return t->nr_frees + 1 + forms <= TXN_FREE_RUNS + TXN_FREE_RUNS / 2 &&
	       t->freed_blocks + blocks <= TXN_FREE_BLOCKS &&
	       t->nr_shadows + 24 <= TXN_MAX_SHADOWS;
}

unsigned txn_room_to_free(const struct txn *t)
{
	unsigned limit = TXN_FREE_RUNS + TXN_FREE_RUNS / 2;

	return t->nr_frees < limit && txn_can_free(t, 1) ? limit - t->nr_frees : 0;
}

/* Two owners in one inode: the bitmap cannot tell before the record is applied. */
static bool freed_already(const struct txn *t, struct run r)
{
	unsigned i;

	for (i = 0; i < t->nr_frees; i++)
		if (r.blk < t->free[i].r.blk + t->free[i].r.len &&
		    t->free[i].r.blk < r.blk + r.len)
			return true;
	return false;
}

int txn_free(struct txn *t, enum txn_kind kind, struct run r)
{
	int err;

	if (t->err)
		return t->err;
	if (free_own(t, r))
		return 0;
	if (t->nr_frees == TXN_MAX_RUNS) {
		txn_full(t, "frees too many runs");
		return t->err;
	}
	err = alloc_check_used(t->fs, r);
	if (!err && freed_already(t, r))
		err = damaged(t->fs, blk_off(r.blk), "a block belongs to two places of one inode");
	if (err) {
		txn_fail(t, err);
		return err;
	}
	t->free[t->nr_frees].r = r;
	t->free[t->nr_frees++].kind = kind;
	t->freed_blocks += r.len;
	return 0;
}

/* ---- building the record ---------------------------------------------------- */

static void emit(struct txn *t, uint64_t off, uint32_t len, enum pmemfs_form_kind kind,
		 uint16_t bit, const void *bytes)
{
	size_t pad = kind == PMEMFS_FORM_BYTES ? align_up(len, 8) : 0;
	struct pmemfs_form *f = (struct pmemfs_form *)(t->rec + t->rec_len);

	if (t->rec_len + sizeof(*f) + pad > TXN_MAX_RECORD - PMEMFS_LINE) {
		txn_full(t, "has too large a record");
		return;
	}
	f->off = put64(off);
	f->len = put32(len);
	f->kind = put16((uint16_t)kind);
	f->bit = put16(bit);
	if (pad) {
		memcpy(f + 1, bytes, len);
		memset((uint8_t *)(f + 1) + len, 0, pad - len);
	}
	t->rec_len += sizeof(*f) + pad;
	t->nr_forms++;
}

static void emit_diff(struct txn *t, const struct shadow *s)
{
	static const uint8_t zeros[PMEMFS_BLOCK_SIZE];
	const uint8_t *old = s->fresh ? zeros : pm_at(t->fs->pm, s->off, s->len);
	size_t i = 0, start, end;

	while (i < s->len) {
		if (!memcmp(s->buf + i, old + i, 8)) {
			i += 8;
			continue;
		}
		start = i;
		end = i + 8;
		for (i = end; i < s->len && i < end + GAP; i += 8)
			if (memcmp(s->buf + i, old + i, 8))
				end = i + 8;
		emit(t, s->off + start, (uint32_t)(end - start), PMEMFS_FORM_BYTES, 0,
		     s->buf + start);
		i = end;
	}
}

/* A run of blocks as runs of bits, one group at a time. */
static void emit_run(struct txn *t, struct run r, enum pmemfs_form_kind kind)
{
	uint64_t n;
	uint32_t bit;

	for (; r.len; r.blk += n, r.len -= n) {
		bit = r.blk % PMEMFS_GROUP_BLOCKS;
		n = min64(r.len, PMEMFS_GROUP_BLOCKS - bit);
		emit(t, blk_off(t->fs->geo.bitmap_blk + r.blk / PMEMFS_GROUP_BLOCKS),
		     (uint32_t)n, kind, (uint16_t)bit, NULL);
	}
}

static void seal(struct shadow *s)
{
	le32 crc = put32(seal_crc(s->buf, s->len, s->off));

	memcpy(s->buf, &crc, sizeof(crc));
}

static void build(struct txn *t)
{
	unsigned i;

	t->rec_len = sizeof(struct pmemfs_record);
	t->nr_forms = 0;
	for (i = 0; i < t->nr_zeros; i++)
		emit(t, t->zero[i].off, (uint32_t)t->zero[i].len, PMEMFS_FORM_ZERO, 0, NULL);
	for (i = 0; i < t->nr_shadows; i++)
		if (t->shadow[i].fresh && !t->shadow[i].dropped)
			emit(t, t->shadow[i].off, t->shadow[i].len, PMEMFS_FORM_ZERO, 0, NULL);
	for (i = 0; i < t->nr_raws; i++)
		emit(t, t->raw[i].off, t->raw[i].len, PMEMFS_FORM_BYTES, 0, t->raw[i].b);
	for (i = 0; i < t->nr_shadows; i++) {
		if (t->shadow[i].dropped)
			continue;
		seal(&t->shadow[i]);
		emit_diff(t, &t->shadow[i]);
	}
	for (i = 0; i < t->nr_allocs; i++)
		emit_run(t, t->alloc[i].r, PMEMFS_FORM_SET);
	for (i = 0; i < t->nr_frees; i++)
		emit_run(t, t->free[i].r, PMEMFS_FORM_CLEAR);
	for (i = 0; i < t->nr_bits; i++)
		emit(t, t->bits[i].off, 1, t->bits[i].set ? PMEMFS_FORM_SET : PMEMFS_FORM_CLEAR,
		     (uint16_t)t->bits[i].bit, NULL);
}

static int32_t inode_delta(const struct txn *t)
{
	int32_t d = 0;
	unsigned i;

	for (i = 0; i < t->nr_bits; i++)
		if (t->bits[i].bit)		/* bit 0 is the chunk header itself */
			d += t->bits[i].set ? 1 : -1;
	return d;
}

static int64_t block_delta(const struct txn *t)
{
	int64_t d = 0;
	unsigned i;

	for (i = 0; i < t->nr_allocs; i++)
		d -= (int64_t)t->alloc[i].r.len;
	for (i = 0; i < t->nr_frees; i++)
		d += (int64_t)t->free[i].r.len;
	return d;
}

static void head(struct txn *t)
{
	struct pmemfs_record *rec = (struct pmemfs_record *)t->rec;
	size_t padded = align_up(t->rec_len, PMEMFS_LINE);

	memset(rec, 0, sizeof(*rec));
	memset(t->rec + t->rec_len, 0, padded - t->rec_len);
	rec->len = put32((uint32_t)t->rec_len);
	rec->dblocks = put64((uint64_t)block_delta(t));
	rec->dinodes = put32((uint32_t)inode_delta(t));
	rec->nr_forms = put16((uint16_t)t->nr_forms);
	rec->op = put16((uint16_t)t->op);
}

/* ---- commit ----------------------------------------------------------------- */

/* What was promised in DRAM becomes so (L3, L4). */
static void settle(struct txn *t, uint64_t seq)
{
	unsigned i;

	for (i = 0; i < t->nr_allocs; i++)
		alloc_used(t->fs, t->alloc[i].r);
	for (i = 0; i < t->nr_frees; i++) {
		if (t->free[i].kind == TXN_DATA)
			alloc_freed(t->fs, t->free[i].r);
		else
			alloc_quarantine(t->fs, t->free[i].r, seq);
	}
	itable_add_used(t->fs, inode_delta(t));
}

static int commit_record(struct txn *t)
{
	struct fs *fs = t->fs;
	struct lane *lane;
	uint64_t seq, touched;
	int err;

	if (t->before)
		t->before(fs);
	err = redo_lane_get(fs, t->rec_len, &lane);
	if (err)
		return err;
	if (t->data_first && pm_fence(fs->pm)) {	/* L5: data before their record */
		fs_shutdown(fs, "the medium refused to make data durable");
		redo_lane_put(lane);
		return -EIO;
	}
	if (pm_faulted(fs->pm, t->mark)) {		/* last exit before the draw */
		redo_lane_put(lane);
		return -EIO;
	}
	err = redo_commit(lane, (struct pmemfs_record *)t->rec, &seq);
	if (err)
		return err;
	touched = apply_record(fs->pm, (struct pmemfs_record *)t->rec);
	if (pm_faulted(fs->pm, t->mark)) {		/* L6 */
		fs_shutdown(fs, "the medium failed while a committed change was put in place");
		return -EIO;
	}
	redo_applied(lane, touched);
	settle(t, seq);
	return 0;
}

int txn_commit(struct txn *t)
{
	struct fs *fs = t->fs;
	int err = t->err;

	if (!err && !fs_writable(fs))
		err = -EROFS;
	if (!err && pm_faulted(fs->pm, t->mark))
		err = -EIO;
	if (!err) {
		build(t);
		err = t->err;
	}
	if (!err && t->nr_forms) {
		head(t);
		err = commit_record(t);
	}
	if (err) {
		txn_abort(t);
		return err;
	}
	txn_done(t, true);
	return 0;
}
