/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats.h - what the requests were, and how long each took
 *
 * Always on. A thread keeps its own numbers (base/count.h), so a request costs
 * two looks at the clock and a few stores to lines that no other thread
 * writes. Time is the daemon's: from the request in its hands to the answer
 * given to the kernel; waking up and the way through the kernel are not in it.
 *
 * One process serves one mount, so these are the process's.
 */
#ifndef FUSE_STATS_H
#define FUSE_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "fuse/proto.h"

struct session;

/*
 * Four buckets to each doubling, from 256 ns to half a minute: a quantile is
 * too high by less than a quarter. Bucket 0 is all below, the last all above.
 */
#define STATS_LOW_BITS	8u
#define STATS_BUCKETS	110u

#define STATS_MAX	65536u		/* of the JSON: what an attribute may have */

static inline uint64_t stats_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

unsigned stats_bucket(uint64_t ns);
/* Where bucket b ends: all in it are below. UINT64_MAX: the last. */
uint64_t stats_bound(unsigned b);

/* A request of this kind, in hand since `start`, was answered with err. */
void stats_note(uint32_t opcode, int err, uint64_t start);

struct stats_sum {
	uint64_t count, errors, total, max;	/* nanoseconds */
	uint64_t bucket[STATS_BUCKETS];
};
void stats_sum(uint32_t opcode, struct stats_sum *out);
/* At least permille thousandths took no longer. 0: there were none. */
uint64_t stats_quantile(const struct stats_sum *sum, unsigned permille);
/* Answers with this error: EIO, ENOSPC or EUCLEAN. */
uint64_t stats_errors(int err);

/*
 * All of it as JSON, for the attribute VIRTUAL_STATS: at most size bytes. The
 * length, 0 if it does not fit. Without the histograms where they do not.
 */
size_t stats_json(struct session *s, char *buf, size_t size);

#endif
