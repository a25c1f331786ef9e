/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_acl.c - access control lists: one record for list and mode, what it
 * costs, what is left of it after a crash, on a full pool, in a bad one
 *
 * What lists mean is tried on a mount, against tmpfs (tests/posix).
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "copy/copy.h"
#include "meta/xattr.h"
#include "op/op_i.h"
#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)
#define ACCESS	"system.posix_acl_access"
#define DEFAULT	"system.posix_acl_default"
#define USERS	100u			/* enough for a value in blocks */

static struct pool p;
static uint64_t f, d;
static uint8_t list[4 + (USERS + 4) * 8], got[sizeof(list)];

static void start(void)
{
	pool_make(&p, SIZE);
	d = pool_dir(&p, ROOT, "d");
	f = pool_file(&p, ROOT, "f");
	ck_assert_int_eq(fs_checkpoint(p.fs), 0);
	pool_fences(&p);
}

static void entry(uint8_t **at, uint8_t tag, uint8_t perm, uint32_t id)
{
	uint8_t e[8] = { tag, 0, perm, 0, (uint8_t)id, (uint8_t)(id >> 8),
			 (uint8_t)(id >> 16), (uint8_t)(id >> 24) };

	memcpy(*at, e, sizeof(e));
	*at += sizeof(e);
}

/* u::rwx, so many named users r--, g::---, m::rw-, o::r-- */
static size_t build(unsigned users)
{
	uint8_t *at = list + 4;

	memcpy(list, (uint8_t[]){ 2, 0, 0, 0 }, 4);
	entry(&at, 0x01, 7, ~0u);
	for (unsigned i = 0; i < users; i++)
		entry(&at, 0x02, 4, 1000 + i);
	entry(&at, 0x04, 0, ~0u);
	entry(&at, 0x10, 6, ~0u);
	entry(&at, 0x20, 4, ~0u);
	return (size_t)(at - list);
}

static int set(uint64_t node, const char *name, unsigned users)
{
	size_t size = build(users);

	return op_setxattr(&p.c, node, name, list, size, 0);
}

static size_t get(uint64_t node, const char *name)
{
	size_t n = 0;
	int err = op_getxattr(&p.c, node, name, got, sizeof(got), &n);

	ck_assert(err == 0 || err == -ENODATA);
	return err ? 0 : n;
}

static uint32_t mode_of(uint64_t node) { return pool_attr(&p, node).mode & 07777; }

static int chmod_node(uint64_t node, uint32_t mode)
{
	struct op_setattr in = { .valid = OP_SET_MODE, .mode = mode };
	struct op_attr a;

	return op_setattr(&p.c, node, &in, &a);
}

static int make(uint64_t dir, const char *name, uint32_t mode, uint64_t *node)
{
	struct op_entry e;
	int err = op_mknod(&p.c, dir, name, strlen(name), S_IFREG | mode, 0, &e);

	*node = err ? 0 : e.nodeid;
	return err;
}

START_TEST(one_record_each)
{
	struct op_entry e;
	uint64_t n;

	start();
	COSTS(&p, 1, set(f, ACCESS, 2));
	ck_assert_uint_eq(mode_of(f), 0764);
	COSTS(&p, 1, chmod_node(f, 0600));
	COSTS(&p, 1, op_removexattr(&p.c, f, ACCESS));
	COSTS(&p, 1, set(d, DEFAULT, 2));
	COSTS(&p, 1, make(d, "a", 0666, &n));
	COSTS(&p, 1, op_mkdir(&p.c, d, "b", 1, 0777, &e));
	COSTS(&p, 1, op_tmpfile(&p.c, d, 0600, &e));
	COSTS(&p, 2, set(d, DEFAULT, USERS));	/* blocks of its own, first */
	COSTS(&p, 2, make(d, "c", 0666, &n));
	pool_end(&p);
}
END_TEST

START_TEST(list_and_mode_survive_together)
{
	size_t size;
	uint64_t n;

	start();
	ck_assert_int_eq(set(d, DEFAULT, 3), 0);
	p.c.umask = 077;
	ck_assert_int_eq(make(d, "n", 0666, &n), 0);
	ck_assert_uint_eq(mode_of(n), 0664);
	pool_crash(&p);
	pool_verify(&p);
	d = pool_find(&p, ROOT, "d");
	n = pool_find(&p, d, "n");
	ck_assert_uint_eq(mode_of(n), 0664);
	size = build(3);
	ck_assert_uint_eq(get(d, DEFAULT), size);
	ck_assert(!memcmp(got, list, size));
	ck_assert_uint_eq(get(n, ACCESS), size);
	ck_assert_uint_eq(got[4 + 2], 6);		/* u::rw-, of rwx and 0666 */
	ck_assert_int_eq(chmod_node(n, 0640), 0);
	pool_crash(&p);
	pool_verify(&p);
	d = pool_find(&p, ROOT, "d");
	n = pool_find(&p, d, "n");
	ck_assert_uint_eq(get(n, ACCESS), size);
	ck_assert_uint_eq(got[size - 16 + 2], 4);	/* the mask */
	ck_assert_uint_eq(got[size - 8 + 2], 0);	/* others */
	ck_assert_uint_eq(mode_of(n), 0640);
	pool_end(&p);
}
END_TEST

/* Their blocks come back with the node; the first inode of a new chunk works. */
START_TEST(many_come_and_go)
{
	uint64_t before, n;
	char name[16];
	unsigned i;

	start();
	ck_assert_int_eq(set(d, DEFAULT, USERS), 0);
	for (i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		ck_assert_int_eq(make(d, name, 0666, &n), 0);
		ck_assert_uint_eq(get(n, ACCESS), build(USERS));
		pool_forget(&p, n, 1);
	}
	pool_verify(&p);
	ck_assert_int_eq(pool_unlink(&p, d, "n0"), 0);
	before = pool_settled_blocks(&p);
	for (i = 1; i < 600; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		ck_assert_int_eq(pool_unlink(&p, d, name), 0);
	}
	ck_assert_uint_ge(pool_settled_blocks(&p), before + 599 * 2);
	pool_end(&p);
}
END_TEST

START_TEST(a_full_pool_makes_no_half_nodes)
{
	static uint8_t buf[1 << 20];
	char name[16];
	size_t done;
	uint64_t g, n;
	unsigned i;
	int err = 0;

	start();
	ck_assert_int_eq(set(d, DEFAULT, USERS), 0);
	g = pool_file(&p, ROOT, "g");
	while (pool_try_write(&p, g, pool_attr(&p, g).size, buf, sizeof(buf), &done) == 0)
		;
	for (i = 0; !err && i < 10000; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		err = make(d, name, 0666, &n);
	}
	ck_assert_int_eq(err, -ENOSPC);
	ck_assert_int_eq(pool_look(&p, d, name), -ENOENT);
	ck_assert_int_eq(set(f, ACCESS, USERS), -ENOSPC);
	ck_assert_uint_eq(get(f, ACCESS), 0);
	ck_assert_uint_eq(mode_of(f), 0644);
	pool_end(&p);
}
END_TEST

/* In the pool as it is, whatever it is: what a hostile one has, checksums right. */
static void plant(uint64_t node, const char *name, const void *value, size_t size)
{
	uint64_t mark = op_enter(&p.c);
	struct inode *ip;
	struct txn *t;

	ck_assert_int_eq(op_get_rw(&p.c, node, &ip), 0);
	inode_wrlock(ip);
	t = txn_begin(p.fs, PMEMFS_OP_SETXATTR);
	ck_assert_int_eq(xattr_set(t, ip, name, value, size, 0), 0);
	ck_assert_int_eq(op_commit(t, mark), 0);
	inode_unlock(ip);
	inode_put(ip);
	ck_assert_int_eq(op_leave(&p.c, mark, 0), 0);
}

/* Stored under another rule, by a hostile pool: not made sense of. */
START_TEST(a_list_that_makes_no_sense)
{
	struct op_entry e;
	size_t size;

	start();
	p.fs->opt.errors = FS_ERRORS_CONTINUE;
	size = build(2);
	list[4] = 0x20;					/* others, first */
	plant(d, DEFAULT, list, size);
	plant(f, ACCESS, list, size);
	ck_assert_int_eq(op_mkdir(&p.c, d, "x", 1, 0777, &e), -EUCLEAN);
	ck_assert_int_eq(pool_look(&p, d, "x"), -ENOENT);
	ck_assert_int_eq(chmod_node(f, 0600), -EUCLEAN);
	plant(d, DEFAULT, list, 3);
	ck_assert_int_eq(op_mkdir(&p.c, d, "x", 1, 0777, &e), -EUCLEAN);
	pool_end(&p);
}
END_TEST

/* A bit of it that flipped. */
START_TEST(a_list_in_disorder_is_damage)
{
	struct op_entry e;
	uint8_t *at;
	size_t size;

	start();
	ck_assert_int_eq(set(d, DEFAULT, USERS), 0);
	ck_assert_int_eq(fs_checkpoint(p.fs), 0);
	size = build(USERS);
	for (at = p.mem.buf; memcmp(at, list, size); at += 4096)
		;
	at[4] = 0x20;
	ck_assert_int_eq(op_mkdir(&p.c, d, "x", 1, 0777, &e), -EIO);	/* its checksum */
	at[4] = 0x01;
	ck_assert_int_eq(op_mkdir(&p.c, d, "x", 1, 0777, &e), 0);
	pool_end(&p);
}
END_TEST

CHECK_MAIN("op/acl", one_record_each, list_and_mode_survive_together, many_come_and_go,
	   a_full_pool_makes_no_half_nodes, a_list_that_makes_no_sense,
	   a_list_in_disorder_is_damage)
