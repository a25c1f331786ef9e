/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_put.c - put things back, with the code that serves a mount
 *
 * When a round has left whole trees, the copy is opened like any pool, and
 * names, extents and attributes that are to go somewhere are put there one by
 * one; inodes that nobody names go to /lost+found, as #NUMBER. Whatever finds
 * its place taken is left out: what is there came from a sounder source.
 *
 * What finds no space is tried once more, when the blocks that the repair
 * frees have become free.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/log.h"
#include "meta/dir.h"
#include "meta/extent.h"
#include "meta/repair_int.h"
#include "meta/xattr.h"

/* ---- the list ------------------------------------------------------------------ */

struct rput *repair_put_add(struct repair *r, enum rput_kind kind, uint64_t ino)
{
	size_t max = r->max_puts ? r->max_puts * 2 : 64;
	struct rput *p = r->put;

	if (r->nr_puts == r->max_puts) {
		p = realloc(p, max * sizeof(*p));
		if (!p) {
			r->nomem = true;
			return NULL;
		}
		r->put = p;
		r->max_puts = max;
	}
	p = &r->put[r->nr_puts++];
	memset(p, 0, sizeof(*p));
	p->kind = kind;
	p->ino = ino;
	r->nr_names += kind == PUT_NAME;
	return p;
}

/* Each with a NUL behind it. */
void repair_put_bytes(struct repair *r, struct rput *p, const void *name, uint32_t name_len,
		      const void *val, uint32_t val_len)
{
	p->bytes = calloc(1, (size_t)name_len + val_len + 2);
	if (!p->bytes) {
		r->nomem = true;
		return;
	}
	p->name_len = name_len;
	p->val_len = val_len;
	memcpy(p->bytes, name, name_len);
	if (val_len)
		memcpy(p->bytes + name_len + 1, val, val_len);
}

/* Those that are to be tried again stay. */
void repair_puts_clear(struct repair *r)
{
	size_t i, kept = 0;

	r->nr_names = 0;
	for (i = 0; i < r->nr_puts; i++) {
		if (r->put[i].again) {
			r->nr_names += r->put[i].kind == PUT_NAME;
			r->put[kept++] = r->put[i];
		} else {
			free(r->put[i].bytes);
		}
	}
	r->nr_puts = kept;
}

/* ---- telling ---------------------------------------------------------------------- */

static void tell(struct repair *r, const struct rput *p, enum problem nr)
{
	struct rplace at = { p->kind == PUT_NAME ? p->dir : p->ino, p->off };
	char shown[80] = "";

	if (p->bytes)
		log_name(shown, sizeof(shown), (const char *)p->bytes, p->name_len);
	if (p->kind == PUT_NAME)
		repair_tell(r, nr, at, "name \"%s\" of inode %llu %s", shown,
			    (unsigned long long)p->ino, nr == PROBLEM_SALVAGE_NAME ?
			    "was lost" : nr == PROBLEM_ENTRY_KEY ?
			    "is not where its hash puts it" : "cannot be put back");
	else if (p->kind == PUT_XATTR)
		repair_tell(r, nr, at, "attribute \"%s\" %s", shown,
			    nr == PROBLEM_SALVAGE_XATTR ? "was lost" : nr == PROBLEM_XATTR_KEY ?
			    "is not where it belongs" : "cannot be put back");
	else
		repair_tell(r, nr, at, "file block %llu: blocks %llu+%llu %s",
			    (unsigned long long)p->pos, (unsigned long long)p->blk,
			    (unsigned long long)p->len, nr == PROBLEM_NO_SPACE ?
			    "cannot be put back" : "were lost");
}

/* ---- single ones ------------------------------------------------------------------- */

struct job {
	struct repair *r;
	struct fs *fs;
	struct rput *p;
	uint64_t lost_found;
	bool done;		/* something was put */
};

static int put_name(struct job *j, struct inode *dir, struct inode *ip)
{
	uint32_t type = dtype_of(get32(inode_media(ip)->mode));
	const char *name = (const char *)j->p->bytes;
	struct dirent_ref ref;
	struct txn *t;
	int err;

	err = dir_find(NULL, dir, name, j->p->name_len, &ref);
	if (err != -ENOENT)
		return err;		/* there is one by now */
	t = txn_begin(j->fs, PMEMFS_OP_REPAIR);
	if (!t)
		return -ENOMEM;
	err = dir_insert(t, dir, name, j->p->name_len, ip->ino, type);
	if (err)
		txn_fail(t, err);
	err = txn_commit(t);
	j->done = !err;
	return err;
}

static int unname(struct job *j, struct inode *dir, struct inode *ip)
{
	struct dir_entry e = { .key = 0 };
	struct dirent_ref ref;
	struct txn *t;
	int err;

	while (!(err = dir_next(dir, e.key, &e)) && e.ino != ip->ino)
		;
	if (err)
		return err == -ENOENT ? 0 : err;
	ref = (struct dirent_ref){ .key = e.key, .ino = e.ino, .type = e.type };
	t = txn_begin(j->fs, PMEMFS_OP_REPAIR);
	if (!t)
		return -ENOMEM;
	err = dir_remove(t, dir, &ref);
	if (err)
		txn_fail(t, err);
	return txn_commit(t);
}

static int put_xattr(struct job *j, struct inode *ip)
{
	const char *name = (const char *)j->p->bytes;
	struct txn *t = txn_begin(j->fs, PMEMFS_OP_REPAIR);
	int err;

	if (!t)
		return -ENOMEM;
	err = xattr_set(t, ip, name, j->p->bytes + j->p->name_len + 1, j->p->val_len,
			XATTR_CREATE);
	if (err)
		txn_fail(t, err);
	err = txn_commit(t);
	j->done = !err;
	return err == -EEXIST ? 0 : err;
}

/* len blocks of the put from its block i on, into a hole; *did: how many. */
static int put_blocks(struct job *j, struct inode *ip, uint64_t i, uint64_t len, uint64_t *did)
{
	struct txn *t = txn_begin(j->fs, PMEMFS_OP_REPAIR);
	struct run run = { j->p->blk + i, len };
	int err = 0;

	if (!t)
		return -ENOMEM;
	if (j->p->kind == PUT_CLONE) {
		err = txn_alloc(t, TXN_DATA, 0, 0, len, 1, &run);
		if (!err)
			pm_copy(j->fs->pm, blk_off(run.blk),
				pm_at(j->fs->pm, blk_off(j->p->blk + i), blk_off(run.len)),
				blk_off(run.len));
		txn_data_first(t);
	}
	if (!err)
		err = extent_insert(t, ip, j->p->pos + i, run, j->p->unwritten);
	if (err)
		txn_fail(t, err);
	*did = run.len;
	err = txn_commit(t);
	j->done |= !err;
	return err;
}

static int put_extent(struct job *j, struct inode *ip)
{
	uint64_t i, n;
	struct extent e;
	int err = 0;

	for (i = 0; i < j->p->len && !err; i += n) {
		err = extent_at(NULL, ip, j->p->pos + i, &e);
		n = min64(e.len, j->p->len - i);
		if (!err && extent_is_hole(&e))
			err = put_blocks(j, ip, i, n, &n);
	}
	return err;
}

/* ---- lost+found ---------------------------------------------------------------------- */

static int make_lost_found(struct job *j, struct inode *root, const char *name)
{
	struct txn *t = txn_begin(j->fs, PMEMFS_OP_REPAIR);
	struct pmemfs_inode *mi;
	uint64_t ino = 0, off;
	uint32_t gen;
	int err = 0;

	if (!t)
		return -ENOMEM;
	txn_allow_reserve(t);
	if (inode_create(t, S_IFDIR | 0700, 0, 0, root->ino, &ino, &gen, &off))
		err = dir_insert(t, root, name, strlen(name), ino, dtype_of(S_IFDIR));
	mi = err ? NULL : inode_edit(t, root);
	if (mi)
		mi->nlink = put32(get32(mi->nlink) + 1);
	if (err)
		txn_fail(t, err);
	err = txn_commit(t);
	if (!err)
		j->lost_found = ino;
	return err;
}

/* A directory of that name, or one beside whatever else has it. */
static int find_lost_found(struct job *j)
{
	char name[16] = "lost+found";
	struct dirent_ref ref;
	struct inode *root;
	unsigned i;
	int err = inode_get_ino(j->fs, PMEMFS_ROOT_INO, &root);

	if (err)
		return err;
	inode_wrlock(root);
	for (i = 1; i < 100; i++) {
		err = dir_find(NULL, root, name, strlen(name), &ref);
		if (err || ref.type == dtype_of(S_IFDIR))
			break;
		snprintf(name, sizeof(name), "lost+found.%u", i);
	}
	if (!err && ref.type == dtype_of(S_IFDIR))
		j->lost_found = ref.ino;
	else if (err == -ENOENT)
		err = make_lost_found(j, root, name);
	inode_unlock(root);
	inode_put(root);
	return err;
}

/* With the links that it has from now on. */
static int attach_as(struct job *j, struct inode *dir, struct inode *ip, const char *name)
{
	struct txn *t = txn_begin(j->fs, PMEMFS_OP_REPAIR);
	struct pmemfs_inode *mi, *di;
	bool is_dir;
	int err;

	if (!t)
		return -ENOMEM;
	is_dir = inode_is_dir(inode_media(ip));
	err = dir_insert(t, dir, name, strlen(name), ip->ino,
			 dtype_of(get32(inode_media(ip)->mode)));
	mi = err ? NULL : inode_edit(t, ip);
	di = err ? NULL : inode_edit(t, dir);
	if (mi && di) {
		mi->nlink = put32(is_dir ? 2 + repair_node(j->r, ip->ino)->subdirs : 1);
		mi->parent = put64(dir->ino);
		di->nlink = put32(get32(di->nlink) + is_dir);
	}
	if (err)
		txn_fail(t, err);
	return txn_commit(t);
}

static int attach(struct job *j, struct inode *ip)
{
	struct inode *dir;
	char name[48];
	unsigned i;
	int err = j->lost_found ? 0 : find_lost_found(j);

	if (err)
		return err;
	err = inode_get_ino(j->fs, j->lost_found, &dir);
	if (err)
		return err;
	inode_wrlock(dir);
	err = -EEXIST;
	for (i = 0; err == -EEXIST && i < 100; i++) {
		snprintf(name, sizeof(name), i ? "#%llu.%u" : "#%llu",
			 (unsigned long long)ip->ino, i);
		err = attach_as(j, dir, ip, name);
	}
	inode_unlock(dir);
	inode_put(dir);
	return err;
}

/* ---- all of them ----------------------------------------------------------------------- */

static int in_dir(struct job *j, struct inode *ip)
{
	struct inode *dir;
	int err = inode_get_ino(j->fs, j->p->dir, &dir);

	if (err)
		return err;
	inode_wrlock(dir);
	err = j->p->kind == PUT_NAME ? put_name(j, dir, ip) : unname(j, dir, ip);
	inode_unlock(dir);
	inode_put(dir);
	return err;
}

static int run_one(struct job *j)
{
	struct inode *ip;
	int err = inode_get_ino(j->fs, j->p->ino, &ip);

	if (err)
		return err;
	switch (j->p->kind) {
	case PUT_UNNAME:
	case PUT_NAME:
		err = in_dir(j, ip);
		break;
	case PUT_XATTR:
		inode_wrlock(ip);
		err = put_xattr(j, ip);
		inode_unlock(ip);
		break;
	case PUT_EXTENT:
	case PUT_CLONE:
		inode_wrlock(ip);
		err = put_extent(j, ip);
		inode_unlock(ip);
		break;
	case PUT_LOST:
		err = attach(j, ip);
		break;
	}
	inode_put(ip);
	return err;
}

/*
 * An inode without links would be freed as soon as it is let go. Those that
 * are to be freed get nothing; the others get a link until they are counted.
 */
static bool hold(struct repair *r, uint64_t ino, bool content)
{
	const struct rnode *n = repair_node(r, ino);
	uint64_t off = repair_slot_off(r, ino);
	struct pmemfs_inode di;

	if (!n)
		return false;
	di = *repair_inode_at(r, off);
	if (get32(di.nlink))
		return true;
	if (content && !n->links && n->type != S_IFDIR >> 12)
		return false;
	di.nlink = put32(n->type == S_IFDIR >> 12 ? 2 : 1);
	repair_put_inode(r, off, &di);
	return true;
}

static void hold_all(struct repair *r)
{
	struct rput *p;
	bool content;
	size_t i;

	for (i = 0; i < r->nr_puts; i++) {
		p = &r->put[i];
		content = p->kind != PUT_NAME && p->kind != PUT_UNNAME && p->kind != PUT_LOST;
		p->skip = !hold(r, p->ino, content) || (p->dir && !hold(r, p->dir, false));
		p->again &= !p->skip;		/* nobody waits for it any more */
	}
}

static int settle(struct job *j, int err)
{
	struct rput *p = j->p;

	p->again = false;
	if (err == -ENOSPC && !j->r->tight) {
		p->again = p->kind != PUT_LOST;
		j->r->tight_next = true;
		return 0;
	}
	if (err == -ENOMEM || err == -EIO || err == -EROFS)
		return err;
	if (err)
		tell(j->r, p, PROBLEM_NO_SPACE);
	else if (p->tell && j->done)
		tell(j->r, p, p->tell);
	return 0;
}

static int run_kind(struct job *j, enum rput_kind kind)
{
	struct repair *r = j->r;
	size_t i;
	int err = 0;

	for (i = 0; i < r->nr_puts && !err && !repair_stopped(r); i++) {
		j->p = &r->put[i];
		if (j->p->kind != kind || j->p->skip)
			continue;
		j->done = false;
		err = settle(j, run_one(j));
	}
	return err;
}

int repair_puts_run(struct repair *r)
{
	struct fs_options opt = {
		.no_background = true, .granularity = -1, .atime = FS_NOATIME,
		.errors = FS_ERRORS_CONTINUE, .backend = &pm_backend_overlay,
		.backend_arg = r->ov,
	};
	struct job j = { .r = r };
	enum rput_kind k;
	int err;

	hold_all(r);
	err = fs_open(&j.fs, r->opt.path, &opt);
	for (k = PUT_UNNAME; k <= PUT_LOST && !err; k++)
		err = run_kind(&j, k);
	if (j.fs)
		fs_close(j.fs);
	r->tight |= r->tight_next;
	return err;
}
