/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proto.h - what the kernel and this daemon say to each other
 *
 * The FUSE wire format, protocol 7.31 to 7.45, written down from the
 * kernel's ABI. We keep our own copy because the one that a distribution
 * installs (Debian 12: 7.38) lacks what newer kernels send, and a daemon
 * should not lose features to the age of its build machine. The names are
 * the kernel's, so do not include this next to the system's header or to
 * fuse_lowlevel.h.
 *
 * Every structure is a multiple of 8 bytes and has no hidden padding;
 * tests/unit/t_proto.c checks sizes and offsets. Integers are of the
 * machine's byte order. Only what pmemfs uses is here.
 */
#ifndef FUSE_PROTO_H
#define FUSE_PROTO_H

#include <stddef.h>
#include <stdint.h>

#define FUSE_KERNEL_VERSION		7
#define FUSE_KERNEL_MINOR_VERSION	45	/* what we know */
#define FUSE_OLDEST_MINOR		31	/* Linux 5.4 */
#define FUSE_ROOT_ID			1
#define FUSE_MIN_READ_BUFFER		8192
/* ioctl(2) of a fresh /dev/fuse: one more of the mount whose descriptor it is given */
#define FUSE_DEV_IOC_CLONE		0x8004e500u

enum fuse_opcode {
	FUSE_LOOKUP = 1, FUSE_FORGET = 2, FUSE_GETATTR = 3, FUSE_SETATTR = 4,
	FUSE_READLINK = 5, FUSE_SYMLINK = 6, FUSE_MKNOD = 8, FUSE_MKDIR = 9,
	FUSE_UNLINK = 10, FUSE_RMDIR = 11, FUSE_RENAME = 12, FUSE_LINK = 13,
	FUSE_OPEN = 14, FUSE_READ = 15, FUSE_WRITE = 16, FUSE_STATFS = 17,
	FUSE_RELEASE = 18, FUSE_FSYNC = 20, FUSE_SETXATTR = 21,
	FUSE_GETXATTR = 22, FUSE_LISTXATTR = 23, FUSE_REMOVEXATTR = 24,
	FUSE_FLUSH = 25, FUSE_INIT = 26, FUSE_OPENDIR = 27, FUSE_READDIR = 28,
	FUSE_RELEASEDIR = 29, FUSE_FSYNCDIR = 30, FUSE_GETLK = 31,
	FUSE_SETLK = 32, FUSE_SETLKW = 33, FUSE_ACCESS = 34, FUSE_CREATE = 35,
	FUSE_INTERRUPT = 36, FUSE_BMAP = 37, FUSE_DESTROY = 38,
	FUSE_IOCTL = 39, FUSE_POLL = 40, FUSE_NOTIFY_REPLY = 41,
	FUSE_BATCH_FORGET = 42, FUSE_FALLOCATE = 43, FUSE_READDIRPLUS = 44,
	FUSE_RENAME2 = 45, FUSE_LSEEK = 46, FUSE_COPY_FILE_RANGE = 47,
	FUSE_SETUPMAPPING = 48, FUSE_REMOVEMAPPING = 49, FUSE_SYNCFS = 50,
	FUSE_TMPFILE = 51, FUSE_STATX = 52, FUSE_COPY_FILE_RANGE_64 = 53,
	FUSE_OPCODES
};

/* unsolicited messages: fuse_out_header.error holds the code, unique is 0 */
enum fuse_notify_code { FUSE_NOTIFY_INVAL_INODE = 2 };

/* ---- headers ----------------------------------------------------------- */

struct fuse_in_header {
	uint32_t len, opcode;
	uint64_t unique, nodeid;
	uint32_t uid, gid, pid;
	uint16_t total_extlen;		/* of extensions at the end, 8-byte units */
	uint16_t padding;
};

struct fuse_out_header {
	uint32_t len;
	int32_t error;			/* 0 or -errno, above -512 */
	uint64_t unique;
};

/* ---- INIT -------------------------------------------------------------- */

#define FUSE_ASYNC_READ			(1ull << 0)
#define FUSE_POSIX_LOCKS		(1ull << 1)
#define FUSE_ATOMIC_O_TRUNC		(1ull << 3)
#define FUSE_EXPORT_SUPPORT		(1ull << 4)
#define FUSE_BIG_WRITES			(1ull << 5)
#define FUSE_DONT_MASK			(1ull << 6)
#define FUSE_FLOCK_LOCKS		(1ull << 10)
#define FUSE_AUTO_INVAL_DATA		(1ull << 12)
#define FUSE_DO_READDIRPLUS		(1ull << 13)
#define FUSE_READDIRPLUS_AUTO		(1ull << 14)
#define FUSE_ASYNC_DIO			(1ull << 15)
#define FUSE_WRITEBACK_CACHE		(1ull << 16)
#define FUSE_NO_OPEN_SUPPORT		(1ull << 17)
#define FUSE_PARALLEL_DIROPS		(1ull << 18)
#define FUSE_HANDLE_KILLPRIV		(1ull << 19)
#define FUSE_POSIX_ACL			(1ull << 20)
#define FUSE_ABORT_ERROR		(1ull << 21)
#define FUSE_MAX_PAGES			(1ull << 22)
#define FUSE_CACHE_SYMLINKS		(1ull << 23)
#define FUSE_NO_OPENDIR_SUPPORT		(1ull << 24)
#define FUSE_EXPLICIT_INVAL_DATA	(1ull << 25)
#define FUSE_HANDLE_KILLPRIV_V2		(1ull << 28)
#define FUSE_SETXATTR_EXT		(1ull << 29)
#define FUSE_INIT_EXT			(1ull << 30)
/* from here in flags2, shifted down by 32; valid with FUSE_INIT_EXT */
#define FUSE_DIRECT_IO_ALLOW_MMAP	(1ull << 36)
#define FUSE_PASSTHROUGH		(1ull << 37)
#define FUSE_ALLOW_IDMAP		(1ull << 40)
#define FUSE_OVER_IO_URING		(1ull << 41)

struct fuse_init_in {
	uint32_t major, minor, max_readahead, flags;
	uint32_t flags2, unused[11];	/* since 7.36 */
};
#define FUSE_INIT_IN_OLD		16	/* bytes before flags2 */

struct fuse_init_out {
	uint32_t major, minor, max_readahead, flags;
	uint16_t max_background, congestion_threshold;
	uint32_t max_write, time_gran;
	uint16_t max_pages, map_alignment;
	uint32_t flags2, max_stack_depth;
	uint16_t request_timeout, unused[11];
};

/* ---- attributes and entries -------------------------------------------- */

struct fuse_attr {
	uint64_t ino, size, blocks;	/* blocks of 512 */
	uint64_t atime, mtime, ctime;	/* two's complement */
	uint32_t atimensec, mtimensec, ctimensec;
	uint32_t mode, nlink, uid, gid, rdev, blksize, flags;
};

struct fuse_entry_out {
	uint64_t nodeid, generation;	/* nodeid 0: no such name, cached */
	uint64_t entry_valid, attr_valid;
	uint32_t entry_valid_nsec, attr_valid_nsec;
	struct fuse_attr attr;
};

struct fuse_attr_out {
	uint64_t attr_valid;
	uint32_t attr_valid_nsec, dummy;
	struct fuse_attr attr;
};

struct fuse_getattr_in {
	uint32_t getattr_flags, dummy;
	uint64_t fh;
};

#define FATTR_MODE		(1u << 0)
#define FATTR_UID		(1u << 1)
#define FATTR_GID		(1u << 2)
#define FATTR_SIZE		(1u << 3)
#define FATTR_ATIME		(1u << 4)
#define FATTR_MTIME		(1u << 5)
#define FATTR_ATIME_NOW		(1u << 7)
#define FATTR_MTIME_NOW		(1u << 8)
#define FATTR_CTIME		(1u << 10)
#define FATTR_KILL_SUIDGID	(1u << 11)

struct fuse_setattr_in {
	uint32_t valid, padding;
	uint64_t fh, size, lock_owner;
	uint64_t atime, mtime, ctime;
	uint32_t atimensec, mtimensec, ctimensec;
	uint32_t mode, unused4, uid, gid, unused5;
};

struct fuse_sx_time {
	int64_t tv_sec;
	uint32_t tv_nsec;
	int32_t reserved;
};

struct fuse_statx {			/* as struct statx of statx(2) */
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, spare0;
	uint64_t ino, size, blocks, attributes_mask;
	struct fuse_sx_time atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t spare2[14];
};

struct fuse_statx_in {
	uint32_t getattr_flags, reserved;
	uint64_t fh;
	uint32_t sx_flags, sx_mask;
};

struct fuse_statx_out {
	uint64_t attr_valid;
	uint32_t attr_valid_nsec, flags;
	uint64_t spare[2];
	struct fuse_statx stat;
};

struct fuse_statfs_out {
	uint64_t blocks, bfree, bavail, files, ffree;
	uint32_t bsize, namelen, frsize, padding, spare[6];
};

/* ---- names ------------------------------------------------------------- */

struct fuse_forget_in { uint64_t nlookup; };
struct fuse_forget_one { uint64_t nodeid, nlookup; };
struct fuse_batch_forget_in { uint32_t count, dummy; };
struct fuse_mknod_in { uint32_t mode, rdev, umask, padding; };
struct fuse_mkdir_in { uint32_t mode, umask; };
struct fuse_rename_in { uint64_t newdir; };
struct fuse_rename2_in { uint64_t newdir; uint32_t flags, padding; };
struct fuse_link_in { uint64_t oldnodeid; };

struct fuse_dirent {			/* padded to 8 bytes, name included */
	uint64_t ino, off;
	uint32_t namelen, type;
	char name[];
};
#define FUSE_DIRENT_HEAD	offsetof(struct fuse_dirent, name)

/* ---- files ------------------------------------------------------------- */

#define FOPEN_DIRECT_IO			(1u << 0)
#define FOPEN_KEEP_CACHE		(1u << 1)
#define FOPEN_CACHE_DIR			(1u << 3)
#define FOPEN_NOFLUSH			(1u << 5)
#define FOPEN_PARALLEL_DIRECT_WRITES	(1u << 6)

#define FUSE_OPEN_KILL_SUIDGID		(1u << 0)	/* open_flags */
#define FUSE_WRITE_CACHE		(1u << 0)	/* write_flags */
#define FUSE_WRITE_KILL_SUIDGID		(1u << 2)

struct fuse_open_in { uint32_t flags, open_flags; };
struct fuse_create_in { uint32_t flags, mode, umask, open_flags; };
struct fuse_open_out {
	uint64_t fh;
	uint32_t open_flags;
	int32_t backing_id;
};
struct fuse_release_in {
	uint64_t fh;
	uint32_t flags, release_flags;
	uint64_t lock_owner;
};
struct fuse_read_in {			/* READDIR too */
	uint64_t fh, offset;
	uint32_t size, read_flags;
	uint64_t lock_owner;
	uint32_t flags, padding;
};
struct fuse_write_in {
	uint64_t fh, offset;
	uint32_t size, write_flags;
	uint64_t lock_owner;
	uint32_t flags, padding;
};
struct fuse_write_out { uint32_t size, padding; };
struct fuse_fallocate_in {
	uint64_t fh, offset, length;
	uint32_t mode, padding;
};
struct fuse_lseek_in {
	uint64_t fh, offset;
	uint32_t whence, padding;
};
struct fuse_lseek_out { uint64_t offset; };
struct fuse_copy_file_range_in {
	uint64_t fh_in, off_in;
	uint64_t nodeid_out, fh_out, off_out;
	uint64_t len, flags;
};
struct fuse_copy_file_range_out { uint64_t bytes_copied; };	/* opcode 53 */
struct fuse_syncfs_in { uint64_t padding; };
struct fuse_interrupt_in { uint64_t unique; };

/* ---- ioctl -------------------------------------------------------------- */

struct fuse_ioctl_in {			/* in_size bytes of input follow */
	uint64_t fh;
	uint32_t flags, cmd;
	uint64_t arg;
	uint32_t in_size, out_size;	/* out_size: room for output */
};
struct fuse_ioctl_out {			/* output follows */
	int32_t result;
	uint32_t flags, in_iovs, out_iovs;
};

/* ---- extended attributes ------------------------------------------------ */

struct fuse_setxattr_in {
	uint32_t size, flags;
	uint32_t setxattr_flags, padding;	/* with FUSE_SETXATTR_EXT */
};
#define FUSE_SETXATTR_IN_OLD		8	/* bytes without */
#define FUSE_SETXATTR_ACL_KILL_SGID	(1u << 0)
struct fuse_getxattr_in { uint32_t size, padding; };	/* LISTXATTR too */
struct fuse_getxattr_out { uint32_t size, padding; };

/* ---- notifications ------------------------------------------------------ */

struct fuse_notify_inval_inode_out {
	uint64_t ino;
	int64_t off;			/* negative: attributes only */
	int64_t len;
};

/* ---- io_uring (Linux 6.14, protocol 7.42; fs/fuse/dev_uring.c) ----------- */

#define FUSE_URING_HEAD_SIZE		128	/* of in_out, and of op_in */

enum fuse_uring_cmd { FUSE_IO_URING_CMD_REGISTER = 1,
		      FUSE_IO_URING_CMD_COMMIT_AND_FETCH = 2 };

struct fuse_uring_ent_in_out {
	uint64_t flags, commit_id;	/* commit_id: to be given back */
	uint32_t payload_sz, padding;
	uint64_t reserved;
};
struct fuse_uring_req_header {		/* one buffer of an entry */
	uint8_t in_out[FUSE_URING_HEAD_SIZE];	/* fuse_in_header, then fuse_out_header */
	uint8_t op_in[FUSE_URING_HEAD_SIZE];	/* fixed arguments of the opcode */
	struct fuse_uring_ent_in_out ring_ent_in_out;
};
struct fuse_uring_cmd_req {		/* in the 80 bytes of a large SQE */
	uint64_t flags, commit_id;
	uint16_t qid, padding[3];
};

_Static_assert(sizeof(struct fuse_in_header) == 40, "wire");
_Static_assert(sizeof(struct fuse_out_header) == 16, "wire");
_Static_assert(sizeof(struct fuse_init_in) == 64, "wire");
_Static_assert(sizeof(struct fuse_init_out) == 64, "wire");
_Static_assert(sizeof(struct fuse_attr) == 88, "wire");
_Static_assert(sizeof(struct fuse_entry_out) == 128, "wire");
_Static_assert(sizeof(struct fuse_setattr_in) == 88, "wire");
_Static_assert(sizeof(struct fuse_statx) == 256, "wire");
_Static_assert(sizeof(struct fuse_write_in) == 40, "wire");
_Static_assert(sizeof(struct fuse_ioctl_in) == 32, "wire");
_Static_assert(sizeof(struct fuse_ioctl_out) == 16, "wire");
_Static_assert(FUSE_DIRENT_HEAD == 24, "wire");
_Static_assert(sizeof(struct fuse_uring_req_header) == 288, "wire");
_Static_assert(sizeof(struct fuse_uring_cmd_req) == 24, "wire");

#endif
