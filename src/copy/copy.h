/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.h - how bytes move: from a payload into the pool
 *
 * Knows ranges and sources, not files. The choice of the route is made in
 * one function, copy_route() in copy.c.
 */
#ifndef COPY_COPY_H
#define COPY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pm;

/*
 * Free blocks, reserved for a payload to be received into ("landing"): what is
 * written to a hole, or in place of a block, then need not be copied, because it
 * is there already. Each block of the reservation is for one block of the file.
 */
#define LAND_BLOCKS	257u		/* the longest request, at any byte of a block */

enum land_state { LAND_FREE, LAND_LENT, LAND_TAKEN };

struct landing {
	uint64_t start, len;	/* reserved in the pool; len 0: nothing is */
	uint64_t off;		/* of the payload's first byte, in the first block */
	uint64_t total;		/* bytes of the payload */
	uint64_t taken;		/* bytes of the blocks that belong to a file now */
	bool replace;		/* better in place of what the file has than copied */
	bool lending;		/* a record is about to take some of them */
	bool durable;		/* the payload is, but for the fence */
	uint8_t block[LAND_BLOCKS];	/* enum land_state of each */
};

/*
 * What a writer brought: bytes in memory, or bytes waiting in a pipe (a
 * request received by splice; libfuse calls this write_buf). Taken from the
 * front, never twice.
 */
struct payload {
	const uint8_t *mem;	/* NULL: pipe */
	int fd;			/* pipe, when mem is NULL */
	size_t len;		/* bytes left */
	/* landed: the bytes after the next `split` lie elsewhere, in the pool */
	const uint8_t *next;	/* NULL: no, or there already */
	size_t split;
	struct landing *land;	/* NULL: no */
};

static inline struct payload payload_mem(const void *p, size_t len)
{
	return (struct payload){ .mem = p, .fd = -1, .len = len };
}

static inline struct payload payload_pipe(int fd, size_t len)
{
	return (struct payload){ .mem = NULL, .fd = fd, .len = len };
}

/* The first `split` bytes at p, the others where land says: from off + split on. */
struct payload payload_landed(struct pm *pm, const void *p, size_t split, struct landing *land);

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

#endif
