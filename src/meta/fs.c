/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fs.c - put a pool together, and take it apart
 *
 * Order of opening: map and lock; superblock; log replay (L13); only then the
 * parts that read metadata: allocator, inode table, orphans. Nothing is
 * walked. Background work (checkpoints when there is reason or time, access
 * times in batches, orphans in steps) is one thread; everything it does a
 * request does too when it must.
 */
#include "meta/fs.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "meta/alloc.h"
#include "meta/badlist.h"
#include "meta/btree.h"
#include "meta/contend.h"
#include "meta/gone.h"
#include "meta/inode.h"
#include "meta/mend.h"
#include "meta/redo.h"
#include "meta/super.h"

#define IDLE_SECONDS	1
#define DRAIN_STEP	64u
#define ATIME_STEP	256u
#define DAMAGE_LINES	50u

void fs_now(struct fs *fs, struct timespec *ts)
{
	if (fs->opt.clock)
		fs->opt.clock(ts);
	else
		clock_gettime(CLOCK_REALTIME, ts);
}

/* ---- trouble ------------------------------------------------------------------------ */

void fs_shutdown(struct fs *fs, const char *why)
{
	if (atomic_exchange(&fs->shut, true))
		return;
	log_err("%s; the mount is read-only from now on", why);
}

int damaged(struct fs *fs, uint64_t off, const char *fmt, ...)
{
	uint64_t n = atomic_fetch_add(&fs->damage, 1);
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < DAMAGE_LINES)
		log_err("damage at pool offset %llu: %s (unmount and run fsck.pmemfs)",
			(unsigned long long)off, text);
	else if (n == DAMAGE_LINES)
		log_err("more damage; further lines are left out");
	redo_note_error(fs);
	if (fs->opt.errors == FS_ERRORS_REMOUNT_RO && fs->redo && !fs->ro)
		fs_shutdown(fs, "damage was met (errors=remount-ro)");
	return -EUCLEAN;
}

/* ---- background --------------------------------------------------------------------- */

static int drain_step(struct fs *fs, unsigned n)
{
	int more = 1;

	while (n-- && more > 0)
		more = orphan_drain_one(fs);
	return more;
}

/* An error has been told of already; then they are on the list next time. */
static void remember_bad(struct fs *fs)
{
	uint64_t n;

	badlist_record(fs, &n);
	if (n)
		log_warn("%llu blocks of bad memory went onto the pool's own list",
			 (unsigned long long)n);
}

static void work(struct fs *fs, bool idle)
{
	bool drain;

	pthread_mutex_lock(&fs->worker_lock);
	drain = fs->drain;
	pthread_mutex_unlock(&fs->worker_lock);
	if (drain && drain_step(fs, DRAIN_STEP) <= 0) {
		pthread_mutex_lock(&fs->worker_lock);
		fs->drain = false;
		pthread_mutex_unlock(&fs->worker_lock);
	}
	if (idle && !fs->opt.lazytime)
		icache_sync_atimes(fs, ATIME_STEP);
	if (idle)
		remember_bad(fs);
	if (idle || redo_wants_checkpoint(fs))
		redo_checkpoint(fs, false);
}

static bool wait_for_work(struct fs *fs, bool *idle)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += IDLE_SECONDS;
	pthread_mutex_lock(&fs->worker_lock);
	while (!fs->worker_stop && !fs->worker_kick && !fs->drain && err != ETIMEDOUT)
		err = pthread_cond_timedwait(&fs->worker_cond, &fs->worker_lock, &until);
	*idle = err == ETIMEDOUT;
	fs->worker_kick = false;
	err = fs->worker_stop;
	pthread_mutex_unlock(&fs->worker_lock);
	return !err;
}

static void *worker(void *arg)
{
	struct fs *fs = arg;
	bool idle;

	while (wait_for_work(fs, &idle))
		if (fs_writable(fs))
			work(fs, idle);
	return NULL;
}

static void worker_init(struct fs *fs)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&fs->worker_cond, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&fs->worker_lock, NULL);
	pthread_mutex_init(&fs->rename_lock, NULL);
}

static int worker_start(struct fs *fs)
{
	int err = 0;

	if (!fs->ro && !fs->opt.no_background)
		err = -pthread_create(&fs->worker, NULL, worker, fs);
	fs->worker_runs = !fs->ro && !fs->opt.no_background && !err;
	return err;
}

static void worker_halt(struct fs *fs)
{
	if (!fs->worker_runs)
		return;
	pthread_mutex_lock(&fs->worker_lock);
	fs->worker_stop = true;
	pthread_cond_signal(&fs->worker_cond);
	pthread_mutex_unlock(&fs->worker_lock);
	pthread_join(fs->worker, NULL);
	fs->worker_runs = false;
}

void fs_kick(struct fs *fs)
{
	if (!fs->worker_runs)
		return;
	pthread_mutex_lock(&fs->worker_lock);
	fs->worker_kick = true;
	pthread_cond_signal(&fs->worker_cond);
	pthread_mutex_unlock(&fs->worker_lock);
}

void fs_start_drain(struct fs *fs)
{
	if (fs->ro)
		return;
	pthread_mutex_lock(&fs->worker_lock);
	fs->drain = true;
	pthread_cond_signal(&fs->worker_cond);
	pthread_mutex_unlock(&fs->worker_lock);
}

int fs_drain(struct fs *fs)
{
	int more = fs_writable(fs) ? 1 : -EROFS;

	while (more > 0)
		more = drain_step(fs, DRAIN_STEP);
	return more;
}

/* ---- opening ------------------------------------------------------------------------ */

static void fs_free(struct fs *fs)
{
	orphan_close(fs);
	icache_close(fs);
	gone_close(fs);
	itable_close(fs);
	alloc_close(fs);
	redo_close(fs);
	txn_cache_close(fs);
	if (fs->pm)
		pm_close(fs->pm);
	free(fs->verified);
	pthread_cond_destroy(&fs->worker_cond);
	pthread_mutex_destroy(&fs->worker_lock);
	pthread_mutex_destroy(&fs->rename_lock);
	free(fs);
}

/* Stores reach it without a system call, and it keeps them. */
static bool is_pmem(const struct pm *pm)
{
	return pm_survives_power_loss(pm) && pm_granularity(pm) != PM_GRAN_PAGE &&
		!pm_has_holes(pm);
}

static void say_bad_memory(struct fs *fs)
{
	unsigned n = pm_bad_count(fs->pm);

	if (n)
		log_warn("the pool has %u ranges of bad memory, the first at pool offset "
			 "%llu: they are not given out any more (fsck.pmemfs --media "
			 "names the files that lost something)", n,
			 (unsigned long long)pm_bad(fs->pm, 0).off);
}

static int check_medium(struct fs *fs)
{
	char what[256];

	if (pm_size(fs->pm) < PMEMFS_MIN_POOL) {
		log_err("not a pmemfs pool: %llu bytes, and the smallest has %llu",
			(unsigned long long)pm_size(fs->pm), (unsigned long long)PMEMFS_MIN_POOL);
		return -EMEDIUMTYPE;
	}
	if (fs->opt.require_pmem && !is_pmem(fs->pm)) {
		log_err("--require-pmem: the pool lies on %s%s",
			pm_describe(fs->pm, what, sizeof(what)),
			pm_has_holes(fs->pm) ? " and has holes" : "");
		return -ENODEV;
	}
	return 0;
}

static int open_super(struct fs *fs)
{
	const char *other;
	bool overwritten;
	int which, err;

	err = super_read(fs->pm, &fs->geo, &which, &other);
	overwritten = !err && which && !fs->ro && mend_is_overwritten(fs->pm);
	pm_fault_repair(fs->pm);		/* in bad memory: the other is as good */
	if (err)
		return err;
	if (overwritten) {
		log_err("something that is not pmemfs begins where the pool does; only its "
			"last block still says pmemfs. If you want the pool back: fsck.pmemfs -y");
		return -EUCLEAN;
	}
	if (other)
		log_warn("the %s superblock is bad (%s); fsck.pmemfs repairs it",
			 which ? "primary" : "replica", other);
	if (!fs->ro && fs->geo.ro_compat & ~PMEMFS_RO_COMPAT_ALL) {
		log_err("the pool has features (%#x) that this version can only read: use -o ro",
			fs->geo.ro_compat & ~PMEMFS_RO_COMPAT_ALL);
		return -EROFS;
	}
	return 0;
}

static int open_parts(struct fs *fs)
{
	struct redo_start st = { .watermark = 0 };
	int err;

	err = recover(fs, &st, &fs->replayed);		/* L13: before anybody reads */
	if (err && !fs->opt.salvage)
		return err;
	err = redo_open(fs, &st);
	if (!err)
		err = alloc_open(fs, st.blocks_free);
	if (!err)
		err = txn_cache_open(fs);
	if (!err)
		err = itable_open(fs);
	if (!err)
		err = gone_open(fs);
	if (!err)
		err = icache_open(fs);
	if (!err)
		err = orphan_open(fs);
	pm_fault_repair(fs->pm);
	if (err && !(fs->opt.salvage && err == -EUCLEAN))
		return err;
	if (fs->itable)
		itable_add_used(fs, (int64_t)st.inodes_used);
	if (st.flags & PMEMFS_SLOT_ERROR)
		log_warn("damage was met in this pool before: run fsck.pmemfs on it");
	return 0;
}

int fs_open(struct fs **out, const char *path, const struct fs_options *opt)
{
	struct pm_config cfg = {
		.backend = opt->backend, .backend_arg = opt->backend_arg,
		.flags = (opt->ro ? PM_RDONLY : 0) | (opt->nolock ? PM_NOLOCK : 0),
		.granularity = opt->granularity,
	};
	struct fs *fs = calloc(1, sizeof(*fs));
	int err;

	if (!fs)
		return -ENOMEM;
	fs->opt = *opt;
	fs->ro = opt->ro;
	worker_init(fs);
	fs->verified = calloc(1, tree_table_size());
	err = fs->verified ? pm_open(&fs->pm, path, &cfg) : -ENOMEM;
	if (!err)
		err = check_medium(fs);
	if (!err) {
		say_bad_memory(fs);
		err = open_super(fs);
	}
	if (!err)
		err = open_parts(fs);
	if (!err)
		err = worker_start(fs);
	if (err) {
		fs_free(fs);
		return err;
	}
	*out = fs;
	return 0;
}

/* ---- closing ------------------------------------------------------------------------ */

int fs_checkpoint(struct fs *fs)
{
	return redo_checkpoint(fs, false);
}

void fs_close(struct fs *fs)
{
	worker_halt(fs);
	if (fs_writable(fs)) {
		icache_sync_atimes(fs, UINT32_MAX);
		icache_forget_all(fs);		/* frees what was unlinked but known */
		remember_bad(fs);
		redo_checkpoint(fs, true);
	}
	fs_free(fs);
}

void fs_crash(struct fs *fs)
{
	worker_halt(fs);
	fs_free(fs);
}

void fs_get_stats(struct fs *fs, struct fs_stats *st)
{
	const struct counters *c = pm_counters(fs->pm);

	memset(st, 0, sizeof(*st));
	pm_get_stats(fs->pm, &st->pm);
	st->records = count_sum(c, COUNT_RECORDS);
	st->record_bytes = count_sum(c, COUNT_RECORD_BYTES);
	st->checkpoints = count_sum(c, COUNT_CHECKPOINTS);
	st->lane_waits = count_sum(c, COUNT_WAIT_LANE);
	st->free_blocks = alloc_free_blocks(fs);
	st->reserved_blocks = alloc_reserved(fs);
	st->quarantined_blocks = alloc_quarantined(fs);
	st->inodes_used = itable_used(fs);
	st->inodes_cached = icache_count(fs);
}
