/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * acl.c - POSIX access control lists
 *
 *   A1  A list that is kept is in order: the owner, users, the owning group,
 *       groups, the mask, others; a mask is there if a user or group is named.
 *   A2  The mode's bits are those of the entries of the owner, of others, and
 *       of the mask, or of the owning group where there is no mask.
 *   A3  A list of an owner, a group and others only is a mode, and kept as one.
 */
#include "op/acl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "meta/xattr.h"

#define NAME_ACCESS	"system.posix_acl_access"
#define NAME_DEFAULT	"system.posix_acl_default"
#define FORM_2		2u		/* of the attribute */
#define NOBODY		0xffffffffu

enum tag {
	TAG_OWNER = 0x01, TAG_USER = 0x02, TAG_GROUP_OWNER = 0x04,
	TAG_GROUP = 0x08, TAG_MASK = 0x10, TAG_OTHER = 0x20,
};

struct ace {
	le16 tag, perm;
	le32 id;			/* of TAG_USER and TAG_GROUP */
};

struct acl {
	uint32_t nr;
	le32 version;			/* from here on as in the attribute */
	struct ace e[];
};
#define HEAD	sizeof(le32)

static size_t size_of(const struct acl *a) { return HEAD + a->nr * sizeof(struct ace); }
static const void *bytes_of(const struct acl *a) { return &a->version; }

enum acl_kind acl_kind(const char *name)
{
	if (!strcmp(name, NAME_ACCESS))
		return ACL_ACCESS;
	return strcmp(name, NAME_DEFAULT) ? ACL_NONE : ACL_DEFAULT;
}

/* ---- the list itself --------------------------------------------------------- */

/* Which entries may follow one with this tag. */
static unsigned may_follow(unsigned tag)
{
	switch (tag) {
	case 0:
		return TAG_OWNER;
	case TAG_OWNER:
	case TAG_USER:
		return TAG_USER | TAG_GROUP_OWNER;
	case TAG_GROUP_OWNER:
	case TAG_GROUP:
		return TAG_GROUP | TAG_MASK | TAG_OTHER;
	case TAG_MASK:
		return TAG_OTHER;
	default:
		return 0;
	}
}

static bool in_order(const struct acl *a)			/* A1 */
{
	unsigned last = 0, seen = 0;

	for (uint32_t i = 0; i < a->nr; i++) {
		unsigned tag = get16(a->e[i].tag);

		if (!(may_follow(last) & tag) || (tag & (tag - 1)) ||
		    get16(a->e[i].perm) > 7)
			return false;
		if ((tag & (TAG_USER | TAG_GROUP)) && get32(a->e[i].id) == NOBODY)
			return false;
		last = tag;
		seen |= tag;
	}
	return last == TAG_OTHER &&
	       ((seen & TAG_MASK) || !(seen & (TAG_USER | TAG_GROUP)));
}

static struct acl *new_acl(size_t size)
{
	struct acl *a = malloc(sizeof(a->nr) + size);

	if (a)
		a->nr = (uint32_t)((size - HEAD) / sizeof(struct ace));
	return a;
}

/* -EINVAL, -EOPNOTSUPP (some other version), -ENOMEM. Free it. */
static int parse(const void *value, size_t size, struct acl **out)
{
	struct acl *a;
	int err = 0;

	if (size < HEAD || (size - HEAD) % sizeof(struct ace))
		return -EINVAL;
	a = new_acl(size);
	if (!a)
		return -ENOMEM;
	memcpy(&a->version, value, size);
	if (get32(a->version) != FORM_2)
		err = -EOPNOTSUPP;
	else if (a->nr && !in_order(a))
		err = -EINVAL;
	if (!err)
		*out = a;
	else
		free(a);
	return err;
}

/* Where the bits of an entry are in the mode; -1: nowhere (A2). */
static int shift_of(unsigned tag, bool mask)
{
	switch (tag) {
	case TAG_OWNER:
		return 6;
	case TAG_GROUP_OWNER:
		return mask ? -1 : 3;
	case TAG_MASK:
		return 3;
	case TAG_OTHER:
		return 0;
	default:
		return -1;
	}
}

static bool has_mask(const struct acl *a)
{
	/* the last but one, if anywhere (A1) */
	return a->nr > 1 && get16(a->e[a->nr - 2].tag) == TAG_MASK;
}

/* A3: three entries can only be those three, in a list that is in order. */
static bool is_mode(const struct acl *a) { return a->nr == 3; }

static uint32_t mode_of(const struct acl *a)
{
	uint32_t mode = 0;

	for (uint32_t i = 0; i < a->nr; i++) {
		int at = shift_of(get16(a->e[i].tag), has_mask(a));

		if (at >= 0)
			mode |= (uint32_t)get16(a->e[i].perm) << at;
	}
	return mode;
}

/* Each entry that the mode shows: what the mode says of it, and no more than
 * it has now if `less`. */
static void follow_mode(struct acl *a, uint32_t mode, bool less)
{
	for (uint32_t i = 0; i < a->nr; i++) {
		int at = shift_of(get16(a->e[i].tag), has_mask(a));
		unsigned perm;

		if (at < 0)
			continue;
		perm = mode >> at & 7;
		if (less)
			perm &= get16(a->e[i].perm);
		a->e[i].perm = put16((uint16_t)perm);
	}
}

/* ---- the attribute ------------------------------------------------------------ */

/* *out stays NULL where there is none. */
static int load(const struct inode *ip, const char *name, struct acl **out)
{
	size_t size = 0;
	void *buf;
	int err;

	if (!get64(inode_media(ip)->xattr))
		return 0;
	err = xattr_get(ip, name, NULL, &size);
	if (err)
		return err == -ENODATA ? 0 : err;
	buf = malloc(size + 1);
	if (!buf)
		return -ENOMEM;
	err = size ? xattr_get(ip, name, buf, &size) : 0;
	if (!err)
		err = parse(buf, size, out);
	free(buf);
	if (err == -EINVAL || err == -EOPNOTSUPP)
		return damaged(ip->fs, ip->off, "inode %llu: %s makes no sense",
			       (unsigned long long)ip->ino, name);
	return err;
}

static int put(struct txn *t, struct inode *ip, const char *name, const struct acl *a)
{
	return xattr_set(t, ip, name, bytes_of(a), size_of(a), 0);
}

static int take_away(struct txn *t, struct inode *ip, const char *name)
{
	int err = xattr_remove(t, ip, name);

	return err == -ENODATA ? 0 : err;
}

static int set_access(struct txn *t, struct inode *ip, const struct acl *a)
{
	struct pmemfs_inode *mi = inode_edit(t, ip);

	if (!mi)
		return txn_error(t);
	if (a->nr == 0)
		return take_away(t, ip, NAME_ACCESS);
	mi->mode = put32((get32(mi->mode) & ~0777u) | mode_of(a));
	return is_mode(a) ? take_away(t, ip, NAME_ACCESS) : put(t, ip, NAME_ACCESS, a);
}

static int set_default(struct txn *t, struct inode *ip, const struct acl *a)
{
	if (!inode_is_dir(inode_view(t, ip)))
		return a->nr ? -EACCES : 0;
	return a->nr ? put(t, ip, NAME_DEFAULT, a) : take_away(t, ip, NAME_DEFAULT);
}

int acl_set(struct txn *t, struct inode *ip, enum acl_kind kind,
	    const void *value, size_t size)
{
	struct acl *a = NULL;
	int err;

	if (inode_is_lnk(inode_view(t, ip)))
		return -EOPNOTSUPP;
	err = parse(value, size, &a);
	if (err)
		return err;
	err = kind == ACL_ACCESS ? set_access(t, ip, a) : set_default(t, ip, a);
	free(a);
	return err;
}

int acl_chmod(struct txn *t, struct inode *ip, uint32_t mode)
{
	struct acl *a = NULL;
	int err = load(ip, NAME_ACCESS, &a);

	if (err || !a)
		return err;
	follow_mode(a, mode, false);				/* A2 */
	err = put(t, ip, NAME_ACCESS, a);
	free(a);
	return err;
}

/* ---- new nodes ------------------------------------------------------------------ */

static struct acl *copy_of(const struct acl *a)
{
	struct acl *b = new_acl(size_of(a));

	if (b)
		memcpy(&b->version, &a->version, size_of(a));
	return b;
}

int acl_inherit(const struct inode *dir, uint32_t umask, uint32_t *mode,
		struct acl_heir *heir)
{
	struct acl *a = NULL;
	int err;

	*heir = (struct acl_heir){ .access = NULL };
	if (S_ISLNK(*mode))
		return 0;
	err = load(dir, NAME_DEFAULT, &a);
	if (err)
		return err;
	if (!a || a->nr == 0) {
		free(a);
		*mode &= ~(umask & 0777);
		return 0;
	}
	if (S_ISDIR(*mode)) {
		heir->inherit = copy_of(a);
		err = heir->inherit ? 0 : -ENOMEM;
	}
	follow_mode(a, *mode, true);
	*mode = (*mode & ~0777u) | mode_of(a);			/* A2 */
	heir->access = a;
	if (is_mode(a)) {					/* A3 */
		free(a);
		heir->access = NULL;
	}
	if (err)
		acl_heir_free(heir);
	return err;
}

int acl_give(struct txn *t, struct inode *ip, const struct acl_heir *heir)
{
	int err = 0;

	if (heir->access)
		err = put(t, ip, NAME_ACCESS, heir->access);
	if (!err && heir->inherit)
		err = put(t, ip, NAME_DEFAULT, heir->inherit);
	return err;
}

void acl_heir_free(struct acl_heir *heir)
{
	free(heir->access);
	free(heir->inherit);
	*heir = (struct acl_heir){ .access = NULL };
}
