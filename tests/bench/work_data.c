/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work_data.c - reading and writing one file that is there already
 *
 * The file DIR/data is written once, whole, before anything is timed: memory
 * touched for the first time costs more than the copy. Direct benches ask for
 * O_DIRECT and do without where the filesystem refuses it (tmpfs before 6.6).
 */
#define _GNU_SOURCE
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MIB	(1u << 20)

enum { READING, WRITING, RANDOM = 2, CACHED = 4, SYNCED = 8 };

static void write_whole(int fd, const char *buf, size_t size)
{
	for (size_t at = 0; at < size; at += MIB)
		if (pwrite(fd, buf, MIB, (off_t)at) != MIB)
			die("filling the file");
}

/* DIR/data, full size, open for what the bench does. */
static int open_data(const struct work *w, int how)
{
	const char *path = path_of(w, "data");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stat st;
	int direct;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	if ((size_t)st.st_size < w->size) {
		char *buf = buffer(MIB);

		write_whole(fd, buf, w->size);
		munmap(buf, MIB);
		if (fsync(fd))
			die("fsync");
	}
	if (how & CACHED)
		return fd;
	direct = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (direct < 0) {
		if (errno != EINVAL)
			die(path);
		return fd;
	}
	close(fd);
	return direct;
}

static void one(int fd, char *buf, size_t unit, off_t at, int how)
{
	ssize_t n = how & WRITING ? pwrite(fd, buf, unit, at) :
				    pread(fd, buf, unit, at);

	if (n != (ssize_t)unit) {
		if (n >= 0)
			errno = EIO;
		die(how & WRITING ? "write" : "read");
	}
}

/* Once over the file, so that what is cached is cached. */
static void warm(int fd, char *buf, size_t size)
{
	for (size_t at = 0; at < size; at += MIB)
		one(fd, buf, MIB, (off_t)at, READING);
}

static void bench_io(struct work *w, const struct bench *b)
{
	char *buf = buffer(MIB);
	int how = b->arg;
	int fd = open_data(w, how);
	size_t slots = w->size / b->unit, i = 0;

	if (how & CACHED)
		warm(fd, buf, w->size);
	work_begin(w);
	do {
		size_t slot = how & RANDOM ? next_random() % slots : i;

		one(fd, buf, b->unit, (off_t)(slot * b->unit), how);
		i = i + 1 < slots ? i + 1 : 0;
		w->ops++;
	} while (more(w));
	if ((how & SYNCED) && fsync(fd))
		die("fsync");
	work_end(w);
	w->bytes = w->ops * b->unit;
	if ((how & CACHED) && (how & WRITING) && fsync(fd))
		die("fsync");
	close(fd);
}

/* Whole passes over a shared mapping, a 4 KiB copy at a time. */
static void bench_mmap(struct work *w, const struct bench *b)
{
	char *buf = buffer(MIB);
	int fd = open_data(w, CACHED);
	char *map;

	warm(fd, buf, w->size);
	map = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED && errno == ENODEV)
		cannot("no shared mappings of direct files");
	if (map == MAP_FAILED)
		die("mmap");
	for (size_t at = 0; at < w->size; at += b->unit)
		memcpy(buf, map + at, b->unit);
	work_begin(w);
	do {
		for (size_t at = 0; at < w->size; at += b->unit) {
			memcpy(buf, map + at, b->unit);
			/* or the compiler would leave the copy out */
			__asm__ volatile("" : : "r"(buf) : "memory");
		}
		w->ops += w->size / b->unit;
	} while (more(w));
	work_end(w);
	w->bytes = w->ops * b->unit;
	munmap(map, w->size);
	close(fd);
}

static void fill_pipe(int fd, char *buf, size_t size)
{
	struct iovec v = { buf, size };

	while (v.iov_len) {
		ssize_t n = vmsplice(fd, &v, 1, 0);

		if (n <= 0)
			die("vmsplice");
		v.iov_base = (char *)v.iov_base + n;
		v.iov_len -= (size_t)n;
	}
}

static void empty_pipe(int in, int out, off_t *at, size_t size)
{
	while (size) {
		ssize_t n = splice(in, NULL, out, at, size,
				   SPLICE_F_MOVE | SPLICE_F_MORE);

		if (n <= 0)
			die("splice");
		size -= (size_t)n;
	}
}

/* Fill a pipe by reference, splice it into the file, and again. */
static void bench_splice(struct work *w, const struct bench *b)
{
	char *buf = buffer(MIB);
	int fd = open_data(w, CACHED);
	size_t unit = b->unit;
	off_t at = 0;
	int p[2];

	if (pipe2(p, O_CLOEXEC) || fcntl(p[1], F_SETPIPE_SZ, (int)unit) < 0)
		die("pipe");
	work_begin(w);
	do {
		if ((size_t)at + unit > w->size)
			at = 0;
		fill_pipe(p[1], buf, unit);
		empty_pipe(p[0], fd, &at, unit);
		w->ops++;
	} while (more(w));
	work_end(w);
	w->bytes = w->ops * unit;
	if (fsync(fd))
		die("fsync");
	close(fd);
}

const struct bench data_benches[] = {
	{ "write-1m", bench_io, MIB, WRITING },
	{ "read-1m", bench_io, MIB, READING },
	{ "write-64k", bench_io, 65536, WRITING },
	{ "read-64k", bench_io, 65536, READING },
	{ "randwrite-4k", bench_io, 4096, WRITING | RANDOM },
	{ "randread-4k", bench_io, 4096, READING | RANDOM },
	{ "cached-read-4k", bench_io, 4096, READING | RANDOM | CACHED },
	{ "cached-write-4k", bench_io, 4096, WRITING | RANDOM | CACHED },
	{ "synced-write-4k", bench_io, 4096, WRITING | RANDOM | CACHED | SYNCED },
	{ "mmap-read", bench_mmap, 4096, 0 },
	{ "splice-64k", bench_splice, 65536, 0 },
	{ "splice-1m", bench_splice, MIB, 0 },
	{ NULL, NULL, 0, 0 },
};
