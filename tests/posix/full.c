/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * full.c - what calls do on a filesystem that is full
 *
 *	full DIR calls		each call that needs space works or says ENOSPC,
 *				and then has done nothing; each that gives space
 *				back, or needs none, works
 *	full DIR again NR	NR times in each way: space is given back, and what
 *				is written at once has it
 *	full DIR hold MIB	a file of that size, unlinked and open, until killed
 *	full DIR write MIB	a file of that size, at once
 *	full DIR root UID	UID fills it, and then root still has some
 *	full DIR random NR	NR random changes of every kind
 *
 * Exit status: 0 as it should be, 1 not (a line says what), 2 usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BLK	4096u
#define MIB	(1u << 20)

static char bytes[MIB];

static void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	printf("FAILED: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(" (%s)\n", strerror(err));
	fflush(stdout);
	exit(1);
}

#define MUST(call)	must(#call, (long)(call))

static long must(const char *what, long rc)
{
	if (rc == -1)
		fail("%s", what);
	return rc;
}

/* True: it worked. False: ENOSPC. */
static bool room(const char *what, long rc)
{
	if (rc == -1 && errno != ENOSPC)
		fail("%s: an error that is not ENOSPC", what);
	return rc != -1;
}

static bool there(const char *name) { return access(name, F_OK) == 0; }

/* ---- filling ------------------------------------------------------------------- */

/* To fd until there is no more: in pieces of step bytes. With dax=never only fsync
 * tells. Returns how many bytes there are. */
static uint64_t fill_fd(int fd, size_t step)
{
	uint64_t size = 0;
	ssize_t n;

	for (;;) {
		n = pwrite(fd, bytes, step, (off_t)size);
		if (!room("write", n) || !room("fsync", fsync(fd)))
			break;
		size += (uint64_t)n;
		if ((size_t)n < step)
			break;
	}
	return size;
}

static void fill(const char *name)
{
	int fd = (int)MUST(open(name, O_CREAT | O_RDWR, 0600));
	off_t end;

	fill_fd(fd, MIB);
	end = MUST(lseek(fd, 0, SEEK_END));
	for (;;) {
		ssize_t n = pwrite(fd, bytes, BLK, end);

		if (!room("write", n) || !room("fsync", fsync(fd)))
			break;
		end += n;
	}
	if (close(fd) && errno != ENOSPC)
		fail("close");
}

static void put(int fd, size_t mib)
{
	for (size_t i = 0; i < mib; i++) {
		ssize_t n, at = 0;

		for (; at < (ssize_t)sizeof(bytes); at += n)
			n = MUST(write(fd, bytes + at, sizeof(bytes) - (size_t)at));
	}
	MUST(fsync(fd));
}

static int make(const char *name, size_t mib)
{
	int fd = (int)MUST(open(name, O_CREAT | O_EXCL | O_RDWR, 0600));

	put(fd, mib);
	return fd;
}

/* ---- calls ----------------------------------------------------------------------- */

#define TRIES	20000

static char name[256], target[3000], value[30000];

static void name_it(char kind, int i)
{
	snprintf(name, sizeof(name), "%c%0100d", kind, i);
}

typedef long (*try_fn)(int i);

static long do_create(int i)
{
	long fd;

	name_it('c', i);
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
	if (fd >= 0)
		close((int)fd);
	return fd;
}

static long do_tmpfile(int i)
{
	(void)i;
	name[0] = '\0';
	return open(".", O_TMPFILE | O_WRONLY, 0600);	/* stays open, so that it counts */
}

static long do_mkdir(int i) { name_it('d', i); return mkdir(name, 0700); }
static long do_mknod(int i) { name_it('n', i); return mknod(name, S_IFIFO | 0600, 0); }
static long do_link(int i) { name_it('l', i); return link("victim", name); }
static long do_symlink(int i) { name_it('s', i); return symlink("short", name); }
static long do_long_symlink(int i) { name_it('S', i); return symlink(target, name); }

static long do_small_xattr(int i)
{
	char attr[64];

	name[0] = '\0';
	snprintf(attr, sizeof(attr), "user.%d", i);
	return setxattr("victim", attr, value, 500, 0);
}

static long do_large_xattr(int i)
{
	char file[16];

	name[0] = '\0';
	snprintf(file, sizeof(file), "x%d", i % 100);
	return setxattr(file, i / 100 ? "user.b" : "user.a", value, sizeof(value), 0);
}

static long do_fallocate(int i)
{
	int fd = (int)MUST(open("victim", O_RDWR));
	long rc = fallocate(fd, 0, (off_t)i * BLK * 3 + 64 * MIB, BLK);

	name[0] = '\0';
	close(fd);
	return rc;
}

static long do_write(int i)
{
	int fd = (int)MUST(open("victim", O_RDWR));
	long rc = pwrite(fd, bytes, BLK, (off_t)i * BLK * 3 + 512 * MIB);

	name[0] = '\0';
	if (rc != -1 && fsync(fd))
		rc = -1;
	close(fd);
	return rc;
}

static const struct { const char *what; try_fn fn; } calls[] = {
	{ "write", do_write }, { "fallocate", do_fallocate },
	{ "setxattr, large", do_large_xattr }, { "setxattr, small", do_small_xattr },
	{ "symlink, long", do_long_symlink }, { "mkdir", do_mkdir }, { "link", do_link },
	{ "symlink", do_symlink }, { "mknod", do_mknod }, { "O_CREAT", do_create },
	{ "O_TMPFILE", do_tmpfile },
};

static void until_full(const char *what, try_fn fn)
{
	int i = 0;

	while (i < TRIES && room(what, fn(i)))
		i++;
	if (i == TRIES)
		fail("%s: %d of them, and still not full", what, i);
	if (name[0] && there(name))
		fail("%s: said ENOSPC, but %s is there", what, name);
	printf("%s: %d, then ENOSPC\n", what, i);
}

static void what_must_work(void)
{
	struct timespec ts[2] = { { 1, 2 }, { 3, 4 } };
	int fd;

	MUST(chmod("victim", 0640));
	MUST(utimensat(AT_FDCWD, "victim", ts, 0));
	MUST(rename("victim", "renamed"));
	MUST(rename("renamed", "victim"));
	MUST(removexattr("x0", "user.a"));
	MUST(rename("x0", "x1"));			/* over a name */
	fd = (int)MUST(open("filler", O_RDWR));
	MUST(pwrite(fd, "overwritten", 11, 5000));
	MUST(fsync(fd));
	MUST(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, MIB + 5 * BLK, BLK));
	MUST(ftruncate(fd, 512 * BLK));
	MUST(ftruncate(fd, 100 * MIB));			/* a hole costs nothing */
	MUST(close(fd));
	MUST(rmdir("empty"));
	MUST(unlink("filler"));
	MUST(unlink("victim"));
}

static void cmd_calls(int nr)
{
	char file[16];

	(void)nr;
	memset(target, 't', sizeof(target) - 1);
	close(make("victim", 0));
	for (int i = 0; i < 100; i++) {
		snprintf(file, sizeof(file), "x%d", i);
		close(make(file, 0));
	}
	MUST(setxattr("x0", "user.a", value, sizeof(value), 0));
	MUST(mkdir("empty", 0700));
	fill("filler");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		until_full(calls[i].what, calls[i].fn);
	what_must_work();
}

/* ---- again --------------------------------------------------------------------- */

#define VICTIM	4u		/* MiB */
#define WRITERS	2

static void give_back(int way)
{
	int fd;

	switch (way) {
	case 0:
		MUST(unlink("victim"));
		break;
	case 1:				/* it goes with the last close */
		fd = (int)MUST(open("victim", O_RDONLY));
		MUST(unlink("victim"));
		MUST(close(fd));
		break;
	case 2:
		MUST(rename("empty", "victim"));
		MUST(rename("victim", "empty"));
		break;
	case 3:				/* mapped, and somebody else has it open */
		fd = (int)MUST(open("victim", O_RDWR));
		void *map = mmap(NULL, BLK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (map == MAP_FAILED)
			fail("mmap");
		*(volatile char *)map = 1;
		MUST(unlink("victim"));
		MUST(close(fd));
		MUST(munmap(map, BLK));
		break;
	default:
		fd = (int)MUST(open("victim", O_WRONLY | O_TRUNC));
		MUST(close(fd));
		MUST(unlink("victim"));
	}
}

/*
 * In a directory of its own, since others do the same beside us. Nothing that
 * close(2) wakes shall run before the write that follows, if that can be had.
 */
static void again(int nr)
{
	struct sched_param first = { .sched_priority = 1 };
	int fd;

	sched_setscheduler(0, SCHED_FIFO, &first);

	for (int i = 0; i < nr; i++) {
		for (int way = 0; way < 5; way++) {
			fd = make("new", 0);		/* so that a write comes next */
			give_back(way);
			put(fd, VICTIM - 1);
			MUST(close(fd));
			MUST(unlink("new"));
			close(make("victim", VICTIM));
		}
	}
}

static void cmd_again(int nr)
{
	char dir[16];
	int status, fd;

	for (int i = 0; i < WRITERS; i++) {
		snprintf(dir, sizeof(dir), "w%d", i);
		MUST(mkdir(dir, 0700));
		MUST(chdir(dir));
		close(make("empty", 0));
		close(make("victim", VICTIM));
		MUST(chdir(".."));
	}
	fd = make("slack", 0);				/* for files in more pieces */
	MUST(pwrite(fd, bytes, WRITERS * 16 * BLK, 0));
	MUST(fsync(fd));
	MUST(close(fd));
	fill("filler");
	MUST(unlink("slack"));
	fflush(stdout);
	for (int i = 0; i < WRITERS; i++) {
		if (MUST(fork()))
			continue;
		snprintf(dir, sizeof(dir), "w%d", i);
		MUST(chdir(dir));
		again(nr);
		exit(0);
	}
	for (int i = 0; i < WRITERS; i++) {
		MUST(wait(&status));
		if (status)
			exit(1);
	}
}

/* ---- the rest ---------------------------------------------------------------------- */

static void cmd_hold(int mib)
{
	make("held", (size_t)mib);
	fill("filler");
	MUST(unlink("held"));
	puts("ready");
	fflush(stdout);
	pause();
}

static void cmd_write(int mib)
{
	close(make("written", (size_t)mib));
}

static void fill_as(int uid)
{
	int status;

	if (MUST(fork()) == 0) {
		MUST(setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid));
		fill("filler");
		exit(0);
	}
	MUST(wait(&status));
	if (status)
		exit(1);
}

/* A tenth of all blocks is for root. */
static void cmd_root(int uid)
{
	struct statvfs v;

	MUST(chmod(".", 0777));
	fill_as(uid);
	MUST(statvfs(".", &v));
	if (v.f_bavail > 1 || v.f_bfree < v.f_blocks / 10)
		fail("full for others: %llu available, %llu free of %llu",
		     (unsigned long long)v.f_bavail, (unsigned long long)v.f_bfree,
		     (unsigned long long)v.f_blocks);
	int fd = (int)MUST(open("of root", O_CREAT | O_RDWR | O_DIRECT, 0600));
	uint64_t had = fill_fd(fd, MIB);

	if (had < v.f_blocks / 10 * BLK - MIB)
		fail("root had only %llu bytes", (unsigned long long)had);
}

/* ---- random ------------------------------------------------------------------------ */

static unsigned rnd(unsigned n)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (unsigned)(x >> 20) % n;
}

static void change_bytes(const char *file)
{
	int fd = open(file, O_CREAT | O_RDWR, 0600);
	off_t at = (off_t)rnd(3 * MIB);
	size_t len = rnd(200000);

	if (fd < 0)
		return;			/* a directory, or a link to none */
	switch (rnd(4)) {
	case 0:
		room("truncate", ftruncate(fd, at));
		break;
	case 1:
		room("punch", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
					(off_t)len + 1));
		break;
	case 2:
		room("fallocate", fallocate(fd, rnd(2) ? FALLOC_FL_KEEP_SIZE : 0, at,
					    (off_t)len + 1));
		break;
	default:
		room("write", pwrite(fd, bytes, len, at));
	}
	close(fd);
}

static void change_name(const char *file, const char *other)
{
	switch (rnd(8)) {
	case 0:
		mkdir(file, 0700);
		break;
	case 1:
		rmdir(file);
		break;
	case 2:
		symlink(rnd(2) ? "short" : target, file);
		break;
	case 3:
		link(file, other);
		break;
	case 4:
	case 5:
		rename(file, other);
		break;
	case 6:
		lsetxattr(file, rnd(2) ? "user.a" : "user.b", value,
			  rnd(2) ? 100 : rnd(sizeof(value)), 0);
		break;
	default:
		unlink(file);
	}
}

static void cmd_random(int nr)
{
	char a[16], b[16];

	memset(target, 't', sizeof(target) - 1);
	for (int i = 0; i < nr; i++) {
		snprintf(a, sizeof(a), "f%u", rnd(40));
		snprintf(b, sizeof(b), "f%u", rnd(40));
		if (rnd(3))
			change_bytes(a);
		else
			change_name(a, b);
	}
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*fn)(int); } cmds[] = {
		{ "calls", cmd_calls }, { "again", cmd_again }, { "hold", cmd_hold },
		{ "write", cmd_write }, { "root", cmd_root }, { "random", cmd_random },
	};

	memset(bytes, 'b', sizeof(bytes));
	memset(value, 'v', sizeof(value));
	if (argc < 3 || chdir(argv[1])) {
		fputs("usage: full DIR calls | again NR | hold MIB | write MIB | root UID |"
		      " random NR\n", stderr);
		return 2;
	}
	for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		if (!strcmp(argv[2], cmds[i].name)) {
			cmds[i].fn(argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0);
			return 0;
		}
	}
	return 2;
}
