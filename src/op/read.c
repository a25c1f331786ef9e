/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read.c - where the bytes of a file are
 *
 * Nothing is copied: the caller gets pieces of the pool and sends them. The
 * inode stays locked, shared, until op_read_done(), so no writer changes and
 * nobody frees what the pieces point at (L3). Holes and unwritten extents are
 * pieces of an area of zeros. Bytes beyond the end of the file are undefined
 * on the medium (L5) and never handed out.
 */
#include <errno.h>
#include <linux/fs.h>

#include "op/op_i.h"

#define ZERO_AREA	65536u

static const uint8_t zero_area[ZERO_AREA];

/* One piece at pos, at most len bytes. */
static int piece_at(const struct inode *ip, uint64_t pos, size_t len,
		    struct op_piece *piece)
{
	uint64_t in = pos & (PMEMFS_BLOCK_SIZE - 1);
	struct extent e;
	int err = extent_at(NULL, ip, off_blk(pos), &e);

	if (err)
		return err;
	/* clip in blocks first: a hole's length in bytes may not fit */
	e.len = min64(e.len, bytes_blks(in + len));
	len = min64(len, blk_off(e.len) - in);
	if (extent_has_data(&e)) {
		piece->base = pm_at(ip->fs->pm, blk_off(e.pool) + in, len);
	} else {
		len = min64(len, ZERO_AREA);
		piece->base = zero_area;
	}
	piece->len = len;
	return 0;
}

int op_pieces(const struct inode *ip, uint64_t pos, size_t len,
	      struct op_piece *piece, unsigned *nr, size_t *got)
{
	uint64_t size = get64(inode_media(ip)->size);
	unsigned room = *nr;
	int err;

	*nr = 0;
	*got = 0;
	if (pos >= size)
		return 0;
	len = min64(len, size - pos);
	while (*got < len && *nr < room) {
		err = piece_at(ip, pos + *got, len - *got, &piece[*nr]);
		if (err)
			return err;
		*got += piece[(*nr)++].len;
	}
	return 0;
}

/* A regular file, locked shared. */
static int read_begin(const struct op_ctx *c, uint64_t nodeid, struct op_read *r)
{
	int err;

	r->mark = op_enter(c);
	err = op_get(c, nodeid, &r->ip);
	if (err)
		return op_leave_read(c, r->mark, err);
	inode_rdlock(r->ip);
	err = op_reg_ok(r->ip);
	return err ? err : 0;
}

int op_read(const struct op_ctx *c, uint64_t nodeid, uint64_t pos, size_t len,
	    struct op_piece *piece, unsigned *nr, size_t *got, struct op_read *r)
{
	int err, fault;

	r->ip = NULL;
	err = read_begin(c, nodeid, r);
	if (!r->ip)
		return err;
	if (!err)
		err = op_pieces(r->ip, pos, len, piece, nr, got);
	if (!err) {
		inode_accessed(r->ip);
		return 0;
	}
	fault = op_read_done(c, r);
	return fault ? fault : err;
}

int op_read_done(const struct op_ctx *c, struct op_read *r)
{
	inode_unlock(r->ip);
	inode_put(r->ip);
	r->ip = NULL;
	return op_leave_read(c, r->mark, 0);
}

int op_pread(const struct op_ctx *c, uint64_t nodeid, void *buf, size_t len,
	     uint64_t pos, size_t *got)
{
	struct op_piece piece[16];
	struct op_read r = { .ip = NULL };
	unsigned nr, i;
	size_t n = 1;
	int err, fault;

	*got = 0;
	err = read_begin(c, nodeid, &r);
	if (!r.ip)
		return err;
	while (!err && n && *got < len) {
		nr = ARRAY_SIZE(piece);
		err = op_pieces(r.ip, pos + *got, len - *got, piece, &nr, &n);
		for (i = 0; !err && i < nr; i++) {
			memcpy((uint8_t *)buf + *got, piece[i].base, piece[i].len);
			*got += piece[i].len;
		}
	}
	if (!err)
		inode_accessed(r.ip);
	fault = op_read_done(c, &r);
	return fault ? fault : err;
}

/* ---- symbolic links --------------------------------------------------------- */

static int target_of(struct inode *ip, char *buf, size_t *len)
{
	const struct pmemfs_inode *mi = inode_media(ip);
	uint64_t size = get64(mi->size);
	struct op_piece piece;
	int err;

	if (!inode_is_lnk(mi))
		return -EINVAL;
	if (size == 0 || size >= PMEMFS_BLOCK_SIZE ||
	    (mi->root_kind == PMEMFS_ROOT_BYTES && size > sizeof(mi->root.bytes)))
		return damaged(ip->fs, ip->off, "symbolic link %llu: impossible length",
			       (unsigned long long)ip->ino);
	*len = size;
	if (mi->root_kind == PMEMFS_ROOT_BYTES) {
		memcpy(buf, mi->root.bytes, size);
		return 0;
	}
	err = piece_at(ip, 0, size, &piece);
	if (err)
		return err;
	if (piece.base == zero_area)
		return damaged(ip->fs, ip->off, "symbolic link %llu: no target",
			       (unsigned long long)ip->ino);
	memcpy(buf, piece.base, size);
	return 0;
}

int op_readlink(const struct op_ctx *c, uint64_t nodeid, char *buf, size_t *len)
{
	uint64_t mark = op_enter(c);
	struct inode *ip;
	int err = op_get(c, nodeid, &ip);

	if (err)
		return op_leave_read(c, mark, err);
	inode_rdlock(ip);
	err = target_of(ip, buf, len);
	if (!err)
		inode_accessed(ip);
	inode_unlock(ip);
	inode_put(ip);
	return op_leave_read(c, mark, err);
}

/* ---- lseek -------------------------------------------------------------------- */

/* Unwritten extents are holes: they read as zero and cost nothing to skip. */
static int seek_locked(const struct inode *ip, uint64_t pos, bool data, uint64_t *out)
{
	uint64_t size = get64(inode_media(ip)->size), end = bytes_blks(size), blk;
	struct extent e;
	int err = op_reg_ok(ip);

	if (err)
		return err;
	if (pos >= size)
		return -ENXIO;
	for (blk = off_blk(pos); blk < end; blk += e.len) {
		err = extent_at(NULL, ip, blk, &e);
		if (err)
			return err;
		if (extent_has_data(&e) == data) {
			*out = max64(pos, blk_off(blk));
			return 0;
		}
		if (e.len >= end - blk)
			break;
	}
	*out = size;			/* every file ends with a hole */
	return data ? -ENXIO : 0;
}

int op_lseek(const struct op_ctx *c, uint64_t nodeid, uint64_t pos,
	     int whence, uint64_t *out)
{
	uint64_t mark = op_enter(c);
	struct inode *ip;
	int err;

	if (whence != SEEK_DATA && whence != SEEK_HOLE)
		return -EINVAL;
	err = op_get(c, nodeid, &ip);
	if (err)
		return op_leave_read(c, mark, err);
	inode_rdlock(ip);
	err = seek_locked(ip, pos, whence == SEEK_DATA, out);
	inode_unlock(ip);
	inode_put(ip);
	return op_leave_read(c, mark, err);
}
