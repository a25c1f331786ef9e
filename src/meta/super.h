/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * super.h - the superblock, its replica, and making a pool
 */
#ifndef META_SUPER_H
#define META_SUPER_H

#include "meta/fs.h"

/*
 * Check one copy of a superblock against itself and the pool's size.
 * NULL when it is good, else what is wrong (for people). *foreign is set
 * when it does not even carry our magic.
 */
const char *super_check(const struct pmemfs_super *sb, uint64_t pool_size,
			bool *foreign);
/*
 * Choose: the newer valid copy wins. Fills geo. which: 0 primary, 1 replica;
 * *other_bad says what is wrong with the other copy (NULL: it is the same).
 * -EMEDIUMTYPE no copy has our magic; -EPROTONOSUPPORT; -EUCLEAN.
 */
int super_read(struct pm *pm, struct geometry *geo, int *which,
	       const char **other_bad);
/* Write the good copy over the other one, fence between (L21). */
int super_repair(struct pm *pm, int good);

struct mkfs_params {
	uint64_t nr_blocks;
	uint8_t uuid[16];
	char label[PMEMFS_LABEL_MAX + 1];
	uint32_t nr_lanes, lane_size;	/* 0: by size */
	uint32_t root_uid, root_gid, root_mode;
	unsigned root_permille;	/* of all blocks, for root */
	bool sparse;
	bool zeroed;		/* the pool reads as zero already */
	uint64_t time;		/* seconds, 0: now */
};
/* Geometry for a pool of nr_blocks; 0 or -EINVAL (too small, too large). */
int mkfs_geometry(struct mkfs_params *p, struct geometry *geo);
/*
 * Make a pool (L21): both superblocks wiped, fence, everything else built,
 * fence, replica sealed, fence, primary sealed, fence. Durable on return.
 */
int mkfs_pool(struct pm *pm, struct mkfs_params *p, struct geometry *geo);

#endif
