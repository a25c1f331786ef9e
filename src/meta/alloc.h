/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * alloc.h - free space: reserve in DRAM, commit through the log, release
 *
 * A block is in one of four states: free; reserved (promised in DRAM to a
 * transaction, invisible on the medium); used (bit set by a record that was
 * applied); quarantined (freed, but a record above the watermark still
 * addresses it, L4). Only txn.c moves blocks between them.
 */
#ifndef META_ALLOC_H
#define META_ALLOC_H

#include "meta/fs.h"

struct run { uint64_t blk, len; };

#define ALLOC_META	0x1u	/* may dip into the reserve (L9) */
#define ALLOC_ALIGN	0x2u	/* prefer 2 MiB alignment */
#define ALLOC_NODE	0x8u	/* metadata: keep it out of the way of data */
/*
 * A file that grows piece by piece: when its next piece cannot be at goal,
 * put it where 2^order blocks behind it are free, too, and let others begin
 * behind those. With order following the file's size, files that grow side by
 * side have extents that double in length instead of alternating blocks.
 */
#define ALLOC_ROOM(order)	((order) << 8)
#define ALLOC_ROOM_OF(flags)	((flags) >> 8 & 31u)
#define ALLOC_EXACT	0x4u	/* only right at goal, else -ENOSPC quickly */

/*
 * For whom this thread works from now on. A pool may have blocks set aside for
 * root (mkfs.pmemfs -m); to begin with, it works for nobody in particular.
 */
void alloc_for_root(bool root);

int alloc_open(struct fs *fs, uint64_t blocks_free);
void alloc_close(struct fs *fs);

/*
 * Reserve between min and want blocks in one run, near goal (0: anywhere).
 * Forces a checkpoint and tries again before it fails while blocks are in
 * quarantine (L4). The caller holds no lane. -ENOSPC, -EUCLEAN, -EIO.
 */
int alloc_reserve(struct fs *fs, unsigned flags, uint64_t goal, uint64_t want,
		  uint64_t min, struct run *out);
void alloc_unreserve(struct fs *fs, struct run r);

/* Before a record frees r: load its groups, check every bit is set. */
int alloc_check_used(struct fs *fs, struct run r);
/* After the record was applied: */
void alloc_used(struct fs *fs, struct run r);		/* reserved -> used */
void alloc_freed(struct fs *fs, struct run r);		/* used -> free (L3) */
void alloc_quarantine(struct fs *fs, struct run r, uint64_t seq); /* L4 */
/* Records up to seq are durable in place in both slots (L12). */
void alloc_release(struct fs *fs, uint64_t seq);

/*
 * Bad memory that nobody uses, and that only DRAM keeps from being given out:
 * the next run of it, reserved for the caller, who puts it back with
 * alloc_hold() or makes it used. false: there is none.
 */
bool alloc_held(struct fs *fs, struct run *out);
void alloc_hold(struct fs *fs, struct run r);

/* Recompute and flush the descriptor of group g (L7). Not fenced. */
void alloc_derive(struct fs *fs, uint32_t g);

/* Blocks that are neither used nor reserved nor quarantined; the part of
 * them that data of anybody may use; that of whom this thread works for. */
uint64_t alloc_free_blocks(struct fs *fs);
uint64_t alloc_avail_blocks(struct fs *fs);
uint64_t alloc_our_blocks(struct fs *fs);
uint64_t alloc_quarantined(struct fs *fs);
uint64_t alloc_reserved(struct fs *fs);

/* Groups that are in DRAM; places where threads go on allocating, and how many
 * of those have been used. */
struct alloc_state { uint32_t loaded, windows, used_windows; };
void alloc_get_state(struct fs *fs, struct alloc_state *out);

#endif
