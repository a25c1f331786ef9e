/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_device.c - pmemfs-bench copy: by a copying device, if there is one
 *
 * Through the interface that the daemon uses (dsa.h), with a thread that does
 * nothing but poll. The rule that would leave some requests to the CPU is off.
 *
 *   E1  No two jobs in flight have a byte of the pool in common.
 *   E2  What the device could not do, the CPU has copied: that is in the time,
 *       and the share of the device is told.
 */
#include "tools/bench_device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "copy/dsa.h"
#include "pm/pm.h"

#define PATIENCE	2000000000ll		/* ns, for the first sign of life */

struct bench_device {
	struct pm *pm;
	struct dsa *dsa;
	struct dsa_port *port;
	struct dsa_job job[DEVICE_DEPTH];
	bool busy[DEVICE_DEPTH];
	unsigned inflight;
	double by_device, by_cpu;
};

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* A queue is tried with a copy of its own first. */
static bool comes_on(struct bench_device *d)
{
	int64_t end = now() + PATIENCE;

	while (!dsa_wants(d->port, DEVICE_MIN))
		if (now() >= end)
			return false;
	return true;
}

struct bench_device *bench_device_open(struct pm *pm, char *what, size_t size)
{
	struct dsa_opt opt = { .mode = DSA_AUTO, .min = DEVICE_MIN };
	struct bench_device *d = calloc(1, sizeof(*d));

	snprintf(what, size, "no device");
	if (!d)
		return NULL;
	d->pm = pm;
	if (!dsa_open(&d->dsa, pm, &opt) && d->dsa)
		d->port = dsa_port_open(d->dsa, DEVICE_DEPTH);
	if (d->port && comes_on(d)) {
		dsa_describe(d->dsa, what, size);
		return d;
	}
	if (d->port)
		snprintf(what, size, "a device that does not answer");
	bench_device_close(d);
	return NULL;
}

void bench_device_close(struct bench_device *d)
{
	if (!d)
		return;
	bench_device_end(d);
	dsa_port_close(d->port);
	dsa_close(d->dsa);
	free(d);
}

/* The time of a look that finds nothing is waiting. */
static int64_t reap_one(struct bench_device *d)
{
	int64_t start;
	struct dsa_job *j;

	do {
		start = now();
		j = dsa_reap(d->port);
	} while (!j);
	if (!j->durable)
		pm_flush(d->pm, j->off, j->len);
	if (j->err) {
		log_err("the memory failed under the device");
		exit(EXIT_FAILURE);
	}
	d->by_device += (double)j->by_device;
	d->by_cpu += (double)j->by_cpu;
	d->busy[j - d->job] = false;
	d->inflight--;
	return now() - start;
}

int64_t bench_device_end(struct bench_device *d)
{
	int64_t worked = 0;

	while (d->inflight)
		worked += reap_one(d);
	return worked;
}

static bool overlaps(const struct bench_device *d, uint64_t off, size_t len)
{
	for (unsigned i = 0; i < DEVICE_DEPTH; i++)
		if (d->busy[i] && d->job[i].off < off + len &&
		    off < d->job[i].off + d->job[i].len)
			return true;
	return false;
}

static int64_t by_cpu(struct bench_device *d, uint64_t off, const void *src, size_t len)
{
	int64_t start = now();

	pm_copy(d->pm, off, src, len);
	d->by_cpu += (double)len;
	return now() - start;
}

int64_t bench_device_copy(struct bench_device *d, uint64_t off, const void *src, size_t len,
			  unsigned depth)
{
	int64_t worked = 0, start;
	unsigned i = 0;

	while (overlaps(d, off, len))				/* E1 */
		worked += reap_one(d);
	while (d->busy[i])
		i++;
	start = now();
	d->job[i] = (struct dsa_job){ .off = off, .src = src, .len = len };
	if (dsa_submit(d->port, &d->job[i]))
		return worked + by_cpu(d, off, src, len);	/* E2 */
	worked += now() - start;
	d->busy[i] = true;
	d->inflight++;
	while (d->inflight >= depth)
		worked += reap_one(d);
	return worked;
}

double bench_device_share(const struct bench_device *d)
{
	double all = d->by_device + d->by_cpu;

	return all > 0 ? d->by_device / all : 0;
}
