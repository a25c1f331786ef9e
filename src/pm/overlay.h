/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overlay.h - a pool to try things on: stores stay in memory
 *
 *	pm_overlay_new(&ov, path, &cfg, false);
 *	... pm_open() with &pm_backend_overlay and ov, as often as one likes ...
 *	for (blk = 0; pm_overlay_next(ov, &blk); blk++)
 *		...this block was stored to...
 *	pm_overlay_free(ov);
 *
 * What one opening stores the next one sees; nothing of it reaches the pool.
 */
#ifndef PM_OVERLAY_H
#define PM_OVERLAY_H

#include "pm/pm.h"

struct pm_overlay;
extern const struct pm_backend pm_backend_overlay;	/* arg: struct pm_overlay */

/*
 * Map the pool at path. cfg says how to open it: backend, PM_NOLOCK if the
 * caller holds the lock already. Where the kernel cannot map it privately
 * (devdax), or by_hand asks for it, it is mapped shared and pieces of it are
 * copied before they are first stored to. The errors of pm_open().
 */
int pm_overlay_new(struct pm_overlay **out, const char *path,
		   const struct pm_config *cfg, bool by_hand);
void pm_overlay_free(struct pm_overlay *ov);

/* The first block at or behind *blk that was stored to; false: none. */
bool pm_overlay_next(const struct pm_overlay *ov, uint64_t *blk);

#endif
