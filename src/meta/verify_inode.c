/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify_inode.c - the inode table: where it is, its chunks, every slot
 *
 * Leaves a struct vinode for each inode in use. Slots are also looked at
 * where a chunk header is damaged: whatever carries a good seal and a type
 * is taken for an inode then.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "meta/chunk.h"
#include "meta/inode.h"
#include "meta/verify_int.h"

#define NSEC_PER_SEC	1000000000u

/* ---- the fields of an inode -------------------------------------------- */

static const char *check_root(const struct pmemfs_inode *di)
{
	uint32_t mode = get32(di->mode);
	uint8_t kind = di->root_kind;

	if (kind > PMEMFS_ROOT_BYTES)
		return "has an unknown kind of root";
	if (kind == PMEMFS_ROOT_INLINE ? di->nr_inline > PMEMFS_ROOT_EXTENTS :
	    di->nr_inline != 0)
		return "has an impossible number of extents";
	if (S_ISREG(mode) && kind == PMEMFS_ROOT_BYTES)
		return "is a file with bytes in its root";
	if (S_ISDIR(mode) && kind != PMEMFS_ROOT_NONE && kind != PMEMFS_ROOT_TREE)
		return "is a directory without a tree";
	if (S_ISLNK(mode) && kind == PMEMFS_ROOT_NONE)
		return "is a symbolic link without a target";
	if (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode) &&
	    kind != PMEMFS_ROOT_NONE)
		return "is a special file with blocks";
	return NULL;
}

static const char *check_sizes(const struct pmemfs_inode *di)
{
	uint32_t mode = get32(di->mode);
	uint64_t size = get64(di->size);

	if (size > PMEMFS_MAX_SIZE)
		return "has an impossible size";
	if (S_ISLNK(mode) && (size < 1 || size > 4095))
		return "is a symbolic link of an impossible size";
	if (di->root_kind == PMEMFS_ROOT_BYTES && size > sizeof(di->root.bytes))
		return "is a symbolic link longer than its root";
	if (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode) && size)
		return "is a special file with a size";
	if (get32(di->rdev) && !S_ISCHR(mode) && !S_ISBLK(mode))
		return "has a device number and is no device";
	return NULL;
}

static const char *check_fields(const struct verify *v, const struct pmemfs_inode *di)
{
	uint32_t mode = get32(di->mode);
	const char *bad;

	if (get32(di->gen) > PMEMFS_MAX_GEN)
		return "has an impossible generation";
	if (!inode_known_type(mode))
		return "has an unknown type";
	if (get32(di->flags) & ~PMEMFS_FL_ALL)
		return "has unknown flags";
	if (get16(di->zero0))
		return "has reserved bytes set";
	if (get32(di->nlink) > PMEMFS_LINK_MAX)
		return "has an impossible link count";
	if (get32(di->atime_ns) >= NSEC_PER_SEC || get32(di->mtime_ns) >= NSEC_PER_SEC ||
	    get32(di->ctime_ns) >= NSEC_PER_SEC || get32(di->btime_ns) >= NSEC_PER_SEC)
		return "has an impossible time";
	if (get64(di->parent) > PMEMFS_MAX_INO)
		return "has an impossible parent";
	if (get64(di->xattr) && !verify_in_data(v, get64(di->xattr), 1))
		return "has its attributes outside the data area";
	bad = check_root(di);
	return bad ? bad : check_sizes(di);
}

static void check_link(struct verify *v, const struct pmemfs_link *l,
		       struct vplace at, struct vinode *vi)
{
	at.off += offsetof(struct pmemfs_inode, link);
	if (all_zero(l, sizeof(*l)))
		return;
	if (get32(l->crc) != seal_crc(l, sizeof(*l), at.off))
		verify_problem(v, VERIFY_ORPHAN, at, "link line with a wrong checksum");
	else if (get32(l->listed) > 1 || get64(l->next) > PMEMFS_MAX_INO ||
		 get64(l->prev) > PMEMFS_MAX_INO ||
		 !all_zero(l->zero, sizeof(l->zero)))
		verify_problem(v, VERIFY_ORPHAN, at, "link line with fields out of range");
	else
		vi->listed = get32(l->listed);
}

/* The link line of an inode that is not in use. */
static void check_idle_link(struct verify *v, const struct pmemfs_link *l,
			    struct vplace at)
{
	struct vinode vi = { 0 };

	check_link(v, l, at, &vi);
	if (vi.listed)
		verify_problem(v, VERIFY_ORPHAN, at, "free inode is listed as an orphan");
}

/* ---- the inode table --------------------------------------------------- */

uint64_t verify_slot_off(const struct verify *v, uint64_t ino)
{
	return pieces_slot_off(&v->pieces, ino);
}

const struct pmemfs_inode *verify_inode_at(const struct verify *v, uint64_t off)
{
	return pm_at(v->pm, off, sizeof(struct pmemfs_inode));
}

/* A slot whose bit is clear: all zero, or sealed and without a type. */
static void check_free(struct verify *v, uint64_t ino, uint64_t off)
{
	const struct pmemfs_inode *di = verify_inode_at(v, off);
	struct vplace at = { .ino = ino, .off = off };

	if (all_zero(di, sizeof(*di)))
		return;
	if (get32(di->crc) != seal_crc(di, PMEMFS_INODE_SEALED, off) &&
	    !all_zero(di, PMEMFS_INODE_SEALED))
		verify_problem(v, VERIFY_INODE, at, "free inode with a wrong checksum");
	else if (get32(di->mode))
		verify_problem(v, VERIFY_IMAP, at, "inode is in use and marked free");
	else if (get32(di->gen) == PMEMFS_MAX_GEN)
		verify_problem(v, VERIFY_IMAP, at, "inode has retired and is marked free");
	else if (get32(di->gen) > PMEMFS_MAX_GEN)
		verify_problem(v, VERIFY_INODE, at, "free inode has an impossible generation");
	check_idle_link(v, &di->link, at);
}

/* A slot whose bit is set. */
static void check_used(struct verify *v, uint64_t ino, uint64_t off, struct vinode *vi)
{
	const struct pmemfs_inode *di = verify_inode_at(v, off);
	struct vplace at = { .ino = ino, .off = off };
	const char *bad;

	v->used_inodes++;
	vi->used = 1;
	vi->bad = 1;
	vi->type = get32(di->mode) >> 12;
	if (get32(di->crc) != seal_crc(di, PMEMFS_INODE_SEALED, off)) {
		verify_problem(v, VERIFY_INODE, at, "inode has a wrong checksum");
		return;
	}
	if (!get32(di->mode)) {
		vi->used = 0;
		if (get32(di->gen) != PMEMFS_MAX_GEN)
			verify_problem(v, VERIFY_IMAP, at,
				       "inode is free and marked used");
		check_idle_link(v, &di->link, at);
		return;			/* retired for good (L16) */
	}
	bad = check_fields(v, di);
	if (bad)
		verify_problem(v, VERIFY_INODE, at, "inode %s", bad);
	else
		vi->bad = 0;
	check_link(v, &di->link, at, vi);
}

/* Without a header to believe, a slot is used if it looks like an inode. */
static bool slot_used(const struct verify *v, const struct pmemfs_chunk *h,
		      unsigned i, uint64_t off)
{
	const struct pmemfs_inode *di = verify_inode_at(v, off);

	if (h)
		return h->used[i / 8] >> i % 8 & 1;
	return (get32(di->mode) || get32(di->gen) == PMEMFS_MAX_GEN) &&
		get32(di->crc) == seal_crc(di, PMEMFS_INODE_SEALED, off);
}

void verify_chunk(struct verify *v, uint64_t c)
{
	uint64_t first = c * PMEMFS_CHUNK_INODES, off = verify_slot_off(v, first);
	const struct pmemfs_chunk *h;
	const char *bad;
	bool sealed;
	unsigned i;

	if (!off) {
		verify_problem(v, VERIFY_EXTENT, (struct vplace){ .ino = first },
			       "hole in the inode table");
		return;
	}
	h = pm_at(v->pm, off, sizeof(*h));
	bad = chunk_bad(h, first, off, &sealed);
	if (bad)
		verify_problem(v, VERIFY_IMAP, (struct vplace){ .ino = first, .off = off },
			       "chunk header %s", bad);
	if (bad)
		h = NULL;
	v->chunk[c] = calloc(PMEMFS_CHUNK_INODES, sizeof(struct vinode));
	if (!v->chunk[c]) {
		v->nomem = true;
		return;
	}
	for (i = 1; i < PMEMFS_CHUNK_INODES; i++) {
		off = verify_slot_off(v, first + i);
		if (!off)
			verify_problem(v, VERIFY_EXTENT,
				       (struct vplace){ .ino = first + i },
				       "hole in the inode table");
		else if (slot_used(v, h, i, off))
			check_used(v, first + i, off, &v->chunk[c][i]);
		else
			check_free(v, first + i, off);
	}
}

static const char *check_table(const struct verify *v, const struct pmemfs_inode *di,
			       uint64_t off)
{
	uint64_t size = get64(di->size);

	if (get32(di->crc) != seal_crc(di, PMEMFS_INODE_SEALED, off))
		return "has a wrong checksum";
	if (!S_ISREG(get32(di->mode)))
		return "is not a file";
	if (!size || size % blk_off(PMEMFS_CHUNK_BLOCKS))
		return "does not consist of chunks";
	if (size > blk_off(v->geo->nr_blocks) ||
	    size / PMEMFS_INODE_SIZE > PMEMFS_MAX_INO + 1)
		return "is larger than the pool";
	return check_fields(v, di);
}

bool verify_table(struct verify *v)
{
	uint64_t off = blk_off(PMEMFS_BLK_SYSTEM);
	const struct pmemfs_inode *di = verify_inode_at(v, off);
	struct vcontent c = { .is_table = true };
	struct vplace at = { .off = off };
	const char *bad = check_table(v, di, off);

	if (bad) {
		verify_problem(v, VERIFY_INODE, at, "inode of the inode table %s", bad);
		return false;
	}
	verify_content(v, 0, off, di, &c);
	if (!c.bad && c.blocks != get64(di->blocks))
		verify_problem(v, VERIFY_SIZE, at,
			       "inode table holds %llu blocks, its inode says %llu",
			       (unsigned long long)c.blocks,
			       (unsigned long long)get64(di->blocks));
	v->nr_chunks = get64(di->size) / blk_off(PMEMFS_CHUNK_BLOCKS);
	v->chunk = calloc(v->nr_chunks, sizeof(*v->chunk));
	if (!v->chunk) {
		v->nr_chunks = 0;
		v->nomem = true;
	}
	return !v->nomem;
}
