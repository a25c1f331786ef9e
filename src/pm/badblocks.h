/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * badblocks.h - what the kernel knows about bad memory under a pool
 *
 * Private to src/pm; the promise to others is in pm.h.
 */
#ifndef PM_BADBLOCKS_H
#define PM_BADBLOCKS_H

#include "pm/backend.h"

struct pmem2_source;

/* Fill in m->bad and m->nr_bad, in whole pages. Nothing where nobody knows. */
void badblocks_find(struct pm_map *m, const struct pmem2_source *src);
/* Give up what lies in the bad blocks that touch r. -ENOENT: none does; -EIO,
 * -EOPNOTSUPP: the device refused. */
int badblocks_clear(const struct pmem2_source *src, struct pm_range r);

#endif
