/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring_entry.c - requests and answers as a ring entry carries them
 *
 *	head     in_out   fuse_in_header            ->  fuse_out_header
 *		 op_in    fixed arguments               (left alone)
 *		 ent      commit_id, payload length ->  payload length
 *	payload  names, values, data of a WRITE     ->  the answer's body
 *
 *   U1  The header of a request is copied before anything is answered: the
 *       answer's own header takes its place. The fixed arguments stay valid.
 *   U2  An answer is never longer than the payload: what would be is EIO.
 */
#include "fuse/ring_entry.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

_Static_assert(RING_PAYLOAD_SIZE >= OP_WRITE_MAX, "a WRITE fits");
_Static_assert(RING_PAYLOAD_SIZE >= 65536 + 256 + 4096, "a SETXATTR fits");

void ring_take(struct ring_entry *e, struct request *rq)
{
	const struct fuse_uring_ent_in_out *ent = &e->head->ring_ent_in_out;
	size_t arg_len;

	memcpy(&e->h, e->head->in_out, sizeof(e->h));			/* U1 */
	e->commit_id = ent->commit_id;
	e->len = ent->payload_sz;
	arg_len = (size_t)e->h.len - sizeof(e->h) - e->len;
	if (e->len > RING_PAYLOAD_SIZE || arg_len > FUSE_URING_HEAD_SIZE) {
		/* lengths that cannot be; refused, since they do not add up */
		e->len = 0;
		arg_len = SIZE_MAX / 2;
	}
	rq->out = e->payload;
	request_lay_apart(rq, &e->h, e->head->op_in, arg_len, e->payload, e->len);
}

void ring_answer(struct ring_entry *e, const struct iovec *iov, unsigned nr)
{
	struct fuse_out_header h;
	size_t at = 0, total = 0;

	memcpy(&h, iov[0].iov_base, sizeof(h));
	for (unsigned i = 1; i < nr; i++)
		total += iov[i].iov_len;
	if (total > RING_PAYLOAD_SIZE) {				/* U2 */
		log_err("bug: %u answered with %zu bytes", e->h.opcode, total);
		h.error = -EIO;
		nr = 1;
	}
	for (unsigned i = 1; i < nr; i++) {
		if (iov[i].iov_base != e->payload + at)
			memcpy(e->payload + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	h.len = (uint32_t)(sizeof(h) + at);
	memcpy(e->head->in_out, &h, sizeof(h));
	e->len = (uint32_t)at;
	e->head->ring_ent_in_out.payload_sz = e->len;
}
