/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txn.h - an operation: decided in DRAM, committed by one record
 *
 *	t = txn_begin(fs, PMEMFS_OP_CREATE);		caller holds its locks
 *	mi = txn_edit(t, off, PMEMFS_INODE_SEALED);	shadow copy in DRAM
 *	...change shadows, reserve and free blocks...
 *	err = txn_commit(t);				record, fence, in place
 *
 * Nothing reaches the medium before txn_commit(); txn_abort() is free. What
 * a record contains is the difference between the shadows and the medium,
 * found by comparing, so no change can be forgotten.
 *
 * Errors stick: after a failed call every later one fails the same way and
 * txn_commit() aborts and returns the error, so callers may check once.
 */
#ifndef META_TXN_H
#define META_TXN_H

#include "meta/alloc.h"
#include "meta/fs.h"

/*
 * The static largest record (L8): at most half of the smallest lane. What is
 * largest is a write under data=atomic, which cannot be cut into several: it
 * asks for the runs and the shadows, and op/write_atomic.c asserts that they
 * fit into a record.
 */
#define TXN_MAX_RECORD	(120u << 10)
#define TXN_MAX_SHADOWS	56u
#define TXN_MAX_RUNS	640u	/* that one record allocates; that it frees */
/* What a shadow of len bytes can cost in it: forms are a header apart at
 * least, so the worst is every byte and one header; and the zero run of one
 * that is new. */
#define TXN_COST(len)	((len) + 2 * sizeof(struct pmemfs_form))
/* Runs that one record may free before the caller cuts the work (L9). */
#define TXN_FREE_RUNS	64u
/* Blocks one record may free: bounds what it touches (4 groups' bitmaps). */
#define TXN_FREE_BLOCKS	(4u * PMEMFS_GROUP_BLOCKS)

struct txn;

/* NULL only for lack of memory. The mount need not be writable yet:
 * txn_commit() says -EROFS. */
struct txn *txn_begin(struct fs *fs, enum pmemfs_op op);

/*
 * A shadow of the sealed object [off, off + len) (its first four bytes are
 * its seal, recomputed at commit). The same off gives the same shadow. The
 * caller has verified the object and holds its lock exclusively.
 * NULL after a sticky error.
 */
void *txn_edit(struct txn *t, uint64_t off, size_t len);
/* The same for an object that did not exist: starts as zeros and the medium
 * is zeroed first (a zero run, L8). */
void *txn_new(struct txn *t, uint64_t off, size_t len);
/* The shadow if there is one, else the medium. t must not be NULL. */
const void *txn_view(struct txn *t, uint64_t off, size_t len);
/* Zero a stretch of metadata (a new chunk of inodes). */
void txn_zero(struct txn *t, uint64_t off, size_t len);
/* A few unsealed bytes (the head of a new chunk), at most 32. */
void txn_bytes(struct txn *t, uint64_t off, const void *src, size_t len);
bool txn_has_shadow(struct txn *t, uint64_t off);
/* This is freeing work: it may dip into the reserve (L9). */
void txn_allow_reserve(struct txn *t);
/* This work cannot be cut: what does not fit into one record is -ENOSPC, and
 * not a bug of the caller. */
void txn_uncut(struct txn *t);
/* Forget the shadow of an object that the same record frees. */
void txn_drop(struct txn *t, uint64_t off);

/* Blocks. TXN_META blocks are quarantined when freed, TXN_DATA ones are
 * reusable at once (records never address file data, L5). */
enum txn_kind { TXN_DATA, TXN_META };
int txn_alloc(struct txn *t, enum txn_kind kind, unsigned flags, uint64_t goal,
	      uint64_t want, uint64_t min, struct run *out);
int txn_free(struct txn *t, enum txn_kind kind, struct run r);
/*
 * Take a run that the caller has reserved, as if txn_alloc() had found it. It
 * becomes the file's by txn_commit(), and stays the caller's otherwise.
 */
int txn_lend(struct txn *t, enum txn_kind kind, struct run r);
/* Room for further runs to be freed in this record. */
bool txn_can_free(const struct txn *t, uint64_t blocks);
unsigned txn_room_to_free(const struct txn *t);	/* runs, for short ones */

/* Bits of an inode chunk header at off (see itable.c). dinodes: +1, -1, or
 * the derived count changes by nothing. */
void txn_chunk_bit(struct txn *t, uint64_t used_off, unsigned bit, bool set);

/*
 * Data were copied into fresh blocks that this record makes reachable: they
 * must be durable first (L5). Costs the second fence.
 */
void txn_data_first(struct txn *t);

/* Called by txn_commit/txn_abort when all is over (committed says which),
 * last registered first: releases locks and reservations held that long. */
void txn_at_end(struct txn *t, void (*fn)(struct fs *, void *arg, bool committed),
		void *arg);

/* Called once, when all is decided and only the lane is still waited for: takes
 * the lock that readers need while the record is applied. One a transaction. */
void txn_before_record(struct txn *t, void (*fn)(struct fs *));

void txn_fail(struct txn *t, int err);	/* sticky; keeps the first */
int txn_error(const struct txn *t);
struct fs *txn_fs(const struct txn *t);

/*
 * Commit: durable and applied on return 0. Otherwise nothing happened and all
 * reservations are given back: the sticky error, -EROFS, -EIO. (-EIO after
 * the draw: nothing is known, the mount has stopped writing, L6.) Frees t.
 */
int txn_commit(struct txn *t);
void txn_abort(struct txn *t);

int txn_cache_open(struct fs *fs);
void txn_cache_close(struct fs *fs);

#endif
