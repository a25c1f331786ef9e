/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trips.c - do one common thing with files, and nothing else
 *
 *	trips FOLDER ACTION
 *
 * One action is one process, so that what a shell or a tool would do besides
 * is not counted with it. The folder is the working directory; names in it are
 * agreed with tests/system/s_trips.sh.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static int open_or_die(const char *name, int flags)
{
	int fd = open(name, flags, 0644);

	must(fd >= 0, name);
	return fd;
}

static void do_stat(void)
{
	struct stat st;

	must(!stat("small", &st), "stat");
}

static void do_absent(void)
{
	must(access("absent", F_OK) && errno == ENOENT, "access");
}

static void do_read(void)
{
	char buf[4096];
	int fd = open_or_die("small", O_RDONLY);

	must(read(fd, buf, sizeof(buf)) == 100, "read");
	close(fd);
}

static void do_create(void)
{
	int fd = open_or_die("new", O_CREAT | O_WRONLY | O_TRUNC);

	must(write(fd, "0123456789", 10) == 10, "write");
	close(fd);
}

static void do_append(void)
{
	int fd = open_or_die("new", O_WRONLY | O_APPEND);

	must(write(fd, "0123456789", 10) == 10, "write");
	close(fd);
}

static void do_rewrite(void)
{
	int fd = open_or_die("new", O_WRONLY | O_TRUNC);

	must(write(fd, "0123456789", 10) == 10, "write");
	must(!fsync(fd), "fsync");
	close(fd);
}

static void do_write4(void)
{
	int fd = open_or_die("new", O_WRONLY);

	for (int i = 0; i < 4; i++)
		must(pwrite(fd, "x", 1, i) == 1, "pwrite");
	close(fd);
}

static void do_map(void)
{
	int fd = open_or_die("small", O_RDONLY);
	char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	must(p != MAP_FAILED && *p == 's', "mmap");
	munmap(p, 4096);
	close(fd);
}

static void do_readdir(void)
{
	DIR *d = opendir("many");
	int n = 0;

	must(d != NULL, "opendir");
	while (readdir(d))
		n++;
	must(n == 1002, "readdir");
	closedir(d);
}

static void do_rename(void) { must(!rename("new", "newer"), "rename"); }
static void do_unlink(void) { must(!unlink("newer"), "unlink"); }
static void do_mkdir(void) { must(!mkdir("dir", 0755), "mkdir"); }
static void do_rmdir(void) { must(!rmdir("dir"), "rmdir"); }
static void do_symlink(void) { must(!symlink("small", "link"), "symlink"); }
static void do_truncate(void) { must(!truncate("small", 100), "truncate"); }
static void do_chmod(void) { must(!chmod("small", 0600), "chmod"); }
static void do_none(void) { }

static void do_readlink(void)
{
	char buf[64];

	must(readlink("link", buf, sizeof(buf)) == 5, "readlink");
}

static void do_getxattr(void)
{
	char buf[64];

	must(getxattr("small", "user.none", buf, sizeof(buf)) < 0 && errno == ENODATA,
	     "getxattr");
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*fn)(void); } action[] = {
		{ "none", do_none }, { "stat", do_stat }, { "absent", do_absent },
		{ "read", do_read }, { "create", do_create }, { "append", do_append },
		{ "rewrite", do_rewrite }, { "write4", do_write4 }, { "map", do_map },
		{ "readdir", do_readdir }, { "rename", do_rename }, { "unlink", do_unlink },
		{ "mkdir", do_mkdir }, { "rmdir", do_rmdir }, { "symlink", do_symlink },
		{ "readlink", do_readlink }, { "truncate", do_truncate },
		{ "chmod", do_chmod }, { "getxattr", do_getxattr },
	};

	if (argc != 3 || chdir(argv[1]))
		return 2;
	for (size_t i = 0; i < sizeof(action) / sizeof(action[0]); i++)
		if (!strcmp(argv[2], action[i].name)) {
			action[i].fn();
			return 0;
		}
	return 2;
}
