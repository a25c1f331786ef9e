/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_flags.c - the flags of chattr(1): set, kept, inherited, obeyed
 *
 * What ext4 refuses is refused here, call by call; what is already open when
 * a flag comes is treated as ext4 treats it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include "copy/copy.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE		(16u << 20)
#define IMMUTABLE	PMEMFS_FL_IMMUTABLE
#define APPEND		PMEMFS_FL_APPEND

static struct pool p;

static int set(uint64_t node, uint32_t fl)
{
	return op_set_flags(&p.c, node, OP_FL_USER, fl, NULL);
}

static void must_set(uint64_t node, uint32_t fl) { ck_assert_int_eq(set(node, fl), 0); }

static int set_project(uint64_t node, uint32_t projid)
{
	return op_set_flags(&p.c, node, 0, 0, &projid);
}

/* Opens and closes. */
static int try_open(uint64_t node, uint32_t flags)
{
	int err = op_open(&p.c, node, flags);

	if (!err)
		op_release(p.fs, node);
	return err;
}

static int setattr(uint64_t node, uint32_t valid)
{
	struct op_setattr in = { .valid = valid, .mode = 0600 };
	struct op_attr a;

	return op_setattr(&p.c, node, &in, &a);
}

static int write_as(uint64_t node, uint64_t pos, uint32_t flags)
{
	struct payload pl = payload_mem("b", 1);
	size_t done;

	return op_write(&p.c, node, pos, &pl, flags, &done);
}

START_TEST(flags_are_kept)
{
	uint64_t f, d;
	int64_t before;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	d = pool_dir(&p, ROOT, "d");
	before = pool_now();
	must_set(f, OP_FL_USER & ~IMMUTABLE);
	ck_assert_int_gt(pool_attr(&p, f).ctime.sec, before);
	must_set(d, OP_FL_USER & ~IMMUTABLE);
	ck_assert_int_eq(op_set_flags(&p.c, d, PMEMFS_FL_DAX, 0, &(uint32_t){ 77 }), 0);
	ck_assert_int_eq(set(f, PMEMFS_FL_TRUNC), -EOPNOTSUPP);
	ck_assert_int_eq(set(f, 0x8000), -EOPNOTSUPP);
	pool_remount(&p);
	/* a file has no project to hand down */
	ck_assert_uint_eq(pool_attr(&p, f).flags,
			  OP_FL_USER & ~(IMMUTABLE | PMEMFS_FL_PROJINHERIT));
	ck_assert_uint_eq(pool_attr(&p, d).flags,
			  OP_FL_USER & ~(IMMUTABLE | PMEMFS_FL_DAX));
	ck_assert_uint_eq(pool_attr(&p, d).projid, 77);
	must_set(f, 0);
	must_set(d, 0);
	pool_end(&p);
}
END_TEST

START_TEST(what_has_no_use_for_a_flag)
{
	struct op_entry e;

	pool_make(&p, SIZE);
	ck_assert_int_eq(op_mknod(&p.c, ROOT, "fifo", 4, S_IFIFO | 0600, 0, &e), 0);
	ck_assert_int_eq(set(e.nodeid, PMEMFS_FL_DAX), -EINVAL);
	must_set(e.nodeid, PMEMFS_FL_NOATIME);
	pool_end(&p);
}
END_TEST

START_TEST(inherited)
{
	const uint32_t all = PMEMFS_FL_DAX | PMEMFS_FL_NOATIME | PMEMFS_FL_NODUMP |
			     PMEMFS_FL_SYNC;
	uint64_t d, f, sub;
	struct op_entry e;

	pool_make(&p, SIZE);
	d = pool_dir(&p, ROOT, "d");
	ck_assert_int_eq(op_set_flags(&p.c, d, OP_FL_USER,
				      all | APPEND | PMEMFS_FL_PROJINHERIT,
				      &(uint32_t){ 5 }), 0);
	f = pool_file(&p, d, "f");
	sub = pool_dir(&p, d, "sub");
	ck_assert_uint_eq(pool_attr(&p, f).flags, all);
	ck_assert_uint_eq(pool_attr(&p, f).projid, 5);
	ck_assert_uint_eq(pool_attr(&p, sub).flags, all | PMEMFS_FL_PROJINHERIT);
	ck_assert_uint_eq(pool_attr(&p, sub).projid, 5);
	ck_assert_int_eq(op_tmpfile(&p.c, sub, 0600, &e), 0);
	ck_assert_uint_eq(e.attr.flags, all);
	ck_assert_int_eq(op_mknod(&p.c, d, "fifo", 4, S_IFIFO | 0600, 0, &e), 0);
	ck_assert_uint_eq(e.attr.flags, PMEMFS_FL_NOATIME | PMEMFS_FL_NODUMP);
	must_set(d, 0);
	ck_assert_uint_eq(pool_attr(&p, pool_file(&p, d, "g")).projid, 0);
	pool_end(&p);
}
END_TEST

START_TEST(immutable_files)
{
	size_t done;
	uint64_t f;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	pool_fill(&p, f, 0, 'a', 100);
	ck_assert_int_eq(op_open(&p.c, f, O_RDWR), 0);
	must_set(f, IMMUTABLE);
	/* also through a descriptor that was there before */
	ck_assert_int_eq(pool_try_write(&p, f, 100, "b", 1, &done), -EPERM);
	ck_assert_int_eq(try_open(f, O_RDONLY), 0);
	ck_assert_int_eq(try_open(f, O_WRONLY | O_APPEND), -EPERM);
	ck_assert_int_eq(try_open(f, O_RDWR), -EPERM);
	ck_assert_int_eq(try_open(f, O_RDONLY | O_TRUNC), -EPERM);
	ck_assert_int_eq(pool_truncate(&p, f, 0), -EPERM);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 1, 0), -EPERM);
	ck_assert_int_eq(setattr(f, OP_SET_MODE), -EPERM);
	ck_assert_int_eq(setattr(f, OP_SET_ATIME_NOW | OP_SET_MTIME_NOW), -EPERM);
	ck_assert_int_eq(op_setxattr(&p.c, f, "user.x", "y", 1, 0), -EPERM);
	ck_assert_int_eq(pool_link(&p, f, ROOT, "g"), -EPERM);
	ck_assert_int_eq(pool_rename(&p, ROOT, "f", ROOT, "g", 0), -EPERM);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), -EPERM);
	/* nothing but to take it away */
	ck_assert_int_eq(set(f, IMMUTABLE | PMEMFS_FL_NODUMP), -EPERM);
	ck_assert_int_eq(set_project(f, 1), -EPERM);
	must_set(f, IMMUTABLE);
	must_set(f, PMEMFS_FL_NODUMP);
	ck_assert_int_eq(pool_try_write(&p, f, 100, "b", 1, &done), 0);
	op_release(p.fs, f);
	pool_end(&p);
}
END_TEST

/* Pages that were dirty before, and the time they were made so, still come. */
START_TEST(immutable_and_the_page_cache)
{
	uint64_t f;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	pool_fill(&p, f, 0, 'a', 10);
	must_set(f, IMMUTABLE);
	ck_assert_int_eq(write_as(f, 3, 0), -EPERM);
	ck_assert_int_eq(write_as(f, 3, OP_WRITE_CACHE), 0);
	pool_expect(&p, f, 0, "aaabaaaaaa", 10);
	ck_assert_int_eq(setattr(f, OP_SET_MTIME | OP_SET_CTIME), -EPERM);
	ck_assert_int_eq(setattr(f, OP_SET_MTIME | OP_SET_CTIME | OP_SET_CACHE), 0);
	ck_assert_int_eq(setattr(f, OP_SET_MTIME | OP_SET_CTIME | OP_SET_CACHE |
				 OP_SET_ATIME_NOW), -EPERM);
	must_set(f, 0);
	pool_end(&p);
}
END_TEST

START_TEST(append_only_files)
{
	size_t done;
	uint64_t f;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	pool_fill(&p, f, 0, 'a', 100);
	must_set(f, APPEND);
	ck_assert_int_eq(try_open(f, O_RDONLY), 0);
	ck_assert_int_eq(try_open(f, O_WRONLY), -EPERM);
	ck_assert_int_eq(try_open(f, O_RDWR), -EPERM);
	ck_assert_int_eq(try_open(f, O_RDONLY | O_TRUNC), -EPERM);
	ck_assert_int_eq(try_open(f, O_WRONLY | O_APPEND | O_TRUNC), -EPERM);
	ck_assert_int_eq(try_open(f, O_WRONLY | O_APPEND), 0);
	ck_assert_int_eq(pool_try_write(&p, f, 100, "b", 1, &done), 0);
	ck_assert_int_eq(pool_truncate(&p, f, 0), -EPERM);
	ck_assert_int_eq(op_fallocate(&p.c, f, 200, 10, 0), 0);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 1, FALLOC_FL_ZERO_RANGE), -EPERM);
	ck_assert_int_eq(setattr(f, OP_SET_MODE), -EPERM);
	ck_assert_int_eq(setattr(f, OP_SET_MTIME), -EPERM);
	ck_assert_int_eq(setattr(f, OP_SET_ATIME_NOW | OP_SET_MTIME_NOW), 0);
	/* touch(1), as the page cache of dax=never passes it on */
	ck_assert_int_eq(setattr(f, OP_SET_ATIME_NOW | OP_SET_MTIME | OP_SET_CTIME |
				 OP_SET_CACHE), 0);
	ck_assert_int_eq(op_setxattr(&p.c, f, "user.x", "y", 1, 0), -EPERM);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), -EPERM);
	ck_assert_int_eq(pool_rename(&p, ROOT, "f", ROOT, "g", 0), -EPERM);
	ck_assert_int_eq(pool_link(&p, f, ROOT, "g"), -EPERM);
	/* and nothing goes on top of it */
	pool_file(&p, ROOT, "h");
	ck_assert_int_eq(pool_rename(&p, ROOT, "h", ROOT, "f", 0), -EPERM);
	must_set(f, APPEND | PMEMFS_FL_NOATIME);
	must_set(f, 0);
	pool_end(&p);
}
END_TEST

START_TEST(directories)
{
	uint64_t d, f;

	pool_make(&p, SIZE);
	d = pool_dir(&p, ROOT, "d");
	f = pool_file(&p, d, "old");
	must_set(d, APPEND);
	pool_file(&p, d, "new");
	ck_assert_int_eq(pool_unlink(&p, d, "old"), -EPERM);
	ck_assert_int_eq(pool_rename(&p, d, "old", ROOT, "old", 0), -EPERM);
	must_set(d, IMMUTABLE);
	ck_assert_int_eq(pool_link(&p, f, d, "link"), -EPERM);
	ck_assert_int_eq(pool_unlink(&p, d, "old"), -EPERM);
	ck_assert_int_eq(pool_rmdir(&p, ROOT, "d"), -EPERM);
	pool_write(&p, f, 0, "x", 1);		/* what is in it is not */
	must_set(d, 0);
	pool_end(&p);
}
END_TEST

START_TEST(projects_keep_to_themselves)
{
	uint64_t d, f;

	pool_make(&p, SIZE);
	d = pool_dir(&p, ROOT, "d");
	ck_assert_int_eq(op_set_flags(&p.c, d, PMEMFS_FL_PROJINHERIT,
				      PMEMFS_FL_PROJINHERIT, &(uint32_t){ 9 }), 0);
	f = pool_file(&p, ROOT, "f");
	pool_file(&p, d, "in");
	ck_assert_int_eq(pool_link(&p, f, d, "l"), -EXDEV);
	ck_assert_int_eq(pool_rename(&p, ROOT, "f", d, "f", 0), -EXDEV);
	ck_assert_int_eq(pool_rename(&p, d, "in", ROOT, "f", RENAME_EXCHANGE), -EXDEV);
	ck_assert_int_eq(pool_rename(&p, d, "in", d, "in2", 0), 0);
	ck_assert_int_eq(set_project(f, 9), 0);
	ck_assert_int_eq(pool_link(&p, f, d, "l"), 0);
	ck_assert_int_eq(pool_rename(&p, d, "in2", ROOT, "out", 0), 0);
	pool_end(&p);
}
END_TEST

START_TEST(noatime_is_obeyed)
{
	struct op_attr before;
	uint64_t f;
	size_t got;
	char c;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	pool_write(&p, f, 0, "x", 1);
	must_set(f, PMEMFS_FL_NOATIME);
	before = pool_attr(&p, f);
	ck_assert_int_eq(op_pread(&p.c, f, &c, 1, 0, &got), 0);
	ck_assert_int_eq(pool_attr(&p, f).atime.sec, before.atime.sec);
	must_set(f, 0);
	ck_assert_int_eq(op_pread(&p.c, f, &c, 1, 0, &got), 0);
	ck_assert_int_gt(pool_attr(&p, f).atime.sec, before.atime.sec);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/flags", flags_are_kept, what_has_no_use_for_a_flag, inherited,
	   immutable_files, immutable_and_the_page_cache, append_only_files,
	   directories, projects_keep_to_themselves, noatime_is_obeyed)
