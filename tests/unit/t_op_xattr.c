/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_xattr.c - extended attributes of all sizes and numbers
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)
#define MAX	PMEMFS_XATTR_MAX

static struct pool p;
static uint64_t f;
static uint8_t value[MAX + 1], got[MAX + 1];

static void start(void)
{
	pool_make(&p, SIZE);
	f = pool_file(&p, ROOT, "f");
}

static int put(const char *name, int byte, size_t size, uint32_t flags)
{
	memset(value, byte, size);
	return op_setxattr(&p.c, f, name, value, size, flags);
}

static void expect(const char *name, int byte, size_t size)
{
	size_t n;

	ck_assert_int_eq(op_getxattr(&p.c, f, name, NULL, 0, &n), 0);
	ck_assert_uint_eq(n, size);
	ck_assert_int_eq(op_getxattr(&p.c, f, name, got, sizeof(got), &n), 0);
	ck_assert_uint_eq(n, size);
	memset(value, byte, size);
	ck_assert(!memcmp(got, value, size));
	if (size > 1)
		ck_assert_int_eq(op_getxattr(&p.c, f, name, got, size - 1, &n), -ERANGE);
}

static int look(const char *name)
{
	size_t n;

	return op_getxattr(&p.c, f, name, NULL, 0, &n);
}

static size_t list_size(void)
{
	size_t n;

	ck_assert_int_eq(op_listxattr(&p.c, f, NULL, 0, &n), 0);
	return n;
}

static void again(void)
{
	pool_crash(&p);
	f = pool_find(&p, ROOT, "f");
	pool_verify(&p);
}

START_TEST(sizes)
{
	static const size_t size[] = {
		0, 1, 100, 511, 512, 513, 4095, 4096, 4097, 8192, 65535, 65536,
	};
	char name[16];
	uint64_t before;
	unsigned i, k;

	start();
	before = pool_settled_blocks(&p);
	ck_assert_int_eq(put("user.big", 'x', MAX + 1, 0), -E2BIG);
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		snprintf(name, sizeof(name), "user.s%zu", size[i]);
		ck_assert_int_eq(put(name, 'a' + (int)i, size[i], 0), 0);
	}
	again();
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		snprintf(name, sizeof(name), "user.s%zu", size[i]);
		expect(name, 'a' + (int)i, size[i]);
	}
	/* every size over every size */
	for (i = 0; i < ARRAY_SIZE(size); i++)
		for (k = 0; k < ARRAY_SIZE(size); k++) {
			ck_assert_int_eq(put("user.x", 'i', size[i], 0), 0);
			ck_assert_int_eq(put("user.x", 'k', size[k], 0), 0);
			expect("user.x", 'k', size[k]);
		}
	again();
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		snprintf(name, sizeof(name), "user.s%zu", size[i]);
		ck_assert_int_eq(op_removexattr(&p.c, f, name), 0);
	}
	ck_assert_int_eq(op_removexattr(&p.c, f, "user.x"), 0);
	ck_assert_uint_eq(list_size(), 0);
	ck_assert_uint_eq(pool_attr(&p, f).blocks512, 0);
	ck_assert_uint_eq(pool_settled_blocks(&p), before);
	pool_end(&p);
}
END_TEST

START_TEST(flags_and_names)
{
	char name[300];
	struct op_attr a, b;
	size_t n;

	start();
	ck_assert_int_eq(put("user.a", 1, 4, XATTR_REPLACE), -ENODATA);
	ck_assert_int_eq(look("user.a"), -ENODATA);
	ck_assert_int_eq(put("user.a", 1, 4, XATTR_CREATE), 0);
	ck_assert_int_eq(put("user.a", 2, 4, XATTR_CREATE), -EEXIST);
	expect("user.a", 1, 4);
	a = pool_attr(&p, f);
	ck_assert_int_eq(put("user.a", 3, 5, XATTR_REPLACE), 0);
	b = pool_attr(&p, f);
	ck_assert(b.ctime.sec > a.ctime.sec && b.mtime.sec == a.mtime.sec);
	expect("user.a", 3, 5);
	memset(name, 'n', sizeof(name));
	name[255] = 0;
	ck_assert_int_eq(put(name, 4, 512, 0), 0);
	expect(name, 4, 512);
	name[255] = 'n';
	name[256] = 0;
	ck_assert_int_eq(put(name, 4, 5, 0), -ERANGE);
	ck_assert_int_eq(look(name), -ENODATA);
	ck_assert_int_eq(put("", 4, 5, 0), -ERANGE);
	ck_assert_int_eq(op_removexattr(&p.c, f, "user.b"), -ENODATA);
	ck_assert_uint_eq(list_size(), 7 + 256);
	ck_assert_int_eq(op_listxattr(&p.c, f, name, 10, &n), -ERANGE);
	/* directories and symbolic links have them, too */
	f = ROOT;
	ck_assert_int_eq(put("user.r", 5, 600, 0), 0);
	expect("user.r", 5, 600);
	pool_end(&p);
}
END_TEST

static unsigned names_in_list(size_t size)
{
	char *list = malloc(size);
	unsigned n = 0;
	size_t len, i;

	ck_assert_int_eq(op_listxattr(&p.c, f, list, size, &len), 0);
	ck_assert_uint_eq(len, size);
	for (i = 0; i < len; i += strlen(list + i) + 1) {
		ck_assert_int_eq(look(list + i), 0);
		n++;
	}
	free(list);
	return n;
}

START_TEST(many)
{
	enum { N = 500 };
	char name[64];
	unsigned i;
	uint64_t before;

	start();
	before = pool_settled_blocks(&p);
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "user.attribute number %u", i);
		ck_assert_int_eq(put(name, (int)i, i % 700, 0), 0);
	}
	again();
	ck_assert_uint_eq(names_in_list(list_size()), N);
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "user.attribute number %u", i);
		expect(name, (int)i, i % 700);
	}
	/* they go with their file */
	ck_assert_int_eq(pool_unlink(&p, ROOT, "f"), 0);
	pool_forget(&p, f, 1);
	ck_assert_uint_ge(pool_settled_blocks(&p), before);
	pool_end(&p);
}
END_TEST

START_TEST(the_list_has_a_limit)
{
	char name[256];
	unsigned i;
	int err = 0;

	start();
	memset(name, 'n', sizeof(name));
	for (i = 0; !err && i < 1000; i++) {
		snprintf(name, sizeof(name), "user.%0250u", i);
		err = put(name, 0, 1, 0);
	}
	ck_assert_int_eq(err, -ENOSPC);
	ck_assert_uint_eq(i, 65536 / 256 + 1);
	ck_assert_uint_eq(names_in_list(list_size()), 65536 / 256);
	ck_assert_int_eq(put("user.a", 0, 1, 0), -ENOSPC);
	snprintf(name, sizeof(name), "user.%0250u", 7);
	ck_assert_int_eq(put(name, 0, 500, 0), 0);	/* replacing is no new name */
	pool_end(&p);
}
END_TEST

START_TEST(a_full_pool_changes_nothing)
{
	uint64_t g;
	size_t done, n;
	static uint8_t buf[1 << 20];

	start();
	ck_assert_int_eq(put("user.a", 'a', 5000, 0), 0);
	g = pool_file(&p, ROOT, "g");
	do {
		n = pool_attr(&p, g).size;
	} while (pool_try_write(&p, g, n, buf, sizeof(buf), &done) == 0);
	ck_assert_int_eq(put("user.a", 'b', 60000, 0), -ENOSPC);
	expect("user.a", 'a', 5000);
	ck_assert_int_eq(op_removexattr(&p.c, f, "user.a"), 0);
	ck_assert_int_eq(put("user.a", 'c', 4000, 0), 0);
	expect("user.a", 'c', 4000);
	pool_end(&p);
}
END_TEST

START_TEST(damage_in_a_value_is_seen)
{
	uint8_t *at;
	size_t n;

	start();
	ck_assert_int_eq(put("user.a", 0x5a, 9999, 0), 0);
	for (at = p.mem.buf; memcmp(at, value, 9999); at += 4096)
		;
	at[7000] ^= 1;
	ck_assert_int_eq(op_getxattr(&p.c, f, "user.a", got, sizeof(got), &n), -EIO);
	at[7000] ^= 1;
	expect("user.a", 0x5a, 9999);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/xattr", sizes, flags_and_names, many, the_list_has_a_limit,
	   a_full_pool_changes_nothing, damage_in_a_value_is_seen)
