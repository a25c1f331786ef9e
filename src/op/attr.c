/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attr.c - attributes, sizes, privileges that a change takes away
 *
 * One record per setattr, whatever it changes. Two fences only when the file
 * grows over bytes that an earlier end of file left undefined (L5). A file
 * too large to free in one record is cut short in the first (FL_TRUNC and the
 * orphan list make the rest restartable, L9); then inode_finish_trunc() goes
 * on under the same lock.
 */
#include <errno.h>
#include <sys/stat.h>

#include "copy/copy.h"
#include "meta/xattr.h"
#include "op/acl.h"
#include "op/op_i.h"

#define CAPS	"security.capability"

/* ---- size ------------------------------------------------------------------- */

int op_zero_tail(struct txn *t, struct inode *ip, uint64_t from, uint64_t to)
{
	uint64_t in = from & (PMEMFS_BLOCK_SIZE - 1);
	struct extent e;
	int err;

	if (in == 0 || from >= to)
		return 0;
	err = extent_at(t, ip, off_blk(from), &e);
	if (err || !extent_has_data(&e))
		return err;
	copy_zero(ip->fs->pm, blk_off(e.pool) + in,
		  min64(PMEMFS_BLOCK_SIZE - in, to - from));
	txn_data_first(t);				/* L5 */
	return 0;
}

int op_resize(struct txn *t, struct inode *ip, uint64_t size)
{
	struct pmemfs_inode *mi = inode_edit(t, ip);
	uint64_t old;
	int more = 0;

	if (!mi)
		return txn_error(t);
	old = get64(mi->size);
	if (size > old)
		more = op_zero_tail(t, ip, old, size);
	else	/* also frees what fallocate kept beyond the end */
		more = extent_remove(t, ip, bytes_blks(size), FILE_END_BLK);
	if (more < 0)
		return more;
	mi->size = put64(size);
	if (more) {
		mi->flags = put32(get32(mi->flags) | PMEMFS_FL_TRUNC);
		orphan_add(t, ip);
	}
	return more;
}

/* ---- privileges ------------------------------------------------------------- */

uint32_t op_priv_bits(uint32_t mode)
{
	uint32_t bits = mode & S_ISUID;

	if ((mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		bits |= S_ISGID;
	return S_ISDIR(mode) ? 0 : bits;
}

bool op_has_caps(const struct inode *ip)
{
	const struct pmemfs_inode *mi = inode_media(ip);
	size_t size = 0;

	return get64(mi->xattr) && S_ISREG(get32(mi->mode)) &&
	       xattr_get(ip, CAPS, NULL, &size) == 0;
}

int op_drop_priv(struct txn *t, struct inode *ip, uint32_t bits, bool caps)
{
	struct pmemfs_inode *mi = inode_edit(t, ip);

	if (!mi)
		return txn_error(t);
	mi->mode = put32(get32(mi->mode) & ~bits);
	return caps ? xattr_remove(t, ip, CAPS) : 0;
}

/* ---- setattr ---------------------------------------------------------------- */

static int setattr_ok(const struct inode *ip, const struct op_setattr *in)
{
	const struct pmemfs_inode *mi = inode_media(ip);
	uint32_t flags = get32(mi->flags);

	uint32_t touch = OP_SET_ATIME_NOW | OP_SET_MTIME_NOW | OP_SET_CTIME;

	/* the kernel's word for when it was written or touched, often late */
	if (in->valid & OP_SET_CACHE)
		touch |= OP_SET_MTIME | OP_SET_CACHE;
	if ((flags & PMEMFS_FL_IMMUTABLE) &&
	    in->valid != (OP_SET_MTIME | OP_SET_CTIME | OP_SET_CACHE))
		return -EPERM;
	if ((flags & PMEMFS_FL_APPEND) && (in->valid & ~touch))
		return -EPERM;
	if (!(in->valid & OP_SET_SIZE))
		return 0;
	if (op_reg_ok(ip))
		return op_reg_ok(ip);
	return in->size > PMEMFS_MAX_SIZE ? -EFBIG : 0;
}

static void set_owner_mode(struct pmemfs_inode *mi, const struct op_setattr *in)
{
	if (in->valid & OP_SET_MODE)
		mi->mode = put32((get32(mi->mode) & S_IFMT) | (in->mode & 07777));
	if (in->valid & OP_SET_UID)
		mi->uid = put32(in->uid);
	if (in->valid & OP_SET_GID)
		mi->gid = put32(in->gid);
}

static struct timespec to_timespec(struct op_time t)
{
	return (struct timespec){ .tv_sec = t.sec, .tv_nsec = t.nsec };
}

static void set_times(struct pmemfs_inode *mi, const struct op_setattr *in,
		      const struct timespec *now)
{
	struct timespec ts;

	if (in->valid & (OP_SET_ATIME | OP_SET_ATIME_NOW)) {
		ts = in->valid & OP_SET_ATIME_NOW ? *now : to_timespec(in->atime);
		mi->atime = put64((uint64_t)ts.tv_sec);
		mi->atime_ns = put32((uint32_t)ts.tv_nsec);
	}
	if (in->valid & (OP_SET_MTIME | OP_SET_MTIME_NOW)) {
		ts = in->valid & OP_SET_MTIME_NOW ? *now : to_timespec(in->mtime);
		inode_set_mtime(mi, &ts);
	} else if (in->valid & OP_SET_SIZE) {
		inode_set_mtime(mi, now);
	}
	ts = in->valid & OP_SET_CTIME ? to_timespec(in->ctime) : *now;
	inode_set_ctime(mi, &ts);
}

/* What this change takes away, as Linux does: a change of owner always (but
 * not from directories), others where the kernel asks; file capabilities with
 * each new owner or size. */
static int lose_priv(struct txn *t, struct inode *ip, const struct op_setattr *in)
{
	uint32_t mode = get32(inode_media(ip)->mode), bits = 0;
	bool chown = in->valid & (OP_SET_UID | OP_SET_GID);

	if ((in->valid & OP_SET_KILL_PRIV) || (chown && !(in->valid & OP_SET_MODE)))
		bits = op_priv_bits(mode);
	if (chown || (in->valid & (OP_SET_SIZE | OP_SET_KILL_PRIV)))
		return op_drop_priv(t, ip, bits, op_has_caps(ip));
	return bits ? op_drop_priv(t, ip, bits, false) : 0;
}

static int setattr_build(struct txn *t, struct inode *ip, const struct op_setattr *in)
{
	struct pmemfs_inode *mi = inode_edit(t, ip);
	struct timespec now;
	int more = 0, err;

	if (!mi)
		return txn_error(t);
	err = lose_priv(t, ip, in);
	if (err)
		return err;
	if (in->valid & OP_SET_SIZE)
		more = op_resize(t, ip, in->size);
	if (more < 0)
		return more;
	fs_now(ip->fs, &now);
	set_owner_mode(mi, in);
	set_times(mi, in, &now);
	if (in->valid & OP_SET_MODE)
		err = acl_chmod(t, ip, in->mode);
	return err ? err : more;
}

static int setattr_locked(struct inode *ip, const struct op_setattr *in, uint64_t mark)
{
	struct txn *t;
	int err = setattr_ok(ip, in), more;

	if (err || !in->valid)
		return err;
	/* L9: what an earlier truncation left must be gone before any growth */
	if ((in->valid & OP_SET_SIZE) &&
	    (get32(inode_media(ip)->flags) & PMEMFS_FL_TRUNC))
		err = inode_finish_trunc(ip);
	if (err)
		return err;
	t = txn_begin(ip->fs, in->valid & OP_SET_SIZE ?
				PMEMFS_OP_TRUNCATE : PMEMFS_OP_SETATTR);
	if (!t)
		return -ENOMEM;
	more = setattr_build(t, ip, in);
	if (more < 0)
		txn_fail(t, more);
	err = op_commit(t, mark);
	/* The size is committed; a failure to free now is made up for later. */
	if (!err && more > 0)
		inode_finish_trunc(ip);
	return err;
}

int op_setattr(const struct op_ctx *c, uint64_t nodeid,
	       const struct op_setattr *in, struct op_attr *out)
{
	uint64_t mark = op_enter(c);
	struct inode *ip;
	int err = op_get_rw(c, nodeid, &ip);

	if (err)
		return op_leave(c, mark, err);
	inode_wrlock(ip);
	err = setattr_locked(ip, in, mark);
	if (!err)
		op_attr_of(ip, out);
	inode_unlock(ip);
	inode_put(ip);
	return op_leave(c, mark, err);
}
