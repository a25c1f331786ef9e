/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * age.c - what a pool is like after years of use
 *
 *	age POOL OPERATIONS [PERCENT]
 *
 * Fills a new pool to PERCENT (90) of its space with files of 4 KiB to 4 MiB, small
 * ones being many, written in requests of up to 128 KiB, two files at a time. Then
 * so many operations at random, about that filling: files are removed, made,
 * appended to, cut and overwritten in part. At last a file of 64 MiB is written,
 * in requests of 1 MiB, and one line tells into how many extents it fell, how many
 * free runs there were before, and how many of them would have been enough if the
 * longest had been taken.
 *
 * Without FUSE: what is measured is where blocks are put. By hand; README.md here
 * has figures.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "copy/copy.h"
#include "meta/alloc.h"
#include "meta/extent.h"
#include "op/op.h"

#define MAX_FILES	(1u << 20)
#define LARGE		(64ull << 20)

struct file { uint64_t node, size; };

static struct op_ctx c = { .pid = 1 };
static struct file *file;
static unsigned nr_files, next_name;
static uint64_t target;			/* blocks that are to be free */
static char bytes[1 << 20];

static void die(const char *what, int err)
{
	fprintf(stderr, "age: %s: %s\n", what, strerror(-err));
	exit(1);
}

static uint64_t rnd(uint64_t n)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (x >> 11) % n;
}

/* 4 KiB to 4 MiB, each doubling as likely as the others. */
static uint64_t some_size(void)
{
	uint64_t top = 4096ull << rnd(11);

	return top / 2 + rnd(top / 2 + 1) + 1;
}

/* False: no space. */
static bool append(struct file *f, uint64_t len)
{
	struct payload p;
	size_t n, done;
	int err;

	for (; len; len -= n) {
		n = min64(len, 4096 + rnd(128 << 10));
		p = payload_mem(bytes, n);
		err = op_write(&c, f->node, f->size, &p, 0, &done);
		if (err == -ENOSPC)
			return false;
		if (err)
			die("write", err);
		f->size += done;
	}
	return true;
}

static void name_of(char *buf, size_t size, uint64_t node)
{
	snprintf(buf, size, "%llx", (unsigned long long)node);
}

static struct file *make(void)
{
	struct file *f = &file[nr_files];
	struct op_entry e;
	char tmp[32], name[32];
	int err;

	if (nr_files == MAX_FILES)
		return NULL;
	snprintf(tmp, sizeof(tmp), "new%u", next_name++);
	err = op_mknod(&c, 1, tmp, strlen(tmp), S_IFREG | 0644, 0, &e);
	if (err == -ENOSPC)
		return NULL;
	if (err)
		die("create", err);
	name_of(name, sizeof(name), e.nodeid);
	err = op_rename(&c, 1, tmp, strlen(tmp), 1, name, strlen(name), 0);
	if (err)
		die("rename", err);
	*f = (struct file){ e.nodeid, 0 };
	nr_files++;
	return f;
}

static void remove_file(unsigned i)
{
	char name[32];
	int err;

	name_of(name, sizeof(name), file[i].node);
	err = op_unlink(&c, 1, name, strlen(name));
	if (err)
		die("unlink", err);
	op_forget(c.fs, file[i].node, 1);
	file[i] = file[--nr_files];
}

static bool is_full(void) { return alloc_avail_blocks(c.fs) <= target; }

/* Two that grow side by side. */
static void make_two(void)
{
	uint64_t want[2] = { some_size(), some_size() };
	struct file *f[2] = { make(), make() };

	for (bool more = true; more;) {
		more = false;
		for (int i = 0; i < 2; i++) {
			uint64_t n = f[i] && f[i]->size < want[i] ?
				     min64(want[i] - f[i]->size, 64 << 10) : 0;

			more |= n && append(f[i], n);
		}
	}
}

static void cut(struct file *f)
{
	struct op_setattr set = { .valid = OP_SET_SIZE, .size = rnd(f->size + 1) };
	struct op_attr a;
	int err = op_setattr(&c, f->node, &set, &a);

	if (err)
		die("truncate", err);
	f->size = set.size;
}

static void overwrite(const struct file *f)
{
	uint64_t at = rnd(f->size + 1);
	struct payload p = payload_mem(bytes, min64(f->size - at, rnd(64 << 10)));
	size_t done;

	if (p.len)
		op_write(&c, f->node, at, &p, 0, &done);
}

static void operate(void)
{
	struct file *f = &file[rnd(nr_files)];

	switch (rnd(6)) {
	case 0:
	case 1:
		if (is_full())
			remove_file((unsigned)rnd(nr_files));
		else
			make_two();
		break;
	case 2:
		if (!is_full())
			append(f, some_size());
		break;
	case 3:
		cut(f);
		break;
	default:
		overwrite(f);
	}
	if (nr_files < 2 || alloc_avail_blocks(c.fs) > 2 * target)
		make_two();
}

static bool is_used(uint64_t blk)
{
	const uint8_t *map = pm_at(c.fs->pm, blk_off(c.fs->geo.bitmap_blk), 1);

	return map[blk / 8] >> (blk % 8) & 1;
}

static int longer(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void tell_runs(void)
{
	uint64_t *run = calloc(c.fs->geo.nr_blocks, sizeof(*run)), nr = 0, blk, sum = 0, n;

	if (!run || fs_checkpoint(c.fs))
		die("checkpoint", -EIO);
	for (blk = c.fs->geo.data_blk; blk < c.fs->geo.nr_blocks; blk++) {
		if (is_used(blk))
			nr += run[nr] != 0;
		else
			run[nr]++;
	}
	qsort(run, nr, sizeof(*run), longer);
	for (n = 0; n < nr && sum < LARGE / PMEMFS_BLOCK_SIZE; n++)
		sum += run[n];
	printf("%llu runs, the longest %llu KiB, %llu would do for 64 MiB, ",
	       (unsigned long long)nr, (unsigned long long)run[0] * 4, (unsigned long long)n);
	free(run);
}

static unsigned extents_of(uint64_t node)
{
	struct inode *ip;
	struct extent e;
	unsigned n = 0;
	uint64_t blk = 0;
	int err = inode_get(c.fs, node, &ip);

	if (err)
		die("inode", err);
	for (; blk < LARGE / PMEMFS_BLOCK_SIZE; blk += e.len, n++) {
		err = extent_at(NULL, ip, blk, &e);
		if (err)
			die("extent", err);
	}
	inode_put(ip);
	return n;
}

static unsigned write_large(void)
{
	struct file f = { .size = 0 };
	struct op_entry e;
	int err = op_mknod(&c, 1, "large", 5, S_IFREG | 0644, 0, &e);

	if (err)
		die("large", err);
	f.node = e.nodeid;
	while (f.size < LARGE) {
		struct payload p = payload_mem(bytes, sizeof(bytes));
		size_t done;

		err = op_write(&c, f.node, f.size, &p, 0, &done);
		if (err)
			die("large", err);
		f.size += done;
	}
	return extents_of(f.node);
}

int main(int argc, char **argv)
{
	struct fs_options opt = { .granularity = -1, .atime = FS_NOATIME };
	unsigned ops = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 0, i;
	unsigned percent = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : 90;
	struct timespec a, b;
	unsigned files;
	int err;

	log_init("age");
	if (argc < 3 || percent > 99) {
		fputs("usage: age POOL OPERATIONS [PERCENT]\n", stderr);
		return 2;
	}
	err = fs_open(&c.fs, argv[1], &opt);
	if (err)
		die(argv[1], err);
	file = calloc(MAX_FILES, sizeof(*file));
	if (!file)
		die("memory", -ENOMEM);
	target = alloc_avail_blocks(c.fs) * (100 - percent) / 100;
	while (!is_full())
		make_two();
	files = nr_files;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (i = 0; i < ops; i++)
		operate();
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%u operations in %ld s, %u files (%u before), %llu MiB free in ", ops,
	       (long)(b.tv_sec - a.tv_sec), nr_files, files,
	       (unsigned long long)alloc_avail_blocks(c.fs) / 256);
	tell_runs();
	printf("it took %u\n", write_large());
	fs_close(c.fs);
	free(file);
	return 0;
}
