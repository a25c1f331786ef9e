/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify.h - walk everything, report what is wrong
 *
 * The oracle of fsck.pmemfs and of the crash tests. Changes nothing. Trusts
 * nothing: every value is checked before it is used. Memory: a bit per block of
 * each group in use, 16 bytes per inode. Runs after replay (on an opened struct fs).
 */
#ifndef META_VERIFY_H
#define META_VERIFY_H

#include "meta/fs.h"

enum verify_kind {		/* stable numbers: fsck prints them */
	VERIFY_SUPER = 1,	/* a superblock copy is bad or differs */
	VERIFY_SLOT = 2,	/* a checkpoint slot is bad, or its totals are wrong */
	VERIFY_GROUP = 3,	/* group descriptor against bitmap */
	VERIFY_LEAK = 4,	/* block marked used, owned by nobody */
	VERIFY_UNMARKED = 5,	/* block owned, marked free */
	VERIFY_DOUBLE = 6,	/* block owned twice */
	VERIFY_INODE = 7,	/* inode: checksum or a field out of range */
	VERIFY_IMAP = 8,	/* chunk header against inodes */
	VERIFY_EXTENT = 9,	/* extent out of range, overlapping, unsorted */
	VERIFY_NODE = 10,	/* tree node: checksum, order, level, owner */
	VERIFY_DIRENT = 11,	/* entry: bad name, bad hash, points nowhere, wrong type */
	VERIFY_LINKS = 12,	/* link count differs from the names found */
	VERIFY_UNREACHABLE = 13,/* inode in use that no name and no list knows */
	VERIFY_SIZE = 14,	/* size or block count differs from what is there */
	VERIFY_DIRTREE = 15,	/* "..": wrong, a cycle, two parents */
	VERIFY_ORPHAN = 16,	/* orphan list: broken link, linked inode on it */
	VERIFY_XATTR = 17,	/* xattr item or its value's checksum */
	VERIFY_LOG = 18,	/* the log cannot be replayed */
	VERIFY_MEDIUM = 19,	/* memory of the pool cannot be read */
};
/* A short word for a kind, "leak" for VERIFY_LEAK; "?" for an unknown one. */
const char *verify_kind_name(enum verify_kind kind);

struct verify_problem {
	enum verify_kind kind;
	uint64_t ino;		/* 0: none */
	uint64_t off;		/* pool offset, 0: none */
	const char *text;	/* one sentence */
};

struct verify_result {
	uint64_t problems;
	uint64_t inodes, dirs, files, symlinks, others, orphans;
	uint64_t blocks_used, blocks_free, extents, nodes;
};

typedef void (*verify_fn)(void *arg, const struct verify_problem *p);
/* progress: called now and then with 0..1000, may be NULL. 0 or -ENOMEM. */
int verify_fs(struct fs *fs, verify_fn fn, void *arg,
	      void (*progress)(void *arg, unsigned permille),
	      struct verify_result *res);

#endif
