/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softdsa_int.h - what the files of the software device share
 */
#ifndef DSA_SOFTDSA_INT_H
#define DSA_SOFTDSA_INT_H

#include <linux/idxd.h>
#include <pthread.h>

#include "dsa/softdsa.h"

_Static_assert(sizeof(struct dsa_hw_desc) == SOFT_DESC, "a descriptor");
_Static_assert(sizeof(struct dsa_completion_record) == SOFT_RECORD, "a record");

#define SOFT_QUEUED	512u		/* operations of all queues together */
#define SOFT_RULES	64u
#define SOFT_CHUNK	(64u << 10)	/* bytes moved at once */
#define SOFT_PAGE	4096u

/* ---- the script (softdsa_script.c) ------------------------------------------ */

enum soft_act {
	/* at submission */
	ACT_NONE, ACT_FULL, ACT_DELAY, ACT_NEVER, ACT_HALT, ACT_DISABLE,
	/* at execution */
	ACT_FAULT, ACT_STATUS, ACT_LIST_FAULT,
	/* at once; at both */
	ACT_REORDER, ACT_RANDOM,
};

struct soft_rule {
	enum soft_act act;
	/* when */
	int wq, op;			/* -1: any */
	uint64_t min, max;		/* bytes */
	uint64_t from, to;		/* source or destination in it */
	uint64_t nth, every, times;	/* 0: from the first, each, without end */
	/* what */
	uint64_t at, ns;
	bool write, backward, hard;
	unsigned code, window;
	uint64_t seed, per;
	/* so far */
	uint64_t seen, done;
};

struct soft_script {
	struct soft_rule rule[SOFT_RULES];
	unsigned nr;
	unsigned window;		/* of the reordering; 0, 1: none */
	uint64_t full;			/* refusals still to come */
	struct soft_rule dice;		/* what ACT_RANDOM made up */
};

bool soft_parse(struct soft_script *s, const char *text, char *err, size_t size);
/* What happens to this operation; NULL: what should. */
const struct soft_rule *soft_at_submit(struct soft_script *s, unsigned wq,
				       const struct dsa_hw_desc *d);
const struct soft_rule *soft_at_execute(struct soft_script *s, unsigned wq,
					const struct dsa_hw_desc *d);

/* ---- operations ------------------------------------------------------------- */

struct soft_op {
	struct dsa_hw_desc d;
	uint64_t src_sum, dst_sum;
};

struct soft_entry {
	struct soft_op op;
	struct soft_op *child;		/* of a batch, as they were at submission */
	unsigned nr_child;
	unsigned wq;
	uint64_t due;			/* not before */
	bool stuck;			/* never completes */
};

struct softdsa {
	struct softdsa_conf conf;
	struct soft_script script;
	pthread_mutex_t lock;
	struct soft_entry entry[SOFT_QUEUED];	/* oldest first */
	unsigned nr;
	unsigned used[SOFT_WQS];	/* entries of each queue */
	unsigned users[SOFT_WQS];
	bool disabled[SOFT_WQS];
	bool halted;
	uint64_t halt_until;		/* UINT64_MAX: until softdsa_resume() */
	unsigned violations;
	char first[300];
	struct softdsa_stats stats;
	int pagemap;			/* of conf.pid; -1: not open */
	uint8_t buf[SOFT_CHUNK], other[SOFT_CHUNK];
};

static inline uint64_t soft_now(const struct softdsa *d)
{
	return d->conf.now ? d->conf.now(d->conf.arg) : 0;
}

/* What an operation reads and writes; lengths may be 0. */
struct soft_span { uint64_t at, len; };
struct soft_span soft_src(const struct dsa_hw_desc *d);
struct soft_span soft_dst(const struct dsa_hw_desc *d);

/* ---- memory (softdsa_exec.c) ------------------------------------------------- */

/* Bytes until the first page that is not there, or len. Whether it is in a page
 * table does not matter. */
size_t soft_read(struct softdsa *d, void *to, uint64_t at, size_t len);
size_t soft_write(struct softdsa *d, uint64_t at, const void *from, size_t len);
/* Of whatever can be read there. */
uint64_t soft_sum(struct softdsa *d, struct soft_span s);

/* The user is another process now. */
void soft_pagemap_close(struct softdsa *d);

/* All of it: bytes, records. dropped: no record is written. */
void soft_execute(struct softdsa *d, struct soft_entry *e, bool dropped);

/* ---- strictness (softdsa_judge.c) ------------------------------------------- */

/* 0, or the status that hardware would give. Complains of what is wrong. */
uint8_t soft_judge(struct softdsa *d, unsigned wq, const struct dsa_hw_desc *desc, bool child);
/* About to be queued: does it touch what an operation in flight uses? */
void soft_judge_entry(struct softdsa *d, const struct soft_entry *e);
/* About to be executed: is everything as it was? */
void soft_judge_sums(struct softdsa *d, const struct soft_op *op);

#endif
