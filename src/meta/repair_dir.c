/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repair_dir.c - the names in directories
 *
 * Two passes: the first finds out which directories are named by the one that
 * their ".." says, the second keeps the names. So of two directories that
 * both name a third the right one keeps it, whichever comes first.
 *
 * A name whose key is wrong is put where it belongs once all trees are whole;
 * until then links are not counted (repair.c).
 */
#include <sys/stat.h>

#include "base/log.h"
#include "meta/repair_int.h"

bool repair_name_ok(const char *name, uint32_t len)
{
	if (!len || len > PMEMFS_NAME_MAX || memchr(name, '/', len) || memchr(name, '\0', len))
		return false;
	return !(name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}

static const struct pmemfs_inode *inode_of(const struct repair *r, uint64_t ino)
{
	return repair_inode_at(r, repair_slot_off(r, ino));
}

/* ---- first: who is named by its "..". -------------------------------------- */

static enum ritem count_entry(struct rwalk *w, uint64_t key, uint8_t *val, unsigned len,
			      uint64_t off)
{
	uint64_t ino = len > sizeof(le64) ? load64(val) & PMEMFS_MAX_INO : 0;
	struct rnode *n = repair_node(w->r, ino);

	(void)key, (void)off;
	if (n && n->type == S_IFDIR >> 12 && ino != w->ino && ino != PMEMFS_ROOT_INO &&
	    get64(inode_of(w->r, ino)->parent) == w->ino &&
	    repair_name_ok((const char *)val + sizeof(le64), len - sizeof(le64)))
		n->dotdot = 1;
	return ITEM_KEEP;
}

void repair_count_dirs(struct repair *r, uint64_t ino)
{
	const struct pmemfs_inode *di = inode_of(r, ino);
	struct rwalk w;

	if (!S_ISDIR(get32(di->mode)) || di->root_kind != PMEMFS_ROOT_TREE)
		return;
	repair_walk_init(&w, r, ino);
	w.tree = PMEMFS_TREE_DIR;
	w.fn = count_entry;
	repair_walk(&w, get64(di->root.tree));
}

/* ---- second: keep them or not ------------------------------------------------ */

/* A directory has one name. NULL: this is it. */
static const char *second_parent(struct rwalk *w, uint64_t ino, const struct rnode *n)
{
	if (ino == PMEMFS_ROOT_INO)
		return "names the root directory";
	if (n->named)
		return "names a directory that has a name";
	if (n->dotdot && get64(inode_of(w->r, ino)->parent) != w->ino)
		return "names a directory that has another parent";
	return NULL;
}

static enum ritem drop_entry(struct rwalk *w, enum problem nr, const uint8_t *val, unsigned len,
			     uint64_t off, const char *why)
{
	char shown[80] = "";

	if (len > sizeof(le64))
		log_name(shown, sizeof(shown), (const char *)val + sizeof(le64),
			 min64(len - sizeof(le64), PMEMFS_NAME_MAX));
	repair_tell(w->r, nr, (struct rplace){ w->ino, off }, "name \"%s\" (inode %llu) %s",
		    shown, len >= sizeof(le64) ?
		    (unsigned long long)(load64(val) & PMEMFS_MAX_INO) : 0, why);
	w->node->lost = 1;
	return ITEM_DROP;
}

static void put_later(struct rwalk *w, uint64_t ino, const uint8_t *val, unsigned len, uint64_t off)
{
	struct rput *p = repair_put_add(w->r, PUT_NAME, ino);

	w->node->lost = 1;
	if (!p)
		return;
	p->dir = w->ino;
	p->off = off;
	p->tell = PROBLEM_ENTRY_KEY;
	repair_put_bytes(w->r, p, val + sizeof(le64), len - (uint32_t)sizeof(le64), NULL, 0);
}

/* It stays: count it, and let it say what its inode is. */
static enum ritem keep_entry(struct rwalk *w, uint64_t ino, struct rnode *n, uint8_t *val,
			     unsigned len, uint64_t off)
{
	uint64_t raw = ino | (uint64_t)n->type << 56;

	n->links++;
	w->node->bytes += len;
	if (n->type == S_IFDIR >> 12) {
		n->named = 1;
		n->parent = w->ino;
		w->node->subdirs++;
	}
	if (load64(val) == raw)
		return ITEM_KEEP;
	repair_tell(w->r, PROBLEM_ENTRY_TYPE, (struct rplace){ w->ino, off },
		    "name of inode %llu has a type that is not the inode's, or unknown bits",
		    (unsigned long long)ino);
	save64(val, raw);
	return ITEM_CHANGED;
}

static enum ritem entry(struct rwalk *w, uint64_t key, uint8_t *val, unsigned len, uint64_t off)
{
	const char *name = (const char *)val + sizeof(le64), *bad;
	uint32_t name_len = len - (uint32_t)sizeof(le64);
	struct rnode *n;
	bool twice, fits;
	uint64_t ino;

	if (len <= sizeof(le64) || !repair_name_ok(name, name_len))
		return drop_entry(w, PROBLEM_ENTRY_BAD, val, len, off, "cannot be a name");
	ino = load64(val) & PMEMFS_MAX_INO;
	n = repair_node(w->r, ino);
	if (!n)
		return drop_entry(w, PROBLEM_ENTRY_FREE, val, len, off, "points at a free inode");
	fits = repair_key_ok(w, key, name, name_len, &twice);
	if (twice)
		return drop_entry(w, PROBLEM_ENTRY_TWICE, val, len, off, "is there twice");
	bad = n->type == S_IFDIR >> 12 ? second_parent(w, ino, n) : NULL;
	if (bad)
		return drop_entry(w, PROBLEM_DIR_TWICE, val, len, off, bad);
	if (fits)
		return keep_entry(w, ino, n, val, len, off);
	put_later(w, ino, val, len, off);
	return ITEM_DROP;
}

void repair_names(struct repair *r, uint64_t ino)
{
	uint64_t off = repair_slot_off(r, ino);
	struct pmemfs_inode di = *repair_inode_at(r, off);
	struct rwalk w;

	if (!S_ISDIR(get32(di.mode)) || di.root_kind != PMEMFS_ROOT_TREE)
		return;
	repair_walk_init(&w, r, ino);
	w.tree = PMEMFS_TREE_DIR;
	w.fn = entry;
	if (!repair_walk(&w, get64(di.root.tree))) {
		di.root_kind = PMEMFS_ROOT_NONE;
		memset(&di.root, 0, sizeof(di.root));
	}
	w.node->blocks += w.nodes;
	repair_put_inode(r, off, &di);
}
