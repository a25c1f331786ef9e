/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mend.c - what fsck.pmemfs may change in a pool
 *
 * Superblock copies are mended in super.c; the log, free counts and bitmap
 * checksums mend themselves in recovery. Here is the rest.
 */
#include <string.h>

#include "base/bytes.h"
#include "meta/mend.h"
#include "meta/redo_int.h"

bool mend_is_overwritten(const struct pm *pm)
{
	static const struct pmemfs_super nothing;
	const struct pmemfs_super *sb = pm_at(pm, 0, sizeof(*sb));

	return get64(sb->magic) != PMEMFS_MAGIC &&
		memcmp(sb, &nothing, sizeof(nothing)) != 0;
}

void mend_clear_error(struct fs *fs)
{
	struct redo *r = fs->redo;

	pthread_mutex_lock(&r->ckpt_lock);
	atomic_store(&r->error, false);
	r->state.flags &= ~PMEMFS_SLOT_ERROR;
	pthread_mutex_unlock(&r->ckpt_lock);
}

bool mend_has_error(struct fs *fs)
{
	bool found;

	if (!fs->redo)
		return false;
	pthread_mutex_lock(&fs->redo->ckpt_lock);
	found = fs->redo->state.flags & PMEMFS_SLOT_ERROR;
	pthread_mutex_unlock(&fs->redo->ckpt_lock);
	return found;
}

void mend_totals(struct fs *fs, uint64_t blocks_free, uint64_t inodes_used)
{
	struct redo *r = fs->redo;

	pthread_mutex_lock(&r->ckpt_lock);
	r->state.blocks_free = blocks_free;
	r->state.inodes_used = inodes_used;
	pthread_mutex_unlock(&r->ckpt_lock);
}
