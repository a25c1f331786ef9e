/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops_dir.c - reading directories
 *
 * Entries are packed one behind the other, each padded to 8 bytes. With plus
 * every one is preceded by the answer to its LOOKUP, and the kernel owes us a
 * FORGET for it; so a lookup may be counted only for an entry that fits (D1).
 *
 *   D1  fits() is decided before op/ counts.
 *   D2  an answer that did not arrive takes its lookups back.
 */
#include <errno.h>

#include "base/bytes.h"
#include "fuse/ops.h"
#include "fuse/session.h"

struct listing {
	const struct request *rq;
	uint8_t *buf;
	size_t len, size;
	bool plus, full;
};

int do_opendir(struct request *rq)
{
	uint32_t flags = 0;

	if (rq->s->no_opendir)
		return -ENOSYS;		/* and never again; cached listings */
	/* as the kernel does by itself after ENOSYS, except where each
	 * reading has to be seen for its access time */
	if (rq->s->opt->fs.atime != FS_STRICTATIME)
		flags = FOPEN_KEEP_CACHE | FOPEN_CACHE_DIR;
	return reply_data(rq, &(struct fuse_open_out){ .open_flags = flags },
			  sizeof(struct fuse_open_out));
}

int do_releasedir(struct request *rq)
{
	return reply_ok(rq);
}

static bool add_entry(void *arg, const struct op_dirent *d,
		      const struct op_entry *e)
{
	struct listing *l = arg;
	size_t head = l->plus ? sizeof(struct fuse_entry_out) : 0;
	size_t need = head + align_up(FUSE_DIRENT_HEAD + d->len, 8);
	struct fuse_dirent de = {
		.ino = d->ino, .off = d->off,
		.namelen = (uint32_t)d->len, .type = d->type,
	};
	uint8_t *p = l->buf + l->len;

	if (need > l->size - l->len) {
		l->full = true;
		return false;				/* D1 */
	}
	memset(p, 0, need);
	if (l->plus && e)
		fill_entry(l->rq, (struct fuse_entry_out *)(void *)p, e);
	memcpy(p + head, &de, FUSE_DIRENT_HEAD);
	memcpy(p + head + FUSE_DIRENT_HEAD, d->name, d->len);
	l->len += need;
	return true;
}

static void forget_listing(struct request *rq, const struct listing *l)
{
	const size_t head = sizeof(struct fuse_entry_out);

	for (size_t at = 0; at < l->len;) {
		const struct fuse_entry_out *e = (const void *)(l->buf + at);
		const struct fuse_dirent *d = (const void *)(l->buf + at + head);

		if (e->nodeid)
			op_forget(rq->s->fs, e->nodeid, 1);
		at += head + align_up(FUSE_DIRENT_HEAD + d->namelen, 8);
	}
}

static int list(struct request *rq, bool plus)
{
	const struct fuse_read_in *in = rq->arg;
	struct listing l = {
		.rq = rq, .buf = rq->out, .size = min64(in->size, OUT_SIZE), .plus = plus,
	};
	struct iovec iov[2] = { { 0 } };
	int err = op_readdir(&rq->ctx, rq->h->nodeid, in->offset, plus,
			     add_entry, &l);

	if (!err && l.full && l.len == 0)
		err = -EINVAL;		/* an empty answer would mean the end */
	if (err && l.len == 0)
		return err;
	/* after an error: what was found, and the next call meets it again */
	iov[1] = (struct iovec){ l.buf, l.len };
	if (reply_iov(rq, iov, l.len ? 2 : 1) && plus)
		forget_listing(rq, &l);				/* D2 */
	return 0;
}

int do_readdir(struct request *rq)
{
	return list(rq, false);
}

int do_readdirplus(struct request *rq)
{
	return list(rq, true);
}
