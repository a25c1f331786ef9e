/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules_xattr.c - extended attributes, file capabilities
 *
 * Names are those of trusted.*, which tmpfs has on every kernel.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "posix/rule.h"

static char value[65537], got[65537];

static void fill_value(size_t size, int seed)
{
	for (size_t i = 0; i < size; i++)
		value[i] = (char)(i * 31 + (size_t)seed);
}

static void xattr_create_and_replace(void)
{
	make_file("f", 0644);
	FAILS(setxattr("f", "trusted.a", "1", 1, XATTR_REPLACE), ENODATA);
	FAILS(getxattr("f", "trusted.a", got, 10), ENODATA);
	FAILS(removexattr("f", "trusted.a"), ENODATA);
	OK(setxattr("f", "trusted.a", "1", 1, XATTR_CREATE));
	FAILS(setxattr("f", "trusted.a", "2", 1, XATTR_CREATE), EEXIST);
	SAME(OK(getxattr("f", "trusted.a", got, 10)), 1);
	SAME(got[0], '1');
	OK(setxattr("f", "trusted.a", "22", 2, XATTR_REPLACE));
	OK(setxattr("f", "trusted.a", "333", 3, 0));
	SAME(OK(getxattr("f", "trusted.a", got, 10)), 3);
	OK(removexattr("f", "trusted.a"));
	FAILS(getxattr("f", "trusted.a", got, 10), ENODATA);
}

/* Each size after each other one: from inline to blocks of its own and back. */
static void xattr_sizes(void)
{
	static const size_t size[] = {
		0, 1, 255, 4096, 100, 1024, 65536, 512, 4097, 65535, 0, 16384, 2048,
	};

	make_file("f", 0644);
	for (unsigned i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		fill_value(size[i], (int)i);
		OK(setxattr("f", "trusted.a", value, size[i], 0));
		SAME(OK(getxattr("f", "trusted.a", NULL, 0)), size[i]);
		SAME(OK(getxattr("f", "trusted.a", got, sizeof(got))), size[i]);
		WANT(!memcmp(value, got, size[i]));
		if (size[i] > 1)
			FAILS(getxattr("f", "trusted.a", got, size[i] - 1), ERANGE);
	}
	FAILS(setxattr("f", "trusted.a", value, 65537, 0), E2BIG);
	SAME(OK(getxattr("f", "trusted.a", NULL, 0)), 2048);
}

#define ATTRS	400

static void attr_name(char *buf, int i) { snprintf(buf, 32, "trusted.number-%d", i); }

/* Every name of the list once: those of i with i % step == 0. */
static void names_are(int step)
{
	static char seen[ATTRS];
	char list[ATTRS * 32], again[ATTRS * 32];
	long len = OK(listxattr("f", list, sizeof(list)));
	int nr = 0;

	SAME(OK(listxattr("f", NULL, 0)), len);
	FAILS(listxattr("f", again, (size_t)len - 1), ERANGE);
	SAME(OK(listxattr("f", again, (size_t)len)), len);
	WANT(!memcmp(list, again, (size_t)len));
	memset(seen, 0, sizeof(seen));
	for (long at = 0; at < len; at += (long)strlen(list + at) + 1) {
		int i;

		if (sscanf(list + at, "trusted.number-%d", &i) != 1)
			continue;		/* security.selinux, perhaps */
		WANT(i >= 0 && i < ATTRS && i % step == 0);
		SAME(seen[i]++, 0);
		nr++;
	}
	SAME(nr, (ATTRS + step - 1) / step);
}

static void xattr_many_names(void)
{
	char name[32];

	make_file("f", 0644);
	for (int i = 0; i < ATTRS; i++) {
		attr_name(name, i);
		OK(setxattr("f", name, name, strlen(name), XATTR_CREATE));
	}
	names_are(1);
	for (int i = 0; i < ATTRS; i++) {
		attr_name(name, i);
		if (i % 3)
			OK(removexattr("f", name));
		else
			SAME(OK(getxattr("f", name, got, 100)), strlen(name));
	}
	names_are(3);
}

static void xattr_name_lengths(void)
{
	char name[300] = "trusted.";

	make_file("f", 0644);
	memset(name + 8, 'n', sizeof(name) - 8);
	name[255] = '\0';
	OK(setxattr("f", name, "v", 1, 0));
	SAME(OK(getxattr("f", name, got, 10)), 1);
	name[255] = 'n';
	name[256] = '\0';
	FAILS(setxattr("f", name, "v", 1, 0), ERANGE);
	FAILS(setxattr("f", "", "v", 1, 0), ERANGE);
	FAILS(setxattr("f", "nonsense.name", "v", 1, 0), EOPNOTSUPP);
	FAILS(setxattr("f", "trusted.", "v", 1, 0), EINVAL);
}

static bool is_listed(const char *name)
{
	char list[4096];
	long len = OK(listxattr("f", list, sizeof(list)));

	for (long at = 0; at < len; at += (long)strlen(list + at) + 1)
		if (!strcmp(list + at, name))
			return true;
	return false;
}

static void xattr_who_may(void)
{
	make_file("f", 0666);
	OK(setxattr("f", "trusted.a", "v", 1, 0));
	WANT(is_listed("trusted.a"));
	AS(1000, 1000) {
		WANT(!is_listed("trusted.a"));
		FAILS(getxattr("f", "trusted.a", got, 10), ENODATA);
		FAILS(setxattr("f", "trusted.a", "w", 1, 0), EPERM);
		FAILS(setxattr("f", "security.a", "w", 1, 0), EPERM);
	}
	if (setxattr("f", "user.a", "v", 1, 0) == -1 && errno == EOPNOTSUPP)
		return;				/* tmpfs before Linux 6.6 */
	AS(1000, 1000)
		OK(setxattr("f", "user.a", "w", 1, 0));
	OK(chmod("f", 0444));
	AS(1000, 1000)
		FAILS(setxattr("f", "user.a", "x", 1, 0), EACCES);
	OK(symlink("f", "l"));
	FAILS(lsetxattr("l", "user.a", "x", 1, 0), EPERM);
	OK(lsetxattr("l", "trusted.a", "x", 1, 0));
	OK(mknod("p", S_IFIFO | 0666, 0));
	FAILS(setxattr("p", "user.a", "x", 1, 0), EPERM);
}

/* Only stored, where no security module has a say. */
static void xattr_security(void)
{
	make_file("f", 0644);
	OK(setxattr("f", "security.note", "v", 1, 0));
	SAME(OK(getxattr("f", "security.note", got, 10)), 1);
	WANT(is_listed("security.note"));
	OK(removexattr("f", "security.note"));
}

static void xattr_keeps_times(void)
{
	struct stat a, b;

	make_file("f", 0644);
	a = stat_of("f");
	usleep(20000);
	OK(setxattr("f", "trusted.a", "v", 1, 0));
	b = stat_of("f");
	WANT(b.st_mtim.tv_nsec == a.st_mtim.tv_nsec && b.st_mtim.tv_sec == a.st_mtim.tv_sec);
	WANT(b.st_ctim.tv_nsec != a.st_ctim.tv_nsec || b.st_ctim.tv_sec != a.st_ctim.tv_sec);
}

/* ---- file capabilities ----------------------------------------------------------- */

static void give_cap(const char *path)
{
	struct vfs_cap_data cap = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data[0].permitted = 1u << CAP_CHOWN,
	};

	OK(setxattr(path, "security.capability", &cap, XATTR_CAPS_SZ_2, 0));
}

static bool has_cap(const char *path)
{
	return getxattr(path, "security.capability", got, 100) > 0;
}

static void copy_program(const char *from, const char *to)
{
	int in = (int)OK(open(from, O_RDONLY)), out;
	ssize_t n;

	out = (int)OK(open(to, O_CREAT | O_EXCL | O_WRONLY, 0755));
	while ((n = OK(read(in, got, sizeof(got)))) > 0)
		SAME(OK(write(out, got, (size_t)n)), n);
	OK(close(in));
	OK(close(out));
}

static void capabilities_work(void)
{
	copy_program("/bin/chown", "p");
	make_file("f", 0644);
	OK(chown("f", 1000, 1000));
	give_cap("p");
	AS(1000, 1000) {
		int status;
		pid_t pid = (pid_t)OK(fork());

		if (pid == 0) {
			execl("./p", "p", "1234", "f", (char *)NULL);
			_exit(99);
		}
		OK(waitpid(pid, &status, 0));
		SAME(status, 0);
	}
	SAME(stat_of("f").st_uid, 1234);
}

static void capabilities_go(void)
{
	static const char *const name[] = { "w", "t", "o", "m" };
	int fd;

	for (int i = 0; i < 4; i++) {
		make_file(name[i], 0777);
		give_cap(name[i]);
		WANT(has_cap(name[i]));
	}
	AS(1000, 1000) {
		fd = (int)OK(open("w", O_WRONLY));
		OK(write(fd, "x", 1));
		OK(close(fd));
		OK(truncate("t", 1));
	}
	WANT(!has_cap("w"));
	WANT(!has_cap("t"));
	OK(chown("o", 1, 1));
	WANT(!has_cap("o"));
	OK(chmod("m", 0700));
	OK(rename("m", "n"));
	WANT(has_cap("n"));
	fd = (int)OK(open("n", O_WRONLY));		/* root, as well */
	OK(write(fd, "x", 1));
	OK(close(fd));
	WANT(!has_cap("n"));
}

const struct rule rules_xattr[] = {
	RULE(xattr_create_and_replace), RULE(xattr_sizes), RULE(xattr_many_names),
	RULE(xattr_name_lengths), RULE(xattr_who_may), RULE(xattr_security),
	RULE(xattr_keeps_times), RULE(capabilities_work), RULE(capabilities_go), RULES_END
};
