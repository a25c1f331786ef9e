/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops_attr.c - attributes of nodes and of the filesystem
 */
#include <errno.h>
#include <linux/stat.h>

#include "base/bytes.h"
#include "fuse/ops.h"
#include "fuse/session.h"

int do_getattr(struct request *rq)
{
	struct op_attr a;
	int err = op_getattr(&rq->ctx, rq->h->nodeid, &a);

	return err ? err : reply_attr(rq, &a);
}

static struct op_time wire_time(uint64_t sec, uint32_t nsec)
{
	return (struct op_time){ (int64_t)sec, nsec };
}

static void take_times(struct op_setattr *set, const struct fuse_setattr_in *in)
{
	if (in->valid & FATTR_ATIME_NOW)
		set->valid |= OP_SET_ATIME_NOW;
	else if (in->valid & FATTR_ATIME)
		set->valid |= OP_SET_ATIME;
	if (in->valid & FATTR_MTIME_NOW)
		set->valid |= OP_SET_MTIME_NOW;
	else if (in->valid & FATTR_MTIME)
		set->valid |= OP_SET_MTIME;
	/* a connection that gathers writes says this with every change of a
	 * regular file; with MTIME alone it may be the page cache's own */
	if (in->valid & FATTR_CTIME)
		set->valid |= OP_SET_CTIME | OP_SET_CACHE;
	set->atime = wire_time(in->atime, in->atimensec);
	set->mtime = wire_time(in->mtime, in->mtimensec);
	set->ctime = wire_time(in->ctime, in->ctimensec);
}

int do_setattr(struct request *rq)
{
	static const struct { uint32_t wire, op; } map[] = {
		{ FATTR_MODE, OP_SET_MODE }, { FATTR_UID, OP_SET_UID },
		{ FATTR_GID, OP_SET_GID }, { FATTR_SIZE, OP_SET_SIZE },
		{ FATTR_KILL_SUIDGID, OP_SET_KILL_PRIV },
	};
	const struct fuse_setattr_in *in = rq->arg;
	struct op_setattr set = {
		.mode = in->mode & 07777, .uid = in->uid, .gid = in->gid,
		.size = in->size,
	};
	struct op_attr a;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(map); i++)
		if (in->valid & map[i].wire)
			set.valid |= map[i].op;
	take_times(&set, in);
	if (in->atimensec > 999999999 || in->mtimensec > 999999999 ||
	    in->ctimensec > 999999999)
		return -EINVAL;
	err = op_setattr(&rq->ctx, rq->h->nodeid, &set, &a);
	return err ? err : reply_attr(rq, &a);
}

static struct fuse_sx_time sx_time(struct op_time t)
{
	return (struct fuse_sx_time){ .tv_sec = t.sec, .tv_nsec = t.nsec };
}

static void fill_statx(struct fuse_statx *x, const struct op_attr *a)
{
	x->mask = STATX_BASIC_STATS | STATX_BTIME;
	x->blksize = a->blksize;
	x->nlink = a->nlink;
	x->uid = a->uid;
	x->gid = a->gid;
	x->mode = (uint16_t)a->mode;
	x->ino = a->ino;
	x->size = a->size;
	x->blocks = a->blocks512;
	x->atime = sx_time(a->atime);
	x->btime = sx_time(a->btime);
	x->ctime = sx_time(a->ctime);
	x->mtime = sx_time(a->mtime);
	/* rdev is packed as new_encode_dev() of the kernel does */
	x->rdev_major = (a->rdev & 0xfff00) >> 8;
	x->rdev_minor = (a->rdev & 0xff) | ((a->rdev >> 12) & 0xfff00);
	x->attributes_mask = STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND |
			     STATX_ATTR_NODUMP;
	if (a->flags & PMEMFS_FL_IMMUTABLE)
		x->attributes |= STATX_ATTR_IMMUTABLE;
	if (a->flags & PMEMFS_FL_APPEND)
		x->attributes |= STATX_ATTR_APPEND;
	if (a->flags & PMEMFS_FL_NODUMP)
		x->attributes |= STATX_ATTR_NODUMP;
}

int do_statx(struct request *rq)
{
	struct fuse_statx_out out;
	struct op_attr a;
	int err = op_getattr(&rq->ctx, rq->h->nodeid, &a);

	if (err)
		return err;
	memset(&out, 0, sizeof(out));
	out.attr_valid = rq->s->valid;
	fill_statx(&out.stat, &a);
	return reply_data(rq, &out, sizeof(out));
}

int do_statfs(struct request *rq)
{
	struct fuse_statfs_out out;
	struct op_statfs st;
	int err = op_statfs(&rq->ctx, &st);

	if (err)
		return err;
	memset(&out, 0, sizeof(out));
	out.blocks = st.blocks;
	out.bfree = st.bfree;
	out.bavail = st.bavail;
	out.files = st.files;
	out.ffree = st.ffree;
	out.bsize = out.frsize = st.bsize;
	out.namelen = st.namelen;
	return reply_data(rq, &out, sizeof(out));
}

int do_syncfs(struct request *rq)
{
	int err = op_syncfs(rq->s->fs);

	return err ? err : reply_ok(rq);
}
