/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hold_map.c - keep a file mapped and open while its mount goes away
 *
 *	hold_map write FILE SECONDS [stay]
 *	hold_map check FILE NUMBER
 *
 * write dirties every page of a mapping, says "ready", then stores a growing
 * number through the mapping and writes it with pwrite(), for SECONDS; it ends
 * by printing the last number. With stay it then holds the file for a minute.
 * check reads FILE and compares. Exit status: 0 good, 1 not, 2 usage.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SIZE		(4u << 20)
#define PAGE		4096u
#define WRITTEN_AT	100u		/* page 0, by pwrite() */
#define STORED_AT	20580u		/* page 5, through the mapping */
#define DIGITS		8u

static int fail(const char *what)
{
	perror(what);
	return 1;
}

/* Eight digits, without an end. */
static void put_number(void *at, unsigned n)
{
	char text[16];

	snprintf(text, sizeof(text), "%08u", n % 100000000);
	memcpy(at, text, DIGITS);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int keep_storing(int fd, char *map, double seconds)
{
	double end = now() + seconds;
	char text[DIGITS];
	unsigned k = 0;

	do {
		put_number(text, k);
		if (pwrite(fd, text, DIGITS, WRITTEN_AT) != (ssize_t)DIGITS)
			return fail("pwrite");
		put_number(map + STORED_AT, k);
		k++;
		usleep(20000);
	} while (now() < end);
	printf("%u\n", k - 1);
	fflush(stdout);
	return 0;
}

static int write_file(const char *path, double seconds, int stay)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	unsigned at;
	char *map;
	int err;

	if (fd < 0 || ftruncate(fd, SIZE) < 0)
		return fail(path);
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return fail("mmap");
	for (at = 0; at < SIZE; at += PAGE)
		put_number(map + at, at / PAGE);
	puts("ready");
	fflush(stdout);
	err = keep_storing(fd, map, seconds);
	if (!err && stay)
		sleep(60);
	return err;
}

static int differs(const char *data, unsigned at, unsigned n)
{
	char want[DIGITS];

	put_number(want, n);
	if (!memcmp(data + at, want, DIGITS))
		return 0;
	fprintf(stderr, "hold_map: byte %u: wanted %08u, got %.8s\n", at, n,
		data + at);
	return 1;
}

static int check_file(const char *path, unsigned k)
{
	char *data = malloc(SIZE + 1);
	size_t got = 0;
	FILE *f = fopen(path, "r");
	unsigned at;
	int bad = 0;

	if (f && data)
		got = fread(data, 1, SIZE + 1, f);
	if (f)
		fclose(f);
	if (got != SIZE) {
		fprintf(stderr, "hold_map: %s: %zu bytes\n", path, got);
		free(data);
		return 1;
	}
	for (at = 0; at < SIZE; at += PAGE)
		bad |= differs(data, at, at / PAGE);
	bad |= differs(data, WRITTEN_AT, k);
	bad |= differs(data, STORED_AT, k);
	free(data);
	return bad;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && !strcmp(argv[1], "write"))
		return write_file(argv[2], strtod(argv[3], NULL), argc > 4);
	if (argc == 4 && !strcmp(argv[1], "check"))
		return check_file(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
	fprintf(stderr, "usage: hold_map write FILE SECONDS [stay] |"
		" check FILE NUMBER\n");
	return 2;
}
