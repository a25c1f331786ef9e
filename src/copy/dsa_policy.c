/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_policy.c - the rule: which requests a device copies
 *
 *   O1  The device has to be worth it in bytes: with as many requests under way
 *       as there are, it moves at least as many bytes a second as the CPUs that
 *       have them. For a request alone this says that its latency is no
 *       longer, the flush afterwards included.
 *   O2  And in time: what the CPU still does for the request (submit, reap, flush)
 *       is less than copying it. So among many, when both are held up by the
 *       memory, the device has it, and the CPU is given back.
 *   O3  A request does not queue behind others that are on average more than
 *       LARGER times its size: it would wait long for the sake of the little time
 *       that it costs.
 *   O4  An administrator's dsa_min replaces all of this by one number.
 *
 * Where the device would move the same but for SLACK, it gets the request: the
 * figures are not better than that.
 */
#include "copy/dsa_policy.h"

#define LARGER		16.0
#define SLACK		0.01

/*
 * Going to sleep and waking up costs some microseconds, and comes late by some. What is
 * expected is a guess, so half of it is slept, and then half of what is left.
 */
#define NAP_MIN		25000u
#define NAP_OF		2u
#define NAP_LATE	4u

const struct dsa_kind dsa_kind_dsa = {
	.name = "dsa",
	.latency = 1140, .hold = 790, .engine_rate = 30.7, .device_rate = 29.9, .engines = 1,
	.submit = 100, .reap = 50,
};

struct dsa_medium dsa_medium(bool pmem, bool flush)
{
	static const struct dsa_medium media[2] = {
		{ .name = "DRAM", .cpu_rate = 9.3, .cpu_max = 20.9, .device_max = 30.7 },
		{ .name = "pmem", .cpu_rate = 3.5, .cpu_max = 13.9, .device_max = 13.9 },
	};
	struct dsa_medium m = media[pmem];

	m.flush_byte = flush ? 5.0 / 64 : 0;
	return m;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* What the CPU does for a job that the device copies; it may do something else in between. */
static double cpu_time(const struct dsa_kind *k, const struct dsa_medium *m, double len)
{
	return k->submit + k->reap + len * (k->cpu_byte + m->flush_byte);
}

/* Of so many engines together. */
static double wire_rate(const struct dsa_kind *k, const struct dsa_medium *m, double engines)
{
	return least(least(engines * k->engine_rate, k->device_rate), m->device_max);
}

/* The rate of so many such jobs, of which a thread has `own`. */
static double by_device(const struct dsa_kind *k, const struct dsa_medium *m, double len,
			double jobs, double own)
{
	/*
	 * Engines side by side share the memory, and jobs of one thread its time: one
	 * of its others in two is served in between.
	 */
	double abreast = least(k->engines, jobs);
	double each = k->latency + abreast * len / wire_rate(k, m, abreast) +
		      (1 + own) / 2 * cpu_time(k, m, len);
	double rate = least(wire_rate(k, m, k->engines), jobs * len / each);

	return k->hold > 0 ? least(rate, k->engines * len / k->hold) : rate;
}

bool dsa_policy_use(const struct dsa_kind *k, const struct dsa_medium *m,
		    const struct dsa_load *l, size_t len, uint64_t min)
{
	double own = 1.0 + l->own + l->waiting, jobs = 1.0 + l->queue + l->waiting + l->serving;
	double threads = jobs / own, size = (double)len, cpus;

	if (min)					/* O4 */
		return len >= min;
	if ((double)l->ahead > LARGER * size * l->queue)	/* O3 */
		return false;
	if (cpu_time(k, m, size) >= size / m->cpu_rate)	/* O2 */
		return false;
	/* O2 has seen to it that the threads have the time for either */
	cpus = least(threads * m->cpu_rate, m->cpu_max);
	return by_device(k, m, size, jobs, own) >= (1 - SLACK) * cpus;	/* O1 */
}

uint64_t dsa_policy_expect(const struct dsa_kind *k, const struct dsa_medium *m,
			   uint64_t ahead, size_t len)
{
	return (uint64_t)(k->latency + (double)len / wire_rate(k, m, 1) +
			  (double)ahead / wire_rate(k, m, k->engines));
}

uint64_t dsa_policy_nap(uint64_t eta, uint64_t late)
{
	/* Overdue: the longer it is, the less a little more matters. */
	uint64_t nap = eta ? eta / NAP_OF : late / NAP_LATE;

	return nap < NAP_MIN ? 0 : nap;
}
