/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_proto.c - our wire structures are the kernel's
 *
 * The numbers are those of the ABI, counted from the kernel's definitions and
 * not from ours: every message of a supported protocol has the size the
 * kernel checks for, and the fields lie where it puts them.
 */
#include "fuse/proto.h"

#include <string.h>

#include "support/check_main.h"

#define SIZE(s, n)	{ #s, sizeof(struct s), n }
#define AT(s, f, n)	{ #s "." #f, offsetof(struct s, f), n }

static const struct { const char *what; size_t is, want; } layout[] = {
	SIZE(fuse_in_header, 40), SIZE(fuse_out_header, 16),
	AT(fuse_in_header, unique, 8), AT(fuse_in_header, nodeid, 16),
	AT(fuse_in_header, uid, 24), AT(fuse_in_header, pid, 32),
	AT(fuse_in_header, total_extlen, 36),
	AT(fuse_out_header, error, 4), AT(fuse_out_header, unique, 8),

	SIZE(fuse_init_in, 64), AT(fuse_init_in, flags2, FUSE_INIT_IN_OLD),
	SIZE(fuse_init_out, 64), AT(fuse_init_out, flags, 12),
	AT(fuse_init_out, max_background, 16),
	AT(fuse_init_out, congestion_threshold, 18),
	AT(fuse_init_out, max_write, 20), AT(fuse_init_out, time_gran, 24),
	AT(fuse_init_out, max_pages, 28), AT(fuse_init_out, flags2, 32),
	AT(fuse_init_out, max_stack_depth, 36),
	AT(fuse_init_out, request_timeout, 40),

	SIZE(fuse_attr, 88), AT(fuse_attr, atime, 24),
	AT(fuse_attr, atimensec, 48), AT(fuse_attr, mode, 60),
	AT(fuse_attr, rdev, 76), AT(fuse_attr, blksize, 80),
	AT(fuse_attr, flags, 84),
	SIZE(fuse_entry_out, 128), AT(fuse_entry_out, entry_valid, 16),
	AT(fuse_entry_out, attr_valid, 24), AT(fuse_entry_out, attr, 40),
	SIZE(fuse_attr_out, 104), AT(fuse_attr_out, attr, 16),
	SIZE(fuse_getattr_in, 16),
	SIZE(fuse_setattr_in, 88), AT(fuse_setattr_in, size, 16),
	AT(fuse_setattr_in, atime, 32), AT(fuse_setattr_in, atimensec, 56),
	AT(fuse_setattr_in, mode, 68), AT(fuse_setattr_in, uid, 76),
	SIZE(fuse_sx_time, 16), SIZE(fuse_statx, 256),
	AT(fuse_statx, mode, 28), AT(fuse_statx, ino, 32),
	AT(fuse_statx, attributes_mask, 56), AT(fuse_statx, atime, 64),
	AT(fuse_statx, btime, 80), AT(fuse_statx, ctime, 96),
	AT(fuse_statx, mtime, 112), AT(fuse_statx, rdev_major, 128),
	SIZE(fuse_statx_in, 24), SIZE(fuse_statx_out, 288),
	AT(fuse_statx_out, stat, 32),
	SIZE(fuse_statfs_out, 80), AT(fuse_statfs_out, bsize, 40),
	AT(fuse_statfs_out, frsize, 48),

	SIZE(fuse_ioctl_in, 32), AT(fuse_ioctl_in, cmd, 12),
	AT(fuse_ioctl_in, arg, 16), AT(fuse_ioctl_in, out_size, 28),
	SIZE(fuse_ioctl_out, 16),

	SIZE(fuse_forget_in, 8), SIZE(fuse_forget_one, 16),
	SIZE(fuse_batch_forget_in, 8), SIZE(fuse_mknod_in, 16),
	SIZE(fuse_mkdir_in, 8), SIZE(fuse_rename_in, 8),
	SIZE(fuse_rename2_in, 16), SIZE(fuse_link_in, 8),
	AT(fuse_dirent, namelen, 16), AT(fuse_dirent, name, 24),

	SIZE(fuse_open_in, 8), SIZE(fuse_create_in, 16),
	AT(fuse_create_in, open_flags, 12),
	SIZE(fuse_open_out, 16), AT(fuse_open_out, open_flags, 8),
	SIZE(fuse_release_in, 24), SIZE(fuse_read_in, 40),
	AT(fuse_read_in, size, 16), SIZE(fuse_write_in, 40),
	AT(fuse_write_in, offset, 8), AT(fuse_write_in, size, 16),
	AT(fuse_write_in, write_flags, 20), SIZE(fuse_write_out, 8),
	SIZE(fuse_fallocate_in, 32), AT(fuse_fallocate_in, mode, 24),
	SIZE(fuse_lseek_in, 24), AT(fuse_lseek_in, whence, 16),
	SIZE(fuse_copy_file_range_in, 56), AT(fuse_copy_file_range_in, len, 40),
	SIZE(fuse_copy_file_range_out, 8),
	SIZE(fuse_lseek_out, 8), SIZE(fuse_syncfs_in, 8),
	SIZE(fuse_interrupt_in, 8),

	SIZE(fuse_setxattr_in, 16), SIZE(fuse_getxattr_in, 8),
	SIZE(fuse_getxattr_out, 8), SIZE(fuse_notify_inval_inode_out, 24),

	SIZE(fuse_uring_ent_in_out, 32), SIZE(fuse_uring_req_header, 288),
	AT(fuse_uring_req_header, op_in, 128),
	AT(fuse_uring_req_header, ring_ent_in_out, 256),
	AT(fuse_uring_ent_in_out, commit_id, 8),
	AT(fuse_uring_ent_in_out, payload_sz, 16),
	SIZE(fuse_uring_cmd_req, 24), AT(fuse_uring_cmd_req, commit_id, 8),
	AT(fuse_uring_cmd_req, qid, 16),
};

START_TEST(sizes_and_offsets)
{
	for (size_t i = 0; i < sizeof(layout) / sizeof(layout[0]); i++)
		ck_assert_msg(layout[i].is == layout[i].want,
			      "%s is %zu, the kernel's is %zu", layout[i].what,
			      layout[i].is, layout[i].want);
}
END_TEST

/* A gap in the numbering is a number of the kernel's that we do not use. */
START_TEST(opcodes)
{
	static const struct { int is, want; } op[] = {
		{ FUSE_LOOKUP, 1 }, { FUSE_MKNOD, 8 }, { FUSE_STATFS, 17 },
		{ FUSE_FSYNC, 20 }, { FUSE_INIT, 26 }, { FUSE_ACCESS, 34 },
		{ FUSE_DESTROY, 38 }, { FUSE_BATCH_FORGET, 42 },
		{ FUSE_READDIRPLUS, 44 }, { FUSE_COPY_FILE_RANGE, 47 },
		{ FUSE_SYNCFS, 50 }, { FUSE_STATX, 52 },
		{ FUSE_COPY_FILE_RANGE_64, 53 },
	};

	for (size_t i = 0; i < sizeof(op) / sizeof(op[0]); i++)
		ck_assert_int_eq(op[i].is, op[i].want);
}
END_TEST

/* The data of a WRITE begin 80 bytes into the request (transport_dev.c). */
START_TEST(write_head)
{
	ck_assert_uint_eq(sizeof(struct fuse_in_header) +
			  sizeof(struct fuse_write_in), 80);
}
END_TEST

/* Both halves of the flags: what is sent in flags2 lies above bit 31. */
START_TEST(init_flags)
{
	ck_assert(FUSE_INIT_EXT == 1ull << 30);
	ck_assert(FUSE_HANDLE_KILLPRIV_V2 == 1ull << 28);
	ck_assert(FUSE_DIRECT_IO_ALLOW_MMAP >> 32 == 1u << 4);
	ck_assert(FUSE_OVER_IO_URING >> 32 == 1u << 9);
}
END_TEST

CHECK_MAIN("proto", sizes_and_offsets, opcodes, write_head, init_flags)
