/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache_io.c - one file by several ways at once: mappings, read(2), write(2),
 * O_DIRECT, truncate, fallocate; and what must survive the daemon's death
 *
 *	cache_io coherent FILE		each way sees what another one did
 *	cache_io append FILE N		N records each from four processes
 *	cache_io store DIR		make files durable in several ways, say
 *					"ready", hold them open until killed
 *	cache_io check DIR		what store made durable is there
 *	cache_io widow FILE PID		store through a mapping, kill the daemon:
 *					msync and fsync must fail
 *	cache_io fill FILE MIB fsync | close
 *					write so much; which call says ENOSPC?
 *	cache_io dirty FILE MIB		write so much, say "ready", hold it open
 *	cache_io compare FILE MIB	it is what dirty wrote
 *	cache_io setflags32 FILE FLAGS	FS_IOC32_SETFLAGS is not there
 *
 * Exit status: 0 good, 1 not, 2 usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096u
#define PAGES	16u
#define SIZE	(PAGES * PAGE)
#define MIB	(1u << 20)

static int bad;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

#define MUST(call) do { if ((call) < 0) die(#call); } while (0)

/* [at, at + len) of both, or a line that says where they part. */
static void expect(const char *when, const uint8_t *is, const uint8_t *want, size_t at,
		   size_t len)
{
	for (size_t i = at; i < at + len; i++)
		if (is[i] != want[i]) {
			fprintf(stderr, "%s: byte %zu is %02x, wanted %02x\n", when, i,
				is[i], want[i]);
			bad = 1;
			return;
		}
}

/* ---- coherent --------------------------------------------------------------- */

struct ways {
	const char *path;
	int fd, direct, reader;		/* direct -1: refused here */
	uint8_t *shared, *private;
	uint8_t *buf;			/* aligned */
	uint8_t want[SIZE];
};

static void look(struct ways *w, const char *when)
{
	struct stat st;

	memset(w->buf, 0xee, SIZE);
	if (pread(w->reader, w->buf, SIZE, 0) != (ssize_t)SIZE)
		die(when);
	expect(when, w->buf, w->want, 0, SIZE);
	expect("mapping", w->shared, w->want, 0, SIZE);
	memset(w->buf, 0xee, SIZE);
	if (w->direct >= 0 && pread(w->direct, w->buf, SIZE, 0) != (ssize_t)SIZE)
		die("direct read");
	if (w->direct >= 0)
		expect("direct read", w->buf, w->want, 0, SIZE);
	MUST(stat(w->path, &st));
	if (st.st_size != (off_t)SIZE) {
		fprintf(stderr, "%s: size %lld\n", when, (long long)st.st_size);
		bad = 1;
	}
	if (bad)
		fprintf(stderr, "after: %s\n", when);
}

static void put(struct ways *w, int fd, size_t at, size_t len, int byte)
{
	memset(w->buf, byte, len);
	if (pwrite(fd, w->buf, len, (off_t)at) != (ssize_t)len)
		die("pwrite");
	memset(w->want + at, byte, len);
}

static void open_ways(struct ways *w, const char *path)
{
	w->path = path;
	MUST(w->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
	MUST(w->reader = open(path, O_RDONLY | O_CLOEXEC));
	w->direct = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	w->buf = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	put(w, w->fd, 0, SIZE, 'a');
	w->shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	w->private = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, w->fd, 0);
	if (w->shared == MAP_FAILED || w->private == MAP_FAILED)
		die("mmap");
}

static void mix(struct ways *w)
{
	look(w, "first write");
	memset(w->shared + 100, 'b', 5000);
	memset(w->want + 100, 'b', 5000);
	look(w, "store through the mapping");
	put(w, w->fd, 3000, 6000, 'c');
	look(w, "write over stored bytes");
	if (w->direct >= 0)
		put(w, w->direct, 2 * PAGE, PAGE, 'd');
	look(w, "direct write over both");
	memset(w->shared + 5 * PAGE, 'e', PAGE);
	memset(w->want + 5 * PAGE, 'e', PAGE);
	put(w, w->fd, 5 * PAGE + 10, 10, 'f');
	look(w, "write into a page just stored to");
	w->private[7 * PAGE] = 'P';
	look(w, "store through the private mapping");
	if (w->private[7 * PAGE] != 'P' || w->private[8 * PAGE] != w->want[8 * PAGE])
		bad = 1, fprintf(stderr, "private mapping\n");
	put(w, w->fd, 9 * PAGE, PAGE, 'g');
	expect("private mapping", w->private, w->want, 9 * PAGE, PAGE);
}

static void cut(struct ways *w)
{
	size_t end = 10 * PAGE + 77;

	memset(w->shared + 10 * PAGE, 'h', 2 * PAGE);
	MUST(ftruncate(w->fd, (off_t)end));
	MUST(ftruncate(w->fd, SIZE));
	memset(w->want + 10 * PAGE, 'h', 77);
	memset(w->want + end, 0, SIZE - end);
	look(w, "truncate, longer again");
	memset(w->shared, 'i', 4 * PAGE);
	memset(w->want, 'i', 4 * PAGE);
	MUST(fallocate(w->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 50, 2 * PAGE));
	memset(w->want + 50, 0, 2 * PAGE);
	look(w, "a hole punched into dirty pages");
	put(w, w->fd, 3 * PAGE, PAGE, 'j');
	MUST(fallocate(w->fd, FALLOC_FL_ZERO_RANGE, 3 * PAGE + 9, PAGE));
	memset(w->want + 3 * PAGE + 9, 0, PAGE);
	look(w, "zero range over dirty pages");
}

/* A page is completed by reading through what is open for writing only. */
static void write_only(struct ways *w)
{
	int fd;

	MUST(fsync(w->fd));
	MUST(posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED));
	MUST(fd = open(w->path, O_WRONLY | O_CLOEXEC));
	put(w, fd, 13 * PAGE + 1000, 10, 'k');
	MUST(close(fd));
	look(w, "part of a page, open for writing only");
}

/* What was just written is data, whoever asks. */
static void seek(struct ways *w)
{
	off_t at;

	MUST(ftruncate(w->fd, 0));
	put(w, w->fd, 0, SIZE, 'l');
	at = lseek(w->reader, 0, SEEK_DATA);
	if (at != 0 || lseek(w->reader, 0, SEEK_HOLE) != (off_t)SIZE)
		bad = 1, fprintf(stderr, "SEEK_DATA and SEEK_HOLE of dirty pages\n");
	look(w, "all new");
	MUST(unlink(w->path));
	memset(w->shared, 'm', PAGE);
	memset(w->want, 'm', PAGE);
	if (pread(w->fd, w->buf, SIZE, 0) != (ssize_t)SIZE)
		die("read of an unlinked file");
	expect("unlinked", w->buf, w->want, 0, SIZE);
}

static int coherent(const char *path)
{
	static struct ways w;

	open_ways(&w, path);
	mix(&w);
	cut(&w);
	write_only(&w);
	seek(&w);
	MUST(msync(w.shared, SIZE, MS_SYNC));
	return bad;
}

/* ---- append ----------------------------------------------------------------- */

#define WRITERS	4

static int append(const char *path, unsigned n)
{
	unsigned count[WRITERS] = { 0 };
	char line[32];
	FILE *f;

	MUST(close(open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644)));
	for (int k = 0; k < WRITERS; k++) {
		if (fork())
			continue;
		int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

		for (unsigned i = 0; i < n; i++) {
			snprintf(line, sizeof(line), "%d %06u\n", k, i);
			if (write(fd, line, 9) != 9)
				_exit(1);
		}
		_exit(close(fd) != 0);
	}
	for (int k = 0, st; k < WRITERS; k++)
		if (wait(&st) < 0 || st)
			return 1;
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		unsigned k = (unsigned)(line[0] - '0');

		if (k >= WRITERS || strtoul(line + 2, NULL, 10) != count[k]++)
			return fprintf(stderr, "a record is lost or torn: %s", line), 1;
	}
	for (int k = 0; k < WRITERS; k++)
		bad |= count[k] != n;
	return bad;
}

/* ---- store and check -------------------------------------------------------- */

enum how { FSYNC, FDATASYNC, MSYNC, FSYNC_MAP, O_SYNCED, O_DSYNCED, DIRECT, GROWN, HOWS };

static const char *const names[HOWS] = {
	"fsync", "fdatasync", "msync", "fsync-of-mapping", "o_sync", "o_dsync", "direct",
	"grown",
};

/* Old bytes, then new ones over part of them. */
static void content(enum how how, uint8_t *to)
{
	memset(to, 'A' + how, SIZE);
	memset(to + 1000, 'a' + how, 9000);
}

static void store_one(const char *path, enum how how, uint8_t *buf)
{
	static const int flags[HOWS] = { [O_SYNCED] = O_SYNC, [O_DSYNCED] = O_DSYNC };
	uint8_t *map;
	int fd, dfd;

	MUST(fd = open(path, O_RDWR | O_CREAT | flags[how] | O_CLOEXEC, 0644));
	content(how, buf);
	if (how == MSYNC || how == FSYNC_MAP) {
		MUST(ftruncate(fd, SIZE));
		map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			die("mmap");
		memcpy(map, buf, SIZE);
		MUST(how == MSYNC ? msync(map, SIZE, MS_SYNC) : fsync(fd));
		return;
	}
	if (how == DIRECT && (dfd = open(path, O_RDWR | O_DIRECT | O_SYNC | O_CLOEXEC)) >= 0)
		fd = dfd;
	for (size_t at = 0; at < SIZE; at += PAGE)
		if (pwrite(fd, buf + at, PAGE, (off_t)at) != (ssize_t)PAGE)
			die(path);
	if (how == FSYNC || how == GROWN)
		MUST(fsync(fd));
	if (how == FDATASYNC || how == DIRECT)
		MUST(fdatasync(fd));
}

static int store(const char *dir)
{
	uint8_t *buf = aligned_alloc(PAGE, SIZE);
	char path[4096];

	for (int how = 0; how < HOWS; how++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[how]);
		store_one(path, (enum how)how, buf);
	}
	puts("ready");
	fflush(stdout);
	sleep(60);
	return 0;
}

static int check(const char *dir)
{
	static uint8_t is[SIZE + 1], want[SIZE];
	char path[4096];

	for (int how = 0; how < HOWS; how++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, names[how]);
		content((enum how)how, want);
		MUST(fd = open(path, O_RDONLY | O_CLOEXEC));
		if (read(fd, is, SIZE + 1) != (ssize_t)SIZE)
			bad = 1, fprintf(stderr, "%s: size\n", names[how]);
		expect(names[how], is, want, 0, SIZE);
		MUST(close(fd));
	}
	return bad;
}

/* ---- widow ------------------------------------------------------------------ */

static int widow(const char *path, pid_t daemon)
{
	struct statfs st;
	uint8_t *map;
	int fd, m, f;

	MUST(fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644));
	MUST(ftruncate(fd, PAGE));
	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	map[0] = 1;
	MUST(msync(map, PAGE, MS_SYNC));
	MUST(fsync(fd));
	map[0] = 2;
	MUST(kill(daemon, SIGKILL));
	while (statfs(path, &st) == 0)		/* always asks it */
		poll(NULL, 0, 10);
	m = msync(map, PAGE, MS_SYNC);
	f = fsync(fd);
	if (!m || !f)
		fprintf(stderr, "the daemon is dead, and msync says %d, fsync %d\n", m, f);
	return !m || !f;
}

/* ---- fill, dirty, compare --------------------------------------------------- */

static void pattern(uint32_t *to, unsigned mib)
{
	for (unsigned i = 0; i < MIB / 4; i++)
		to[i] = mib * (MIB / 4) + i + 1;
}

/* The error must come from the call that is asked, or from a write before it. */
static int fill(const char *path, unsigned mib, int by_close)
{
	static uint32_t buf[MIB / 4];
	int fd, err = 0;

	MUST(fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	for (unsigned i = 0; i < mib && !err; i++) {
		pattern(buf, i);
		if (write(fd, buf, MIB) != (ssize_t)MIB)
			err = errno ? errno : ENOSPC;
	}
	printf("write: %s\n", strerror(err));
	if (!err && !by_close && fsync(fd))
		printf("fsync: %s\n", strerror(err = errno));
	if (close(fd) && !err && by_close)
		printf("close: %s\n", strerror(err = errno));
	return err != ENOSPC;
}

static int dirty(const char *path, unsigned mib)
{
	static uint32_t buf[MIB / 4];
	int fd;

	MUST(fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	for (unsigned i = 0; i < mib; i++) {
		pattern(buf, i);
		if (write(fd, buf, MIB) != (ssize_t)MIB)
			die(path);
	}
	puts("ready");
	fflush(stdout);
	sleep(60);
	return 0;
}

static int compare(const char *path, unsigned mib)
{
	static uint32_t buf[MIB / 4], want[MIB / 4];
	int fd;

	MUST(fd = open(path, O_RDONLY | O_CLOEXEC));
	for (unsigned i = 0; i < mib && !bad; i++) {
		pattern(want, i);
		if (read(fd, buf, MIB) != (ssize_t)MIB || memcmp(buf, want, MIB))
			bad = 1, fprintf(stderr, "%s: differs in MiB %u\n", path, i);
	}
	return bad;
}

/* By the number of a 32-bit process's call, which no kernel checks here. */
static int set_flags(const char *path, unsigned flags)
{
	int fd, err;

	MUST(fd = open(path, O_RDONLY | O_CLOEXEC));
	err = ioctl(fd, FS_IOC32_SETFLAGS, &flags) ? errno : 0;
	printf("%s\n", strerror(err));
	return err != ENOTTY;
}

int main(int argc, char **argv)
{
	const char *what = argc >= 3 ? argv[1] : "";
	unsigned n = argc >= 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;

	if (!strcmp(what, "setflags32"))
		return set_flags(argv[2], n);
	if (!strcmp(what, "coherent"))
		return coherent(argv[2]);
	if (!strcmp(what, "append") && n)
		return append(argv[2], n);
	if (!strcmp(what, "store"))
		return store(argv[2]);
	if (!strcmp(what, "check"))
		return check(argv[2]);
	if (!strcmp(what, "widow") && n)
		return widow(argv[2], (pid_t)n);
	if (!strcmp(what, "fill") && n && argc == 5)
		return fill(argv[2], n, !strcmp(argv[4], "close"));
	if (!strcmp(what, "dirty") && n)
		return dirty(argv[2], n);
	if (!strcmp(what, "compare") && n)
		return compare(argv[2], n);
	fprintf(stderr, "usage: see the head of cache_io.c\n");
	return 2;
}
