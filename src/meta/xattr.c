/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattr.c - extended attributes: a tree of names and values per inode
 *
 * A value of up to PMEMFS_XATTR_INLINE bytes lives in its item and costs one
 * fence like everything else. A larger one gets blocks of its own; they are
 * written, and durable, before the record that points at them (L5), and the
 * item keeps a checksum of the value.
 *
 * Refuses: names whose list would be longer than listxattr(2) can return
 * (-ENOSPC, as ext4), a 257th name with the same hash (-ENOSPC).
 */
#include "meta/xattr.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/xattr.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "meta/btree.h"
#include "meta/namekey.h"

#define LIST_MAX	65536u
#define MAX_RUNS	(PMEMFS_XATTR_MAX / PMEMFS_BLOCK_SIZE)
#define KEYS_PER_HASH	256u

/* An item, checked. */
struct attr {
	uint64_t key;
	const char *name;
	size_t name_len;
	uint32_t size, crc;
	const uint8_t *value;		/* inline, or NULL */
	unsigned nr_runs;
	struct run run[MAX_RUNS];
};

static struct tree tree_of(struct txn *t, const struct inode *ip)
{
	const struct pmemfs_inode *mi = t ? inode_view(t, ip) : inode_media(ip);

	return (struct tree){
		.fs = ip->fs, .t = t, .root = get64(mi->xattr),
		.owner = ip->ino, .kind = PMEMFS_TREE_XATTR,
	};
}

/* ---- reading an item ---------------------------------------------------------- */

static int bad_item(const struct inode *ip, const char *why)
{
	return damaged(ip->fs, ip->off, "inode %llu: an extended attribute %s",
		       (unsigned long long)ip->ino, why);
}

static bool run_ok(const struct geometry *geo, const struct run *r)
{
	return r->len && r->blk >= geo->data_blk && r->blk < geo->nr_blocks - 1 &&
	       r->len <= geo->nr_blocks - 1 - r->blk;
}

static int parse_runs(const struct inode *ip, const uint8_t *p, struct attr *a)
{
	uint64_t sum = 0, where;
	unsigned i;

	for (i = 0; i < a->nr_runs; i++, p += 8) {
		where = load64(p);
		a->run[i].blk = ext_blk(where);
		a->run[i].len = ext_len(where);
		if ((where & PMEMFS_EXT_FLAGS) || !run_ok(&ip->fs->geo, &a->run[i]))
			return bad_item(ip, "points outside the data area");
		sum += a->run[i].len;
	}
	return sum == bytes_blks(a->size) ? 0 : bad_item(ip, "has blocks missing");
}

static int parse(const struct inode *ip, const struct item *it, struct attr *a)
{
	struct pmemfs_xattr x;
	const uint8_t *rest;
	size_t left;

	if (it->len < PMEMFS_XATTR_HEAD)
		return bad_item(ip, "is too short");
	if (it->key > (PMEMFS_KEY_MASK | 0xff))
		return bad_item(ip, "has an impossible key");
	memcpy(&x, it->val, PMEMFS_XATTR_HEAD);
	*a = (struct attr){
		.key = it->key, .name_len = x.name_len, .nr_runs = x.nr_runs,
		.size = get32(x.size), .crc = get32(x.crc),
		.name = (const char *)it->val + PMEMFS_XATTR_HEAD,
	};
	if (a->name_len == 0 || a->name_len > it->len - PMEMFS_XATTR_HEAD ||
	    memchr(a->name, 0, a->name_len))
		return bad_item(ip, "has an impossible name");
	rest = it->val + PMEMFS_XATTR_HEAD + a->name_len;
	left = it->len - PMEMFS_XATTR_HEAD - a->name_len;
	if (a->size > PMEMFS_XATTR_MAX || a->nr_runs > MAX_RUNS ||
	    left != (a->nr_runs ? a->nr_runs * 8u : a->size))
		return bad_item(ip, "has an impossible size");
	if (a->nr_runs)
		return parse_runs(ip, rest, a);
	a->value = rest;
	return 0;
}

/*
 * Find a name. -ENODATA: *key is where it would be inserted, or 0 when all
 * keys of its hash are taken.
 */
static int find(struct tree *tr, const struct inode *ip, const char *name,
		struct attr *a, uint64_t *key)
{
	size_t len = strlen(name);
	uint64_t base = name_key(ip->fs->geo.seed, name, len), at = base;
	struct item it;
	int err;

	*key = 0;
	for (;;) {
		err = tree_ge(tr, at, &it);
		if (err && err != -ENOENT)
			return err;
		if (!*key && (err || it.key != at) && at < base + KEYS_PER_HASH)
			*key = at;		/* the first gap */
		if (err || it.key >= base + KEYS_PER_HASH)
			return -ENODATA;
		err = parse(ip, &it, a);
		if (err)
			return err;
		if (a->name_len == len && !memcmp(a->name, name, len))
			return 0;
		at = it.key + 1;
	}
}

/* ---- values ------------------------------------------------------------------- */

static int read_value(const struct inode *ip, const struct attr *a, uint8_t *buf)
{
	struct pm *pm = ip->fs->pm;
	size_t done = 0, n;
	unsigned i;

	if (a->value) {
		memcpy(buf, a->value, a->size);
		return 0;
	}
	for (i = 0; i < a->nr_runs; i++, done += n) {
		n = min64(blk_off(a->run[i].len), a->size - done);
		memcpy(buf + done, pm_at(pm, blk_off(a->run[i].blk), n), n);
	}
	if (crc32c(0, buf, a->size) == a->crc)
		return 0;
	log_err("inode %llu: an extended attribute's value has a wrong checksum (block %llu)",
		(unsigned long long)ip->ino, (unsigned long long)a->run[0].blk);
	return -EIO;
}

int xattr_get(const struct inode *ip, const char *name, void *buf, size_t *size)
{
	struct tree tr = tree_of(NULL, ip);
	size_t room = *size;
	struct attr a;
	uint64_t key;
	int err;

	if (!tr.root)
		return -ENODATA;
	err = find(&tr, ip, name, &a, &key);
	if (err)
		return err;
	*size = a.size;
	if (room == 0)
		return 0;
	return a.size > room ? -ERANGE : read_value(ip, &a, buf);
}

/* As the inode is in t, if there is one. */
static int list(struct txn *t, const struct inode *ip, char *buf, size_t *size)
{
	struct tree tr = tree_of(t, ip);
	size_t room = *size, len = 0;
	struct attr a = { .key = 0 };
	struct item it;
	int err = 0;

	while (tr.root && !(err = tree_ge(&tr, a.key + 1, &it))) {
		err = parse(ip, &it, &a);
		if (err)
			return err;
		if (room && len + a.name_len + 1 > room)
			return -ERANGE;
		if (room) {
			memcpy(buf + len, a.name, a.name_len);
			buf[len + a.name_len] = 0;
		}
		len += a.name_len + 1;
	}
	*size = len;
	return err == -ENOENT ? 0 : err;
}

int xattr_list(const struct inode *ip, char *buf, size_t *size)
{
	return list(NULL, ip, buf, size);
}

/* ---- changing ------------------------------------------------------------------- */

static int free_value(struct txn *t, const struct attr *a, int64_t *blocks)
{
	unsigned i;
	int err = 0;

	for (i = 0; i < a->nr_runs && !err; i++) {
		err = txn_free(t, TXN_DATA, a->run[i]);
		*blocks -= (int64_t)a->run[i].len;
	}
	return err;
}

/* Blocks for a large value, filled: flushed, and durable before the record. */
static int write_value(struct txn *t, const uint8_t *val, size_t size,
		       uint8_t *runs, uint8_t *nr)
{
	uint64_t left = bytes_blks(size);
	struct pm *pm = txn_fs(t)->pm;
	struct run r;
	size_t n;
	int err;

	for (*nr = 0; left; left -= r.len, runs += 8, ++*nr) {
		err = txn_alloc(t, TXN_DATA, 0, 0, left, 1, &r);
		if (err)
			return err;
		n = min64(blk_off(r.len), size);
		pm_copy(pm, blk_off(r.blk), val, n);	/* nobody reads the rest */
		val += n;
		size -= n;
		save64(runs, ext_where(r.blk, r.len));
	}
	txn_data_first(t);				/* L5 */
	return 0;
}

/* Build an item; its length or -errno. */
static int make_item(struct txn *t, const char *name, const void *val, size_t size,
		     uint8_t *item)
{
	struct pmemfs_xattr x = { .size = put32((uint32_t)size) };
	size_t len = PMEMFS_XATTR_HEAD + strlen(name);
	int err;

	x.name_len = (uint8_t)strlen(name);
	memcpy(item + PMEMFS_XATTR_HEAD, name, x.name_len);
	if (size <= PMEMFS_XATTR_INLINE) {
		if (size)
			memcpy(item + len, val, size);
		len += size;
	} else {
		err = write_value(t, val, size, item + len, &x.nr_runs);
		if (err)
			return err;
		x.crc = put32(crc32c(0, val, size));
		len += x.nr_runs * 8u;
	}
	memcpy(item, &x, PMEMFS_XATTR_HEAD);
	return (int)len;
}

static int list_has_room(struct txn *t, const struct inode *ip, const char *name)
{
	size_t size = 0;
	int err = list(t, ip, NULL, &size);

	if (!err && size + strlen(name) + 1 > LIST_MAX)
		err = -ENOSPC;
	return err;
}

/* The inode after the tree or the blocks of values changed. */
static int account(struct txn *t, struct inode *ip, const struct tree *tr, int64_t blocks)
{
	struct pmemfs_inode *mi = inode_edit(t, ip);

	if (!mi)
		return txn_error(t);
	mi->xattr = put64(tr->root);
	mi->blocks = put64(get64(mi->blocks) + (uint64_t)(tr->dblocks + blocks));
	return 0;
}

int xattr_set(struct txn *t, struct inode *ip, const char *name,
	      const void *val, size_t size, int flags)
{
	uint8_t item[PMEMFS_XATTR_HEAD + PMEMFS_NAME_MAX + PMEMFS_XATTR_INLINE];
	struct tree tr = tree_of(t, ip);
	int64_t blocks = 0;
	struct attr a;
	uint64_t key;
	int err, len;

	err = find(&tr, ip, name, &a, &key);
	if (err && err != -ENODATA)
		return err;
	if (!err && (flags & XATTR_CREATE))
		return -EEXIST;
	if (err && (flags & XATTR_REPLACE))
		return -ENODATA;
	if (err) {
		err = key ? list_has_room(t, ip, name) : -ENOSPC;
	} else {
		key = 0;			/* the old key stays */
		err = free_value(t, &a, &blocks);
	}
	if (err)
		return err;
	len = make_item(t, name, val, size, item);
	if (len < 0)
		return len;
	if (size > PMEMFS_XATTR_INLINE)
		blocks += (int64_t)bytes_blks(size);
	err = key ? tree_insert(&tr, key, item, (size_t)len) :
		    tree_replace(&tr, a.key, item, (size_t)len);
	return err ? err : account(t, ip, &tr, blocks);
}

static int remove_attr(struct txn *t, struct inode *ip, struct tree *tr,
		       const struct attr *a)
{
	int64_t blocks = 0;
	int err = free_value(t, a, &blocks);

	if (!err)
		err = tree_delete(tr, a->key);
	return err ? err : account(t, ip, tr, blocks);
}

int xattr_remove(struct txn *t, struct inode *ip, const char *name)
{
	struct tree tr = tree_of(t, ip);
	struct attr a;
	uint64_t key;
	int err = find(&tr, ip, name, &a, &key);

	return err ? err : remove_attr(t, ip, &tr, &a);
}

int xattr_remove_any(struct txn *t, struct inode *ip)
{
	struct tree tr = tree_of(t, ip);
	struct attr a;
	struct item it;
	int err;

	if (!tr.root)
		return 0;
	err = tree_ge(&tr, 0, &it);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = parse(ip, &it, &a);
	if (!err)
		err = remove_attr(t, ip, &tr, &a);
	return err ? err : 1;
}
