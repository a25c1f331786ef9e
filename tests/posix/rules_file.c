/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules_file.c - bytes, holes, limits; locks and handles
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/rule.h"

#define BLK	4096

static int new_file(const char *path)
{
	return (int)OK(open(path, O_CREAT | O_EXCL | O_RDWR, 0600));
}

static void fill(int fd, int byte, size_t len, off_t pos)
{
	char buf[BLK];

	memset(buf, byte, sizeof(buf));
	for (size_t n; len; len -= n, pos += (off_t)n) {
		n = len < sizeof(buf) ? len : sizeof(buf);
		SAME(OK(pwrite(fd, buf, n, pos)), n);
	}
}

static void all(int fd, int byte, size_t len, off_t pos)
{
	char c;

	for (size_t i = 0; i < len; i++) {
		SAME(OK(pread(fd, &c, 1, pos + (off_t)i)), 1);
		SAME(c, byte);
	}
}

static void append_loses_nothing(void)
{
	enum { WRITERS = 4, LINES = 500, LEN = 16 };
	char line[64];
	unsigned seen[WRITERS] = { 0 };
	FILE *f;

	for (int w = 0; w < WRITERS; w++) {
		if (OK(fork()))
			continue;
		int fd = (int)OK(open("f", O_CREAT | O_WRONLY | O_APPEND, 0600));

		for (int i = 0; i < LINES; i++) {
			snprintf(line, sizeof(line), "%d%014d\n", w, i);
			SAME(OK(write(fd, line, LEN)), LEN);
		}
		_exit(0);
	}
	for (int w = 0; w < WRITERS; w++)
		OK(wait(NULL));
	SAME(stat_of("f").st_size, WRITERS * LINES * LEN);
	f = fopen("f", "r");
	WANT(f);
	while (fgets(line, sizeof(line), f)) {
		int w = line[0] - '0';

		WANT(w >= 0 && w < WRITERS);
		SAME(strtol(line + 1, NULL, 10), seen[w]++);
	}
	fclose(f);
}

/* What an earlier end of file cut off never comes back. */
static void truncate_zeroes(void)
{
	int fd = new_file("f");
	char *map;

	fill(fd, 'x', 3 * BLK, 0);
	OK(ftruncate(fd, BLK + 100));
	OK(ftruncate(fd, 3 * BLK));
	all(fd, 'x', 10, BLK + 90);
	all(fd, 0, 200, BLK + 100);
	all(fd, 0, 10, 2 * BLK);
	OK(ftruncate(fd, 100));
	map = mmap(NULL, BLK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	WANT(map != MAP_FAILED);
	memset(map + 100, 'm', 50);		/* beyond the end, in the last page */
	OK(msync(map, BLK, MS_SYNC));
	OK(munmap(map, BLK));
	OK(ftruncate(fd, BLK));
	if (!rule_on_tmpfs())			/* which leaves them there */
		all(fd, 0, 100, 100);
	OK(close(fd));
}

static void holes_and_ranges(void)
{
	int fd = new_file("f");

	fill(fd, 'x', 4 * BLK, 0);
	OK(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 8 * BLK));
	SAME(stat_of("f").st_size, 4 * BLK);
	OK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BLK + 100, 2 * BLK));
	all(fd, 'x', 100, BLK);
	all(fd, 0, 50, BLK + 100);
	all(fd, 0, 50, 3 * BLK + 50);
	all(fd, 'x', 50, 3 * BLK + 100);
	FAILS(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, BLK), EOPNOTSUPP);
	FAILS(fallocate(fd, 0, 0, 0), EINVAL);
	FAILS(fallocate(fd, 0, -1, BLK), EINVAL);
	OK(fallocate(fd, 0, 0, 6 * BLK));
	SAME(stat_of("f").st_size, 6 * BLK);
	all(fd, 0, 50, 5 * BLK);
	OK(close(fd));
}

static void seek_hole_and_data(void)
{
	int fd = new_file("f");

	OK(ftruncate(fd, 100 * BLK));
	fill(fd, 'x', BLK, 10 * BLK);
	OK(fsync(fd));
	if (rule_cached())
		rule_skip("all counts as data, since some may be in the page cache");
	SAME(OK(lseek(fd, 0, SEEK_DATA)), 10 * BLK);
	SAME(OK(lseek(fd, 10 * BLK, SEEK_HOLE)), 11 * BLK);
	SAME(OK(lseek(fd, 5, SEEK_HOLE)), 5);
	FAILS(lseek(fd, 11 * BLK, SEEK_DATA), ENXIO);
	FAILS(lseek(fd, 100 * BLK, SEEK_HOLE), ENXIO);
	OK(close(fd));
}

static void copies_between_files(void)
{
	int a = new_file("a"), b = new_file("b"), p[2];
	loff_t from = 100, to = 7;
	off_t at = 0;

	fill(a, 'x', 3 * BLK, 0);
	SAME(OK(copy_file_range(a, &from, b, &to, 2 * BLK, 0)), 2 * BLK);
	SAME(from, 2 * BLK + 100);
	all(b, 0, 7, 0);
	all(b, 'x', 20, 7);
	SAME(stat_of("b").st_size, 2 * BLK + 7);
	from = 3 * BLK;
	SAME(OK(copy_file_range(a, &from, b, &to, 10, 0)), 0);
	OK(ftruncate(b, 0));
	OK(lseek(b, 0, SEEK_SET));
	SAME(OK(sendfile(b, a, &at, BLK + 5)), BLK + 5);
	all(b, 'x', 5, BLK);
	OK(pipe(p));
	from = 0;
	to = 50000;
	SAME(OK(splice(a, &from, p[1], NULL, 5000, 0)), 5000);
	SAME(OK(splice(p[0], NULL, b, &to, 5000, 0)), 5000);
	all(b, 'x', 10, 54990);
	OK(close(a));
	OK(close(b));
}

static void large_offsets(void)
{
	int fd = new_file("f");

	OK(ftruncate(fd, 1ll << 40));
	SAME(stat_of("f").st_size, 1ll << 40);
	OK(pwrite(fd, "x", 1, (1ll << 40) - 1));
	SAME(stat_of("f").st_size, 1ll << 40);
	all(fd, 'x', 1, (1ll << 40) - 1);
	all(fd, 0, 10, 1ll << 39);
	FAILS(pwrite(fd, "x", 1, INT64_MAX), EINVAL);
	FAILS(pwrite(fd, "x", 1, -1), EINVAL);
	FAILS(ftruncate(fd, -1), EINVAL);
	OK(close(fd));
}

static void limit_of_size(void)
{
	struct rlimit lim = { 1000, 1000 };
	int fd = new_file("f");
	char buf[100] = "";

	signal(SIGXFSZ, SIG_IGN);
	OK(setrlimit(RLIMIT_FSIZE, &lim));
	SAME(OK(pwrite(fd, buf, 100, 950)), 50);
	FAILS(pwrite(fd, buf, 1, 1000), EFBIG);
	FAILS(ftruncate(fd, 1001), EFBIG);
	OK(close(fd));
}

static void a_program_that_runs(void)
{
	char buf[BLK];
	int from = (int)OK(open("/bin/sleep", O_RDONLY)), to = new_file("p"), status, fd;
	ssize_t n;
	pid_t pid;

	while ((n = OK(read(from, buf, sizeof(buf)))) > 0)
		SAME(OK(write(to, buf, (size_t)n)), n);
	OK(fchmod(to, 0755));
	OK(close(to));
	fd = (int)OK(open("p", O_RDWR));
	FAILS(execl("./p", "p", "0", (char *)NULL), ETXTBSY);
	OK(close(fd));
	pid = (pid_t)OK(fork());
	if (pid == 0) {
		execl("./p", "p", "0", (char *)NULL);
		_exit(99);
	}
	OK(waitpid(pid, &status, 0));
	SAME(status, 0);
}

/* ---- locks ------------------------------------------------------------------- */

static void lock_flock(void)
{
	int a = new_file("f"), b = (int)OK(open("f", O_RDWR));

	OK(flock(a, LOCK_SH));
	OK(flock(b, LOCK_SH | LOCK_NB));
	FAILS(flock(b, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	OK(flock(a, LOCK_UN));
	OK(flock(b, LOCK_EX | LOCK_NB));
	FAILS(flock(a, LOCK_SH | LOCK_NB), EWOULDBLOCK);
	OK(close(b));
	OK(flock(a, LOCK_EX | LOCK_NB));
}

static struct flock range(short type, off_t from, off_t len)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = from,
			       .l_len = len };
}

static void lock_fcntl(void)
{
	struct flock l = range(F_WRLCK, 10, 10);
	pid_t me = getpid();
	int fd = new_file("f");

	OK(fcntl(fd, F_SETLK, &l));
	AS(0, 0) {
		struct flock x = range(F_WRLCK, 15, 1);
		int mine = (int)OK(open("f", O_RDWR));

		FAILS(fcntl(mine, F_SETLK, &x), EAGAIN);
		OK(fcntl(mine, F_GETLK, &x));
		SAME(x.l_pid, me);
		SAME(x.l_start, 10);
		x = range(F_WRLCK, 20, 0);
		OK(fcntl(mine, F_SETLK, &x));
	}
	OK(close((int)OK(open("f", O_RDONLY))));	/* POSIX: this drops them all */
	AS(0, 0) {
		struct flock x = range(F_WRLCK, 0, 0);

		OK(fcntl((int)OK(open("f", O_RDWR)), F_SETLK, &x));
	}
}

static void lock_ofd(void)
{
	struct flock l = range(F_WRLCK, 0, 0);
	int a = new_file("f"), b = (int)OK(open("f", O_RDWR));

	OK(fcntl(a, F_OFD_SETLK, &l));
	FAILS(fcntl(b, F_OFD_SETLK, &l), EAGAIN);
	OK(close((int)OK(open("f", O_RDONLY))));	/* drops nothing */
	FAILS(fcntl(b, F_OFD_SETLK, &l), EAGAIN);
	OK(close(a));
	OK(fcntl(b, F_OFD_SETLK, &l));
}

/* ---- handles ------------------------------------------------------------------ */

static void handle_opens(void)
{
	struct { struct file_handle h; unsigned char room[MAX_HANDLE_SZ]; } u;
	int id, fd, dir = (int)OK(open(".", O_RDONLY | O_DIRECTORY));
	ino_t ino;

	make_file("f", 0600);
	ino = stat_of("f").st_ino;
	u.h.handle_bytes = MAX_HANDLE_SZ;
	OK(name_to_handle_at(AT_FDCWD, "f", &u.h, &id, 0));
	OK(rename("f", "g"));
	fd = (int)OK(open_by_handle_at(dir, &u.h, O_RDONLY));
	struct stat st;
	OK(fstat(fd, &st));
	SAME(st.st_ino, ino);
	OK(close(fd));
	OK(unlink("g"));
	/* FUSE keeps the inode until the last close was answered */
	while ((fd = open_by_handle_at(dir, &u.h, O_RDONLY)) >= 0)
		OK(close(fd));
	FAILS(fd, ESTALE);
	for (int i = 0; i < 300; i++) {			/* whatever takes its place */
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		make_file(name, 0600);
	}
	FAILS(open_by_handle_at(dir, &u.h, O_RDONLY), ESTALE);
}

const struct rule rules_file[] = {
	RULE(append_loses_nothing), RULE(truncate_zeroes), RULE(holes_and_ranges),
	RULE(seek_hole_and_data), RULE(copies_between_files), RULE(large_offsets),
	RULE(limit_of_size), RULE(a_program_that_runs), RULE(lock_flock),
	RULE(lock_fcntl), RULE(lock_ofd), RULE(handle_opens), RULES_END
};
