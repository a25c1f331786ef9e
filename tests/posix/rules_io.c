/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules_io.c - further ways for bytes to come and go: directly, through pipes,
 * in holes, beside leases
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/rule.h"

#define BLK	4096

static char buf[64 * BLK], back[64 * BLK];

static int new_file(const char *path)
{
	return (int)OK(open(path, O_CREAT | O_EXCL | O_RDWR, 0600));
}

static void put(int fd, int byte, size_t len, off_t pos)
{
	memset(buf, byte, len);
	SAME(OK(pwrite(fd, buf, len, pos)), len);
}

static void is(int fd, int byte, size_t len, off_t pos)
{
	SAME(OK(pread(fd, back, len, pos)), len);
	for (size_t i = 0; i < len; i++)
		SAME(back[i], byte);
}

static void zero_range(void)
{
	int fd = new_file("f");

	put(fd, 'x', 8 * BLK, 0);
	if (fallocate(fd, FALLOC_FL_ZERO_RANGE, BLK + 7, 2 * BLK) == -1 && errno == EOPNOTSUPP)
		rule_skip("no FALLOC_FL_ZERO_RANGE (tmpfs)");
	is(fd, 'x', 7, BLK);
	is(fd, 0, 2 * BLK, BLK + 7);
	is(fd, 'x', 100, 3 * BLK + 7);
	SAME(stat_of("f").st_size, 8 * BLK);
	OK(fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 7 * BLK, 4 * BLK));
	SAME(stat_of("f").st_size, 8 * BLK);
	is(fd, 0, BLK, 7 * BLK);
	OK(fallocate(fd, FALLOC_FL_ZERO_RANGE, 9 * BLK + 5, 10));
	SAME(stat_of("f").st_size, 9 * BLK + 15);
	is(fd, 0, BLK + 15, 8 * BLK);
	OK(fallocate(fd, FALLOC_FL_ZERO_RANGE, 100, 10));	/* inside one block */
	is(fd, 'x', 100, 0);
	is(fd, 0, 10, 100);
	is(fd, 'x', 100, 110);
	OK(close(fd));
}

/* Any offset, length and address, beside what is not direct. */
static void direct_any_alignment(void)
{
	static char model[20 * BLK];
	int plain = new_file("f"), fd = open("f", O_RDWR | O_DIRECT);
	unsigned x = 1;

	if (fd < 0 && errno == EINVAL)
		rule_skip("no O_DIRECT (tmpfs before Linux 6.6)");
	OK(fd);
	put(plain, 0, sizeof(model), 0);
	for (int i = 0; i < 200; i++) {
		size_t at, len, shift;

		x = x * 1103515245 + 12345;
		at = (x >> 8) % (sizeof(model) - 3 * BLK);
		len = (x >> 3) % (3 * BLK) + 1;
		shift = x % 100;
		memset(buf + shift, 'a' + i % 26, len);
		if (i % 3)
			SAME(OK(pwrite(fd, buf + shift, len, (off_t)at)), len);
		else
			SAME(OK(pwrite(plain, buf + shift, len, (off_t)at)), len);
		memset(model + at, 'a' + i % 26, len);
		SAME(OK(pread(i % 2 ? fd : plain, back + shift, len, (off_t)at)), len);
		WANT(!memcmp(back + shift, model + at, len));
	}
	SAME(OK(pread(fd, back, sizeof(model), 0)), sizeof(model));
	WANT(!memcmp(back, model, sizeof(model)));
	SAME(OK(pread(fd, back, 100, sizeof(model) - 10)), 10);
	SAME(OK(pread(fd, back, 100, sizeof(model))), 0);
	OK(close(fd));
	OK(close(plain));
}

#define MODEL	60

static void seek_is(int fd, const bool *data, int from)
{
	int d = from, h = from;

	while (d < MODEL && !data[d])
		d++;
	while (h < MODEL && data[h])
		h++;
	if (d == MODEL)
		FAILS(lseek(fd, (off_t)from * BLK + 1, SEEK_DATA), ENXIO);
	else
		SAME(OK(lseek(fd, (off_t)from * BLK + 1, SEEK_DATA)),
		     d == from ? (off_t)from * BLK + 1 : (off_t)d * BLK);
	SAME(OK(lseek(fd, (off_t)from * BLK + 1, SEEK_HOLE)),
	     h == from ? (off_t)from * BLK + 1 : (off_t)h * BLK);
}

static void seek_is_exact(void)
{
	bool data[MODEL] = { false };
	int fd = new_file("f");
	unsigned x = 7;

	if (rule_cached())
		rule_skip("all counts as data, since some may be in the page cache");
	OK(ftruncate(fd, MODEL * BLK));
	for (int i = 0; i < 150; i++) {
		int at, len;

		x = x * 1103515245 + 12345;
		at = (int)((x >> 8) % MODEL);
		len = (int)((x >> 20) % 5) + 1;
		len = at + len > MODEL ? MODEL - at : len;
		if (i % 3 == 2)
			OK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				     (off_t)at * BLK, (off_t)len * BLK));
		else
			put(fd, 'd', (size_t)len * BLK, (off_t)at * BLK);
		memset(data + at, i % 3 != 2, (size_t)len);
		for (int from = 0; from < MODEL; from += 7)
			seek_is(fd, data, from);
	}
	OK(close(fd));
}

/* Pages that came by vmsplice, doubled by tee, into two files and out again. */
static void pipes_in_and_out(void)
{
	int a = new_file("a"), b = new_file("b"), p[2], q[2];
	loff_t to_a = 100, to_b = 5000, from = 100;
	struct iovec v = { buf, 3 * BLK };

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (char)(i % 251);
	OK(pipe(p));
	OK(pipe(q));
	SAME(OK(vmsplice(p[1], &v, 1, 0)), 3 * BLK);
	SAME(OK(tee(p[0], q[1], 3 * BLK, 0)), 3 * BLK);
	for (long n, left = 3 * BLK; left; left -= n)
		n = OK(splice(p[0], NULL, a, &to_a, (size_t)left, 0));
	for (long n, left = 3 * BLK; left; left -= n)
		n = OK(splice(q[0], NULL, b, &to_b, (size_t)left, SPLICE_F_MOVE));
	SAME(OK(pread(a, back, 3 * BLK, 100)), 3 * BLK);
	WANT(!memcmp(back, buf, 3 * BLK));
	SAME(OK(pread(b, back, 3 * BLK, 5000)), 3 * BLK);
	WANT(!memcmp(back, buf, 3 * BLK));
	for (long n, left = 3 * BLK; left; left -= n)
		n = OK(splice(a, &from, p[1], NULL, (size_t)left, 0));
	for (long n, left = 3 * BLK; left; left -= n)
		n = OK(read(p[0], back + 3 * BLK - left, (size_t)left));
	WANT(!memcmp(back, buf, 3 * BLK));
	is(b, 0, 5000, 0);
}

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

static void limit_sends_a_signal(void)
{
	struct rlimit lim = { 1000, 1000 };
	int fd = new_file("f");

	signal(SIGXFSZ, on_signal);
	OK(setrlimit(RLIMIT_FSIZE, &lim));
	put(fd, 'x', 1000, 0);
	FAILS(pwrite(fd, buf, 1, 1000), EFBIG);
	SAME(signals, 1);
	FAILS(ftruncate(fd, 2000), EFBIG);
	SAME(signals, 2);
	SAME(stat_of("f").st_size, 1000);
	OK(close(fd));
}

/* Nobody writes to what runs. */
static void running_is_not_written(void)
{
	int from = (int)OK(open("/bin/sleep", O_RDONLY)), to = new_file("p"), status, p[2];
	ssize_t n;
	pid_t pid;

	while ((n = OK(read(from, buf, sizeof(buf)))) > 0)
		SAME(OK(write(to, buf, (size_t)n)), n);
	OK(fchmod(to, 0755));
	OK(close(to));
	OK(pipe2(p, O_CLOEXEC));
	pid = (pid_t)OK(fork());
	if (pid == 0) {
		execl("./p", "p", "50", (char *)NULL);
		_exit(99);
	}
	OK(close(p[1]));
	SAME(OK(read(p[0], buf, 1)), 0);		/* it runs, or has failed to */
	FAILS(open("p", O_WRONLY), ETXTBSY);
	FAILS(truncate("p", 0), ETXTBSY);
	OK(unlink("p"));
	OK(kill(pid, SIGKILL));
	OK(waitpid(pid, &status, 0));
}

static void leases(void)
{
	int fd, other;

	make_file("f", 0644);
	fd = (int)OK(open("f", O_RDONLY));
	signal(SIGIO, on_signal);
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == -1 && (errno == EINVAL || errno == EAGAIN))
		rule_skip("this kernel has no leases here");
	SAME(OK(fcntl(fd, F_GETLEASE)), F_RDLCK);
	other = (int)OK(open("f", O_RDONLY));		/* a reader does no harm */
	OK(close(other));
	FAILS(open("f", O_WRONLY | O_NONBLOCK), EWOULDBLOCK);
	SAME(signals, 1);
	OK(fcntl(fd, F_SETLEASE, F_UNLCK));
	OK(close((int)OK(open("f", O_WRONLY | O_NONBLOCK))));
	OK(close(fd));
}

/* The times that stores through a mapping, and other rare calls, change. */
static void times_of_rare_calls(void)
{
	int fd = new_file("f"), from = new_file("g");
	struct stat a, b;
	loff_t x = 0, y = 0;
	char *map;

	put(fd, 'x', 2 * BLK, 0);
	put(from, 'y', 2 * BLK, 0);
	OK(fsync(fd));
	for (int way = 0; way < 4; way++) {
		OK(fsync(fd));
		a = stat_of("f");
		usleep(20000);
		switch (way) {
		case 0:
			map = mmap(NULL, BLK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			WANT(map != MAP_FAILED);
			map[0] = 'm';
			OK(msync(map, BLK, MS_SYNC));
			OK(munmap(map, BLK));
			break;
		case 1:
			OK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, BLK));
			break;
		case 2:
			OK(fallocate(fd, 0, 0, 4 * BLK));
			break;
		default:
			SAME(OK(copy_file_range(from, &x, fd, &y, BLK, 0)), BLK);
		}
		b = stat_of("f");
		if (a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec)
			rule_fail(__FILE__, __LINE__, "way %d: the mtime stays", way);
		if (a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec)
			rule_fail(__FILE__, __LINE__, "way %d: the ctime stays", way);
	}
	OK(close(fd));
	OK(close(from));
}

const struct rule rules_io[] = {
	RULE(zero_range), RULE(direct_any_alignment), RULE(seek_is_exact),
	RULE(pipes_in_and_out), RULE(limit_sends_a_signal), RULE(running_is_not_written),
	RULE(leases), RULE(times_of_rare_calls), RULES_END
};
