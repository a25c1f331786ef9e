/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops_file.c - open files: reading and writing
 *
 * No handle is kept: a node id finds everything, and op/ counts the opens. So
 * the page cache may read through a file that is open for writing only.
 *
 * FSYNC is answered although nothing is left to do: when a daemon has died, the
 * kernel drops dirty pages and notes no error. Without the request, which then
 * fails, fsync and msync would go on reporting success for the stores of a
 * mapping. (FLUSH is not: close(2) promises nothing.) With lazytime there may be
 * an access time left.
 *
 * What the kernel leaves to us where it gathers writes (s->writeback):
 *   K1  Times of a WRITE are its own; it sends them later, by SETATTR.
 *   K2  It does not look at how much of a page was written. What we cannot
 *       write as a whole must fail, or fsync(2) and close(2) report success.
 *   K3  It asks where data lie without writing its dirty pages first, so we
 *       know less than it: it shall answer that itself (from the size).
 *   K4  It does not expect a WRITE to change how many blocks a file has, and would
 *       go by the old number for as long as it may keep attributes: it is told.
 *   K5  Direct writes to a file that has a page cache go by its path for asynchronous
 *       ones, which makes EIO of a short count (fuse_get_res_by_io()).
 *
 * Two routes for READ. *map*: the answer points into the pool and the kernel
 * copies once. The inode is held meanwhile; a page that cannot be read makes
 * the kernel answer EIO by itself. *copy*: op/ copies into the worker's buffer,
 * where a memory error is caught as SIGBUS. On real persistent memory the
 * first would be a machine check inside the kernel, hence the second there.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/count.h"
#include "fuse/ops.h"
#include "fuse/session.h"

/* A READ touches at most this many blocks, so pieces. */
#define MAX_PIECES	(OUT_SIZE / 4096 + 2)

uint32_t file_open_flags(const struct session *s, uint32_t fl)
{
	enum dax_mode dax = s->opt->dax;
	bool direct = dax == DAX_ALWAYS ||
		      (dax == DAX_INODE && (fl & PMEMFS_FL_DAX));

	/* nothing is lost by not flushing at close: write() was durable, and
	 * the kernel writes a mapping's pages when it is unmapped. (Where it
	 * gathers writes, it writes them at close whatever we say.) A cached
	 * write is cut as the kernel likes, so data=atomic does without shared
	 * mappings where direct files have none. */
	if (direct && (s->direct || s->opt->fs.data == FS_DATA_ATOMIC))
		return FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES |
		       FOPEN_NOFLUSH;
	return FOPEN_KEEP_CACHE | FOPEN_NOFLUSH;
}

bool node_has_setid(const struct request *rq, uint64_t nodeid)
{
	struct op_attr a;

	return op_getattr(&rq->ctx, nodeid, &a) == 0 &&
	       S_ISREG(a.mode) && (a.mode & (S_ISUID | S_ISGID));
}

int do_open(struct request *rq)
{
	const struct fuse_open_in *in = rq->arg;
	struct op_attr a = { .flags = 0 };
	uint32_t flags = in->flags & ~OP_OPEN_KILL_PRIV;
	bool kill = (flags & O_TRUNC) &&
		    (in->open_flags & FUSE_OPEN_KILL_SUIDGID) &&
		    node_has_setid(rq, rq->h->nodeid);
	int err;

	err = op_open(&rq->ctx, rq->h->nodeid,
		      flags | (kill ? OP_OPEN_KILL_PRIV : 0));
	if (err)
		return err;
	if (kill)
		notify_attr(rq->s, rq->h->nodeid);
	if (rq->s->opt->dax == DAX_INODE)
		err = op_getattr(&rq->ctx, rq->h->nodeid, &a);
	if (err) {
		op_release(rq->s->fs, rq->h->nodeid);
		return err;
	}
	return reply_open(rq, NULL, file_open_flags(rq->s, a.flags));
}

int do_release(struct request *rq)
{
	op_release(rq->s->fs, rq->h->nodeid);
	atomic_fetch_sub(&rq->s->open_files, 1);
	return reply_ok(rq);
}

static uint32_t write_flags(const struct request *rq, uint32_t wire)
{
	uint32_t flags = 0;

	if (wire & FUSE_WRITE_CACHE)
		flags = OP_WRITE_CACHE;
	if ((wire & FUSE_WRITE_CACHE) && rq->s->writeback)
		flags |= OP_WRITE_KEEP_TIMES;			/* K1 */
	return flags;
}

static int read_mapped(struct request *rq, uint64_t pos, size_t len)
{
	struct op_piece piece[MAX_PIECES];
	struct iovec iov[MAX_PIECES + 1];
	unsigned nr = MAX_PIECES;
	struct op_read r;
	size_t got = 0;
	int err = op_read(&rq->ctx, rq->h->nodeid, pos, len, piece, &nr, &got,
			  &r);

	if (err)
		return err;
	for (unsigned i = 0; i < nr; i++) {
		iov[i + 1].iov_base = (void *)(uintptr_t)piece[i].base;
		iov[i + 1].iov_len = piece[i].len;
	}
	/* no stand-in page of a fault may be handed out (pm.h) */
	if (pm_faulted(rq->s->fs->pm, r.mark)) {
		op_read_done(&rq->ctx, &r);
		return -EIO;
	}
	count_add(pm_counters(rq->s->fs->pm), COUNT_READ_MAPPED, got);
	err = reply_iov(rq, iov, nr + 1);
	/* EFAULT: the kernel has answered EIO in our place, but not told where */
	for (unsigned i = 0; err == -EFAULT && i < nr; i++)
		pm_touch(piece[i].base, piece[i].len);
	if (op_read_done(&rq->ctx, &r) || err == -EFAULT)
		rq->error = -EIO;
	return 0;
}

int do_read(struct request *rq)
{
	const struct fuse_read_in *in = rq->arg;
	size_t len = min64(in->size, OUT_SIZE), got = 0;
	int err;

	if (rq->s->read_map)
		return read_mapped(rq, in->offset, len);
	err = op_pread(&rq->ctx, rq->h->nodeid, rq->out, len, in->offset, &got);
	count_add(pm_counters(rq->s->fs->pm), COUNT_READ_COPIED, got);
	return err ? err : reply_data(rq, rq->out, got);
}

static uint64_t blocks_of(const struct request *rq)
{
	struct op_attr a = { .blocks512 = 0 };

	op_getattr(&rq->ctx, rq->h->nodeid, &a);
	return a.blocks512;
}

/*
 * As much as there is space for. What was written before a pool was found full
 * is out of the payload, so it goes on from there.
 */
static int write_all(struct request *rq, uint32_t flags, size_t *done)
{
	const struct fuse_write_in *in = rq->arg;
	size_t n;
	int err;

	*done = 0;
	do {
		err = op_write(&rq->ctx, rq->h->nodeid, in->offset + *done, &rq->data,
			       flags, &n);
		*done += n;
		if (!err && n && *done < in->size)
			continue;			/* cut short: why? */
		/* data=atomic: too much for one record, found when it was copied */
		if (rq->data.len != in->size - *done)
			break;
		if (err != -ENOSPC || !request_space(rq))
			break;
	} while (true);
	return *done && (err == -ENOSPC || err == -EFBIG) ? 0 : err;
}

/* Is it no use to have written a part? */
static bool needs_all(const struct request *rq, const struct fuse_write_in *in)
{
	return (in->write_flags & FUSE_WRITE_CACHE) ||
	       (rq->s->opt->dax != DAX_ALWAYS && (in->flags & O_DIRECT));
}

int do_write(struct request *rq)
{
	const struct fuse_write_in *in = rq->arg;
	struct fuse_write_out out = { 0 };
	bool kill = in->write_flags & FUSE_WRITE_KILL_SUIDGID;
	bool gathered = rq->s->writeback && (in->write_flags & FUSE_WRITE_CACHE);
	uint64_t blocks;
	size_t done = 0;
	int err;

	if (rq->data.len != in->size)
		return -EINVAL;
	kill = kill && node_has_setid(rq, rq->h->nodeid);
	blocks = gathered ? blocks_of(rq) : 0;
	err = write_all(rq, write_flags(rq, in->write_flags) |
			(kill ? OP_WRITE_KILL_PRIV : 0), &done);
	if (!err && done < in->size && needs_all(rq, in))
		err = -ENOSPC;					/* K2, K5 */
	/* or the kernel would go by the old mode for a day (exec!); K4 */
	if (kill || (gathered && blocks_of(rq) != blocks))
		notify_attr(rq->s, rq->h->nodeid);
	if (err)
		return err;
	out.size = (uint32_t)done;
	return reply_data(rq, &out, sizeof(out));
}

int do_fsync(struct request *rq)
{
	int err = 0;

	if (rq->s->fs->ro)
		return -ENOSYS;
	if (rq->s->opt->fs.lazytime)
		err = op_fsync(&rq->ctx, rq->h->nodeid);
	return err ? err : reply_ok(rq);
}

int do_lseek(struct request *rq)
{
	const struct fuse_lseek_in *in = rq->arg;
	struct fuse_lseek_out out = { 0 };
	int err;

	if (rq->s->writeback)
		return -ENOSYS;					/* K3 */
	err = op_lseek(&rq->ctx, rq->h->nodeid, in->offset,
			   (int)in->whence, &out.offset);

	return err ? err : reply_data(rq, &out, sizeof(out));
}

int do_fallocate(struct request *rq)
{
	const struct fuse_fallocate_in *in = rq->arg;
	struct op_setattr set = { .valid = OP_SET_KILL_PRIV };
	struct op_attr a;
	int err = 0;

	/* the protocol has no kill flag here; other filesystems clear the
	 * bits for all who lack CAP_FSETID, and root is who has it */
	if (rq->ctx.uid != 0 && node_has_setid(rq, rq->h->nodeid)) {
		err = op_setattr(&rq->ctx, rq->h->nodeid, &set, &a);
		notify_attr(rq->s, rq->h->nodeid);
	}
	if (!err)
		err = op_fallocate(&rq->ctx, rq->h->nodeid, in->offset,
				   in->length, in->mode);
	return err ? err : reply_ok(rq);
}

static int copy_range(struct request *rq, uint64_t *done)
{
	const struct fuse_copy_file_range_in *in = rq->arg;
	uint64_t to = in->nodeid_out;
	bool kill;
	int err;

	if (in->flags)
		return -EINVAL;
	kill = rq->ctx.uid != 0 && node_has_setid(rq, to);	/* as do_fallocate() */
	err = op_copy_range(&rq->ctx, rq->h->nodeid, in->off_in, to, in->off_out, in->len,
			    kill ? OP_WRITE_KILL_PRIV : 0, done);
	if (kill)
		notify_attr(rq->s, to);
	return err;
}

int do_copy_range(struct request *rq)
{
	struct fuse_write_out out = { 0 };
	uint64_t done = 0;
	int err = copy_range(rq, &done);

	out.size = (uint32_t)done;		/* op_copy_range() stops long before 4 GiB */
	return err ? err : reply_data(rq, &out, sizeof(out));
}

int do_copy_range_64(struct request *rq)
{
	struct fuse_copy_file_range_out out = { 0 };
	int err = copy_range(rq, &out.bytes_copied);

	return err ? err : reply_data(rq, &out, sizeof(out));
}
