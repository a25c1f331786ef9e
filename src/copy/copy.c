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

#include "base/bytes.h"
#include "base/count.h"
#include "copy/engine.h"
#include "pm/pm.h"

enum route { ROUTE_NOCACHE, ROUTE_PIPE, ROUTE_SPLICE, ROUTE_LANDED, NR_ROUTES };

static int (*const engine[NR_ROUTES])(struct pm *, uint64_t, struct payload *, size_t) = {
	[ROUTE_NOCACHE] = copy_cpu,
	[ROUTE_PIPE] = copy_pipe,
	[ROUTE_SPLICE] = copy_splice,
	[ROUTE_LANDED] = copy_landed,
};

static const enum counter moved[NR_ROUTES] = {
	[ROUTE_NOCACHE] = COUNT_NOCACHE, [ROUTE_PIPE] = COUNT_PIPE,
	[ROUTE_SPLICE] = COUNT_SPLICED, [ROUTE_LANDED] = COUNT_LANDED,
};

/* Bytes that are where they belong stay there; others in memory go by the CPU. */
static enum route copy_route(struct pm *pm, uint64_t off, const struct payload *p, size_t len)
{
	if (!p->mem)
		return pm_can_splice(pm) ? ROUTE_SPLICE : ROUTE_PIPE;
	return p->land && p->mem == pm_at(pm, off, len) ? ROUTE_LANDED : ROUTE_NOCACHE;
}

/* As many of the next len bytes as lie in one place. */
static size_t one_place(struct payload *p, size_t len)
{
	if (!p->next)
		return len;
	if (p->split)
		return min64(len, p->split);
	p->mem = p->next;
	p->next = NULL;
	return len;
}

struct payload payload_landed(struct pm *pm, const void *p, size_t split, struct landing *land)
{
	const uint8_t *rest = pm_at(pm, land->off + split, land->total - split);

	return (struct payload){
		.mem = split ? p : rest, .fd = -1, .len = land->total, .split = split,
		.land = land, .next = split ? rest : NULL,
	};
}

int copy_in(struct pm *pm, uint64_t off, struct payload *p, size_t len)
{
	enum route route;
	int err = 0;

	assert(len <= p->len);
	for (size_t n; len && !err; off += n, len -= n) {
		n = one_place(p, len);
		route = copy_route(pm, off, p, n);
		err = engine[route](pm, off, p, n);
		if (p->next)
			p->split -= n;
		if (!err)
			count_add(pm_counters(pm), moved[route], n);
	}
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
