/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * acl.h - POSIX access control lists
 *
 * A list is kept as an attribute of its own name, in the bytes that the
 * kernel hands over (version 2, little-endian). The kernel checks access by
 * it; what it leaves to a filesystem is here: a list that makes no sense is
 * refused, the mode and the list never disagree, and new nodes inherit.
 *
 * Mode and list change in one record. Callers hold the inode exclusively.
 */
#ifndef OP_ACL_H
#define OP_ACL_H

#include "meta/inode.h"

enum acl_kind { ACL_NONE, ACL_ACCESS, ACL_DEFAULT };

/* ACL_NONE: the name is that of some other attribute. */
enum acl_kind acl_kind(const char *name);

/*
 * In t: this list for ip, whose mode follows. One that says no more than a
 * mode is not kept; one without entries takes away what was there.
 * -EINVAL, -EACCES (a default list, and no directory), -EOPNOTSUPP (a symbolic
 * link).
 */
int acl_set(struct txn *t, struct inode *ip, enum acl_kind kind,
	    const void *value, size_t size);
/* In t: ip has got this mode; its list follows. */
int acl_chmod(struct txn *t, struct inode *ip, uint32_t mode);

/* What a new node gets. */
struct acl_heir {
	struct acl *access;		/* NULL: the mode says it all */
	struct acl *inherit;		/* the default list of a new directory */
};

/*
 * A node is to be made in dir: *mode becomes what it will have. Without a
 * default list of dir the umask decides, otherwise the list alone.
 */
int acl_inherit(const struct inode *dir, uint32_t umask, uint32_t *mode,
		struct acl_heir *heir);
/* In t: those lists for ip, new in t and known to nobody. */
int acl_give(struct txn *t, struct inode *ip, const struct acl_heir *heir);
void acl_heir_free(struct acl_heir *heir);

#endif
