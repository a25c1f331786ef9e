/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request.h - one request of the kernel, whatever way it came
 *
 * A transport fills it in, dispatch() works on it. The fixed arguments of an
 * opcode (arg) and what follows them (rest: names, values) are apart, because
 * a ring hands them over apart.
 */
#ifndef FUSE_REQUEST_H
#define FUSE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/copy.h"
#include "fuse/proto.h"
#include "meta/gone.h"
#include "op/op.h"

struct session;
struct transport;
struct worker;

/* Room for an answer: a READ of MAX_WRITE bytes. */
#define OUT_SIZE	(1u << 20)

struct request {
	struct session *s;
	const struct transport *tr;
	struct worker *w;		/* who serves it; NULL: a test */
	void *state;			/* the transport's own */
	const struct fuse_in_header *h;
	const void *arg;		/* fixed arguments, complete; NULL: the
					   lengths do not fit together */
	const char *rest;
	size_t rest_len;
	struct payload data;		/* WRITE: what to write */
	uint8_t *out;			/* OUT_SIZE bytes to build an answer in;
					   on a ring `rest` lies there too */
	struct op_ctx ctx;
	struct patience patience;	/* with a pool that is full */
	uint64_t arrived;		/* stats_clock(); 0: it is served at once */
	int error;			/* what was answered */
	bool answered;
};

/*
 * Lay a request over buf, which holds the first `have` of its `total` bytes
 * (8-byte aligned). Only a WRITE may have less than all: the rest of its data
 * waits in pipe_fd. -EAGAIN: not even a header, go on with the next; otherwise
 * hand it to dispatch(), which refuses what is malformed.
 */
int request_lay(struct request *rq, const void *buf, size_t have, size_t total,
		int pipe_fd);

/* The same for a request whose fixed arguments and rest came apart. */
void request_lay_apart(struct request *rq, const struct fuse_in_header *h,
		       const void *arg, size_t arg_len, const void *rest,
		       size_t rest_len);

/*
 * -ENOSPC was met. True: space has come back that had been on its way before,
 * so it may be tried again. Waits, with no lock held.
 */
bool request_space(struct request *rq);

/* Serve rq: exactly one answer is given, or none where none is due. */
void dispatch(struct request *rq);

/* "READ" and so on; "unknown". */
const char *request_name(uint32_t opcode);

#endif
