/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_budget.c - how many fences an operation costs
 *
 * The promise of the log (pmemfs.7): one for every metadata operation, two
 * where data must be durable before the record that shows them. Each claim
 * starts behind a checkpoint and stays far from the next one, so that what is
 * counted is the operation and nothing else.
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>

#include "copy/copy.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)
#define BLK	4096u

static struct pool p;
static uint64_t f, d;

static void start(void)
{
	pool_make(&p, SIZE);
	d = pool_dir(&p, ROOT, "d");
	f = pool_file(&p, ROOT, "f");
	pool_fill(&p, f, 0, 'f', 4 * BLK);
	ck_assert_int_eq(fs_checkpoint(p.fs), 0);
	pool_fences(&p);
}

START_TEST(names)
{
	struct op_entry e;
	char target[200];

	start();
	memset(target, 't', sizeof(target));
	COSTS(&p, 1, op_mknod(&p.c, ROOT, "a", 1, S_IFREG | 0644, 0, &e));
	COSTS(&p, 1, op_mkdir(&p.c, ROOT, "b", 1, 0755, &e));
	COSTS(&p, 1, op_mknod(&p.c, ROOT, "c", 1, S_IFIFO | 0644, 0, &e));
	COSTS(&p, 1, op_symlink(&p.c, ROOT, "s", 1, target, 64, &e));
	COSTS(&p, 2, op_symlink(&p.c, ROOT, "t", 1, target, 65, &e));
	COSTS(&p, 1, op_link(&p.c, f, d, "g", 1, &e));
	COSTS(&p, 1, pool_rename(&p, ROOT, "a", ROOT, "aa", 0));
	COSTS(&p, 1, pool_rename(&p, ROOT, "b", d, "b", 0));
	COSTS(&p, 1, pool_rename(&p, ROOT, "c", ROOT, "s", RENAME_EXCHANGE));
	COSTS(&p, 1, pool_rename(&p, ROOT, "aa", ROOT, "s", 0));
	COSTS(&p, 1, pool_rename(&p, ROOT, "s", d, "s", RENAME_WHITEOUT));
	COSTS(&p, 1, pool_unlink(&p, d, "g"));
	COSTS(&p, 1, pool_unlink(&p, ROOT, "f"));		/* the last name */
	COSTS(&p, 1, pool_rmdir(&p, d, "b"));
	COSTS(&p, 1, op_tmpfile(&p.c, ROOT, 0600, &e));
	COSTS(&p, 1, op_link(&p.c, e.nodeid, ROOT, "l", 1, &e));
	COSTS(&p, 0, pool_look(&p, ROOT, "l"));
	pool_end(&p);
}
END_TEST

START_TEST(attributes)
{
	struct op_setattr in = {
		.valid = OP_SET_MODE | OP_SET_UID | OP_SET_GID | OP_SET_ATIME_NOW |
			 OP_SET_MTIME_NOW,
		.mode = 04711, .uid = 1, .gid = 2,
	};
	struct op_attr a;
	char value[600];
	size_t n;

	start();
	memset(value, 'v', sizeof(value));
	COSTS(&p, 1, op_setattr(&p.c, f, &in, &a));
	COSTS(&p, 0, op_getattr(&p.c, f, &a));
	COSTS(&p, 1, op_set_flags(&p.c, f, OP_FL_USER, PMEMFS_FL_DAX, &(uint32_t){ 5 }));
	COSTS(&p, 1, op_setxattr(&p.c, f, "user.a", value, 512, 0));
	COSTS(&p, 2, op_setxattr(&p.c, f, "user.b", value, 513, 0));
	COSTS(&p, 0, op_getxattr(&p.c, f, "user.b", value, sizeof(value), &n));
	COSTS(&p, 1, op_removexattr(&p.c, f, "user.b"));
	COSTS(&p, 1, op_removexattr(&p.c, f, "user.a"));
	COSTS(&p, 1, pool_truncate(&p, f, 3 * BLK));
	COSTS(&p, 1, pool_truncate(&p, f, 2 * BLK + 5));
	COSTS(&p, 2, pool_truncate(&p, f, 5 * BLK));		/* uncovers a tail */
	COSTS(&p, 1, pool_truncate(&p, f, 6 * BLK));		/* does not */
	COSTS(&p, 1, op_open(&p.c, f, O_TRUNC));
	op_release(p.fs, f);
	pool_end(&p);
}
END_TEST

static int write_at(uint64_t pos, size_t len)
{
	static uint8_t buf[8 * BLK];
	size_t done;

	return pool_try_write(&p, f, pos, buf, len, &done);
}

START_TEST(bytes)
{
	char c;
	size_t n;

	start();
	COSTS(&p, 1, write_at(0, BLK));			/* in place */
	COSTS(&p, 1, write_at(100, 5000));			/* unaligned, in place */
	COSTS(&p, 2, write_at(4 * BLK, BLK));		/* append */
	COSTS(&p, 2, write_at(5 * BLK, 100));
	COSTS(&p, 2, write_at(5 * BLK + 100, 100));		/* append within a block */
	COSTS(&p, 2, write_at(8 * BLK, BLK));		/* behind a hole */
	COSTS(&p, 2, write_at(6 * BLK, 10));		/* into it */
	COSTS(&p, 2, write_at(2 * BLK, 6 * BLK));		/* old and new together */
	COSTS(&p, 1, op_fallocate(&p.c, f, 10 * BLK, 2 * BLK, 0));
	COSTS(&p, 2, write_at(10 * BLK, 10));		/* into unwritten blocks */
	COSTS(&p, 1, write_at(10 * BLK, 10));
	COSTS(&p, 1, op_fallocate(&p.c, f, 100, 3 * BLK,
				  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE));
	COSTS(&p, 1, op_fallocate(&p.c, f, 4 * BLK, 50, FALLOC_FL_ZERO_RANGE));
	COSTS(&p, 0, op_pread(&p.c, f, &c, 1, 0, &n));
	pool_end(&p);
}
END_TEST

/* Never in place inside the file, so never with one. */
START_TEST(atomic_bytes)
{
	start();
	pool_set_data(&p, FS_DATA_ATOMIC);
	COSTS(&p, 2, write_at(0, BLK));			/* overwrite */
	COSTS(&p, 2, write_at(100, 5000));			/* unaligned */
	COSTS(&p, 2, write_at(0, 4 * BLK));
	COSTS(&p, 2, write_at(4 * BLK, 100));		/* append */
	COSTS(&p, 2, write_at(4 * BLK + 100, 100));		/* within a block */
	COSTS(&p, 2, write_at(8 * BLK, BLK));		/* behind a hole */
	COSTS(&p, 2, write_at(2 * BLK, 6 * BLK));		/* all of it together */
	COSTS(&p, 1, op_fallocate(&p.c, f, 10 * BLK, 2 * BLK, 0));
	COSTS(&p, 2, write_at(10 * BLK, 10));		/* into unwritten blocks */
	COSTS(&p, 2, write_at(10 * BLK, 10));
	pool_end(&p);
}
END_TEST

START_TEST(privileges_cost_one_more)
{
	struct op_setattr in = { .valid = OP_SET_MODE, .mode = 04755 };
	struct payload pl = payload_mem("x", 1);
	struct op_attr a;
	size_t done;

	start();
	ck_assert_int_eq(op_setattr(&p.c, f, &in, &a), 0);
	COSTS(&p, 2, op_write(&p.c, f, 0, &pl, OP_WRITE_KILL_PRIV, &done));
	pl = payload_mem("x", 1);
	COSTS(&p, 1, op_write(&p.c, f, 0, &pl, OP_WRITE_KILL_PRIV, &done));
	pool_end(&p);
}
END_TEST

/* A thousand creates stay near the budget, checkpoints and growth included. */
START_TEST(in_the_long_run)
{
	char name[16];
	unsigned i;

	start();
	pool_fences(&p);
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		pool_file(&p, ROOT, name);
	}
	ck_assert_uint_lt(pool_fences(&p), 1100);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("budget", names, attributes, bytes, atomic_bytes, privileges_cost_one_more,
	   in_the_long_run)
