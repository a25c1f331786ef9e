/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * make.c - new nodes: files, directories, symbolic links, O_TMPFILE
 *
 * One record each, with the inode, its name and its directory's times. A
 * symbolic link's target of up to 64 bytes lives in the inode; a longer one
 * in a block that is durable before the record (L5).
 *
 * L2: nobody sees the new inode before the record is applied, and nobody but
 * us can find it until we answer: its name is behind the directory's lock. An
 * unnamed one is on the orphan list, but draining takes only what was there
 * when the pool was mounted.
 */
#include <errno.h>
#include <sys/stat.h>

#include "copy/copy.h"
#include "op/acl.h"
#include "op/op_i.h"

#define INHERIT_ALL	(PMEMFS_FL_NOATIME | PMEMFS_FL_NODUMP)
#define INHERIT_FILE	(INHERIT_ALL | PMEMFS_FL_DAX | PMEMFS_FL_SYNC)
#define INHERIT_DIR	(INHERIT_FILE | PMEMFS_FL_PROJINHERIT)

struct making {
	const struct op_ctx *c;
	enum pmemfs_op op;
	uint32_t mode, rdev;
	const char *name;		/* NULL: unnamed */
	size_t len;
	const char *target;		/* of a symbolic link */
	size_t tlen;
	struct acl_heir heir;
	/* what came of it */
	uint64_t ino, off;
	uint32_t gen;
	struct inode *ip;
};

/* ---- the inode ------------------------------------------------------------------ */

/*
 * The setgid rule: below a setgid directory a new node takes its group, and a
 * new directory the bit as well. An executable may not be setgid to a group
 * that its maker is not in; we know the primary group only, so err on the
 * safe side.
 */
static void inherit_group(const struct op_ctx *c, const struct pmemfs_inode *di,
			  uint32_t *mode, uint32_t *gid)
{
	*gid = c->gid;
	if (!(get32(di->mode) & S_ISGID))
		return;
	*gid = get32(di->gid);
	if (S_ISDIR(*mode))
		*mode |= S_ISGID;
	else if ((*mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		 c->uid != 0 && *gid != c->gid)
		*mode &= ~(uint32_t)S_ISGID;
}

static uint32_t inherit_flags(uint32_t dirflags, uint32_t mode)
{
	if (S_ISDIR(mode))
		return dirflags & INHERIT_DIR;
	return dirflags & (S_ISREG(mode) ? INHERIT_FILE : INHERIT_ALL);
}

static int put_target(struct txn *t, struct pmemfs_inode *mi, const char *target,
		      size_t len)
{
	struct payload p = payload_mem(target, len);
	struct pm *pm = txn_fs(t)->pm;
	struct run r;
	int err;

	mi->size = put64(len);
	if (len <= sizeof(mi->root.bytes)) {
		mi->root_kind = PMEMFS_ROOT_BYTES;
		memcpy(mi->root.bytes, target, len);
		return 0;
	}
	err = txn_alloc(t, TXN_DATA, 0, 0, 1, 1, &r);
	if (!err)
		err = copy_in(pm, blk_off(r.blk), &p, len);
	if (err)
		return err;
	if (len < PMEMFS_BLOCK_SIZE)
		copy_zero(pm, blk_off(r.blk) + len, PMEMFS_BLOCK_SIZE - len);
	txn_data_first(t);				/* L5 */
	mi->root_kind = PMEMFS_ROOT_INLINE;
	mi->nr_inline = 1;
	mi->root.extent[0].blk = put64(0);
	mi->root.extent[0].where = put64(ext_where(r.blk, 1));
	mi->blocks = put64(get64(mi->blocks) + 1);
	return 0;
}

/* The new inode is nobody's yet (L2), so one on the stack will do. */
static int give_lists(struct txn *t, struct making *m)
{
	struct inode in = {
		.fs = txn_fs(t), .ino = m->ino, .gen = m->gen, .off = m->off,
	};

	return acl_give(t, &in, &m->heir);
}

static int make_inode(struct txn *t, struct inode *dir, struct making *m)
{
	const struct pmemfs_inode *di = inode_view(t, dir);
	struct pmemfs_inode *mi;
	uint32_t mode = m->mode, gid, flags = get32(di->flags);

	inherit_group(m->c, di, &mode, &gid);
	mi = inode_create(t, mode, m->c->uid, gid, m->name ? dir->ino : 0,
			  &m->ino, &m->gen, &m->off);
	if (!mi)
		return txn_error(t) ? txn_error(t) : -ENOSPC;
	mi->rdev = put32(m->rdev);
	mi->flags = put32(inherit_flags(flags, mode));
	if (flags & PMEMFS_FL_PROJINHERIT)
		mi->projid = di->projid;
	if (m->target)
		return put_target(t, mi, m->target, m->tlen);
	if (!m->name) {
		mi->nlink = put32(0);
		orphan_add_new(t, m->ino, m->off);
	}
	return give_lists(t, m);
}

static int make_name(struct txn *t, struct inode *dir, const struct making *m)
{
	struct pmemfs_inode *di = inode_edit(t, dir);
	struct timespec now;
	int err;

	if (!di)
		return txn_error(t);
	if (S_ISDIR(m->mode)) {
		if (get32(di->nlink) >= PMEMFS_LINK_MAX)
			return -EMLINK;
		di->nlink = put32(get32(di->nlink) + 1);
	}
	err = dir_insert(t, dir, m->name, m->len, m->ino, dtype_of(m->mode));
	if (err)
		return err;
	fs_now(dir->fs, &now);
	inode_set_mtime(di, &now);
	inode_set_ctime(di, &now);
	return 0;
}

/* ---- the request ---------------------------------------------------------------- */

static int make_locked(struct inode *dir, struct making *m, uint64_t mark)
{
	struct dirent_ref ref;
	struct txn *t;
	int err = op_dir_ok(dir, m->name ? DIR_ADD : 0);

	if (err)
		return err;
	if (m->name) {
		err = dir_find(NULL, dir, m->name, m->len, &ref);
		if (err != -ENOENT)
			return err ? err : -EEXIST;
	}
	err = acl_inherit(dir, m->c->umask, &m->mode, &m->heir);
	if (err)
		return err;
	t = txn_begin(dir->fs, m->op);
	if (t) {
		err = make_inode(t, dir, m);
		if (!err && m->name)
			err = make_name(t, dir, m);
		if (err)
			txn_fail(t, err);
	}
	acl_heir_free(&m->heir);
	err = t ? op_commit(t, mark) : -ENOMEM;
	return err ? err : inode_get_new(dir->fs, m->ino, m->gen, m->off, &m->ip);
}

static int make(struct making *m, uint64_t parent, struct op_entry *e)
{
	const struct op_ctx *c = m->c;
	uint64_t mark = op_enter(c);
	struct inode *dir;
	int err = m->name ? dir_name_ok(m->name, m->len) : 0;

	if (!err)
		err = op_get_rw(c, parent, &dir);
	if (err)
		return op_leave(c, mark, err);
	inode_wrlock(dir);
	err = make_locked(dir, m, mark);
	if (!err) {
		if (!m->name)
			inode_unlinked(m->ip, true);
		inode_rdlock(m->ip);
		op_entry_of(m->ip, e);
		inode_unlock(m->ip);
		inode_lookup_add(m->ip, 1);
	}
	inode_unlock(dir);
	if (m->ip)
		inode_put(m->ip);
	inode_put(dir);
	return op_leave(c, mark, err);
}

int op_mknod(const struct op_ctx *c, uint64_t parent, const char *name,
	     size_t len, uint32_t mode, uint32_t rdev, struct op_entry *e)
{
	struct making m = {
		.c = c, .op = PMEMFS_OP_MKNOD, .name = name, .len = len,
		.mode = mode & (S_IFMT | 07777),
	};

	switch (mode & S_IFMT) {
	case 0:
		m.mode |= S_IFREG;
		/* fall through */
	case S_IFREG:
		m.op = PMEMFS_OP_CREATE;
		break;
	case S_IFCHR:
	case S_IFBLK:
		m.rdev = rdev;
		break;
	case S_IFIFO:
	case S_IFSOCK:
		break;
	default:
		return -EINVAL;
	}
	return make(&m, parent, e);
}

int op_mkdir(const struct op_ctx *c, uint64_t parent, const char *name,
	     size_t len, uint32_t mode, struct op_entry *e)
{
	struct making m = {
		.c = c, .op = PMEMFS_OP_MKDIR, .name = name, .len = len,
		.mode = S_IFDIR | (mode & 07777),
	};

	return make(&m, parent, e);
}

int op_symlink(const struct op_ctx *c, uint64_t parent, const char *name,
	       size_t len, const char *target, size_t tlen, struct op_entry *e)
{
	struct making m = {
		.c = c, .op = PMEMFS_OP_SYMLINK, .name = name, .len = len,
		.mode = S_IFLNK | 0777, .target = target, .tlen = tlen,
	};

	if (tlen == 0)
		return -ENOENT;
	if (tlen >= PMEMFS_BLOCK_SIZE)
		return -ENAMETOOLONG;
	return make(&m, parent, e);
}

int op_tmpfile(const struct op_ctx *c, uint64_t parent, uint32_t mode,
	       struct op_entry *e)
{
	struct making m = {
		.c = c, .op = PMEMFS_OP_TMPFILE,
		.mode = S_IFREG | (mode & 07777),
	};

	return make(&m, parent, e);
}
