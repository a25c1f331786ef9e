/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_file.c - bytes of files: write, read, truncate, fallocate, lseek
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/copy.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)
#define BLK	4096u

static struct pool p;
static uint64_t f;

static void start(uint64_t size)
{
	pool_make(&p, size);
	f = pool_file(&p, ROOT, "f");
}

static uint64_t size_of(void) { return pool_attr(&p, f).size; }
static uint64_t blocks_of(void) { return pool_attr(&p, f).blocks512 / 8; }

/* ---- write and read ---------------------------------------------------------- */

START_TEST(partial_blocks_are_zero_around)
{
	start(SIZE);
	pool_write(&p, f, 5000, "hello", 5);
	ck_assert_uint_eq(size_of(), 5005);
	ck_assert_uint_eq(blocks_of(), 1);
	pool_expect_fill(&p, f, 0, 0, 5000);
	pool_expect(&p, f, 5000, "hello", 5);
	pool_crash(&p);
	f = pool_find(&p, ROOT, "f");
	pool_expect_fill(&p, f, 0, 0, 5000);
	pool_expect(&p, f, 5000, "hello", 5);
	/* growing shows zeros behind it */
	ck_assert_int_eq(pool_truncate(&p, f, 20000), 0);
	pool_expect_fill(&p, f, 5005, 0, 20000 - 5005);
	pool_end(&p);
}
END_TEST

START_TEST(no_old_bytes_shine_through)
{
	unsigned i;

	start(SIZE);
	pool_soil(&p, 0xee);
	for (i = 0; i < 40; i++)
		pool_write(&p, f, i * 10000 + i, "x", 1);
	for (i = 0; i < 40; i++) {
		pool_expect(&p, f, i * 10000 + i, "x", 1);
		if (i)
			pool_expect_fill(&p, f, i * 10000 + i - 9999, 0, 9999);
	}
	ck_assert_int_eq(pool_truncate(&p, f, 500000), 0);
	pool_expect_fill(&p, f, 39 * 10000 + 40, 0, 500000 - 39 * 10000 - 40);
	pool_end(&p);
}
END_TEST

START_TEST(bytes_beyond_the_end_are_zeroed_on_growth)
{
	start(SIZE);
	pool_fill(&p, f, 0, 'o', 4000);
	ck_assert_int_eq(pool_truncate(&p, f, 1000), 0);
	ck_assert_int_eq(pool_truncate(&p, f, 3000), 0);	/* by truncate */
	pool_expect_fill(&p, f, 0, 'o', 1000);
	pool_expect_fill(&p, f, 1000, 0, 2000);
	ck_assert_int_eq(pool_truncate(&p, f, 500), 0);
	pool_write(&p, f, 2000, "w", 1);			/* by a write */
	pool_expect_fill(&p, f, 500, 0, 1500);
	ck_assert_int_eq(pool_truncate(&p, f, 100), 0);
	pool_write(&p, f, 9000, "w", 1);			/* in a later block */
	pool_expect_fill(&p, f, 100, 0, 8900);
	ck_assert_int_eq(pool_truncate(&p, f, 50), 0);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 6000, 0), 0);	/* by fallocate */
	pool_expect_fill(&p, f, 50, 0, 5950);
	pool_end(&p);
}
END_TEST

START_TEST(append_and_limits)
{
	size_t done, got;
	char c;

	start(SIZE);
	pool_fill(&p, f, 0, 'a', 100);
	pool_write(&p, f, 100, "tail", 4);
	pool_expect(&p, f, 100, "tail", 4);
	ck_assert_int_eq(pool_try_write(&p, f, PMEMFS_MAX_SIZE, "x", 1, &done), -EFBIG);
	ck_assert_int_eq(pool_try_write(&p, f, UINT64_MAX - 1, "x", 1, &done), -EFBIG);
	ck_assert_int_eq(pool_try_write(&p, f, PMEMFS_MAX_SIZE - 1, "xyz", 3, &done), 0);
	ck_assert_uint_eq(done, 1);
	ck_assert_uint_eq(size_of(), PMEMFS_MAX_SIZE);
	pool_expect(&p, f, PMEMFS_MAX_SIZE - 1, "x", 1);
	pool_expect_fill(&p, f, PMEMFS_MAX_SIZE - 5000, 0, 4999);
	ck_assert_int_eq(op_pread(&p.c, f, &c, 1, PMEMFS_MAX_SIZE, &got), 0);
	ck_assert_uint_eq(got, 0);
	ck_assert_int_eq(pool_truncate(&p, f, PMEMFS_MAX_SIZE + 1), -EFBIG);
	ck_assert_int_eq(pool_try_write(&p, f, 5, "", 0, &done), 0);
	ck_assert_int_eq(pool_try_write(&p, ROOT, 0, "x", 1, &done), -EISDIR);
	ck_assert_int_eq(op_pread(&p.c, ROOT, &c, 1, 0, &got), -EISDIR);
	ck_assert_int_eq(pool_truncate(&p, ROOT, 0), -EISDIR);
	pool_end(&p);
}
END_TEST

START_TEST(from_a_pipe)
{
	struct payload pl;
	size_t done;
	int fd[2];

	start(SIZE);
	ck_assert_int_eq(pipe(fd), 0);
	ck_assert_int_eq(write(fd[1], "through a pipe", 14), 14);
	pl = payload_pipe(fd[0], 14);
	ck_assert_int_eq(op_write(&p.c, f, 4090, &pl, 0, &done), 0);
	ck_assert_uint_eq(done, 14);
	pool_expect(&p, f, 4090, "through a pipe", 14);
	/* one that ends early changes nothing */
	ck_assert_int_eq(write(fd[1], "short", 5), 5);
	close(fd[1]);
	pl = payload_pipe(fd[0], 100);
	ck_assert_int_eq(op_write(&p.c, f, 20000, &pl, 0, &done), -EIO);
	ck_assert_uint_eq(done, 0);
	ck_assert_uint_eq(size_of(), 4104);
	close(fd[0]);
	pool_end(&p);
}
END_TEST

START_TEST(pieces)
{
	struct op_piece piece[4];
	struct op_read r;
	unsigned nr = 4;
	size_t got;

	start(SIZE);
	pool_fill(&p, f, 8192, 'd', 4096);
	ck_assert_int_eq(pool_truncate(&p, f, 20000), 0);
	ck_assert_int_eq(op_read(&p.c, f, 100, 30000, piece, &nr, &got, &r), 0);
	ck_assert_uint_eq(nr, 3);
	ck_assert_uint_eq(got, 19900);
	ck_assert_uint_eq(piece[0].len, 8092);
	ck_assert_uint_eq(piece[1].len, 4096);
	ck_assert_int_eq(*(const char *)piece[1].base, 'd');
	ck_assert_int_eq(op_read_done(&p.c, &r), 0);
	nr = 1;
	ck_assert_int_eq(op_read(&p.c, f, 100, 30000, piece, &nr, &got, &r), 0);
	ck_assert_uint_eq(got, 8092);
	ck_assert_int_eq(op_read_done(&p.c, &r), 0);
	nr = 4;
	ck_assert_int_eq(op_read(&p.c, f, 20000, 1, piece, &nr, &got, &r), 0);
	ck_assert_uint_eq(got, 0);
	ck_assert_int_eq(op_read_done(&p.c, &r), 0);
	nr = 4;
	ck_assert_int_eq(op_read(&p.c, ROOT, 0, 1, piece, &nr, &got, &r), -EISDIR);
	pool_end(&p);
}
END_TEST

START_TEST(a_large_write_is_one_extent)
{
	struct op_piece piece[8];
	struct op_read r;
	unsigned nr = 8;
	size_t got;

	start(64ull << 20);
	pool_fill(&p, f, 0, 'L', 5 << 20);
	ck_assert_int_eq(op_read(&p.c, f, 0, 5 << 20, piece, &nr, &got, &r), 0);
	ck_assert_uint_eq(nr, 1);
	ck_assert_uint_eq((uintptr_t)piece[0].base % (2 << 20), 0);
	ck_assert_int_eq(op_read_done(&p.c, &r), 0);
	pool_end(&p);
}
END_TEST

/* Every second block is taken, so each block is an extent of its own. */
START_TEST(a_write_in_a_fragmented_pool)
{
	enum { N = 1200 };
	char name[16];
	unsigned i;
	uint64_t g;

	start(SIZE);
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "g%u", i);
		g = pool_file(&p, ROOT, name);
		pool_fill(&p, g, 0, 'g', BLK);
		pool_forget(&p, g, 1);
	}
	g = pool_file(&p, ROOT, "rest");
	while (pool_free_blocks(&p) > 300) {
		size_t done;
		static char buf[64 * BLK];

		if (pool_try_write(&p, g, pool_attr(&p, g).size, buf, sizeof(buf), &done) ||
		    done < sizeof(buf))
			break;
	}
	for (i = 0; i < N; i += 2) {
		snprintf(name, sizeof(name), "g%u", i);
		ck_assert_int_eq(pool_unlink(&p, ROOT, name), 0);
	}
	pool_fill(&p, f, 0, 'F', 500 * BLK + 77);
	pool_expect_fill(&p, f, 0, 'F', 500 * BLK + 77);
	pool_crash(&p);
	f = pool_find(&p, ROOT, "f");
	pool_expect_fill(&p, f, 0, 'F', 500 * BLK + 77);
	for (i = 1; i < N; i += 2) {
		snprintf(name, sizeof(name), "g%u", i);
		pool_expect_fill(&p, pool_find(&p, ROOT, name), 0, 'g', BLK);
	}
	pool_verify(&p);
	ck_assert_int_eq(pool_truncate(&p, f, 10), 0);
	pool_end(&p);
}
END_TEST

/* ---- privileges and times ------------------------------------------------------ */

START_TEST(privileges_go)
{
	struct op_setattr in = { .valid = OP_SET_MODE, .mode = 06755 };
	struct payload pl = payload_mem("x", 1);
	struct op_attr a;
	size_t done, n;

	start(SIZE);
	ck_assert_int_eq(op_setattr(&p.c, f, &in, &a), 0);
	pool_write(&p, f, 0, "x", 1);
	ck_assert_uint_eq(pool_attr(&p, f).mode & 07777, 06755);
	ck_assert_int_eq(op_setxattr(&p.c, f, "security.capability", "c", 1, 0), 0);
	ck_assert_int_eq(op_write(&p.c, f, 0, &pl, OP_WRITE_KILL_PRIV, &done), 0);
	ck_assert_uint_eq(pool_attr(&p, f).mode & 07777, 0755);
	ck_assert_int_eq(op_getxattr(&p.c, f, "security.capability", NULL, 0, &n), -ENODATA);
	/* sgid without group execution is mandatory locking, not privilege */
	in.mode = 06644;
	ck_assert_int_eq(op_setattr(&p.c, f, &in, &a), 0);
	in = (struct op_setattr){ .valid = OP_SET_UID, .uid = 5 };
	ck_assert_int_eq(op_setattr(&p.c, f, &in, &a), 0);
	ck_assert_uint_eq(a.mode & 07777, 02644);
	ck_assert_uint_eq(a.uid, 5);
	in = (struct op_setattr){ .valid = OP_SET_MODE, .mode = 04755 };
	ck_assert_int_eq(op_setattr(&p.c, f, &in, &a), 0);
	ck_assert_int_eq(op_open(&p.c, f, O_WRONLY | O_TRUNC), 0);
	ck_assert_uint_eq(pool_attr(&p, f).mode & 07777, 04755);
	op_release(p.fs, f);
	ck_assert_int_eq(op_open(&p.c, f, O_WRONLY | O_TRUNC | OP_OPEN_KILL_PRIV), 0);
	ck_assert_uint_eq(pool_attr(&p, f).mode & 07777, 0755);
	op_release(p.fs, f);
	pool_end(&p);
}
END_TEST

START_TEST(times_of_bytes)
{
	struct op_setattr in = {
		.valid = OP_SET_ATIME | OP_SET_MTIME,
		.atime = { -5, 7 }, .mtime = { 1ll << 33, 999999999 },
	};
	struct op_attr a, b;
	struct payload pl;
	size_t done;
	char c;

	start(SIZE);
	a = pool_attr(&p, f);
	pool_write(&p, f, 0, "x", 1);
	b = pool_attr(&p, f);
	ck_assert(b.mtime.sec > a.mtime.sec && b.ctime.sec > a.ctime.sec);
	ck_assert(b.btime.sec == a.btime.sec);
	/* page cache writeback keeps its own times */
	pl = payload_mem("y", 1);
	ck_assert_int_eq(op_write(&p.c, f, 0, &pl, OP_WRITE_KEEP_TIMES, &done), 0);
	a = pool_attr(&p, f);
	ck_assert(a.mtime.sec == b.mtime.sec);
	ck_assert_int_eq(op_pread(&p.c, f, &c, 1, 0, &done), 0);
	a = pool_attr(&p, f);
	ck_assert(a.atime.sec > b.atime.sec);
	ck_assert_int_eq(op_setattr(&p.c, f, &in, &a), 0);
	pool_remount(&p);
	f = pool_find(&p, ROOT, "f");
	b = pool_attr(&p, f);
	ck_assert(b.atime.sec == -5 && b.atime.nsec == 7);
	ck_assert(b.mtime.sec == 1ll << 33 && b.mtime.nsec == 999999999);
	ck_assert_int_eq(op_pread(&p.c, f, &c, 1, 0, &done), 0);
	a = pool_attr(&p, f);
	ck_assert(a.atime.sec > 0);
	ck_assert_int_eq(op_fsync(&p.c, f), 0);
	pool_crash(&p);
	b = pool_attr(&p, pool_find(&p, ROOT, "f"));
	ck_assert(a.atime.sec == b.atime.sec);
	pool_end(&p);
}
END_TEST

START_TEST(open_truncates)
{
	uint64_t before;

	start(SIZE);
	before = pool_settled_blocks(&p);
	pool_fill(&p, f, 0, 'x', 100000);
	ck_assert_int_eq(op_open(&p.c, f, O_RDWR | O_TRUNC), 0);
	ck_assert_uint_eq(size_of(), 0);
	op_release(p.fs, f);
	ck_assert_uint_eq(pool_settled_blocks(&p), before);
	pool_end(&p);
}
END_TEST

/* ---- fallocate and lseek ---------------------------------------------------------- */

START_TEST(fallocate_reserves)
{
	uint64_t off, before;
	size_t done;

	start(SIZE);
	before = pool_free_blocks(&p);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 1 << 20, FALLOC_FL_KEEP_SIZE), 0);
	ck_assert_uint_eq(size_of(), 0);
	ck_assert_uint_eq(blocks_of(), 256);
	ck_assert_uint_eq(pool_free_blocks(&p), before - 256);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 1 << 20, 0), 0);
	ck_assert_uint_eq(size_of(), 1 << 20);
	ck_assert_uint_eq(blocks_of(), 256);
	pool_expect_fill(&p, f, 0, 0, 1 << 20);
	ck_assert_int_eq(op_lseek(&p.c, f, 0, SEEK_DATA, &off), -ENXIO);
	pool_write(&p, f, 50000, "data", 4);
	ck_assert_uint_eq(blocks_of(), 256);
	pool_expect_fill(&p, f, 0, 0, 50000);
	pool_expect(&p, f, 50000, "data", 4);
	pool_expect_fill(&p, f, 50004, 0, (1 << 20) - 50004);
	ck_assert_int_eq(op_lseek(&p.c, f, 0, SEEK_DATA, &off), 0);
	ck_assert_uint_eq(off, 49152);
	ck_assert_int_eq(op_lseek(&p.c, f, off, SEEK_HOLE, &off), 0);
	ck_assert_uint_eq(off, 53248);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 0, 0), -EINVAL);
	ck_assert_int_eq(op_fallocate(&p.c, f, PMEMFS_MAX_SIZE, 1, 0), -EFBIG);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 1, FALLOC_FL_COLLAPSE_RANGE), -EOPNOTSUPP);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 1, FALLOC_FL_PUNCH_HOLE), -EOPNOTSUPP);
	ck_assert_int_eq(op_fallocate(&p.c, ROOT, 0, 1, 0), -EISDIR);
	/* more than there is: refused, and nothing is taken */
	before = pool_free_blocks(&p);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 1ull << 30, 0), -ENOSPC);
	ck_assert_uint_eq(pool_free_blocks(&p), before);
	/* what was reserved beyond the end goes with a truncation */
	ck_assert_int_eq(pool_truncate(&p, f, 1 << 20), 0);
	ck_assert_int_eq(op_fallocate(&p.c, f, 2 << 20, 100 * BLK, FALLOC_FL_KEEP_SIZE), 0);
	ck_assert_uint_eq(blocks_of(), 356);
	ck_assert_int_eq(pool_truncate(&p, f, 1 << 20), 0);
	ck_assert_uint_eq(blocks_of(), 256);
	ck_assert_int_eq(pool_try_write(&p, f, 0, "x", 1, &done), 0);
	pool_end(&p);
}
END_TEST

START_TEST(punching_and_zeroing)
{
	start(SIZE);
	pool_fill(&p, f, 0, 'd', 10 * BLK);
	ck_assert_int_eq(op_fallocate(&p.c, f, BLK + 100, 3 * BLK,
				      FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE), 0);
	ck_assert_uint_eq(blocks_of(), 8);
	pool_expect_fill(&p, f, 0, 'd', BLK + 100);
	pool_expect_fill(&p, f, BLK + 100, 0, 3 * BLK);
	pool_expect_fill(&p, f, 4 * BLK + 100, 'd', 6 * BLK - 100);
	ck_assert_int_eq(op_fallocate(&p.c, f, 6 * BLK + 10, 20,
				      FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE), 0);
	pool_expect_fill(&p, f, 6 * BLK + 10, 0, 20);
	pool_expect_fill(&p, f, 6 * BLK + 30, 'd', 100);
	ck_assert_int_eq(op_fallocate(&p.c, f, 10, 12 * BLK, FALLOC_FL_ZERO_RANGE), 0);
	ck_assert_uint_eq(size_of(), 12 * BLK + 10);
	ck_assert_uint_eq(blocks_of(), 13);
	pool_expect_fill(&p, f, 0, 'd', 10);
	pool_expect_fill(&p, f, 10, 0, 12 * BLK);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 20 * BLK,
				      FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE), 0);
	ck_assert_uint_eq(size_of(), 12 * BLK + 10);
	pool_expect_fill(&p, f, 0, 0, 12 * BLK + 10);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 1ull << 40,
				      FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE), 0);
	ck_assert_uint_eq(blocks_of(), 0);
	pool_end(&p);
}
END_TEST

START_TEST(seeking)
{
	uint64_t off;

	start(SIZE);
	ck_assert_int_eq(op_lseek(&p.c, f, 0, SEEK_HOLE, &off), -ENXIO);
	pool_write(&p, f, 3 * BLK, "x", 1);
	pool_write(&p, f, 10 * BLK, "x", 1);
	ck_assert_int_eq(op_lseek(&p.c, f, 0, SEEK_HOLE, &off), 0);
	ck_assert_uint_eq(off, 0);
	ck_assert_int_eq(op_lseek(&p.c, f, 5, SEEK_DATA, &off), 0);
	ck_assert_uint_eq(off, 3 * BLK);
	ck_assert_int_eq(op_lseek(&p.c, f, 3 * BLK + 5, SEEK_DATA, &off), 0);
	ck_assert_uint_eq(off, 3 * BLK + 5);
	ck_assert_int_eq(op_lseek(&p.c, f, 3 * BLK + 5, SEEK_HOLE, &off), 0);
	ck_assert_uint_eq(off, 4 * BLK);
	ck_assert_int_eq(op_lseek(&p.c, f, 10 * BLK, SEEK_HOLE, &off), 0);
	ck_assert_uint_eq(off, 10 * BLK + 1);		/* the end */
	ck_assert_int_eq(op_lseek(&p.c, f, 10 * BLK + 1, SEEK_DATA, &off), -ENXIO);
	ck_assert_int_eq(pool_truncate(&p, f, 1ull << 50), 0);
	ck_assert_int_eq(op_lseek(&p.c, f, 11 * BLK, SEEK_DATA, &off), -ENXIO);
	ck_assert_int_eq(op_lseek(&p.c, f, 11 * BLK, SEEK_HOLE, &off), 0);
	ck_assert_uint_eq(off, 11 * BLK);
	ck_assert_int_eq(op_lseek(&p.c, f, UINT64_MAX, SEEK_HOLE, &off), -ENXIO);
	ck_assert_int_eq(op_lseek(&p.c, f, 0, SEEK_SET, &off), -EINVAL);
	ck_assert_int_eq(op_lseek(&p.c, ROOT, 0, SEEK_HOLE, &off), -EISDIR);
	pool_end(&p);
}
END_TEST

START_TEST(large_truncations)
{
	enum { N = 1000 };
	uint64_t before, i;

	start(64ull << 20);
	pool_file(&p, ROOT, "other");		/* the root keeps its node */
	before = pool_settled_blocks(&p);
	for (i = 0; i < N; i++)			/* far more runs than one record frees */
		pool_write(&p, f, i * 10 * BLK, "x", 1);
	ck_assert_uint_gt(blocks_of(), N);
	ck_assert_int_eq(pool_truncate(&p, f, 5 * BLK), 0);
	ck_assert_uint_le(blocks_of(), 2);		/* data, perhaps a node */
	ck_assert_uint_eq(pool_attr(&p, f).flags & PMEMFS_FL_TRUNC, 0);
	pool_verify(&p);
	for (i = 0; i < N; i++)
		pool_write(&p, f, i * 10 * BLK, "x", 1);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), 0);
	pool_forget(&p, f, 1);
	ck_assert_uint_eq(pool_settled_blocks(&p), before);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/file", partial_blocks_are_zero_around, no_old_bytes_shine_through,
	   bytes_beyond_the_end_are_zeroed_on_growth, append_and_limits,
	   from_a_pipe, pieces, a_large_write_is_one_extent,
	   a_write_in_a_fragmented_pool, privileges_go, times_of_bytes,
	   open_truncates, fallocate_reserves, punching_and_zeroing,
	   seeking, large_truncations)
