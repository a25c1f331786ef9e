/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reply.c - answers
 *
 * The one place where a result leaves the program, so the one place that
 * knows what the kernel accepts: an error in -511..0, lengths that are exact.
 *
 * How long the kernel may believe us: a day. The pool has one writer, this
 * daemon, and every change comes through the kernel that caches it; what it
 * cannot know (a setuid bit cleared by a write) is told by notify_attr().
 * That holds for names that do not exist as well: every way a name can come
 * to be (create, mkdir, mknod, symlink, link of an O_TMPFILE, both ends of a
 * rename) replaces or drops the kernel's negative entry.
 */
#include "fuse/reply.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "fuse/session.h"
#include "fuse/transport.h"

static int send_answer(struct request *rq, int err, struct iovec *iov,
		       unsigned nr)
{
	struct fuse_out_header h = { .error = err, .unique = rq->h->unique };
	size_t len = sizeof(h);

	assert(!rq->answered);
	for (unsigned i = 1; i < nr; i++)
		len += iov[i].iov_len;
	h.len = (uint32_t)len;
	iov[0].iov_base = &h;
	iov[0].iov_len = sizeof(h);
	rq->answered = true;
	rq->error = err;
	return rq->tr->send(rq, iov, nr);
}

int reply_error(struct request *rq, int err)
{
	struct iovec iov[1];

	if (err > 0 || err <= -512) {
		log_err("bug: %u ended with %d", rq->h->opcode, err);
		err = -EIO;
	}
	send_answer(rq, err, iov, 1);
	return 0;
}

int reply_data(struct request *rq, const void *data, size_t len)
{
	struct iovec iov[2];

	iov[1].iov_base = (void *)(uintptr_t)data;
	iov[1].iov_len = len;
	send_answer(rq, 0, iov, len ? 2 : 1);
	return 0;
}

int reply_iov(struct request *rq, struct iovec *iov, unsigned nr)
{
	return send_answer(rq, 0, iov, nr);
}

static void fill_attr(struct fuse_attr *out, const struct op_attr *a)
{
	memset(out, 0, sizeof(*out));
	out->ino = a->ino;
	out->size = a->size;
	out->blocks = a->blocks512;
	out->atime = (uint64_t)a->atime.sec;
	out->mtime = (uint64_t)a->mtime.sec;
	out->ctime = (uint64_t)a->ctime.sec;
	out->atimensec = a->atime.nsec;
	out->mtimensec = a->mtime.nsec;
	out->ctimensec = a->ctime.nsec;
	out->mode = a->mode;
	out->nlink = a->nlink;
	out->uid = a->uid;
	out->gid = a->gid;
	out->rdev = a->rdev;
	out->blksize = a->blksize;
}

void fill_entry(const struct request *rq, struct fuse_entry_out *out,
		const struct op_entry *e)
{
	memset(out, 0, sizeof(*out));
	out->nodeid = e->nodeid;
	out->generation = e->generation;
	out->entry_valid = rq->s->valid;
	out->attr_valid = rq->s->valid;
	fill_attr(&out->attr, &e->attr);
}

int reply_attr(struct request *rq, const struct op_attr *a)
{
	struct fuse_attr_out out = { .attr_valid = rq->s->valid };

	fill_attr(&out.attr, a);
	return reply_data(rq, &out, sizeof(out));
}

int reply_no_entry(struct request *rq)
{
	struct fuse_entry_out out;

	memset(&out, 0, sizeof(out));
	out.entry_valid = rq->s->valid;
	return reply_data(rq, &out, sizeof(out));
}

int reply_entry(struct request *rq, const struct op_entry *e)
{
	struct fuse_entry_out out;
	struct iovec iov[2] = { { 0 }, { &out, sizeof(out) } };

	fill_entry(rq, &out, e);
	if (send_answer(rq, 0, iov, 2))
		op_forget(rq->s->fs, e->nodeid, 1);
	return 0;
}

int reply_open(struct request *rq, const struct op_entry *e, uint32_t flags)
{
	struct fuse_entry_out entry;
	struct fuse_open_out open = { .open_flags = flags };
	struct iovec iov[3] = { { 0 } };
	unsigned nr = 1;

	if (e) {
		fill_entry(rq, &entry, e);
		iov[nr++] = (struct iovec){ &entry, sizeof(entry) };
	}
	iov[nr++] = (struct iovec){ &open, sizeof(open) };
	/* counted first: its RELEASE may be served before we get to it */
	atomic_fetch_add(&rq->s->open_files, 1);
	if (!send_answer(rq, 0, iov, nr))
		return 0;
	atomic_fetch_sub(&rq->s->open_files, 1);
	op_release(rq->s->fs, e ? e->nodeid : rq->h->nodeid);
	if (e)
		op_forget(rq->s->fs, e->nodeid, 1);
	return 0;
}

void notify_attr(struct session *s, uint64_t nodeid)
{
	struct {
		struct fuse_out_header h;
		struct fuse_notify_inval_inode_out n;
	} msg = {
		.h = { .len = sizeof(msg), .error = FUSE_NOTIFY_INVAL_INODE },
		.n = { .ino = nodeid, .off = -1 },
	};
	ssize_t put = write(s->fd, &msg, sizeof(msg));

	(void)put;	/* ENOENT: the kernel has not cached it */
}
