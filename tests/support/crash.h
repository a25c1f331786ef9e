/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crash.h - visit the states that a loss of power can leave
 *
 * A *load* (a workload) runs once, on a pool in memory, under the recorder;
 * after each call that changes something the tree is looked at. Then the log
 * is walked, and in front of every event images are built of what is durable
 * and of a choice of what is not. Each image is mounted, and
 *
 *   C1  recovery succeeds and the mount stays writable;
 *   C2  verify finds nothing to repair, before orphans are drained and after;
 *   C3  the tree looks as it did after the last call that had returned, or
 *       after the one that was in flight; with the bytes of an overwrite in
 *       flight old or new, each for itself (data=ordered; data=atomic allows
 *       no such thing), and nothing else;
 *   C4  recovering again, and recovering from a recovery cut at its own
 *       fences (depth 2), gives the same tree;
 *   C5  after the clean unmount at the end nothing stored is left unflushed.
 *
 * Free blocks are full of bytes that nobody wrote, so what was never written
 * shows, if it can be reached, as a difference.
 *
 * An image is named by the event in front of which the power went, the engine
 * and its seed: "load:event:engine:seed", with "/event:engine:seed" behind it
 * for a cut recovery. Everything is deterministic, so the name is enough to
 * have it again.
 */
#ifndef SUPPORT_CRASH_H
#define SUPPORT_CRASH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "meta/fs.h"
#include "pmemfs/format.h"
#include "op/op.h"
#include "support/crash_tree.h"
#include "support/pm_record.h"
#include "support/pm_undo.h"

struct crash;
struct pm_site;

enum crash_engine {
	ENG_NONE,		/* only what is durable */
	ENG_ALL,		/* everything stored */
	ENG_SUBSET,		/* lines by the bits of the seed */
	ENG_MISSING,		/* all but line `seed` */
	ENG_ONLY,		/* line `seed` alone */
	ENG_PREFIX,		/* the first `seed` lines stored */
	ENG_WORD,		/* all but word seed % 8 of line seed / 8 */
	ENG_TORN,		/* of every line the words by the bits of the seed */
	ENG_VERSION,		/* all, line seed / 64 without its seed % 64 newest stores */
	ENG_RANDOM,		/* each line: nothing, all, or word by word */
	ENG_KILL,		/* the daemon died here, its memory did not; power
				   went in the recovery that followed */
	ENG_NR
};

/* How a pool comes to be; the tree is made through op.h. */
struct crash_setup {
	const char *name;
	uint32_t nr_lanes;		/* 0: mkfs's choice */
	void (*make)(struct crash *c);	/* NULL: empty; mounted, not recorded */
	bool dirty;			/* not unmounted: the log is full of it */
	void (*spoil)(uint8_t *pool, uint64_t size);	/* afterwards, by hand; or NULL */
};

/* How large the memory below a pool is. */
#define CRASH_SIZE	(PMEMFS_MIN_POOL + (64u << 10))	/* mkfs may leave some */

#define LOAD_DEPTH2	0x01u		/* cut recoveries, too */
#define LOAD_KILL	0x02u		/* and let the daemon die everywhere */
#define LOAD_MOUNT	0x04u		/* cut the first mount, too */
#define LOAD_ATIME	0x08u		/* mounted with strictatime */
#define LOAD_AGAIN	0x10u		/* recover twice, every time */
#define LOAD_ATOMIC	0x100u		/* mounted with data=atomic */
#define LOAD_NO_POOL	0x20u		/* there may be none while the call is in flight */
#define LOAD_ANY_BLOCKS	0x80u		/* blocks are still being freed, who knows how far */
#define LOAD_ONE_SUPER	0x40u		/* then one superblock at least is good */

/* A schedule (seed) of two switches: calls of the first actor, of the other. */
#define CRASH_SCHEDULE_2(first, calls, others) \
	(1u << 19 | (others) << 9 | (calls) << 1 | (first))

struct crash_load {
	char name[120];
	const struct crash_setup *setup;
	unsigned flags;			/* LOAD_* */
	unsigned actors;		/* 1, or 2: threads */
	uint64_t seed;			/* of the schedule of two threads */
	/* Does it all, call by call; actor is 0 with one. */
	void (*run)(struct crash *c, const struct crash_load *l, unsigned actor);
	/* Instead of run: without a mounted pool (mkfs). */
	int (*raw)(struct crash *c, struct pm *pm);
	uint8_t new_uuid;		/* raw makes a pool whose UUID begins so; 0: no */
	const void *arg;		/* for run */
	unsigned op[4], nr_ops;		/* for run */
	unsigned from_op;		/* crashes begin with this op (crash_op()) */
	bool no_unmount;
};

struct crash_limits {
	unsigned exhaustive;		/* pending lines up to which all subsets are tried */
	unsigned per_point;		/* images per crash point, 0: no cap */
	unsigned seeds;			/* of the random engine per point */
	unsigned lines;			/* lines per engine and point, 0: all */
	unsigned per_recovery;		/* images per point of a cut recovery */
	unsigned cut_every;		/* cut the recovery of every so manieth image */
};

#define CRASH_SITES	128u

struct crash_stats {			/* in shared memory */
	_Atomic uint64_t loads, calls, points, exhausted, subsets, images, distinct, cut_images,
		killed, violations, idle_flushes, idle_fences;
	/* By place in the program (site.h): calls, and those that changed nothing. */
	_Atomic uint64_t asked[CRASH_SITES], idle[CRASH_SITES];
};

struct crash *crash_new(int granularity, const struct crash_limits *lim,
			struct crash_stats *stats);
void crash_free(struct crash *c);
/* A mutation: what this site asks for is not done (NULL: none). */
void crash_mutate(struct crash *c, const struct pm_site *site);
/* Stop a load at its first violation, and print nothing (mutations). */
void crash_quiet(struct crash *c, bool quiet);
const char *crash_first(const struct crash *c);		/* that violation */

/* Run and explore. Returns the number of violations. */
unsigned crash_explore(struct crash *c, const struct crash_load *l);
/* One image again, loudly: the part of its name behind the load's. */
int crash_rerun(struct crash *c, const struct crash_load *l, const char *image);

/* ---- for loads ----------------------------------------------------------- */

const struct op_ctx *crash_ctx(struct crash *c);
/* Op number nr of the load begins. */
void crash_op(struct crash *c, unsigned nr);
/*
 * Around each call that may change something. blur: what may be mixed while
 * it is in flight (NULL: nothing). The error is the load's business: a call
 * that fails must change nothing, and that is checked like everything else.
 */
void crash_begin(struct crash *c, const struct tree_blur *blur);
void crash_end(struct crash *c);
/* Neither recorded nor looked at: what a load does to get somewhere. */
void crash_unseen(struct crash *c, bool on);
/* What became of a file's bytes, for the model that the live tree is held
 * against: after each call that did it. */
void crash_model_write(struct crash *c, uint64_t node, uint64_t pos, const void *buf, size_t len);
void crash_model_size(struct crash *c, uint64_t node, uint64_t size);
void crash_model_zero(struct crash *c, uint64_t node, uint64_t from, uint64_t to);
uint64_t crash_model_len(struct crash *c, uint64_t node);

struct pm_rec *crash_rec(struct crash *c);
/* In a setup: the nth fence from now and all later ones fail, and then the
 * daemon is gone. */
void crash_stop_at_fence(struct crash *c, unsigned nth);
/* Something is wrong that no image shows. */
void crash_complain(struct crash *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Deterministic bytes: what call nr writes at file position pos. */
void crash_bytes(void *buf, uint64_t nr, uint64_t pos, size_t len);
/* The random numbers that the code under test gets. */
void crash_seed_random(uint64_t seed);

#endif
