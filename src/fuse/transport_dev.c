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
 * Where requests can be parked (offload.h) a worker has several buffers, and a
 * descriptor of its own: reading must not block while something is parked, and
 * the flag for that belongs to the open file, which the others share.
 *
 *   T1  A pipe is empty before the next request is received: what a failed
 *       request left is drained, or it would be taken for a header.
 *   T2  Whatever the kernel says, a request lies whole in `in`, or is a WRITE with
 *       all its data. Free blocks that were received into go back when the
 *       request is over (op/landing.c).
 *   T3  A request is answered by the descriptor that it was read from.
 */
#define _GNU_SOURCE
#include "fuse/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "fuse/offload.h"
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
/* Requests that were parked, in one turn: others have just come. */
#define PARKED_TURN	4u
#define WAIT_MAX_NS	1000000000u

struct slot {				/* a request, and where it lies */
	struct dev *d;
	uint8_t *in;
	struct request rq;
	struct parked parked;
	bool busy;			/* it is parked */
};

struct dev {
	struct session *s;
	struct worker *w;
	int fd;				/* the session's, or our own */
	bool nonblock;
	struct offload off;
	struct slot slot[OFFLOAD_DEPTH];
	unsigned nr;			/* slots: one, or all */
	uint8_t *mem, *out;
	size_t mem_size;
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

/* A descriptor of this worker's own, and more buffers. Or none, and no parking. */
static void open_offload(struct dev *d)
{
	uint32_t of = (uint32_t)d->s->fd;
	int fd;

	/* beside a ring comes nothing large; an extra reader stays for a moment */
	if (!d->s->dsa || d->s->uring || d->w->extra)
		return;
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd >= 0 && !ioctl(fd, FUSE_DEV_IOC_CLONE, &of)) {
		offload_open(&d->off, d->s, OFFLOAD_DEPTH);
	} else if (d->w->nr == 0) {
		log_warn("no second /dev/fuse to be had (%s): nothing is copied by device",
			 strerror(errno));
	}
	if (d->off.port) {
		d->fd = fd;
		d->nr = OFFLOAD_DEPTH;
	} else if (fd >= 0) {
		close(fd);
	}
}

static void lay_slots(struct dev *d)
{
	for (unsigned i = 0; i < d->nr; i++)
		d->slot[i] = (struct slot){
			.d = d, .in = d->mem + i * IN_SIZE,
			.rq = {
				.s = d->s, .tr = &transport_dev, .w = d->w,
				.state = &d->slot[i], .out = d->out, .ctx.fs = d->s->fs,
			},
		};
}

static int dev_open(struct dev *d, struct worker *w)
{
	*d = (struct dev){
		.s = w->s, .w = w, .fd = w->s->fd, .nr = 1, .pipe = { -1, -1 },
	};
	open_offload(d);
	d->mem_size = d->nr * IN_SIZE + OUT_SIZE;
	d->mem = mmap(NULL, d->mem_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | (d->nr > 1 ? MAP_NORESERVE : 0), -1, 0);
	if (d->mem == MAP_FAILED)
		return -ENOMEM;
	d->out = d->mem + d->nr * IN_SIZE;
	lay_slots(d);
	if (w->s->opt->splice)
		open_pipe(d, w->nr);
	return 0;
}

static void dev_close(struct dev *d)
{
	op_land_put(d->s->fs, &d->land);
	offload_close(&d->off);
	if (d->fd != d->s->fd)
		close(d->fd);
	if (d->pipe[0] >= 0) {
		close(d->pipe[0]);
		close(d->pipe[1]);
	}
	if (d->mem != MAP_FAILED)
		munmap(d->mem, d->mem_size);
}

/* T1: nothing in it blocks, and nobody else writes to it. */
static void drain(struct dev *d)
{
	while (read(d->pipe[0], d->mem, IN_SIZE) > 0)
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

static int receive_spliced(struct dev *d, struct slot *sl)
{
	uint8_t *head = sl->in + LEAD;
	ssize_t got = splice(d->fd, NULL, d->pipe[1], NULL, RECEIVE_SIZE, 0);
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
	return request_lay(&sl->rq, head, take, total, d->pipe[0]);
}

static int receive_read(struct dev *d, struct slot *sl)
{
	uint8_t *head = sl->in + LEAD;
	ssize_t got = read(d->fd, head, RECEIVE_SIZE);

	if (got < 0)
		return -errno;
	return request_lay(&sl->rq, head, (size_t)got, (size_t)got, -1);
}

static bool is_large_write(const struct fuse_in_header *h)
{
	return h->opcode == FUSE_WRITE && h->len >= WRITE_HEAD + LAND_MIN;
}

static int receive_landed(struct dev *d, struct slot *sl)
{
	struct request *rq = &sl->rq;
	struct pm *pm = d->s->fs->pm;
	uint64_t off = d->land.off + LAND_HEAD;
	size_t room = MAX_WRITE - LAND_HEAD, head = WRITE_HEAD + LAND_HEAD, more;
	uint8_t *in = sl->in + LEAD;
	struct iovec iov[3] = {
		{ in, head }, { pm_window(pm, off, room), room },
		{ in + WRITE_HEAD + MAX_WRITE, RECEIVE_SIZE - WRITE_HEAD - MAX_WRITE },
	};
	ssize_t got = readv(d->fd, iov, 3);
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

static int receive(struct dev *d, struct slot *sl)
{
	int err = d->land.len ? receive_landed(d, sl) :
		  d->pipe[0] < 0 ? receive_read(d, sl) : receive_spliced(d, sl);

	return err == -EFAULT && d->land.len ? land_failed(d) : err;
}

/* Only of a descriptor of our own. */
static void set_nonblock(struct dev *d, bool on)
{
	if (on != d->nonblock && !fcntl(d->fd, F_SETFL, on ? O_NONBLOCK : 0))
		d->nonblock = on;
}

/* For a device, or for a request if there is room for one. */
static void wait_parked(struct dev *d, bool room)
{
	uint64_t ns = min64(offload_eta(&d->off), WAIT_MAX_NS - 1);
	struct pollfd p = { .fd = room ? d->fd : -1, .events = POLLIN };

	if (ns)
		ppoll(&p, 1, &(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

/* 0: a request, in *out. -EAGAIN: none, look after what is parked. */
static int next(struct dev *d, struct slot **out)
{
	unsigned i = 0;
	int err = -EAGAIN;

	while (i < d->nr && d->slot[i].busy)
		i++;
	*out = &d->slot[i < d->nr ? i : 0];
	set_nonblock(d, d->off.nr);
	if (i < d->nr)
		err = receive(d, *out);
	if (err == -EAGAIN && d->off.nr)
		wait_parked(d, i < d->nr);
	return err;
}

static void serve_parked(struct dev *d)
{
	struct request *rq;

	for (unsigned i = 0; i < PARKED_TURN && (rq = offload_reap(&d->off)); i++)
		((struct slot *)rq->state)->busy = false;
}

/* What has come in is carried out, whoever still waits for it. */
static void finish_parked(struct dev *d)
{
	while (d->off.nr) {
		serve_parked(d);
		if (d->off.nr)
			offload_pause(&d->off);
	}
}

static int serve(struct dev *d)
{
	struct slot *sl;
	int err;

	while (!session_stops(d->s) && session_needs(d->w)) {
		err = next(d, &sl);
		if (!err)
			sl->busy = offload_serve(&d->off, &sl->rq, &sl->parked);
		else if (!go_on(err))
			return err;
		if (!err && d->s->opt->landing)
			plan_landing(d, &sl->rq);
		if (d->full)
			drain(d);
		serve_parked(d);
	}
	return 0;
}

static int dev_run(struct worker *w)
{
	struct dev d;
	int err = dev_open(&d, w);

	if (!err) {
		err = serve(&d);
		finish_parked(&d);
	}
	dev_close(&d);
	return err == -ENODEV || err == -ECONNABORTED ? 0 : err;
}

static int dev_send(struct request *rq, const struct iovec *iov, unsigned nr)
{
	const struct slot *sl = rq->state;
	ssize_t put;

	do
		put = writev(sl->d->fd, iov, (int)nr);		/* T3 */
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
