/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.c - pmemfs-bench: what the memory under a pool can do
 *
 * `copy` prints the table that says which way of storing and reading is the
 * fastest here: each way, from 64 bytes to 4 MiB one after the other, and
 * 4 KiB in random order. `dsa-model` is in bench_dsa.c.
 *
 *   B1  Nothing of value is stored to: the place is memory of our own, a file
 *       made for it and removed, or blocks of a pool that are free, reserved as
 *       a write would do it (in DRAM only: a crash of ours gives them back).
 *   B2  Every way ends durable, as far as the medium is: the fence is part of
 *       the time, and where pages are what is flushed, the msync. The first way
 *       is the exception, and says so.
 *   B3  All of the place and the buffers have been touched before. The ways
 *       take turns, and the median of the rounds is shown.
 *   B4  What was written is compared: a way that does not copy is no way.
 *   B5  A copying device, where there is one, is used as the daemon uses it, and
 *       what it left to the CPU is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "meta/alloc.h"
#include "meta/fs.h"
#include "pm/pm.h"
#include "pm/ways.h"
#include "tools/bench.h"
#include "tools/bench_device.h"

#define MIB		(1ull << 20)
#define LARGEST		(4 * MIB)
#define PIPE_SIZE	(1u << 20)
#define BOUNCE		(64u << 10)
#define MAX_WAYS	(PM_WAYS_MAX + 10u)
#define MAX_ROUNDS	99u

struct size { const char *name; size_t len; bool random; };

static const struct size sizes[] = {
	{ "64", 64, false }, { "256", 256, false }, { "1K", 1024, false },
	{ "4K", 4096, false }, { "4K rnd", 4096, true }, { "16K", 16384, false },
	{ "64K", 65536, false }, { "256K", 262144, false }, { "1M", MIB, false },
	{ "4M", LARGEST, false },
};

#define NR_SIZES	ARRAY_SIZE(sizes)

struct bench {
	const char *path;		/* NULL: memory of our own */
	bool json;
	unsigned rounds, ms;
	uint64_t want;			/* bytes of the place */

	struct pm *pm;
	struct fs *fs;			/* the place is in a pool */
	struct run run;			/* reserved in it */
	uint64_t off, len;		/* the place */
	char what[256];

	uint8_t *buf;			/* LARGEST bytes of our own */
	uint8_t *bounce;
	int file;			/* as many in a file in DRAM */
	int pipe[2];
	uint64_t dice;
	struct bench_device *device;	/* NULL: none */
	char device_is[200];
};

struct way {
	const char *name, *about;
	const struct pm_way *raw;
	/* Move len bytes between off and the buffer; nanoseconds, if not all
	 * of it counts, else 0. */
	int64_t (*move)(struct bench *b, const struct way *w, uint64_t off, size_t len);
	bool reads;			/* the medium is the source */
	void (*drain)(struct bench *b, uint64_t off, size_t len);	/* by_pipe() */
	size_t min;			/* shorter pieces are not moved this way */
	unsigned depth;			/* by_device(): in flight */
};

static struct way ways[MAX_WAYS];
static unsigned nr_ways;
static double ns[MAX_WAYS][NR_SIZES][MAX_ROUNDS];

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* ---- the place (B1) --------------------------------------------------------- */

static int open_fd(struct bench *b, int fd, const char *what)
{
	struct pm_config cfg = { .granularity = -1 };
	char path[32];
	int err;

	err = posix_fallocate(fd, 0, (off_t)b->want);
	if (err) {
		log_err("%llu MiB: %s", (unsigned long long)(b->want / MIB), strerror(err));
		return -err;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = pm_open(&b->pm, path, &cfg);
	if (err)
		return err;
	b->off = 0;
	b->len = b->want;
	snprintf(b->what, sizeof(b->what), "%s", what);
	return 0;
}

static int open_memory(struct bench *b)
{
	int fd = memfd_create("pmemfs-bench", MFD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = open_fd(b, fd, "memory of its own, in DRAM (name a pool or a folder to"
			     " measure what is there)");
	close(fd);
	return err;
}

static int open_folder(struct bench *b)
{
	char name[4096], what[200];
	int fd, err;

	snprintf(name, sizeof(name), "%s/pmemfs-bench.XXXXXX", b->path);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		log_err("%s: %s", name, strerror(errno));
		return err;
	}
	unlink(name);
	snprintf(what, sizeof(what), "a file of its own in %s", b->path);
	err = open_fd(b, fd, what);
	close(fd);
	return err;
}

/* As mount does it: locked, recovered. The run is given back in close_place(). */
static int open_pool(struct bench *b)
{
	struct fs_options opt = { .granularity = -1, .no_background = true };
	uint64_t want = b->want / PMEMFS_BLOCK_SIZE;
	int err = fs_open(&b->fs, b->path, &opt);

	if (err)
		return err;
	b->pm = b->fs->pm;
	err = alloc_reserve(b->fs, ALLOC_ALIGN, 0, min64(want, PMEMFS_GROUP_BLOCKS - 512),
			    LARGEST / PMEMFS_BLOCK_SIZE, &b->run);
	if (err) {
		b->run.len = 0;
		log_err("%s: no %llu MiB of free space in one piece: %s", b->path,
			LARGEST / MIB, strerror(-err));
		return err;
	}
	b->off = blk_off(b->run.blk);
	b->len = blk_off(b->run.len);
	snprintf(b->what, sizeof(b->what), "free space of the pool %s", b->path);
	return 0;
}

static int open_place(struct bench *b)
{
	struct stat st;

	if (!b->path)
		return open_memory(b);
	if (stat(b->path, &st)) {
		log_err("%s: %s", b->path, strerror(errno));
		return -errno;
	}
	return S_ISDIR(st.st_mode) ? open_folder(b) : open_pool(b);
}

static void close_place(struct bench *b)
{
	if (b->run.len)
		alloc_unreserve(b->fs, b->run);
	if (b->fs)
		fs_close(b->fs);
	else
		pm_close(b->pm);
}

/* B3 */
static int touch(struct bench *b)
{
	b->buf = aligned_alloc(4096, LARGEST + BOUNCE);
	b->bounce = b->buf + LARGEST;
	b->file = memfd_create("pmemfs-bench", MFD_CLOEXEC);
	if (!b->buf || b->file < 0 || pipe2(b->pipe, O_CLOEXEC) ||
	    fcntl(b->pipe[1], F_SETPIPE_SZ, PIPE_SIZE) < (int)PIPE_SIZE) {
		log_err("buffers: %s", strerror(errno));
		return -ENOMEM;
	}
	for (size_t i = 0; i < LARGEST + BOUNCE; i++)
		b->buf[i] = (uint8_t)(i * 31 + i / 4096 + 1);
	if (pwrite(b->file, b->buf, LARGEST, 0) != (ssize_t)LARGEST) {
		log_err("a file in memory: %s", strerror(errno));
		return -ENOSPC;
	}
	for (uint64_t at = 0; at < b->len; at += LARGEST)
		pm_copy(b->pm, b->off + at, b->buf, min64(LARGEST, b->len - at));
	return pm_fence(b->pm);
}

/* ---- the ways ------------------------------------------------------------------ */

/* B2 */
static void settle(struct bench *b, uint64_t off, size_t len)
{
	if (pm_granularity(b->pm) == PM_GRAN_PAGE)
		pm_flush(b->pm, off, len);
	pm_fence(b->pm);
}

static int64_t by_cpu(struct bench *b, const struct way *w, uint64_t off, size_t len)
{
	w->raw->store(pm_window(b->pm, off, len), b->buf, len);
	settle(b, off, len);
	return 0;
}

static int64_t by_cpu_alone(struct bench *b, const struct way *w, uint64_t off, size_t len)
{
	w->raw->store(pm_window(b->pm, off, len), b->buf, len);
	return 0;
}

static int64_t by_library(struct bench *b, const struct way *w, uint64_t off, size_t len)
{
	(void)w;
	pm_copy(b->pm, off, b->buf, len);
	pm_fence(b->pm);
	return 0;
}

static void die(const char *what)
{
	log_err("%s: %s", what, strerror(errno));
	exit(EXIT_FAILED);
}

static int64_t by_pread(struct bench *b, const struct way *w, uint64_t off, size_t len)
{
	(void)w;
	if (pread(b->file, pm_window(b->pm, off, len), len, 0) != (ssize_t)len)
		die("pread");
	pm_flush(b->pm, off, len);
	pm_fence(b->pm);
	return 0;
}

/* Through a buffer that stays in the cache. */
static int64_t by_pread_bounced(struct bench *b, const struct way *w, uint64_t off, size_t len)
{
	(void)w;
	for (size_t at = 0, n; at < len; at += n) {
		n = min64(len - at, BOUNCE);
		if (pread(b->file, b->bounce, n, (off_t)at) != (ssize_t)n)
			die("pread");
		pm_copy(b->pm, off + at, b->bounce, n);
	}
	pm_fence(b->pm);
	return 0;
}

static void drain_flushed(struct bench *b, uint64_t off, size_t len)
{
	if (read(b->pipe[0], pm_window(b->pm, off, len), len) != (ssize_t)len)
		die("read of a pipe");
	pm_flush(b->pm, off, len);
}

static void drain_bounced(struct bench *b, uint64_t off, size_t len)
{
	for (size_t at = 0, n; at < len; at += n) {
		n = min64(len - at, BOUNCE);
		if (read(b->pipe[0], b->bounce, n) != (ssize_t)n)
			die("read of a pipe");
		pm_copy(b->pm, off + at, b->bounce, n);
	}
}

/* Filling the pipe is not what is measured. */
static int64_t by_pipe(struct bench *b, const struct way *w, uint64_t off, size_t len)
{
	int64_t took = 0, start;
	size_t n;

	for (size_t at = 0; at < len; at += n) {
		n = min64(len - at, PIPE_SIZE);
		if (write(b->pipe[1], b->buf + at, n) != (ssize_t)n)
			die("write to a pipe");
		start = now();
		w->drain(b, off + at, n);
		took += now() - start;
	}
	start = now();
	pm_fence(b->pm);
	return took + now() - start;
}

static int64_t read_memcpy(struct bench *b, const struct way *w, uint64_t off, size_t len)
{
	(void)w;
	memcpy(b->buf, pm_at(b->pm, off, len), len);
	return 0;
}

static int64_t read_kernel(struct bench *b, const struct way *w, uint64_t off, size_t len)
{
	(void)w;
	if (pwrite(b->file, pm_at(b->pm, off, len), len, 0) != (ssize_t)len)
		die("pwrite");
	return 0;
}

/* 16 in flight: the last ones are waited for in measure(). */
static int64_t by_device(struct bench *b, const struct way *w, uint64_t off, size_t len)
{
	bench_device_copy(b->device, off, b->buf, len, w->depth);
	settle(b, off, len);
	return 0;
}

static int64_t by_device_worked(struct bench *b, const struct way *w, uint64_t off, size_t len)
{
	int64_t worked = bench_device_copy(b->device, off, b->buf, len, w->depth), start = now();

	settle(b, off, len);
	return worked + now() - start;
}

static void add(struct way w)
{
	ways[nr_ways++] = w;
}

static void find_device(struct bench *b)
{
	b->device = bench_device_open(b->pm, b->device_is, sizeof(b->device_is));
	if (!b->device)
		return;
	add((struct way){ .name = "dsa", .about = "the device copies; polled for, then flushed",
			  .move = by_device, .min = DEVICE_MIN, .depth = 1 });
	add((struct way){ .name = "dsa x16", .about = "sixteen in flight",
			  .move = by_device, .min = DEVICE_MIN, .depth = DEVICE_DEPTH });
	add((struct way){ .name = "dsa x16, CPU", .about = "of these, the time that the CPU works:"
			  " submit, reap, flush", .move = by_device_worked,
			  .min = DEVICE_MIN, .depth = DEVICE_DEPTH });
}

static void find_ways(void)
{
	const struct pm_way *raw[PM_WAYS_MAX];
	unsigned nr = pm_ways(raw);

	for (unsigned i = 0; i < nr; i++)
		add((struct way){ .name = raw[i]->name, .about = raw[i]->about, .raw = raw[i],
				  .move = i ? by_cpu : by_cpu_alone });
	add((struct way){ .name = "libpmem2", .about = "what nocache uses", .move = by_library });
	add((struct way){ .name = "pread+flush", .move = by_pread,
			  .about = "the kernel copies from a file; then flushed" });
	add((struct way){ .name = "pread+nocache", .move = by_pread_bounced,
			  .about = "into a buffer, from there by libpmem2" });
	add((struct way){ .name = "pipe+flush", .move = by_pipe, .drain = drain_flushed,
			  .about = "the kernel copies out of a pipe; then flushed" });
	add((struct way){ .name = "pipe+nocache", .move = by_pipe, .drain = drain_bounced,
			  .about = "into a buffer, from there by libpmem2" });
	add((struct way){ .name = "read memcpy", .about = "into a buffer", .move = read_memcpy,
			  .reads = true });
	add((struct way){ .name = "read kernel", .about = "write(2) to a file in DRAM",
			  .move = read_kernel, .reads = true });
}

/* ---- measuring -------------------------------------------------------------------- */

static uint64_t next_place(struct bench *b, const struct size *s, uint64_t at)
{
	uint64_t nr = b->len / s->len;

	if (!s->random)
		return (at + 1) % nr;
	b->dice = b->dice * 6364136223846793005ull + 1442695040888963407ull;
	return (b->dice >> 33) % nr;
}

/* What a device still has in flight. */
static int64_t finish(struct bench *b, const struct way *w)
{
	int64_t worked;

	if (!w->depth)
		return 0;
	worked = bench_device_end(b->device);
	pm_fence(b->pm);
	return worked;
}

/* One cell, one round: nanoseconds for each operation; NAN: not this way. */
static double measure(struct bench *b, const struct way *w, const struct size *s)
{
	unsigned batch = s->len < 65536 ? (unsigned)(65536 / s->len) : 1;
	int64_t limit = b->ms * 1000000ll, start = now(), all = 0, own = 0, t;
	uint64_t at = 0, n = 0;

	if (s->len < w->min)
		return NAN;
	do {
		for (unsigned i = 0; i < batch; i++, n++) {
			t = w->move(b, w, b->off + at * s->len, s->len);
			own += t;
			at = next_place(b, s, at);
		}
		all = now() - start;
	} while (all < limit);
	t = finish(b, w);
	all = now() - start;
	return (double)(own ? own + t : all) / (double)n;
}

/* B4 */
static int check(struct bench *b, const struct way *w, const struct size *s)
{
	uint64_t off = b->off + b->len / s->len / 2 * s->len;

	if (s->len < w->min)
		return 0;
	if (w->reads)
		memset(b->buf, 0, s->len);
	else
		pm_copy_zero(b->pm, off, s->len);
	if (pm_fence(b->pm))
		return -EIO;
	/* reading has changed the buffer, and the file in another way */
	if (!w->reads && pwrite(b->file, b->buf, s->len, 0) != (ssize_t)s->len)
		return -EIO;
	w->move(b, w, off, s->len);
	finish(b, w);
	if (w->move == read_kernel && pread(b->file, b->buf, s->len, 0) != (ssize_t)s->len)
		return -EIO;
	if (!memcmp(b->buf, pm_at(b->pm, off, s->len), s->len))
		return 0;
	log_err("%s, %s: what arrived is not what was sent", w->name, s->name);
	return -EIO;
}

static int measure_all(struct bench *b)
{
	int err = 0;

	for (unsigned k = 0; k < NR_SIZES; k++)
		for (unsigned r = 0; r < b->rounds; r++)
			for (unsigned i = 0; i < nr_ways; i++) {
				unsigned turn = r % 2 ? nr_ways - 1 - i : i;

				ns[turn][k][r] = measure(b, &ways[turn], &sizes[k]);
			}
	for (unsigned i = 0; i < nr_ways; i++)
		for (unsigned k = 0; k < NR_SIZES && !err; k++)
			err = check(b, &ways[i], &sizes[k]);
	return err;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(struct bench *b, unsigned way, unsigned size)
{
	double v[MAX_ROUNDS];

	memcpy(v, ns[way][size], sizeof(v[0]) * b->rounds);
	qsort(v, b->rounds, sizeof(v[0]), by_value);
	return v[b->rounds / 2];
}

/* ---- telling ----------------------------------------------------------------------- */

static unsigned way_named(const char *name)
{
	for (unsigned i = 0; i < nr_ways; i++)
		if (!strcmp(ways[i].name, name))
			return i;
	return 0;
}

/* The cached copy that flushes fastest here, at this size; 0: there is none. */
static unsigned best_cached(struct bench *b, unsigned k)
{
	unsigned best = 0;

	for (unsigned i = 1; i < nr_ways; i++)
		if (!strncmp(ways[i].name, "memcpy+", 7) &&
		    (!best || median(b, i, k) < median(b, best, k)))
			best = i;
	return best;
}

static void print_table(struct bench *b, const char *unit, bool rate)
{
	printf("\n%-18s", unit);
	for (unsigned k = 0; k < NR_SIZES; k++)
		printf(" %7s", sizes[k].name);
	for (unsigned i = 0; i < nr_ways; i++) {
		printf("\n%-18s", ways[i].name);
		for (unsigned k = 0; k < NR_SIZES; k++) {
			double v = median(b, i, k);

			if (isnan(v))
				printf(" %7s", "-");
			else if (rate)
				printf(" %7.2f", (double)sizes[k].len / v);
			else
				printf(" %7.0f", v);
		}
	}
	putchar('\n');
}

static void print_text(struct bench *b)
{
	unsigned lib = way_named("libpmem2");
	char desc[160];

	printf("%llu MiB of %s\n%s\n", (unsigned long long)(b->len / MIB), b->what,
	       pm_describe(b->pm, desc, sizeof(desc)));
	printf("%u rounds of %u ms, median; the source is in the cache, the target mostly not\n",
	       b->rounds, b->ms);
	print_table(b, "GB/s", true);
	print_table(b, "ns each", false);
	putchar('\n');
	for (unsigned i = 0; i < nr_ways; i++)
		printf("%-18s %s\n", ways[i].name, ways[i].about);
	if (b->device)
		printf("%-18s %s; it copied %.1f %% of its bytes\n", "the device", b->device_is,
		       bench_device_share(b->device) * 100);
	else
		printf("%-18s %s\n", "dsa", b->device_is);
	printf("\nnocache against the best cached copy and flush:");
	for (unsigned k = 0; k < NR_SIZES; k++) {
		unsigned c = best_cached(b, k);

		if (c && sizes[k].len >= 65536)
			printf(" %s %.2fx", sizes[k].name, median(b, c, k) / median(b, lib, k));
	}
	putchar('\n');
}

static void print_json(struct bench *b)
{
	struct json_object *out = json_object_new_object(), *rows = json_object_new_array();
	char desc[160];

	json_object_object_add(out, "place", json_object_new_string(b->what));
	json_object_object_add(out, "medium", json_object_new_string(
				       pm_describe(b->pm, desc, sizeof(desc))));
	json_object_object_add(out, "bytes", json_object_new_int64((int64_t)b->len));
	json_object_object_add(out, "rounds", json_object_new_int((int)b->rounds));
	json_object_object_add(out, "ms", json_object_new_int((int)b->ms));
	json_object_object_add(out, "device", json_object_new_string(b->device_is));
	json_object_object_add(out, "device_share", json_object_new_double(
				       b->device ? bench_device_share(b->device) : 0));
	for (unsigned i = 0; i < nr_ways; i++)
		for (unsigned k = 0; k < NR_SIZES; k++) {
			double v = median(b, i, k);
			struct json_object *row = isnan(v) ? NULL : json_object_new_object();

			if (!row)
				continue;

			json_object_object_add(row, "way", json_object_new_string(ways[i].name));
			json_object_object_add(row, "size",
					       json_object_new_int64((int64_t)sizes[k].len));
			json_object_object_add(row, "random",
					       json_object_new_boolean(sizes[k].random));
			json_object_object_add(row, "ns", json_object_new_double(v));
			json_object_object_add(row, "gb_s", json_object_new_double(
						       (double)sizes[k].len / v));
			json_object_array_add(rows, row);
		}
	json_object_object_add(out, "results", rows);
	puts(json_object_to_json_string_ext(out, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(out);
}

/* ---- the command -------------------------------------------------------------------- */

static void usage(FILE *f)
{
	fputs("usage: pmemfs-bench copy [--json] [--rounds N] [--time MS] [--size MIB] [PLACE]\n"
	      "       pmemfs-bench dsa-model [-h] ...\n"
	      "       pmemfs-bench -V | -h\n"
	      "Measure each way to write and read the memory of PLACE: free space of a pool\n"
	      "that is not mounted, or a file made in a folder; without one, DRAM.\n\n"
	      "  --json            print JSON\n"
	      "  --rounds N        measure each N times, print the median (3)\n"
	      "  --time MS         for so long (10)\n"
	      "  --size MIB        how much memory to use (64)\n", f);
}

static bool number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (!errno && end != text && !*end && text[0] != '-' && *out >= min && *out <= max)
		return true;
	log_err("%s: must be a number from %llu to %llu", text, (unsigned long long)min,
		(unsigned long long)max);
	return false;
}

/* 0, or an exit status + 1. */
static int take_options(struct bench *b, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'J' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "time", required_argument, NULL, 't' },
		{ "size", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	uint64_t n = 0;
	int opt;

	while ((opt = getopt_long(argc, argv, "hV", longs, NULL)) != -1) {
		if (opt == 'J') {
			b->json = true;
		} else if (opt == 'r' && number(optarg, 1, MAX_ROUNDS, &n)) {
			b->rounds = (unsigned)n;
		} else if (opt == 't' && number(optarg, 1, 10000, &n)) {
			b->ms = (unsigned)n;
		} else if (opt == 's' && number(optarg, LARGEST / MIB, 1u << 20, &n)) {
			b->want = n * MIB;
		} else if (opt == 'V') {
			puts("pmemfs-bench " PACKAGE_VERSION);
			return EXIT_OK + 1;
		} else {
			if (opt == 'h' || opt == '?')
				usage(opt == 'h' ? stdout : stderr);
			return (opt == 'h' ? EXIT_OK : EXIT_USAGE) + 1;
		}
	}
	argv += optind;
	argc -= optind;
	if (argc < 1 || argc > 2 || strcmp(argv[0], "copy")) {
		usage(stderr);
		return EXIT_USAGE + 1;
	}
	b->path = argv[1];
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = { .rounds = 3, .ms = 10, .want = 64 * MIB, .file = -1 };
	int err;

	log_init("pmemfs-bench");
	if (argc > 1 && !strcmp(argv[1], "dsa-model"))
		return bench_dsa_model(argc - 1, argv + 1);
	err = take_options(&b, argc, argv);
	if (err)
		return err - 1;
	pm_fault_install();
	err = open_place(&b);
	if (!err)
		err = touch(&b);
	if (!err) {
		find_ways();
		find_device(&b);
		err = measure_all(&b);
	}
	if (!err)
		b.json ? print_json(&b) : print_text(&b);
	bench_device_close(b.device);
	if (b.pm)
		close_place(&b);
	free(b.buf);
	return err ? EXIT_FAILED : EXIT_OK;
}
