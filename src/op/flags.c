/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flags.c - the flags of chattr(1) and the project, set
 *
 * Who may set them is the kernel's business (or, for old kernels, that of
 * fuse/ops_ioctl.c). What they forbid is checked where it would be done:
 *
 *   immutable	op_open() for writing, op_write(), op_fallocate(),
 *		op_setattr(), xattrs; as a directory op_dir_ok(); its names
 *		in unlink, link and rename
 *   append	the same but for writing at the end: a file must be opened
 *		with O_APPEND, and what is open already is not asked again, as
 *		with ext4; names may be added to a directory, not taken away
 *
 * New nodes inherit from their directory in make.c. A directory that hands
 * its project down (PROJINHERIT) takes no node of another one in: op_link()
 * and op_rename() answer -EXDEV, and mv(1) copies instead.
 */
#include <errno.h>

#include "op/op_i.h"

struct wanted {
	uint32_t mask, flags;
	const uint32_t *projid;
};

static uint32_t flags_after(uint32_t old, const struct wanted *w)
{
	return (old & ~w->mask) | (w->flags & w->mask);
}

static int flags_ok(const struct pmemfs_inode *mi, const struct wanted *w)
{
	uint32_t old = get32(mi->flags), new = flags_after(old, w);
	bool same_project = !w->projid || *w->projid == get32(mi->projid);

	if ((new & ~old & PMEMFS_FL_DAX) && !inode_is_reg(mi) && !inode_is_dir(mi))
		return -EINVAL;
	/* nothing but to take it away */
	if ((old & new & PMEMFS_FL_IMMUTABLE) && (new != old || !same_project))
		return -EPERM;
	return 0;
}

static int set_locked(struct inode *ip, const struct wanted *w, uint64_t mark)
{
	struct pmemfs_inode *mi;
	struct timespec now;
	struct txn *t;
	int err = flags_ok(inode_media(ip), w);

	if (err)
		return err;
	t = txn_begin(ip->fs, PMEMFS_OP_SETATTR);
	if (!t)
		return -ENOMEM;
	mi = inode_edit(t, ip);
	if (mi) {
		fs_now(ip->fs, &now);
		mi->flags = put32(flags_after(get32(mi->flags), w));
		if (w->projid)
			mi->projid = put32(*w->projid);
		inode_set_ctime(mi, &now);
	}
	return op_commit(t, mark);
}

int op_set_flags(const struct op_ctx *c, uint64_t nodeid, uint32_t mask,
		 uint32_t flags, const uint32_t *projid)
{
	struct wanted w = { .mask = mask, .flags = flags, .projid = projid };
	uint64_t mark = op_enter(c);
	struct inode *ip;
	int err = (mask | flags) & ~OP_FL_USER ? -EOPNOTSUPP : op_get_rw(c, nodeid, &ip);

	if (err)
		return op_leave(c, mark, err);
	inode_wrlock(ip);
	if (!inode_is_dir(inode_media(ip)))
		w.flags &= ~PMEMFS_FL_PROJINHERIT;	/* it has nothing to hand down */
	err = set_locked(ip, &w, mark);
	inode_unlock(ip);
	inode_put(ip);
	return op_leave(c, mark, err);
}
