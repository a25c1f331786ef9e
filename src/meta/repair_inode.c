/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_inode.c - every slot of the inode table: fields, link lines
 *
 * A sealed inode is what it says; fields that cannot be are set to something
 * harmless. One without a good seal is kept if type, size and root make sense
 * (one flipped bit leaves all else right) and is a suspect from then on: it
 * loses setuid and setgid, and every conflict with others. The rest is freed.
 * A slot is never given a generation that it may have had before.
 */
#include <sys/stat.h>

#include "base/crc32c.h"
#include "meta/inode.h"
#include "meta/repair_int.h"

#define NSEC_PER_SEC	1000000000u

void repair_put_inode(struct repair *r, uint64_t off, struct pmemfs_inode *di)
{
	le32 crc = put32(seal_crc(di, PMEMFS_INODE_SEALED, off));

	if (!memcmp(&crc, &di->crc, sizeof(crc)) &&
	    !memcmp(di, repair_inode_at(r, off), PMEMFS_INODE_SEALED))
		return;
	repair_seal(r, off, di, PMEMFS_INODE_SEALED);
}

static struct rnode *slot_node(struct repair *r, uint64_t ino)
{
	return &r->chunk[ino / PMEMFS_CHUNK_INODES][ino % PMEMFS_CHUNK_INODES];
}

/* ---- link lines ------------------------------------------------------------- */

static void check_link(struct repair *r, uint64_t ino, uint64_t off, struct rnode *n)
{
	uint64_t at = off + offsetof(struct pmemfs_inode, link);
	const struct pmemfs_link *l = pm_at(r->pm, at, sizeof(*l));
	const char *bad = NULL;

	if (all_zero(l, sizeof(*l)))
		return;
	if (get32(l->crc) != seal_crc(l, sizeof(*l), at))
		bad = "has a wrong checksum";
	else if (get32(l->listed) > 1 || get64(l->next) > PMEMFS_MAX_INO ||
		 get64(l->prev) > PMEMFS_MAX_INO || !all_zero(l->zero, sizeof(l->zero)))
		bad = "has fields out of range";
	else if (get32(l->listed) && !n->used)
		bad = "is listed, its inode is free";
	if (bad) {
		repair_tell(r, PROBLEM_ORPHAN_LINK, (struct rplace){ ino, at },
			    "link line %s", bad);
		pm_zero(r->pm, at, sizeof(*l));
		return;
	}
	n->listed = get32(l->listed);
}

/* ---- free slots --------------------------------------------------------------- */

/* Wiped, with its generation; at the largest one the slot retires. */
static bool wipe(struct repair *r, uint64_t off)
{
	struct pmemfs_inode di = { .mode = put32(0) };
	uint32_t gen = get32(repair_inode_at(r, off)->gen);

	if (gen > PMEMFS_MAX_GEN)
		gen = PMEMFS_MAX_GEN;
	di.gen = put32(gen);
	repair_put_inode(r, off, &di);
	return gen == PMEMFS_MAX_GEN;
}

/* No inode lives here. Is the bit to be set all the same (L16)? */
static bool free_slot(struct repair *r, uint64_t ino, uint64_t off, bool marked, bool believe)
{
	const struct pmemfs_inode *di = repair_inode_at(r, off);
	bool sealed = get32(di->crc) == seal_crc(di, PMEMFS_INODE_SEALED, off);
	struct rplace at = { ino, off };

	if (sealed && get32(di->gen) == PMEMFS_MAX_GEN) {
		if (!marked && believe)
			repair_tell(r, PROBLEM_IMAP_FREE, at,
				    "inode has retired and is marked free");
		return true;
	}
	if (marked && believe)
		repair_tell(r, PROBLEM_IMAP_USED, at, "inode is free and marked used");
	if (all_zero(di, PMEMFS_INODE_SEALED))
		return false;
	if (sealed && get32(di->gen) < PMEMFS_MAX_GEN)
		return false;
	repair_tell(r, PROBLEM_FREE_INODE, at, sealed ?
		    "free inode has an impossible generation" :
		    "free inode with a wrong checksum");
	return wipe(r, off);
}

void repair_clear(struct repair *r, uint64_t ino)
{
	uint64_t off = repair_slot_off(r, ino);
	bool retired = wipe(r, off);

	pm_zero(r->pm, off + offsetof(struct pmemfs_inode, link), sizeof(struct pmemfs_link));
	memset(slot_node(r, ino), 0, sizeof(struct rnode));
	if (!retired)
		repair_mark_slot(r, ino, false);
}

/* ---- fields --------------------------------------------------------------------- */

static bool root_fits(const struct pmemfs_inode *di)
{
	uint32_t mode = get32(di->mode);

	switch (di->root_kind) {
	case PMEMFS_ROOT_NONE:
		return !S_ISLNK(mode);
	case PMEMFS_ROOT_INLINE:
		return S_ISREG(mode) || S_ISLNK(mode);
	case PMEMFS_ROOT_TREE:
		return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
	case PMEMFS_ROOT_BYTES:
		return S_ISLNK(mode);
	default:
		return false;
	}
}

/* The type that a sealed root node speaks for; 0: none does. */
static uint32_t type_of_root(const struct repair *r, uint64_t ino, const struct pmemfs_inode *di)
{
	uint64_t blk = get64(di->root.tree);
	const struct pmemfs_node *n;

	if (di->root_kind != PMEMFS_ROOT_TREE || !repair_in_data(r, blk, 1))
		return 0;
	n = pm_at(r->pm, blk_off(blk), sizeof(*n));
	if (repair_node_bad(n, blk) || get64(n->owner) != ino)
		return 0;
	return n->tree == PMEMFS_TREE_DIR ? S_IFDIR | 0700 :
	       n->tree == PMEMFS_TREE_EXTENT ? S_IFREG | 0600 : 0;
}

/* Fields that say little; true: one had to be changed. */
static bool fix_small(struct pmemfs_inode *di)
{
	uint32_t mode = get32(di->mode);
	struct pmemfs_inode was = *di;
	le32 *ns[4] = { &di->atime_ns, &di->mtime_ns, &di->ctime_ns, &di->btime_ns };
	unsigned i;

	if (get32(di->gen) > PMEMFS_MAX_GEN)
		di->gen = put32(PMEMFS_MAX_GEN);
	di->flags = put32(get32(di->flags) & PMEMFS_FL_ALL);
	di->zero0 = put16(0);
	if (get32(di->nlink) > PMEMFS_LINK_MAX)
		di->nlink = put32(1);
	for (i = 0; i < 4; i++)
		if (get32(*ns[i]) >= NSEC_PER_SEC)
			*ns[i] = put32(0);
	if (get64(di->parent) > PMEMFS_MAX_INO)
		di->parent = put64(0);
	if (!S_ISCHR(mode) && !S_ISBLK(mode))
		di->rdev = put32(0);
	if (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode))
		di->size = put64(0);
	if (di->root_kind == PMEMFS_ROOT_INLINE && di->nr_inline > PMEMFS_ROOT_EXTENTS)
		di->nr_inline = PMEMFS_ROOT_EXTENTS;
	else if (di->root_kind != PMEMFS_ROOT_INLINE)
		di->nr_inline = 0;
	return memcmp(&was, di, sizeof(was));
}

static void fix_fields(struct repair *r, uint64_t ino, struct rnode *n, struct pmemfs_inode *di)
{
	struct rplace at = { ino, repair_slot_off(r, ino) };

	if (fix_small(di))
		repair_tell(r, PROBLEM_INODE_FIELD, at, "inode has a field out of range");
	if (get64(di->xattr) && !repair_in_data(r, get64(di->xattr), 1)) {
		repair_tell(r, PROBLEM_INODE_FIELD, at,
			    "inode has its attributes outside the data area");
		di->xattr = put64(0);
		n->lost = 1;
	}
	if (!root_fits(di) && !S_ISLNK(get32(di->mode))) {
		repair_tell(r, PROBLEM_INODE_ROOT, at,
			    "inode has a root area that does not fit its type");
		di->root_kind = PMEMFS_ROOT_NONE;
		di->nr_inline = 0;
		memset(&di->root, 0, sizeof(di->root));
		n->lost = 1;
	}
	if (get64(di->size) > PMEMFS_MAX_SIZE) {
		repair_tell(r, PROBLEM_INODE_FIELD, at, "inode has an impossible size");
		di->size = put64(0);
		n->resize = S_ISREG(get32(di->mode));
	}
}

/* A target that is not where or what it should be; true: there is none. */
static bool no_target(struct repair *r, uint64_t ino, struct pmemfs_inode *di)
{
	uint64_t size = get64(di->size), len;

	if (!S_ISLNK(get32(di->mode)))
		return false;
	if (!root_fits(di))
		return true;
	if (di->root_kind != PMEMFS_ROOT_BYTES)
		return size < 1 || size > 4095;
	len = strnlen(di->root.bytes, sizeof(di->root.bytes));
	if (!len || (size <= sizeof(di->root.bytes) && size > len))
		return true;
	if (size >= 1 && size <= len)
		return false;
	repair_tell(r, PROBLEM_INODE_FIELD, (struct rplace){ ino, repair_slot_off(r, ino) },
		    "symbolic link has a size that cannot be");
	di->size = put64(len);
	return false;
}

/* ---- used slots ----------------------------------------------------------------- */

/* Without a seal: does it make sense, if need be with the type of its root? */
static bool makes_sense(struct repair *r, uint64_t ino, struct pmemfs_inode *di)
{
	bool fits = inode_known_type(get32(di->mode)) && root_fits(di);
	uint32_t type;

	if (fits && get64(di->size) <= PMEMFS_MAX_SIZE)
		return true;
	type = type_of_root(r, ino, di);
	if (type && !fits)
		di->mode = put32(type);
	return type;
}

static bool used_slot(struct repair *r, uint64_t ino, uint64_t off, bool sealed)
{
	struct pmemfs_inode di = *repair_inode_at(r, off);
	struct rnode *n = slot_node(r, ino);
	struct rplace at = { ino, off };

	if (!makes_sense(r, ino, &di) && (!sealed || !inode_known_type(get32(di.mode)))) {
		repair_tell(r, PROBLEM_INODE_CLEARED, at, "inode is damaged beyond use");
		return wipe(r, off);
	}
	n->used = 1;
	n->suspect = !sealed;
	if (!sealed)
		repair_tell(r, PROBLEM_INODE_KEPT, at, "inode has a wrong checksum");
	if (!sealed && !S_ISDIR(get32(di.mode)))
		di.mode = put32(get32(di.mode) & ~(uint32_t)(S_ISUID | S_ISGID));
	if (no_target(r, ino, &di)) {
		repair_tell(r, PROBLEM_INODE_TARGET, at, "symbolic link without a target");
		n->used = 0;
		return wipe(r, off);
	}
	fix_fields(r, ino, n, &di);
	n->type = get32(di.mode) >> 12 & 15;
	repair_put_inode(r, off, &di);
	return true;
}

bool repair_slot(struct repair *r, uint64_t ino, bool marked, bool believe)
{
	uint64_t off = repair_slot_off(r, ino);
	const struct pmemfs_inode *di = repair_inode_at(r, off);
	bool sealed = get32(di->crc) == seal_crc(di, PMEMFS_INODE_SEALED, off), bit;

	if (sealed && get32(di->mode)) {
		if (!marked && believe)
			repair_tell(r, PROBLEM_IMAP_FREE, (struct rplace){ ino, off },
				    "inode is in use and marked free");
		bit = used_slot(r, ino, off, true);
	} else if (!sealed && !all_zero(di, PMEMFS_INODE_SEALED) && marked) {
		bit = used_slot(r, ino, off, false);
	} else {
		bit = free_slot(r, ino, off, marked, believe);
	}
	check_link(r, ino, off, slot_node(r, ino));
	return bit;
}

/* ---- the root ------------------------------------------------------------------- */

void repair_root_dir(struct repair *r)
{
	uint64_t off = repair_slot_off(r, PMEMFS_ROOT_INO), now = r->geo->mkfs_time;
	struct rplace at = { PMEMFS_ROOT_INO, off };
	struct rnode *n = off ? slot_node(r, PMEMFS_ROOT_INO) : NULL;
	struct pmemfs_inode di;

	if (!n)
		return;			/* in the next round its block is there */
	di = *repair_inode_at(r, off);
	if (n->used && n->type == S_IFDIR >> 12 && !get32(di.gen))
		return;
	if (n->used && n->type == S_IFDIR >> 12) {
		repair_tell(r, PROBLEM_INODE_FIELD, at, "the root directory has a generation");
		di.gen = put32(0);
		repair_put_inode(r, off, &di);
		return;
	}
	repair_tell(r, PROBLEM_ROOT_DIR, at, "there is no root directory");
	if (!n->used || (type_of_root(r, PMEMFS_ROOT_INO, &di) & S_IFMT) != S_IFDIR) {
		memset(&di, 0, sizeof(di));
		di.atime = di.mtime = di.ctime = di.btime = put64(now);
	}
	di.gen = put32(0);
	di.mode = put32(S_IFDIR | 0755);
	di.nlink = put32(2);
	di.parent = put64(PMEMFS_ROOT_INO);
	di.rdev = put32(0);
	repair_put_inode(r, off, &di);
	repair_mark_slot(r, PMEMFS_ROOT_INO, true);
	n->used = 1;
	n->type = S_IFDIR >> 12;
	n->lost = 1;
}
