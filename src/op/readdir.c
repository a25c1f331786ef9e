/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * readdir.c - listing a directory
 *
 * The offset of an entry is its key in the tree, "." has 1 and ".." has 2;
 * no key is below PMEMFS_DIR_MIN_KEY. Going on behind an offset therefore
 * works whether or not the entry it came from still exists, and a name that
 * stays is reported exactly once however others come and go.
 *
 * The directory is locked shared meanwhile. With plus, each entry's inode is
 * locked shared below it (parent before child). Dropping that reference here
 * is safe although a lock is held: the name just read keeps the inode linked,
 * so we cannot be the one who has to free it.
 */
#include <dirent.h>
#include <errno.h>

#include "op/op_i.h"

struct listing {
	struct inode *dir;
	bool plus;
	op_dirent_fn fn;
	void *arg;
};

static bool put_dot(const struct listing *l, uint64_t ino, uint64_t off)
{
	struct op_dirent d = {
		.ino = ino, .off = off, .name = "..", .len = off, .type = DT_DIR,
	};

	return l->fn(l->arg, &d, NULL);
}

/*
 * 1: taken, 0: the caller has no room, -errno. An inode that cannot be read
 * (damage, already reported) is listed without attributes, nodeid 0, so that
 * one bad inode does not hide its directory.
 */
static int put_plus(const struct listing *l, const struct op_dirent *d)
{
	struct dirent_ref ref = { .key = d->off, .ino = d->ino, .type = d->type };
	struct op_entry e = { .nodeid = 0 };
	struct inode *ip = NULL;
	bool took;
	int err = op_get_child(l->dir, &ref, &ip);

	if (err && ip)
		inode_put(ip);
	if (err == -ENOMEM)
		return err;
	if (err) {
		e.attr.ino = d->ino;
		e.attr.mode = d->type << 12;
		return l->fn(l->arg, d, &e);
	}
	inode_rdlock(ip);
	op_entry_of(ip, &e);
	inode_unlock(ip);
	/* counted first: once the callback has it, the kernel may forget it */
	inode_lookup_add(ip, 1);
	took = l->fn(l->arg, d, &e);
	if (!took)
		inode_forget(ip->fs, e.nodeid, 1);
	inode_put(ip);
	return took;
}

static int list_names(const struct listing *l, uint64_t after)
{
	struct dir_entry de;
	struct op_dirent d;
	int err;

	for (;;) {
		err = dir_next(l->dir, after, &de);
		if (err)
			return err == -ENOENT ? 0 : err;
		d = (struct op_dirent){
			.ino = de.ino, .off = de.key, .name = de.name,
			.len = de.len, .type = de.type,
		};
		err = l->plus ? put_plus(l, &d) : l->fn(l->arg, &d, NULL);
		if (err <= 0)
			return err;
		after = de.key;
	}
}

static int list(const struct listing *l, uint64_t off)
{
	const struct pmemfs_inode *mi = inode_media(l->dir);

	if (!inode_is_dir(mi))
		return -ENOTDIR;
	if (get32(mi->nlink) == 0)
		return 0;				/* removed: no entries */
	if (off < 1 && !put_dot(l, l->dir->ino, 1))
		return 0;
	if (off < 2 && !put_dot(l, get64(mi->parent), 2))
		return 0;
	inode_accessed(l->dir);
	return list_names(l, off);
}

int op_readdir(const struct op_ctx *c, uint64_t nodeid, uint64_t off,
	       bool plus, op_dirent_fn fn, void *arg)
{
	struct listing l = { .plus = plus, .fn = fn, .arg = arg };
	uint64_t mark = op_enter(c);
	int err = op_get(c, nodeid, &l.dir);

	if (err)
		return op_leave_read(c, mark, err);
	inode_rdlock(l.dir);
	err = list(&l, off);
	inode_unlock(l.dir);
	inode_put(l.dir);
	return op_leave_read(c, mark, err);
}
