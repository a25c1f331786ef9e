/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir.c - a directory: a B+tree keyed by the hash of the name
 *
 * The key is also the offset that readdir hands out: it does not move while
 * other names come and go, so a listing that is interrupted for any time
 * loses and doubles no name that was there throughout. Names that share all
 * 55 bits of a keyed hash differ in the low 8 bits, the lowest free number.
 */
#include "meta/dir.h"

#include <errno.h>

#include "meta/btree.h"
#include "meta/namekey.h"

#define COLLISIONS	256u

int dir_name_ok(const char *name, size_t len)
{
	if (len > PMEMFS_NAME_MAX)
		return -ENAMETOOLONG;
	if (!len || memchr(name, '/', len) || memchr(name, 0, len) ||
	    (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'))))
		return -EINVAL;
	return 0;
}

static struct tree tree_of(struct txn *t, const struct inode *dir)
{
	const struct pmemfs_inode *mi = t ? inode_view(t, dir) : inode_media(dir);

	return (struct tree){
		.fs = dir->fs, .t = t, .owner = dir->ino, .kind = PMEMFS_TREE_DIR,
		.root = mi->root_kind == PMEMFS_ROOT_TREE ? get64(mi->root.tree) : 0,
	};
}

/* Check an item of the medium before it is used. */
static int entry_of(const struct inode *dir, const struct item *it, struct dir_entry *e)
{
	uint64_t v;

	if (it->len < 8 + 1 || it->len > 8 + PMEMFS_NAME_MAX ||
	    it->key < PMEMFS_DIR_MIN_KEY || it->key > (PMEMFS_KEY_MASK | 0xff))
		goto bad;
	v = load64(it->val);
	e->key = it->key;
	e->ino = v & PMEMFS_MAX_INO;
	e->type = v >> 56 & 15;
	e->name = (const char *)it->val + 8;
	e->len = it->len - 8;
	if (!e->ino || dir_name_ok(e->name, e->len))
		goto bad;
	return 0;
bad:
	return damaged(dir->fs, dir->off, "directory %llu: bad entry at key %llx",
		       (unsigned long long)dir->ino, (unsigned long long)it->key);
}

/* The entry of that name (0), or -ENOENT and the first free key. */
static int probe(struct tree *tr, const struct inode *dir, const char *name, size_t len,
		 struct dir_entry *e, uint64_t *unused)
{
	uint64_t base = name_key(dir->fs->geo.seed, name, len), key = base;
	struct item it;
	int err;

	*unused = base;
	for (; key < base + COLLISIONS; key = it.key + 1) {
		err = tree_ge(tr, key, &it);
		if (err == -ENOENT || (!err && it.key >= base + COLLISIONS))
			return -ENOENT;
		if (!err)
			err = entry_of(dir, &it, e);
		if (err)
			return err;
		if (e->len == len && !memcmp(e->name, name, len))
			return 0;
		if (it.key == *unused)
			(*unused)++;
	}
	return -ENOENT;
}

int dir_find(struct txn *t, const struct inode *dir, const char *name, size_t len,
	     struct dirent_ref *out)
{
	struct tree tr = tree_of(t, dir);
	struct dir_entry e;
	uint64_t unused;
	int err;

	err = probe(&tr, dir, name, len, &e, &unused);
	if (err)
		return err;
	out->key = e.key;
	out->ino = e.ino;
	out->type = e.type;
	return 0;
}

static void tree_done(struct tree *tr, struct pmemfs_inode *mi, int64_t dsize)
{
	mi->root_kind = tr->root ? PMEMFS_ROOT_TREE : PMEMFS_ROOT_NONE;
	mi->root.tree = put64(tr->root);
	mi->blocks = put64(get64(mi->blocks) + (uint64_t)tr->dblocks);
	mi->size = put64(get64(mi->size) + (uint64_t)dsize);
}

int dir_insert(struct txn *t, struct inode *dir, const char *name, size_t len,
	       uint64_t ino, uint32_t type)
{
	struct pmemfs_inode *mi = inode_edit(t, dir);
	uint8_t val[8 + PMEMFS_NAME_MAX];
	struct dir_entry e;
	struct tree tr;
	uint64_t key;
	int err;

	if (!mi)
		return txn_error(t);
	tr = tree_of(t, dir);
	err = probe(&tr, dir, name, len, &e, &key);
	if (err != -ENOENT)
		return err ? err : -EEXIST;
	if (key >= align_down(key, COLLISIONS) + COLLISIONS - 1)
		return -ENOSPC;		/* 255 names with one 55-bit keyed hash */
	save64(val, ino | (uint64_t)type << 56);
	memcpy(val + 8, name, len);
	err = tree_insert(&tr, key, val, 8 + len);
	if (!err)
		tree_done(&tr, mi, 8 + (int64_t)len);
	return err;
}

int dir_remove(struct txn *t, struct inode *dir, const struct dirent_ref *ref)
{
	struct pmemfs_inode *mi = inode_edit(t, dir);
	struct item it;
	struct tree tr;
	int64_t len;
	int err;

	if (!mi)
		return txn_error(t);
	tr = tree_of(t, dir);
	err = tree_get(&tr, ref->key, &it);
	if (err)
		return err;
	len = (int64_t)it.len;
	err = tree_delete(&tr, ref->key);
	if (!err)
		tree_done(&tr, mi, -len);
	return err;
}

int dir_replace(struct txn *t, struct inode *dir, const struct dirent_ref *ref,
		uint64_t ino, uint32_t type)
{
	struct pmemfs_inode *mi = inode_edit(t, dir);
	uint8_t val[8 + PMEMFS_NAME_MAX];
	struct dir_entry e;
	struct item it;
	struct tree tr;
	int err;

	if (!mi)
		return txn_error(t);
	tr = tree_of(t, dir);
	err = tree_get(&tr, ref->key, &it);
	if (!err)
		err = entry_of(dir, &it, &e);
	if (err)
		return err;
	save64(val, ino | (uint64_t)type << 56);
	memcpy(val + 8, e.name, e.len);
	err = tree_replace(&tr, ref->key, val, it.len);
	if (!err)
		tree_done(&tr, mi, 0);
	return err;
}

bool dir_is_empty(struct txn *t, const struct inode *dir)
{
	const struct pmemfs_inode *mi = t ? inode_view(t, dir) : inode_media(dir);

	return mi->root_kind == PMEMFS_ROOT_NONE;
}

int dir_next(const struct inode *dir, uint64_t after, struct dir_entry *e)
{
	struct tree tr = tree_of(NULL, dir);
	struct item it;
	int err;

	if (after < PMEMFS_DIR_MIN_KEY)
		after = PMEMFS_DIR_MIN_KEY - 1;
	err = tree_ge(&tr, after + 1, &it);
	return err ? err : entry_of(dir, &it, e);
}
