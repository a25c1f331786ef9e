/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_model.h - requests, threads, a queue and its engines, in virtual time
 *
 * A model, not a measurement: what comes out follows from the parameters.
 * Nanoseconds, bytes, and bytes per nanosecond, which are GB/s.
 */
#ifndef TOOLS_DSA_MODEL_H
#define TOOLS_DSA_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/dsa_policy.h"

#define MODEL_MAX_THREADS	64u
#define MODEL_MAX_JOBS		256u	/* requests in flight */
#define MODEL_MAX_ENGINES	16u

enum model_mode { MODEL_CPU, MODEL_DEVICE, MODEL_AUTO, NR_MODEL_MODES };

struct model {
	struct dsa_kind kind;
	struct dsa_medium medium;
	double threads;		/* that serve, at most; each has a CPU */
	double slots;		/* jobs that the queue takes */
	double max_transfer;	/* bytes of one descriptor */
	double request;		/* CPU time of a request besides its bytes */
	double wake;		/* CPU time of going to sleep and waking up, */
	double wake_late;	/* and how much later than asked that is */
	double fault_every;	/* each so-manieth job meets a page that is not there; 0: none */
	double fault;		/* CPU time to touch it */
	bool interrupts;	/* completion wakes the thread; else it polls or naps */
	/* the rules under test, and what they take the device and the memory for */
	struct dsa_kind rule_kind;
	struct dsa_medium rule_medium;
	bool (*use)(const struct dsa_kind *k, const struct dsa_medium *m,
		    const struct dsa_load *l, size_t len, uint64_t min);
	uint64_t (*nap)(uint64_t eta, uint64_t late);
};

struct model_result {
	double rate;		/* GB/s */
	double latency, worst;	/* ns, from arrival to reply: mean, and the 99th of 100 */
	double cpu;		/* CPU seconds for a GiB */
	double share;		/* of the bytes that the device moved */
};

/* in_flight requests of len bytes at any time; as each is answered, the next comes. */
void model_run(const struct model *m, enum model_mode mode, size_t len, unsigned in_flight,
	       struct model_result *out);

#endif
