/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_link.c - link counts, parents, cycles, orphan lists
 *
 * Runs when every name has been counted. An inode with names gets the link
 * count that they make; one without goes to /lost+found, unless its link
 * count is zero: then it was removed, and belongs on an orphan list.
 */
#include <sys/stat.h>

#include "base/crc32c.h"
#include "meta/inode.h"
#include "meta/repair_int.h"

static bool is_dir(const struct rnode *n) { return n->type == S_IFDIR >> 12; }

/* ---- cycles ------------------------------------------------------------------ */

/*
 * Follow the parents until something is known, then mark the whole way. A way
 * that meets itself is a cycle: the directory there loses its name, and so
 * goes to /lost+found in the next round.
 */
static void climb(struct repair *r, uint64_t ino)
{
	struct rnode *n = repair_node(r, ino);
	uint64_t at = ino;
	struct rput *p;
	enum rmark end;

	if (!is_dir(n))
		return;
	while (n->mark == RMARK_NONE && at != PMEMFS_ROOT_INO && n->named) {
		n->mark = RMARK_WALKING;
		at = n->parent;
		n = repair_node(r, at);
	}
	if (n->mark == RMARK_WALKING) {
		repair_tell(r, PROBLEM_DIR_CYCLE, (struct rplace){ at, repair_slot_off(r, at) },
			    "directory is inside itself");
		p = repair_put_add(r, PUT_UNNAME, at);
		if (p)
			p->dir = n->parent;
	}
	end = n->mark == RMARK_REACHED || at == PMEMFS_ROOT_INO ? RMARK_REACHED : RMARK_LOST;
	if (n->mark == RMARK_NONE)
		n->mark = end;
	for (n = repair_node(r, ino); n->mark == RMARK_WALKING; n = repair_node(r, n->parent))
		n->mark = end;
}

/* ---- links -------------------------------------------------------------------- */

static void to_lost_found(struct repair *r, uint64_t ino, enum problem nr, const char *text)
{
	struct rput *p = repair_put_add(r, PUT_LOST, ino);

	repair_tell(r, nr, (struct rplace){ ino, repair_slot_off(r, ino) }, "%s", text);
	if (p)
		p->dir = PMEMFS_ROOT_INO;
}

static void set_links(struct repair *r, uint64_t ino, struct pmemfs_inode *di, uint64_t want)
{
	if (get32(di->nlink) == want)
		return;
	repair_tell(r, PROBLEM_LINKS, (struct rplace){ ino, repair_slot_off(r, ino) },
		    "%llu links found and a link count of %u",
		    (unsigned long long)want, get32(di->nlink));
	di->nlink = put32((uint32_t)want);
}

static void dir_links(struct repair *r, uint64_t ino, struct rnode *n, struct pmemfs_inode *di)
{
	uint64_t parent = ino == PMEMFS_ROOT_INO ? ino : n->parent;

	if (!n->named && ino != PMEMFS_ROOT_INO) {
		if (get32(di->nlink))
			to_lost_found(r, ino, PROBLEM_UNREACHABLE, "no directory names this one");
		else if (n->bytes)
			to_lost_found(r, ino, PROBLEM_DIR_REMOVED,
				      "removed directory is not empty");
		return;
	}
	set_links(r, ino, di, 2 + (uint64_t)n->subdirs);
	if (get64(di->parent) == parent)
		return;
	repair_tell(r, PROBLEM_DIR_PARENT, (struct rplace){ ino, repair_slot_off(r, ino) },
		    "its \"..\" is inode %llu, but inode %llu names it",
		    (unsigned long long)get64(di->parent), (unsigned long long)parent);
	di->parent = put64(parent);
}

static void links_of(struct repair *r, uint64_t ino)
{
	struct rnode *n = repair_node(r, ino);
	uint64_t off = repair_slot_off(r, ino);
	struct pmemfs_inode di = *repair_inode_at(r, off);

	if (is_dir(n))
		dir_links(r, ino, n, &di);
	else if (n->links)
		set_links(r, ino, &di, n->links);
	else if (n->suspect && n->listed)
		set_links(r, ino, &di, 0);	/* the list knows better */
	else if (get32(di.nlink))
		to_lost_found(r, ino, PROBLEM_UNREACHABLE, "no directory names this inode");
	repair_put_inode(r, off, &di);
}

/* ---- orphans --------------------------------------------------------------------- */

static const struct pmemfs_inode *inode_of(struct repair *r, uint64_t ino)
{
	return repair_inode_at(r, repair_slot_off(r, ino));
}

/* Does it belong on a list? Not if it is on its way to /lost+found. */
static bool is_orphan(struct repair *r, uint64_t ino)
{
	const struct pmemfs_inode *di = inode_of(r, ino);
	const struct rnode *n = repair_node(r, ino);

	if (get32(di->flags) & PMEMFS_FL_TRUNC)
		return true;
	return !get32(di->nlink) && !(is_dir(n) && n->bytes);
}

static const char *member_bad(struct repair *r, const struct rnode *n, uint64_t ino,
			      unsigned shard, uint64_t prev)
{
	if (!n)
		return "is free";
	if (n->seen)
		return "is on it twice";
	if (ino % PMEMFS_SHARDS != shard)
		return "belongs to another list";
	if (!n->listed)
		return "does not know that it is on it";
	if (get64(inode_of(r, ino)->link.prev) != prev)
		return "names another neighbour";
	return is_orphan(r, ino) ? NULL : "has links and nothing to be freed";
}

/* The heads by themselves: without them the copy cannot be opened. */
void repair_heads(struct repair *r)
{
	const struct pmemfs_shard *s;
	struct pmemfs_shard empty;
	struct rplace at = { .ino = 0 };
	unsigned i;

	for (i = 0; i < PMEMFS_SHARDS; i++) {
		at.off = orphan_head_off(i);
		s = pm_at(r->pm, at.off, sizeof(*s));
		if (get32(s->crc) == seal_crc(s, sizeof(*s), at.off) && !get32(s->zero0) &&
		    all_zero(s->zero, sizeof(s->zero)))
			continue;
		repair_tell(r, PROBLEM_ORPHAN_LIST, at, "head of orphan list %u is damaged", i);
		memset(&empty, 0, sizeof(empty));
		repair_seal(r, at.off, &empty, sizeof(empty));
	}
}

static bool list_bad(struct repair *r, unsigned shard)
{
	const struct pmemfs_shard *s = pm_at(r->pm, orphan_head_off(shard), sizeof(*s));
	struct rplace at = { .off = orphan_head_off(shard) };
	uint64_t ino = get64(s->first), prev = 0;
	struct rnode *n;
	const char *bad;

	for (; ino; prev = ino, ino = get64(inode_of(r, ino)->link.next)) {
		n = repair_node(r, ino);
		bad = member_bad(r, n, ino, shard, prev);
		if (bad) {
			at.ino = ino;
			repair_tell(r, PROBLEM_ORPHAN_LIST, at, "orphan list %u: inode %llu %s",
				    shard, (unsigned long long)ino, bad);
			return true;
		}
		n->seen = 1;
	}
	return false;
}

static void put_link(struct repair *r, uint64_t ino, bool listed, uint64_t prev, uint64_t next)
{
	uint64_t off = repair_slot_off(r, ino) + offsetof(struct pmemfs_inode, link);
	struct pmemfs_link l = { .listed = put32(listed), .next = put64(next),
				 .prev = put64(prev) };

	if (listed)
		repair_seal(r, off, &l, sizeof(l));
	else if (!all_zero(pm_at(r->pm, off, sizeof(l)), sizeof(l)))
		pm_zero(r->pm, off, sizeof(l));
}

/* All lists, in the order of numbers: which order does not matter. */
static void make_lists(struct repair *r)
{
	uint64_t first[PMEMFS_SHARDS] = { 0 }, last[PMEMFS_SHARDS] = { 0 }, ino;
	uint64_t before[PMEMFS_SHARDS] = { 0 }, end = r->nr_chunks * PMEMFS_CHUNK_INODES;
	struct pmemfs_shard s;
	unsigned i;

	for (ino = 0; ino < end; ino++) {
		i = ino % PMEMFS_SHARDS;
		if (!repair_node(r, ino))
			continue;
		if (!is_orphan(r, ino)) {
			put_link(r, ino, false, 0, 0);
			continue;
		}
		if (last[i])
			put_link(r, last[i], true, before[i], ino);
		else
			first[i] = ino;
		put_link(r, ino, true, last[i], 0);
		before[i] = last[i];
		last[i] = ino;
	}
	for (i = 0; i < PMEMFS_SHARDS; i++) {
		memset(&s, 0, sizeof(s));
		s.first = put64(first[i]);
		repair_seal(r, orphan_head_off(i), &s, sizeof(s));
	}
}

static void orphans(struct repair *r)
{
	uint64_t ino, end = r->nr_chunks * PMEMFS_CHUNK_INODES;
	struct rnode *n;
	bool bad = false;
	unsigned i;

	for (i = 0; i < PMEMFS_SHARDS; i++)
		bad |= list_bad(r, i);
	for (ino = 0; ino < end && !bad; ino++) {
		n = repair_node(r, ino);
		if (!n || (is_orphan(r, ino) && n->seen) || (!is_orphan(r, ino) && !n->listed))
			continue;
		repair_tell(r, PROBLEM_ORPHAN_LIST, (struct rplace){ ino, repair_slot_off(r, ino) },
			    n->listed ? "inode says it is on an orphan list, and is not" :
			    "removed inode is on no orphan list");
		bad = true;
	}
	if (bad)
		make_lists(r);
}

void repair_links(struct repair *r)
{
	repair_each(r, climb);
	repair_each(r, links_of);
	if (!repair_stopped(r))
		orphans(r);
}
