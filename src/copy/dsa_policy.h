/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_policy.h - by the device or by the CPU
 *
 * The rule, and nothing else: no I/O, no state, no clock. The engine asks it for
 * each request, and `pmemfs-bench dsa-model` asks the same code in virtual time.
 *
 * Bytes, nanoseconds, and bytes per nanosecond, which are GB/s. The functions
 * are pure; any thread may call them.
 */
#ifndef COPY_DSA_POLICY_H
#define COPY_DSA_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kind of device, and how it is reached. */
struct dsa_kind {
	const char *name;
	double latency;		/* of a job alone, besides its bytes */
	double hold;		/* before an engine takes the next job, at least */
	double engine_rate;	/* of one engine */
	double device_rate;	/* of all of them */
	double engines;		/* how many */
	double submit, reap;	/* CPU time for a job, */
	double cpu_byte;	/* and for each byte of it (pinning, mapping) */
};

/* The memory of the pool, as the two of them see it. */
struct dsa_medium {
	const char *name;
	double cpu_rate;	/* one CPU storing durably */
	double cpu_max;		/* any number of them */
	double device_max;	/* what it takes from a device */
	double flush_byte;	/* CPU time to make durable what a device wrote */
};

/* As published; `dsa-model --list` prints the source of each figure. */
extern const struct dsa_kind dsa_kind_dsa;
/*
 * Persistent memory, or DRAM that stands in for it; flush: what a device wrote has to
 * be flushed by CPU (the granularity of the pool is the line).
 */
struct dsa_medium dsa_medium(bool pmem, bool flush);

/* Who else wants the memory while this request is decided. */
struct dsa_load {
	unsigned queue;		/* jobs submitted and not reaped, of all threads */
	uint64_t ahead;		/* their bytes */
	unsigned own;		/* of those jobs, this thread's */
	unsigned waiting;	/* requests that this thread has, and has not begun */
	unsigned serving;	/* other threads that copy or flush now */
};

/*
 * Shall a request of len bytes go to the device? min: 0, or what the
 * administrator said (-o dsa_min=): that and more does, less does not.
 */
bool dsa_policy_use(const struct dsa_kind *k, const struct dsa_medium *m,
		    const struct dsa_load *l, size_t len, uint64_t min);

/* From submission to completion of a job behind `ahead` bytes of others. */
uint64_t dsa_policy_expect(const struct dsa_kind *k, const struct dsa_medium *m,
			   uint64_t ahead, size_t len);

/*
 * How long a thread that has nothing else to do should sleep before it looks for
 * completions again; 0: keep looking. eta: until the oldest job is expected; late:
 * how long it has been overdue (one of them is 0).
 */
uint64_t dsa_policy_nap(uint64_t eta, uint64_t late);

#endif
