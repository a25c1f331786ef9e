/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules_name.c - names, renames, directories while they are read
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/rule.h"

static int move(const char *from, const char *to, unsigned flags)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, flags);
}

static bool there(const char *path) { return access(path, F_OK) == 0; }

static void rename_noreplace(void)
{
	make_file("a", 0644);
	make_file("b", 0600);
	FAILS(move("a", "b", RENAME_NOREPLACE), EEXIST);
	SAME(mode_of("b"), 0600);
	OK(move("a", "c", RENAME_NOREPLACE));
	WANT(!there("a") && there("c"));
}

static void rename_exchange(void)
{
	ino_t file, dir;

	make_file("f", 0644);
	make_dir("d", 0755);
	make_dir("d/e", 0755);
	file = stat_of("f").st_ino;
	dir = stat_of("d/e").st_ino;
	OK(move("f", "d/e", RENAME_EXCHANGE));
	SAME(stat_of("d/e").st_ino, file);
	SAME(stat_of("f").st_ino, dir);
	SAME(stat_of("d").st_nlink, 2);
	FAILS(move("f", "none", RENAME_EXCHANGE), ENOENT);
	FAILS(move("f", "d/e", RENAME_EXCHANGE | RENAME_NOREPLACE), EINVAL);
}

static void rename_whiteout(void)
{
	struct stat st;

	make_file("f", 0644);
	make_file("g", 0644);
	OK(move("f", "g", RENAME_WHITEOUT));
	st = stat_of("f");
	WANT(S_ISCHR(st.st_mode) && st.st_rdev == 0);
	WANT(S_ISREG(stat_of("g").st_mode));
	AS(1000, 1000)
		FAILS(move("g", "h", RENAME_WHITEOUT), EACCES);
}

static void rename_into_itself(void)
{
	make_dir("d", 0755);
	make_dir("d/e", 0755);
	make_dir("d/e/g", 0755);
	FAILS(rename("d", "d/e/x"), EINVAL);
	FAILS(rename("d", "d/e"), EINVAL);
	FAILS(rename("d/e/g", "d"), ENOTEMPTY);
	FAILS(rename("d", "d/."), EBUSY);
	FAILS(rmdir("d/."), EINVAL);
}

static void rename_onto_what(void)
{
	make_file("f", 0644);
	make_dir("d", 0755);
	make_dir("e", 0755);
	make_file("e/x", 0644);
	FAILS(rename("f", "d"), EISDIR);
	FAILS(rename("d", "f"), ENOTDIR);
	FAILS(rename("d", "e"), ENOTEMPTY);
	FAILS(rename("f/x", "y"), ENOTDIR);
	OK(link("f", "g"));
	OK(rename("f", "g"));			/* two names of one file: nothing */
	WANT(there("f") && there("g"));
}

static void rename_over_open(void)
{
	char c = 0;
	int fd = (int)OK(open("f", O_CREAT | O_RDWR, 0600));

	OK(write(fd, "x", 1));
	make_file("g", 0644);
	OK(rename("g", "f"));
	SAME(OK(pread(fd, &c, 1, 0)), 1);
	SAME(c, 'x');
	OK(pwrite(fd, "y", 1, 100));
	struct stat st;
	OK(fstat(fd, &st));
	SAME(st.st_nlink, 0);
	SAME(st.st_size, 101);
	SAME(stat_of("f").st_size, 0);
	OK(close(fd));
}

static void name_bytes(void)
{
	bool seen[256] = { false };
	struct dirent *de;
	char name[300];
	DIR *d;

	for (int b = 1; b < 256; b++) {
		if (b == '/')
			continue;
		snprintf(name, sizeof(name), "n%cn", b);
		make_file(name, 0644);
	}
	d = opendir(".");
	WANT(d);
	while ((de = readdir(d)))
		if (strlen(de->d_name) == 3 && de->d_name[0] == 'n' && de->d_name[2] == 'n')
			seen[(unsigned char)de->d_name[1]] = true;
	closedir(d);
	for (int b = 1; b < 256; b++)
		WANT(seen[b] || b == '/');
	make_file("CASE", 0644);
	make_file("case", 0644);
	memset(name, 'l', sizeof(name));
	name[255] = '\0';
	make_file(name, 0644);
	name[255] = 'l';
	name[256] = '\0';
	FAILS(open(name, O_CREAT | O_WRONLY, 0600), ENAMETOOLONG);
	FAILS(mkdir(name, 0700), ENAMETOOLONG);
	FAILS(lstat(name, &(struct stat){ .st_size = 0 }), ENAMETOOLONG);
}

static void tmpfile_gets_a_name(void)
{
	char path[64];
	struct stat st;
	int fd = open(".", O_TMPFILE | O_RDWR, 0640);

	if (fd < 0 && errno == EOPNOTSUPP)
		rule_skip("no O_TMPFILE (Linux 6.1 has it)");
	OK(fd);
	OK(write(fd, "abc", 3));
	OK(fstat(fd, &st));
	SAME(st.st_nlink, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	OK(linkat(AT_FDCWD, path, AT_FDCWD, "f", AT_SYMLINK_FOLLOW));
	SAME(stat_of("f").st_nlink, 1);
	SAME(stat_of("f").st_size, 3);
	SAME(mode_of("f"), 0640);
	OK(close(fd));
	fd = (int)OK(open(".", O_TMPFILE | O_RDWR | O_EXCL, 0640));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	FAILS(linkat(AT_FDCWD, path, AT_FDCWD, "g", AT_SYMLINK_FOLLOW), ENOENT);
	OK(close(fd));
}

#define NAMES	2000

static void many_names(void)
{
	char name[32];

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "n%04d", i);
		make_file(name, 0600);
	}
}

/* A place that telldir() gave is the same place after others came and went. */
static void telldir_is_stable(void)
{
	struct dirent *de;
	char next[256], name[32];
	DIR *d;
	long at;

	many_names();
	d = opendir(".");
	WANT(d);
	for (int i = 0; i < 700; i++)
		WANT(readdir(d));
	at = telldir(d);
	de = readdir(d);
	WANT(de);
	snprintf(next, sizeof(next), "%s", de->d_name);
	for (int i = 0; i < NAMES; i += 2) {
		snprintf(name, sizeof(name), "n%04d", i);
		if (strcmp(name, next))
			OK(unlink(name));
		snprintf(name, sizeof(name), "new%04d", i);
		make_file(name, 0600);
		if (i % 8)
			continue;
		snprintf(name, sizeof(name), "n%04d", i + 1);
		if (strcmp(name, next))
			OK(rename(name, "new"));
	}
	seekdir(d, at);
	de = readdir(d);
	WANT(de);
	/* one that was made meanwhile may lie there too, but it is on the way */
	while (de && strcmp(de->d_name, next)) {
		WANT(!strncmp(de->d_name, "new", 3));
		de = readdir(d);
	}
	WANT(de);
	rewinddir(d);
	de = readdir(d);
	WANT(de && de->d_name[0] == '.');
	closedir(d);
}

/* What is there all the time is read once, whatever the size of the buffer. */
static void getdents_small(void)
{
	static char seen[NAMES];
	int fd = (int)OK(open(".", O_RDONLY | O_DIRECTORY)), nr = 0;
	long got;
	char buf[64];

	many_names();
	FAILS(syscall(SYS_getdents64, fd, buf, 8), EINVAL);
	while ((got = OK(syscall(SYS_getdents64, fd, buf, sizeof(buf)))) > 0) {
		for (long at = 0; at < got;) {
			unsigned short len;
			const char *name = buf + at + 19;

			memcpy(&len, buf + at + 16, sizeof(len));
			if (name[0] == 'n') {
				int i = (int)strtol(name + 1, NULL, 10);

				SAME(seen[i]++, 0);
				SAME(buf[at + 18], DT_REG);
				nr++;
			}
			at += len;
		}
	}
	SAME(nr, NAMES);
	OK(close(fd));
}

static void symlink_lengths(void)
{
	char target[4200], got[4200];

	memset(target, 't', sizeof(target));
	for (int len = 1; len < 4096; len = len == 1024 ? 4095 : len * 4) {
		target[len] = '\0';
		OK(symlink(target, "l"));
		SAME(OK(readlink("l", got, sizeof(got))), len);
		SAME(stat_of("l").st_size, len);
		SAME(OK(readlink("l", got, 1)), 1);
		OK(unlink("l"));
		target[len] = 't';
	}
	target[4096] = '\0';
	FAILS(symlink(target, "l"), ENAMETOOLONG);
	FAILS(symlink("", "l"), ENOENT);
	OK(symlink("b", "a"));
	OK(symlink("a", "b"));
	FAILS(open("a", O_RDONLY), ELOOP);
}

/* Deeper than any path can say. */
static void deep_path(void)
{
	enum { DEEP = 300 };
	char name[101], path[5000];

	memset(name, 'd', 100);
	name[100] = '\0';
	for (int i = 0; i < DEEP; i++) {
		OK(mkdir(name, 0755));
		OK(chdir(name));
	}
	make_file("f", 0644);
	SAME(stat_of("f").st_size, 0);
	FAILS(getcwd(path, sizeof(path)) ? 0 : -1, ERANGE);
	OK(unlink("f"));
	for (int i = 0; i < DEEP; i++) {
		OK(chdir(".."));
		OK(rmdir(name));
	}
	memset(path, '/', sizeof(path));
	path[4096] = '\0';
	path[4095] = 'x';
	FAILS(lstat(path, &(struct stat){ .st_size = 0 }), ENAMETOOLONG);
}

const struct rule rules_name[] = {
	RULE(rename_noreplace), RULE(rename_exchange), RULE(rename_whiteout),
	RULE(rename_into_itself), RULE(rename_onto_what), RULE(rename_over_open),
	RULE(name_bytes), RULE(tmpfile_gets_a_name), RULE(telldir_is_stable),
	RULE(getdents_small), RULE(symlink_lengths), RULE(deep_path), RULES_END
};
