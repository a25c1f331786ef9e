/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_cpu.c - the route from a buffer in DRAM: one non-temporal copy
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
