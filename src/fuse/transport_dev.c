/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport_dev.c - requests by read(2) of /dev/fuse, answers by writev(2)
 *
 * All workers read the same descriptor; the kernel wakes one per request.
 *
 * A request is read so that the data of a WRITE begin on a page: the 80 bytes
 * of its two headers end where the page does.
 *
 *	| ... 4016 unused ... | header 40 | fuse_write_in 40 | data ...
 *	in                                                   in + 4096
 *
 * With -o splice a request is spliced into a pipe of the worker's own, and
 * the data of a WRITE stay there for copy/ to take (in cached mode these are
 * the very pages of the page cache). Everything else is read out at once.
 *
 * With -o landing the data of a WRITE that follows another large one are received
 * into free blocks of the pool, but for the first LAND_HEAD bytes, so that small
 * requests never get there; op/ makes the blocks part of the file if it can, and
 * otherwise copies from them. A stream that could not use it is left alone for a
 * while.
 *
 *   T1  A pipe is empty before the next request is received: what a failed
 *       request left is drained, or it would be taken for a header.
 *   T2  Whatever the kernel says, a request lies whole in `in`, or is a WRITE with
 *       all its data. Free blocks that were received into go back when the
 *       request is over (op/landing.c).
 */
#define _GNU_SOURCE
#include "fuse/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "fuse/request.h"
#include "fuse/session.h"

#define WRITE_HEAD	(sizeof(struct fuse_in_header) + \
			 sizeof(struct fuse_write_in))
#define LEAD		(4096 - WRITE_HEAD)
#define IN_SIZE		(4096 + MAX_WRITE + 4096)	/* LEAD included */
#define RECEIVE_SIZE	(IN_SIZE - LEAD)
/* Shorter data are not worth leaving in the pipe. */
#define SPLICE_MIN	4096
/* Begins on a page; the largest attribute with its name fits. */
#define LAND_HEAD	(68u << 10)
#define LAND_MIN	(256u << 10)	/* data of a large WRITE */
#define LAND_SKIP	16		/* large WRITEs after one that was copied */

struct dev {
	struct session *s;
	uint8_t *in, *out;
	int pipe[2];			/* -1: not spliced */
	bool full;			/* the pipe may hold something */
	struct landing land;		/* len 0: the next request is read */
	unsigned skip;
};

/* A pipe that holds the largest request, or none. */
static void open_pipe(struct dev *d, unsigned nr)
{
	const int want = 2 * MAX_WRITE;	/* the kernel rounds up to 2^n pages */

	if (pipe2(d->pipe, O_CLOEXEC | O_NONBLOCK)) {
		d->pipe[0] = d->pipe[1] = -1;
	} else if (fcntl(d->pipe[1], F_SETPIPE_SZ, want) < want) {
		close(d->pipe[0]);
		close(d->pipe[1]);
		d->pipe[0] = d->pipe[1] = -1;
	}
	if (d->pipe[0] < 0 && nr == 0)
		log_warn("no pipe of %d KiB to be had (see"
			 " /proc/sys/fs/pipe-max-size): -o splice is ignored",
			 want >> 10);
}

static int dev_open(struct dev *d, struct worker *w)
{
	d->s = w->s;
	d->pipe[0] = d->pipe[1] = -1;
	d->full = false;
	d->land = (struct landing){ .len = 0 };
	d->skip = 0;
	d->in = mmap(NULL, IN_SIZE + OUT_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (d->in == MAP_FAILED)
		return -ENOMEM;
	d->out = d->in + IN_SIZE;
	if (w->s->opt->splice)
		open_pipe(d, w->nr);
	return 0;
}

static void dev_close(struct dev *d)
{
	op_land_put(d->s->fs, &d->land);
	if (d->pipe[0] >= 0) {
		close(d->pipe[0]);
		close(d->pipe[1]);
	}
	munmap(d->in, IN_SIZE + OUT_SIZE);
}

/* T1: nothing in it blocks, and nobody else writes to it. */
static void drain(struct dev *d)
{
	while (read(d->pipe[0], d->in, IN_SIZE) > 0)
		;
	d->full = false;
}

/* Exactly len bytes, which are there. */
static int pipe_take(struct dev *d, uint8_t *to, size_t len)
{
	while (len) {
		ssize_t n = read(d->pipe[0], to, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

static int receive_spliced(struct dev *d, struct request *rq)
{
	uint8_t *head = d->in + LEAD;
	ssize_t got = splice(d->s->fd, NULL, d->pipe[1], NULL, RECEIVE_SIZE, 0);
	size_t total, take;
	int err;

	if (got < 0)
		return -errno;
	total = (size_t)got;
	take = min64(total, WRITE_HEAD);
	d->full = true;
	err = pipe_take(d, head, take);
	if (err)
		return err;
	if (total < WRITE_HEAD + SPLICE_MIN ||
	    ((struct fuse_in_header *)(void *)head)->opcode != FUSE_WRITE) {
		err = pipe_take(d, head + take, total - take);
		if (err)
			return err;
		d->full = false;
		take = total;
	}
	return request_lay(rq, head, take, total, d->pipe[0]);
}

static int receive_read(struct dev *d, struct request *rq)
{
	uint8_t *head = d->in + LEAD;
	ssize_t got = read(d->s->fd, head, RECEIVE_SIZE);

	if (got < 0)
		return -errno;
	return request_lay(rq, head, (size_t)got, (size_t)got, -1);
}

static bool is_large_write(const struct fuse_in_header *h)
{
	return h->opcode == FUSE_WRITE && h->len >= WRITE_HEAD + LAND_MIN;
}

static int receive_landed(struct dev *d, struct request *rq)
{
	struct pm *pm = d->s->fs->pm;
	uint64_t off = d->land.off + LAND_HEAD;
	size_t room = MAX_WRITE - LAND_HEAD, head = WRITE_HEAD + LAND_HEAD, more;
	uint8_t *in = d->in + LEAD;
	struct iovec iov[3] = {
		{ in, head }, { pm_window(pm, off, room), room },
		{ in + WRITE_HEAD + MAX_WRITE, RECEIVE_SIZE - WRITE_HEAD - MAX_WRITE },
	};
	ssize_t got = readv(d->s->fd, iov, 3);
	int err;

	if (got < 0)
		return -errno;
	more = (size_t)got > head ? min64((size_t)got - head, room) : 0;
	pm_window_done(pm, off, more);
	if (!more || (size_t)got > head + room || !is_large_write((void *)in)) {
		memcpy(in + head, pm_at(pm, off, more), more);		/* T2 */
		return request_lay(rq, in, (size_t)got, (size_t)got, -1);
	}
	err = request_lay(rq, in, head, (size_t)got, -1);
	d->land.total = (size_t)got - WRITE_HEAD;
	rq->data = payload_landed(pm, in + WRITE_HEAD, LAND_HEAD, &d->land);
	return err;
}

/* The request is over: what of the next one? */
static void plan_landing(struct dev *d, const struct request *rq)
{
	bool large = is_large_write(rq->h);

	if (d->land.len && large) {
		log_debug("%llu landed, %llu bytes taken", (unsigned long long)rq->h->unique,
			  (unsigned long long)d->land.taken);
		d->skip = d->land.taken ? 0 : LAND_SKIP;
	} else if (large && d->skip) {
		d->skip--;
	}
	op_land_put(d->s->fs, &d->land);
	if (large && !d->skip && !op_land_get(d->s->fs, MAX_WRITE, &d->land))
		d->skip = LAND_SKIP;
}

/* EFAULT: no memory behind those blocks; the kernel has answered -EIO. */
static int land_failed(struct dev *d)
{
	log_debug("cannot receive into pool offset %llu", (unsigned long long)d->land.off);
	op_land_put(d->s->fs, &d->land);
	d->skip = LAND_SKIP;
	return -EAGAIN;
}

/*
 * Errors of receiving that end nothing: a signal, something without a header,
 * a request that was aborted while it was read.
 */
static bool go_on(int err)
{
	return err == -EINTR || err == -EAGAIN || err == -ENOENT;
}

static int dev_run(struct worker *w)
{
	struct dev d;
	struct request rq = {
		.s = w->s, .tr = &transport_dev, .w = w, .ctx.fs = w->s->fs,
	};
	int err = dev_open(&d, w);

	if (err)
		return err;
	rq.state = &d;
	rq.out = d.out;
	while (!session_stops(w->s) && session_needs(w)) {
		err = d.land.len ? receive_landed(&d, &rq) :
		      d.pipe[0] < 0 ? receive_read(&d, &rq) : receive_spliced(&d, &rq);
		if (err == -EFAULT && d.land.len)
			err = land_failed(&d);
		if (!err) {
			dispatch(&rq);
		} else if (!go_on(err)) {
			break;
		}
		if (!err && w->s->opt->landing)
			plan_landing(&d, &rq);
		if (d.full)
			drain(&d);
		err = 0;
	}
	dev_close(&d);
	return err == -ENODEV || err == -ECONNABORTED ? 0 : err;
}

static int dev_send(struct request *rq, const struct iovec *iov, unsigned nr)
{
	ssize_t put;

	do
		put = writev(rq->s->fd, iov, (int)nr);
	while (put < 0 && errno == EINTR);
	if (put >= 0)
		return 0;
	/* ENOENT: interrupted or aborted. EFAULT: see the header. */
	if (errno != ENOENT && errno != EFAULT && errno != ENODEV)
		log_err("answer to %u: %s", rq->h->opcode, strerror(errno));
	return -errno;
}

const struct transport transport_dev = {
	.name = "dev", .run = dev_run, .send = dev_send,
};
