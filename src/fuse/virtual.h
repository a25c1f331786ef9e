/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * virtual.h - attributes that exist only while mounted
 */
#ifndef FUSE_VIRTUAL_H
#define FUSE_VIRTUAL_H

#define VIRTUAL_RO	"system.pmemfs.ro"	/* "1": pool opened read-only */

/* Who mounted, and root: the numbers of stats.h as JSON. */
#define VIRTUAL_STATS	"system.pmemfs.stats"

#endif
