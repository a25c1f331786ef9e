/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write_shared.c - an overwrite beside other readers and writers (L18)
 *
 *   copy     with the inode held shared: bytes of the file over bytes of the
 *            file, all of them in blocks that it has;
 *   commit   with the inode held exclusively: the times.
 *
 *   S1       Nothing but bytes inside the file changes while the inode is held
 *            shared. What would change its extents, its size or its privileges
 *            (W3), or is too scattered to be planned at once, waits its turn.
 *   S2 (L3)  The bytes have arrived before the lock is let go: in between a
 *            truncation may free the blocks, and they belong to somebody else.
 *            That is a fence more than the way in write.c costs, so this one is
 *            taken only by who would have to wait.
 *   S3       Not with data=atomic, where nothing is overwritten; nor where a
 *            fence is an msync, which takes longer than waiting does.
 *
 * Two such writes of the same bytes at the same time leave some of either, and a
 * reader may see that; so may one who reads while a single one is going on.
 */
#include <errno.h>

#include "copy/copy.h"
#include "op/write_i.h"

#define SHARED_PIECES	64u

struct piece {
	uint64_t off;			/* in the pool */
	size_t len;
};

/* S1, S3. True: only bytes will change, if they all have blocks. */
static bool only_bytes(const struct writing *w)
{
	const struct pmemfs_inode *mi = inode_media(w->ip);
	uint32_t bits;
	bool caps;

	return w->pos < w->end && w->end <= get64(mi->size) &&
	       !(get32(mi->flags) & PMEMFS_FL_TRUNC) && !write_takes_priv(w, &bits, &caps);
}

/* How many pieces; 0: a hole, or too many. -EUCLEAN. */
static int find_pieces(const struct writing *w, struct piece *at)
{
	uint64_t pos = w->pos, in, len;
	struct extent e;
	int nr = 0, err;

	for (; pos < w->end; pos += len) {
		err = extent_at(NULL, w->ip, off_blk(pos), &e);
		if (err)
			return err;
		if (!extent_has_data(&e) || nr == SHARED_PIECES)
			return 0;
		in = pos & (PMEMFS_BLOCK_SIZE - 1);
		len = min64(blk_off(e.len) - in, w->end - pos);
		at[nr++] = (struct piece){ blk_off(e.pool) + in, len };
	}
	return nr;
}

static int copy_pieces(struct writing *w, const struct piece *at, int nr)
{
	struct pm *pm = w->ip->fs->pm;
	int err = 0;

	for (int i = 0; i < nr && !err; i++)
		err = copy_in(pm, at[i].off, w->p, at[i].len);
	if (copy_settle(pm)) {				/* S2 */
		fs_shutdown(w->ip->fs, "the medium refused a fence");
		return -EIO;
	}
	return err;
}

static int copy_shared(struct writing *w)
{
	struct piece at[SHARED_PIECES];
	int err = write_limits(w), nr;

	if (err)
		return err;
	if (!only_bytes(w))
		return 1;
	nr = find_pieces(w, at);
	if (nr < 1)
		return nr ? nr : 1;
	return copy_pieces(w, at, nr);
}

static int commit_times(struct writing *w, uint64_t mark)
{
	struct pmemfs_inode *mi;

	w->t = txn_begin(w->ip->fs, PMEMFS_OP_WRITE);
	if (!w->t)
		return -ENOMEM;
	mi = inode_edit(w->t, w->ip);
	if (mi)
		write_times(w, mi);			/* the file may be shorter now */
	return op_commit(w->t, mark);
}

int write_shared(struct writing *w, uint64_t mark)
{
	struct fs *fs = w->ip->fs;
	int err;

	if (fs->opt.data == FS_DATA_ATOMIC || pm_granularity(fs->pm) == PM_GRAN_PAGE)
		return 1;				/* S3 */
	inode_rdlock(w->ip);
	err = copy_shared(w);
	inode_unlock(w->ip);
	if (err)
		return err;
	inode_wrlock(w->ip);
	err = commit_times(w, mark);
	inode_unlock(w->ip);
	return err;
}
