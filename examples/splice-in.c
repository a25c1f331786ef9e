/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * splice-in.c - move a stream from a pipe into a file with splice(2)
 *
 *	producer | splice-in FILE
 *
 * The bytes never visit this program: splice() hands the pipe's pages to the
 * file system. Prints one line, "BYTES SECONDS", and exits 0 only after
 * fsync() has said that all of it is safe. Refuses a standard input that is
 * not a pipe, and a FILE that exists.
 *
 *	cc -O2 -o splice-in splice-in.c
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHUNK	(1u << 20)

static int fail(const char *what, int err)
{
	fprintf(stderr, "splice-in: %s: %s\n", what, strerror(err));
	return 1;
}

/* 0, or the errno of what went wrong. */
static int drain(int in, int out, uint64_t *total)
{
	ssize_t n;

	for (;;) {
		n = splice(in, NULL, out, NULL, CHUNK,
			   SPLICE_F_MOVE | SPLICE_F_MORE);
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		*total += (uint64_t)n;
	}
	return fsync(out) < 0 ? errno : 0;
}

int main(int argc, char **argv)
{
	struct timespec a, b;
	struct stat st;
	uint64_t total = 0;
	int out, err;

	if (argc != 2) {
		fprintf(stderr, "usage: producer | splice-in FILE\n");
		return 2;
	}
	if (fstat(STDIN_FILENO, &st) < 0 || !S_ISFIFO(st.st_mode)) {
		fprintf(stderr, "splice-in: standard input is not a pipe\n");
		return 2;
	}
	/* A bigger pipe means fewer, larger requests; a small one works too. */
	fcntl(STDIN_FILENO, F_SETPIPE_SZ, CHUNK);

	out = open(argv[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (out < 0)
		return fail(argv[1], errno);

	clock_gettime(CLOCK_MONOTONIC, &a);
	err = drain(STDIN_FILENO, out, &total);
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (close(out) < 0 && !err)
		err = errno;
	if (err)
		return fail(argv[1], err);

	printf("%" PRIu64 " %.3f\n", total,
	       (double)(b.tv_sec - a.tv_sec) +
	       (double)(b.tv_nsec - a.tv_nsec) / 1e9);
	return 0;
}
