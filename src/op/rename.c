/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rename.c - names that move
 *
 * One record holds everything: both names, "..", the link counts of both
 * directories, the inode that lost its last name, the whiteout. Replay or a
 * crash can therefore show only before or after.
 *
 * Order of locks (L1)
 *   R1  names moving between directories: fs->rename_lock first. The tree of
 *       directories stands still under it, so ancestry can be asked. Two
 *       directories inside one directory, as well: whoever locks directories
 *       in any order but downward holds rename_lock, so there is only one of
 *       them, and it cannot close a circle with those who go downward.
 *   R2  the two directories: ancestor before descendant; unrelated ones by
 *       number.
 *   R3  the inodes the two names point at: directories before others, each
 *       kind by number. Neither can be one of the locked directories or lie
 *       above them: that was refused (R4, op_get_child) before.
 *   R4  `trap` is the child of the upper directory on the way to the lower
 *       one. Moving it would make it its own descendant (-EINVAL); replacing
 *       it is impossible, since it is not empty (-ENOTEMPTY).
 */
#include <errno.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include "meta/contend.h"
#include "op/op_i.h"

struct end {			/* one end of a rename */
	struct inode *dir;
	const char *name;
	size_t len;
	struct dirent_ref ref;
	struct inode *ip;	/* what the name points at; NULL: nothing */
	bool is_dir;
	int links;		/* change of dir's link count */
};

struct renaming {
	struct fs *fs;
	const struct op_ctx *c;
	uint64_t mark;
	uint32_t flags;
	struct end from, to;
	bool serial;		/* holds rename_lock */
	uint64_t trap;		/* R4, or 0 */
};

#define AGAIN	1		/* once more, with rename_lock */

/* ---- ancestry (R1, R2, R4) ----------------------------------------------------- */

/*
 * One step up from ip. Its lock, shared, keeps it from being removed, and
 * thereby keeps its parent alive until we have a reference.
 */
static int step_up(struct inode *ip, struct inode **out)
{
	const struct pmemfs_inode *mi;
	int err;

	inode_rdlock(ip);
	mi = inode_media(ip);
	if (!inode_is_dir(mi))
		err = -ENOTDIR;
	else if (get32(mi->nlink) == 0)
		err = -ENOENT;				/* removed meanwhile */
	else
		err = inode_get_ino(ip->fs, get64(mi->parent), out);
	inode_unlock(ip);
	return err;
}

/*
 * Is `high` above `low`? 1: yes, and *child is the step below it on the way;
 * 0: no; -errno. A cycle on the medium ends after as many steps as there are
 * inodes.
 */
static int is_above(struct inode *high, struct inode *low, uint64_t *child)
{
	struct fs *fs = low->fs;
	struct inode *at = low, *up;
	uint64_t steps = itable_slots(fs);
	int ret = 0;

	while (at->ino != PMEMFS_ROOT_INO) {
		*child = at->ino;
		ret = steps-- ? step_up(at, &up) :
			damaged(fs, at->off, "directory %llu: .. leads round in a circle",
				(unsigned long long)at->ino);
		if (at != low)
			inode_put(at);
		if (ret)
			return ret;
		at = up;
		if (at == high) {
			ret = 1;
			break;
		}
	}
	if (at != low)
		inode_put(at);
	return ret;
}

static int lock_two_dirs(struct renaming *r)
{
	struct inode *a = r->from.dir, *b = r->to.dir, *swap;
	int above;

	above = is_above(a, b, &r->trap);
	if (above < 0)
		return above;
	if (!above) {
		above = is_above(b, a, &r->trap);
		if (above < 0)
			return above;
		if (above || b->ino < a->ino) {
			swap = a;
			a = b;
			b = swap;
		}
	}
	if (!above)
		r->trap = 0;
	inode_wrlock(a);				/* R2 */
	inode_wrlock(b);
	return 0;
}

static int lock_dirs(struct renaming *r)
{
	int err = 0;

	if (!inode_is_dir(inode_media(r->from.dir)) ||
	    !inode_is_dir(inode_media(r->to.dir)))
		return -ENOTDIR;
	if (r->serial)
		contend_lock(r->fs, &r->fs->rename_lock, COUNT_WAIT_RENAME);	/* R1 */
	if (r->from.dir == r->to.dir)
		inode_wrlock(r->from.dir);
	else
		err = lock_two_dirs(r);
	if (err && r->serial)
		pthread_mutex_unlock(&r->fs->rename_lock);
	return err;
}

static void unlock_dirs(struct renaming *r)
{
	inode_unlock(r->from.dir);
	if (r->from.dir != r->to.dir)
		inode_unlock(r->to.dir);
	if (r->serial)
		pthread_mutex_unlock(&r->fs->rename_lock);
}

/* ---- what the names point at (R3) ------------------------------------------------ */

static int find_end(struct end *e)
{
	int err = dir_find(NULL, e->dir, e->name, e->len, &e->ref);

	if (!err)
		err = op_get_child(e->dir, &e->ref, &e->ip);
	if (!err)
		e->is_dir = inode_is_dir(inode_media(e->ip));
	return err;
}

static int find_both(struct renaming *r)
{
	int err = find_end(&r->from);

	if (err)
		return err;
	err = find_end(&r->to);
	if (err == -ENOENT)
		return r->flags & RENAME_EXCHANGE ? err : 0;
	if (!err && (r->flags & RENAME_NOREPLACE))
		return -EEXIST;
	return err;
}

/* Before the inodes are locked: what must not be locked, or need not. */
static int shape_ok(const struct renaming *r)
{
	const struct end *from = &r->from, *to = &r->to;

	if (r->trap && from->ip->ino == r->trap)	/* R4 */
		return -EINVAL;
	if (r->trap && to->ip && to->ip->ino == r->trap)
		return r->flags & RENAME_EXCHANGE ? -EINVAL : -ENOTEMPTY;
	if (!to->ip || (r->flags & RENAME_EXCHANGE))
		return 0;
	if (from->is_dir && !to->is_dir)
		return -ENOTDIR;
	if (!from->is_dir && to->is_dir)
		return -EISDIR;
	return 0;
}

static void lock_inodes(const struct renaming *r)
{
	struct inode *a = r->from.ip, *b = r->to.ip;
	bool swap = b && (r->from.is_dir == r->to.is_dir ?
			  b->ino < a->ino : r->to.is_dir);

	if (swap)
		inode_wrlock(b);
	inode_wrlock(a);
	if (b && !swap)
		inode_wrlock(b);
}

static void unlock_inodes(const struct renaming *r)
{
	inode_unlock(r->from.ip);
	if (r->to.ip)
		inode_unlock(r->to.ip);
}

static bool is_fixed(const struct inode *ip)
{
	return get32(inode_media(ip)->flags) &
	       (PMEMFS_FL_IMMUTABLE | PMEMFS_FL_APPEND);
}

/* With everything locked; also reckons the link counts. */
static int rename_ok(struct renaming *r)
{
	struct end *from = &r->from, *to = &r->to;
	bool exchange = r->flags & RENAME_EXCHANGE;
	uint64_t nlink;
	int err = op_project_ok(to->dir, from->ip);

	if (!err && exchange)
		err = op_project_ok(from->dir, to->ip);
	if (err)
		return err;
	if (is_fixed(from->ip) || (to->ip && is_fixed(to->ip)))
		return -EPERM;
	if (to->ip && op_dir_ok(to->dir, DIR_DEL))
		return op_dir_ok(to->dir, DIR_DEL);
	if (to->is_dir && !exchange && !dir_is_empty(NULL, to->ip))
		return -ENOTEMPTY;
	if (to->ip && get32(inode_media(to->ip)->nlink) == 0)
		return damaged(r->fs, to->ip->off, "inode %llu has a name but no link count",
			       (unsigned long long)to->ip->ino);
	from->links = (exchange && to->is_dir) - from->is_dir;
	to->links = from->is_dir - to->is_dir;
	nlink = get32(inode_media(to->dir)->nlink);
	if (from->dir != to->dir && to->links > 0 && nlink >= PMEMFS_LINK_MAX)
		return -EMLINK;
	return 0;
}

/* ---- the record ------------------------------------------------------------------- */

static int move_names(struct txn *t, struct renaming *r)
{
	struct end *from = &r->from, *to = &r->to;
	int err;

	if (to->ip)
		err = dir_replace(t, to->dir, &to->ref, from->ip->ino, from->ref.type);
	else
		err = dir_insert(t, to->dir, to->name, to->len, from->ip->ino,
				 from->ref.type);
	if (err)
		return err;
	if (r->flags & RENAME_EXCHANGE)
		return dir_replace(t, from->dir, &from->ref, to->ip->ino, to->ref.type);
	if (!(r->flags & RENAME_WHITEOUT))
		return dir_remove(t, from->dir, &from->ref);
	return 0;
}

/* What overlay filesystems leave behind: a character device 0:0. */
static int leave_whiteout(struct txn *t, struct renaming *r)
{
	uint64_t ino, off;
	uint32_t gen;

	if (!inode_create(t, S_IFCHR, r->c->uid, r->c->gid, r->from.dir->ino,
			  &ino, &gen, &off))
		return txn_error(t) ? txn_error(t) : -ENOSPC;
	return dir_replace(t, r->from.dir, &r->from.ref, ino, dtype_of(S_IFCHR));
}

static void lose_name(struct txn *t, struct end *e, struct pmemfs_inode *mi)
{
	uint32_t nlink = e->is_dir ? 0 : get32(mi->nlink) - 1;

	mi->nlink = put32(nlink);
	if (nlink == 0)
		orphan_add(t, e->ip);
}

static int touch_dir(struct txn *t, struct end *e, const struct timespec *now)
{
	struct pmemfs_inode *di = inode_edit(t, e->dir);

	if (!di)
		return txn_error(t);
	di->nlink = put32(get32(di->nlink) + (uint32_t)e->links);
	inode_set_mtime(di, now);
	inode_set_ctime(di, now);
	return 0;
}

static int move_inodes(struct txn *t, struct renaming *r)
{
	struct pmemfs_inode *a = inode_edit(t, r->from.ip), *b = NULL;
	struct timespec now;
	int err;

	if (a && r->to.ip)
		b = inode_edit(t, r->to.ip);
	if (!a || (r->to.ip && !b))
		return txn_error(t);
	fs_now(r->fs, &now);
	a->parent = put64(r->to.dir->ino);
	inode_set_ctime(a, &now);
	if (b) {
		inode_set_ctime(b, &now);
		if (r->flags & RENAME_EXCHANGE)
			b->parent = put64(r->from.dir->ino);
		else
			lose_name(t, &r->to, b);
	}
	err = touch_dir(t, &r->from, &now);
	return err ? err : touch_dir(t, &r->to, &now);
}

static int rename_locked(struct renaming *r)
{
	struct txn *t;
	int err = rename_ok(r);

	if (err)
		return err;
	t = txn_begin(r->fs, PMEMFS_OP_RENAME);
	if (!t)
		return -ENOMEM;
	err = move_names(t, r);
	/* before the target may go to the orphan list, whose lock comes behind
	 * that of the inode table (L1) */
	if (!err && (r->flags & RENAME_WHITEOUT))
		err = leave_whiteout(t, r);
	if (!err)
		err = move_inodes(t, r);
	if (err)
		txn_fail(t, err);
	err = op_commit(t, r->mark);
	if (!err && r->to.ip && get32(inode_media(r->to.ip)->nlink) == 0)
		inode_unlinked(r->to.ip, true);
	return err;
}

static int rename_in_dirs(struct renaming *r)
{
	int err = op_dir_ok(r->from.dir, DIR_ADD | DIR_DEL);

	if (!err)
		err = op_dir_ok(r->to.dir, DIR_ADD);
	if (!err)
		err = find_both(r);
	if (err)
		return err;
	if (r->from.ip == r->to.ip)
		return 0;			/* two names of one inode: POSIX */
	err = shape_ok(r);
	if (err)
		return err;
	if (!r->serial && r->from.is_dir && r->to.is_dir)
		return AGAIN;				/* R1 */
	lock_inodes(r);					/* R3 */
	err = rename_locked(r);
	unlock_inodes(r);
	return err;
}

static int rename_once(struct renaming *r)
{
	int err = lock_dirs(r);

	if (err)
		return err;
	err = rename_in_dirs(r);
	unlock_dirs(r);
	if (r->from.ip)
		inode_put(r->from.ip);
	if (r->to.ip)
		inode_put(r->to.ip);
	r->from.ip = r->to.ip = NULL;
	r->to.is_dir = false;
	return err;
}

static int flags_ok(uint32_t flags)
{
	if (flags & ~(uint32_t)(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT))
		return -EINVAL;
	if ((flags & RENAME_EXCHANGE) && (flags & ~(uint32_t)RENAME_EXCHANGE))
		return -EINVAL;
	return 0;
}

int op_rename(const struct op_ctx *c, uint64_t parent, const char *name,
	      size_t len, uint64_t newparent, const char *newname,
	      size_t newlen, uint32_t flags)
{
	struct renaming r = {
		.fs = c->fs, .c = c, .mark = op_enter(c), .flags = flags,
		.from = { .name = name, .len = len },
		.to = { .name = newname, .len = newlen },
	};
	int err = flags_ok(flags);

	if (!err)
		err = dir_name_ok(name, len);
	if (!err)
		err = dir_name_ok(newname, newlen);
	if (!err)
		err = op_get_rw(c, parent, &r.from.dir);
	if (!err)
		err = op_get_rw(c, newparent, &r.to.dir);
	r.serial = r.from.dir != r.to.dir;
	if (!err)
		err = rename_once(&r);
	if (err == AGAIN) {
		r.serial = true;
		err = rename_once(&r);
	}
	if (r.to.dir)
		inode_put(r.to.dir);
	if (r.from.dir)
		inode_put(r.from.dir);
	return op_leave(c, r.mark, err);
}
