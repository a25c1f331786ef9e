/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm_mem.h - a pool in ordinary memory, for tests
 *
 *	struct pm_mem mem = { .size = 16 << 20 };
 *	struct pm_config cfg = { .backend = &pm_backend_mem,
 *				 .backend_arg = &mem, .granularity = -1 };
 *
 * The memory outlives pm_close(), so a pool can be opened again, as after a
 * restart of the daemon; pm_mem_free() ends it. To start from given bytes
 * (a crash image), set buf; it is then used in place and stays the caller's.
 * With PM_RDONLY a pool works on a copy that is dropped at pm_close().
 */
#ifndef SUPPORT_PM_MEM_H
#define SUPPORT_PM_MEM_H

#include <stdbool.h>
#include <stdint.h>

#include "pm/backend.h"

struct pm_mem {
	uint64_t size;		/* bytes, a multiple of 4096 */
	void *buf;		/* NULL: made by the first open */
	bool owned;		/* buf is ours */
};

extern const struct pm_backend pm_backend_mem;

void pm_mem_free(struct pm_mem *mem);

/* Zeroed memory, 2 MiB aligned, made and dropped in whole pages. */
void *pm_mem_map(uint64_t size);
void pm_mem_unmap(void *buf, uint64_t size);

#endif
