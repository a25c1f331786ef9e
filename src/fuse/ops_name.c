/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops_name.c - requests about names
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "fuse/ops.h"
#include "fuse/session.h"

/* One name that a new node may have. */
static int take_new_name(const struct request *rq, struct name *n)
{
	int err = take_names(rq, n, 1);

	if (err)
		return err;
	return memchr(n->s, '/', n->len) ? -EINVAL : 0;
}

static bool is_dot(const struct name *n)
{
	return n->s[0] == '.' &&
	       (n->len == 1 || (n->len == 2 && n->s[1] == '.'));
}

int do_lookup(struct request *rq)
{
	struct op_entry e;
	struct name n;
	int err = take_names(rq, &n, 1);

	if (err)
		return err;
	err = op_lookup(&rq->ctx, rq->h->nodeid, n.s, n.len, &e);
	if (err == -ENOENT && !is_dot(&n))
		return reply_no_entry(rq);
	return err ? err : reply_entry(rq, &e);
}

int do_forget(struct request *rq)
{
	const struct fuse_forget_in *in = rq->arg;

	op_forget(rq->s->fs, rq->h->nodeid, in->nlookup);
	return 0;
}

int do_batch_forget(struct request *rq)
{
	const struct fuse_batch_forget_in *in = rq->arg;
	const struct fuse_forget_one *one = (const void *)rq->rest;
	size_t room = rq->rest_len / sizeof(*one);

	for (size_t i = 0; i < min64(in->count, room); i++)
		op_forget(rq->s->fs, one[i].nodeid, one[i].nlookup);
	return 0;
}

int do_mknod(struct request *rq)
{
	const struct fuse_mknod_in *in = rq->arg;
	struct op_entry e;
	struct name n;
	int err = take_new_name(rq, &n);

	if (err)
		return err;
	rq->ctx.umask = in->umask;
	err = op_mknod(&rq->ctx, rq->h->nodeid, n.s, n.len, in->mode, in->rdev,
		       &e);
	return err ? err : reply_entry(rq, &e);
}

int do_mkdir(struct request *rq)
{
	const struct fuse_mkdir_in *in = rq->arg;
	struct op_entry e;
	struct name n;
	int err = take_new_name(rq, &n);

	if (err)
		return err;
	rq->ctx.umask = in->umask;
	err = op_mkdir(&rq->ctx, rq->h->nodeid, n.s, n.len, in->mode & 07777,
		       &e);
	return err ? err : reply_entry(rq, &e);
}

int do_symlink(struct request *rq)
{
	struct op_entry e;
	struct name n[2];		/* the new name, then the target */
	int err = take_names(rq, n, 2);

	if (err)
		return err;
	if (memchr(n[0].s, '/', n[0].len))
		return -EINVAL;
	if (n[1].len > 4095)
		return -ENAMETOOLONG;
	err = op_symlink(&rq->ctx, rq->h->nodeid, n[0].s, n[0].len,
			 n[1].s, n[1].len, &e);
	return err ? err : reply_entry(rq, &e);
}

int do_readlink(struct request *rq)
{
	size_t len = 0;
	int err = op_readlink(&rq->ctx, rq->h->nodeid, (char *)rq->out, &len);

	return err ? err : reply_data(rq, rq->out, len);
}

int do_link(struct request *rq)
{
	const struct fuse_link_in *in = rq->arg;
	struct op_entry e;
	struct name n;
	int err = take_new_name(rq, &n);

	if (err)
		return err;
	err = op_link(&rq->ctx, in->oldnodeid, rq->h->nodeid, n.s, n.len, &e);
	return err ? err : reply_entry(rq, &e);
}

int do_unlink(struct request *rq)
{
	struct name n;
	int err = take_names(rq, &n, 1);

	if (!err)
		err = op_unlink(&rq->ctx, rq->h->nodeid, n.s, n.len);
	return err ? err : reply_ok(rq);
}

int do_rmdir(struct request *rq)
{
	struct name n;
	int err = take_names(rq, &n, 1);

	if (!err)
		err = op_rmdir(&rq->ctx, rq->h->nodeid, n.s, n.len);
	return err ? err : reply_ok(rq);
}

static int rename_to(struct request *rq, uint64_t newdir, uint32_t flags)
{
	struct name n[2];
	int err = take_names(rq, n, 2);

	if (err)
		return err;
	if (memchr(n[1].s, '/', n[1].len))
		return -EINVAL;
	err = op_rename(&rq->ctx, rq->h->nodeid, n[0].s, n[0].len, newdir,
			n[1].s, n[1].len, flags);
	return err ? err : reply_ok(rq);
}

int do_rename(struct request *rq)
{
	const struct fuse_rename_in *in = rq->arg;

	return rename_to(rq, in->newdir, 0);
}

int do_rename2(struct request *rq)
{
	const struct fuse_rename2_in *in = rq->arg;

	return rename_to(rq, in->newdir, in->flags);
}

/*
 * A new node is there: open it, or take the kernel's reference back. It has
 * nothing that O_TRUNC could take away; cutting it would be a second record.
 */
static int open_new(struct request *rq, const struct op_entry *e,
		    uint32_t flags)
{
	int err = op_open(&rq->ctx, e->nodeid, flags & ~(uint32_t)O_TRUNC);

	if (err) {
		op_forget(rq->s->fs, e->nodeid, 1);
		return err;
	}
	return reply_open(rq, e, file_open_flags(rq->s, e->attr.flags));
}

int do_create(struct request *rq)
{
	const struct fuse_create_in *in = rq->arg;
	struct op_entry e;
	struct name n;
	int err = take_new_name(rq, &n);

	if (err)
		return err;
	rq->ctx.umask = in->umask;
	err = op_mknod(&rq->ctx, rq->h->nodeid, n.s, n.len,
		       S_IFREG | (in->mode & 07777), 0, &e);
	return err ? err : open_new(rq, &e, in->flags);
}

int do_tmpfile(struct request *rq)
{
	const struct fuse_create_in *in = rq->arg;
	struct op_entry e;
	int err;

	rq->ctx.umask = in->umask;
	err = op_tmpfile(&rq->ctx, rq->h->nodeid, in->mode & 07777, &e);
	return err ? err : open_new(rq, &e, in->flags);
}
