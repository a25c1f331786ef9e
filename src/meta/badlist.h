/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * badlist.h - bad memory that the pool itself remembers
 *
 * The kernel's list ends with the machine's memory of it: a pool that is
 * copied, or a device that was moved, has none, and a page that only a fault
 * told of never was on it. So blocks that are bad and belong to nobody are
 * put on a list in the pool, and are used from then on, by the list.
 */
#ifndef META_BADLIST_H
#define META_BADLIST_H

#include "meta/fs.h"

/* What is wrong with one block of the list; NULL: nothing. */
const char *badlist_check(const struct pmemfs_badblocks *b, uint64_t off);

/*
 * Put on the list what is known to be bad and free; *blocks (may be NULL) says
 * how many blocks that were. Callers exclude each other: the background
 * thread, and after it who closes the pool. 0 also if the list is full; the
 * error of txn_commit() or -EUCLEAN otherwise. What could not be put there is
 * kept from use until the next mount.
 */
int badlist_record(struct fs *fs, uint64_t *blocks);

/*
 * Take off the list, and free, every run of it that can be read (again);
 * *blocks says how many blocks that were. For fsck, alone with the pool.
 */
int badlist_review(struct fs *fs, uint64_t *blocks);

#endif
