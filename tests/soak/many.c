/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * many.c - pools that are hard to recover quickly, and what recovering costs
 *
 *	many fill POOL FILES ORPHANS
 *		so many files with names, and files without, as a daemon that was
 *		killed leaves them
 *	many kill POOL [bits]
 *		fill the log, then die: nothing is closed, no checkpoint; bits: with
 *		short records that touch a lot, the bitmap of most of the pool
 *	many recover POOL
 *		what a mount does before it serves, with its costs on one line:
 *		records BYTES-FLUSHED BYTES-STORED BYTES-MAPPED MILLISECONDS
 *	many count POOL
 *		files and orphans, as the pool's own totals have them
 *
 * BYTES-MAPPED: pages of the pool that became part of this process, which is
 * at least what was touched. s_recovery.sh judges.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "meta/fs.h"
#include "op/op.h"

#define PER_DIR		1000u
#define AT_ONCE		20000u	/* orphans that one process keeps in mind */
#define LANE_REST	8192u	/* of a half: no record is longer than a lane's room */

static const char *path;

static void die(const char *what, int err)
{
	fprintf(stderr, "many: %s: %s: %s\n", path, what, strerror(-err));
	exit(1);
}

static struct fs *open_pool(void)
{
	struct fs_options opt = {
		.no_background = true, .granularity = -1, .atime = FS_NOATIME,
	};
	struct fs *fs;
	int err = fs_open(&fs, path, &opt);

	if (err)
		die("open", err);
	return fs;
}

/* A file, forgotten at once. */
static void make(const struct op_ctx *c, uint64_t dir, uint64_t nr)
{
	struct op_entry e;
	char name[32];
	int len = snprintf(name, sizeof(name), "f%llu", (unsigned long long)nr);
	int err = op_mknod(c, dir, name, (size_t)len, S_IFREG | 0644, 0, &e);

	if (err)
		die(name, err);
	op_forget(c->fs, e.nodeid, 1);
}

static uint64_t make_dir(const struct op_ctx *c, const char *kind, uint64_t nr)
{
	struct op_entry e;
	char name[32];
	int len = snprintf(name, sizeof(name), "%s%llu", kind, (unsigned long long)nr);
	int err = op_mkdir(c, 1, name, (size_t)len, 0755, &e);

	if (err)
		die(name, err);
	return e.nodeid;
}

static void fill(uint64_t files, uint64_t orphans)
{
	struct op_ctx c = { .fs = open_pool(), .pid = 1 };
	struct op_entry e;
	uint64_t i, dir = 0;
	int err;

	for (i = 0; i < files; i++) {
		if (i % PER_DIR == 0)
			dir = make_dir(&c, "d", i / PER_DIR);
		make(&c, dir, i);
	}
	for (i = 0; i < orphans; i++) {
		if (i && i % AT_ONCE == 0) {
			fs_crash(c.fs);
			c.fs = open_pool();
		}
		err = op_tmpfile(&c, 1, 0600, &e);
		if (err)
			die("orphan", err);
	}
	fs_crash(c.fs);
}

/* ---- a full log ----------------------------------------------------------- */

struct filler {
	struct op_ctx c;
	uint64_t dir, until;		/* bytes of all records */
};

static struct fs_stats stats_of(struct fs *fs)
{
	struct fs_stats st;

	fs_get_stats(fs, &st);
	return st;
}

/* Half of what is free, taken and given back; each time some records. */
static void touch_bits(struct fs *fs)
{
	struct op_ctx c = { .fs = fs, .pid = 1 };
	struct op_setattr cut = { .valid = OP_SET_SIZE };
	struct op_statfs st;
	struct op_entry e;
	struct op_attr a;
	unsigned i;
	int err = op_tmpfile(&c, 1, 0600, &e);

	op_statfs(&c, &st);
	for (i = 0; i < 100 && !err; i++) {
		err = op_fallocate(&c, e.nodeid, 0, st.bfree / 2 * PMEMFS_BLOCK_SIZE, 0);
		if (!err)
			err = op_setattr(&c, e.nodeid, &cut, &a);
	}
	if (err)
		die("fallocate", err);
}

/* Each thread has a lane of its own. */
static void *fill_lane(void *arg)
{
	struct filler *f = arg;
	uint64_t nr;

	for (nr = 0; stats_of(f->c.fs).record_bytes < f->until; nr++)
		make(&f->c, f->dir, nr);
	return NULL;
}

static void fill_log(bool bits)
{
	struct fs *fs = open_pool();
	struct filler f = { .c = { .fs = fs, .pid = 1 } };
	uint64_t before, start, room = fs->geo.lane_size - 2 * LANE_REST;
	struct fs_stats st;
	pthread_t t;
	uint32_t i;

	f.dir = make_dir(&f.c, "killed", (uint64_t)time(NULL) << 20 | getpid());
	if (fs_checkpoint(fs))
		die("checkpoint", -EIO);
	st = stats_of(fs);
	before = st.checkpoints;
	start = f.until = st.record_bytes;
	if (bits)
		touch_bits(fs);
	for (i = 0; !bits && i < fs->geo.nr_lanes; i++) {
		f.until = start + (i + 1) * room;
		f.dir = make_dir(&f.c, "lane", (uint64_t)getpid() << 20 | i);
		if (pthread_create(&t, NULL, fill_lane, &f) || pthread_join(t, NULL))
			die("thread", -EAGAIN);
	}
	st = stats_of(fs);
	printf("log of %llu bytes: %llu of records written, %llu checkpoints\n",
	       (unsigned long long)fs->geo.nr_lanes * fs->geo.lane_size,
	       (unsigned long long)(st.record_bytes - start),
	       (unsigned long long)(st.checkpoints - before));
	fflush(NULL);
	kill(getpid(), SIGKILL);
}

/* ---- recovery --------------------------------------------------------------- */

/* Of the mapping that holds the pool, in bytes. */
static uint64_t mapped(void)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	uint64_t kib, sum = 0;
	char line[4352];
	bool pool = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (strchr(line, '-') && strchr(line, '/'))
			pool = strstr(line, path) != NULL;
		else if (pool && sscanf(line, "Rss: %lu kB", &kib) == 1)
			sum += kib << 10;
	}
	if (f)
		fclose(f);
	return sum;
}

static void recover_pool(void)
{
	struct timespec a, b;
	struct fs_stats st;
	struct fs *fs;

	clock_gettime(CLOCK_MONOTONIC, &a);
	fs = open_pool();
	clock_gettime(CLOCK_MONOTONIC, &b);
	st = stats_of(fs);
	printf("%llu %llu %llu %llu %llu\n", (unsigned long long)fs->replayed,
	       (unsigned long long)st.pm.flushed_bytes,
	       (unsigned long long)(st.pm.stored_bytes + st.pm.copied_bytes),
	       (unsigned long long)mapped(),
	       (unsigned long long)((b.tv_sec - a.tv_sec) * 1000 +
				    (b.tv_nsec - a.tv_nsec) / 1000000));
	fs_crash(fs);
}

static void count(void)
{
	struct fs *fs = open_pool();

	printf("%llu\n", (unsigned long long)stats_of(fs).inodes_used);
	fs_crash(fs);
}

int main(int argc, char **argv)
{
	log_init("many");
	path = argc > 2 ? argv[2] : "";
	if (argc == 5 && !strcmp(argv[1], "fill"))
		fill(strtoull(argv[3], NULL, 0), strtoull(argv[4], NULL, 0));
	else if (argc >= 3 && !strcmp(argv[1], "kill"))
		fill_log(argc > 3);
	else if (argc == 3 && !strcmp(argv[1], "recover"))
		recover_pool();
	else if (argc == 3 && !strcmp(argv[1], "count"))
		count();
	else
		return 2;
	return 0;
}
