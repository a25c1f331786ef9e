/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * act.c - the soak's operations, by system calls
 */
#include "soak/soak.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <linux/fs.h>

static uint8_t bytes[FILE_MAX];

static int rename_flags(int base, const char *from, const char *to, unsigned flags)
{
	return (int)syscall(SYS_renameat2, base, from, base, to, flags);
}

/* A negative errno, or 0 when all went well. */
static int answer(bool ok) { return ok ? 0 : -(errno ? errno : EIO); }

static int put(int fd, const struct entry *e, uint64_t pos, bool append)
{
	ssize_t n;

	seed_bytes(e->seed, bytes, e->len);
	errno = 0;
	n = append ? write(fd, bytes, e->len) : pwrite(fd, bytes, e->len, (off_t)pos);
	return answer(n == (ssize_t)e->len);
}

static int store(int fd, const struct entry *e)
{
	uint64_t start = e->pos & ~4095ull, in = e->pos - start;
	uint8_t *p = mmap(NULL, in + e->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  (off_t)start);
	int err;

	if (p == MAP_FAILED)
		return -errno;
	seed_bytes(e->seed, p + in, e->len);
	err = answer(!msync(p, in + e->len, MS_SYNC));
	munmap(p, in + e->len);
	return err;
}

static int read_back(int fd, const struct node *n)
{
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st))
		return -errno;
	got = pread(fd, bytes, sizeof(bytes), 0);
	if (got < 0)
		return -errno;
	if (st.st_size != n->size || got != (ssize_t)n->size || memcmp(bytes, n->data, n->size))
		return -EBADMSG;
	return 0;
}

static int set_times(int fd, uint64_t seed)
{
	struct timespec t[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)(seed >> 32), .tv_nsec = (long)(seed % 1000000000) },
	};

	return answer(!futimens(fd, t));
}

static int set_attr(int fd, const struct entry *e)
{
	char name[16];

	snprintf(name, sizeof(name), "user.a%u", e->b % ATTRS);
	if (e->op == OP_REMOVEXATTR)
		return answer(!fremovexattr(fd, name));
	seed_bytes(e->seed, bytes, e->len);
	return answer(!fsetxattr(fd, name, bytes, e->len, 0));
}

/* What is done to an open file. */
static int act_fd(int base, int fd, const char *path, const struct entry *e,
		  const struct model *m)
{
	switch ((enum soak_op)e->op) {
	case OP_WRITE: return put(fd, e, e->pos, false);
	case OP_APPEND: return put(fd, e, 0, true);
	case OP_MMAP: return store(fd, e);
	case OP_TRUNCATE: return answer(!ftruncate(fd, e->len));
	case OP_FALLOCATE: return answer(!fallocate(fd, e->mode, (off_t)e->pos, e->len));
	case OP_FSYNC: return answer(!fsync(fd));
	case OP_READ: return read_back(fd, &m->node[m->slot[e->a]]);
	case OP_SETXATTR: case OP_REMOVEXATTR: return set_attr(fd, e);
	case OP_CHMOD: return answer(!fchmod(fd, e->mode));
	case OP_UTIME: return set_times(fd, e->seed);
	default:	/* OP_UNLINK_OPEN: used while it has no name any more */
		if (unlinkat(base, path, 0))
			return -errno;
		return put(fd, e, e->pos, false);
	}
}

static bool writes_bytes(const struct entry *e)
{
	return e->op == OP_WRITE || e->op == OP_APPEND || e->op == OP_MMAP ||
	       e->op == OP_TRUNCATE || e->op == OP_FALLOCATE;
}

static int act_file(int base, const char *path, const struct entry *e, bool synced,
		    const struct model *m)
{
	int fd = openat(base, path, O_RDWR | (e->op == OP_APPEND ? O_APPEND : 0)), err;

	if (fd < 0)
		return -errno;
	err = act_fd(base, fd, path, e, m);
	if (!err && synced && writes_bytes(e))
		err = answer(!fsync(fd));
	close(fd);
	return err;
}

static int act_tmpfile(int base, const char *path, const struct entry *e, bool synced)
{
	char dir[16], proc[40];
	int fd, err;

	dir_path(e->a / NAMES, dir);
	fd = openat(base, dir, O_TMPFILE | O_RDWR, e->mode);
	if (fd < 0)
		return -errno;
	err = put(fd, e, 0, false);
	if (!err && synced)
		err = answer(!fsync(fd));
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (!err)
		err = answer(!linkat(AT_FDCWD, proc, base, path, AT_SYMLINK_FOLLOW));
	close(fd);
	return err;
}

static int act_create(int base, const char *path, const struct entry *e)
{
	int fd = openat(base, path, O_CREAT | O_EXCL | O_WRONLY, e->mode);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int act_symlink(int base, const char *path, const struct entry *e)
{
	char target[TARGET_MAX + 1];

	seed_target(e->seed, target, e->len);
	target[e->len] = '\0';
	return answer(!symlinkat(target, base, path));
}

int act(int base, const struct entry *e, bool synced, const struct model *expect)
{
	char a[16], b[16];

	if (e->op == OP_MKDIR || e->op == OP_RMDIR || e->op == OP_MOVE_DIR) {
		dir_path(e->a, a);
		dir_path(e->b, b);
	} else {
		slot_path(e->a, a);
		slot_path(e->b, b);
	}
	switch ((enum soak_op)e->op) {
	case OP_CREATE: return act_create(base, a, e);
	case OP_TMPFILE: return act_tmpfile(base, a, e, synced);
	case OP_SYMLINK: return act_symlink(base, a, e);
	case OP_RENAME: return answer(!rename_flags(base, a, b, 0));
	case OP_EXCHANGE: return answer(!rename_flags(base, a, b, RENAME_EXCHANGE));
	case OP_MOVE_DIR: return answer(!rename_flags(base, a, b, RENAME_NOREPLACE));
	case OP_LINK: return answer(!linkat(base, a, base, b, 0));
	case OP_UNLINK: return answer(!unlinkat(base, a, 0));
	case OP_MKDIR: return answer(!mkdirat(base, a, 0700));
	case OP_RMDIR: return answer(!unlinkat(base, a, AT_REMOVEDIR));
	default: return act_file(base, a, e, synced, expect);
	}
}
