/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport_uring_none.c - in place of transport_uring.c where there was no
 * liburing to build with: there is never a ring
 */
#include "fuse/uring.h"

#include <errno.h>
#include <stddef.h>

#include "fuse/transport.h"

const struct transport transport_uring = { .name = "uring" };

int uring_prepare(struct session *s, struct uring **u, const char **why)
{
	(void)s;
	*u = NULL;
	*why = "pmemfs-fuse was built without liburing";
	return -ENOSYS;
}

int uring_register(struct uring *u, const char **why)
{
	(void)u;
	(void)why;
	return -ENOSYS;
}

void uring_drop(struct uring *u) { (void)u; }
void uring_free(struct uring *u) { (void)u; }
unsigned uring_threads_max(void) { return 0; }
unsigned uring_nr_rings(const struct uring *u) { (void)u; return 0; }
unsigned uring_depth(const struct uring *u) { (void)u; return 0; }
