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
#include <stdatomic.h>

#include "copy/engine.h"
#include "pm/pm.h"

enum route { ROUTE_NOCACHE, ROUTE_PIPE, NR_ROUTES };

static int (*const engine[NR_ROUTES])(struct pm *, uint64_t, struct payload *, size_t) = {
	[ROUTE_NOCACHE] = copy_cpu,
	[ROUTE_PIPE] = copy_pipe,
};

static _Atomic uint64_t moved[NR_ROUTES], zeroed, within;

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
		atomic_fetch_add_explicit(&moved[route], len, memory_order_relaxed);
	return err;
}

void copy_zero(struct pm *pm, uint64_t off, size_t len)
{
	if (!len)
		return;
	pm_copy_zero(pm, off, len);
	atomic_fetch_add_explicit(&zeroed, len, memory_order_relaxed);
}

void copy_within(struct pm *pm, uint64_t to, uint64_t from, size_t len)
{
	if (!len)
		return;
	pm_copy(pm, to, pm_at(pm, from, len), len);
	atomic_fetch_add_explicit(&within, len, memory_order_relaxed);
}

int copy_settle(struct pm *pm)
{
	return pm_fence(pm);			/* L5, L20 */
}

void copy_get_stats(struct copy_stats *out)
{
	out->nocache_bytes = atomic_load_explicit(&moved[ROUTE_NOCACHE],
						  memory_order_relaxed);
	out->pipe_bytes = atomic_load_explicit(&moved[ROUTE_PIPE],
					       memory_order_relaxed);
	out->zero_bytes = atomic_load_explicit(&zeroed, memory_order_relaxed);
	out->within_bytes = atomic_load_explicit(&within, memory_order_relaxed);
}
