/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faulty_uring.c - the daemon, on a machine whose io_uring fails
 *
 * Linked in front of liburing, the functions here take the place of its own
 * and fail one call, which PMEMFS_URING_FAULT names:
 *
 *	init:N		the N-th ring cannot be made
 *	register:N	the N-th submission of registrations is of a queue that
 *			is not there, so the kernel itself refuses it
 *	submit:N	the N-th submission does not reach the kernel
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/proto.h"

static _Atomic int inits, submits;

/* Is this call the one that shall fail? */
static int hit(const char *what, int nr)
{
	const char *fault = getenv("PMEMFS_URING_FAULT");
	size_t len = strlen(what);

	return fault && !strncmp(fault, what, len) && fault[len] == ':' &&
	       strtol(fault + len + 1, NULL, 10) == nr;
}

int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
			       struct io_uring_params *p)
{
	int (*real)(unsigned, struct io_uring *, struct io_uring_params *);

	if (hit("init", atomic_fetch_add(&inits, 1) + 1))
		return -ENOMEM;
	*(void **)&real = dlsym(RTLD_NEXT, "io_uring_queue_init_params");
	return real(entries, ring, p);
}

int io_uring_submit(struct io_uring *ring)
{
	int nr = atomic_fetch_add(&submits, 1) + 1;
	int (*real)(struct io_uring *);

	if (hit("submit", nr))
		return -ENOMEM;
	if (hit("register", nr)) {
		struct io_uring_sqe *sqe = &ring->sq.sqes[0];

		((struct fuse_uring_cmd_req *)(void *)sqe->cmd)->qid = UINT16_MAX;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "io_uring_submit");
	return real(ring);
}
