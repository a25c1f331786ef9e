/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.c - a pool in memory, mounted, for tests
 */
#include "support/pool.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "copy/copy.h"
#include "meta/super.h"
#include "meta/verify.h"

static _Atomic int64_t seconds = 1000000;

static void test_clock(struct timespec *now)
{
	now->tv_sec = ++seconds;
	now->tv_nsec = 123456789;
}

int64_t pool_now(void) { return seconds; }

/* ---- life ------------------------------------------------------------------ */

static void make(struct pool *p)
{
	struct pm_config cfg = {
		.backend = &pm_backend_record, .backend_arg = p->rec,
		.flags = PM_CREATE, .granularity = -1,
	};
	struct mkfs_params mk = {
		.nr_blocks = p->mem.size / PMEMFS_BLOCK_SIZE,
		.root_mode = 0755, .zeroed = true, .time = 1000000,
		.label = "test", .uuid = { 1, 2, 3 },
	};
	struct geometry geo;
	struct pm *pm;

	ck_assert_int_eq(pm_open(&pm, "memory", &cfg), 0);
	ck_assert_int_eq(mkfs_geometry(&mk, &geo), 0);
	ck_assert_int_eq(mkfs_pool(pm, &mk, &geo), 0);
	pm_close(pm);
}

void pool_make(struct pool *p, uint64_t size)
{
	memset(p, 0, sizeof(*p));
	p->mem.size = size;
	p->rec = rec_new(&pm_backend_mem, &p->mem);
	rec_log(p->rec, false);
	p->opt = (struct fs_options){
		.no_background = true, .granularity = -1, .clock = test_clock,
		.backend = &pm_backend_record, .backend_arg = p->rec,
	};
	make(p);
	pool_mount(p);
}

void pool_mount(struct pool *p)
{
	ck_assert_int_eq(fs_open(&p->fs, "memory", &p->opt), 0);
	p->c = (struct op_ctx){ .fs = p->fs, .pid = 1 };
}

void pool_unmount(struct pool *p)
{
	fs_close(p->fs);
	p->fs = NULL;
}

void pool_remount(struct pool *p)
{
	pool_unmount(p);
	pool_mount(p);
}

void pool_set_data(struct pool *p, enum fs_data data)
{
	p->opt.data = data;
	pool_remount(p);
}

void pool_crash(struct pool *p)
{
	fs_crash(p->fs);
	pool_mount(p);
}

static void problem(void *arg, const struct verify_problem *v)
{
	(void)arg;
	ck_abort_msg("verify: kind %d, inode %llu, offset %llu: %s", (int)v->kind,
		     (unsigned long long)v->ino, (unsigned long long)v->off, v->text);
}

void pool_verify(struct pool *p)
{
	struct verify_result res;

	ck_assert_int_eq(fs_checkpoint(p->fs), 0);
	ck_assert_int_eq(verify_fs(p->fs, problem, NULL, NULL, &res), 0);
	ck_assert_uint_eq(res.problems, 0);
}

void pool_end(struct pool *p)
{
	pool_verify(p);
	pool_remount(p);
	pool_verify(p);
	ck_assert_int_eq(fs_drain(p->fs), 0);
	pool_verify(p);
	pool_unmount(p);
	rec_free(p->rec);
	pm_mem_free(&p->mem);
}

/* ---- nodes ------------------------------------------------------------------- */

uint64_t pool_file(struct pool *p, uint64_t dir, const char *name)
{
	struct op_entry e;

	ck_assert_int_eq(op_mknod(&p->c, dir, name, strlen(name), S_IFREG | 0644, 0, &e), 0);
	return e.nodeid;
}

uint64_t pool_dir(struct pool *p, uint64_t dir, const char *name)
{
	struct op_entry e;

	ck_assert_int_eq(op_mkdir(&p->c, dir, name, strlen(name), 0755, &e), 0);
	return e.nodeid;
}

uint64_t pool_find(struct pool *p, uint64_t dir, const char *name)
{
	struct op_entry e;

	ck_assert_int_eq(op_lookup(&p->c, dir, name, strlen(name), &e), 0);
	return e.nodeid;
}

int pool_look(struct pool *p, uint64_t dir, const char *name)
{
	struct op_entry e;
	int err = op_lookup(&p->c, dir, name, strlen(name), &e);

	if (!err)
		op_forget(p->fs, e.nodeid, 1);
	return err;
}

int pool_unlink(struct pool *p, uint64_t dir, const char *name)
{
	return op_unlink(&p->c, dir, name, strlen(name));
}

int pool_rmdir(struct pool *p, uint64_t dir, const char *name)
{
	return op_rmdir(&p->c, dir, name, strlen(name));
}

int pool_rename(struct pool *p, uint64_t dir, const char *name, uint64_t newdir,
		const char *newname, uint32_t flags)
{
	return op_rename(&p->c, dir, name, strlen(name), newdir, newname,
			 strlen(newname), flags);
}

int pool_link(struct pool *p, uint64_t node, uint64_t dir, const char *name)
{
	struct op_entry e;
	int err = op_link(&p->c, node, dir, name, strlen(name), &e);

	if (!err) {
		ck_assert_uint_eq(e.nodeid, node);
		op_forget(p->fs, node, 1);
	}
	return err;
}

struct op_attr pool_attr(struct pool *p, uint64_t node)
{
	struct op_attr a;

	ck_assert_int_eq(op_getattr(&p->c, node, &a), 0);
	return a;
}

void pool_forget(struct pool *p, uint64_t node, uint64_t n)
{
	op_forget(p->fs, node, n);
}

static bool count_name(void *arg, const struct op_dirent *d, const struct op_entry *e)
{
	unsigned *n = arg;

	(void)e;
	*n += d->off >= PMEMFS_DIR_MIN_KEY;
	return true;
}

unsigned pool_names(struct pool *p, uint64_t dir)
{
	unsigned n = 0;

	ck_assert_int_eq(op_readdir(&p->c, dir, 0, false, count_name, &n), 0);
	return n;
}

/* ---- bytes -------------------------------------------------------------------- */

int pool_try_write(struct pool *p, uint64_t node, uint64_t pos, const void *buf,
		   size_t len, size_t *done)
{
	struct payload pl = payload_mem(buf, len);

	return op_write(&p->c, node, pos, &pl, 0, done);
}

void pool_write(struct pool *p, uint64_t node, uint64_t pos, const void *buf, size_t len)
{
	size_t done;

	ck_assert_int_eq(pool_try_write(p, node, pos, buf, len, &done), 0);
	ck_assert_uint_eq(done, len);
}

void pool_fill(struct pool *p, uint64_t node, uint64_t pos, int byte, size_t len)
{
	void *buf = malloc(len);

	memset(buf, byte, len);
	pool_write(p, node, pos, buf, len);
	free(buf);
}

static size_t first_difference(const uint8_t *a, const uint8_t *b, size_t len)
{
	size_t i;

	for (i = 0; i < len && a[i] == b[i]; i++)
		;
	return i;
}

void pool_expect(struct pool *p, uint64_t node, uint64_t pos, const void *buf, size_t len)
{
	uint8_t *is = malloc(len + 1);
	size_t got, at;

	ck_assert_int_eq(op_pread(&p->c, node, is, len, pos, &got), 0);
	ck_assert_uint_eq(got, len);
	at = first_difference(is, buf, len);
	ck_assert_msg(at == len, "byte %zu: is %02x, should be %02x", (size_t)pos + at,
		      is[at], at < len ? ((const uint8_t *)buf)[at] : 0);
	free(is);
}

void pool_expect_fill(struct pool *p, uint64_t node, uint64_t pos, int byte, size_t len)
{
	void *buf = malloc(len);

	memset(buf, byte, len);
	pool_expect(p, node, pos, buf, len);
	free(buf);
}

int pool_truncate(struct pool *p, uint64_t node, uint64_t size)
{
	struct op_setattr in = { .valid = OP_SET_SIZE, .size = size };
	struct op_attr out;

	return op_setattr(&p->c, node, &in, &out);
}

/* ---- space --------------------------------------------------------------------- */

void pool_soil(struct pool *p, int byte)
{
	const struct geometry *geo = &p->fs->geo;
	uint8_t *base = p->mem.buf;
	const uint8_t *map = base + blk_off(geo->bitmap_blk);
	uint64_t b;

	ck_assert_int_eq(fs_checkpoint(p->fs), 0);
	for (b = geo->data_blk; b < geo->nr_blocks; b++)
		if (!(map[b / 8] >> b % 8 & 1))
			memset(base + blk_off(b), byte, PMEMFS_BLOCK_SIZE);
}

uint64_t pool_free_blocks(struct pool *p)
{
	struct op_statfs st;

	ck_assert_int_eq(op_statfs(&p->c, &st), 0);
	return st.bfree;
}

uint64_t pool_settled_blocks(struct pool *p)
{
	ck_assert_int_eq(fs_checkpoint(p->fs), 0);
	return pool_free_blocks(p);
}

uint64_t pool_fences(struct pool *p)
{
	struct rec_counts n;

	rec_counts(p->rec, &n);
	rec_counts_reset(p->rec);
	return n.fences;
}
