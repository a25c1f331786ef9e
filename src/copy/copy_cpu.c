/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_cpu.c - the route from a buffer in DRAM: one non-temporal copy
 *
 * Or none, if they were received in their place ("landing").
 *
 * The pool's lines are not read into the cache only to be flushed out again.
 * Leaves: flushed, edges included (pm_copy's promise).
 */
#include "copy/engine.h"
#include "pm/pm.h"

int copy_cpu(struct pm *pm, uint64_t off, struct payload *p, size_t len)
{
	pm_copy(pm, off, p->mem, len);
	p->mem += len;
	p->len -= len;
	return 0;
}

int copy_landed(struct pm *pm, uint64_t off, struct payload *p, size_t len)
{
	if (!p->land->durable)
		pm_flush(pm, off, len);			/* L20 */
	p->mem += len;
	p->len -= len;
	return 0;
}
