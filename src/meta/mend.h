/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mend.h - what fsck.pmemfs may change in a pool
 */
#ifndef META_MEND_H
#define META_MEND_H

#include "meta/fs.h"

/*
 * Does something that is not ours lie where the primary superblock should be?
 * Then the replica at the end may be all that another filesystem, made over
 * the pool, has not yet overwritten: only a user who says so gets it back.
 */
bool mend_is_overwritten(const struct pm *pm);
/* Forget that damage was met: the next checkpoint's slots carry no
 * PMEMFS_SLOT_ERROR. After a walk that found nothing. */
void mend_clear_error(struct fs *fs);
/* Do the slots say that damage was met? */
bool mend_has_error(struct fs *fs);
/* Say how many there are, for the slots. Everything before is checkpointed. */
void mend_totals(struct fs *fs, uint64_t blocks_free, uint64_t inodes_used);

#endif
