/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crash_tree.c - everything a user can see of a mounted pool
 *
 * One walk serves both: it calls back for every name, in the order of readdir,
 * which the names and the pool's key alone decide.
 */
#include "support/crash_tree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "meta/fs.h"
#include "support/pm_undo.h"

#define MAX_NAMES	8192u
#define XATTR_ROOM	(68u << 10)

struct name {			/* found, not yet looked at */
	char path[320];
	uint64_t nodeid;
	struct op_attr attr;
	unsigned actor;		/* TREE_ACTORS: shared */
};

struct walk {
	const struct op_ctx *c;
	unsigned actors;
	struct name *todo;	/* a stack */
	size_t nr;
	const struct name *dir;	/* being listed */
	int err;
	int (*fn)(void *arg, const struct op_ctx *c, const struct name *n);
	void *arg;
};

/* ---- the walk ---------------------------------------------------------- */

static unsigned actor_of(const struct walk *w, const char *name)
{
	if (w->dir->actor != TREE_ACTORS || w->actors < 2)
		return w->dir->actor;
	return name[0] == 'p' ? 0 : name[0] == 'q' ? 1 : TREE_ACTORS;
}

static bool found(void *arg, const struct op_dirent *d, const struct op_entry *e)
{
	struct walk *w = arg;
	struct name *n = &w->todo[w->nr];
	size_t len = strlen(w->dir->path);

	if (!e)
		return true;			/* the dots */
	if (w->nr == MAX_NAMES || len + d->len + 2 > sizeof(n->path) || !e->nodeid) {
		w->err = e->nodeid ? -ENAMETOOLONG : -EUCLEAN;
		return true;
	}
	memcpy(n->path, w->dir->path, len);
	n->path[len] = '/';
	memcpy(n->path + len + 1, d->name, d->len);
	n->path[len + 1 + d->len] = '\0';
	n->nodeid = e->nodeid;
	n->attr = e->attr;
	n->actor = actor_of(w, n->path + len + 1);
	if (e->attr.ino != d->ino || e->attr.mode >> 12 != d->type)
		w->err = -EUCLEAN;
	w->nr++;
	return true;
}

static int visit(struct walk *w, const struct name *n)
{
	int err = 0;

	if (n->actor != TREE_ACTORS || w->actors < 2)
		err = w->fn(w->arg, w->c, n);
	if (err || !S_ISDIR(n->attr.mode))
		return err;
	w->dir = n;
	err = op_readdir(w->c, n->nodeid, 0, true, found, w);
	return err ? err : w->err;
}

/* One walk at a time. */
static int walk(struct walk *w)
{
	static struct name todo[MAX_NAMES];
	struct name n = { .nodeid = PMEMFS_ROOT_INO, .actor = w->actors < 2 ? 0 : TREE_ACTORS };
	int err;

	w->todo = todo;
	err = op_getattr(w->c, n.nodeid, &n.attr);
	if (!err)
		err = visit(w, &n);
	while (w->nr) {
		n = w->todo[--w->nr];
		if (!err)
			err = visit(w, &n);
		op_forget(w->c->fs, n.nodeid, 1);
	}
	return err;
}

/* ---- what is in a node --------------------------------------------------- */

static int hash_xattrs(const struct op_ctx *c, uint64_t nodeid, uint64_t *out)
{
	char *list, *value;
	size_t len, n, at;
	uint64_t h = 0;
	int err = op_listxattr(c, nodeid, NULL, 0, &len);

	*out = 0;
	if (err || !len)
		return err;
	list = malloc(len);
	value = malloc(XATTR_ROOM);
	assert(list && value);
	err = op_listxattr(c, nodeid, list, len, &len);
	for (at = 0; !err && at < len; at += strlen(list + at) + 1) {
		err = op_getxattr(c, nodeid, list + at, value, XATTR_ROOM, &n);
		if (!err)
			h += hash_bytes(hash_bytes(1, list + at, strlen(list + at)), value, n);
	}
	free(list);
	free(value);
	*out = h;
	return err;
}

static uint64_t hash_piece(uint64_t pos, const uint8_t *p, size_t len)
{
	uint8_t last[UNDO_LINE] = { 0 };
	uint64_t h = 0;

	for (; len >= UNDO_LINE; pos += UNDO_LINE, p += UNDO_LINE, len -= UNDO_LINE)
		h += hash_line(pos / UNDO_LINE, p);
	if (len) {
		memcpy(last, p, len);
		h += hash_line(pos / UNDO_LINE, last);
	}
	return h;
}

/* Holes are lines of zeros and count nothing. */
static int hash_file(const struct op_ctx *c, uint64_t nodeid, uint64_t *out)
{
	struct op_piece piece[32];
	uint64_t pos = 0;
	struct op_read r;
	size_t got;
	unsigned nr;
	int err;

	*out = 0;
	for (;;) {
		err = op_lseek(c, nodeid, pos, SEEK_DATA, &pos);
		if (err)
			return err == -ENXIO ? 0 : err;
		nr = ARRAY_SIZE(piece);
		err = op_read(c, nodeid, pos, 1u << 20, piece, &nr, &got, &r);
		if (err)
			return err;
		for (unsigned i = 0; i < nr; pos += piece[i++].len)
			*out += hash_piece(pos, piece[i].base, piece[i].len);
		err = op_read_done(c, &r);
		if (err || !got)
			return err;
	}
}

/* ---- digest ---------------------------------------------------------------- */

struct digesting {
	struct tree_digest *d;
	bool numbers;			/* inode numbers count */
};

static uint64_t hash_attr(const struct op_attr *a, bool numbers)
{
	uint64_t v[] = {
		numbers ? a->ino : 0, numbers ? a->gen : 0, a->size,
		(uint64_t)a->atime.sec, a->atime.nsec, (uint64_t)a->mtime.sec, a->mtime.nsec,
		(uint64_t)a->ctime.sec, a->ctime.nsec, (uint64_t)a->btime.sec, a->btime.nsec,
		a->mode, a->nlink, a->uid, a->gid, a->rdev, a->projid,
		a->flags & ~PMEMFS_FL_TRUNC,
	};

	return hash_bytes(2, v, sizeof(v));
}

static int digest_node(void *arg, const struct op_ctx *c, const struct name *n)
{
	struct digesting *g = arg;
	uint64_t h = hash_bytes(hash_attr(&n->attr, g->numbers), n->path, strlen(n->path));
	uint64_t more = 0, xattrs;
	char target[4096];
	size_t len;
	int err = 0;

	if (S_ISREG(n->attr.mode))
		err = hash_file(c, n->nodeid, &more);
	else if (S_ISLNK(n->attr.mode)) {
		err = op_readlink(c, n->nodeid, target, &len);
		more = err ? 0 : hash_bytes(3, target, len);
	}
	if (!err)
		err = hash_xattrs(c, n->nodeid, &xattrs);
	if (err)
		return err;
	g->d->seen[n->actor] += hash_bytes(h, (uint64_t[]){ more, xattrs }, 16);
	g->d->blocks[n->actor] += hash_bytes(n->attr.blocks512, n->path, strlen(n->path));
	return 0;
}

int tree_digest(const struct op_ctx *c, unsigned actors, struct tree_digest *d)
{
	struct digesting g = { .d = d, .numbers = actors < 2 };
	struct walk w = { .c = c, .actors = actors, .fn = digest_node, .arg = &g };

	memset(d, 0, sizeof(*d));
	return walk(&w);
}

/* ---- picture ----------------------------------------------------------------- */

static int picture_node(void *arg, const struct op_ctx *c, const struct name *n)
{
	struct tree_picture *p = arg;
	struct tree_node *t;
	int err = 0;

	if (p->nr == p->room) {
		p->room = p->room ? p->room * 2 : 32;
		p->node = realloc(p->node, p->room * sizeof(*p->node));
		assert(p->node);
	}
	t = &p->node[p->nr++];
	memset(t, 0, sizeof(*t));
	memcpy(t->path, n->path, sizeof(t->path));
	t->nodeid = n->nodeid;
	t->attr = n->attr;
	if (S_ISREG(n->attr.mode) || S_ISLNK(n->attr.mode)) {
		t->data = malloc(n->attr.size + 4096);
		assert(t->data);
		err = S_ISREG(n->attr.mode) ?
			op_pread(c, n->nodeid, t->data, n->attr.size, 0, &t->len) :
			op_readlink(c, n->nodeid, (char *)t->data, &t->len);
	}
	return err ? err : hash_xattrs(c, n->nodeid, &t->xattrs);
}

int tree_picture(const struct op_ctx *c, struct tree_picture *p)
{
	struct walk w = { .c = c, .actors = 1, .fn = picture_node, .arg = p };

	memset(p, 0, sizeof(*p));
	return walk(&w);
}

void tree_picture_free(struct tree_picture *p)
{
	for (size_t i = 0; i < p->nr; i++)
		free(p->node[i].data);
	free(p->node);
	memset(p, 0, sizeof(*p));
}

/* ---- comparing ------------------------------------------------------------------ */

static const struct tree_node *find(const struct tree_picture *p, const char *path)
{
	for (size_t i = 0; i < p->nr; i++)
		if (!strcmp(p->node[i].path, path))
			return &p->node[i];
	return NULL;
}

static bool same_bytes(const struct tree_node *a, const struct tree_node *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static bool same_time(struct op_time a, struct op_time b)
{
	return a.sec == b.sec && a.nsec == b.nsec;
}

/* The first thing that differs; NULL: they look alike. times: count them. */
static const char *differs(const struct tree_node *a, const struct tree_node *b, bool times)
{
	const struct op_attr *x = &a->attr, *y = &b->attr;

	if (a->nodeid != b->nodeid)
		return "node id";
	if (x->mode != y->mode)
		return "mode";
	if (x->nlink != y->nlink)
		return "link count";
	if (x->uid != y->uid || x->gid != y->gid)
		return "owner";
	if (x->rdev != y->rdev || x->projid != y->projid ||
	    (x->flags ^ y->flags) & ~PMEMFS_FL_TRUNC)
		return "device or flags";
	if (x->size != y->size)
		return "size";
	if (!same_bytes(a, b))
		return "bytes";
	if (a->xattrs != b->xattrs)
		return "extended attributes";
	if (!same_time(x->btime, y->btime) || !same_time(x->atime, y->atime))
		return "atime or btime";
	if (times && (!same_time(x->mtime, y->mtime) || !same_time(x->ctime, y->ctime)))
		return "mtime or ctime";
	return NULL;
}

/* Byte i of a node; what lies behind its end is zero for who grows over it. */
static uint8_t byte(const struct tree_node *n, uint64_t i)
{
	return n && i < n->len ? n->data[i] : 0;
}

static bool time_of_either(struct op_time t, struct op_time a, struct op_time b)
{
	return same_time(t, a) || same_time(t, b);
}

/* The node the blur is about, with sizes and times of either. */
static const char *blurred(const struct tree_node *is, const struct tree_node *was,
			   const struct tree_node *will, const struct tree_blur *blur)
{
	struct tree_node a = *is;
	uint64_t size = is->attr.size, low, high;

	low = min64(was->attr.size, will->attr.size);
	high = max64(was->attr.size, will->attr.size);
	if (size != was->attr.size && size != will->attr.size &&
	    !(blur->cut && size >= low && size <= high))
		return "size";
	if (!time_of_either(is->attr.mtime, was->attr.mtime, will->attr.mtime) &&
	    !blur->cut)
		return "mtime";
	for (uint64_t i = 0; i < size; i++) {
		bool in = i >= blur->from && i < blur->to;

		if (is->data[i] == byte(will, i) && (in || i >= was->attr.size))
			continue;
		if (i < was->attr.size && is->data[i] == byte(was, i))
			continue;
		return in ? "foreign bytes in the range" : "bytes outside the range";
	}
	if (blur->priv && a.attr.mode == will->attr.mode && a.xattrs == will->xattrs) {
		a.attr.mode = was->attr.mode;
		a.xattrs = was->xattrs;
	}
	/* all else is as before */
	a.attr.size = was->attr.size;
	a.data = was->data;
	a.len = was->len;
	return differs(&a, was, false);
}

const char *tree_between(const struct tree_picture *p, const struct tree_picture *was,
			 const struct tree_picture *will, const struct tree_blur *blur)
{
	if (p->nr != was->nr)
		return "names";
	for (size_t i = 0; i < p->nr; i++) {
		const struct tree_node *a = find(was, p->node[i].path), *b;
		const char *what;

		if (!a)
			return "names";
		b = find(will, p->node[i].path);
		if (b && a->nodeid == blur->node)	/* by any of its names */
			what = blurred(&p->node[i], a, b, blur);
		else
			what = differs(&p->node[i], a, true);
		if (what)
			return what;
	}
	return NULL;
}

void tree_print_diff(FILE *out, const struct tree_picture *is, const struct tree_picture *want)
{
	for (size_t i = 0; i < want->nr; i++)
		if (!find(is, want->node[i].path))
			fprintf(out, "      missing: %s\n", want->node[i].path);
	for (size_t i = 0; i < is->nr; i++) {
		const struct tree_node *a = &is->node[i], *b = find(want, a->path);
		const char *what = b ? differs(a, b, true) : "there, but should not be";
		size_t at = 0;

		if (!what)
			continue;
		fprintf(out, "      %s: %s", *a->path ? a->path : "/", what);
		if (b && !strcmp(what, "bytes")) {
			while (at < a->len && at < b->len && a->data[at] == b->data[at])
				at++;
			fprintf(out, ", first at %zu: %02x, wanted %02x", at, byte(a, at),
				byte(b, at));
		}
		if (b && !strcmp(what, "size"))
			fprintf(out, " %llu, wanted %llu", (unsigned long long)a->attr.size,
				(unsigned long long)b->attr.size);
		fputc('\n', out);
	}
}
