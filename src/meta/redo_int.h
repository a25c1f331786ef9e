/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redo_int.h - what redo.c and checkpoint.c share
 */
#ifndef META_REDO_INT_H
#define META_REDO_INT_H

#include "meta/redo.h"

struct lane {
	pthread_mutex_t lock;		/* held from get to put */
	struct fs *fs;			/* (c) */
	uint32_t index;			/* (c) */
	uint64_t off;			/* (c) in the pool */
	unsigned half;			/* (l) the one being filled */
	uint64_t pos;			/* (l) bytes used in it */
	_Atomic uint64_t last[2];	/* (l) newest number in each half */
	_Atomic uint64_t fill[2];	/* (l) bytes used in each half */
	/* A lower bound of the number being worked on; 0: idle (L11). */
	_Atomic uint64_t bound;
	char pad[PMEMFS_LINE];
	/* (c) constant, (l) this lock; what is atomic as well is read without */
};

struct redo {
	struct fs *fs;
	uint32_t nr_lanes;
	uint64_t half_size;
	uint8_t epoch[16];
	_Atomic uint64_t counter;	/* the last number drawn */
	_Atomic uint64_t reuse;		/* lower of the two slots' watermarks (L12) */
	_Atomic uint64_t touched;	/* bytes in place above the watermark (L8) */
	_Atomic bool full;		/* some lane began its second half */
	_Atomic bool error;		/* damage met: goes into the next slot */
	pthread_mutex_t ckpt_lock;	/* one checkpoint at a time; guards state */
	struct redo_start state;	/* as of the newest slot */
	struct lane *lanes;
};

/* Records up to here are durable and applied (L11). */
uint64_t redo_horizon(struct redo *r);

/* In-place bytes above the watermark that trigger a checkpoint (L8). */
#define REDO_TOUCHED_MAX	(32u << 20)

#endif
