/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * op.h - what a request means
 *
 * One call per request. Node ids are those of FUSE: inode number in bits
 * 0..37, generation above, 1 is the root. Every call returns 0 or -errno and
 * takes all the locks it needs; no lock is held between calls except where
 * op_read says so.
 *
 * Durable on return: every call that changes names, attributes, xattrs or
 * space is atomic and durable when it returns 0 (D1); op_write is durable
 * when it returns (D2).
 *
 * Errors that any call may return besides those named:
 *   -ESTALE   the node id names an inode that is gone
 *   -EUCLEAN  damage was met; it has been logged, with the place
 *   -EIO      the medium failed (SIGBUS, msync)
 *   -EROFS    read-only mount, or one that went read-only after an error
 *   -ENOMEM
 */
#ifndef OP_OP_H
#define OP_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pmemfs/format.h"

struct fs;
struct payload;			/* copy/copy.h: memory or pipe */
struct landing;

struct op_ctx {			/* who asks */
	struct fs *fs;
	uint32_t uid, gid, pid;
	uint32_t umask;		/* of whoever makes a node */
};

struct op_time { int64_t sec; uint32_t nsec; };

struct op_attr {
	uint64_t ino, size, blocks512;
	struct op_time atime, mtime, ctime, btime;
	uint32_t mode, nlink, uid, gid, rdev, blksize;
	uint32_t flags;		/* PMEMFS_FL_* */
	uint32_t projid, gen;
};

struct op_entry {
	uint64_t nodeid, generation;
	struct op_attr attr;
};

/* ---- nodes ------------------------------------------------------------- */

/* Fills e and adds one to the kernel's lookup count. "." and ".." work
 * (NFS). -ENOENT, -ENAMETOOLONG, -ENOTDIR. */
int op_lookup(const struct op_ctx *c, uint64_t parent, const char *name,
	      size_t len, struct op_entry *e);
/* Takes n lookups back; frees an unlinked inode nobody knows any more. */
void op_forget(struct fs *fs, uint64_t nodeid, uint64_t n);
int op_getattr(const struct op_ctx *c, uint64_t nodeid, struct op_attr *a);

#define OP_SET_MODE	0x0001u
#define OP_SET_UID	0x0002u
#define OP_SET_GID	0x0004u
#define OP_SET_SIZE	0x0008u
#define OP_SET_ATIME	0x0010u
#define OP_SET_MTIME	0x0020u
#define OP_SET_CTIME	0x0040u	/* else ctime becomes now */
#define OP_SET_ATIME_NOW 0x0080u
#define OP_SET_MTIME_NOW 0x0100u
#define OP_SET_KILL_PRIV 0x0200u	/* clear suid, and sgid if executable */
#define OP_SET_CACHE	0x0400u	/* MTIME and CTIME are those of the page cache */

struct op_setattr {
	uint32_t valid;		/* OP_SET_* */
	uint32_t mode, uid, gid;
	uint64_t size;
	struct op_time atime, mtime, ctime;
};
/* -EFBIG, -ENOSPC, -EISDIR/-EINVAL (size of a non-file), -EPERM (immutable). */
int op_setattr(const struct op_ctx *c, uint64_t nodeid,
	       const struct op_setattr *in, struct op_attr *out);

/*
 * Flags of chattr(1) and the project of a file or directory. What is not in
 * mask stays. -EPERM: an immutable one, unless that is what is taken away;
 * -EINVAL: DAX on anything else; -EOPNOTSUPP: not a flag of OP_FL_USER.
 */
#define OP_FL_USER	(PMEMFS_FL_ALL & ~PMEMFS_FL_TRUNC)
int op_set_flags(const struct op_ctx *c, uint64_t nodeid, uint32_t mask,
		 uint32_t flags, const uint32_t *projid);

/* buf holds at least 4096 bytes; not NUL terminated. */
int op_readlink(const struct op_ctx *c, uint64_t nodeid, char *buf, size_t *len);

/* ---- names ------------------------------------------------------------- */

/*
 * mode is as the caller wants it. The umask, or the default ACL of the parent
 * instead, and the setgid rule of directories are applied here. The new node
 * has one lookup.
 * -EEXIST, -ENOSPC, -ENAMETOOLONG, -ENOTDIR, -ENOENT (parent removed), -EMLINK.
 */
int op_mknod(const struct op_ctx *c, uint64_t parent, const char *name,
	     size_t len, uint32_t mode, uint32_t rdev, struct op_entry *e);
int op_mkdir(const struct op_ctx *c, uint64_t parent, const char *name,
	     size_t len, uint32_t mode, struct op_entry *e);
/* target of 1..4095 bytes */
int op_symlink(const struct op_ctx *c, uint64_t parent, const char *name,
	       size_t len, const char *target, size_t tlen, struct op_entry *e);
int op_link(const struct op_ctx *c, uint64_t nodeid, uint64_t parent,
	    const char *name, size_t len, struct op_entry *e);
/* An unnamed file on the orphan list (O_TMPFILE); op_link gives it a name. */
int op_tmpfile(const struct op_ctx *c, uint64_t parent, uint32_t mode,
	       struct op_entry *e);
int op_unlink(const struct op_ctx *c, uint64_t parent, const char *name, size_t len);
int op_rmdir(const struct op_ctx *c, uint64_t parent, const char *name, size_t len);
/* flags: RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT (linux/fs.h). */
int op_rename(const struct op_ctx *c, uint64_t parent, const char *name,
	      size_t len, uint64_t newparent, const char *newname,
	      size_t newlen, uint32_t flags);

struct op_dirent {
	uint64_t ino, off;	/* off: pass it to op_readdir to go on behind */
	const char *name;
	size_t len;
	uint32_t type;		/* DT_* */
};
/* Return false to stop before this entry (it did not fit). With plus, e is
 * filled for every name but "." and ".." and a lookup counted *iff* the
 * callback returns true. An inode that
 * cannot be read has e->nodeid 0 (and no lookup): the name is
 * listed all the same. */
typedef bool (*op_dirent_fn)(void *arg, const struct op_dirent *d,
			     const struct op_entry *e);
/* Names behind off (0: from the start), "." and ".." first. Stable: a name
 * that is there all the time is reported exactly once. */
int op_readdir(const struct op_ctx *c, uint64_t nodeid, uint64_t off,
	       bool plus, op_dirent_fn fn, void *arg);

/* ---- files ------------------------------------------------------------- */

/* Keeps an inode from being freed; -EISDIR, -EROFS, -ETXTBSY are the kernel's.
 * flags are open(2)'s; O_TRUNC is honoured (atomic_o_trunc), and clears
 * suid/sgid when OP_OPEN_KILL_PRIV is or'ed in. -EPERM: for writing, and the
 * file is immutable, or append-only and not opened with O_APPEND. */
#define OP_OPEN_KILL_PRIV	0x80000000u
int op_open(const struct op_ctx *c, uint64_t nodeid, uint32_t flags);
void op_release(struct fs *fs, uint64_t nodeid);

/*
 * Read without copying: op_read fills up to *nr pieces (in: room, out: used)
 * that point into the pool, or at a block of zeros for holes, and holds the
 * inode shared until op_read_done(). *got is the bytes covered: less than len
 * at the end of the file, or when the pieces ran out.
 * op_read_done() returns -EIO if the medium faulted in between: the bytes
 * must then not be given to anyone.
 */
struct op_piece { const void *base; size_t len; };
struct op_read { struct inode *ip; uint64_t mark; };
int op_read(const struct op_ctx *c, uint64_t nodeid, uint64_t pos, size_t len,
	    struct op_piece *piece, unsigned *nr, size_t *got,
	    struct op_read *r);
int op_read_done(const struct op_ctx *c, struct op_read *r);
/* Copying variant, for tests and callers without iovecs. */
int op_pread(const struct op_ctx *c, uint64_t nodeid, void *buf, size_t len,
	     uint64_t pos, size_t *got);

#define OP_WRITE_KILL_PRIV	0x1u	/* clear suid/sgid first */
#define OP_WRITE_CACHE		0x4u	/* pages that the cache has accepted before */
#define OP_WRITE_KEEP_TIMES	0x8u	/* the kernel will tell them (OP_SET_CACHE) */
#define OP_WRITE_MAX		(1u << 20) /* what one record can always take (L17) */
/*
 * Writes p (its length says how much). *done < length only when space ran
 * out in the middle. -EFBIG, -ENOSPC, -EPERM (immutable, and not from the
 * cache), -EINVAL (not a file).
 *
 * data=atomic: all or nothing, after a crash as well. *done < length only
 * where the largest size of a file cuts it; -ENOSPC also for an overwrite; more
 * than OP_WRITE_MAX is -EINVAL.
 */
int op_write(const struct op_ctx *c, uint64_t nodeid, uint64_t pos,
	     struct payload *p, uint32_t flags, size_t *done);
/*
 * Bytes [from, from + len) of one file to another one, or to the same where
 * the ranges do not overlap. *done: how many; 0 at the end of the source, less
 * than len at any time; each of them is durable. flags: OP_WRITE_KILL_PRIV.
 * -EINVAL: overlap, not a file; -EISDIR; -EFBIG, -ENOSPC, -EPERM.
 */
int op_copy_range(const struct op_ctx *c, uint64_t from_node, uint64_t from,
		  uint64_t to_node, uint64_t to, uint64_t len, uint32_t flags,
		  uint64_t *done);
/*
 * Reserve len bytes of free blocks in one run to receive payloads into, in DRAM
 * only. False: there is little space left, or none in one run; do without.
 */
bool op_land_get(struct fs *fs, uint64_t len, struct landing *l);
/*
 * The same for a write of len bytes, OP_WRITE_MAX at most, that is known already: near
 * what comes before it in the file, l->off where its first byte has to be. The
 * blocks then also replace what the file has there.
 */
bool op_land_for(const struct op_ctx *c, uint64_t nodeid, uint64_t pos, uint64_t len,
		 struct landing *l);
/* Give back what op_write() has not taken of it. */
void op_land_put(struct fs *fs, struct landing *l);
/* mode: 0 or FALLOC_FL_KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE; -EOPNOTSUPP. */
int op_fallocate(const struct op_ctx *c, uint64_t nodeid, uint64_t pos,
		 uint64_t len, uint32_t mode);
/* whence SEEK_DATA or SEEK_HOLE; -ENXIO. */
int op_lseek(const struct op_ctx *c, uint64_t nodeid, uint64_t pos,
	     int whence, uint64_t *out);
/* Everything acknowledged is durable already; writes batched atimes. */
int op_fsync(const struct op_ctx *c, uint64_t nodeid);
int op_syncfs(struct fs *fs);

struct op_statfs {
	uint64_t blocks, bfree, bavail, files, ffree;
	uint32_t bsize, namelen;
};
int op_statfs(const struct op_ctx *c, struct op_statfs *st);

/* ---- extended attributes ------------------------------------------------ */

/*
 * flags: XATTR_CREATE, XATTR_REPLACE. -EEXIST, -ENODATA, -E2BIG, -ENOSPC,
 * -ERANGE (name over 255 bytes).
 * An access control list (system.posix_acl_*) is checked, and the mode follows
 * it; -EINVAL, -EACCES, -EOPNOTSUPP. OP_XATTR_KILL_SGID: who sets it is not in
 * the file's group, so that the file shall not be setgid.
 */
#define OP_XATTR_KILL_SGID	0x80000000u
int op_setxattr(const struct op_ctx *c, uint64_t nodeid, const char *name,
		const void *value, size_t size, uint32_t flags);
/* size 0 asks for the length; -ERANGE when it does not fit; -ENODATA. */
int op_getxattr(const struct op_ctx *c, uint64_t nodeid, const char *name,
		void *value, size_t size, size_t *out);
int op_listxattr(const struct op_ctx *c, uint64_t nodeid, char *list,
		 size_t size, size_t *out);
int op_removexattr(const struct op_ctx *c, uint64_t nodeid, const char *name);

#endif
