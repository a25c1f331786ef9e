/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops_xattr.c - extended attributes
 *
 * The kernel hands over whatever name it is given, so the namespaces are ours
 * to police, as other filesystems do: user, trusted and security. Names of
 * trusted attributes are shown to root only.
 *
 * Two names are answered here and not stored anywhere, for any node (so that
 * a bind mount of a folder will do), and never listed. VIRTUAL_RO tells, "1"
 * or "0", whether the daemon opened the pool read-only; a remount asks it.
 * VIRTUAL_STATS is what pmemfs-stat shows.
 */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "fuse/ops.h"
#include "fuse/session.h"
#include "fuse/stats.h"
#include "fuse/virtual.h"
#include "op/acl.h"

/*
 * A kernel that does not offer FUSE_POSIX_ACL (before 4.9, or built without)
 * passes ACLs on like any attribute and does not obey them. Taking one would
 * then be worse than refusing it: cp -a sets the mode through the ACL if it can.
 */
static int check_name(const struct session *s, const char *name)
{
	static const char *const space[] = { "user.", "trusted.", "security." };

	for (size_t i = 0; i < ARRAY_SIZE(space); i++) {
		size_t len = strlen(space[i]);

		if (!strncmp(name, space[i], len))
			return name[len] ? 0 : -EINVAL;
	}
	if ((s->flags & FUSE_POSIX_ACL) && acl_kind(name) != ACL_NONE)
		return 0;
	return -EOPNOTSUPP;
}

/* Answer with a length, or with the bytes. */
static int reply_sized(struct request *rq, uint32_t asked, const void *data,
		       size_t len)
{
	struct fuse_getxattr_out out = { .size = (uint32_t)len };

	if (asked == 0)
		return reply_data(rq, &out, sizeof(out));
	if (len > asked)
		return -ERANGE;
	return reply_data(rq, data, len);
}

int do_setxattr(struct request *rq)
{
	const struct fuse_setxattr_in *in = rq->arg;
	size_t len = strnlen(rq->rest, rq->rest_len);
	uint32_t flags = in->flags & (XATTR_CREATE | XATTR_REPLACE);
	int err;

	if (len == 0 || len == rq->rest_len ||
	    rq->rest_len - len - 1 != in->size)
		return -EINVAL;
	if (in->size > PMEMFS_XATTR_MAX)
		return -E2BIG;
	err = check_name(rq->s, rq->rest);
	if (err)
		return err;
	if ((rq->s->flags & FUSE_SETXATTR_EXT) &&
	    (in->setxattr_flags & FUSE_SETXATTR_ACL_KILL_SGID))
		flags |= OP_XATTR_KILL_SGID;
	err = op_setxattr(&rq->ctx, rq->h->nodeid, rq->rest,
			  rq->rest + len + 1, in->size, flags);
	return err ? err : reply_ok(rq);
}

/*
 * The numbers tell what others do, so they are for root and for whoever runs
 * the daemon. They change while one looks: who asks for the length is told the
 * largest.
 */
static int reply_stats(struct request *rq, uint32_t asked)
{
	size_t len;

	if (rq->ctx.uid != 0 && rq->ctx.uid != geteuid())
		return -EACCES;
	if (asked == 0)
		return reply_sized(rq, 0, NULL, STATS_MAX);
	len = stats_json(rq->s, (char *)rq->out, STATS_MAX);
	return len ? reply_sized(rq, asked, rq->out, len) : -E2BIG;
}

int do_getxattr(struct request *rq)
{
	const struct fuse_getxattr_in *in = rq->arg;
	uint32_t room = (uint32_t)min64(in->size, OUT_SIZE);
	char name[256];
	struct name n;
	size_t len = 0;
	int err = take_names(rq, &n, 1);

	if (err)
		return err;
	if (n.len >= sizeof(name))
		return -ERANGE;
	memcpy(name, n.s, n.len + 1);	/* the value may be built over it */
	if (!strcmp(name, VIRTUAL_RO))
		return reply_sized(rq, in->size, rq->s->fs->ro ? "1" : "0", 1);
	if (!strcmp(name, VIRTUAL_STATS))
		return reply_stats(rq, in->size);
	err = check_name(rq->s, name);
	if (err)
		return err;
	err = op_getxattr(&rq->ctx, rq->h->nodeid, name, rq->out, room, &len);
	return err ? err : reply_sized(rq, in->size, rq->out, len);
}

static size_t without_trusted(char *list, size_t len)
{
	size_t to = 0;

	for (size_t at = 0; at < len;) {
		size_t n = strnlen(list + at, len - at) + 1;

		if (strncmp(list + at, "trusted.", 8)) {
			memmove(list + to, list + at, n);
			to += n;
		}
		at += n;
	}
	return to;
}

int do_listxattr(struct request *rq)
{
	const struct fuse_getxattr_in *in = rq->arg;
	char *list = (char *)rq->out;
	size_t len = 0;
	int err = op_listxattr(&rq->ctx, rq->h->nodeid, list, OUT_SIZE, &len);

	if (err)
		return err;
	if (rq->ctx.uid != 0)
		len = without_trusted(list, len);
	return reply_sized(rq, in->size, list, len);
}

int do_removexattr(struct request *rq)
{
	struct name n;
	int err = take_names(rq, &n, 1);

	if (!err)
		err = check_name(rq->s, n.s);
	if (!err)
		err = op_removexattr(&rq->ctx, rq->h->nodeid, n.s);
	return err ? err : reply_ok(rq);
}
