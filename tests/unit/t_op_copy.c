/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_copy.c - copy_file_range: inside the pool, between files and within one
 */
#include <errno.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "copy/copy.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(32ull << 20)
#define BLK	4096u
#define LEN	(64u * BLK)		/* of the files that are modelled */

static struct pool p;
static uint64_t a, b;

static void start(void)
{
	pool_make(&p, SIZE);
	a = pool_file(&p, ROOT, "a");
	b = pool_file(&p, ROOT, "b");
}

static int copy(uint64_t from, uint64_t pos, uint64_t to, uint64_t at, uint64_t len, uint64_t *done)
{
	return op_copy_range(&p.c, from, pos, to, at, len, 0, done);
}

/* All of it, as a caller does it who takes short counts for what they are. */
static void copy_whole(uint64_t from, uint64_t pos, uint64_t to, uint64_t at, uint64_t len)
{
	uint64_t done;

	for (; len; pos += done, at += done, len -= done) {
		ck_assert_int_eq(copy(from, pos, to, at, len, &done), 0);
		ck_assert_uint_ge(done, 1);
		ck_assert_uint_le(done, len);
	}
}

/* ---- against a model ------------------------------------------------------------ */

struct model { uint8_t byte[2 * LEN]; uint64_t size; };

static void shape(struct model *m, uint64_t node)
{
	uint8_t buf[3 * BLK];
	uint64_t pos, len;
	unsigned i;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < 12; i++) {
		pos = (uint64_t)rand() % (LEN - sizeof(buf));
		len = 1 + (uint64_t)rand() % sizeof(buf);
		memset(buf, 'A' + rand() % 26, len);
		pool_write(&p, node, pos, buf, len);
		memcpy(m->byte + pos, buf, len);
		m->size = m->size > pos + len ? m->size : pos + len;
	}
	/* reserved, not written: reads as zeros */
	ck_assert_int_eq(op_fallocate(&p.c, node, LEN - 4 * BLK, 4 * BLK, 0), 0);
	m->size = LEN;
}

static void expect(const struct model *m, uint64_t node)
{
	ck_assert_uint_eq(pool_attr(&p, node).size, m->size);
	pool_expect(&p, node, 0, m->byte, m->size);
}

static void model_copy(struct model *to, uint64_t at, const struct model *from, uint64_t pos,
		       uint64_t len)
{
	memcpy(to->byte + at, from->byte + pos, len);
	to->size = to->size > at + len ? to->size : at + len;
}

static void random_copies(void)
{
	static struct model ma, mb;
	uint64_t pos, at, len;
	unsigned i;

	shape(&ma, a);
	shape(&mb, b);
	for (i = 0; i < 200; i++) {
		len = 1 + (uint64_t)rand() % (rand() % 2 ? 100 : 20 * BLK);
		pos = (uint64_t)rand() % (LEN - len);
		at = (uint64_t)rand() % LEN;
		if (rand() % 4) {
			copy_whole(a, pos, b, at, len);
			model_copy(&mb, at, &ma, pos, len);
		} else if (pos + len <= at || at + len <= pos) {
			copy_whole(a, pos, a, at, len);
			model_copy(&ma, at, &ma, pos, len);
		}
	}
	expect(&ma, a);
	expect(&mb, b);
	pool_crash(&p);
	a = pool_find(&p, ROOT, "a");
	b = pool_find(&p, ROOT, "b");
	expect(&ma, a);
	expect(&mb, b);
	pool_verify(&p);
}

START_TEST(bytes)
{
	for (unsigned seed = 1; seed <= 8; seed++) {
		srand(seed);
		start();
		random_copies();
		pool_end(&p);
	}
}
END_TEST

START_TEST(bytes_atomic)
{
	for (unsigned seed = 1; seed <= 8; seed++) {
		srand(100 + seed);
		start();
		pool_set_data(&p, FS_DATA_ATOMIC);
		a = pool_find(&p, ROOT, "a");
		b = pool_find(&p, ROOT, "b");
		random_copies();
		pool_end(&p);
	}
}
END_TEST

/* ---- edges ------------------------------------------------------------------------ */

START_TEST(ends_and_errors)
{
	uint64_t done, dir;
	int64_t before;

	start();
	dir = pool_dir(&p, ROOT, "dir");
	pool_fill(&p, a, 0, 'x', 10000);
	ck_assert_int_eq(copy(a, 10000, b, 0, 100, &done), 0);
	ck_assert_uint_eq(done, 0);
	ck_assert_int_eq(copy(a, 1ull << 50, b, 0, 100, &done), 0);
	ck_assert_uint_eq(done, 0);
	ck_assert_uint_eq(pool_attr(&p, b).size, 0);
	ck_assert_int_eq(copy(a, 9000, b, 5, 100000, &done), 0);	/* to the end */
	ck_assert_uint_eq(done, 1000);
	ck_assert_uint_eq(pool_attr(&p, b).size, 1005);
	ck_assert_int_eq(copy(a, 0, a, 100, 200, &done), -EINVAL);	/* overlap */
	ck_assert_int_eq(copy(a, 100, a, 0, 200, &done), -EINVAL);
	pool_write(&p, a, 0, "y", 1);		/* relatime */
	before = pool_attr(&p, a).atime.sec;
	ck_assert_int_eq(copy(a, 0, b, 0, 10, &done), 0);
	ck_assert_int_gt(pool_attr(&p, a).atime.sec, before);
	ck_assert_int_eq(copy(a, 0, a, 200, 200, &done), 0);
	ck_assert_uint_eq(done, 200);
	ck_assert_int_eq(copy(dir, 0, b, 0, 10, &done), -EISDIR);
	ck_assert_int_eq(copy(a, 0, dir, 0, 10, &done), -EISDIR);
	ck_assert_int_eq(copy(a, 0, b, UINT64_MAX - 5, 10, &done), -EFBIG);
	ck_assert_int_eq(copy(a, UINT64_MAX - 5, b, 0, 10, &done), -EFBIG);
	pool_end(&p);
}
END_TEST

/* What fits is copied and told; then -ENOSPC, and nothing is lost. */
START_TEST(a_full_pool)
{
	uint64_t done = 1, total = 0;
	int err = 0;

	start();
	pool_fill(&p, a, 0, 'x', 4u << 20);
	while (!err && done) {
		err = copy(a, 0, b, total, 4u << 20, &done);
		total += err ? 0 : done;
	}
	ck_assert_int_eq(err, -ENOSPC);
	ck_assert_uint_ge(total, 12u << 20);
	ck_assert_uint_eq(pool_attr(&p, b).size, total);
	pool_expect_fill(&p, b, total - 5000, 'x', 5000);
	pool_verify(&p);
	pool_end(&p);
}
END_TEST

/*
 * The last block of the source is the first of the destination. data=atomic
 * replaces it with the first write; in a pool that is nearly full the next
 * write takes the block that has become free.
 */
static void share_a_block(uint64_t room)
{
	uint64_t full, done, len = (2u << 20) + 100, n;

	start();
	pool_fill(&p, a, 0, 's', len - 100);
	pool_fill(&p, a, len - 100, 'e', 100);
	pool_fill(&p, a, len, 'd', len);
	full = pool_file(&p, ROOT, "full");
	while ((n = pool_free_blocks(&p)) > room)
		pool_fill(&p, full, pool_attr(&p, full).size, 'f',
			  (n - room > 64 ? 64 : n - room) * BLK);
	pool_set_data(&p, FS_DATA_ATOMIC);
	a = pool_find(&p, ROOT, "a");
	ck_assert_int_eq(copy(a, 0, a, len, len, &done), 0);
	ck_assert_uint_eq(done, len);
	pool_expect_fill(&p, a, len, 's', len - 100);
	pool_expect_fill(&p, a, 2 * len - 100, 'e', 100);
	pool_verify(&p);
	pool_end(&p);
}

START_TEST(a_block_that_both_share)
{
	for (uint64_t room = 400; room < 700; room += 20)
		share_a_block(room);
}
END_TEST

/* R2: so that it can be interrupted. */
START_TEST(a_request_ends)
{
	uint64_t done;

	pool_make(&p, 256u << 20);
	a = pool_file(&p, ROOT, "a");
	b = pool_file(&p, ROOT, "b");
	pool_fill(&p, a, 0, 'x', 65u << 20);
	ck_assert_int_eq(copy(a, 0, b, 0, 65u << 20, &done), 0);
	ck_assert_uint_eq(done, 64u << 20);
	pool_end(&p);
}
END_TEST

START_TEST(set_id_bits_go)
{
	struct op_setattr in = { .valid = OP_SET_MODE, .mode = 04755 };
	struct op_attr out;
	uint64_t done;

	start();
	pool_fill(&p, a, 0, 'x', 100);
	ck_assert_int_eq(op_setattr(&p.c, b, &in, &out), 0);
	ck_assert_int_eq(op_copy_range(&p.c, a, 0, b, 0, 100, OP_WRITE_KILL_PRIV, &done), 0);
	ck_assert_uint_eq(pool_attr(&p, b).mode & 07777, 0755);
	pool_end(&p);
}
END_TEST

/* ---- both ways at once (R1) ---------------------------------------------------------- */

static void *back_and_forth(void *arg)
{
	bool way = arg;
	uint64_t done;
	unsigned i;

	for (i = 0; i < 300; i++)
		if (copy(way ? a : b, 0, way ? b : a, BLK, 16 * BLK, &done))
			return (void *)1;
	return NULL;
}

START_TEST(both_ways_at_once)
{
	pthread_t thread[2];
	void *bad;
	unsigned i;

	start();
	pool_fill(&p, a, 0, 'a', 20 * BLK);
	pool_fill(&p, b, 0, 'b', 20 * BLK);
	for (i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, back_and_forth,
						(void *)(uintptr_t)i), 0);
	for (i = 0; i < 2; i++) {
		pthread_join(thread[i], &bad);
		ck_assert_ptr_null(bad);
	}
	pool_verify(&p);
	pool_end(&p);
}
END_TEST

/* Past the end of the file as it was: what the copy adds to it is not copied again. */
START_TEST(within_a_file_that_grows)
{
	uint8_t in[100], out[200];
	uint64_t done;

	start();
	memset(in, 'x', sizeof(in));
	pool_write(&p, a, 0, in, sizeof(in));
	ck_assert_int_eq(copy(a, 40, a, 12000, 7000, &done), 0);
	ck_assert_uint_eq(done, 60);
	ck_assert_uint_eq(pool_attr(&p, a).size, 12060);
	memset(out, 0, sizeof(out));
	memset(out, 'x', 100);
	pool_expect(&p, a, 0, out, sizeof(out));
	ck_assert_int_eq(copy(a, 12060, a, 0, 10, &done), 0);
	ck_assert_uint_eq(done, 0);
	pool_verify(&p);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/copy", bytes, bytes_atomic, ends_and_errors, a_full_pool,
	   within_a_file_that_grows,
	   a_block_that_both_share, a_request_ends, set_id_bits_go, both_ways_at_once)
