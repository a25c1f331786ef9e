/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattr.c - extended attributes: the requests
 *
 * Who may do what is the kernel's business (default_permissions); limits and
 * the inode's flags are ours. Access control lists are attributes, too, but
 * those that mean something: acl.c.
 */
#include <errno.h>
#include <sys/stat.h>

#include "meta/xattr.h"
#include "op/acl.h"
#include "op/op_i.h"

static int name_ok(const char *name)
{
	size_t len = strnlen(name, PMEMFS_NAME_MAX + 1);

	return len == 0 || len > PMEMFS_NAME_MAX ? -ERANGE : 0;
}

struct change {
	enum pmemfs_op op;
	const char *name;
	const void *value;
	size_t size;
	uint32_t flags;
};

static int set(struct txn *t, struct inode *ip, const struct change *ch)
{
	enum acl_kind kind = acl_kind(ch->name);
	struct pmemfs_inode *mi;
	int err;

	if (kind == ACL_NONE)
		return xattr_set(t, ip, ch->name, ch->value, ch->size,
				 (int)(ch->flags & ~OP_XATTR_KILL_SGID));
	err = acl_set(t, ip, kind, ch->value, ch->size);
	if (!err && kind == ACL_ACCESS && (ch->flags & OP_XATTR_KILL_SGID)) {
		mi = inode_edit(t, ip);
		mi->mode = put32(get32(mi->mode) & ~(uint32_t)S_ISGID);
	}
	return err;
}

static int change_build(struct txn *t, struct inode *ip, const struct change *ch)
{
	struct pmemfs_inode *mi = inode_edit(t, ip);
	struct timespec now;
	int err;

	if (!mi)
		return txn_error(t);
	if (ch->op == PMEMFS_OP_SETXATTR)
		err = set(t, ip, ch);
	else
		err = xattr_remove(t, ip, ch->name);
	if (err)
		return err;
	fs_now(ip->fs, &now);
	inode_set_ctime(mi, &now);
	return 0;
}

static int change_locked(struct inode *ip, const struct change *ch, uint64_t mark)
{
	struct txn *t;
	int err;

	if (get32(inode_media(ip)->flags) & (PMEMFS_FL_IMMUTABLE | PMEMFS_FL_APPEND))
		return -EPERM;
	t = txn_begin(ip->fs, ch->op);
	if (!t)
		return -ENOMEM;
	err = change_build(t, ip, ch);
	if (err)
		txn_fail(t, err);
	return op_commit(t, mark);
}

static int change(const struct op_ctx *c, uint64_t nodeid, const struct change *ch)
{
	uint64_t mark = op_enter(c);
	struct inode *ip;
	int err = op_get_rw(c, nodeid, &ip);

	if (err)
		return op_leave(c, mark, err);
	inode_wrlock(ip);
	err = change_locked(ip, ch, mark);
	inode_unlock(ip);
	inode_put(ip);
	return op_leave(c, mark, err);
}

int op_setxattr(const struct op_ctx *c, uint64_t nodeid, const char *name,
		const void *value, size_t size, uint32_t flags)
{
	struct change ch = {
		.op = PMEMFS_OP_SETXATTR, .name = name, .value = value,
		.size = size, .flags = flags,
	};

	if (name_ok(name))
		return name_ok(name);
	return size > PMEMFS_XATTR_MAX ? -E2BIG : change(c, nodeid, &ch);
}

int op_removexattr(const struct op_ctx *c, uint64_t nodeid, const char *name)
{
	struct change ch = { .op = PMEMFS_OP_REMOVEXATTR, .name = name };

	return name_ok(name) ? -ENODATA : change(c, nodeid, &ch);
}

int op_getxattr(const struct op_ctx *c, uint64_t nodeid, const char *name,
		void *value, size_t size, size_t *out)
{
	uint64_t mark = op_enter(c);
	struct inode *ip;
	int err = name_ok(name) ? -ENODATA : op_get(c, nodeid, &ip);

	if (err)
		return op_leave_read(c, mark, err);
	*out = size;
	inode_rdlock(ip);
	err = xattr_get(ip, name, value, out);
	inode_unlock(ip);
	inode_put(ip);
	return op_leave_read(c, mark, err);
}

int op_listxattr(const struct op_ctx *c, uint64_t nodeid, char *list,
		 size_t size, size_t *out)
{
	uint64_t mark = op_enter(c);
	struct inode *ip;
	int err = op_get(c, nodeid, &ip);

	if (err)
		return op_leave_read(c, mark, err);
	*out = size;
	inode_rdlock(ip);
	err = xattr_list(ip, list, out);
	inode_unlock(ip);
	inode_put(ip);
	return op_leave_read(c, mark, err);
}
