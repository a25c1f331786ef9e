/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops.h - the handlers, one per opcode
 *
 * A handler returns 0 after it has answered (or where no answer is due), or
 * the -errno that dispatch() is to answer. Fixed arguments have their full
 * length; everything in `rest` is for the handler to check.
 */
#ifndef FUSE_OPS_H
#define FUSE_OPS_H

#include "fuse/reply.h"

struct name { const char *s; size_t len; };	/* NUL behind it */

/*
 * Take nr strings, each with its NUL, that fill rest exactly. -EINVAL:
 * unterminated, empty, or something behind the last.
 */
int take_names(const struct request *rq, struct name *name, unsigned nr);
/* May the bits that make a file run as its owner be left on this one? */
bool node_has_setid(const struct request *rq, uint64_t nodeid);

/* ops_name.c */
int do_lookup(struct request *rq);
int do_forget(struct request *rq);
int do_batch_forget(struct request *rq);
int do_mknod(struct request *rq);
int do_mkdir(struct request *rq);
int do_symlink(struct request *rq);
int do_readlink(struct request *rq);
int do_link(struct request *rq);
int do_unlink(struct request *rq);
int do_rmdir(struct request *rq);
int do_rename(struct request *rq);
int do_rename2(struct request *rq);
int do_create(struct request *rq);
int do_tmpfile(struct request *rq);

/* ops_dir.c */
int do_opendir(struct request *rq);
int do_readdir(struct request *rq);
int do_readdirplus(struct request *rq);
int do_releasedir(struct request *rq);

/* ops_file.c */
int do_open(struct request *rq);
int do_release(struct request *rq);
int do_read(struct request *rq);
int do_write(struct request *rq);
int do_fsync(struct request *rq);
int do_lseek(struct request *rq);
int do_fallocate(struct request *rq);
int do_copy_range(struct request *rq);
int do_copy_range_64(struct request *rq);
/* FOPEN_* for a file with these PMEMFS_FL_*. */
uint32_t file_open_flags(const struct session *s, uint32_t fl);

/* ops_attr.c */
int do_getattr(struct request *rq);
int do_setattr(struct request *rq);
int do_statx(struct request *rq);
int do_statfs(struct request *rq);
int do_syncfs(struct request *rq);

/* ops_ioctl.c */
int do_ioctl(struct request *rq);

/* ops_xattr.c */
int do_setxattr(struct request *rq);
int do_getxattr(struct request *rq);
int do_listxattr(struct request *rq);
int do_removexattr(struct request *rq);

#endif
