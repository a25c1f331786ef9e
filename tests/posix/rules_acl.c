/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules_acl.c - access control lists
 *
 * They are set and looked at as the attributes that they are, without a
 * library in between that would hide a byte. A list is written as a string,
 * one entry a word: u::rwx u:1000:r-- g::r-x g:7:--- m::rwx o::---
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "posix/rule.h"

#define ACCESS	"system.posix_acl_access"
#define DEFAULT	"system.posix_acl_default"
#define MAX	64u
#define SOME	"u::rw- u:1000:r-- g::r-- m::r-- o::---"

struct ace { uint16_t tag, perm; uint32_t id; };
struct list { uint32_t version; struct ace e[MAX]; };

static unsigned tag_of(const char *w)
{
	bool named = w[2] != ':';

	switch (w[0]) {
	case 'u':
		return named ? 0x02 : 0x01;
	case 'g':
		return named ? 0x08 : 0x04;
	case 'm':
		return 0x10;
	default:
		return 0x20;
	}
}

static size_t build(const char *text, struct list *l)
{
	unsigned n = 0;

	l->version = 2;
	for (const char *w = text; w && *w && n < MAX; n++) {
		const char *p = strchr(w + 2, ':') + 1;

		l->e[n].tag = (uint16_t)tag_of(w);
		l->e[n].id = w[2] == ':' ? ~0u : (uint32_t)strtoul(w + 2, NULL, 10);
		l->e[n].perm = (uint16_t)((p[0] == 'r') * 4 + (p[1] == 'w') * 2 +
					  (p[2] == 'x'));
		w = strchr(w, ' ');
		w = w ? w + 1 : NULL;
	}
	return 4 + n * sizeof(struct ace);
}

static long set(const char *path, const char *name, const char *text)
{
	struct list l;
	size_t size = build(text, &l);

	return setxattr(path, name, &l, size, 0);
}

/* The file has this list and no other. */
static void has(const char *path, const char *name, const char *text)
{
	struct list want, got;
	size_t size = build(text, &want);

	SAME(OK(getxattr(path, name, &got, sizeof(got))), size);
	for (unsigned i = 0; 4 + i * sizeof(struct ace) < size; i++) {
		SAME(got.e[i].tag, want.e[i].tag);
		SAME(got.e[i].perm, want.e[i].perm);
		SAME(got.e[i].id, want.e[i].id);
	}
}

static void has_none(const char *path, const char *name)
{
	FAILS(getxattr(path, name, NULL, 0), ENODATA);
}

static bool can(const char *path, int how)
{
	int fd = open(path, how);

	if (fd < 0)
		WANT(errno == EACCES);
	else
		close(fd);
	return fd >= 0;
}

static void acl_named_user(void)
{
	make_file("f", 0600);
	OK(set("f", ACCESS, "u::rw- u:1000:r-- g::--- m::rwx o::---"));
	AS(1000, 1000) {
		WANT(can("f", O_RDONLY));
		WANT(!can("f", O_WRONLY));
	}
	AS(1001, 1001)
		WANT(!can("f", O_RDONLY));
}

static void acl_named_group(void)
{
	make_file("f", 0600);
	OK(set("f", ACCESS, "u::rw- g::--- g:2000:rw- m::rw- o::---"));
	AS(1000, 2000)
		WANT(can("f", O_RDWR));
	AS(1000, 2001)
		WANT(!can("f", O_RDONLY));
}

/* One who is named gets what his entry says, though others get more. */
static void acl_named_is_final(void)
{
	make_file("f", 0666);
	OK(set("f", ACCESS, "u::rw- u:1000:--- g::rw- m::rw- o::rw-"));
	AS(1000, 1000)
		WANT(!can("f", O_RDONLY));
	AS(1001, 1001)
		WANT(can("f", O_RDWR));
}

static void acl_mask_limits(void)
{
	make_file("f", 0600);
	OK(set("f", ACCESS, "u::rw- u:1000:rw- g::rw- m::r-- o::---"));
	AS(1000, 1000) {
		WANT(can("f", O_RDONLY));
		WANT(!can("f", O_WRONLY));
	}
	OK(chmod("f", 0660));
	AS(1000, 1000)
		WANT(can("f", O_RDWR));
}

static void acl_on_directory(void)
{
	make_dir("d", 0700);
	make_file("d/f", 0666);
	AS(1000, 1000)
		WANT(!can("d/f", O_RDONLY));
	OK(set("d", ACCESS, "u::rwx u:1000:--x g::--- m::--x o::---"));
	AS(1000, 1000) {
		WANT(can("d/f", O_RDONLY));
		FAILS(unlink("d/f"), EACCES);
		WANT(!can("d", O_RDONLY | O_DIRECTORY));
	}
}

static void acl_mode_follows(void)
{
	make_file("f", 04600);
	OK(set("f", ACCESS, "u::r-x u:1000:rwx g::r-- m::rw- o::--x"));
	SAME(mode_of("f"), 04561);		/* the mask in the place of the group */
	has("f", ACCESS, "u::r-x u:1000:rwx g::r-- m::rw- o::--x");
}

static void acl_chmod_follows(void)
{
	make_file("f", 0600);
	OK(set("f", ACCESS, "u::rw- u:1000:rwx g::rwx g:5:r-x m::rwx o::r--"));
	OK(chmod("f", 0751));
	has("f", ACCESS, "u::rwx u:1000:rwx g::rwx g:5:r-x m::r-x o::--x");
	SAME(mode_of("f"), 0751);
	OK(chmod("f", 0));
	has("f", ACCESS, "u::--- u:1000:rwx g::rwx g:5:r-x m::--- o::---");
	AS(1000, 1000)
		WANT(!can("f", O_RDONLY));
	/* a list with a mask, but nobody named: the mask, still */
	OK(set("f", ACCESS, "u::rw- g::rwx m::r-- o::---"));
	OK(chmod("f", 0620));
	has("f", ACCESS, "u::rw- g::rwx m::-w- o::---");
}

static void acl_that_is_a_mode(void)
{
	make_file("f", 0600);
	OK(set("f", ACCESS, SOME));
	OK(set("f", ACCESS, "u::rwx g::r-x o::--x"));
	has_none("f", ACCESS);
	SAME(mode_of("f"), 0751);
}

static void acl_refused(void)
{
	static const char *const bad[] = {
		"u::rw- u:1000:r-- g::r-- o::---",	/* no mask */
		"u::rw- g::r--", "g::r-- o::---", "u::rw- o::---",
		"u::rw- m::r-- g::r-- o::---", "g::r-- u::rw- o::---",
		"u::rw- g::r-- m::r-- m::r-- o::---", "u::rw- g::r-- o::--- o::---",
		"u::rw- u:4294967295:r-- g::r-- m::r-- o::---",
	};
	struct list l;
	size_t size;

	make_file("f", 0640);
	make_dir("d", 0750);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FAILS(set("f", ACCESS, bad[i]), EINVAL);
		FAILS(set("d", DEFAULT, bad[i]), EINVAL);
	}
	size = build("u::rw- g::r-- o::---", &l);
	l.e[0].perm = 8;
	FAILS(setxattr("f", ACCESS, &l, size, 0), EINVAL);
	l.version = 1;
	FAILS(setxattr("f", ACCESS, &l, size, 0), EOPNOTSUPP);
	FAILS(setxattr("f", ACCESS, &l, 3, 0), EINVAL);
	has_none("f", ACCESS);
	SAME(mode_of("f"), 0640);
}

static void acl_default_needs_directory(void)
{
	make_file("f", 0640);
	FAILS(set("f", DEFAULT, SOME), EACCES);
	OK(symlink("f", "l"));
	FAILS(lsetxattr("l", ACCESS, "", 0, 0), EOPNOTSUPP);
}

static void acl_owner_sets(void)
{
	make_file("f", 0666);
	AS(1000, 1000)
		FAILS(set("f", ACCESS, SOME), EPERM);
	OK(chown("f", 1000, 1000));
	AS(1000, 1000) {
		OK(set("f", ACCESS, SOME));
		OK(removexattr("f", ACCESS));
	}
}

static void acl_removed(void)
{
	make_file("f", 0600);
	make_dir("d", 0700);
	OK(set("f", ACCESS, "u::rw- u:1000:rw- g::--- m::rw- o::---"));
	OK(removexattr("f", ACCESS));
	has_none("f", ACCESS);
	SAME(mode_of("f"), 0660);		/* as it was shown */
	OK(set("d", DEFAULT, SOME));
	OK(removexattr("d", DEFAULT));
	has_none("d", DEFAULT);
}

static void acl_is_listed(void)
{
	char list[200] = "";
	ssize_t n;

	make_dir("d", 0700);
	OK(set("d", ACCESS, SOME));
	OK(set("d", DEFAULT, SOME));
	n = OK(listxattr("d", list, sizeof(list)));
	WANT(memmem(list, (size_t)n, ACCESS, sizeof(ACCESS)));
	WANT(memmem(list, (size_t)n, DEFAULT, sizeof(DEFAULT)));
}

static void acl_inherited_by_file(void)
{
	int fd;

	make_dir("d", 0777);
	OK(set("d", DEFAULT, "u::rwx u:1000:rw- g::r-x m::rwx o::r--"));
	umask(077);				/* means nothing here */
	fd = (int)OK(open("d/f", O_CREAT | O_RDWR, 0666));
	OK(close(fd));
	has("d/f", ACCESS, "u::rw- u:1000:rw- g::r-x m::rw- o::r--");
	SAME(mode_of("d/f"), 0664);
	has_none("d/f", DEFAULT);
	OK(mknod("d/p", S_IFIFO | 0600, 0));
	has("d/p", ACCESS, "u::rw- u:1000:rw- g::r-x m::--- o::---");
	SAME(mode_of("d/p"), 0600);
	OK(symlink("f", "d/l"));
	SAME(mode_of("d/l"), 0777);
}

static void acl_inherited_by_directory(void)
{
	static const char list[] = "u::rwx u:1000:rw- g::r-x m::rwx o::r-x";

	make_dir("d", 0777);
	OK(set("d", DEFAULT, list));
	umask(077);
	OK(mkdir("d/e", 0770));
	has("d/e", DEFAULT, list);
	has("d/e", ACCESS, "u::rwx u:1000:rw- g::r-x m::rwx o::---");
	SAME(mode_of("d/e"), 0770);
	OK(mkdir("d/e/g", 0777));
	has("d/e/g", DEFAULT, list);
	AS(1000, 1000)
		WANT(can("d/e", O_RDONLY | O_DIRECTORY));
}

/* A default list that says no more than a mode leaves no list on a file. */
static void acl_inherited_mode(void)
{
	make_dir("d", 0777);
	OK(set("d", DEFAULT, "u::rwx g::rwx o::---"));
	umask(022);
	make_dir("d/e", 0700);
	OK(mknod("d/f", S_IFREG | 0666, 0));
	SAME(mode_of("d/f"), 0660);
	has_none("d/f", ACCESS);
	has("d/e", DEFAULT, "u::rwx g::rwx o::---");
}

static void acl_inherited_by_tmpfile(void)
{
	char path[64];
	int fd;

	make_dir("d", 0777);
	OK(set("d", DEFAULT, "u::rwx u:1000:rw- g::r-x m::rwx o::r--"));
	umask(077);
	fd = open("d", O_TMPFILE | O_RDWR, 0666);
	if (fd < 0 && errno == EOPNOTSUPP)
		rule_skip("no O_TMPFILE (Linux 6.1 has it)");
	OK(fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	OK(linkat(AT_FDCWD, path, AT_FDCWD, "d/f", AT_SYMLINK_FOLLOW));
	has("d/f", ACCESS, "u::rw- u:1000:rw- g::r-x m::rw- o::r--");
	SAME(mode_of("d/f"), 0664);
}

static void umask_without_acl(void)
{
	int fd;

	umask(027);
	OK(mkdir("d", 0777));
	OK(mknod("f", S_IFREG | 0666, 0));
	fd = (int)OK(open("g", O_CREAT | O_WRONLY, 0666));
	OK(close(fd));
	OK(mknod("p", S_IFIFO | 0666, 0));
	SAME(mode_of("d"), 0750);
	SAME(mode_of("f"), 0640);
	SAME(mode_of("g"), 0640);
	SAME(mode_of("p"), 0640);
	OK(set("d", ACCESS, "u::rwx u:1000:rwx g::rwx m::rwx o::rwx"));
	OK(mknod("d/f", S_IFREG | 0666, 0));	/* an access list is not inherited */
	SAME(mode_of("d/f"), 0640);
	has_none("d/f", ACCESS);
}

static void acl_takes_setgid(void)
{
	make_file("f", 02775);
	OK(chown("f", 1000, 2000));
	OK(chmod("f", 02775));
	AS(1000, 2000)
		OK(set("f", ACCESS, "u::rwx u:7:r-- g::r-x m::r-x o::---"));
	SAME(mode_of("f"), 02750);
	AS(1000, 1000)				/* not in the file's group */
		OK(set("f", ACCESS, "u::rwx u:8:r-- g::r-x m::r-x o::---"));
	SAME(mode_of("f"), 0750);
}

/* More entries than fit beside the attribute's name. */
static void acl_large(void)
{
	char text[MAX * 16] = "u::rw- ";
	size_t len = strlen(text);

	for (unsigned i = 0; i < MAX - 4; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "u:%u:r-- ", 1000 + i);
	snprintf(text + len, sizeof(text) - len, "g::--- m::r-- o::---");
	make_file("f", 0600);
	make_dir("d", 0700);
	OK(set("f", ACCESS, text));
	OK(set("d", DEFAULT, text));
	AS(1000 + MAX - 5, 1)
		WANT(can("f", O_RDONLY));
	OK(chmod("f", 0600));
	AS(1000 + MAX - 5, 1)
		WANT(!can("f", O_RDONLY));
	OK(mkdir("d/e", 0777));
	has("d/e", DEFAULT, text);
}

const struct rule rules_acl[] = {
	RULE(acl_named_user), RULE(acl_named_group), RULE(acl_named_is_final),
	RULE(acl_mask_limits), RULE(acl_on_directory), RULE(acl_mode_follows),
	RULE(acl_chmod_follows), RULE(acl_that_is_a_mode), RULE(acl_refused),
	RULE(acl_default_needs_directory), RULE(acl_owner_sets), RULE(acl_removed),
	RULE(acl_is_listed), RULE(acl_inherited_by_file),
	RULE(acl_inherited_by_directory), RULE(acl_inherited_mode),
	RULE(acl_inherited_by_tmpfile), RULE(umask_without_acl),
	RULE(acl_takes_setgid), RULE(acl_large), RULES_END
};
