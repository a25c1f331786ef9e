/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops.c - what users do, as a table, and how it is done
 *
 * The names in the table are part of an image's name; the plain tree they
 * work on is made by make_plain() below.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "copy/copy.h"
#include "crash/loads.h"

#define KEEP	FALLOC_FL_KEEP_SIZE
#define PUNCH	(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)
#define ZERO	FALLOC_FL_ZERO_RANGE

/*
 * a: the path; b: the second path, or the name of an attribute.
 * WRITE, PIPE, DEVICE, FALLOCATE: x position, y length, flags the mode.
 * COPY_RANGE: from b, at flags, to x; y length.
 * TRUNCATE: x size. CHMOD, MKNOD: x mode. SETXATTR: x length.
 * SET_FLAGS: x project. SYMLINK: x length of the target. RENAME: flags are renameat2(2)'s.
 */
#define OP(n, k, path, ...) { .name = n, .kind = COP_##k, .a = path, ##__VA_ARGS__ }

const struct cop cops[] = {
	OP("create", CREATE, "new", .x = 0644),
	OP("create_in_d", CREATE, "d/new", .x = 0644),
	OP("create_there", CREATE, "f1", .x = 0644),
	OP("mkdir", MKDIR, "newdir"),
	OP("mkdir_in_e", MKDIR, "e/newdir"),
	OP("mknod", MKNOD, "fifo", .x = S_IFIFO | 0600),
	OP("symlink", SYMLINK, "sl", .x = 20),
	OP("symlink_long", SYMLINK, "sl", .x = 3000),
	OP("link", LINK, "f1", .b = "ln"),
	OP("link_in_d", LINK, "f2", .b = "d/ln"),
	OP("unlink_one_of_two", UNLINK, "f1"),
	OP("unlink_other", UNLINK, "d/hl"),
	OP("unlink", UNLINK, "f2"),
	OP("unlink_empty", UNLINK, "f0"),
	OP("unlink_xattr", UNLINK, "xa"),
	OP("unlink_symlink", UNLINK, "s"),
	OP("unlink_symlink_long", UNLINK, "sL"),
	OP("rmdir", RMDIR, "e"),
	OP("rmdir_sub", RMDIR, "d/sub"),
	OP("rmdir_full", RMDIR, "d"),
	OP("rename", RENAME, "f1", .b = "r"),
	OP("rename_across", RENAME, "f1", .b = "e/r"),
	OP("rename_onto", RENAME, "f1", .b = "f2"),
	OP("rename_onto_across", RENAME, "d/x", .b = "f1"),
	OP("rename_dir", RENAME, "e", .b = "e2"),
	OP("rename_dir_across", RENAME, "e", .b = "d/e2"),
	OP("rename_onto_dir", RENAME, "d/sub", .b = "e"),
	OP("rename_dir_onto_dir", RENAME, "d", .b = "e"),
	OP("rename_same_inode", RENAME, "f1", .b = "d/hl"),
	OP("exchange", RENAME, "f1", .b = "d/x", .flags = RENAME_EXCHANGE),
	OP("exchange_dir", RENAME, "d/sub", .b = "f2", .flags = RENAME_EXCHANGE),
	OP("exchange_dirs", RENAME, "d", .b = "e", .flags = RENAME_EXCHANGE),
	OP("noreplace", RENAME, "f1", .b = "r", .flags = RENAME_NOREPLACE),
	OP("noreplace_there", RENAME, "f1", .b = "f2", .flags = RENAME_NOREPLACE),
	OP("whiteout", RENAME, "f1", .b = "r", .flags = RENAME_WHITEOUT),
	OP("whiteout_onto", RENAME, "d/x", .b = "f2", .flags = RENAME_WHITEOUT),
	OP("truncate_0", TRUNCATE, "f2", .x = 0),
	OP("truncate_open", OPEN_TRUNC, "f2"),
	OP("truncate_shorter", TRUNCATE, "f2", .x = 5001),
	OP("truncate_block", TRUNCATE, "f2", .x = 8192),
	OP("truncate_longer", TRUNCATE, "f2", .x = 20003),
	OP("truncate_hole", TRUNCATE, "f0", .x = 100000),
	OP("write_first", WRITE, "f0", .x = 0, .y = 1),
	OP("write_append", WRITE, "f1", .x = 100, .y = 65),
	OP("write_append_7", WRITE, "f2", .x = 12365, .y = 7),
	OP("write_append_blocks", WRITE, "f2", .x = 12365, .y = 9000),
	OP("write_over_7", WRITE, "f2", .x = 4093, .y = 7),
	OP("write_over_63", WRITE, "f2", .x = 129, .y = 63),
	OP("write_over_65", WRITE, "f1", .x = 3, .y = 65),
	OP("write_over_blocks", WRITE, "f2", .x = 100, .y = 8192),
	OP("write_over_end", WRITE, "f2", .x = 12000, .y = 5000),
	OP("write_sparse", WRITE, "f0", .x = 70001, .y = 65),
	OP("write_beyond", WRITE, "f1", .x = 9000, .y = 63),
	OP("write_1m", WRITE, "f0", .x = 0, .y = 1 << 20),
	OP("pipe_append", PIPE, "f2", .x = 12365, .y = 5000),
	OP("pipe_over", PIPE, "f2", .x = 1000, .y = 4097),
	OP("copy_range", COPY_RANGE, "f0", .b = "f2", .x = 0, .y = 20000, .flags = 0),
	OP("copy_range_over", COPY_RANGE, "d/x", .b = "f2", .x = 1000, .y = 5000, .flags = 4093),
	OP("copy_range_within", COPY_RANGE, "f2", .b = "f2", .x = 12365, .y = 7000, .flags = 77),
	OP("fallocate", FALLOCATE, "f0", .x = 0, .y = 65536),
	OP("fallocate_keep", FALLOCATE, "f2", .x = 8192, .y = 65536, .flags = KEEP),
	OP("punch_block", FALLOCATE, "f2", .x = 4096, .y = 4096, .flags = PUNCH),
	OP("punch_unaligned", FALLOCATE, "f2", .x = 100, .y = 9000, .flags = PUNCH),
	OP("zero_block", FALLOCATE, "f2", .x = 4096, .y = 4096, .flags = ZERO),
	OP("zero_longer", FALLOCATE, "f2", .x = 5000, .y = 20000, .flags = ZERO),
	OP("chmod", CHMOD, "f1", .x = 0400),
	OP("chmod_dir", CHMOD, "d", .x = 0700),
	OP("chown", CHOWN, "su", .x = 1000),
	OP("utimes", UTIMES, "d/x"),
	OP("set_flags", SET_FLAGS, "d", .x = 77, .flags = PMEMFS_FL_PROJINHERIT),
	OP("setxattr", SETXATTR, "f1", .b = "user.a", .x = 30),
	OP("setxattr_large", SETXATTR, "f1", .b = "user.b", .x = 5000),
	OP("setxattr_again", SETXATTR, "xa", .b = "user.small", .x = 200),
	OP("setxattr_larger", SETXATTR, "xa", .b = "user.large", .x = 9000),
	OP("setfacl", SETFACL, "f1", .b = "system.posix_acl_access"),
	OP("setfacl_default", SETFACL, "d", .b = "system.posix_acl_default"),
	OP("removexattr", REMOVEXATTR, "xa", .b = "user.small"),
	OP("removexattr_large", REMOVEXATTR, "xa", .b = "user.large"),
	OP("tmpfile", TMPFILE, ""),
	OP("tmpfile_link", TMPFILE_LINK, "d/tmp"),
	OP("open_unlink", OPEN_UNLINK, "f2"),
	OP("write_suid", WRITE, "su", .x = 10, .y = 100, .flags = OP_WRITE_KILL_PRIV),
	OP("read_sync", READ_SYNC, "f1"),
	OP("checkpoint", CHECKPOINT, ""),
};
const unsigned nr_cops = ARRAY_SIZE(cops);

const struct cop *cop_named(const char *name)
{
	for (unsigned i = 0; i < nr_cops; i++)
		if (!strcmp(cops[i].name, name))
			return &cops[i];
	fprintf(stderr, "no operation is called %s\n", name);
	abort();
}

/* ---- finding ------------------------------------------------------------------ */

/* The directory (one lookup kept, unless it is the root) and the last name. */
static int parent_of(struct crash *c, const char *path, uint64_t *dir, const char **name)
{
	const char *slash;
	struct op_entry e;
	int err = 0;

	*dir = PMEMFS_ROOT_INO;
	while (!err && (slash = strchr(path, '/'))) {
		err = op_lookup(crash_ctx(c), *dir, path, (size_t)(slash - path), &e);
		if (*dir != PMEMFS_ROOT_INO)
			op_forget(crash_ctx(c)->fs, *dir, 1);
		*dir = err ? PMEMFS_ROOT_INO : e.nodeid;
		path = slash + 1;
	}
	*name = path;
	return err;
}

static void done_with(struct crash *c, uint64_t node)
{
	if (node != PMEMFS_ROOT_INO)
		op_forget(crash_ctx(c)->fs, node, 1);
}

static int find(struct crash *c, const char *path, uint64_t *node)
{
	struct op_entry e;
	const char *name;
	uint64_t dir;
	int err = parent_of(c, path, &dir, &name);

	if (err)
		return err;
	err = op_lookup(crash_ctx(c), dir, name, strlen(name), &e);
	done_with(c, dir);
	*node = err ? 0 : e.nodeid;
	return err;
}

/* ---- names ---------------------------------------------------------------------- */

static int make_node(struct crash *c, const struct cop *op, uint64_t dir, const char *name,
		     unsigned nr)
{
	const struct op_ctx *ctx = crash_ctx(c);
	char target[4096];
	struct op_entry e;
	size_t len = strlen(name);
	int err;

	if (op->kind == COP_MKDIR) {
		err = op_mkdir(ctx, dir, name, len, 0755, &e);
	} else if (op->kind == COP_SYMLINK) {
		crash_bytes(target, nr, 0, op->x);
		err = op_symlink(ctx, dir, name, len, target, op->x, &e);
	} else {
		err = op_mknod(ctx, dir, name, len, (uint32_t)op->x, 0x103, &e);
	}
	if (!err)
		op_forget(ctx->fs, e.nodeid, 1);
	return err;
}

static void do_make(struct crash *c, const struct cop *op, unsigned nr)
{
	const char *name;
	uint64_t dir;

	if (parent_of(c, op->a, &dir, &name))
		return;
	crash_begin(c, NULL);
	make_node(c, op, dir, name, nr);
	crash_end(c);
	done_with(c, dir);
}

static void do_remove(struct crash *c, const struct cop *op)
{
	const char *name;
	uint64_t dir;

	if (parent_of(c, op->a, &dir, &name))
		return;
	crash_begin(c, NULL);
	if (op->kind == COP_RMDIR)
		op_rmdir(crash_ctx(c), dir, name, strlen(name));
	else
		op_unlink(crash_ctx(c), dir, name, strlen(name));
	crash_end(c);
	done_with(c, dir);
}

static void link_node(struct crash *c, uint64_t node, const char *path)
{
	struct op_entry e;
	const char *name;
	uint64_t dir;

	if (parent_of(c, path, &dir, &name))
		return;
	crash_begin(c, NULL);
	if (!op_link(crash_ctx(c), node, dir, name, strlen(name), &e))
		op_forget(crash_ctx(c)->fs, e.nodeid, 1);
	crash_end(c);
	done_with(c, dir);
}

static void do_link(struct crash *c, const struct cop *op)
{
	uint64_t node;

	if (find(c, op->a, &node))
		return;
	link_node(c, node, op->b);
	done_with(c, node);
}

static void do_rename(struct crash *c, const struct cop *op)
{
	const char *name, *newname;
	uint64_t dir, newdir;

	if (parent_of(c, op->a, &dir, &name))
		return;
	if (!parent_of(c, op->b, &newdir, &newname)) {
		crash_begin(c, NULL);
		op_rename(crash_ctx(c), dir, name, strlen(name), newdir, newname,
			  strlen(newname), op->flags);
		crash_end(c);
		done_with(c, newdir);
	}
	done_with(c, dir);
}

/* A file that never had a name; a crash in between must leave nothing of it. */
static void do_tmpfile(struct crash *c, const struct cop *op, unsigned nr)
{
	const struct op_ctx *ctx = crash_ctx(c);
	struct payload p;
	uint8_t buf[100];
	struct op_entry e;
	size_t done;
	int err;

	crash_begin(c, NULL);
	err = op_tmpfile(ctx, PMEMFS_ROOT_INO, 0600, &e);
	crash_end(c);
	if (err)
		return;
	crash_bytes(buf, nr, 0, sizeof(buf));
	p = payload_mem(buf, sizeof(buf));
	crash_begin(c, NULL);
	op_write(ctx, e.nodeid, 0, &p, 0, &done);
	crash_model_write(c, e.nodeid, 0, buf, done);
	crash_end(c);
	if (op->kind == COP_TMPFILE_LINK)
		link_node(c, e.nodeid, op->a);
	crash_begin(c, NULL);
	op_forget(ctx->fs, e.nodeid, 1);
	crash_end(c);
}

/* ---- bytes ------------------------------------------------------------------------ */

static int pipe_with(const uint8_t *buf, size_t len)
{
	int fd[2];

	if (pipe(fd) < 0 || fcntl(fd[1], F_SETPIPE_SZ, (int)align_up(len, 4096)) < 0 ||
	    write(fd[1], buf, len) != (ssize_t)len)
		abort();
	close(fd[1]);
	return fd[0];
}

static void write_node(struct crash *c, const struct cop *op, uint64_t node, unsigned nr)
{
	struct tree_blur blur = {
		.node = node, .from = op->x, .to = op->x + op->y, .cut = true, .priv = true,
	};
	/* set-id bits go before, in a record of their own; else it is one record */
	bool atomic = crash_ctx(c)->fs->opt.data == FS_DATA_ATOMIC &&
		      !(op->flags & OP_WRITE_KILL_PRIV);
	uint8_t *buf = malloc(op->y);
	struct landing land = { .len = 0 };
	struct payload p;
	size_t done;
	int fd = -1;

	assert(buf);
	crash_bytes(buf, nr, op->x, op->y);
	p = payload_mem(buf, op->y);
	if (op->kind == COP_PIPE) {
		fd = pipe_with(buf, op->y);
		p = payload_pipe(fd, op->y);
	}
	if (op->kind == COP_DEVICE && device_land(c, op, node, buf, nr, &land))
		p = payload_landed(crash_ctx(c)->fs->pm, NULL, 0, &land);
	crash_begin(c, atomic ? NULL : &blur);
	op_write(crash_ctx(c), node, op->x, &p, op->flags & OP_WRITE_KILL_PRIV, &done);
	crash_model_write(c, node, op->x, buf, done);
	crash_end(c);
	device_leave(c, &land);
	if (fd >= 0)
		close(fd);
	free(buf);
}

/* Piece by piece, each a write. */
static void copy_range(struct crash *c, const struct cop *op, uint64_t node)
{
	struct tree_blur blur = {
		.node = node, .from = op->x, .to = op->x + op->y, .cut = true,
	};
	uint8_t *buf = malloc(op->y);
	uint64_t from, done;
	size_t got;

	assert(buf);
	if (find(c, op->b, &from))
		goto out;
	op_pread(crash_ctx(c), from, buf, op->y, op->flags, &got);
	crash_begin(c, &blur);
	op_copy_range(crash_ctx(c), from, op->flags, node, op->x, op->y, 0, &done);
	crash_model_write(c, node, op->x, buf, done);
	crash_end(c);
	done_with(c, from);
out:
	free(buf);
}

static void set_attr(struct crash *c, uint64_t node, const struct op_setattr *in)
{
	struct op_attr out;

	crash_begin(c, NULL);
	if (!op_setattr(crash_ctx(c), node, in, &out) && in->valid & OP_SET_SIZE)
		crash_model_size(c, node, in->size);
	crash_end(c);
}

static void set_xattr(struct crash *c, const struct cop *op, uint64_t node, unsigned nr)
{
	uint8_t *buf = malloc(op->x + 1);

	assert(buf);
	crash_bytes(buf, nr, 0, op->x);
	crash_begin(c, NULL);
	op_setxattr(crash_ctx(c), node, op->b, buf, op->x, 0);
	crash_end(c);
	free(buf);
}

/* A list that changes the mode as well; below a default one a create makes two. */
static void set_acl(struct crash *c, const struct cop *op, uint64_t node)
{
	static const uint8_t list[] = {
		2, 0, 0, 0,
		0x01, 0, 6, 0, 255, 255, 255, 255,
		0x02, 0, 7, 0, 0xe8, 3, 0, 0,
		0x04, 0, 4, 0, 255, 255, 255, 255,
		0x10, 0, 6, 0, 255, 255, 255, 255,
		0x20, 0, 0, 0, 255, 255, 255, 255,
	};

	crash_begin(c, NULL);
	op_setxattr(crash_ctx(c), node, op->b, list, sizeof(list), 0);
	crash_end(c);
}

static void open_unlink(struct crash *c, const struct cop *op, uint64_t node, unsigned nr)
{
	const struct op_ctx *ctx = crash_ctx(c);
	struct cop w = { .kind = COP_WRITE, .a = op->a, .x = 3000, .y = 20000 };

	if (op_open(ctx, node, O_RDWR))
		return;
	do_remove(c, &(struct cop){ .kind = COP_UNLINK, .a = op->a });
	write_node(c, &w, node, nr);
	crash_begin(c, NULL);
	op_release(ctx->fs, node);
	crash_end(c);
}

static void open_trunc(struct crash *c, uint64_t node)
{
	crash_begin(c, NULL);
	if (!op_open(crash_ctx(c), node, O_WRONLY | O_TRUNC)) {
		op_release(crash_ctx(c)->fs, node);
		crash_model_size(c, node, 0);
	}
	crash_end(c);
}

static void set_flags(struct crash *c, const struct cop *op, uint64_t node)
{
	uint32_t projid = (uint32_t)op->x;

	crash_begin(c, NULL);
	op_set_flags(crash_ctx(c), node, OP_FL_USER, op->flags, &projid);
	crash_end(c);
}

/* The access time that a read leaves is durable after fsync. */
static void read_sync(struct crash *c, uint64_t node)
{
	uint8_t buf[10];
	size_t got;

	crash_begin(c, NULL);
	op_pread(crash_ctx(c), node, buf, sizeof(buf), 0, &got);
	op_fsync(crash_ctx(c), node);
	crash_end(c);
}

static void fallocate_node(struct crash *c, const struct cop *op, uint64_t node)
{
	struct tree_blur blur = {
		.node = node, .from = op->x, .to = op->x + op->y, .cut = true,
	};

	crash_begin(c, &blur);
	if (!op_fallocate(crash_ctx(c), node, op->x, op->y, op->flags)) {
		if (op->flags & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
			crash_model_zero(c, node, op->x, op->x + op->y);
		if (!(op->flags & KEEP) && op->x + op->y > crash_model_len(c, node))
			crash_model_size(c, node, op->x + op->y);
	}
	crash_end(c);
}

static void to_node(struct crash *c, const struct cop *op, uint64_t node, unsigned nr)
{
	struct op_time t = { 5000 + nr, 77 };

	switch (op->kind) {
	case COP_WRITE:
	case COP_PIPE:
	case COP_DEVICE:
		write_node(c, op, node, nr);
		break;
	case COP_COPY_RANGE:
		copy_range(c, op, node);
		break;
	case COP_TRUNCATE:
		set_attr(c, node, &(struct op_setattr){ .valid = OP_SET_SIZE, .size = op->x });
		break;
	case COP_OPEN_TRUNC:
		open_trunc(c, node);
		break;
	case COP_FALLOCATE:
		fallocate_node(c, op, node);
		break;
	case COP_CHMOD:
		set_attr(c, node, &(struct op_setattr){
			.valid = OP_SET_MODE, .mode = (uint32_t)op->x });
		break;
	case COP_CHOWN:
		set_attr(c, node, &(struct op_setattr){ .valid = OP_SET_UID | OP_SET_GID,
			.uid = (uint32_t)op->x, .gid = (uint32_t)op->x });
		break;
	case COP_UTIMES:
		set_attr(c, node, &(struct op_setattr){
			.valid = OP_SET_ATIME | OP_SET_MTIME, .atime = t, .mtime = t });
		break;
	case COP_SET_FLAGS:
		set_flags(c, op, node);
		break;
	case COP_SETXATTR:
		set_xattr(c, op, node, nr);
		break;
	case COP_SETFACL:
		set_acl(c, op, node);
		break;
	case COP_REMOVEXATTR:
		crash_begin(c, NULL);
		op_removexattr(crash_ctx(c), node, op->b);
		crash_end(c);
		break;
	case COP_OPEN_UNLINK:
		open_unlink(c, op, node, nr);
		break;
	case COP_READ_SYNC:
		read_sync(c, node);
		break;
	default:
		abort();
	}
}

void cop_do(struct crash *c, const struct cop *op, unsigned nr)
{
	uint64_t node;

	switch (op->kind) {
	case COP_CREATE:
	case COP_MKDIR:
	case COP_MKNOD:
	case COP_SYMLINK:
		do_make(c, op, nr);
		break;
	case COP_LINK:
		do_link(c, op);
		break;
	case COP_UNLINK:
	case COP_RMDIR:
		do_remove(c, op);
		break;
	case COP_RENAME:
		do_rename(c, op);
		break;
	case COP_TMPFILE:
	case COP_TMPFILE_LINK:
		do_tmpfile(c, op, nr);
		break;
	case COP_CHECKPOINT:
		crash_begin(c, NULL);
		fs_checkpoint(crash_ctx(c)->fs);
		crash_end(c);
		break;
	default:
		if (find(c, op->a, &node))
			return;
		to_node(c, op, node, nr);
		done_with(c, node);
	}
}

void run_ops(struct crash *c, const struct crash_load *l, unsigned actor)
{
	(void)actor;
	for (unsigned i = 0; i < l->nr_ops; i++) {
		crash_op(c, i);
		cop_do(c, &cops[l->op[i]], i + 1);
	}
}

void do_write(struct crash *c, const char *path, uint64_t pos, uint64_t len, uint64_t nr)
{
	cop_do(c, &(struct cop){ .kind = COP_WRITE, .a = path, .x = pos, .y = len },
	       (unsigned)nr);
}

void do_create(struct crash *c, const char *path)
{
	cop_do(c, &(struct cop){ .kind = COP_CREATE, .a = path, .x = 0644 }, 0);
}

void do_mkdir(struct crash *c, const char *path)
{
	cop_do(c, &(struct cop){ .kind = COP_MKDIR, .a = path }, 0);
}

void do_truncate(struct crash *c, const char *path, uint64_t size)
{
	cop_do(c, &(struct cop){ .kind = COP_TRUNCATE, .a = path, .x = size }, 0);
}

/* ---- the plain tree ------------------------------------------------------------------ */

static void make_plain(struct crash *c)
{
	static const struct cop rest[] = {
		{ .kind = COP_LINK, .a = "f1", .b = "d/hl" },
		{ .kind = COP_SYMLINK, .a = "s", .x = 10 },
		{ .kind = COP_SYMLINK, .a = "sL", .x = 200 },
		{ .kind = COP_SETXATTR, .a = "xa", .b = "user.small", .x = 20 },
		{ .kind = COP_SETXATTR, .a = "xa", .b = "user.large", .x = 5000 },
		{ .kind = COP_CHMOD, .a = "su", .x = 04711 },
		{ .kind = COP_SETXATTR, .a = "su", .b = "security.capability", .x = 20 },
	};

	do_create(c, "f0");
	do_create(c, "f1");
	do_write(c, "f1", 0, 100, 1001);
	do_create(c, "f2");
	do_write(c, "f2", 0, 3 * 4096 + 77, 1002);
	do_mkdir(c, "d");
	do_mkdir(c, "d/sub");
	do_create(c, "d/x");
	do_write(c, "d/x", 0, 4096, 1003);
	do_mkdir(c, "e");
	do_create(c, "xa");
	do_create(c, "su");
	do_write(c, "su", 0, 300, 1004);
	for (unsigned i = 0; i < ARRAY_SIZE(rest); i++)
		cop_do(c, &rest[i], 1010 + i);
}

const struct crash_setup setup_plain = { .name = "plain", .make = make_plain };
