/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reply.h - answers
 *
 * Every function gives the one answer to rq and returns 0, so that a handler
 * can end with `return err ? err : reply_...(...)`. An answer that did not
 * arrive is undone where it handed out a reference (a lookup, an open).
 */
#ifndef FUSE_REPLY_H
#define FUSE_REPLY_H

#include "fuse/request.h"

#include <sys/uio.h>

/* err: 0 or -errno */
int reply_error(struct request *rq, int err);
static inline int reply_ok(struct request *rq) { return reply_error(rq, 0); }
int reply_data(struct request *rq, const void *data, size_t len);
/*
 * iov[0] is left free for the header. Unlike the others this one tells what
 * the transport said (transport.h).
 */
int reply_iov(struct request *rq, struct iovec *iov, unsigned nr);

int reply_attr(struct request *rq, const struct op_attr *a);
int reply_entry(struct request *rq, const struct op_entry *e);
/* There is no such name, and the kernel may remember it. */
int reply_no_entry(struct request *rq);
/* e NULL: OPEN. Otherwise CREATE and TMPFILE: entry and open file. */
int reply_open(struct request *rq, const struct op_entry *e, uint32_t flags);

void fill_entry(const struct request *rq, struct fuse_entry_out *out,
		const struct op_entry *e);

/* Make the kernel ask for the attributes of a node again. */
void notify_attr(struct session *s, uint64_t nodeid);

#endif
