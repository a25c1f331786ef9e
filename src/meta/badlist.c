/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * badlist.c - bad memory that the pool itself remembers
 *
 *   B1  A run goes onto the list and becomes used in one record, and leaves
 *       both in one: after a crash it is the list's, or free, and never used
 *       by nobody.
 *   B2  Only what was free gets there: a bad block in a file is the file's
 *       until that is removed.
 *   B3  Nothing gets there from a pool with holes: where the filesystem below
 *       is full a store to a hole fails like one to bad memory, and that
 *       passes.
 *
 * The daemon fills the first block of the list and no further one: memory
 * with more than 254 bad runs is to be replaced, not to be remembered.
 */
#include "meta/badlist.h"

#include <errno.h>
#include <string.h>

#include "base/crc32c.h"
#include "meta/txn.h"

#define LIST_OFF	blk_off(PMEMFS_BLK_BADBLOCKS)

const char *badlist_check(const struct pmemfs_badblocks *b, uint64_t off)
{
	if (get32(b->magic) != PMEMFS_BAD_MAGIC)
		return "is not one";
	if (get32(b->crc) != seal_crc(b, sizeof(*b), off))
		return "has a wrong checksum";
	if (get32(b->nr) > PMEMFS_BAD_MAX || get32(b->zero0) ||
	    !all_zero(b->zero1, sizeof(b->zero1)))
		return "has fields out of range";
	return NULL;
}

/* The first block of the list, if it is good. */
static const struct pmemfs_badblocks *list_get(struct fs *fs)
{
	const struct pmemfs_badblocks *b = pm_at(fs->pm, LIST_OFF, sizeof(*b));
	const char *bad = badlist_check(b, LIST_OFF);

	if (!bad)
		return b;
	damaged(fs, LIST_OFF, "the list of bad blocks %s", bad);
	return NULL;
}

/* A transaction that changes the list; NULL: *err. */
static struct txn *list_edit(struct fs *fs, struct pmemfs_badblocks **b, int *err)
{
	struct txn *t;

	*err = -EUCLEAN;
	if (!list_get(fs))
		return NULL;
	*err = -ENOMEM;
	t = txn_begin(fs, PMEMFS_OP_REPAIR);
	if (!t)
		return NULL;
	*b = txn_edit(t, LIST_OFF, sizeof(**b));
	if (*b)
		return t;
	*err = txn_error(t);
	txn_abort(t);
	return NULL;
}

/* Behind a run that ends where r begins, or by itself; false: full. */
static bool add(struct pmemfs_badblocks *b, struct run r)
{
	unsigned i, nr = get32(b->nr);

	for (i = 0; i < nr; i++)
		if (get64(b->run[i].blk) + get64(b->run[i].len) == r.blk) {
			b->run[i].len = put64(get64(b->run[i].len) + r.len);
			return true;
		}
	if (nr == PMEMFS_BAD_MAX)
		return false;
	b->run[nr].blk = put64(r.blk);
	b->run[nr].len = put64(r.len);
	b->nr = put32(nr + 1);
	return true;
}

static int record_one(struct fs *fs, struct run r)
{
	struct pmemfs_badblocks *b;
	int err;
	struct txn *t = list_edit(fs, &b, &err);

	if (!t)
		return err;
	if (!add(b, r)) {
		txn_abort(t);
		return -ENOSPC;
	}
	err = txn_lend(t, TXN_DATA, r);
	if (err)
		txn_fail(t, err);
	return txn_commit(t);			/* B1 */
}

int badlist_record(struct fs *fs, uint64_t *blocks)
{
	struct run r;
	uint64_t n = 0;
	int err = 0;

	if (blocks)
		*blocks = 0;
	if (pm_has_holes(fs->pm) || fs->geo.sparse)
		return 0;			/* B3 */
	while (!err && alloc_held(fs, &r)) {
		err = record_one(fs, r);
		if (err)
			alloc_hold(fs, r);
		else
			n += r.len;
	}
	if (blocks)
		*blocks = n;
	return err == -ENOSPC ? 0 : err;
}

/* ---- what can be read again --------------------------------------------------- */

static bool is_known_bad(struct fs *fs, uint64_t off)
{
	unsigned n = pm_bad_count(fs->pm);

	for (unsigned i = 0; i < n; i++) {
		struct pm_range r = pm_bad(fs->pm, i);

		if (off >= r.off && off - r.off < r.len)
			return true;
	}
	return false;
}

static bool is_good(struct fs *fs, uint64_t blk)
{
	uint64_t mark = pm_fault_mark(fs->pm);
	bool faulted;

	if (is_known_bad(fs, blk_off(blk)))
		return false;
	pm_touch(pm_at(fs->pm, blk_off(blk), PMEMFS_BLOCK_SIZE), PMEMFS_BLOCK_SIZE);
	faulted = pm_faulted(fs->pm, mark);
	pm_fault_repair(fs->pm);
	return !faulted;
}

static bool is_good_run(struct fs *fs, struct run r)
{
	if (r.blk < fs->geo.data_blk || r.blk >= fs->geo.nr_blocks ||
	    r.len > fs->geo.nr_blocks - r.blk)
		return false;			/* another's matter */
	while (r.len--)
		if (!is_good(fs, r.blk + r.len))
			return false;
	return true;
}

static int forget_one(struct fs *fs, unsigned i, struct run r)
{
	struct pmemfs_badblocks *b;
	int err;
	struct txn *t = list_edit(fs, &b, &err);
	unsigned last;

	if (!t)
		return err;
	last = get32(b->nr) - 1;
	b->run[i] = b->run[last];
	memset(&b->run[last], 0, sizeof(b->run[last]));
	b->nr = put32(last);
	txn_free(t, TXN_DATA, r);
	return txn_commit(t);			/* B1 */
}

int badlist_review(struct fs *fs, uint64_t *blocks)
{
	const struct pmemfs_badblocks *b = list_get(fs);
	unsigned i = b ? get32(b->nr) : 0;
	int err = b ? 0 : -EUCLEAN;

	*blocks = 0;
	while (!err && i-- > 0) {
		struct run r = { get64(b->run[i].blk), get64(b->run[i].len) };

		if (!is_good_run(fs, r))
			continue;
		err = forget_one(fs, i, r);
		if (!err)
			*blocks += r.len;
	}
	return err;
}
