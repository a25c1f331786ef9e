/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redo.h - the log: lanes, sequence numbers, checkpoints
 *
 * txn.c is the only writer of records. The rules L1..L22 are at the head of
 * redo.c, each with the place that keeps it.
 */
#ifndef META_REDO_H
#define META_REDO_H

#include "meta/fs.h"

struct lane;

/* Record numbers and turns do not get there; beyond it they could wrap. */
#define REDO_MAX_NUMBER		(1ull << 62)

/* A sealed slot may still be hostile. */
static inline bool slot_numbers_ok(const struct pmemfs_slot *s)
{
	return get64(s->watermark) < REDO_MAX_NUMBER && get64(s->turn) < REDO_MAX_NUMBER;
}

struct redo_start {		/* what recovery leaves behind */
	uint64_t watermark;	/* everything up to here is in place */
	uint8_t epoch[16];
	uint64_t turn;		/* of the newest slot */
	uint64_t blocks_free, inodes_used;
	uint32_t flags, mounts;
	uint64_t mount_time;
};

int redo_open(struct fs *fs, const struct redo_start *st);
void redo_close(struct fs *fs);

/*
 * A lane with room for a record of len bytes, held exclusively. May wait for
 * a checkpoint; the caller holds no sequence number (L4). -EIO, -EROFS.
 */
int redo_lane_get(struct fs *fs, size_t len, struct lane **out);
/* Draw the number, seal, write, fence (L1, L10). rec has room for padding.
 * -EIO: the medium refused (L6). */
int redo_commit(struct lane *lane, struct pmemfs_record *rec, uint64_t *seq);
/* Applied in place, touching so many bytes: the horizon may pass (L11), the
 * lane is idle and given back. */
void redo_applied(struct lane *lane, uint64_t touched);
void redo_lane_put(struct lane *lane);	/* without a record */

/* Everything that is applied now gets durable in place; both slots advance
 * (checkpoint.c). clean: the last one of an unmount. */
int redo_checkpoint(struct fs *fs, bool clean);
/* Does the background thread have reason to? */
bool redo_wants_checkpoint(struct fs *fs);
struct redo_state {
	uint32_t lanes, busy;		/* busy: a record is under way */
	uint64_t lane_size;
	uint64_t used;			/* bytes of records above the watermark */
	uint64_t drawn, watermark;	/* sequence numbers */
	uint64_t touched;		/* bytes in place above it (L8) */
};
void redo_get_state(struct fs *fs, struct redo_state *out);
/* Record damage in the slots at the next checkpoint (PMEMFS_SLOT_ERROR). */
void redo_note_error(struct fs *fs);

/* Write one slot, sealed; not fenced. */
void slot_write(struct fs *fs, const struct redo_start *st, uint32_t flags,
		uint64_t turn);
/* Both slots: newest valid into st. -EUCLEAN. other_ok: the other is valid. */
int slot_read(struct fs *fs, struct redo_start *st, bool *other_ok);

/* ---- recovery (recover.c) ------------------------------------------------ */

/*
 * Replay the log (L13). Fills st for redo_open(). *replayed: records.
 * -EUCLEAN: a number is missing below the floor, a record points outside.
 */
int recover(struct fs *fs, struct redo_start *st, uint64_t *replayed);

/* Walk the records of one half as they are on the medium. cb returns
 * non-zero to stop. (recover, checkpoint, dump) */
typedef int (*record_fn)(void *arg, const struct pmemfs_record *rec,
			 uint32_t lane, uint64_t off);
int redo_scan_half(struct fs *fs, const uint8_t epoch[16], uint32_t lane,
		   unsigned half, record_fn cb, void *arg);
/*
 * The number of a valid record that is above `after` and lies behind the pool
 * offset `end`, where the scan of its half ended; 0: there is none. A record is
 * written only when those before it in its half are durable, so the one at
 * `end` was a record, too, and is damaged: no loss of power leaves that.
 */
uint64_t redo_hidden(struct fs *fs, const uint8_t epoch[16], uint32_t lane,
		     unsigned half, uint64_t end, uint64_t after);

#endif
