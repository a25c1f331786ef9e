/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport.h - how requests come in and answers go out
 *
 * A worker lives in run(): it receives requests, lays them out (request.h),
 * calls dispatch(), until the connection or session_stop() ends it.
 */
#ifndef FUSE_TRANSPORT_H
#define FUSE_TRANSPORT_H

#include <sys/uio.h>

struct request;
struct worker;

struct transport {
	const char *name;
	/* 0: the connection has ended or the session stops; else -errno. */
	int (*run)(struct worker *w);
	/*
	 * Send iov[0..nr): iov[0] is the header, complete. 0 or -errno:
	 * -ENOENT nobody waits for it any more, -EFAULT a piece could not be
	 * read (the kernel has answered -EIO in our place).
	 */
	int (*send)(struct request *rq, const struct iovec *iov, unsigned nr);
	/* The worker will wait: no answer that was given may wait with it. NULL:
	 * none does. */
	void (*hand_over)(struct request *rq);
};

extern const struct transport transport_dev;	/* read(2) of /dev/fuse */
extern const struct transport transport_uring;	/* io_uring (uring.h) */

#endif
