/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_rename.c - every pair of things that can stand under two names
 */
#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>

#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)

static struct pool p;

enum thing { NONE, FILE_, LINK2, SYM, EMPTY, FULL, NR_THINGS };

static bool is_dir(enum thing t) { return t == EMPTY || t == FULL; }

static uint64_t put_thing(enum thing t, uint64_t dir, const char *name)
{
	struct op_entry e;
	uint64_t node;

	switch (t) {
	case FILE_:
		node = pool_file(&p, dir, name);
		pool_write(&p, node, 0, name, strlen(name));
		return node;
	case LINK2:
		node = pool_file(&p, dir, name);
		pool_link(&p, node, ROOT, name[0] == 'a' ? "link-a" : "link-b");
		return node;
	case SYM:
		ck_assert_int_eq(op_symlink(&p.c, dir, name, strlen(name), "t", 1, &e), 0);
		return e.nodeid;
	case EMPTY:
		return pool_dir(&p, dir, name);
	case FULL:
		node = pool_dir(&p, dir, name);
		pool_file(&p, node, "inside");
		return node;
	default:
		return 0;
	}
}

/* What rename(2) says about it. */
static int expected(enum thing a, enum thing b, uint32_t flags)
{
	if (a == NONE)
		return -ENOENT;
	if (flags & RENAME_EXCHANGE)
		return b == NONE ? -ENOENT : 0;
	if (b == NONE)
		return 0;
	if (flags & RENAME_NOREPLACE)
		return -EEXIST;
	if (is_dir(a) && !is_dir(b))
		return -ENOTDIR;
	if (!is_dir(a) && is_dir(b))
		return -EISDIR;
	return b == FULL ? -ENOTEMPTY : 0;
}

static void expect_at(uint64_t dir, const char *name, uint64_t node)
{
	if (!node) {
		ck_assert_int_eq(pool_look(&p, dir, name), -ENOENT);
		return;
	}
	ck_assert_uint_eq(pool_find(&p, dir, name), node);
	pool_forget(&p, node, 1);
}

static void expect_parent(enum thing t, uint64_t node, uint64_t dir)
{
	struct op_entry e;

	if (!is_dir(t))
		return;
	ck_assert_int_eq(op_lookup(&p.c, node, "..", 2, &e), 0);
	ck_assert_uint_eq(e.nodeid, dir);
	pool_forget(&p, dir, 1);
}

static void one(enum thing a, enum thing b, uint32_t flags, bool same_dir)
{
	uint64_t d1, d2, na, nb;
	int err;

	pool_make(&p, SIZE);
	d1 = pool_dir(&p, ROOT, "d1");
	d2 = same_dir ? d1 : pool_dir(&p, ROOT, "d2");
	na = put_thing(a, d1, "a");
	nb = put_thing(b, d2, "b");
	err = pool_rename(&p, d1, "a", d2, "b", flags);
	ck_assert_msg(err == expected(a, b, flags), "%d over %d, flags %x: %d", a, b, flags, err);
	if (err) {
		expect_at(d1, "a", na);
		expect_at(d2, "b", nb);
	} else if (flags & RENAME_EXCHANGE) {
		expect_at(d1, "a", nb);
		expect_at(d2, "b", na);
		expect_parent(a, na, d2);
		expect_parent(b, nb, d1);
	} else {
		expect_at(d2, "b", na);
		expect_parent(a, na, d2);
		if (nb)
			ck_assert_uint_eq(pool_attr(&p, nb).nlink, b == LINK2);
		if (!(flags & RENAME_WHITEOUT))
			expect_at(d1, "a", 0);
		else
			ck_assert_uint_eq(pool_attr(&p, pool_find(&p, d1, "a")).mode, S_IFCHR);
	}
	pool_crash(&p);
	pool_end(&p);
}

START_TEST(matrix)
{
	static const uint32_t flags[] = {
		0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT,
		RENAME_WHITEOUT | RENAME_NOREPLACE,
	};
	unsigned a, b, f, same;

	for (a = 0; a < NR_THINGS; a++)
		for (b = 0; b < NR_THINGS; b++)
			for (f = 0; f < ARRAY_SIZE(flags); f++)
				for (same = 0; same < 2; same++)
					one(a, b, flags[f], same);
}
END_TEST

START_TEST(bad_flags)
{
	pool_make(&p, SIZE);
	pool_file(&p, ROOT, "a");
	ck_assert_int_eq(pool_rename(&p, ROOT, "a", ROOT, "b", 8), -EINVAL);
	ck_assert_int_eq(pool_rename(&p, ROOT, "a", ROOT, "b",
				     RENAME_EXCHANGE | RENAME_NOREPLACE), -EINVAL);
	ck_assert_int_eq(pool_rename(&p, ROOT, "a", ROOT, "b",
				     RENAME_EXCHANGE | RENAME_WHITEOUT), -EINVAL);
	pool_end(&p);
}
END_TEST

START_TEST(two_names_of_one_inode)
{
	uint64_t f;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "a");
	ck_assert_int_eq(pool_link(&p, f, ROOT, "b"), 0);
	ck_assert_int_eq(pool_rename(&p, ROOT, "a", ROOT, "b", 0), 0);
	ck_assert_int_eq(pool_rename(&p, ROOT, "a", ROOT, "a", 0), 0);
	ck_assert_int_eq(pool_rename(&p, ROOT, "a", ROOT, "b", RENAME_NOREPLACE), -EEXIST);
	ck_assert_uint_eq(pool_names(&p, ROOT), 2);
	ck_assert_uint_eq(pool_attr(&p, f).nlink, 2);
	pool_end(&p);
}
END_TEST

START_TEST(the_tree_stays_a_tree)
{
	uint64_t a, b, c;

	pool_make(&p, SIZE);
	a = pool_dir(&p, ROOT, "a");
	b = pool_dir(&p, a, "b");
	c = pool_dir(&p, b, "c");
	/* into itself, into its own child and grandchild */
	ck_assert_int_eq(pool_rename(&p, ROOT, "a", a, "x", 0), -EINVAL);
	ck_assert_int_eq(pool_rename(&p, ROOT, "a", b, "x", 0), -EINVAL);
	ck_assert_int_eq(pool_rename(&p, ROOT, "a", c, "x", 0), -EINVAL);
	ck_assert_int_eq(pool_rename(&p, a, "b", c, "x", RENAME_WHITEOUT), -EINVAL);
	/* onto an ancestor */
	ck_assert_int_eq(pool_rename(&p, b, "c", ROOT, "a", 0), -ENOTEMPTY);
	ck_assert_int_eq(pool_rename(&p, b, "c", a, "b", 0), -ENOTEMPTY);
	ck_assert_int_eq(pool_rename(&p, b, "c", ROOT, "a", RENAME_EXCHANGE), -EINVAL);
	ck_assert_int_eq(pool_rename(&p, ROOT, "a", b, "c", RENAME_EXCHANGE), -EINVAL);
	/* up and down again */
	ck_assert_int_eq(pool_rename(&p, b, "c", ROOT, "c", 0), 0);
	ck_assert_int_eq(pool_rename(&p, ROOT, "a", c, "a", 0), 0);
	ck_assert_uint_eq(pool_attr(&p, ROOT).nlink, 3);
	ck_assert_uint_eq(pool_attr(&p, c).nlink, 3);
	ck_assert_uint_eq(pool_attr(&p, a).nlink, 3);
	ck_assert_uint_eq(pool_attr(&p, b).nlink, 2);
	ck_assert_int_eq(pool_rename(&p, c, "a", b, "x", 0), -EINVAL);
	pool_end(&p);
}
END_TEST

START_TEST(removed_directories)
{
	uint64_t d;

	pool_make(&p, SIZE);
	d = pool_dir(&p, ROOT, "d");
	pool_file(&p, ROOT, "f");
	ck_assert_int_eq(pool_rmdir(&p, ROOT, "d"), 0);
	ck_assert_int_eq(pool_rename(&p, ROOT, "f", d, "f", 0), -ENOENT);
	ck_assert_int_eq(pool_rename(&p, d, "f", ROOT, "g", 0), -ENOENT);
	ck_assert_int_eq(pool_link(&p, pool_find(&p, ROOT, "f"), d, "f"), -ENOENT);
	pool_end(&p);
}
END_TEST

START_TEST(not_a_directory)
{
	uint64_t f;

	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
	ck_assert_int_eq(pool_rename(&p, f, "a", ROOT, "b", 0), -ENOTDIR);
	ck_assert_int_eq(pool_rename(&p, ROOT, "f", f, "b", 0), -ENOTDIR);
	pool_end(&p);
}
END_TEST

/* What rename replaces is freed once nobody knows it. */
START_TEST(replaced_files_give_their_blocks_back)
{
	uint64_t before, a, b;
	unsigned i;

	pool_make(&p, SIZE);
	a = pool_file(&p, ROOT, "a");
	pool_fill(&p, a, 0, 'a', 100000);
	pool_forget(&p, a, 1);
	before = pool_settled_blocks(&p);
	for (i = 0; i < 100; i++) {
		b = pool_file(&p, ROOT, "b");
		pool_fill(&p, b, 0, 'b', 100000);
		pool_forget(&p, b, 1);
		ck_assert_int_eq(pool_rename(&p, ROOT, "b", ROOT, "a", 0), 0);
	}
	ck_assert_uint_eq(pool_settled_blocks(&p), before);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/rename", matrix, bad_flags, two_names_of_one_inode,
	   the_tree_stays_a_tree, removed_directories, not_a_directory,
	   replaced_files_give_their_blocks_back)
