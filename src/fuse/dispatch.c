/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dispatch.c - from a request to the function that serves it
 *
 * Trusts the kernel with nothing that could make the daemon crash: lengths
 * are checked here, strings by take_names(), values by the handlers and op/.
 *
 * What is not in the table is answered ENOSYS, and mostly on purpose:
 *   FSYNCDIR, FLUSH	every answer is durable before it is given, so
 *			there is nothing to do, and the kernel stops asking
 *			(it still writes dirty pages first). FSYNC is another
 *			matter: see ops_file.c.
 *   GETLK, SETLK, SETLKW   the kernel then keeps the locks itself, which is
 *			right on one host and can be interrupted
 *   ACCESS		default_permissions is always on
 *   INTERRUPT		nothing here takes long
 *   BMAP, POLL		the kernel's own answers are right
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "fuse/ops.h"
#include "fuse/session.h"
#include "fuse/stats.h"
#include "meta/owner.h"

struct handler {
	const char *name;
	int (*fn)(struct request *rq);
	uint16_t arg;			/* bytes of fixed arguments */
	bool silent;			/* never answered */
};

static const struct handler handlers[FUSE_OPCODES] = {
	[FUSE_LOOKUP] = { "LOOKUP", do_lookup, 0, false },
	[FUSE_FORGET] = { "FORGET", do_forget,
			  sizeof(struct fuse_forget_in), true },
	[FUSE_GETATTR] = { "GETATTR", do_getattr,
			   sizeof(struct fuse_getattr_in), false },
	[FUSE_SETATTR] = { "SETATTR", do_setattr,
			   sizeof(struct fuse_setattr_in), false },
	[FUSE_READLINK] = { "READLINK", do_readlink, 0, false },
	[FUSE_SYMLINK] = { "SYMLINK", do_symlink, 0, false },
	[FUSE_MKNOD] = { "MKNOD", do_mknod,
			 sizeof(struct fuse_mknod_in), false },
	[FUSE_MKDIR] = { "MKDIR", do_mkdir,
			 sizeof(struct fuse_mkdir_in), false },
	[FUSE_UNLINK] = { "UNLINK", do_unlink, 0, false },
	[FUSE_RMDIR] = { "RMDIR", do_rmdir, 0, false },
	[FUSE_RENAME] = { "RENAME", do_rename,
			  sizeof(struct fuse_rename_in), false },
	[FUSE_RENAME2] = { "RENAME2", do_rename2,
			   sizeof(struct fuse_rename2_in), false },
	[FUSE_LINK] = { "LINK", do_link, sizeof(struct fuse_link_in), false },
	[FUSE_OPEN] = { "OPEN", do_open, sizeof(struct fuse_open_in), false },
	[FUSE_READ] = { "READ", do_read, sizeof(struct fuse_read_in), false },
	[FUSE_WRITE] = { "WRITE", do_write,
			 sizeof(struct fuse_write_in), false },
	[FUSE_STATFS] = { "STATFS", do_statfs, 0, false },
	[FUSE_RELEASE] = { "RELEASE", do_release,
			   sizeof(struct fuse_release_in), false },
	[FUSE_FSYNC] = { "FSYNC", do_fsync, 0, false },
	[FUSE_SETXATTR] = { "SETXATTR", do_setxattr,
			    sizeof(struct fuse_setxattr_in), false },
	[FUSE_GETXATTR] = { "GETXATTR", do_getxattr,
			    sizeof(struct fuse_getxattr_in), false },
	[FUSE_LISTXATTR] = { "LISTXATTR", do_listxattr,
			     sizeof(struct fuse_getxattr_in), false },
	[FUSE_REMOVEXATTR] = { "REMOVEXATTR", do_removexattr, 0, false },
	[FUSE_FLUSH] = { "FLUSH", NULL, 0, false },
	[FUSE_OPENDIR] = { "OPENDIR", do_opendir,
			   sizeof(struct fuse_open_in), false },
	[FUSE_READDIR] = { "READDIR", do_readdir,
			   sizeof(struct fuse_read_in), false },
	[FUSE_RELEASEDIR] = { "RELEASEDIR", do_releasedir,
			      sizeof(struct fuse_release_in), false },
	[FUSE_FSYNCDIR] = { "FSYNCDIR", NULL, 0, false },
	[FUSE_GETLK] = { "GETLK", NULL, 0, false },
	[FUSE_SETLK] = { "SETLK", NULL, 0, false },
	[FUSE_SETLKW] = { "SETLKW", NULL, 0, false },
	[FUSE_ACCESS] = { "ACCESS", NULL, 0, false },
	[FUSE_CREATE] = { "CREATE", do_create,
			  sizeof(struct fuse_create_in), false },
	[FUSE_INTERRUPT] = { "INTERRUPT", NULL, 0, false },
	[FUSE_BMAP] = { "BMAP", NULL, 0, false },
	[FUSE_DESTROY] = { "DESTROY", reply_ok, 0, false },
	[FUSE_IOCTL] = { "IOCTL", do_ioctl,
			 sizeof(struct fuse_ioctl_in), false },
	[FUSE_POLL] = { "POLL", NULL, 0, false },
	[FUSE_NOTIFY_REPLY] = { "NOTIFY_REPLY", NULL, 0, true },
	[FUSE_BATCH_FORGET] = { "BATCH_FORGET", do_batch_forget,
				sizeof(struct fuse_batch_forget_in), true },
	[FUSE_FALLOCATE] = { "FALLOCATE", do_fallocate,
			     sizeof(struct fuse_fallocate_in), false },
	[FUSE_READDIRPLUS] = { "READDIRPLUS", do_readdirplus,
			       sizeof(struct fuse_read_in), false },
	[FUSE_LSEEK] = { "LSEEK", do_lseek,
			 sizeof(struct fuse_lseek_in), false },
	[FUSE_COPY_FILE_RANGE] = { "COPY_FILE_RANGE", do_copy_range,
				   sizeof(struct fuse_copy_file_range_in), false },
	[FUSE_SYNCFS] = { "SYNCFS", do_syncfs,
			  sizeof(struct fuse_syncfs_in), false },
	[FUSE_TMPFILE] = { "TMPFILE", do_tmpfile,
			   sizeof(struct fuse_create_in), false },
	[FUSE_STATX] = { "STATX", do_statx,
			 sizeof(struct fuse_statx_in), false },
	[FUSE_COPY_FILE_RANGE_64] = { "COPY_FILE_RANGE_64", do_copy_range_64,
				      sizeof(struct fuse_copy_file_range_in), false },
};

static const struct handler *handler_of(uint32_t opcode)
{
	static const struct handler unknown = { "unknown", NULL, 0, false };

	if (opcode >= FUSE_OPCODES || !handlers[opcode].name)
		return &unknown;
	return &handlers[opcode];
}

/* One of them has grown; INIT has settled whether we get the longer form. */
static size_t arg_size(const struct session *s, uint32_t opcode)
{
	if (opcode == FUSE_SETXATTR && !(s->flags & FUSE_SETXATTR_EXT))
		return FUSE_SETXATTR_IN_OLD;
	return handler_of(opcode)->arg;
}

const char *request_name(uint32_t opcode)
{
	return handler_of(opcode)->name;
}

static void lay_head(struct request *rq, const struct fuse_in_header *h)
{
	rq->h = h;
	rq->arg = NULL;
	rq->arrived = 0;
	rq->error = 0;
	rq->answered = false;
	rq->ctx.uid = h->uid;
	rq->ctx.gid = h->gid;
	rq->ctx.pid = h->pid;
	rq->ctx.umask = 0;
	gone_start(rq->s->fs, &rq->patience);
}

int request_lay(struct request *rq, const void *buf, size_t have, size_t total,
		int pipe_fd)
{
	const struct fuse_in_header *h = buf;
	const char *p = buf;
	size_t fixed, ext;

	if (have < sizeof(*h))
		return -EAGAIN;
	lay_head(rq, h);
	fixed = sizeof(*h) + arg_size(rq->s, h->opcode);
	ext = (size_t)h->total_extlen * 8;
	if (h->len != total || fixed > have || ext > have - fixed)
		return 0;
	rq->arg = p + sizeof(*h);
	rq->rest = p + fixed;
	rq->rest_len = have - fixed - ext;
	if (have < total)
		rq->data = payload_pipe(pipe_fd, total - have);
	else
		rq->data = payload_mem(rq->rest, rq->rest_len);
	return 0;
}

void request_lay_apart(struct request *rq, const struct fuse_in_header *h,
		       const void *arg, size_t arg_len, const void *rest,
		       size_t rest_len)
{
	size_t ext = (size_t)h->total_extlen * 8;

	lay_head(rq, h);
	if (h->len != sizeof(*h) + arg_len + rest_len || ext > rest_len ||
	    arg_len < arg_size(rq->s, h->opcode))
		return;
	rq->arg = arg;
	rq->rest = rest;
	rq->rest_len = rest_len - ext;
	rq->data = payload_mem(rest, rq->rest_len);
}

int take_names(const struct request *rq, struct name *name, unsigned nr)
{
	const char *p = rq->rest;
	size_t left = rq->rest_len;

	for (unsigned i = 0; i < nr; i++) {
		size_t len = strnlen(p, left);

		if (len == 0 || len == left)
			return -EINVAL;
		name[i] = (struct name){ p, len };
		p += len + 1;
		left -= len + 1;
	}
	return left ? -EINVAL : 0;
}

/* A page was found to be bad: in whose name? Once for each page. */
static void say_bad(const struct request *rq, uint64_t off)
{
	uint64_t ino = rq->h->nodeid & PMEMFS_MAX_INO;
	const struct fs *fs = rq->s->fs;
	char *path = malloc(OWNER_PATH_MAX);

	if (path)
		owner_path(fs->pm, &fs->geo, ino, path, OWNER_PATH_MAX);
	log_err("bad memory at pool offset %llu: %s of %s (inode %llu) got an I/O "
		"error; the page is not used again (fsck.pmemfs --media names "
		"what was lost)", (unsigned long long)off, handler_of(rq->h->opcode)->name,
		path ? path : "?", (unsigned long long)ino);
	free(path);
	pm_fault_repair(fs->pm);	/* looking for the name may have met more */
}

bool request_space(struct request *rq)
{
	int got;

	if (!session_may_wait(rq))
		return false;
	do
		got = gone_wait(rq->s->fs, &rq->patience);
	while (!got && !session_stops(rq->s));
	session_waited(rq);
	return got > 0;
}

/* -o allow_root: may he ask this? Open files are his who has the descriptor. */
static bool may_ask(const struct request *rq)
{
	if (!rq->s->opt->allow_root || rq->ctx.uid == 0 || rq->ctx.uid == geteuid())
		return true;
	switch (rq->h->opcode) {
	case FUSE_FORGET: case FUSE_BATCH_FORGET: case FUSE_INTERRUPT: case FUSE_DESTROY:
	case FUSE_READ: case FUSE_WRITE: case FUSE_FSYNC: case FUSE_FLUSH:
	case FUSE_RELEASE: case FUSE_READDIR: case FUSE_READDIRPLUS: case FUSE_FSYNCDIR:
	case FUSE_RELEASEDIR: case FUSE_NOTIFY_REPLY: case FUSE_LSEEK:
		return true;
	default:
		return false;
	}
}

static int serve(struct request *rq, const struct handler *ha)
{
	int err;

	if (!rq->arg)
		return -EINVAL;
	if (!may_ask(rq))
		return -EACCES;
	if (!ha->fn)
		return -ENOSYS;
	do
		err = ha->fn(rq);
	while (err == -ENOSPC && !rq->answered && request_space(rq));
	return err;
}

void dispatch(struct request *rq)
{
	uint64_t start = rq->arrived ? rq->arrived : stats_clock();
	uint32_t opcode = rq->h->opcode;
	const struct handler *ha = handler_of(opcode);
	struct pm *pm = rq->s->fs->pm;
	uint64_t mark = pm_fault_mark(pm);
	uint64_t unique = rq->h->unique, bad;
	int err;

	log_debug("%llu %s node %llx, %u bytes", (unsigned long long)unique,
		  ha->name, (unsigned long long)rq->h->nodeid, rq->h->len);
	err = serve(rq, ha);
	if (!ha->silent && !rq->answered) {
		assert(err < 0);	/* a handler that forgot to answer */
		reply_error(rq, err);
	}
	stats_note(opcode, rq->error, start);
	/* op/ has turned a fault into -EIO where it mattered; whatever was
	 * met, no lock is held now: put the pool back in its place */
	if (rq->error == -EIO || pm_faulted(pm, mark)) {
		pm_fault_repair(pm);
		if (pm_fault_here(pm, &bad))
			say_bad(rq, bad);
	}
	if (!ha->silent)
		log_debug("%llu %s: %d", (unsigned long long)unique, ha->name,
			  rq->error);
}
