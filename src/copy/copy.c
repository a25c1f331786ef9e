/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.c - choose a route for bytes on their way into the pool
 *
 * Promises: on success the bytes are flushed, so one pm_fence() by this
 * thread makes them durable; the payload is shorter by what was moved. Refuses
 * to know what the bytes are for, or whether a file points at them yet.
 */
#include "copy/copy.h"

#include <assert.h>

#include "base/count.h"
#include "copy/engine.h"
#include "pm/pm.h"

enum route { ROUTE_NOCACHE, ROUTE_PIPE, NR_ROUTES };

static int (*const engine[NR_ROUTES])(struct pm *, uint64_t, struct payload *, size_t) = {
	[ROUTE_NOCACHE] = copy_cpu,
	[ROUTE_PIPE] = copy_pipe,
};

static const enum counter moved[NR_ROUTES] = {
	[ROUTE_NOCACHE] = COUNT_NOCACHE, [ROUTE_PIPE] = COUNT_PIPE,
};

/* Bytes in memory go non-temporally; bytes in a pipe are read into place. */
static enum route copy_route(const struct payload *p, size_t len)
{
	(void)len;
	return p->mem ? ROUTE_NOCACHE : ROUTE_PIPE;
}

int copy_in(struct pm *pm, uint64_t off, struct payload *p, size_t len)
{
	enum route route = copy_route(p, len);
	int err;

	assert(len <= p->len);
	if (!len)
		return 0;
	err = engine[route](pm, off, p, len);
	if (!err)
		count_add(pm_counters(pm), moved[route], len);
	return err;
}

void copy_zero(struct pm *pm, uint64_t off, size_t len)
{
	if (!len)
		return;
	pm_copy_zero(pm, off, len);
	count_add(pm_counters(pm), COUNT_ZERO, len);
}

void copy_within(struct pm *pm, uint64_t to, uint64_t from, size_t len)
{
	if (!len)
		return;
	pm_copy(pm, to, pm_at(pm, from, len), len);
	count_add(pm_counters(pm), COUNT_WITHIN, len);
}

int copy_settle(struct pm *pm)
{
	return pm_fence(pm);			/* L5, L20 */
}

void copy_get_stats(struct pm *pm, struct copy_stats *out)
{
	const struct counters *c = pm_counters(pm);

	out->nocache_bytes = count_sum(c, COUNT_NOCACHE);
	out->pipe_bytes = count_sum(c, COUNT_PIPE);
	out->zero_bytes = count_sum(c, COUNT_ZERO);
	out->within_bytes = count_sum(c, COUNT_WITHIN);
}
