/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work_name.c - names: one system call or a few, COUNT times
 *
 * What a bench needs is made before it is timed, unless an earlier one left
 * it: DIR/empty holds what "create" makes and "unlink" takes away, DIR/full
 * the files of 4 KiB that "create-4k" makes and the others use, DIR/dirs the
 * directories. The big-* benches work on DIR/big, whose size is the caller's
 * affair ("fill" adds COUNT names).
 */
#define _GNU_SOURCE
#include "work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FULL	4096

static char page[FULL];

/* Go there: names are then one component, as programs use them. */
static void enter(const struct work *w, const char *dir)
{
	const char *path = path_of(w, dir);

	if ((mkdir(path, 0700) && errno != EEXIST) || chdir(path))
		die(path);
}

static const char *name_nr(char c, uint64_t i)
{
	static char name[32];

	snprintf(name, sizeof(name), "%c%07llu", c, (unsigned long long)i);
	return name;
}

static bool exists(const char *name)
{
	struct stat st;

	return !lstat(name, &st);
}

/* A new file of len bytes. */
static void make_file(const char *name, size_t len)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		die(name);
	if (len && write(fd, page, len) != (ssize_t)len)
		die("write");
	if (close(fd))
		die("close");
}

static void take(const char *name)
{
	if (unlink(name))
		die(name);
}

/* The files are there, or are not, before the clock runs. */
static void want_files(const struct work *w, bool there, size_t len)
{
	for (uint64_t i = 0; i < w->count; i++) {
		bool is = exists(name_nr('f', i));

		if (there && !is)
			make_file(name_nr('f', i), len);
		else if (!there && is)
			take(name_nr('f', i));
	}
}

static void bench_create(struct work *w, const struct bench *b)
{
	enter(w, b->unit ? "full" : "empty");
	want_files(w, false, 0);
	work_begin(w);
	for (; w->ops < w->count; w->ops++)
		make_file(name_nr('f', w->ops), b->unit);
	work_end(w);
	w->bytes = w->ops * b->unit;
}

static void bench_unlink(struct work *w, const struct bench *b)
{
	enter(w, b->unit ? "full" : "empty");
	want_files(w, true, b->unit);
	work_begin(w);
	for (; w->ops < w->count; w->ops++)
		take(name_nr('f', w->ops));
	work_end(w);
}

static void bench_stat(struct work *w, const struct bench *b)
{
	(void)b;
	enter(w, "full");
	want_files(w, true, FULL);
	work_begin(w);
	do
		for (uint64_t i = 0; i < w->count; i++, w->ops++)
			if (!exists(name_nr('f', i)))
				die("stat");
	while (more(w));
	work_end(w);
}

static void bench_open(struct work *w, const struct bench *b)
{
	(void)b;
	enter(w, "full");
	want_files(w, true, FULL);
	work_begin(w);
	for (; w->ops < w->count; w->ops++) {
		int fd = open(name_nr('f', w->ops), O_RDONLY | O_CLOEXEC);

		if (fd < 0 || read(fd, page, FULL) != FULL || close(fd))
			die("open, read, close");
	}
	work_end(w);
	w->bytes = w->ops * FULL;
}

static void bench_append(struct work *w, const struct bench *b)
{
	(void)b;
	enter(w, "log");
	want_files(w, false, 0);
	want_files(w, true, 0);
	work_begin(w);
	for (; w->ops < w->count; w->ops++) {
		int fd = open(name_nr('f', w->ops % 16),
			      O_WRONLY | O_APPEND | O_CLOEXEC);

		if (fd < 0 || write(fd, page, 512) != 512 || close(fd))
			die("open, append, close");
	}
	work_end(w);
	w->bytes = w->ops * 512;
}

/* There and back again. */
static void bench_rename(struct work *w, const struct bench *b)
{
	char to[32];

	(void)b;
	enter(w, "full");
	want_files(w, true, FULL);
	work_begin(w);
	for (int back = 0; back < 2; back++)
		for (uint64_t i = 0; i < w->count; i++, w->ops++) {
			snprintf(to, sizeof(to), "%s",
				 name_nr(back ? 'f' : 'g', i));
			if (rename(name_nr(back ? 'g' : 'f', i), to))
				die("rename");
		}
	work_end(w);
}

static void want_dirs(const struct work *w, bool there)
{
	for (uint64_t i = 0; i < w->count; i++) {
		bool is = exists(name_nr('d', i));

		if ((there && !is && mkdir(name_nr('d', i), 0700)) ||
		    (!there && is && rmdir(name_nr('d', i))))
			die(name_nr('d', i));
	}
}

static void bench_mkdir(struct work *w, const struct bench *b)
{
	(void)b;
	enter(w, "dirs");
	want_dirs(w, false);
	work_begin(w);
	for (; w->ops < w->count; w->ops++)
		if (mkdir(name_nr('d', w->ops), 0700))
			die("mkdir");
	work_end(w);
}

static void bench_rmdir(struct work *w, const struct bench *b)
{
	(void)b;
	enter(w, "dirs");
	want_dirs(w, true);
	work_begin(w);
	for (; w->ops < w->count; w->ops++)
		if (rmdir(name_nr('d', w->ops)))
			die("rmdir");
	work_end(w);
}

/* Operations are entries. */
static void bench_readdir(struct work *w, const struct bench *b)
{
	(void)b;
	enter(w, "full");
	want_files(w, true, FULL);
	work_begin(w);
	do {
		DIR *d = opendir(".");
		uint64_t n = 0;

		if (!d)
			die("opendir");
		while (readdir(d))
			n++;
		closedir(d);
		if (n < w->count) {
			errno = ENOENT;
			die("readdir lost names");
		}
		w->ops += n;
	} while (more(w));
	work_end(w);
}

/* mknod: no open, so one round trip on FUSE. */
static void make_node(const char *name)
{
	if (mknod(name, S_IFREG | 0600, 0))
		die(name);
}

static void bench_fill(struct work *w, const struct bench *b)
{
	(void)b;
	enter(w, "big");
	work_begin(w);
	for (; w->ops < w->count; w->ops++)
		make_node(name_nr('b', w->ops));
	work_end(w);
}

/*
 * A name's hash, so its place in the directory's tree, is random anyway. What
 * is looked up has never been asked for, or the kernel would know the answer.
 */
static void bench_big(struct work *w, const struct bench *b)
{
	enter(w, "big");
	if (b->arg == 'u')
		for (uint64_t i = 0; i < w->count; i++)
			make_node(name_nr('u', i));
	work_begin(w);
	for (; w->ops < w->count; w->ops++) {
		if (b->arg == 'c')
			make_node(name_nr('c', w->ops));
		else if (b->arg == 'u')
			take(name_nr('u', w->ops));
		else if (exists(name_nr('x', now_ns())))
			die("a name nobody made");
	}
	work_end(w);
	if (b->arg == 'c')
		for (uint64_t i = 0; i < w->count; i++)
			take(name_nr('c', i));
}

const struct bench name_benches[] = {
	{ "create", bench_create, 0, 0 },
	{ "unlink", bench_unlink, 0, 0 },
	{ "create-4k", bench_create, FULL, 0 },
	{ "stat", bench_stat, 0, 0 },
	{ "open-read-close", bench_open, 0, 0 },
	{ "append", bench_append, 0, 0 },
	{ "rename", bench_rename, 0, 0 },
	{ "readdir", bench_readdir, 0, 0 },
	{ "unlink-4k", bench_unlink, FULL, 0 },
	{ "mkdir", bench_mkdir, 0, 0 },
	{ "rmdir", bench_rmdir, 0, 0 },
	{ "fill", bench_fill, 0, 0 },
	{ "big-create", bench_big, 0, 'c' },
	{ "big-lookup", bench_big, 0, 'l' },
	{ "big-unlink", bench_big, 0, 'u' },
	{ NULL, NULL, 0, 0 },
};
