/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mount.h - put the filesystem into the tree, and take it out again
 *
 * With options.c the only includer of libfuse, which knows how to mount as
 * root and how to ask fusermount3 as anybody else.
 */
#ifndef FUSE_MOUNT_H
#define FUSE_MOUNT_H

#include "fuse/options.h"

struct fuse_session;

struct mount {
	struct fuse_session *se;	/* libfuse's: owns fd */
	int fd;				/* /dev/fuse */
	char *path;			/* mount point, absolute */
	unsigned major, minor;		/* device number, 0 0: unknown */
	char *source;			/* as mountinfo has it, NULL: unknown */
};

/*
 * Mount. One line has been logged on failure. -ENODEV: no /dev/fuse;
 * otherwise -EIO. path: absolute; fsname: what mount(8) shows as the device.
 */
int mount_up(struct mount *m, const struct options *o, const char *fsname,
	     const char *path);
/* Close the connection: whoever still uses the mount gets ENOTCONN. */
void mount_close(struct mount *m);
/* Is our filesystem (still) at the mount point? */
bool mount_is_there(const struct mount *m);
/*
 * Unmount while the daemon goes on serving. lazy: detach now, end when the
 * last user leaves. 0, -EBUSY, or another -errno.
 */
int mount_down(const struct mount *m, bool lazy);
/*
 * Write the dirty pages out: syncfs(2) on the mount point. With fd, the
 * descriptor it was done on is left open there (it keeps the filesystem
 * alive).
 */
int mount_sync(const struct mount *m, int *fd);
/* -o remount: change the flags of what is mounted there. 0 or an exit code. */
int mount_remount(const struct options *o, const char *path);

#endif
