/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_full.c - a full pool: says so, keeps what it has, can always be emptied
 */
#include <errno.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>

#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)
#define BLK	4096u

static struct pool p;
static uint8_t buf[1 << 20];

static const char *name_of(unsigned i)
{
	static char name[32];

	snprintf(name, sizeof(name), "file number %u", i);
	return name;
}

/* Appends until there is no more; the bytes written. */
static uint64_t fill(uint64_t node, size_t step)
{
	uint64_t size = pool_attr(&p, node).size, start = size;
	size_t done;
	int err;

	for (;;) {
		err = pool_try_write(&p, node, size, buf, step, &done);
		ck_assert(err == 0 || err == -ENOSPC);
		ck_assert(err == 0 || done == 0);
		size += done;
		ck_assert_uint_eq(pool_attr(&p, node).size, size);
		if (err || done < step)
			break;
	}
	return size - start;
}

START_TEST(short_writes_tell_the_truth)
{
	uint64_t f, size;
	size_t done;

	pool_make(&p, SIZE);
	memset(buf, 'f', sizeof(buf));
	f = pool_file(&p, ROOT, "f");
	size = fill(f, sizeof(buf));
	ck_assert_uint_gt(size, 12ull << 20);
	ck_assert_int_eq(pool_try_write(&p, f, size, buf, BLK, &done), -ENOSPC);
	ck_assert_uint_eq(done, 0);
	pool_write(&p, f, 0, buf, sizeof(buf));		/* in place: needs no space */
	pool_crash(&p);
	f = pool_find(&p, ROOT, "f");
	ck_assert_uint_eq(pool_attr(&p, f).size, size);
	pool_expect_fill(&p, f, 0, 'f', size);
	pool_end(&p);
}
END_TEST

/* Many small files, each with blocks all over, until nothing fits. */
static unsigned crowd(void)
{
	struct op_entry e;
	unsigned n = 0;
	size_t done;
	int err;

	for (;; n++) {
		err = op_mknod(&p.c, ROOT, name_of(n), strlen(name_of(n)), S_IFREG | 0644, 0, &e);
		if (err)
			break;
		pool_try_write(&p, e.nodeid, 0, buf, 3 * BLK, &done);
		pool_try_write(&p, e.nodeid, 100 * BLK, buf, BLK, &done);
		pool_forget(&p, e.nodeid, 1);
	}
	ck_assert_int_eq(err, -ENOSPC);
	return n;
}

static void empty_one(unsigned i, unsigned n)
{
	uint64_t f;
	char next[32];

	f = pool_find(&p, ROOT, name_of(i));
	switch (i % 5) {
	case 0:
		ck_assert_int_eq(pool_unlink(&p, ROOT, name_of(i)), 0);
		break;
	case 1:
		ck_assert_int_eq(pool_truncate(&p, f, 1), 0);
		break;
	case 2:
		ck_assert_int_eq(op_fallocate(&p.c, f, BLK, BLK,
				FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE), 0);
		break;
	case 3:
		if (i + 1 == n)
			break;
		snprintf(next, sizeof(next), "%s", name_of(i + 1));
		ck_assert_int_eq(pool_rename(&p, ROOT, name_of(i), ROOT, next, 0), 0);
		break;
	default:		/* it was replaced by its neighbour */
		break;
	}
	pool_forget(&p, f, 1);
}

START_TEST(a_full_pool_can_be_emptied)
{
	unsigned i, n;
	uint64_t empty;

	pool_make(&p, SIZE);
	empty = pool_settled_blocks(&p);
	n = crowd();
	ck_assert_uint_gt(n, 500);
	pool_verify(&p);
	for (i = 0; i < n; i++)
		empty_one(i, n);
	pool_verify(&p);
	for (i = 0; i < n; i++)
		pool_unlink(&p, ROOT, name_of(i));
	ck_assert_uint_eq(pool_names(&p, ROOT), 0);
	/* the inode table keeps what it grew to */
	ck_assert_uint_ge(pool_settled_blocks(&p) + 16 * (n / 255 + 1), empty);
	ck_assert_uint_gt(fill(pool_file(&p, ROOT, "again"), sizeof(buf)), 12ull << 20);
	pool_end(&p);
}
END_TEST

/* Punching and cutting a file to pieces needs nodes while nothing is free. */
START_TEST(holes_in_a_full_pool)
{
	uint64_t f, size, i;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	size = fill(f, sizeof(buf));
	fill(pool_file(&p, ROOT, "g"), BLK);
	for (i = 1; i < size / BLK; i += 2) {
		ck_assert_int_eq(op_fallocate(&p.c, f, i * BLK, BLK, FALLOC_FL_PUNCH_HOLE |
					      FALLOC_FL_KEEP_SIZE), 0);
		if (i % 501 == 0)
			fill(pool_find(&p, ROOT, "g"), BLK);
	}
	pool_verify(&p);
	ck_assert_int_eq(pool_truncate(&p, f, size / 2), 0);
	ck_assert_int_eq(pool_truncate(&p, f, 0), 0);
	pool_end(&p);
}
END_TEST

START_TEST(names_without_room)
{
	struct op_entry e;
	char name[256];
	unsigned i;
	int err = 0;

	pool_make(&p, SIZE);
	pool_file(&p, ROOT, "victim");
	fill(pool_file(&p, ROOT, "f"), sizeof(buf));
	fill(pool_find(&p, ROOT, "f"), BLK);
	memset(name, 'x', sizeof(name));
	for (i = 0; !err; i++) {
		snprintf(name, sizeof(name), "%0250u", i);
		err = op_mknod(&p.c, ROOT, name, 250, S_IFREG | 0644, 0, &e);
	}
	ck_assert_int_eq(err, -ENOSPC);
	ck_assert_int_eq(op_mkdir(&p.c, ROOT, name, 250, 0755, &e), -ENOSPC);
	/* moving names about and taking them away still works */
	snprintf(name, sizeof(name), "%0250u", 0);
	ck_assert_int_eq(pool_rename(&p, ROOT, "victim", ROOT, name, RENAME_EXCHANGE), 0);
	ck_assert_int_eq(pool_rename(&p, ROOT, name, ROOT, "victim", 0), 0);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "victim"), 0);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), 0);
	pool_end(&p);
}
END_TEST

START_TEST(statfs_adds_up)
{
	struct op_statfs a, b;
	uint64_t f;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	ck_assert_int_eq(fs_checkpoint(p.fs), 0);
	ck_assert_int_eq(op_statfs(&p.c, &a), 0);
	ck_assert_uint_eq(a.bsize, 4096);
	ck_assert_uint_eq(a.namelen, 255);
	ck_assert_uint_lt(a.bavail, a.bfree);
	ck_assert_uint_lt(a.bfree, a.blocks);
	ck_assert_uint_eq(a.files - a.ffree, 2);
	pool_fill(&p, f, 0, 'x', 100 * BLK);
	ck_assert_int_eq(op_statfs(&p.c, &b), 0);
	ck_assert_uint_eq(a.bfree - b.bfree, 100);
	ck_assert_uint_eq(a.bavail - b.bavail, 100);
	fill(f, sizeof(buf));
	fill(f, BLK);
	ck_assert_int_eq(op_statfs(&p.c, &b), 0);
	ck_assert_uint_le(b.bavail, 1);
	ck_assert_int_eq(pool_truncate(&p, f, 0), 0);
	ck_assert_int_eq(fs_checkpoint(p.fs), 0);
	ck_assert_int_eq(op_statfs(&p.c, &b), 0);
	ck_assert_uint_eq(a.bfree, b.bfree);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/full", short_writes_tell_the_truth, a_full_pool_can_be_emptied,
	   holes_in_a_full_pool, names_without_room, statfs_adds_up)
