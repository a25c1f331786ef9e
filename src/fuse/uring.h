/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uring.h - FUSE over io_uring: set up around INIT, then served like any
 * transport
 *
 *	uring_prepare()		threads, rings, memory: all that can fail here
 *	answer INIT with FUSE_OVER_IO_URING
 *	uring_register()	hand the entries over; from now on requests come
 *	...			(the threads are workers of the session)
 *	uring_free()		when they have been joined
 */
#ifndef FUSE_URING_H
#define FUSE_URING_H

#include "fuse/session.h"

/*
 * Start the threads that will serve the rings. A failure is never serious:
 * *why says in a few words what is missing; if *u is set, some threads were
 * started: uring_drop().
 */
int uring_prepare(struct session *s, struct uring **u, const char **why);
/*
 * After INIT has been answered. 0: the ring serves. -errno with *why: the
 * kernel goes on with /dev/fuse. -ENOTRECOVERABLE: it could not be told to, so
 * the mount cannot be used.
 */
int uring_register(struct uring *u, const char **why);
/* After a failure of either: make the threads leave. */
void uring_drop(struct uring *u);
void uring_free(struct uring *u);

unsigned uring_threads_max(void);	/* that uring_prepare() may start */
unsigned uring_nr_rings(const struct uring *u);
unsigned uring_depth(const struct uring *u);

#endif
