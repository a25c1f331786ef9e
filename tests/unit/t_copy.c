/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_copy.c - every route puts the right bytes in place and leaves them flushed
 */
#include "base/count.h"
#include "copy/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bytes.h"
#include "pm/backend.h"
#include "support/check_main.h"
#include "support/pm_mem.h"
#include "support/pm_record.h"

#define SIZE	(1u << 20)

static struct pm_mem mem;
static struct pm_rec *rec;
static struct pm *pm;
static uint8_t src[200000], *image;	/* several turns of the route's buffer */

static void fill_src(void)
{
	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i * 7 + i / 256 + 1);
}

static void start_on(int granularity)
{
	struct pm_config cfg = { .backend = &pm_backend_record, .granularity = granularity };

	mem = (struct pm_mem){ .size = SIZE };
	rec = rec_new(&pm_backend_mem, &mem);
	cfg.backend_arg = rec;
	ck_assert_int_eq(pm_open(&pm, "-", &cfg), 0);
	image = pm_mem_map(SIZE);
	fill_src();
}

static void start(void)
{
	start_on(-1);
}

static void stop(void)
{
	pm_close(pm);
	rec_free(rec);
	pm_mem_free(&mem);
	pm_mem_unmap(image, SIZE);
}

static void make_pipe(int fd[2], size_t fill)
{
	ck_assert_int_eq(pipe(fd), 0);
	ck_assert_int_ge(fcntl(fd[1], F_SETPIPE_SZ, 1 << 18), (int)fill);
	ck_assert_int_eq(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(write(fd[1], src, fill), (ssize_t)fill);
}

/* One fence makes what copy_in left durable, to the byte. */
static void expect_durable(uint64_t off, const uint8_t *want, size_t len)
{
	ck_assert_uint_eq(rec_uncovered(rec, NULL), 0);
	ck_assert_int_eq(pm_fence(pm), 0);
	rec_image(rec, rec_now(rec), REC_NONE, 0, image);
	ck_assert(!memcmp(image + off, want, len));
	ck_assert(off == 0 || image[off - 1] == 0);
	ck_assert_uint_eq(image[off + len], 0);
}

START_TEST(memory_route)
{
	static const size_t lens[] = { 1, 7, 63, 64, 65, 4096, 12345 };

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		struct payload p = payload_mem(src, sizeof(src));

		start();
		ck_assert_int_eq(copy_in(pm, 4096 + i, &p, lens[i]), 0);
		ck_assert_uint_eq(p.len, sizeof(src) - lens[i]);
		ck_assert_ptr_eq(p.mem, src + lens[i]);
		expect_durable(4096 + i, src, lens[i]);
		ck_assert_uint_eq(count_sum(pm_counters(pm), COUNT_NOCACHE), lens[i]);
		ck_assert_uint_eq(count_sum(pm_counters(pm), COUNT_PIPE), 0);
		stop();
	}
}
END_TEST

static void use_pipe(int granularity, unsigned windows)
{
	struct rec_counts n;
	struct payload p;
	int fd[2];

	start_on(granularity);
	make_pipe(fd, sizeof(src));
	p = payload_pipe(fd[0], sizeof(src));
	ck_assert_int_eq(copy_in(pm, 100, &p, 5000), 0);
	expect_durable(100, src, 5000);
	ck_assert_int_eq(copy_in(pm, 8192, &p, sizeof(src) - 5000), 0);
	expect_durable(8192, src + 5000, sizeof(src) - 5000);
	ck_assert_uint_eq(p.len, 0);
	ck_assert_uint_eq(count_sum(pm_counters(pm), COUNT_PIPE), sizeof(src));
	ck_assert_uint_eq(count_sum(pm_counters(pm), COUNT_NOCACHE), 0);
	rec_counts(rec, &n);
	ck_assert_uint_eq(n.windows, windows);
	close(fd[0]);
	close(fd[1]);
	stop();
}

/* Straight into the pool, but where that means to flush lines. */
START_TEST(pipe_route)
{
	use_pipe(PM_GRAN_LINE, 0);
	use_pipe(PM_GRAN_PAGE, 2);
	use_pipe(PM_GRAN_BYTE, 2);
}
END_TEST

/* ---- pipe to fsdax --------------------------------------------------------------- */

/* A file that says it is on fsdax; its page cache is one memory with the mapping, too. */
static int open_as_fsdax(struct pm_map *m, const char *path, const struct pm_config *cfg)
{
	int err = pm_backend_pmem2.open(m, path, cfg);

	m->kind = PM_FSDAX;
	return err;
}

#define PATH_SIZE	64

static struct pm *open_fsdax(char *path, int granularity)
{
	static struct pm_backend fake;
	struct pm_config cfg = { .backend = &fake, .granularity = granularity };
	struct pm *fsdax;
	int fd;

	fake = pm_backend_pmem2;
	fake.open = open_as_fsdax;
	snprintf(path, PATH_SIZE, "/tmp/pmemfs-t_copy-XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	close(fd);
	fill_src();
	ck_assert_int_eq(pm_open(&fsdax, path, &cfg), 0);
	return fsdax;
}

START_TEST(splice_route)
{
	struct counters *c;
	struct payload p;
	char path[PATH_SIZE];
	struct pm *fsdax = open_fsdax(path, PM_GRAN_LINE);
	int fd[2];

	c = pm_counters(fsdax);
	make_pipe(fd, sizeof(src));
	p = payload_pipe(fd[0], sizeof(src));
	ck_assert_int_eq(copy_in(fsdax, 100, &p, 5000), 0);
	ck_assert_int_eq(copy_in(fsdax, 8192, &p, sizeof(src) - 5000), 0);
	ck_assert_uint_eq(p.len, 0);
	ck_assert(!memcmp(pm_at(fsdax, 100, 5000), src, 5000));
	ck_assert(!memcmp(pm_at(fsdax, 8192, sizeof(src) - 5000), src + 5000,
			  sizeof(src) - 5000));
	ck_assert_uint_eq(count_sum(c, COUNT_SPLICED), sizeof(src));
	ck_assert_uint_eq(count_sum(c, COUNT_PIPE), 0);
	ck_assert_uint_eq(count_sum(c, COUNT_FLUSHES), 0);
	/* dry, then at its end */
	ck_assert_int_eq(write(fd[1], src, 1000), 1000);
	p = payload_pipe(fd[0], 5000);
	ck_assert_int_eq(copy_in(fsdax, 0, &p, 5000), -EIO);
	close(fd[1]);
	ck_assert_int_eq(copy_in(fsdax, 0, &p, 10), -EIO);
	close(fd[0]);
	pm_close(fsdax);
	unlink(path);
}
END_TEST

/* Where pages are synced the kernel's copy is no different from our own. */
START_TEST(splice_not_into_a_page_cache)
{
	char path[PATH_SIZE];
	struct pm *fsdax = open_fsdax(path, PM_GRAN_PAGE);

	ck_assert(!pm_can_splice(fsdax));
	ck_assert_int_eq(pm_splice(fsdax, 0, 0, 1), -EOPNOTSUPP);
	pm_close(fsdax);
	unlink(path);
}
END_TEST

/* A splice that is refused (here: past a limit) leaves it to the other route. */
START_TEST(splice_refused)
{
	const struct rlimit small = { 4096, RLIM_INFINITY };
	struct rlimit was;
	struct payload p;
	char path[PATH_SIZE];
	struct pm *fsdax = open_fsdax(path, PM_GRAN_LINE);
	int fd[2];

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	setrlimit(RLIMIT_FSIZE, &small);
	make_pipe(fd, 20000);
	p = payload_pipe(fd[0], 20000);
	ck_assert_int_eq(copy_in(fsdax, 1000, &p, 20000), 0);
	setrlimit(RLIMIT_FSIZE, &was);
	ck_assert(!memcmp(pm_at(fsdax, 1000, 20000), src, 20000));
	ck_assert_uint_ne(count_sum(pm_counters(fsdax), COUNT_FLUSHES) +
			  count_sum(pm_counters(fsdax), COUNT_COPIES), 0);
	close(fd[0]);
	close(fd[1]);
	pm_close(fsdax);
	unlink(path);
}
END_TEST

START_TEST(pipe_that_runs_dry_is_an_error)
{
	struct payload p;
	int fd[2];

	start();
	make_pipe(fd, 1000);
	p = payload_pipe(fd[0], 5000);
	ck_assert_int_eq(copy_in(pm, 0, &p, 5000), -EIO);	/* would block */
	ck_assert_uint_eq(rec_uncovered(rec, NULL), 0);
	close(fd[1]);
	ck_assert_int_eq(copy_in(pm, 0, &p, 10), -EIO);		/* end */
	close(fd[0]);
	ck_assert_int_eq(copy_in(pm, 0, &p, 10), -EIO);		/* no pipe */
	make_pipe(fd, 100000);				/* in its second turn */
	p = payload_pipe(fd[0], 150000);
	ck_assert_int_eq(copy_in(pm, 0, &p, 150000), -EIO);
	ck_assert_uint_eq(p.len, 50000);
	close(fd[0]);
	close(fd[1]);
	stop();
}
END_TEST

START_TEST(zeros)
{
	static const uint8_t none[5000];
	struct payload p = payload_mem(src, sizeof(src));

	start();
	ck_assert_int_eq(copy_in(pm, 4096, &p, 8192), 0);
	copy_zero(pm, 4100, 5000);
	copy_zero(pm, 4100, 0);
	pm_fence(pm);
	rec_image(rec, rec_now(rec), REC_NONE, 0, image);
	ck_assert(!memcmp(image + 4096, src, 4));
	ck_assert(!memcmp(image + 4100, none, 5000));
	ck_assert(!memcmp(image + 9100, src + 5004, 8192 - 5004));
	stop();
}
END_TEST

CHECK_MAIN("copy", memory_route, pipe_route, splice_route, splice_not_into_a_page_cache,
	   splice_refused, pipe_that_runs_dry_is_an_error, zeros)
