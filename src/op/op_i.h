/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op_i.h - what the files of src/op share
 *
 * The shape of every request:
 *
 *	mark = op_enter(c);
 *	err = op_get(c, nodeid, &ip);		a reference, no lock
 *	...lock, look, build a transaction...
 *	err = op_commit(t, mark);		nothing faulted: commit
 *	...fill in the answer, unlock, put...
 *	return op_leave(c, mark, err);		no lock held
 */
#ifndef OP_OP_I_H
#define OP_OP_I_H

#include "meta/alloc.h"
#include "meta/dir.h"
#include "meta/extent.h"
#include "meta/fs.h"
#include "meta/inode.h"
#include "op/op.h"

#define FILE_END_BLK	bytes_blks(PMEMFS_MAX_SIZE)

static inline uint64_t op_enter(const struct op_ctx *c)
{
	alloc_for_root(c->uid == 0);
	return pm_fault_mark(c->fs->pm);
}

/*
 * Before the answer: if the medium faulted meanwhile, an error that was
 * decided upon what was read is not to be believed and becomes -EIO. A
 * success is: whoever committed has asked op_commit(), whoever only read
 * passes through op_leave_read().
 */
int op_leave(const struct op_ctx *c, uint64_t mark, int err);
int op_leave_read(const struct op_ctx *c, uint64_t mark, int err);
/* -EIO and nothing done if the medium faulted since mark. Frees t. */
int op_commit(struct txn *t, uint64_t mark);

/* ---- node.c -------------------------------------------------------------- */

int op_get(const struct op_ctx *c, uint64_t nodeid, struct inode **ip);
/* For a change: -EROFS before anything else. */
int op_get_rw(const struct op_ctx *c, uint64_t nodeid, struct inode **ip);
/* ip is locked. op_entry_of() does not count a lookup. */
void op_attr_of(const struct inode *ip, struct op_attr *a);
void op_entry_of(const struct inode *ip, struct op_entry *e);

#define DIR_ADD	0x1u
#define DIR_DEL	0x2u
/* May names be added to or taken from this directory (locked)? -ENOTDIR;
 * -ENOENT: it was removed; -EPERM: immutable, append-only. */
int op_dir_ok(const struct inode *dir, unsigned change);
/* May a node of this project get a name in dir (both locked)? -EXDEV. */
int op_project_ok(const struct inode *dir, const struct inode *ip);
/* 0: a regular file. -EISDIR, -EINVAL. ip is locked or its mode constant. */
int op_reg_ok(const struct inode *ip);
/*
 * The inode that a name of dir (locked) points at. A free one is damage, and
 * so are dir itself and a directory whose ".." does not say dir: the tree of
 * directories is one, whatever a bad pool claims (and nobody is locked twice).
 * *out may be set with an error; put it.
 */
int op_get_child(struct inode *dir, const struct dirent_ref *ref, struct inode **out);

/* ---- read.c -------------------------------------------------------------- */

/*
 * Up to *nr pieces of [pos, pos + len), clipped at the end of the file, which
 * is locked and stays so while they are used. *got: bytes that they cover.
 */
int op_pieces(const struct inode *ip, uint64_t pos, size_t len,
	      struct op_piece *piece, unsigned *nr, size_t *got);

/* ---- attr.c -------------------------------------------------------------- */

/*
 * In t, the new size of ip (locked exclusively). Growing zeroes what becomes
 * visible (L5); shrinking frees blocks. 1: more is to be freed, the record
 * says so (L9), and the caller calls inode_finish_trunc() after the commit.
 */
int op_resize(struct txn *t, struct inode *ip, uint64_t size);
/*
 * Zero the bytes [from, to) as far as they lie in a mapped, written part of
 * the block of `from`, which the end of the file leaves undefined. Makes t
 * write data first (L5).
 */
int op_zero_tail(struct txn *t, struct inode *ip, uint64_t from, uint64_t to);
/* Mode bits that a write by somebody else must clear. */
uint32_t op_priv_bits(uint32_t mode);
/* A file capability is kept? (locked) */
bool op_has_caps(const struct inode *ip);
/* In t: clear the given mode bits, and capabilities. */
int op_drop_priv(struct txn *t, struct inode *ip, uint32_t bits, bool caps);

#endif
