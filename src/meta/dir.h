/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir.h - names to inode numbers
 *
 * "." and ".." are not stored. Callers hold the directory's lock; changes go
 * through the directory's shadow in t (size, blocks, root; not its times).
 * name is len bytes, 1..255, checked by dir_name_ok().
 */
#ifndef META_DIR_H
#define META_DIR_H

#include "meta/inode.h"

/* 0; -ENAMETOOLONG over 255; -EINVAL empty, "." or "..", '/' or NUL inside. */
int dir_name_ok(const char *name, size_t len);

struct dirent_ref {
	uint64_t key, ino;
	uint32_t type;			/* DT_* */
};

int dir_find(struct txn *t, const struct inode *dir, const char *name,
	     size_t len, struct dirent_ref *out);	/* -ENOENT */
int dir_insert(struct txn *t, struct inode *dir, const char *name, size_t len,
	       uint64_t ino, uint32_t type);		/* -EEXIST, -ENOSPC */
int dir_remove(struct txn *t, struct inode *dir, const struct dirent_ref *ref);
int dir_replace(struct txn *t, struct inode *dir, const struct dirent_ref *ref,
		uint64_t ino, uint32_t type);
bool dir_is_empty(struct txn *t, const struct inode *dir);

struct dir_entry {
	uint64_t key, ino;
	uint32_t type;
	const char *name;		/* into the pool */
	size_t len;
};
/* First entry with key > after. -ENOENT at the end. */
int dir_next(const struct inode *dir, uint64_t after, struct dir_entry *e);

static inline uint32_t dtype_of(uint32_t mode) { return (mode & 0170000) >> 12; }

#endif
