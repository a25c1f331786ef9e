/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * judge.c - a directory against a model
 */
#include "soak/soak.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct court {
	int base;
	const struct model *m, *other;
	int mixed;
	char *what;
	size_t size;
};

static uint8_t is[FILE_MAX + 1];

static bool no(struct court *c, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool no(struct court *c, const char *path, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(c->what, c->size, "%s: %s", path, text);
	return false;
}

/* ---- bytes ------------------------------------------------------------------ */

static uint8_t byte_of(const struct node *n, uint32_t i)
{
	return i < n->size ? n->data[i] : 0;
}

/* An operation that was cut: its size is between, each byte old or new. */
static bool mixed_ok(struct court *c, const char *path, uint32_t size)
{
	const struct node *was = &c->m->node[c->mixed], *will = &c->other->node[c->mixed];
	uint32_t low = was->size < will->size ? was->size : will->size, i;

	if (size < low || size > was->size + will->size - low)
		return no(c, path, "%u bytes, neither %u nor %u nor between", size, was->size,
			  will->size);
	for (i = 0; i < size; i++)
		if (is[i] != byte_of(was, i) && is[i] != byte_of(will, i))
			return no(c, path, "byte %u is %02x, neither old %02x nor new %02x", i,
				  is[i], byte_of(was, i), byte_of(will, i));
	return true;
}

static bool bytes_ok(struct court *c, const char *path, int fd, int nr, const struct stat *st)
{
	const struct node *n = &c->m->node[nr];
	ssize_t got = pread(fd, is, sizeof(is), 0);
	uint32_t i;

	if (got != st->st_size)
		return no(c, path, "%zd of %lld bytes could be read (%s)", got,
			  (long long)st->st_size, got < 0 ? strerror(errno) : "short");
	if (nr == c->mixed)
		return mixed_ok(c, path, (uint32_t)got);
	if ((uint32_t)got != n->size)
		return no(c, path, "%zd bytes, should be %u", got, n->size);
	for (i = 0; i < n->size; i++)
		if (is[i] != n->data[i])
			return no(c, path, "byte %u is %02x, should be %02x", i, is[i], n->data[i]);
	return true;
}

/* ---- one file --------------------------------------------------------------- */

static bool attr_ok(struct court *c, const char *path, int fd, unsigned k, const struct attr *a)
{
	static uint8_t will[65536];
	char name[16];
	ssize_t n;

	snprintf(name, sizeof(name), "user.a%u", k);
	n = fgetxattr(fd, name, is, 65536);
	if (n < 0 && errno == ENODATA && !a->set)
		return true;
	if (n < 0 || !a->set || n != (ssize_t)a->len)
		return no(c, path, "%s has %zd bytes, should have %d", name, n,
			  a->set ? (int)a->len : -1);
	seed_bytes(a->seed, will, a->len);
	return !memcmp(is, will, a->len) || no(c, path, "%s has another value", name);
}

static bool times_ok(struct court *c, const char *path, const struct node *n,
		     const struct stat *st)
{
	if (!n->mtime_known)
		return true;
	if ((uint64_t)st->st_mtim.tv_sec == n->mtime >> 32 &&
	    (uint64_t)st->st_mtim.tv_nsec == n->mtime % 1000000000)
		return true;
	return no(c, path, "mtime is %lld.%09ld", (long long)st->st_mtim.tv_sec,
		  st->st_mtim.tv_nsec);
}

static bool file_ok(struct court *c, const char *path, int nr, const struct stat *st)
{
	const struct node *n = &c->m->node[nr];
	int fd = openat(c->base, path, O_RDONLY);
	bool ok = true;
	unsigned k;

	if (fd < 0)
		return no(c, path, "cannot be opened: %s", strerror(errno));
	if ((st->st_mode & 07777) != n->mode)
		ok = no(c, path, "mode %o, should be %o", st->st_mode & 07777, n->mode);
	for (k = 0; ok && k < ATTRS; k++)
		ok = attr_ok(c, path, fd, k, &n->attr[k]);
	if (ok && nr != c->mixed)
		ok = times_ok(c, path, n, st);
	if (ok)
		ok = bytes_ok(c, path, fd, nr, st);
	close(fd);
	return ok;
}

static bool link_ok(struct court *c, const char *path, const struct node *n)
{
	char will[TARGET_MAX], have[TARGET_MAX + 1];
	ssize_t len = readlinkat(c->base, path, have, sizeof(have));

	seed_target(n->seed, will, n->size);
	if (len != (ssize_t)n->size || memcmp(have, will, n->size))
		return no(c, path, "another target, of %zd bytes", len);
	return true;
}

/* ---- all names --------------------------------------------------------------- */

/* Names of one file are one file, names of two are two. */
static bool same_inodes(struct court *c, const ino_t ino[SLOTS])
{
	char path[16];
	unsigned i, k;

	for (i = 0; i < SLOTS; i++)
		for (k = 0; k < i; k++) {
			if (c->m->slot[i] < 0 || c->m->slot[k] < 0 ||
			    (ino[i] == ino[k]) == (c->m->slot[i] == c->m->slot[k]))
				continue;
			slot_path(i, path);
			return no(c, path, "its inode number is %s that of slot %u",
				  ino[i] == ino[k] ? "also" : "not", k);
		}
	return true;
}

static bool slot_ok(struct court *c, unsigned slot, ino_t *ino)
{
	int nr = c->m->slot[slot];
	const struct node *n = nr < 0 ? NULL : &c->m->node[nr];
	struct stat st;
	char path[16];

	slot_path(slot, path);
	if (!c->m->dir[slot / NAMES])
		return true;
	if (fstatat(c->base, path, &st, AT_SYMLINK_NOFOLLOW)) {
		if (n)
			return no(c, path, "is lost: %s", strerror(errno));
		return errno == ENOENT || no(c, path, "stat: %s", strerror(errno));
	}
	if (!n)
		return no(c, path, "is there, and should not be");
	*ino = st.st_ino;
	if (st.st_nlink != n->links)
		return no(c, path, "%u links, should be %u", (unsigned)st.st_nlink, n->links);
	if (n->symlink != !!S_ISLNK(st.st_mode))
		return no(c, path, "is of another type");
	return n->symlink ? link_ok(c, path, n) : file_ok(c, path, nr, &st);
}

/* What a listing says: as many names as there should be. */
static bool dir_ok(struct court *c, unsigned d)
{
	unsigned want = 0, have = 0, i;
	char path[16];
	struct dirent *de;
	DIR *dir;
	int fd;

	dir_path(d, path);
	fd = openat(c->base, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || !c->m->dir[d]) {
		if (fd >= 0)
			close(fd);
		return (fd < 0 && errno == ENOENT && !c->m->dir[d]) ||
		       no(c, path, fd < 0 ? "is lost" : "is there, and should not be");
	}
	for (i = 0; i < NAMES; i++)
		want += c->m->slot[d * NAMES + i] >= 0;
	for (i = 1; !d && i < DIRS; i++)
		want += c->m->dir[i];
	dir = fdopendir(fd);
	while (dir && (de = readdir(dir)))
		have += de->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return have == want || no(c, path, "%u names, should be %u", have, want);
}

bool judge(int base, const struct model *m, const struct model *other, int mixed,
	   char *what, size_t size)
{
	struct court c = { base, m, other, mixed, what, size };
	ino_t ino[SLOTS] = { 0 };
	unsigned i;

	for (i = 0; i < DIRS; i++)
		if (!dir_ok(&c, i))
			return false;
	for (i = 0; i < SLOTS; i++)
		if (!slot_ok(&c, i, &ino[i]))
			return false;
	return same_inodes(&c, ino);
}
