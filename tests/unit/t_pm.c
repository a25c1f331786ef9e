/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_pm.c - pools on real files: opening, refusing, storing, syncing, faulting
 */
#define _GNU_SOURCE		/* unshare */
#include "pm/pm.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "support/check_main.h"

#define SIZE	(4u << 20)

static char path[256], last_line[2048];

static void catch_line(enum log_level lvl, const char *line)
{
	(void)lvl;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

static bool said(const char *what)
{
	return strstr(last_line, what) != NULL;
}

/* A file of the given size in dir; log lines are kept for said(). */
static void make_file(const char *dir, off_t size)
{
	int fd;

	log_to(catch_line);
	last_line[0] = '\0';
	snprintf(path, sizeof(path), "%s/pmemfs-t_pm-XXXXXX", dir);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, size), 0);
	close(fd);
}

static int open_as(struct pm **pm, unsigned flags, int granularity)
{
	struct pm_config cfg = { .flags = flags, .granularity = granularity };

	return pm_open(pm, path, &cfg);
}

static struct pm *must_open(unsigned flags, int granularity)
{
	struct pm *pm;

	ck_assert_msg(open_as(&pm, flags, granularity) == 0, "%s", last_line);
	return pm;
}

static uint64_t in_file(uint64_t off)
{
	int fd = open(path, O_RDONLY);
	uint64_t v;

	ck_assert_int_eq(pread(fd, &v, 8, (off_t)off), 8);
	close(fd);
	return load64(&v);
}

/* ---- opening ----------------------------------------------------------- */

START_TEST(tmpfs_is_dram_in_the_role_of_pmem)
{
	char text[128];
	struct pm *pm;

	make_file("/dev/shm", SIZE + 100);	/* the tail is ignored */
	pm = must_open(0, -1);
	ck_assert_uint_eq(pm_size(pm), SIZE);
	ck_assert_int_eq(pm_kind(pm), PM_TMPFS);
	ck_assert_int_eq(pm_granularity(pm), PM_GRAN_LINE);
	ck_assert(!pm_survives_power_loss(pm));
	ck_assert(pm_has_holes(pm));
	ck_assert_uint_eq((uintptr_t)pm_at(pm, 0, 0) % (2 << 20), 0);
	ck_assert_str_eq(pm_describe(pm, text, sizeof(text)),
			 "tmpfs file, cache-line granularity, no 2 MiB pages "
			 "(DRAM emulating pmem)");
	pm_close(pm);
	unlink(path);
}
END_TEST

START_TEST(granularity_can_be_forced)
{
	struct pm *pm;

	make_file("/dev/shm", SIZE);
	for (int g = PM_GRAN_BYTE; g <= PM_GRAN_PAGE; g++) {
		pm = must_open(0, g);
		ck_assert_int_eq(pm_granularity(pm), g);
		ck_assert(!pm_survives_power_loss(pm));
		pm_close(pm);
	}
	ck_assert_ptr_null(getenv("PMEM2_FORCE_GRANULARITY"));
	/* the environment is asked at every open, and wins over the guess */
	setenv("PMEM2_FORCE_GRANULARITY", "page", 1);
	pm = must_open(0, -1);
	ck_assert_int_eq(pm_granularity(pm), PM_GRAN_PAGE);
	pm_close(pm);
	/* but not over the caller, who leaves it as it was */
	pm = must_open(0, PM_GRAN_BYTE);
	ck_assert_int_eq(pm_granularity(pm), PM_GRAN_BYTE);
	pm_close(pm);
	ck_assert_str_eq(getenv("PMEM2_FORCE_GRANULARITY"), "page");
	unsetenv("PMEM2_FORCE_GRANULARITY");
	pm = must_open(0, -1);
	ck_assert_int_eq(pm_granularity(pm), PM_GRAN_LINE);
	pm_close(pm);
	unlink(path);
}
END_TEST

START_TEST(unfit_files_are_refused_with_a_reason)
{
	struct pm *pm;

	make_file("/dev/shm", 0);
	ck_assert_int_eq(open_as(&pm, 0, -1), -EINVAL);
	ck_assert(said("empty"));
	unlink(path);
	ck_assert_int_eq(open_as(&pm, 0, -1), -ENOENT);
	ck_assert(said(path));
	snprintf(path, sizeof(path), "/dev/shm");
	ck_assert_int_eq(open_as(&pm, 0, -1), -EMEDIUMTYPE);
	ck_assert(said("directory"));
	snprintf(path, sizeof(path), "/dev/null");
	ck_assert_int_eq(open_as(&pm, 0, -1), -EMEDIUMTYPE);
}
END_TEST

START_TEST(block_devices_are_told_what_to_do)
{
	struct pm *pm;

	log_to(catch_line);
	snprintf(path, sizeof(path), "/dev/shm/pmemfs-t_pm-blk-%d", (int)getpid());
	if (mknod(path, S_IFBLK | 0600, makedev(7, 250)) < 0)
		return;			/* not root */
	ck_assert_int_eq(open_as(&pm, 0, -1), -ENOTBLK);
	ck_assert(said("ndctl create-namespace"));
	unlink(path);
}
END_TEST

START_TEST(one_writer_or_many_readers)
{
	struct pm *a, *b, *c;

	make_file("/dev/shm", SIZE);
	a = must_open(0, -1);
	ck_assert_int_eq(open_as(&b, 0, -1), -EBUSY);
	ck_assert(said("unmount"));
	ck_assert_int_eq(open_as(&b, PM_RDONLY, -1), -EBUSY);
	b = must_open(PM_RDONLY | PM_NOLOCK, -1);
	pm_close(b);
	pm_close(a);
	b = must_open(PM_RDONLY, -1);
	c = must_open(PM_RDONLY, -1);
	ck_assert_int_eq(open_as(&a, 0, -1), -EBUSY);
	pm_close(b);
	pm_close(c);
	unlink(path);
}
END_TEST

START_TEST(read_only_stores_stay_in_dram)
{
	uint64_t v = 42;
	struct pm *pm;

	make_file("/dev/shm", SIZE);
	ck_assert_int_eq(chmod(path, 0400), 0);
	pm = must_open(PM_RDONLY, -1);
	ck_assert_int_eq(pm_granularity(pm), PM_GRAN_LINE);
	pm_write(pm, 4096, &v, 8);
	pm_copy(pm, 8192, &v, 8);
	pm_flush(pm, 4096, 8);
	ck_assert_int_eq(pm_fence(pm), 0);
	ck_assert_uint_eq(load64(pm_at(pm, 4096, 8)), 42);
	ck_assert_uint_eq(load64(pm_at(pm, 8192, 8)), 42);
	ck_assert_uint_eq(in_file(4096), 0);
	ck_assert_uint_eq(in_file(8192), 0);
	pm_close(pm);
	unlink(path);
}
END_TEST

/* ---- storing ----------------------------------------------------------- */

static void store_everywhere(struct pm *pm)
{
	static uint8_t pattern[100000];
	struct pm_stats st;
	uint8_t *w;

	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 13 + 1);
	pm_write(pm, 4097, pattern, 70000);
	ck_assert(!memcmp(pm_at(pm, 4097, 70000), pattern, 70000));
	pm_zero(pm, 5000, 20000);
	ck_assert_uint_eq(load64(pm_at(pm, 5000, 8)), 0);
	ck_assert_uint_eq(load64(pm_at(pm, 24992, 8)), 0);
	ck_assert(!memcmp(pm_at(pm, 25000, 100), pattern + 25000 - 4097, 100));
	pm_flush(pm, 4097, 70000);
	for (size_t len = 1; len < sizeof(pattern); len = len * 3 + 1) {
		pm_copy(pm, (1 << 20) + len, pattern, len);
		ck_assert(!memcmp(pm_at(pm, (1 << 20) + len, len), pattern, len));
	}
	pm_copy_zero(pm, (1 << 20) + 3000, 3000);
	ck_assert_uint_eq(load64(pm_at(pm, (1 << 20) + 5992, 8)), 0);
	w = pm_window(pm, SIZE - 4096, 4096);
	memset(w, 7, 4096);
	pm_window_done(pm, SIZE - 4096, 4096);
	pm_flush(pm, SIZE - 4096, 4096);
	ck_assert_int_eq(pm_fence(pm), 0);
	ck_assert_int_eq(pm_fence(pm), 0);
	ck_assert_uint_eq(in_file(SIZE - 8), 0x0707070707070707ull);
	pm_get_stats(pm, &st);
	ck_assert_uint_eq(st.fences, 2);
	ck_assert_uint_eq(st.flushes, 2);
	ck_assert_uint_eq(st.flushed_bytes, 70000 + 4096);
	ck_assert_uint_eq(st.stored_bytes, 70000 + 20000 + 4096);
}

START_TEST(stores_on_every_granularity)
{
	for (int g = PM_GRAN_BYTE; g <= PM_GRAN_PAGE; g++) {
		struct pm *pm;

		make_file("/dev/shm", SIZE);
		pm = must_open(0, g);
		store_everywhere(pm);
		pm_close(pm);
		unlink(path);
	}
}
END_TEST

START_TEST(plain_files_are_synced_by_page)
{
	const char *dir = getenv("TMPDIR") ? getenv("TMPDIR") : "/var/tmp";
	struct pm *pm;

	make_file(dir, SIZE);
	pm = must_open(0, -1);
	if (pm_kind(pm) == PM_FILE) {
		ck_assert_int_eq(pm_granularity(pm), PM_GRAN_PAGE);
		ck_assert(pm_survives_power_loss(pm));
	}
	store_everywhere(pm);
	pm_close(pm);
	pm = must_open(0, PM_GRAN_LINE);
	if (pm_kind(pm) == PM_FILE)
		ck_assert(!pm_survives_power_loss(pm));
	pm_close(pm);
	unlink(path);
}
END_TEST

static void bits_like_one_by_one(struct pm *pm, uint32_t bit, uint32_t nr)
{
	uint8_t want[64];
	const uint8_t *got = pm_at(pm, 4096, sizeof(want));

	for (int set = 1; set >= 0; set--) {
		memset(want, set ? 0 : 0xff, sizeof(want));
		pm_write(pm, 4096, want, sizeof(want));
		for (uint32_t b = bit; b < bit + nr; b++)
			want[b / 8] ^= (uint8_t)(1u << b % 8);
		pm_bits(pm, 4096, bit, nr, set);
		ck_assert(!memcmp(got, want, sizeof(want)));
	}
}

START_TEST(bits_of_every_run)
{
	struct pm *pm;

	make_file("/dev/shm", SIZE);
	pm = must_open(0, -1);
	for (uint32_t bit = 0; bit < 130; bit++)
		for (uint32_t nr = 0; nr < 270; nr++)
			bits_like_one_by_one(pm, bit, nr);
	pm_close(pm);
	unlink(path);
}
END_TEST

struct toggler { struct pm *pm; uint32_t first; };

static void *toggle_own_bit(void *arg)
{
	const struct toggler *t = arg;

	for (unsigned i = 0; i < 200001; i++)
		pm_bits(t->pm, 0, t->first, 1, i % 2 == 0);
	return NULL;
}

START_TEST(bits_of_one_word_from_two_threads)
{
	struct toggler t[2];
	pthread_t id[2];
	struct pm *pm;

	make_file("/dev/shm", SIZE);
	pm = must_open(0, -1);
	for (unsigned i = 0; i < 2; i++) {
		t[i] = (struct toggler){ pm, 3 + i };
		pthread_create(&id[i], NULL, toggle_own_bit, &t[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(id[i], NULL);
	ck_assert_uint_eq(load64(pm_at(pm, 0, 8)), 0x18);
	pm_close(pm);
	unlink(path);
}
END_TEST

static void *store_and_fence(void *arg)
{
	const struct toggler *t = arg;

	for (uint64_t i = 1; i <= 200; i++) {
		uint64_t off = i % 100 * 4096 + t->first * 8;

		pm_copy(t->pm, off, &i, 8);
		ck_assert_int_eq(pm_fence(t->pm), 0);
	}
	return NULL;
}

START_TEST(page_fences_from_two_threads)
{
	struct toggler t[2];
	pthread_t id[2];
	struct pm *pm;

	make_file("/dev/shm", SIZE);
	pm = must_open(0, PM_GRAN_PAGE);
	for (unsigned i = 0; i < 2; i++) {
		t[i] = (struct toggler){ pm, i };
		pthread_create(&id[i], NULL, store_and_fence, &t[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(id[i], NULL);
	pm_close(pm);
	unlink(path);
}
END_TEST

/* What t_pm's own msync(2) below saw, and whether it shall fail. */
static struct { uintptr_t from, to; unsigned calls; bool fail; } synced;

int msync(void *addr, size_t len, int flags)
{
	synced.from = (uintptr_t)addr;
	synced.to = synced.from + len;
	synced.calls++;
	if (synced.fail) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_msync, addr, len, flags);
}

START_TEST(page_fence_is_one_msync_over_all_that_was_flushed)
{
	uintptr_t base;
	struct pm *pm;
	uint64_t v = 3;

	make_file("/dev/shm", SIZE);
	pm = must_open(0, PM_GRAN_PAGE);
	base = (uintptr_t)pm_at(pm, 0, 0);
	pm_copy(pm, 300000, &v, 8);
	pm_write(pm, 90000, &v, 8);
	pm_flush(pm, 90000, 8);
	pm_copy_zero(pm, 200000, 8);
	synced.calls = 0;
	ck_assert_int_eq(pm_fence(pm), 0);
	ck_assert_uint_eq(synced.calls, 1);
	ck_assert_uint_eq(synced.from % 4096, 0);
	ck_assert_uint_le(synced.from, base + 90000);
	ck_assert_uint_ge(synced.to, base + 300008);
	/* nothing flushed since: nothing to sync */
	ck_assert_int_eq(pm_fence(pm), 0);
	ck_assert_uint_eq(synced.calls, 1);
	pm_close(pm);
	unlink(path);
}
END_TEST

START_TEST(a_failed_msync_is_never_retried_into_success)
{
	struct pm *pm;
	uint64_t v = 3;

	make_file("/dev/shm", SIZE);
	pm = must_open(0, PM_GRAN_PAGE);
	pm_copy(pm, 4096, &v, 8);
	synced.fail = true;
	ck_assert_int_eq(pm_fence(pm), -EIO);
	ck_assert(said("msync"));
	synced.fail = false;
	ck_assert_int_eq(pm_fence(pm), -EIO);
	pm_copy(pm, 4096, &v, 8);
	synced.calls = 0;
	ck_assert_int_eq(pm_fence(pm), -EIO);
	ck_assert_uint_eq(synced.calls, 0);
	pm_close(pm);
	unlink(path);
}
END_TEST

/* Runs fn in a child that must die of sig. */
static void dies_of(int sig, void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		fn();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == sig);
}

static void store_outside(void)
{
	uint64_t v = 0;

	pm_write(must_open(0, -1), SIZE - 4, &v, 8);
}

static void read_outside(void)
{
	pm_at(must_open(0, -1), UINT64_MAX, 1);
}

START_TEST(stores_outside_the_pool_stop_the_program)
{
	make_file("/dev/shm", SIZE);
	dies_of(SIGABRT, store_outside);
	dies_of(SIGABRT, read_outside);
	unlink(path);
}
END_TEST

/* ---- faults ------------------------------------------------------------ */

static uint64_t read_word(struct pm *pm, uint64_t off)
{
	return *(const volatile uint64_t *)pm_at(pm, off, 8);
}

/* A pool whose second half has gone: touching it is a SIGBUS. */
static struct pm *open_cut(unsigned flags, int granularity)
{
	struct pm *pm;

	make_file("/dev/shm", SIZE);
	pm_fault_install();
	pm = must_open(flags, granularity);
	ck_assert_int_eq(truncate(path, SIZE / 2), 0);
	return pm;
}

START_TEST(a_fault_costs_the_request_and_is_repaired)
{
	struct pm *pm = open_cut(0, -1);
	uint64_t mark = pm_fault_mark(pm), last, v = 5;

	read_word(pm, 4096);
	ck_assert(!pm_faulted(pm, mark));
	ck_assert_uint_eq(read_word(pm, SIZE / 2 + 8), 0);
	ck_assert(pm_faulted(pm, mark));
	ck_assert_uint_eq(pm_fault_count(pm, &last), 1);
	ck_assert_uint_eq(last, SIZE / 2 + 8);
	/* who starts while a stand-in is there is not believed either */
	mark = pm_fault_mark(pm);
	ck_assert(pm_faulted(pm, mark));
	pm_write(pm, SIZE - 4096, &v, 8);
	pm_bits(pm, SIZE - 8192, 0, 64, true);
	ck_assert_uint_eq(pm_fault_count(pm, NULL), 3);
	pm_fault_repair(pm);
	ck_assert(pm_faulted(pm, mark));
	ck_assert(said("medium failed"));
	mark = pm_fault_mark(pm);
	ck_assert(!pm_faulted(pm, mark));
	/* repaired means: the pool again, not zeros that nobody asked for */
	ck_assert_int_eq(truncate(path, SIZE), 0);
	pm_write(pm, SIZE - 4096, &v, 8);
	ck_assert_uint_eq(in_file(SIZE - 4096), 5);
	ck_assert(!pm_faulted(pm, mark));
	pm_close(pm);
	unlink(path);
}
END_TEST

START_TEST(many_faults_are_repaired_all_at_once)
{
	struct pm *pm = open_cut(0, -1);
	uint64_t mark, v = 9;

	for (uint64_t off = SIZE / 2; off < SIZE; off += 4096)
		read_word(pm, off);
	ck_assert_uint_eq(pm_fault_count(pm, NULL), SIZE / 2 / 4096);
	pm_fault_repair(pm);
	mark = pm_fault_mark(pm);
	ck_assert_int_eq(truncate(path, SIZE), 0);
	for (uint64_t off = SIZE / 2; off < SIZE; off += 4096)
		pm_write(pm, off, &v, 8);
	ck_assert(!pm_faulted(pm, mark));
	ck_assert_uint_eq(in_file(SIZE / 2), 9);
	ck_assert_uint_eq(in_file(SIZE - 4096), 9);
	pm_close(pm);
	unlink(path);
}
END_TEST

START_TEST(every_kind_of_store_may_fault)
{
	static uint8_t data[8192];

	for (int g = PM_GRAN_BYTE; g <= PM_GRAN_PAGE; g++) {
		struct pm *pm = open_cut(0, g);
		uint64_t mark = pm_fault_mark(pm);

		pm_copy(pm, SIZE / 2 + 100, data, sizeof(data));
		pm_zero(pm, SIZE / 2 + 16384, 4096);
		pm_copy_zero(pm, SIZE / 2 + 65536, 10000);
		pm_flush(pm, SIZE / 2, 100000);
		pm_fence(pm);
		ck_assert(pm_faulted(pm, mark));
		pm_fault_repair(pm);
		ck_assert(!pm_faulted(pm, pm_fault_mark(pm)));
		pm_close(pm);
		unlink(path);
	}
}
END_TEST

START_TEST(private_pools_keep_what_was_stored)
{
	struct pm *pm = open_cut(PM_RDONLY, -1);
	uint64_t v = 77;

	pm_write(pm, 4096, &v, 8);
	read_word(pm, SIZE / 2);
	pm_fault_repair(pm);
	ck_assert(!pm_faulted(pm, pm_fault_mark(pm)));
	ck_assert_uint_eq(read_word(pm, 4096), 77);
	/* a page stored to and lost cannot be had again: faulted for good */
	pm_write(pm, SIZE / 2 + 8192, &v, 8);
	pm_fault_repair(pm);
	ck_assert(pm_faulted(pm, pm_fault_mark(pm)));
	pm_close(pm);
	unlink(path);
}
END_TEST

/* A sparse pool on a filesystem that is full: no memory behind a page. */
START_TEST(a_full_filesystem_is_a_fault)
{
	char dir[] = "/tmp/pmemfs-t_pm-XXXXXX";
	uint64_t mark, v = 1;
	struct pm *pm;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("t_pm", dir, "tmpfs", 0, "size=1m") < 0) {
		rmdir(dir);
		return;			/* not root */
	}
	make_file(dir, SIZE);
	pm_fault_install();
	pm = must_open(0, -1);
	mark = pm_fault_mark(pm);
	for (uint64_t off = 0; off < SIZE; off += 4096)
		pm_write(pm, off, &v, 8);
	ck_assert(pm_faulted(pm, mark));
	ck_assert_uint_eq(pm_fault_count(pm, NULL), (SIZE - (1 << 20)) / 4096);
	pm_fault_repair(pm);
	ck_assert(!pm_faulted(pm, pm_fault_mark(pm)));
	ck_assert_uint_eq(read_word(pm, 0), 1);
	pm_close(pm);
	unlink(path);
	umount(dir);
	rmdir(dir);
}
END_TEST

struct reader { struct pm *pm; bool stop; uint64_t wrong; };

/* Reads a page that has 1s in the pool: zeros must never be believed. */
static void *read_and_believe(void *arg)
{
	struct reader *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		uint64_t mark = pm_fault_mark(r->pm);
		uint64_t v = read_word(r->pm, SIZE - 4096);

		if (!pm_faulted(r->pm, mark) && v != 1)
			r->wrong++;
		pm_fault_repair(r->pm);
	}
	return NULL;
}

START_TEST(stand_ins_are_never_believed_by_other_threads)
{
	struct reader r = { .stop = false };
	int fd, ones[2048];
	pthread_t id[2];

	r.pm = open_cut(0, -1);
	for (unsigned i = 0; i < 2048; i++)
		ones[i] = i % 2 ? 0 : 1;	/* 64-bit words of 1 */
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&id[i], NULL, read_and_believe, &r);
	/* the page comes and goes, but is 1s whenever it is there */
	for (unsigned i = 0; i < 3000; i++) {
		ck_assert_int_eq(pwrite(fd, ones, 4096, SIZE - 4096), 4096);
		sched_yield();
		ck_assert_int_eq(ftruncate(fd, SIZE - 4096), 0);
		sched_yield();
	}
	__atomic_store_n(&r.stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(id[i], NULL);
	close(fd);
	ck_assert_uint_eq(r.wrong, 0);
	ck_assert_uint_gt(pm_fault_count(r.pm, NULL), 0);
	pm_close(r.pm);
	unlink(path);
}
END_TEST

static void sigbus_from_someone(void)
{
	pm_fault_install();
	raise(SIGBUS);
}

static void fault_in_no_pool(void)
{
	FILE *f = tmpfile();
	volatile char *p;

	pm_fault_install();
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(f), 0);
	(void)p[0];
}

START_TEST(other_faults_crash_as_ever)
{
	dies_of(SIGBUS, sigbus_from_someone);
	dies_of(SIGBUS, fault_in_no_pool);
}
END_TEST

CHECK_MAIN("pm", tmpfs_is_dram_in_the_role_of_pmem, granularity_can_be_forced,
	   unfit_files_are_refused_with_a_reason, block_devices_are_told_what_to_do,
	   one_writer_or_many_readers, read_only_stores_stay_in_dram,
	   stores_on_every_granularity, plain_files_are_synced_by_page,
	   bits_of_every_run, bits_of_one_word_from_two_threads,
	   page_fences_from_two_threads,
	   page_fence_is_one_msync_over_all_that_was_flushed,
	   a_failed_msync_is_never_retried_into_success,
	   stores_outside_the_pool_stop_the_program,
	   a_fault_costs_the_request_and_is_repaired,
	   many_faults_are_repaired_all_at_once, every_kind_of_store_may_fault,
	   a_full_filesystem_is_a_fault, private_pools_keep_what_was_stored,
	   stand_ins_are_never_believed_by_other_threads, other_faults_crash_as_ever)
