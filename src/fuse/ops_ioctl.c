/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops_ioctl.c - the flags of chattr(1) and of xfs_io(8), generations
 *
 * The kernel (since 5.13) turns FS_IOC_GETFLAGS and its kin into ioctls of its
 * own on a file that it opens for the purpose, and has then checked who asks:
 * the owner or CAP_FOWNER, CAP_LINUX_IMMUTABLE for what that guards. Older
 * ones hand them through unchecked, and we only know a user: the owner, and
 * root for both capabilities.
 *
 * The flags reach Linux only here. The kernel keeps none of them for a FUSE
 * inode, so op/ enforces them (op/flags.c) and statx(2) cannot show them.
 *
 *   I1  No more bytes are returned than the command's type has: lsattr(1)
 *	 asks for a generation, by its number a long, with room for an int.
 */
#include <errno.h>
#include <linux/fs.h>

#include "base/bytes.h"
#include "fuse/ops.h"
#include "fuse/session.h"

/* From here on the kernel has checked who asks: Linux 5.14. */
#define CHECKED_MINOR	34

static const struct { uint32_t fl, flag, xflag; } flag_map[] = {
	{ PMEMFS_FL_DAX, FS_DAX_FL, FS_XFLAG_DAX },
	{ PMEMFS_FL_IMMUTABLE, FS_IMMUTABLE_FL, FS_XFLAG_IMMUTABLE },
	{ PMEMFS_FL_APPEND, FS_APPEND_FL, FS_XFLAG_APPEND },
	{ PMEMFS_FL_NOATIME, FS_NOATIME_FL, FS_XFLAG_NOATIME },
	{ PMEMFS_FL_NODUMP, FS_NODUMP_FL, FS_XFLAG_NODUMP },
	{ PMEMFS_FL_SYNC, FS_SYNC_FL, FS_XFLAG_SYNC },
	{ PMEMFS_FL_PROJINHERIT, FS_PROJINHERIT_FL, FS_XFLAG_PROJINHERIT },
};

static uint32_t to_flags(uint32_t fl)
{
	uint32_t flags = 0;

	for (size_t i = 0; i < ARRAY_SIZE(flag_map); i++)
		flags |= fl & flag_map[i].fl ? flag_map[i].flag : 0;
	return flags;
}

static uint32_t to_xflags(uint32_t fl)
{
	uint32_t xflags = 0;

	for (size_t i = 0; i < ARRAY_SIZE(flag_map); i++)
		xflags |= fl & flag_map[i].fl ? flag_map[i].xflag : 0;
	return xflags;
}

/* -EOPNOTSUPP: there are some that we do not have. */
static int from_flags(uint32_t flags, uint32_t *fl)
{
	*fl = 0;
	for (size_t i = 0; i < ARRAY_SIZE(flag_map); i++) {
		*fl |= flags & flag_map[i].flag ? flag_map[i].fl : 0;
		flags &= ~flag_map[i].flag;
	}
	return flags ? -EOPNOTSUPP : 0;
}

static int from_xflags(uint32_t xflags, uint32_t *fl)
{
	*fl = 0;
	for (size_t i = 0; i < ARRAY_SIZE(flag_map); i++) {
		*fl |= xflags & flag_map[i].xflag ? flag_map[i].fl : 0;
		xflags &= ~flag_map[i].xflag;
	}
	return xflags ? -EOPNOTSUPP : 0;
}

static int reply_ioctl(struct request *rq, const void *data, size_t len)
{
	const struct fuse_ioctl_in *in = rq->arg;
	struct fuse_ioctl_out out = { .result = 0 };
	struct iovec iov[3] = {
		{ 0 }, { &out, sizeof(out) }, { (void *)(uintptr_t)data, len },
	};

	if (len > in->out_size)
		return -EINVAL;
	reply_iov(rq, iov, len ? 3 : 2);
	return 0;
}

static int get_flags(struct request *rq)
{
	struct op_attr a;
	uint32_t flags;
	int err = op_getattr(&rq->ctx, rq->h->nodeid, &a);

	flags = err ? 0 : to_flags(a.flags);
	return err ? err : reply_ioctl(rq, &flags, sizeof(flags));	/* I1 */
}

static int get_xattr(struct request *rq)
{
	struct fsxattr x = { 0 };
	struct op_attr a;
	int err = op_getattr(&rq->ctx, rq->h->nodeid, &a);

	if (err)
		return err;
	x.fsx_xflags = to_xflags(a.flags);
	x.fsx_projid = a.projid;
	return reply_ioctl(rq, &x, sizeof(x));
}

static int get_version(struct request *rq)
{
	struct op_attr a;
	int err = op_getattr(&rq->ctx, rq->h->nodeid, &a);

	return err ? err : reply_ioctl(rq, &a.gen, sizeof(a.gen));	/* I1 */
}

/* For kernels that have not asked this themselves. */
static int may_set(struct request *rq, uint32_t fl)
{
	struct op_attr a;
	int err;

	if (rq->s->minor >= CHECKED_MINOR || rq->ctx.uid == 0)
		return 0;
	err = op_getattr(&rq->ctx, rq->h->nodeid, &a);
	if (err)
		return err;
	if (a.uid != rq->ctx.uid)
		return -EPERM;
	return (a.flags ^ fl) & (PMEMFS_FL_IMMUTABLE | PMEMFS_FL_APPEND) ? -EPERM : 0;
}

static int set(struct request *rq, uint32_t fl, const uint32_t *projid)
{
	int err = may_set(rq, fl);

	if (!err)
		err = op_set_flags(&rq->ctx, rq->h->nodeid, OP_FL_USER, fl, projid);
	if (err)
		return err;
	notify_attr(rq->s, rq->h->nodeid);	/* a new ctime */
	return reply_ioctl(rq, NULL, 0);
}

static int set_flags(struct request *rq)
{
	uint32_t flags, fl;
	int err;

	if (rq->rest_len < sizeof(flags))
		return -EINVAL;
	memcpy(&flags, rq->rest, sizeof(flags));
	err = from_flags(flags, &fl);
	return err ? err : set(rq, fl, NULL);
}

static int set_xattr(struct request *rq)
{
	struct fsxattr x;
	uint32_t fl;
	int err;

	if (rq->rest_len < sizeof(x))
		return -EINVAL;
	memcpy(&x, rq->rest, sizeof(x));
	err = from_xflags(x.fsx_xflags, &fl);
	if (!err && (x.fsx_extsize || x.fsx_cowextsize))
		err = -EOPNOTSUPP;
	return err ? err : set(rq, fl, &x.fsx_projid);
}

int do_ioctl(struct request *rq)
{
	const struct fuse_ioctl_in *in = rq->arg;

	switch (in->cmd) {
	case FS_IOC_GETFLAGS:
	case FS_IOC32_GETFLAGS:
		return get_flags(rq);
	case FS_IOC_SETFLAGS:
		return set_flags(rq);
	case FS_IOC32_SETFLAGS:
		/* A kernel that checks makes the other of a 32-bit process's;
		 * this one is a 64-bit process's, and nobody has looked at it:
		 * neither who asks nor whether the mount is read-only. */
		if (rq->s->minor >= CHECKED_MINOR)
			return -ENOTTY;
		return set_flags(rq);
	case FS_IOC_FSGETXATTR:
		return get_xattr(rq);
	case FS_IOC_FSSETXATTR:
		return set_xattr(rq);
	case FS_IOC_GETVERSION:
	case FS_IOC32_GETVERSION:
		return get_version(rq);
	}
	return -ENOTTY;
}
