/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * itable.c - the inode table: a file of 256-byte slots that only grows
 *
 *   I1  A slot is found through the table's own extents. Where its blocks are
 *       never changes (the table does not shrink, L16), so the answer is kept
 *       in DRAM for ever, chunk by chunk, as they are asked for.
 *   I2  A slot is free when its bit in the chunk header is clear. Bits change
 *       through the log only; DRAM adds the slots promised to transactions
 *       that have not ended (L1, L3).
 *   I3  Slots are taken with a cursor that walks the table, so a number freed
 *       just now comes back late (L16); its generation goes up every time,
 *       and a slot at the largest generation is never freed again.
 *   I4  A chunk's first use in this mount compares the header's checksum,
 *       before any record of this mount changes the header (as P3 in alloc.c).
 *       Chunks that this mount added are not compared: the checkpoint derives.
 *   I5  The table grows inside the transaction that needs the slot: the new
 *       chunk is a zero run and a few bytes of its record, no fence of its own.
 *       `grow` is held until that transaction ends (L2); the lock of the table
 *       itself, which readers of its extents take, only from before the record
 *       to its end, when the transaction waits for no lock any more.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "meta/chunk.h"
#include "meta/contend.h"
#include "meta/extent.h"

#define SEG_CHUNKS	4096u
#define MAX_CHUNKS	(1ull << (PMEMFS_INO_BITS - 8))
#define SCAN_CHUNKS	64u		/* headers looked at before growing */
#define CHUNK_BYTES	((uint64_t)PMEMFS_CHUNK_BLOCKS * PMEMFS_BLOCK_SIZE)

struct chunk {
	uint64_t blk[PMEMFS_CHUNK_BLOCKS];	/* (c) I1 */
	uint64_t promised[4];			/* (a) I2 */
};

struct itable {
	struct inode self;			/* the table as a file */
	pthread_mutex_t load;			/* (l) filling of seg[] */
	pthread_mutex_t pick;			/* (a) choosing slots */
	pthread_mutex_t grow;			/* (g) held until the growing txn ends */
	bool applying;				/* (g) self.lock is held exclusively */
	_Atomic uint64_t nr_chunks;
	uint64_t nr_at_open;			/* (c) later ones are ours: I4 */
	_Atomic int64_t used;
	uint64_t cursor;			/* (a) slot to look at next */
	struct chunk **_Atomic seg[MAX_CHUNKS / SEG_CHUNKS];
};

int itable_open(struct fs *fs)
{
	uint64_t off = blk_off(PMEMFS_BLK_SYSTEM) + offsetof(struct pmemfs_system, itable);
	const struct pmemfs_inode *mi = pm_at(fs->pm, off, sizeof(*mi));
	struct itable *it;
	uint64_t size = get64(mi->size);

	if (get32(mi->crc) != seal_crc(mi, PMEMFS_INODE_SEALED, off))
		return damaged(fs, off, "the inode table's own inode: wrong checksum");
	if (!size || size % CHUNK_BYTES || size / CHUNK_BYTES > MAX_CHUNKS ||
	    size > blk_off(fs->geo.nr_blocks))
		return damaged(fs, off, "the inode table has an impossible size");
	it = calloc(1, sizeof(*it));
	if (!it)
		return -ENOMEM;
	it->self.fs = fs;
	it->self.off = off;
	pthread_rwlock_init(&it->self.lock, NULL);
	pthread_mutex_init(&it->load, NULL);
	pthread_mutex_init(&it->pick, NULL);
	pthread_mutex_init(&it->grow, NULL);
	it->nr_chunks = it->nr_at_open = size / CHUNK_BYTES;
	fs->itable = it;
	return 0;
}

void itable_close(struct fs *fs)
{
	struct itable *it = fs->itable;
	struct chunk **seg;
	uint64_t s, c, end;

	if (!it)
		return;
	end = min64(DIV_UP(atomic_load(&it->nr_chunks), SEG_CHUNKS), ARRAY_SIZE(it->seg));
	for (s = 0; s < end; s++) {
		seg = atomic_load(&it->seg[s]);
		if (!seg)
			continue;
		for (c = 0; c < SEG_CHUNKS && s * SEG_CHUNKS + c < it->nr_chunks; c++)
			free(seg[c]);
		free(seg);
	}
	pthread_rwlock_destroy(&it->self.lock);
	pthread_mutex_destroy(&it->load);
	pthread_mutex_destroy(&it->pick);
	pthread_mutex_destroy(&it->grow);
	free(it);
	fs->itable = NULL;
}

uint64_t itable_used(struct fs *fs)
{
	int64_t n = atomic_load(&fs->itable->used);

	return n > 0 ? (uint64_t)n : 0;
}

uint64_t itable_slots(struct fs *fs)
{
	return atomic_load(&fs->itable->nr_chunks) * PMEMFS_CHUNK_INODES;
}

void itable_add_used(struct fs *fs, int64_t delta)
{
	atomic_fetch_add(&fs->itable->used, delta);
}

/* ---- chunks ------------------------------------------------------------------------ */

void itable_derive(struct fs *fs, uint64_t off)
{
	struct pmemfs_chunk h;
	struct { le32 crc, free; } d;

	memcpy(&h, pm_at(fs->pm, off, sizeof(h)), sizeof(h));	/* one picture */
	d.crc = put32(chunk_crc(&h, off));
	d.free = put32(chunk_free(&h));
	pm_write(fs->pm, off + offsetof(struct pmemfs_chunk, crc), &d, sizeof(d));
	pm_flush(fs->pm, off + offsetof(struct pmemfs_chunk, crc), sizeof(d));
}

static int chunk_check(struct fs *fs, uint64_t c, uint64_t off)
{
	const struct pmemfs_chunk *h = pm_at(fs->pm, off, sizeof(*h));

	if (get32(h->magic) != PMEMFS_CHUNK_MAGIC || get64(h->first) != c * PMEMFS_CHUNK_INODES ||
	    !(h->used[0] & 1))
		return damaged(fs, off, "inode chunk %llu: bad header", (unsigned long long)c);
	if (get32(h->crc) != chunk_crc(h, off) || get32(h->free) != chunk_free(h))
		return damaged(fs, off, "inode chunk %llu: its checksum is wrong",
			       (unsigned long long)c);
	return 0;
}

/* I1, I4. The table's lock is held, shared at least, and load. */
static int chunk_load(struct fs *fs, uint64_t c, struct chunk **out)
{
	struct itable *it = fs->itable;
	struct chunk *ch = calloc(1, sizeof(*ch));
	struct extent e = { .len = 0 };
	unsigned i;
	int err = 0;

	if (!ch)
		return -ENOMEM;
	for (i = 0; i < PMEMFS_CHUNK_BLOCKS && !err; i++) {
		err = extent_at(NULL, &it->self, c * PMEMFS_CHUNK_BLOCKS + i, &e);
		if (!err && (!e.pool || e.unwritten))
			err = damaged(fs, it->self.off, "the inode table has a hole at chunk %llu",
				      (unsigned long long)c);
		ch->blk[i] = e.pool;
	}
	if (!err && c < it->nr_at_open && !fs->opt.salvage && !fs->opt.norecovery)
		err = chunk_check(fs, c, blk_off(ch->blk[0]));
	if (err) {
		free(ch);
		return err;
	}
	*out = ch;
	return 0;
}

static int chunk_get_slow(struct fs *fs, uint64_t c, struct chunk **out)
{
	struct chunk **seg = atomic_load(&fs->itable->seg[c / SEG_CHUNKS]);
	int err;

	if (!seg) {
		seg = calloc(SEG_CHUNKS, sizeof(struct chunk *));
		if (!seg)
			return -ENOMEM;
		atomic_store(&fs->itable->seg[c / SEG_CHUNKS], seg);
	}
	*out = __atomic_load_n(&seg[c % SEG_CHUNKS], __ATOMIC_ACQUIRE);
	if (*out)
		return 0;
	err = chunk_load(fs, c, out);
	if (!err)
		__atomic_store_n(&seg[c % SEG_CHUNKS], *out, __ATOMIC_RELEASE);
	return err;
}

/* Locks: the table's, then load; neither is held while anything else is. */
static int chunk_get(struct fs *fs, uint64_t c, struct chunk **out)
{
	struct itable *it = fs->itable;
	struct chunk **seg = atomic_load(&it->seg[c / SEG_CHUNKS]);
	int err;

	if (seg && (*out = __atomic_load_n(&seg[c % SEG_CHUNKS], __ATOMIC_ACQUIRE)))
		return 0;
	pthread_rwlock_rdlock(&it->self.lock);
	contend_lock(fs, &it->load, COUNT_WAIT_ITABLE);
	err = chunk_get_slow(fs, c, out);
	pthread_mutex_unlock(&it->load);
	pthread_rwlock_unlock(&it->self.lock);
	return err;
}

static uint64_t slot_off(const struct chunk *ch, unsigned slot)
{
	return blk_off(ch->blk[slot / PMEMFS_INODES_PER_BLOCK]) +
	       slot % PMEMFS_INODES_PER_BLOCK * PMEMFS_INODE_SIZE;
}

int itable_slot(struct fs *fs, uint64_t ino, uint64_t *off)
{
	uint64_t c = ino / PMEMFS_CHUNK_INODES;
	struct chunk *ch;
	int err;

	if (c >= atomic_load(&fs->itable->nr_chunks) || ino % PMEMFS_CHUNK_INODES == 0)
		return -ESTALE;
	err = chunk_get(fs, c, &ch);
	if (!err)
		*off = slot_off(ch, ino % PMEMFS_CHUNK_INODES);
	return err;
}

/* ---- taking a slot ------------------------------------------------------------------- */

static const struct pmemfs_chunk *header_of(struct fs *fs, const struct chunk *ch)
{
	return pm_at(fs->pm, blk_off(ch->blk[0]), sizeof(struct pmemfs_chunk));
}

/* I2. A free slot of the chunk at or behind `from`, or 0. */
static unsigned chunk_pick(struct fs *fs, const struct chunk *ch, unsigned from)
{
	const struct pmemfs_chunk *h = header_of(fs, ch);
	unsigned w;
	uint64_t v;

	for (w = from / 64; w < 4; w++) {
		v = ~(load64(h->used + w * 8) | ch->promised[w]);
		if (w == from / 64)
			v &= ~0ull << from % 64;
		if (v)
			return w * 64 + (unsigned)__builtin_ctzll(v);
	}
	return 0;
}

static void promise_end(struct fs *fs, void *arg, bool committed)
{
	uint64_t ino = (uint64_t)(uintptr_t)arg;
	struct chunk *ch;

	(void)committed;			/* if so the bit on the medium is set */
	if (chunk_get(fs, ino / PMEMFS_CHUNK_INODES, &ch))
		return;
	contend_lock(fs, &fs->itable->pick, COUNT_WAIT_ITABLE);
	ch->promised[ino % PMEMFS_CHUNK_INODES / 64] &= ~(1ull << ino % 64);
	pthread_mutex_unlock(&fs->itable->pick);
}

/* I3. 0: took one; -ENOSPC: none in the chunks looked at. */
static int pick(struct fs *fs, uint64_t *ino)
{
	struct itable *it = fs->itable;
	uint64_t n = atomic_load(&it->nr_chunks), c;
	unsigned k, slot;
	struct chunk *ch;
	int err = -ENOSPC;

	if (itable_used(fs) >= n * (PMEMFS_CHUNK_INODES - 1))
		return -ENOSPC;
	contend_lock(fs, &it->pick, COUNT_WAIT_ITABLE);
	for (k = 0; k < SCAN_CHUNKS && k <= n; k++) {
		c = it->cursor / PMEMFS_CHUNK_INODES % n;
		err = chunk_get(fs, c, &ch);
		if (err)
			break;
		slot = chunk_pick(fs, ch, it->cursor % PMEMFS_CHUNK_INODES);
		if (slot) {
			*ino = c * PMEMFS_CHUNK_INODES + slot;
			ch->promised[slot / 64] |= 1ull << slot % 64;
			it->cursor = *ino + 1;
			break;
		}
		it->cursor = (c + 1) % n * PMEMFS_CHUNK_INODES;
		err = -ENOSPC;
	}
	pthread_mutex_unlock(&it->pick);
	return err;
}

/* The table's extents are about to change in place. */
static void grow_apply(struct fs *fs)
{
	pthread_rwlock_wrlock(&fs->itable->self.lock);
	fs->itable->applying = true;
}

static void grow_end(struct fs *fs, void *arg, bool committed)
{
	struct itable *it = fs->itable;

	(void)arg;
	if (committed)
		atomic_fetch_add(&it->nr_chunks, 1);
	if (it->applying)
		pthread_rwlock_unlock(&it->self.lock);
	it->applying = false;
	pthread_mutex_lock(&it->pick);
	if (committed)
		it->cursor = (atomic_load(&it->nr_chunks) - 1) * PMEMFS_CHUNK_INODES + 2;
	pthread_mutex_unlock(&it->pick);
	pthread_mutex_unlock(&it->grow);
}

static int grow_blocks(struct txn *t, uint64_t c, uint64_t *first)
{
	struct fs *fs = txn_fs(t);
	struct extent e;
	struct run r;
	uint64_t done, goal;
	int err;

	err = extent_before(t, &fs->itable->self, c * PMEMFS_CHUNK_BLOCKS, &e);
	if (err)
		return err;
	goal = e.pool + e.len;
	for (done = 0; done < PMEMFS_CHUNK_BLOCKS && !err; done += r.len) {
		err = txn_alloc(t, TXN_META, 0, goal, PMEMFS_CHUNK_BLOCKS - done, 1, &r);
		if (err)
			break;
		if (!done)
			*first = r.blk;
		txn_zero(t, blk_off(r.blk), r.len * PMEMFS_BLOCK_SIZE);
		err = extent_insert(t, &fs->itable->self, c * PMEMFS_CHUNK_BLOCKS + done, r, false);
		goal = r.blk + r.len;
	}
	return err;
}

/* I5. The new chunk's slot 1 is ours. */
static int grow(struct txn *t, uint64_t *ino, uint64_t *off)
{
	struct fs *fs = txn_fs(t);
	struct itable *it = fs->itable;
	struct pmemfs_inode *self;
	struct { le32 magic, zero; le64 first; } head;
	uint64_t c = atomic_load(&it->nr_chunks), blk = 0;
	int err;

	txn_before_record(t, grow_apply);
	txn_at_end(t, grow_end, NULL);
	if (c >= MAX_CHUNKS)
		return -ENOSPC;
	err = grow_blocks(t, c, &blk);
	self = inode_edit(t, &it->self);
	if (err || !self)
		return err ? err : txn_error(t);
	self->size = put64((c + 1) * CHUNK_BYTES);
	head.magic = put32(PMEMFS_CHUNK_MAGIC);
	head.zero = put32(0);
	head.first = put64(c * PMEMFS_CHUNK_INODES);
	txn_bytes(t, blk_off(blk), &head, sizeof(head));
	txn_chunk_bit(t, blk_off(blk) + offsetof(struct pmemfs_chunk, used), 0, true);
	txn_chunk_bit(t, blk_off(blk) + offsetof(struct pmemfs_chunk, used), 1, true);
	*ino = c * PMEMFS_CHUNK_INODES + 1;
	*off = blk_off(blk) + PMEMFS_INODE_SIZE;
	return 0;
}

/* The generation behind the one that the slot last had (0: never used). */
static int next_gen(struct fs *fs, uint64_t ino, uint64_t off, uint32_t *gen)
{
	const struct pmemfs_inode *mi = pm_at(fs->pm, off, sizeof(*mi));

	if (get32(mi->mode) || get32(mi->gen) >= PMEMFS_MAX_GEN)
		return damaged(fs, off, "inode %llu is in use but marked free",
			       (unsigned long long)ino);
	if (get32(mi->crc) && get32(mi->crc) != seal_crc(mi, PMEMFS_INODE_SEALED, off))
		return damaged(fs, off, "free inode %llu: wrong checksum", (unsigned long long)ino);
	*gen = get32(mi->gen) + 1;
	return 0;
}

static int take(struct txn *t, uint64_t ino, uint64_t *off, uint32_t *gen)
{
	struct fs *fs = txn_fs(t);
	struct chunk *ch;
	int err;

	txn_at_end(t, promise_end, (void *)(uintptr_t)ino);
	err = chunk_get(fs, ino / PMEMFS_CHUNK_INODES, &ch);
	if (err)
		return err;
	*off = slot_off(ch, ino % PMEMFS_CHUNK_INODES);
	err = next_gen(fs, ino, *off, gen);
	if (err)
		return err;
	txn_chunk_bit(t, blk_off(ch->blk[0]) + offsetof(struct pmemfs_chunk, used),
		      ino % PMEMFS_CHUNK_INODES, true);
	return 0;
}

int itable_alloc(struct txn *t, uint64_t *ino, uint64_t *off, uint32_t *gen)
{
	struct fs *fs = txn_fs(t);
	int err = pick(fs, ino);

	if (err == -ENOSPC) {
		contend_lock(fs, &fs->itable->grow, COUNT_WAIT_ITABLE);
		err = pick(fs, ino);		/* somebody may have grown it */
		if (err != -ENOSPC)
			pthread_mutex_unlock(&fs->itable->grow);
		else {
			*gen = 1;
			err = grow(t, ino, off);
			if (err)
				txn_fail(t, err);
			return err;
		}
	}
	if (!err)
		err = take(t, *ino, off, gen);
	if (err)
		txn_fail(t, err);
	return err;
}

void itable_free(struct txn *t, uint64_t ino)
{
	struct fs *fs = txn_fs(t);
	struct chunk *ch;
	int err = chunk_get(fs, ino / PMEMFS_CHUNK_INODES, &ch);

	if (err) {
		txn_fail(t, err);
		return;
	}
	txn_chunk_bit(t, blk_off(ch->blk[0]) + offsetof(struct pmemfs_chunk, used),
		      ino % PMEMFS_CHUNK_INODES, false);
}
