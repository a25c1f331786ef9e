/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handles.c - file handles that outlive a mount
 *
 *	handles save PATH FILE		the handle of PATH, to FILE
 *	handles open DIR FILE [PATH]	it opens what PATH is now; without PATH: it is
 *					stale
 *
 * DIR is anything on the filesystem. Exit status: 0, 1 (a line says why).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct { struct file_handle h; unsigned char room[MAX_HANDLE_SZ]; } u;

static int sorry(const char *what)
{
	printf("FAILED: %s: %s\n", what, strerror(errno));
	return 1;
}

static int save(const char *path, const char *file)
{
	FILE *f = fopen(file, "w");
	int id;

	u.h.handle_bytes = MAX_HANDLE_SZ;
	if (!f || name_to_handle_at(AT_FDCWD, path, &u.h, &id, 0))
		return sorry(path);
	fwrite(&u, sizeof(u), 1, f);
	return fclose(f) ? sorry(file) : 0;
}

static int check(const char *dir, const char *file, const char *path)
{
	int at = open(dir, O_RDONLY | O_DIRECTORY), fd;
	FILE *f = fopen(file, "r");
	struct stat a, b;

	if (at < 0 || !f || fread(&u, sizeof(u), 1, f) != 1)
		return sorry(file);
	fclose(f);
	fd = open_by_handle_at(at, &u.h, O_PATH);
	if (!path)
		return fd < 0 && errno == ESTALE ? 0 : sorry("a handle that should be stale");
	if (fd < 0 || fstat(fd, &a) || lstat(path, &b))
		return sorry(path);
	errno = 0;
	return a.st_ino == b.st_ino && a.st_mode == b.st_mode ? 0 : sorry("another file");
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "save"))
		return save(argv[2], argv[3]);
	if (argc >= 4 && !strcmp(argv[1], "open"))
		return check(argv[2], argv[3], argc > 4 ? argv[4] : NULL);
	fputs("usage: handles save PATH FILE | open DIR FILE [PATH]\n", stderr);
	return 2;
}
