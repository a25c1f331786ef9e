/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_ring.c - requests and answers in the two buffers of a ring entry
 *
 * The kernel's side is played by hand: what fs/fuse/dev_uring.c would copy in
 * is put there, what it would copy out is looked at. No io_uring is needed.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/bytes.h"
#include "fuse/ring_entry.h"
#include "fuse/session.h"
#include "fuse/transport.h"
#include "support/check_main.h"
#include "support/pool.h"

static struct fuse_uring_req_header head __attribute__((aligned(8)));
static uint8_t *payload;
static struct ring_entry e;
static struct options opt;
static struct session s;
static struct pool pool;
static struct fuse_out_header answer;
static uint32_t body;			/* bytes of it in payload */

static int send_to_entry(struct request *rq, const struct iovec *iov, unsigned nr)
{
	ring_answer(rq->state, iov, nr);
	return 0;
}

static const struct transport to_entry = {
	.name = "entry", .send = send_to_entry,
};

static void begin(void)
{
	pool_make(&pool, 32 << 20);
	s = (struct session){
		.fs = pool.fs, .opt = &opt, .fd = -1, .direct = true,
		.transport = &to_entry,
	};
	payload = calloc(1, RING_PAYLOAD_SIZE);
	ck_assert(payload);
	e = (struct ring_entry){ .head = &head, .payload = payload };
}

static void end(void)
{
	free(payload);
	pool_end(&pool);
}

/* Lengths as the caller says, so that they can lie. */
static int ask_raw(uint32_t opcode, uint64_t nodeid, uint32_t len, uint32_t sz,
		   uint32_t extlen)
{
	struct fuse_in_header h = {
		.len = len, .opcode = opcode, .unique = 77, .nodeid = nodeid,
		.total_extlen = (uint16_t)extlen,
	};
	struct request rq = { .s = &s, .tr = &to_entry, .state = &e, .ctx.fs = s.fs };

	memcpy(head.in_out, &h, sizeof(h));
	head.ring_ent_in_out = (struct fuse_uring_ent_in_out){
		.commit_id = 99, .payload_sz = sz,
	};
	ring_take(&e, &rq);
	dispatch(&rq);
	ck_assert(rq.answered);
	ck_assert_uint_eq(e.commit_id, 99);
	memcpy(&answer, head.in_out, sizeof(answer));
	body = head.ring_ent_in_out.payload_sz;
	ck_assert_uint_eq(answer.unique, 77);
	ck_assert_uint_eq(answer.len, sizeof(answer) + body);
	return answer.error;
}

static int ask(uint32_t opcode, uint64_t nodeid, const void *arg, size_t arg_len,
	       const void *rest, size_t rest_len)
{
	if (arg_len)
		memcpy(head.op_in, arg, arg_len);
	if (rest_len)
		memcpy(payload, rest, rest_len);
	return ask_raw(opcode, nodeid,
		       (uint32_t)(sizeof(struct fuse_in_header) + arg_len + rest_len),
		       (uint32_t)rest_len, 0);
}

static uint64_t create(const char *name)
{
	struct fuse_create_in c = { .mode = S_IFREG | 0644 };
	struct fuse_entry_out out;

	ck_assert_int_eq(ask(FUSE_CREATE, 1, &c, sizeof(c), name, strlen(name) + 1), 0);
	ck_assert_uint_eq(body, sizeof(out) + sizeof(struct fuse_open_out));
	memcpy(&out, payload, sizeof(out));
	return out.nodeid;
}

START_TEST(a_whole_payload)
{
	struct fuse_write_in w = { .size = RING_PAYLOAD_SIZE };
	struct fuse_read_in r = { .size = RING_PAYLOAD_SIZE };
	struct fuse_write_out done;
	uint64_t n;

	begin();
	n = create("f");
	for (size_t i = 0; i < RING_PAYLOAD_SIZE; i++)
		payload[i] = (uint8_t)(i * 7 + (i >> 12));
	memcpy(head.op_in, &w, sizeof(w));
	ck_assert_int_eq(ask_raw(FUSE_WRITE, n, 80 + RING_PAYLOAD_SIZE,
				 RING_PAYLOAD_SIZE, 0), 0);
	memcpy(&done, payload, sizeof(done));
	ck_assert_uint_eq(done.size, RING_PAYLOAD_SIZE);
	memset(payload, 0, RING_PAYLOAD_SIZE);
	ck_assert_int_eq(ask(FUSE_READ, n, &r, sizeof(r), NULL, 0), 0);
	ck_assert_uint_eq(body, RING_PAYLOAD_SIZE);
	for (size_t i = 0; i < RING_PAYLOAD_SIZE; i++)
		ck_assert_uint_eq(payload[i], (uint8_t)(i * 7 + (i >> 12)));
	end();
}
END_TEST

/* The value is built where the name lay, and is right all the same. */
START_TEST(answers_over_requests)
{
	struct fuse_setxattr_in set = { .size = 300 };
	struct fuse_getxattr_in get = { .size = 300 };
	uint8_t rest[8 + 300] = "user.ab";
	uint64_t n;

	begin();
	n = create("f");
	memset(rest + 8, 'v', 300);
	ck_assert_int_eq(ask(FUSE_SETXATTR, n, &set, sizeof(set), rest, sizeof(rest)), 0);
	ck_assert_uint_eq(body, 0);
	ck_assert_int_eq(ask(FUSE_GETXATTR, n, &get, sizeof(get), "user.ab", 8), 0);
	ck_assert_uint_eq(body, 300);
	ck_assert_mem_eq(payload, rest + 8, 300);
	get.size = 0;
	ck_assert_int_eq(ask(FUSE_GETXATTR, n, &get, sizeof(get), "user.ab", 8), 0);
	ck_assert_uint_eq(body, sizeof(struct fuse_getxattr_out));
	end();
}
END_TEST

/* No fixed arguments: the name is the payload. An error has no body. */
START_TEST(names_alone)
{
	struct fuse_entry_out out;
	uint64_t n;

	begin();
	n = create("f");
	ck_assert_int_eq(ask(FUSE_LOOKUP, 1, NULL, 0, "f", 2), 0);
	memcpy(&out, payload, sizeof(out));
	ck_assert_uint_eq(out.nodeid, n);
	ck_assert_int_eq(ask(FUSE_RMDIR, 1, NULL, 0, "f", 2), -ENOTDIR);
	ck_assert_uint_eq(body, 0);
	ck_assert_int_eq(ask(FUSE_LOOKUP, 1, NULL, 0, "f", 1), -EINVAL);
	ck_assert_int_eq(ask(FUSE_STATFS, 1, NULL, 0, NULL, 0), 0);
	ck_assert_uint_eq(body, sizeof(struct fuse_statfs_out));
	/* more than we look at is no error */
	ck_assert_int_eq(ask(FUSE_FSYNC, n, &(uint64_t[2]){ 0 }, 16, NULL, 0), 0);
	ck_assert_int_eq(ask(FUSE_BMAP, 1, &(uint64_t[4]){ 0 }, 32, NULL, 0), -ENOSYS);
	end();
}
END_TEST

/* Extensions lie behind the names. */
START_TEST(extensions)
{
	struct fuse_mkdir_in d = { .mode = S_IFDIR | 0755 };

	begin();
	memcpy(head.op_in, &d, sizeof(d));
	memcpy(payload, "d\0extended", 10);
	ck_assert_int_eq(ask_raw(FUSE_MKDIR, 1, 40 + 8 + 10, 10, 1), 0);
	memcpy(payload, "e\0extended", 10);
	ck_assert_int_eq(ask_raw(FUSE_MKDIR, 1, 40 + 8 + 10, 10, 0), -EINVAL);
	ck_assert_int_eq(ask_raw(FUSE_MKDIR, 1, 40 + 8 + 10, 10, 2), -EINVAL);
	end();
}
END_TEST

/* Whatever the kernel says the lengths are, nothing beyond is touched. */
START_TEST(lengths_that_lie)
{
	struct fuse_write_in w = { .size = 100 };

	begin();
	memcpy(head.op_in, &w, sizeof(w));
	ck_assert_int_eq(ask_raw(FUSE_WRITE, 1, 180, RING_PAYLOAD_SIZE + 1, 0), -EINVAL);
	ck_assert_int_eq(ask_raw(FUSE_WRITE, 1, 180, UINT32_MAX, 0), -EINVAL);
	ck_assert_int_eq(ask_raw(FUSE_WRITE, 1, 80, 100, 0), -EINVAL);
	ck_assert_int_eq(ask_raw(FUSE_WRITE, 1, 20, 0, 0), -EINVAL);
	ck_assert_int_eq(ask_raw(FUSE_WRITE, 1, UINT32_MAX, 100, 0), -EINVAL);
	ck_assert_int_eq(ask_raw(FUSE_GETATTR, 1, 40 + 8, 0, 0), -EINVAL);
	ck_assert_int_eq(ask_raw(FUSE_GETATTR, 1, 40 + 16, 0, 0), 0);
	end();
}
END_TEST

START_TEST(pieces)
{
	struct fuse_out_header h = { .unique = 5 };
	struct iovec iov[3] = { { &h, sizeof(h) }, { NULL, 4 }, { NULL, 3 } };

	begin();
	iov[1].iov_base = payload;		/* in place already */
	memcpy(payload, "abcd", 4);
	iov[2].iov_base = (void *)(uintptr_t)"efg";
	ring_answer(&e, iov, 3);
	ck_assert_mem_eq(payload, "abcdefg", 7);
	ck_assert_uint_eq(head.ring_ent_in_out.payload_sz, 7);
	iov[1].iov_len = RING_PAYLOAD_SIZE;
	ring_answer(&e, iov, 3);
	memcpy(&answer, head.in_out, sizeof(answer));
	ck_assert_int_eq(answer.error, -EIO);
	ck_assert_uint_eq(head.ring_ent_in_out.payload_sz, 0);
	end();
}
END_TEST

CHECK_MAIN("ring", a_whole_payload, answers_over_requests, names_alone,
	   extensions, lengths_that_lie, pieces)
