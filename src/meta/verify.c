/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify.c - walk everything, report what is wrong
 *
 * The order: areas and slots; the inode table, which says what inodes there
 * are; behind each inode its extents, entries and attributes, which says
 * what is owned and named; links, parents and orphans; last the bitmap.
 *
 * Promises: reads through pm_at() only, changes nothing, and neither loops
 * nor recurses, whatever is on the medium. Refuses: to share code with what
 * it checks, and to repair.
 *
 * The pool must be at rest: after recovery and a checkpoint, since free
 * counts and checksums of bitmaps are derived by the checkpoint (L7).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "meta/verify_int.h"

/* ---- small things ------------------------------------------------------ */

void verify_problem(struct verify *v, enum verify_kind kind, struct vplace at,
		    const char *fmt, ...)
{
	struct verify_problem p = { .kind = kind, .ino = at.ino, .off = at.off };
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p.text = text;
	v->res->problems++;
	if (v->fn)
		v->fn(v->arg, &p);
}

const char *verify_kind_name(enum verify_kind kind)
{
	static const char *const name[] = {
		[VERIFY_SUPER] = "super", [VERIFY_SLOT] = "slot",
		[VERIFY_GROUP] = "group", [VERIFY_LEAK] = "leak",
		[VERIFY_UNMARKED] = "unmarked", [VERIFY_DOUBLE] = "double",
		[VERIFY_INODE] = "inode", [VERIFY_IMAP] = "imap",
		[VERIFY_EXTENT] = "extent", [VERIFY_NODE] = "node",
		[VERIFY_DIRENT] = "dirent", [VERIFY_LINKS] = "links",
		[VERIFY_UNREACHABLE] = "unreachable", [VERIFY_SIZE] = "size",
		[VERIFY_DIRTREE] = "dirtree", [VERIFY_ORPHAN] = "orphan",
		[VERIFY_XATTR] = "xattr", [VERIFY_LOG] = "log",
		[VERIFY_MEDIUM] = "medium",
	};

	if ((unsigned)kind >= ARRAY_SIZE(name) || !name[kind])
		return "?";
	return name[kind];
}

struct vinode *verify_node(struct verify *v, uint64_t ino)
{
	uint64_t c = ino / PMEMFS_CHUNK_INODES;
	struct vinode *vi;

	if (c >= v->nr_chunks || !v->chunk[c])
		return NULL;
	vi = &v->chunk[c][ino % PMEMFS_CHUNK_INODES];
	return vi->used ? vi : NULL;
}

static void progress(struct verify *v, unsigned from, unsigned to,
		     uint64_t done, uint64_t all)
{
	if (v->progress && all)
		v->progress(v->arg, from + (unsigned)((to - from) * done / all));
}

/* ---- behind the inodes ------------------------------------------------- */

static void count_inode(struct verify_result *res, uint32_t mode)
{
	res->inodes++;
	if (S_ISDIR(mode))
		res->dirs++;
	else if (S_ISREG(mode))
		res->files++;
	else if (S_ISLNK(mode))
		res->symlinks++;
	else
		res->others++;
}

/* A long target: one written block with as many bytes as the size says. */
static void check_target(struct verify *v, const struct pmemfs_inode *di,
			 struct vplace at, const struct vcontent *c)
{
	uint64_t where = get64(di->root.extent[0].where), size = get64(di->size);
	const char *target = di->root.bytes;

	if (di->root_kind == PMEMFS_ROOT_TREE || c->bad)
		return;
	if (di->root_kind == PMEMFS_ROOT_INLINE) {
		if (di->nr_inline != 1 || get64(di->root.extent[0].blk) ||
		    (where & PMEMFS_EXT_UNWRITTEN)) {
			verify_problem(v, VERIFY_INODE, at,
				       "symbolic link without its block");
			return;
		}
		target = pm_at(v->pm, blk_off(ext_blk(where)), size);
	}
	if (memchr(target, '\0', size))
		verify_problem(v, VERIFY_INODE, at, "symbolic link contains a NUL");
}

static void check_content(struct verify *v, uint64_t ino)
{
	uint64_t off = verify_slot_off(v, ino);
	const struct pmemfs_inode *di = verify_inode_at(v, off);
	struct vplace at = { .ino = ino, .off = off };
	struct vcontent c = { 0 };

	count_inode(v->res, get32(di->mode));
	verify_content(v, ino, off, di, &c);
	if (S_ISLNK(get32(di->mode)))
		check_target(v, di, at, &c);
	if (c.bad)
		return;
	if (c.blocks != get64(di->blocks))
		verify_problem(v, VERIFY_SIZE, at, "holds %llu blocks, its inode says %llu",
			       (unsigned long long)c.blocks,
			       (unsigned long long)get64(di->blocks));
	if (S_ISDIR(get32(di->mode)) && c.bytes != get64(di->size))
		verify_problem(v, VERIFY_SIZE, at,
			       "holds %llu bytes of names, its inode says %llu",
			       (unsigned long long)c.bytes,
			       (unsigned long long)get64(di->size));
}

/* Call fn for every inode in use. */
static void each_inode(struct verify *v, unsigned from, unsigned to,
		       void (*fn)(struct verify *v, uint64_t ino))
{
	uint64_t c;
	unsigned i;

	for (c = 0; c < v->nr_chunks && !v->nomem; c++) {
		progress(v, from, to, c, v->nr_chunks);
		for (i = 1; v->chunk[c] && i < PMEMFS_CHUNK_INODES; i++)
			if (v->chunk[c][i].used)
				fn(v, c * PMEMFS_CHUNK_INODES + i);
	}
}

static void content_of(struct verify *v, uint64_t ino)
{
	if (!verify_node(v, ino)->bad)
		check_content(v, ino);
	else
		v->res->inodes++;
}

/* ---- the plot ---------------------------------------------------------- */

static void walk(struct verify *v)
{
	const struct pmemfs_slot *slot;
	uint64_t c;

	verify_areas(v);
	slot = verify_slots(v);
	if (verify_table(v)) {
		for (c = 0; c < v->nr_chunks && !v->nomem; c++) {
			progress(v, 0, 300, c, v->nr_chunks);
			verify_chunk(v, c);
		}
		verify_root_dir(v);
		each_inode(v, 300, 700, content_of);
		verify_orphans(v);
		each_inode(v, 700, 800, verify_links);
	}
	progress(v, 800, 1000, 0, 1);
	verify_groups(v);
	verify_totals(v, slot);
	progress(v, 800, 1000, 1, 1);
}

static void free_all(struct verify *v)
{
	uint64_t i;

	for (i = 0; v->owned && i < v->geo->nr_groups; i++)
		free(v->owned[i]);
	free(v->owned);
	for (i = 0; i < v->nr_chunks; i++)
		free(v->chunk[i]);
	free(v->chunk);
	pieces_free(&v->pieces);
}

int verify_fs(struct fs *fs, verify_fn fn, void *arg,
	      void (*progress_fn)(void *arg, unsigned permille),
	      struct verify_result *res)
{
	struct verify v = {
		.fs = fs, .pm = fs->pm, .geo = &fs->geo,
		.fn = fn, .arg = arg, .progress = progress_fn, .res = res,
	};
	uint64_t fault = pm_fault_mark(fs->pm), off = 0;

	memset(res, 0, sizeof(*res));
	v.owned = calloc(v.geo->nr_groups, sizeof(*v.owned));
	if (!v.owned)
		return -ENOMEM;
	walk(&v);
	if (pm_faulted(fs->pm, fault)) {
		pm_fault_count(fs->pm, &off);
		verify_problem(&v, VERIFY_MEDIUM, (struct vplace){ .off = off },
			       "memory of the pool cannot be read");
		pm_fault_repair(fs->pm);
	}
	free_all(&v);
	return v.nomem ? -ENOMEM : 0;
}
