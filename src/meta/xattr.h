/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattr.h - extended attributes of an inode, by full name
 *
 * Callers hold the inode's lock. Large values live in blocks of their own,
 * written and durable before the record that points at them (two fences).
 */
#ifndef META_XATTR_H
#define META_XATTR_H

#include "meta/inode.h"

/* *size in: room (0: only ask), out: the value's size. -ENODATA, -ERANGE,
 * -EIO (the value's checksum). */
int xattr_get(const struct inode *ip, const char *name, void *buf, size_t *size);
/* Names, NUL-terminated, one after the other. */
int xattr_list(const struct inode *ip, char *buf, size_t *size);
/* In t, with the inode's shadow; ip may be new in t. flags XATTR_CREATE/XATTR_REPLACE. */
int xattr_set(struct txn *t, struct inode *ip, const char *name,
	      const void *val, size_t size, int flags);
int xattr_remove(struct txn *t, struct inode *ip, const char *name);
/* Remove some attribute: 1 there was one, 0 none left (eviction, bounded). */
int xattr_remove_any(struct txn *t, struct inode *ip);

#endif
