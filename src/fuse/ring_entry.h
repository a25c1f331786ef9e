/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring_entry.h - one entry of a FUSE-over-io_uring queue
 *
 * Two buffers that kernel and daemon share for as long as the entry lives. A
 * request is found in them and its answer is left in them. How the entry
 * travels is transport_uring.c's affair; nothing here needs io_uring.
 */
#ifndef FUSE_RING_ENTRY_H
#define FUSE_RING_ENTRY_H

#include <sys/uio.h>

#include "fuse/offload.h"
#include "fuse/request.h"

/* No less than max_write, 256 pages, and the largest SETXATTR: a kernel
 * that meets a smaller one refuses it, or stops (CVE-2026-99293). */
#define RING_PAYLOAD_SIZE	OUT_SIZE

struct ring_entry {
	struct fuse_uring_req_header *head;
	uint8_t *payload;		/* RING_PAYLOAD_SIZE bytes, on a page */
	struct iovec iov[2];		/* the two, for REGISTER */
	struct fuse_in_header h;	/* the request's; head gets the answer */
	uint64_t commit_id;
	uint32_t len;			/* payload bytes, in and out */
	uint16_t qid;
	struct request rq;		/* the transport's: the one that is in it */
	struct parked parked;
};

/*
 * Lay rq over the request in e. The answer is to be built in e->payload, so
 * over the request's own names and data. Malformed: dispatch() refuses it.
 */
void ring_take(struct ring_entry *e, struct request *rq);
/* Leave an answer in e. iov as a transport's send() gets it; what is in
 * place already is not copied. */
void ring_answer(struct ring_entry *e, const struct iovec *iov, unsigned nr);

#endif
