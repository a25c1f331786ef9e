/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crash_int.h - what crash.c, crash_walk.c and crash_check.c share
 */
#ifndef SUPPORT_CRASH_INT_H
#define SUPPORT_CRASH_INT_H

#include "support/crash.h"

#define CRASH_CALLS	4096u		/* of one actor in one load */

struct crash_state {			/* the tree after so many calls */
	struct tree_digest d;
	struct tree_picture p;		/* with one actor */
	struct tree_blur blur;		/* of the call that leads on from here */
};

struct crash_actor {
	struct crash_state *state;	/* nr_calls + 1 of them */
	unsigned nr_calls, room;
	/* while walking: */
	unsigned begun, acked;
};

struct crash_cached {			/* what an image turned into */
	uint64_t key;			/* hash of the image, 0: free */
	struct tree_digest d;
	bool deep;			/* C4 was checked as well */
};

struct model_file;
struct crash_model { struct model_file *file; size_t nr; };

struct crash {
	int granularity;
	struct crash_limits lim;
	struct crash_stats *stats;
	const struct crash_setup *setup;
	struct fs_options opt;		/* of the live pool */
	struct pm_undo live, image;
	uint8_t *base;			/* the pool before the load */
	struct pm_rec *rec;		/* of the load */
	struct pm_rec *rec2;		/* of a recovery */
	struct pm_rec *rec3;		/* of a load that was killed, and its recovery */
	struct rec_walk *walk, *walk2, *walk3;
	struct fs *fs;
	struct op_ctx ctx;
	const struct crash_load *load;
	struct crash_actor actor[TREE_ACTORS];
	struct crash_model model, model_before;
	size_t from_event;
	bool unseen;			/* calls do not count for the moment */
	bool alone;			/* one actor goes first, to see what it leads to */
	bool quiet, loud, rerun;
	bool shut;			/* the live mount stopped writing */
	unsigned violations;
	char first[300];		/* of them */
	struct crash_cached *cache;
	size_t cached, cache_room;
	uint64_t fine[64];		/* digests found to be a blur of state fine_at */
	unsigned nr_fine, fine_at;
};

struct crash_look {			/* what became of an image */
	struct tree_digest d;
	char bad[500];			/* "": nothing is wrong */
};

/* ---- crash.c ---- */

void crash_live(struct crash *c, const struct crash_load *l);
/* A digest of the live tree is the next state of an actor. */
void crash_observe(struct crash *c, unsigned actor);
void crash_forget_states(struct crash *c);
void crash_set_clock(int64_t seconds);
/* The last line that the program logged. */
const char *crash_last_line(void);

/* ---- crash_sched.c ---- */

/* Run the load's part of actors [first, first + nr), each in a thread. */
void crash_run_threads(struct crash *c, const struct crash_load *l, unsigned first,
		       unsigned nr);
int crash_me(void);			/* the actor that this thread is */
bool crash_scheduled(void);

/* ---- crash_model.c ---- */

void crash_model_free(struct crash_model *m);
void crash_model_copy(struct crash_model *to, const struct crash_model *from);
/* Complains of every file whose bytes are not those of the model. */
void crash_model_check(struct crash *c, const struct tree_picture *p);

/* ---- crash_check.c ---- */

/* Mount what c->image holds, recorded by rec (NULL: not), and look. The image
 * is left as the last mount left it. deep: C4. */
void crash_look(struct crash *c, struct pm_rec *rec, bool deep, struct crash_look *out);
/* NULL or what is wrong with a tree, given what had returned. May mount the
 * image, which is then left changed. */
const char *crash_judge(struct crash *c, const struct tree_digest *d);
/* The image as a read-only mount sees it; d: what it must be. */
const char *crash_look_ro(struct crash *c, const struct tree_digest *d);
/* A digest of what the live memory holds, mounted unrecorded. */
void crash_look_live(struct crash *c, struct tree_digest *d);
struct crash_cached *crash_cache_find(struct crash *c, uint64_t key);
void crash_cache_add(struct crash *c, uint64_t key, const struct tree_digest *d, bool deep);
void crash_cache_drop(struct crash *c);
void crash_show_diff(struct crash *c);

#endif
