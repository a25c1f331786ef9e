/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node.c - nodes: finding, describing, opening, forgetting them
 *
 * Also the few things that all requests begin and end with, and the calls
 * about the whole filesystem. Nothing here changes the pool except
 * op_open(O_TRUNC), which attr.c does, and access times (op_fsync).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "op/op_i.h"

/* ---- beginning and end ---------------------------------------------------- */

int op_leave_read(const struct op_ctx *c, uint64_t mark, int err)
{
	if (!pm_faulted(c->fs->pm, mark))
		return err;
	pm_fault_repair(c->fs->pm);
	return -EIO;
}

int op_leave(const struct op_ctx *c, uint64_t mark, int err)
{
	int faulted = op_leave_read(c, mark, 0);

	return err ? (faulted ? faulted : err) : 0;
}

int op_commit(struct txn *t, uint64_t mark)
{
	if (pm_faulted(txn_fs(t)->pm, mark))
		txn_fail(t, -EIO);
	return txn_commit(t);
}

int op_get(const struct op_ctx *c, uint64_t nodeid, struct inode **ip)
{
	return inode_get(c->fs, nodeid, ip);
}

int op_get_rw(const struct op_ctx *c, uint64_t nodeid, struct inode **ip)
{
	if (!fs_writable(c->fs))
		return -EROFS;
	return inode_get(c->fs, nodeid, ip);
}

int op_dir_ok(const struct inode *dir, unsigned change)
{
	const struct pmemfs_inode *mi = inode_media(dir);
	uint32_t flags = get32(mi->flags);

	if (!inode_is_dir(mi))
		return -ENOTDIR;
	if (get32(mi->nlink) == 0)
		return -ENOENT;
	if (flags & PMEMFS_FL_IMMUTABLE)
		return -EPERM;
	if ((flags & PMEMFS_FL_APPEND) && (change & DIR_DEL))
		return -EPERM;
	return 0;
}

int op_project_ok(const struct inode *dir, const struct inode *ip)
{
	const struct pmemfs_inode *di = inode_media(dir);

	if (!(get32(di->flags) & PMEMFS_FL_PROJINHERIT))
		return 0;
	return get32(di->projid) == get32(inode_media(ip)->projid) ? 0 : -EXDEV;
}

int op_reg_ok(const struct inode *ip)
{
	const struct pmemfs_inode *mi = inode_media(ip);

	if (inode_is_dir(mi))
		return -EISDIR;
	return inode_is_reg(mi) ? 0 : -EINVAL;
}

int op_get_child(struct inode *dir, const struct dirent_ref *ref, struct inode **out)
{
	unsigned long long d = dir->ino, n = ref->ino;
	const struct pmemfs_inode *mi;
	int err = inode_get_ino(dir->fs, ref->ino, out);

	if (err == -ESTALE || err == -ENOENT)
		return damaged(dir->fs, dir->off,
			       "directory %llu: a name points at inode %llu, which is free",
			       d, n);
	if (err)
		return err;
	mi = inode_media(*out);
	if (inode_is_dir(mi) && (n == PMEMFS_ROOT_INO || n == d || get64(mi->parent) != d))
		return damaged(dir->fs, dir->off,
			       "directory %llu: a name points at directory %llu of another",
			       d, n);
	return 0;
}

/* ---- describing ------------------------------------------------------------ */

static struct op_time time_of(le64 sec, le32 nsec)
{
	return (struct op_time){ (int64_t)get64(sec), get32(nsec) };
}

void op_attr_of(const struct inode *ip, struct op_attr *a)
{
	const struct pmemfs_inode *mi = inode_media(ip);

	*a = (struct op_attr){
		.ino = ip->ino,
		.size = get64(mi->size),
		.blocks512 = get64(mi->blocks) * (PMEMFS_BLOCK_SIZE / 512),
		.atime = time_of(mi->atime, mi->atime_ns),
		.mtime = time_of(mi->mtime, mi->mtime_ns),
		.ctime = time_of(mi->ctime, mi->ctime_ns),
		.btime = time_of(mi->btime, mi->btime_ns),
		.mode = get32(mi->mode),
		.nlink = get32(mi->nlink),
		.uid = get32(mi->uid),
		.gid = get32(mi->gid),
		.rdev = get32(mi->rdev),
		.blksize = PMEMFS_BLOCK_SIZE,
		.flags = get32(mi->flags),
		.projid = get32(mi->projid),
		.gen = ip->gen,
	};
	if (atomic_load(&ip->atime_dirty)) {
		a->atime.sec = atomic_load(&ip->atime_sec);
		a->atime.nsec = atomic_load(&ip->atime_nsec);
	}
}

void op_entry_of(const struct inode *ip, struct op_entry *e)
{
	e->nodeid = node_id(ip->ino, ip->gen);
	e->generation = ip->gen;
	op_attr_of(ip, &e->attr);
}

int op_getattr(const struct op_ctx *c, uint64_t nodeid, struct op_attr *a)
{
	uint64_t mark = op_enter(c);
	struct inode *ip;
	int err = op_get(c, nodeid, &ip);

	if (err)
		return op_leave_read(c, mark, err);
	inode_rdlock(ip);
	op_attr_of(ip, a);
	inode_unlock(ip);
	inode_put(ip);
	return op_leave_read(c, mark, 0);
}

/* ---- finding --------------------------------------------------------------- */

/* ".." of dir, for NFS. The lock of dir keeps it alive, and so its parent. */
static int get_parent(struct inode *dir, struct inode **out)
{
	const struct pmemfs_inode *mi;
	int err = -ENOENT;

	inode_rdlock(dir);
	mi = inode_media(dir);
	if (!inode_is_dir(mi))
		err = -ENOTDIR;
	else if (get32(mi->nlink))
		err = inode_get_ino(dir->fs, get64(mi->parent), out);
	inode_unlock(dir);
	return err;
}

static int lookup_dots(struct inode *dir, size_t len, struct op_entry *e)
{
	struct inode *ip = dir;
	int err = 0;

	if (len == 2)
		err = get_parent(dir, &ip);
	if (err)
		return err;
	inode_rdlock(ip);
	op_entry_of(ip, e);
	inode_unlock(ip);
	inode_lookup_add(ip, 1);
	if (len == 2)
		inode_put(ip);		/* a reference of its own, even to dir */
	return 0;
}

static int lookup_name(struct inode *dir, const char *name, size_t len,
		       struct op_entry *e)
{
	struct dirent_ref ref;
	struct inode *ip = NULL;
	int err;

	inode_rdlock(dir);
	err = inode_is_dir(inode_media(dir)) ? 0 : -ENOTDIR;
	if (!err)
		err = dir_find(NULL, dir, name, len, &ref);
	if (!err)
		err = op_get_child(dir, &ref, &ip);
	if (!err) {
		inode_rdlock(ip);
		op_entry_of(ip, e);
		inode_unlock(ip);
		inode_lookup_add(ip, 1);
	}
	inode_unlock(dir);
	if (ip)
		inode_put(ip);
	return err;
}

int op_lookup(const struct op_ctx *c, uint64_t parent, const char *name,
	      size_t len, struct op_entry *e)
{
	bool dots = (len == 1 || len == 2) && !memcmp(name, "..", len);
	uint64_t mark = op_enter(c);
	struct inode *dir;
	int err = dots ? 0 : dir_name_ok(name, len);

	if (!err)
		err = op_get(c, parent, &dir);
	if (err)
		return op_leave_read(c, mark, err);
	err = dots ? lookup_dots(dir, len, e) : lookup_name(dir, name, len, e);
	inode_put(dir);
	if (!err && pm_faulted(c->fs->pm, mark))
		op_forget(c->fs, e->nodeid, 1);
	return op_leave_read(c, mark, err);
}

void op_forget(struct fs *fs, uint64_t nodeid, uint64_t n)
{
	inode_forget(fs, nodeid, n);
}

/* ---- open and close -------------------------------------------------------- */

static int open_truncate(const struct op_ctx *c, uint64_t nodeid, uint32_t flags)
{
	struct op_setattr set = { .valid = OP_SET_SIZE | OP_SET_MTIME_NOW };
	struct op_attr attr;

	if (flags & OP_OPEN_KILL_PRIV)
		set.valid |= OP_SET_KILL_PRIV;
	return op_setattr(c, nodeid, &set, &attr);
}

/* The kernel does not know of these flags, so it has not asked (flags.c). */
static int open_ok(const struct pmemfs_inode *mi, uint32_t flags)
{
	uint32_t fl = get32(mi->flags);
	bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);

	if (!inode_is_reg(mi) || !writes)
		return 0;
	if (fl & PMEMFS_FL_IMMUTABLE)
		return -EPERM;
	if ((fl & PMEMFS_FL_APPEND) && (!(flags & O_APPEND) || (flags & O_TRUNC)))
		return -EPERM;
	return 0;
}

int op_open(const struct op_ctx *c, uint64_t nodeid, uint32_t flags)
{
	uint64_t mark = op_enter(c);
	struct inode *ip;
	bool reg;
	int err = op_get(c, nodeid, &ip);

	if (err)
		return op_leave_read(c, mark, err);
	inode_rdlock(ip);
	reg = inode_is_reg(inode_media(ip));
	err = open_ok(inode_media(ip), flags);
	inode_unlock(ip);
	if (!err && reg && (flags & O_TRUNC))
		err = open_truncate(c, nodeid, flags);
	if (!err) {
		atomic_fetch_add(&ip->opens, 1);
		inode_opened(ip);
		return op_leave(c, mark, 0);	/* the reference stays: it is open */
	}
	inode_put(ip);
	return op_leave(c, mark, err);
}

/* A release that no open precedes must not take somebody else's reference. */
static bool one_open_less(struct inode *ip)
{
	uint32_t n = atomic_load(&ip->opens);

	while (n && !atomic_compare_exchange_weak(&ip->opens, &n, n - 1))
		;
	return n;
}

void op_release(struct fs *fs, uint64_t nodeid)
{
	struct inode *ip;

	if (inode_get(fs, nodeid, &ip))
		return;
	if (one_open_less(ip))
		inode_put(ip);	/* that of op_open() */
	inode_put(ip);		/* ours */
}

/* ---- syncing --------------------------------------------------------------- */

int op_fsync(const struct op_ctx *c, uint64_t nodeid)
{
	uint64_t mark = op_enter(c);
	struct inode *ip;
	struct txn *t;
	int err = op_get(c, nodeid, &ip);

	if (err)
		return op_leave_read(c, mark, err);
	if (atomic_load(&ip->atime_dirty) && fs_writable(c->fs)) {
		inode_wrlock(ip);
		t = txn_begin(c->fs, PMEMFS_OP_ATIME);
		if (t)
			inode_edit(t, ip);	/* folds the access time in */
		err = t ? op_commit(t, mark) : -ENOMEM;
		inode_unlock(ip);
	}
	inode_put(ip);
	return op_leave(c, mark, err);
}

int op_syncfs(struct fs *fs)
{
	if (fs_writable(fs))
		icache_sync_atimes(fs, UINT_MAX);
	return 0;
}

int op_statfs(const struct op_ctx *c, struct op_statfs *st)
{
	const struct geometry *geo = &c->fs->geo;
	uint64_t free = alloc_free_blocks(c->fs), used = itable_used(c->fs);
	uint64_t chunks = free / PMEMFS_CHUNK_BLOCKS;

	*st = (struct op_statfs){
		.blocks = geo->nr_blocks - geo->data_blk - 1,
		.bfree = free,
		.bavail = alloc_avail_blocks(c->fs),
		/* one slot of a chunk is its header */
		.ffree = chunks * (PMEMFS_CHUNK_INODES - 1),
		.bsize = PMEMFS_BLOCK_SIZE,
		.namelen = PMEMFS_NAME_MAX,
	};
	st->files = used + st->ffree;
	return 0;
}
