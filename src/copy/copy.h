/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.h - how bytes move: from a payload into the pool
 *
 * Knows ranges and sources, not files. The choice of the route is made in
 * one function, copy_route() in copy.c.
 */
#ifndef COPY_COPY_H
#define COPY_COPY_H

#include <stddef.h>
#include <stdint.h>

struct pm;

/*
 * What a writer brought: bytes in memory, or bytes waiting in a pipe (a
 * request received by splice; libfuse calls this write_buf). Taken from the
 * front, never twice.
 */
struct payload {
	const uint8_t *mem;	/* NULL: pipe */
	int fd;			/* pipe, when mem is NULL */
	size_t len;		/* bytes left */
};

static inline struct payload payload_mem(const void *p, size_t len)
{
	return (struct payload){ .mem = p, .fd = -1, .len = len };
}

static inline struct payload payload_pipe(int fd, size_t len)
{
	return (struct payload){ .mem = NULL, .fd = fd, .len = len };
}

/*
 * Move the next len bytes of p to the pool at off. Leaves: flushed.
 * -EIO: the pipe ended early or failed; the pool's bytes are then undefined.
 */
int copy_in(struct pm *pm, uint64_t off, struct payload *p, size_t len);

/* Zero len bytes at off. Leaves: flushed. */
void copy_zero(struct pm *pm, uint64_t off, size_t len);
/* Copy len bytes of the pool to another place in it. Leaves: flushed. */
void copy_within(struct pm *pm, uint64_t to, uint64_t from, size_t len);
/*
 * All that this thread has copied is durable, and nothing of it can land on
 * top of what the next owner of a place stores there. 0, or -EIO: the medium
 * refused.
 */
int copy_settle(struct pm *pm);

/* Bytes by route so far (base/count.h). */
struct copy_stats { uint64_t nocache_bytes, pipe_bytes, zero_bytes, within_bytes; };
void copy_get_stats(struct pm *pm, struct copy_stats *out);

#endif
