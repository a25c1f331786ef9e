/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify_link.c - who knows an inode: orphan lists, names, parents
 *
 * Runs when every directory has been walked, so that names and
 * subdirectories have been counted.
 */
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "meta/verify_int.h"

/* ---- orphans ----------------------------------------------------------- */

static const char *check_orphan(const struct verify *v, const struct vinode *vi,
				uint64_t ino, unsigned shard, uint64_t prev)
{
	const struct pmemfs_inode *di;

	if (!vi)
		return "is free";
	di = verify_inode_at(v, verify_slot_off(v, ino));
	if (vi->seen)
		return "is on it twice";
	if (ino % PMEMFS_SHARDS != shard)
		return "belongs to another list";
	if (!vi->listed)
		return "does not know that it is on it";
	if (get64(di->link.prev) != prev)
		return "names another neighbour";
	if (!vi->bad && get32(di->nlink) && !(get32(di->flags) & PMEMFS_FL_TRUNC))
		return "has links and nothing to be freed";
	return NULL;
}

static void walk_shard(struct verify *v, unsigned shard)
{
	uint64_t off = blk_off(PMEMFS_BLK_SYSTEM) +
		offsetof(struct pmemfs_system, orphans[shard]);
	const struct pmemfs_shard *s = pm_at(v->pm, off, sizeof(*s));
	uint64_t ino = get64(s->first), prev = 0;
	struct vinode *vi;
	const char *bad;

	if (get32(s->crc) != seal_crc(s, sizeof(*s), off) || get32(s->zero0) ||
	    !all_zero(s->zero, sizeof(s->zero))) {
		verify_problem(v, VERIFY_ORPHAN, (struct vplace){ .off = off },
			       "head of orphan list %u is damaged", shard);
		return;
	}
	while (ino) {
		vi = verify_node(v, ino);
		bad = check_orphan(v, vi, ino, shard, prev);
		if (bad)
			verify_problem(v, VERIFY_ORPHAN, (struct vplace){ .ino = ino, .off = off },
				       "orphan list %u: inode %llu %s", shard,
				       (unsigned long long)ino, bad);
		if (!vi || vi->seen || !vi->listed)
			return;		/* its next is not to be believed */
		vi->seen = 1;
		v->res->orphans++;
		prev = ino;
		ino = get64(verify_inode_at(v, verify_slot_off(v, ino))->link.next);
	}
}

void verify_orphans(struct verify *v)
{
	unsigned i;

	for (i = 0; i < PMEMFS_SHARDS; i++)
		walk_shard(v, i);
}

/* ---- links and parents -------------------------------------------------- */

/*
 * Follow the parents from a directory until something is known, then mark
 * the whole way. A way that meets itself is a cycle.
 */
static void climb(struct verify *v, uint64_t ino)
{
	struct vinode *vi = verify_node(v, ino);
	uint64_t at = ino;
	enum vmark end;

	while (vi->mark == MARK_NONE && at != PMEMFS_ROOT_INO && vi->named) {
		vi->mark = MARK_WALKING;
		at = vi->parent;
		vi = verify_node(v, at);
	}
	if (vi->mark == MARK_WALKING)
		verify_problem(v, VERIFY_DIRTREE, (struct vplace){
			.ino = at, .off = verify_slot_off(v, at) },
			"directory is inside itself");
	end = vi->mark == MARK_REACHED || at == PMEMFS_ROOT_INO ?
		MARK_REACHED : MARK_LOST;
	if (vi->mark == MARK_NONE)
		vi->mark = end;
	for (vi = verify_node(v, ino); vi->mark == MARK_WALKING;
	     vi = verify_node(v, vi->parent))
		vi->mark = end;
}

static void check_dir_links(struct verify *v, uint64_t ino, const struct vinode *vi,
			    const struct pmemfs_inode *di)
{
	struct vplace at = { .ino = ino, .off = verify_slot_off(v, ino) };
	uint64_t parent = ino == PMEMFS_ROOT_INO ? ino : vi->parent;
	uint32_t nlink = get32(di->nlink);

	if (!nlink && ino != PMEMFS_ROOT_INO) {
		if (get64(di->size))
			verify_problem(v, VERIFY_DIRTREE, at,
				       "removed directory is not empty");
		return;
	}
	if (nlink != 2 + (uint64_t)vi->subdirs)
		verify_problem(v, VERIFY_LINKS, at,
			       "directory has %u subdirectories and a link count of %u",
			       vi->subdirs, nlink);
	if ((vi->named || ino == PMEMFS_ROOT_INO) && get64(di->parent) != parent)
		verify_problem(v, VERIFY_DIRTREE, at,
			       "its \"..\" is inode %llu, but inode %llu names it",
			       (unsigned long long)get64(di->parent),
			       (unsigned long long)parent);
}

/* Is the inode known by names or by a list, as its link count says? */
static void check_known(struct verify *v, uint64_t ino, const struct vinode *vi,
			const struct pmemfs_inode *di)
{
	struct vplace at = { .ino = ino, .off = verify_slot_off(v, ino) };
	uint32_t nlink = get32(di->nlink);

	if (vi->listed && !vi->seen)
		verify_problem(v, VERIFY_ORPHAN, at, "inode is on no orphan list, but says so");
	if (!vi->bad && !nlink && !vi->listed)
		verify_problem(v, VERIFY_ORPHAN, at, "inode without links is on no orphan list");
	if (!vi->bad && (get32(di->flags) & PMEMFS_FL_TRUNC) && !vi->listed)
		verify_problem(v, VERIFY_ORPHAN, at,
			       "inode with blocks still to be freed is on no orphan list");
	if (!vi->links && ino != PMEMFS_ROOT_INO && (vi->bad ? !vi->listed : nlink))
		verify_problem(v, VERIFY_UNREACHABLE, at, "no directory names this inode");
}

void verify_links(struct verify *v, uint64_t ino)
{
	struct vinode *vi = verify_node(v, ino);
	uint64_t off = verify_slot_off(v, ino);
	const struct pmemfs_inode *di = verify_inode_at(v, off);
	bool dir = vi->type == S_IFDIR >> 12;

	check_known(v, ino, vi, di);
	if (vi->bad)
		return;
	if (dir) {
		climb(v, ino);
		check_dir_links(v, ino, vi, di);
	}
	/* no name at all is another problem, reported above */
	if (vi->links && (dir ? !get32(di->nlink) : get32(di->nlink) != vi->links))
		verify_problem(v, VERIFY_LINKS, (struct vplace){ .ino = ino, .off = off },
			       "%u names found and a link count of %u",
			       vi->links, get32(di->nlink));
}

void verify_root_dir(struct verify *v)
{
	struct vinode *vi = verify_node(v, PMEMFS_ROOT_INO);
	struct vplace at = { .ino = PMEMFS_ROOT_INO, .off = verify_slot_off(v, PMEMFS_ROOT_INO) };

	if (!vi || (!vi->bad && vi->type != S_IFDIR >> 12))
		verify_problem(v, VERIFY_INODE, at, "there is no root directory");
	else if (!vi->bad && get32(verify_inode_at(v, at.off)->gen))
		verify_problem(v, VERIFY_INODE, at, "the root directory has a generation");
}
