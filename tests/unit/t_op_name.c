/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_name.c - names: making, finding, linking, removing, forgetting
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "meta/inode.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)

static struct pool p;

static void make(struct op_entry *e, uint64_t dir, const char *name, uint32_t mode,
		 uint32_t rdev)
{
	ck_assert_int_eq(op_mknod(&p.c, dir, name, strlen(name), mode, rdev, e), 0);
}

static void expect_target(uint64_t node, const char *target)
{
	char buf[4096];
	size_t len;

	ck_assert_int_eq(op_readlink(&p.c, node, buf, &len), 0);
	ck_assert_uint_eq(len, strlen(target));
	ck_assert(!memcmp(buf, target, len));
}

START_TEST(made_nodes_are_found_again)
{
	struct op_entry e, f;
	struct op_attr a;

	pool_make(&p, SIZE);
	make(&e, ROOT, "file", S_IFREG | 0640, 0);
	ck_assert_uint_eq(e.attr.mode, S_IFREG | 0640);
	ck_assert_uint_eq(e.attr.nlink, 1);
	ck_assert_uint_eq(e.attr.size, 0);
	ck_assert_uint_eq(e.attr.blocks512, 0);
	make(&f, ROOT, "dev", S_IFBLK | 0600, 0x12345);
	ck_assert_uint_eq(f.attr.rdev, 0x12345);
	make(&f, ROOT, "fifo", S_IFIFO | 0600, 7);
	ck_assert_uint_eq(f.attr.rdev, 0);
	make(&f, ROOT, "sock", S_IFSOCK | 0600, 0);
	pool_remount(&p);
	ck_assert_uint_eq(pool_find(&p, ROOT, "file"), e.nodeid);
	a = pool_attr(&p, e.nodeid);
	ck_assert_uint_eq(a.mode, S_IFREG | 0640);
	a = pool_attr(&p, pool_find(&p, ROOT, "dev"));
	ck_assert_uint_eq(a.rdev, 0x12345);
	ck_assert_int_eq(pool_look(&p, ROOT, "fil"), -ENOENT);
	ck_assert_int_eq(pool_look(&p, e.nodeid, "x"), -ENOTDIR);
	pool_end(&p);
}
END_TEST

START_TEST(names_have_rules)
{
	char name[300];
	struct op_entry e;

	pool_make(&p, SIZE);
	memset(name, 'n', sizeof(name));
	ck_assert_int_eq(op_mknod(&p.c, ROOT, name, 255, S_IFREG | 0644, 0, &e), 0);
	ck_assert_int_eq(op_mknod(&p.c, ROOT, name, 256, S_IFREG | 0644, 0, &e), -ENAMETOOLONG);
	ck_assert_int_eq(op_lookup(&p.c, ROOT, name, 256, &e), -ENAMETOOLONG);
	ck_assert_int_eq(op_mknod(&p.c, ROOT, name, 255, S_IFREG | 0644, 0, &e), -EEXIST);
	ck_assert_int_eq(op_mkdir(&p.c, ROOT, name, 255, 0755, &e), -EEXIST);
	ck_assert_int_eq(op_mknod(&p.c, ROOT, "a/b", 3, S_IFREG, 0, &e), -EINVAL);
	ck_assert_int_eq(op_mknod(&p.c, ROOT, "", 0, S_IFREG, 0, &e), -EINVAL);
	ck_assert_int_eq(op_mknod(&p.c, ROOT, "d", 1, S_IFDIR, 0, &e), -EINVAL);
	pool_file(&p, ROOT, "\xff\x01 odd\n\"name");
	pool_remount(&p);
	ck_assert_int_eq(pool_look(&p, ROOT, "\xff\x01 odd\n\"name"), 0);
	ck_assert_int_eq(op_lookup(&p.c, ROOT, name, 255, &e), 0);
	pool_end(&p);
}
END_TEST

START_TEST(directories_count_their_children)
{
	uint64_t a, b;
	struct op_entry e;

	pool_make(&p, SIZE);
	a = pool_dir(&p, ROOT, "a");
	ck_assert_uint_eq(pool_attr(&p, ROOT).nlink, 3);
	b = pool_dir(&p, a, "b");
	pool_file(&p, a, "f");
	ck_assert_uint_eq(pool_attr(&p, a).nlink, 3);
	ck_assert_uint_eq(pool_attr(&p, a).size, 2 * (8 + 1));
	ck_assert_int_eq(op_lookup(&p.c, b, "..", 2, &e), 0);
	ck_assert_uint_eq(e.nodeid, a);
	ck_assert_int_eq(op_lookup(&p.c, b, ".", 1, &e), 0);
	ck_assert_uint_eq(e.nodeid, b);
	ck_assert_int_eq(op_lookup(&p.c, ROOT, "..", 2, &e), 0);
	ck_assert_uint_eq(e.nodeid, ROOT);
	ck_assert_int_eq(pool_rmdir(&p, ROOT, "a"), -ENOTEMPTY);
	ck_assert_int_eq(pool_rmdir(&p, a, "f"), -ENOTDIR);
	ck_assert_int_eq(pool_unlink(&p, a, "b"), -EISDIR);
	ck_assert_int_eq(pool_rmdir(&p, a, "none"), -ENOENT);
	ck_assert_int_eq(pool_rmdir(&p, a, "b"), 0);
	ck_assert_uint_eq(pool_attr(&p, a).nlink, 2);
	ck_assert_int_eq(pool_unlink(&p, a, "f"), 0);
	ck_assert_int_eq(pool_rmdir(&p, ROOT, "a"), 0);
	ck_assert_uint_eq(pool_attr(&p, a).nlink, 0);
	ck_assert_int_eq(op_mknod(&p.c, a, "x", 1, S_IFREG, 0, &e), -ENOENT);
	ck_assert_int_eq(op_lookup(&p.c, a, "..", 2, &e), -ENOENT);
	ck_assert_uint_eq(pool_names(&p, a), 0);
	ck_assert_uint_eq(pool_attr(&p, ROOT).nlink, 2);
	pool_end(&p);
}
END_TEST

START_TEST(links)
{
	uint64_t d, f;

	pool_make(&p, SIZE);
	d = pool_dir(&p, ROOT, "d");
	f = pool_file(&p, ROOT, "f");
	ck_assert_int_eq(pool_link(&p, f, d, "g"), 0);
	ck_assert_int_eq(pool_link(&p, f, d, "g"), -EEXIST);
	ck_assert_int_eq(pool_link(&p, d, ROOT, "e"), -EPERM);
	ck_assert_int_eq(pool_link(&p, f, f, "e"), -ENOTDIR);
	ck_assert_uint_eq(pool_attr(&p, f).nlink, 2);
	ck_assert_uint_eq(pool_find(&p, d, "g"), f);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), 0);
	ck_assert_uint_eq(pool_attr(&p, f).nlink, 1);
	ck_assert_int_eq(pool_unlink(&p, d, "g"), 0);
	ck_assert_uint_eq(pool_attr(&p, f).nlink, 0);
	/* gone is gone, although still open */
	ck_assert_int_eq(pool_link(&p, f, d, "g"), -ENOENT);
	pool_end(&p);
}
END_TEST

START_TEST(symbolic_links_of_all_lengths)
{
	static const size_t lens[] = { 1, 63, 64, 65, 255, 4094, 4095 };
	char target[4097], name[8];
	struct op_entry e;
	unsigned i;

	pool_make(&p, SIZE);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		memset(target, 'a' + (int)i, sizeof(target));
		target[lens[i]] = 0;
		snprintf(name, sizeof(name), "l%u", i);
		ck_assert_int_eq(op_symlink(&p.c, ROOT, name, 2, target, lens[i], &e), 0);
		ck_assert_uint_eq(e.attr.mode, S_IFLNK | 0777);
		ck_assert_uint_eq(e.attr.size, lens[i]);
		ck_assert_uint_eq(e.attr.blocks512, lens[i] > 64 ? 8 : 0);
		expect_target(e.nodeid, target);
	}
	memset(target, 'x', sizeof(target));
	ck_assert_int_eq(op_symlink(&p.c, ROOT, "lx", 2, target, 4096, &e), -ENAMETOOLONG);
	ck_assert_int_eq(op_symlink(&p.c, ROOT, "lx", 2, target, 0, &e), -ENOENT);
	pool_crash(&p);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		memset(target, 'a' + (int)i, sizeof(target));
		target[lens[i]] = 0;
		snprintf(name, sizeof(name), "l%u", i);
		expect_target(pool_find(&p, ROOT, name), target);
		ck_assert_int_eq(pool_unlink(&p, ROOT, name), 0);
	}
	pool_end(&p);
}
END_TEST

START_TEST(setgid_directories_pass_their_group_on)
{
	struct op_setattr in = { .valid = OP_SET_MODE | OP_SET_GID, .mode = 02775, .gid = 50 };
	struct op_attr a;
	struct op_entry e;
	uint64_t d;

	pool_make(&p, SIZE);
	d = pool_dir(&p, ROOT, "d");
	ck_assert_int_eq(op_setattr(&p.c, d, &in, &a), 0);
	ck_assert_uint_eq(a.mode, S_IFDIR | 02775);
	p.c.uid = 1000;
	p.c.gid = 1000;
	make(&e, d, "f", S_IFREG | 0644, 0);
	ck_assert_uint_eq(e.attr.gid, 50);
	ck_assert_uint_eq(e.attr.uid, 1000);
	ck_assert_uint_eq(e.attr.mode, S_IFREG | 0644);
	make(&e, d, "x", S_IFREG | 02755, 0);		/* not a member of 50 */
	ck_assert_uint_eq(e.attr.mode, S_IFREG | 0755);
	ck_assert_int_eq(op_mkdir(&p.c, d, "e", 1, 0700, &e), 0);
	ck_assert_uint_eq(e.attr.gid, 50);
	ck_assert_uint_eq(e.attr.mode, S_IFDIR | 02700);
	p.c.gid = 50;
	make(&e, d, "y", S_IFREG | 02755, 0);
	ck_assert_uint_eq(e.attr.mode, S_IFREG | 02755);
	p.c.gid = 1000;
	make(&e, ROOT, "z", S_IFREG | 02755, 0);
	ck_assert_uint_eq(e.attr.gid, 1000);
	ck_assert_uint_eq(e.attr.mode, S_IFREG | 02755);
	pool_end(&p);
}
END_TEST

static void expect_times(uint64_t node, int64_t since, bool mtime, bool ctime)
{
	struct op_attr a = pool_attr(&p, node);

	ck_assert_int_eq(a.mtime.sec > since, mtime);
	ck_assert_int_eq(a.ctime.sec > since, ctime);
}

START_TEST(times_of_names)
{
	uint64_t d, f;
	int64_t t;

	pool_make(&p, SIZE);
	d = pool_dir(&p, ROOT, "d");
	t = pool_now();
	f = pool_file(&p, d, "f");
	expect_times(d, t, true, true);
	t = pool_now();
	ck_assert_int_eq(pool_link(&p, f, d, "g"), 0);
	expect_times(d, t, true, true);
	expect_times(f, t, false, true);
	t = pool_now();
	ck_assert_int_eq(pool_unlink(&p, d, "g"), 0);
	expect_times(d, t, true, true);
	expect_times(f, t, false, true);
	t = pool_now();
	ck_assert_int_eq(pool_rename(&p, d, "f", ROOT, "f", 0), 0);
	expect_times(d, t, true, true);
	expect_times(ROOT, t, true, true);
	expect_times(f, t, false, true);
	pool_end(&p);
}
END_TEST

START_TEST(unlinked_files_live_until_forgotten)
{
	uint64_t f, before, other;
	struct op_attr a;

	pool_make(&p, SIZE);
	pool_unlink(&p, ROOT, "none");
	other = pool_file(&p, ROOT, "other");
	before = pool_settled_blocks(&p);
	f = pool_file(&p, ROOT, "f");
	ck_assert_int_eq(op_open(&p.c, f, O_RDWR), 0);
	pool_fill(&p, f, 0, 'x', 300000);
	ck_assert_uint_eq(pool_settled_blocks(&p), before - 74);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), 0);
	pool_expect_fill(&p, f, 0, 'x', 300000);
	pool_fill(&p, f, 300000, 'y', 5000);
	pool_forget(&p, f, 1);
	pool_expect_fill(&p, f, 300000, 'y', 5000);	/* it is still open */
	op_release(p.fs, f);
	ck_assert_int_eq(op_getattr(&p.c, f, &a), -ESTALE);
	ck_assert_uint_eq(pool_settled_blocks(&p), before);
	/* its slot comes back with another generation, hence another node id */
	ck_assert_uint_ne(pool_file(&p, ROOT, "g"), f);
	pool_forget(&p, other, 1);
	pool_end(&p);
}
END_TEST

START_TEST(forget_counts)
{
	uint64_t f;
	struct op_attr a;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	pool_find(&p, ROOT, "f");
	pool_find(&p, ROOT, "f");
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), 0);
	pool_forget(&p, f, 2);
	ck_assert_uint_eq(pool_attr(&p, f).nlink, 0);
	pool_forget(&p, f, 1);
	ck_assert_int_eq(op_getattr(&p.c, f, &a), -ESTALE);
	pool_forget(&p, f, 1);				/* harmless */
	pool_end(&p);
}
END_TEST

START_TEST(a_dead_daemons_orphans_are_drained)
{
	uint64_t f, d, before;
	struct op_entry e;

	pool_make(&p, SIZE);
	pool_file(&p, ROOT, "first");		/* the root gets its node */
	before = pool_settled_blocks(&p);
	f = pool_file(&p, ROOT, "f");
	d = pool_dir(&p, ROOT, "d");
	pool_fill(&p, f, 0, 'x', 1 << 20);
	ck_assert_int_eq(op_tmpfile(&p.c, d, 0600, &e), 0);
	pool_fill(&p, e.nodeid, 0, 't', 100000);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), 0);
	ck_assert_int_eq(pool_rmdir(&p, ROOT, "d"), 0);
	pool_crash(&p);
	pool_verify(&p);
	ck_assert_uint_lt(pool_settled_blocks(&p), before);
	ck_assert_int_eq(fs_drain(p.fs), 0);
	ck_assert_uint_eq(pool_settled_blocks(&p), before);
	pool_end(&p);
}
END_TEST

START_TEST(tmpfiles)
{
	struct op_entry e, l;
	struct op_attr a;
	uint64_t before;

	pool_make(&p, SIZE);
	pool_file(&p, ROOT, "first");
	before = pool_settled_blocks(&p);
	ck_assert_int_eq(op_tmpfile(&p.c, ROOT, 0600, &e), 0);
	ck_assert_uint_eq(e.attr.nlink, 0);
	ck_assert_uint_eq(e.attr.mode, S_IFREG | 0600);
	pool_fill(&p, e.nodeid, 0, 't', 5000);
	ck_assert_int_eq(op_link(&p.c, e.nodeid, ROOT, "named", 5, &l), 0);
	ck_assert_uint_eq(l.nodeid, e.nodeid);
	ck_assert_uint_eq(l.attr.nlink, 1);
	ck_assert_uint_eq(pool_names(&p, ROOT), 2);
	pool_crash(&p);
	pool_verify(&p);
	ck_assert_int_eq(fs_drain(p.fs), 0);
	pool_expect_fill(&p, pool_find(&p, ROOT, "named"), 0, 't', 5000);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "named"), 0);
	ck_assert_int_eq(pool_link(&p, e.nodeid, ROOT, "again"), -ENOENT);
	pool_forget(&p, e.nodeid, 1);
	ck_assert_uint_eq(pool_settled_blocks(&p), before);
	/* one that never gets a name goes with its last user */
	ck_assert_int_eq(op_tmpfile(&p.c, ROOT, 0600, &e), 0);
	ck_assert_int_eq(op_open(&p.c, e.nodeid, O_RDWR), 0);
	pool_fill(&p, e.nodeid, 0, 't', 5000);
	pool_forget(&p, e.nodeid, 1);
	pool_expect_fill(&p, e.nodeid, 0, 't', 5000);
	op_release(p.fs, e.nodeid);
	ck_assert_int_eq(op_getattr(&p.c, e.nodeid, &a), -ESTALE);
	ck_assert_uint_eq(pool_settled_blocks(&p), before);
	pool_end(&p);
}
END_TEST

START_TEST(many_names_and_slots)
{
	enum { N = 3000 };
	char name[32];
	unsigned i;
	uint64_t before, f;

	pool_make(&p, SIZE);
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "a rather ordinary name %u", i);
		f = pool_file(&p, ROOT, name);
		pool_forget(&p, f, 1);
	}
	ck_assert_uint_eq(pool_names(&p, ROOT), N);
	pool_crash(&p);
	pool_verify(&p);
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "a rather ordinary name %u", i);
		ck_assert_int_eq(pool_look(&p, ROOT, name), 0);
		ck_assert_int_eq(pool_unlink(&p, ROOT, name), 0);
	}
	ck_assert_uint_eq(pool_names(&p, ROOT), 0);
	ck_assert_uint_eq(pool_attr(&p, ROOT).size, 0);
	ck_assert_uint_eq(pool_attr(&p, ROOT).blocks512, 0);
	pool_verify(&p);
	/* the table does not shrink, and does not grow for the same again */
	before = pool_settled_blocks(&p);
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "a rather ordinary name %u", i);
		f = pool_file(&p, ROOT, name);
		pool_forget(&p, f, 1);
	}
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "a rather ordinary name %u", i);
		ck_assert_int_eq(pool_unlink(&p, ROOT, name), 0);
	}
	ck_assert_uint_eq(pool_settled_blocks(&p), before);
	pool_end(&p);
}
END_TEST

/* L16: a slot is used again with another generation, also after a crash. */
START_TEST(a_node_id_never_comes_back)
{
	const uint64_t ino = (1ull << PMEMFS_INO_BITS) - 1;
	uint64_t first, f = 0, last;
	struct op_attr a;
	unsigned i, round;

	pool_make(&p, SIZE);
	first = last = pool_file(&p, ROOT, "f");
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 20000; i++) {
			ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), 0);
			pool_forget(&p, i ? f : last, 1);
			f = pool_file(&p, ROOT, "f");
			if ((f & ino) == (first & ino))
				break;
		}
		ck_assert_uint_lt(i, 20000);
		ck_assert_uint_gt(f >> PMEMFS_INO_BITS, last >> PMEMFS_INO_BITS);
		ck_assert_int_eq(op_getattr(&p.c, last, &a), -ESTALE);
		last = f;
		pool_forget(&p, f, 1);
		pool_crash(&p);
		ck_assert_uint_eq(pool_find(&p, ROOT, "f"), last);
	}
	pool_end(&p);
}
END_TEST

START_TEST(read_only_mounts_refuse)
{
	struct op_entry e;
	struct op_attr a;
	uint64_t f;
	struct op_setattr in = { .valid = OP_SET_MODE, .mode = 0600 };

	pool_make(&p, SIZE);
	pool_file(&p, ROOT, "f");
	pool_unmount(&p);
	p.opt.ro = true;
	pool_mount(&p);
	f = pool_find(&p, ROOT, "f");
	ck_assert_int_eq(op_mknod(&p.c, ROOT, "g", 1, S_IFREG, 0, &e), -EROFS);
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), -EROFS);
	ck_assert_int_eq(pool_rename(&p, ROOT, "f", ROOT, "g", 0), -EROFS);
	ck_assert_int_eq(pool_link(&p, f, ROOT, "g"), -EROFS);
	ck_assert_int_eq(op_setattr(&p.c, f, &in, &a), -EROFS);
	ck_assert_int_eq(op_setxattr(&p.c, f, "user.x", "y", 1, 0), -EROFS);
	ck_assert_int_eq(op_fallocate(&p.c, f, 0, 1, 0), -EROFS);
	ck_assert_int_eq(op_fsync(&p.c, f), 0);
	ck_assert_int_eq(op_syncfs(p.fs), 0);
	pool_unmount(&p);
	p.opt.ro = false;
	pool_mount(&p);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/name", made_nodes_are_found_again, names_have_rules,
	   directories_count_their_children, links, symbolic_links_of_all_lengths,
	   setgid_directories_pass_their_group_on, times_of_names,
	   unlinked_files_live_until_forgotten, forget_counts,
	   a_dead_daemons_orphans_are_drained, tmpfiles, many_names_and_slots,
	   a_node_id_never_comes_back, read_only_mounts_refuse)
