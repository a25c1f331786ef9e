/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fs.h - a pool, opened: the handle that everything in meta/ and op/ takes
 */
#ifndef META_FS_H
#define META_FS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/bytes.h"
#include "pm/pm.h"

enum fs_errors { FS_ERRORS_REMOUNT_RO, FS_ERRORS_CONTINUE };
/* What a crash may leave of a write: some of an overwrite, or all or nothing (L17). */
enum fs_data { FS_DATA_ORDERED, FS_DATA_ATOMIC };
enum fs_atime { FS_RELATIME, FS_NOATIME, FS_STRICTATIME };

/* A damaged log is refused; or replayed up to the damage; or not at all. */
enum fs_log { FS_LOG_WHOLE, FS_LOG_CUT, FS_LOG_NONE };

struct fs_options {
	bool ro;		/* never write to the pool; the log is replayed
				   into a private copy in DRAM (L14) */
	bool norecovery;	/* with ro: look at the pool without the log */
	bool nolock;		/* dump: open what someone else has open */
	bool require_pmem;	/* refuse what does not survive power loss */
	bool no_background;	/* no threads: tests, fsck, dump */
	bool salvage;		/* dump: open even if the slots or the
				   log are damaged; reads only */
	enum fs_log log;	/* fsck: what to do with a damaged log */
	enum fs_errors errors;
	enum fs_atime atime;
	bool lazytime;		/* access times wait in DRAM until they must not */
	enum fs_data data;
	int granularity;	/* forced enum pm_granularity, or -1 */
	const struct pm_backend *backend;	/* NULL: libpmem2 */
	void *backend_arg;
	void (*clock)(struct timespec *now);	/* NULL: CLOCK_REALTIME */
};

/* Geometry, copied from the superblock after it was checked. (c) */
struct geometry {
	uint64_t nr_blocks, lanes_blk, groups_blk, bitmap_blk, data_blk;
	uint64_t reserve, root_reserve;
	uint32_t nr_lanes, lane_size, nr_groups;
	uint8_t uuid[16], seed[16];
	char label[PMEMFS_LABEL_MAX + 1];
	uint32_t compat, ro_compat, incompat;
	uint64_t mkfs_time;
	bool sparse;
};

struct redo;
struct alloc;
struct itable;
struct icache;
struct txn_cache;
struct orphans;
struct gone;

struct fs {
	struct pm *pm;			/* (c) */
	struct geometry geo;		/* (c) */
	struct fs_options opt;		/* (c) */
	bool ro;			/* (c) opened read-only */
	_Atomic bool shut;		/* writes refused after an error (L6) */
	_Atomic uint64_t damage;	/* times damaged() was called */
	struct redo *redo;
	struct alloc *alloc;
	struct itable *itable;
	struct icache *icache;
	struct orphans *orphans;
	struct gone *gone;
	struct txn_cache *txns;
	_Atomic uint64_t land_goal;	/* behind the last landing (op/landing.c) */
	uint64_t *verified;		/* recently checked nodes, see btree.c */
	pthread_mutex_t rename_lock;	/* moves of names across directories */
	/* background: checkpoints when idle, orphans in steps, atime batches */
	pthread_t worker;
	bool worker_runs;
	pthread_mutex_t worker_lock;
	pthread_cond_t worker_cond;
	bool worker_stop, worker_kick, drain;
	uint64_t replayed;		/* records the last recovery replayed */
	uint64_t cut;			/* and could not, by opt.log */
};

/*
 * Open a pool: superblock, recovery, ready to serve. Errors (a line saying
 * what and where and what to do has been logged): those of pm_open, and
 * -EMEDIUMTYPE not a pool, -EPROTONOSUPPORT newer format, -EUCLEAN damaged,
 * -EROFS unknown ro_compat feature without ro.
 */
int fs_open(struct fs **out, const char *path, const struct fs_options *opt);
/* Start draining what a dead daemon left; the kernel's session must be new
 * (L15). Returns at once; the background thread does the work. */
void fs_start_drain(struct fs *fs);
/* Drain all of it now, in bounded steps (no_background users). */
int fs_drain(struct fs *fs);
/* Checkpoint, mark clean, unmap. Inodes still known are left as orphans. */
void fs_close(struct fs *fs);
/* Checkpoint now: everything acknowledged is in place and durable. */
int fs_checkpoint(struct fs *fs);
/* As after a crash: forget everything in DRAM, write nothing (tests). */
void fs_crash(struct fs *fs);

/*
 * Report damage at a pool offset; returns -EUCLEAN. Logged once per place
 * (rate limited), with the advice to run fsck.pmemfs. With
 * errors=remount-ro (the default) the mount stops writing.
 */
int damaged(struct fs *fs, uint64_t off, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Stop writing for good (L6); says why. */
void fs_shutdown(struct fs *fs, const char *why);
static inline bool fs_writable(struct fs *fs)
{
	return !fs->ro && !atomic_load_explicit(&fs->shut, memory_order_relaxed);
}

void fs_now(struct fs *fs, struct timespec *ts);

/* Wake the background thread (half a lane is full, much to free). */
void fs_kick(struct fs *fs);

struct fs_stats {
	struct pm_stats pm;
	uint64_t records, record_bytes, checkpoints, lane_waits;	/* base/count.h */
	uint64_t free_blocks, reserved_blocks, quarantined_blocks;
	uint64_t inodes_used, inodes_cached, orphans;
};
void fs_get_stats(struct fs *fs, struct fs_stats *st);

#endif
