/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * name.c - names that come and go: unlink, rmdir, link
 *
 * Locks (L1): the directory exclusively, then the inode its name points at.
 * One record each. An inode that loses its last name goes onto the orphan
 * list in the same record (L15) and is freed by whoever drops it last, be it
 * us, op_release() or op_forget().
 */
#include <errno.h>

#include "op/op_i.h"

/* ---- unlink, rmdir ------------------------------------------------------------ */

/* One name and what it points at, both locked exclusively. */
struct victim {
	struct inode *dir, *ip;
	struct dirent_ref ref;
};

static int victim_ok(const struct victim *v, bool rmdir)
{
	const struct pmemfs_inode *mi = inode_media(v->ip);

	if (rmdir && !inode_is_dir(mi))
		return -ENOTDIR;
	if (!rmdir && inode_is_dir(mi))
		return -EISDIR;
	if (get32(mi->flags) & (PMEMFS_FL_IMMUTABLE | PMEMFS_FL_APPEND))
		return -EPERM;
	if (get32(mi->nlink) == 0)
		return damaged(v->dir->fs, v->ip->off, "inode %llu has a name but no link count",
			       (unsigned long long)v->ip->ino);
	return rmdir && !dir_is_empty(NULL, v->ip) ? -ENOTEMPTY : 0;
}

static int take_name(struct txn *t, const struct victim *v, bool rmdir)
{
	struct pmemfs_inode *di = inode_edit(t, v->dir), *mi = inode_edit(t, v->ip);
	struct timespec now;
	uint32_t nlink;
	int err;

	if (!di || !mi)
		return txn_error(t);
	err = dir_remove(t, v->dir, &v->ref);
	if (err)
		return err;
	nlink = rmdir ? 0 : get32(mi->nlink) - 1;
	mi->nlink = put32(nlink);
	if (rmdir)
		di->nlink = put32(get32(di->nlink) - 1);
	fs_now(v->dir->fs, &now);
	inode_set_mtime(di, &now);
	inode_set_ctime(di, &now);
	inode_set_ctime(mi, &now);
	if (nlink == 0)
		orphan_add(t, v->ip);
	return 0;
}

static int remove_locked(struct victim *v, bool rmdir, uint64_t mark)
{
	struct txn *t;
	int err = victim_ok(v, rmdir);

	if (err)
		return err;
	t = txn_begin(v->dir->fs, rmdir ? PMEMFS_OP_RMDIR : PMEMFS_OP_UNLINK);
	if (!t)
		return -ENOMEM;
	err = take_name(t, v, rmdir);
	if (err)
		txn_fail(t, err);
	err = op_commit(t, mark);
	if (!err && get32(inode_media(v->ip)->nlink) == 0)
		inode_unlinked(v->ip, true);
	return err;
}

static int remove_name(const struct op_ctx *c, uint64_t parent, const char *name,
		       size_t len, bool rmdir)
{
	uint64_t mark = op_enter(c);
	struct victim v = { .ip = NULL };
	int err = dir_name_ok(name, len);

	if (!err)
		err = op_get_rw(c, parent, &v.dir);
	if (err)
		return op_leave(c, mark, err);
	inode_wrlock(v.dir);
	err = op_dir_ok(v.dir, DIR_DEL);
	if (!err)
		err = dir_find(NULL, v.dir, name, len, &v.ref);
	if (!err)
		err = op_get_child(v.dir, &v.ref, &v.ip);
	if (!err) {
		inode_wrlock(v.ip);
		err = remove_locked(&v, rmdir, mark);
		inode_unlock(v.ip);
	}
	inode_unlock(v.dir);
	if (v.ip)
		inode_put(v.ip);
	inode_put(v.dir);
	return op_leave(c, mark, err);
}

int op_unlink(const struct op_ctx *c, uint64_t parent, const char *name, size_t len)
{
	return remove_name(c, parent, name, len, false);
}

int op_rmdir(const struct op_ctx *c, uint64_t parent, const char *name, size_t len)
{
	return remove_name(c, parent, name, len, true);
}

/* ---- link --------------------------------------------------------------------- */

/*
 * An inode without a name may get one only if it never had one: O_TMPFILE
 * leaves parent 0, which no other inode has. What was unlinked stays so.
 */
static int link_ok(const struct inode *ip)
{
	const struct pmemfs_inode *mi = inode_media(ip);
	uint32_t nlink = get32(mi->nlink);

	if (inode_is_dir(mi))
		return -EPERM;
	if (get32(mi->flags) & (PMEMFS_FL_IMMUTABLE | PMEMFS_FL_APPEND))
		return -EPERM;
	if (nlink == 0 && (get64(mi->parent) || !orphan_listed(ip)))
		return -ENOENT;
	return nlink >= PMEMFS_LINK_MAX ? -EMLINK : 0;
}

static int give_name(struct txn *t, struct inode *dir, struct inode *ip,
		     const char *name, size_t len)
{
	struct pmemfs_inode *di = inode_edit(t, dir), *mi = inode_edit(t, ip);
	struct timespec now;
	int err;

	if (!di || !mi)
		return txn_error(t);
	err = dir_insert(t, dir, name, len, ip->ino, dtype_of(get32(mi->mode)));
	if (err)
		return err;
	if (get32(mi->nlink) == 0) {
		/* L15: in one record; but an unfinished truncation stays listed */
		if (!(get32(mi->flags) & PMEMFS_FL_TRUNC))
			orphan_del(t, ip);
		mi->parent = put64(dir->ino);
	}
	mi->nlink = put32(get32(mi->nlink) + 1);
	fs_now(dir->fs, &now);
	inode_set_ctime(mi, &now);
	inode_set_mtime(di, &now);
	inode_set_ctime(di, &now);
	return 0;
}

static int link_locked(struct inode *dir, struct inode *ip, const char *name,
		       size_t len, uint64_t mark)
{
	struct dirent_ref ref;
	struct txn *t;
	int err = link_ok(ip);

	if (err)
		return err;
	err = dir_find(NULL, dir, name, len, &ref);
	if (err != -ENOENT)
		return err ? err : -EEXIST;
	t = txn_begin(dir->fs, PMEMFS_OP_LINK);
	if (!t)
		return -ENOMEM;
	err = give_name(t, dir, ip, name, len);
	if (err)
		txn_fail(t, err);
	err = op_commit(t, mark);
	if (!err && get32(inode_media(ip)->nlink) == 1)
		inode_unlinked(ip, false);
	return err;
}

static int link_nodes(struct inode *dir, struct inode *ip, const char *name,
		      size_t len, struct op_entry *e)
{
	uint64_t mark = pm_fault_mark(dir->fs->pm);
	int err;

	inode_wrlock(dir);
	inode_wrlock(ip);
	err = op_dir_ok(dir, DIR_ADD);
	if (!err)
		err = op_project_ok(dir, ip);
	if (!err)
		err = link_locked(dir, ip, name, len, mark);
	if (!err) {
		op_entry_of(ip, e);
		inode_lookup_add(ip, 1);
	}
	inode_unlock(ip);
	inode_unlock(dir);
	return err;
}

int op_link(const struct op_ctx *c, uint64_t nodeid, uint64_t parent,
	    const char *name, size_t len, struct op_entry *e)
{
	uint64_t mark = op_enter(c);
	struct inode *ip, *dir;
	int err = dir_name_ok(name, len);

	if (!err)
		err = op_get_rw(c, nodeid, &ip);
	if (err)
		return op_leave(c, mark, err);
	err = inode_is_dir(inode_media(ip)) ? -EPERM : op_get_rw(c, parent, &dir);
	if (!err) {
		/* before the locks: their order is directory, then file */
		err = inode_is_dir(inode_media(dir)) ?
			link_nodes(dir, ip, name, len, e) : -ENOTDIR;
		inode_put(dir);
	}
	inode_put(ip);
	return op_leave(c, mark, err);
}
