/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * survey.c - everything that a mounted pool hands out, and whether it is right
 *
 * Bounded, so that a hostile pool that claims a million names or a file of
 * exabytes costs little; a walk that meets more names than the pool has bytes
 * for is endless, and that is a bug.
 */
#include "bitrot/survey.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "op/op.h"
#include "pmemfs/format.h"
#include "support/pm_undo.h"

#define MAX_NAMES	50000u		/* more: endless */
#define MAX_SEGMENTS	1000u		/* of a file */
#define MAX_BYTES	(4u << 20)	/* read of a file */
#define MAX_PATH	3000u
#define BATCH		7u		/* names by one readdir */
#define READ		65536u

struct dir { uint64_t node; char *path; };

struct view {
	struct op_ctx c;
	const struct survey *ref;
	struct survey *out;
	struct survey_result *res;
	struct dir *todo;
	size_t nr_todo, room;
	unsigned names;
};

/* ---- answers ----------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
	const struct answer *x = a, *y = b;
	int d = strcmp(x->path, y->path);

	return d ? d : x->aspect - y->aspect;
}

static void keep(struct survey *sv, const struct answer *a)
{
	if (sv->nr == sv->room) {
		sv->room = sv->room ? sv->room * 2 : 1024;
		sv->answer = realloc(sv->answer, sv->room * sizeof(*sv->answer));
		assert(sv->answer);
	}
	sv->answer[sv->nr] = *a;
	sv->answer[sv->nr++].path = strdup(a->path);
}

static void compare(struct view *v, const struct answer *a)
{
	const struct answer *ref = NULL;

	if (v->ref->nr)
		ref = bsearch(a, v->ref->answer, v->ref->nr, sizeof(*a), by_path);
	if ((ref && ref->err == a->err && ref->hash == a->hash) || v->res->wrong)
		return;
	v->res->wrong = true;
	snprintf(v->res->what, sizeof(v->res->what), "%.300s: answer %c is %s (%d, %llx)",
		 a->path, a->aspect, ref ? "another one" : "one too many", a->err,
		 (unsigned long long)a->hash);
}

/* Somebody was told err and, if that is 0, something with this hash. */
static void tell(struct view *v, const char *path, char aspect, int err, uint64_t hash)
{
	struct answer a = { .aspect = aspect, .err = err, .hash = err ? 0 : hash };
	char copy[MAX_PATH + 400];

	v->res->answers++;
	if (!v->out && (err == -EUCLEAN || err == -EIO))
		v->res->errors++;
	else if (v->out || v->ref) {
		snprintf(copy, sizeof(copy), "%s", path);
		a.path = copy;
		if (v->out)
			keep(v->out, &a);
		else
			compare(v, &a);
	}
}

/* 0 where nobody compares: hashing costs more than looking. */
static uint64_t digest(const struct view *v, uint64_t seed, const void *buf, size_t len)
{
	return v->ref || v->out ? hash_bytes(seed, buf, len) : 0;
}

static uint64_t attr_hash(const struct view *v, const struct op_attr *a)
{
	uint64_t w[] = {
		a->ino, a->size, a->blocks512, a->mode, a->nlink, a->uid, a->gid, a->rdev,
		(uint64_t)a->atime.sec, (uint64_t)a->mtime.sec, (uint64_t)a->ctime.sec,
		(uint64_t)a->btime.sec, a->atime.nsec, a->mtime.nsec, a->ctime.nsec,
		a->btime.nsec, a->flags, a->projid, a->gen,
	};

	return digest(v, 1, w, sizeof(w));
}

/* ---- one node ---------------------------------------------------------- */

static void see_attrs(struct view *v, uint64_t node, const char *path)
{
	static char list[65536], val[65536];
	char at[MAX_PATH + 300];
	size_t len = 0, size, pos;
	int err = op_listxattr(&v->c, node, list, sizeof(list), &len);

	tell(v, path, 'x', err, err ? 0 : digest(v, 2, list, len));
	for (pos = 0; !err && pos < len; pos += strlen(list + pos) + 1) {
		int e = op_getxattr(&v->c, node, list + pos, val, sizeof(val), &size);

		snprintf(at, sizeof(at), "%s:%s", path, list + pos);
		tell(v, at, 'v', e, e ? 0 : digest(v, 3, val, size));
	}
}

static int see_bytes(struct view *v, uint64_t node, const char *path, uint64_t pos, size_t len)
{
	static uint8_t buf[READ];
	char at[MAX_PATH + 100];
	size_t got = 0;
	int err = op_pread(&v->c, node, buf, len, pos, &got);

	snprintf(at, sizeof(at), "%s[%llu+%zu]", path, (unsigned long long)pos, len);
	tell(v, at, 'd', err, err ? 0 : digest(v, 4, buf, got));
	return err;
}

/* The parts that hold data, wherever they are. */
static void see_data(struct view *v, uint64_t node, const char *path, uint64_t size)
{
	uint64_t pos = 0, end, total = 0;
	unsigned i;
	char at[MAX_PATH + 100];
	int err = 0;

	see_bytes(v, node, path, 0, READ);
	if (size > READ)
		see_bytes(v, node, path, size - 100, 4096);
	for (i = 0; i < MAX_SEGMENTS && !err && total < MAX_BYTES; i++) {
		snprintf(at, sizeof(at), "%s>%llu", path, (unsigned long long)pos);
		err = op_lseek(&v->c, node, pos, SEEK_DATA, &pos);
		tell(v, at, 's', err, pos);
		if (!err)
			err = op_lseek(&v->c, node, pos, SEEK_HOLE, &end);
		tell(v, at, 'h', err, end);
		for (; !err && pos < end && total < MAX_BYTES; total += READ) {
			size_t n = end - pos < READ ? end - pos : READ;

			err = see_bytes(v, node, path, pos, n);
			pos += n;
		}
	}
}

static void later(struct view *v, uint64_t node, const char *path)
{
	if (v->nr_todo == v->room) {
		v->room = v->room ? v->room * 2 : 64;
		v->todo = realloc(v->todo, v->room * sizeof(*v->todo));
		assert(v->todo);
	}
	v->todo[v->nr_todo++] = (struct dir){ node, strdup(path) };
}

/* Has one lookup, which goes with it. */
static void see_node(struct view *v, uint64_t node, const char *path)
{
	char target[4096];
	struct op_attr a;
	size_t len = 0;
	int err = op_getattr(&v->c, node, &a), e;

	tell(v, path, 'a', err, err ? 0 : attr_hash(v, &a));
	if (!err) {
		see_attrs(v, node, path);
		e = op_readlink(&v->c, node, target, &len);
		tell(v, path, 't', e, e ? 0 : digest(v, 5, target, len));
		if (S_ISREG(a.mode))
			see_data(v, node, path, a.size);
	}
	if (!err && S_ISDIR(a.mode))
		later(v, node, path);
	else
		op_forget(v->c.fs, node, 1);
}

/* ---- one directory ----------------------------------------------------- */

struct name {
	char name[256];
	size_t len;
	uint64_t off, ino, node;
	uint32_t type;
	struct op_attr attr;
	bool dot;
};

struct batch { struct name n[BATCH]; unsigned nr; };

static bool take_name(void *arg, const struct op_dirent *d, const struct op_entry *e)
{
	struct batch *b = arg;
	struct name *n = &b->n[b->nr];

	if (b->nr == BATCH)
		return false;
	memset(n, 0, sizeof(*n));
	n->len = d->len < 255 ? d->len : 255;
	memcpy(n->name, d->name, n->len);
	n->off = d->off;
	n->ino = d->ino;
	n->type = d->type;
	n->dot = !e;
	if (e) {
		n->node = e->nodeid;
		n->attr = e->attr;
	}
	b->nr++;
	return true;
}

static void see_name(struct view *v, const struct dir *d, const struct name *n)
{
	uint64_t w[2] = { n->ino, n->type };
	char path[MAX_PATH + 300];
	struct op_entry e;
	int err;

	snprintf(path, sizeof(path), "%s/%s", d->path, n->name);
	tell(v, path, 'n', 0, digest(v, 6, w, sizeof(w)));
	if (n->dot)
		return;
	tell(v, path, 'p', n->node ? 0 : -EIO, attr_hash(v, &n->attr));
	if (n->node)
		op_forget(v->c.fs, n->node, 1);
	err = op_lookup(&v->c, d->node, n->name, n->len, &e);
	tell(v, path, 'l', err, err ? 0 : attr_hash(v, &e.attr));
	if (err)
		return;
	if (strlen(path) < MAX_PATH)
		see_node(v, e.nodeid, path);
	else
		op_forget(v->c.fs, e.nodeid, 1);
}

static void see_dir(struct view *v, const struct dir *d)
{
	struct op_entry e;
	struct batch b;
	uint64_t off = 0, nr = 0;
	unsigned i;
	int err;

	do {
		b.nr = 0;
		err = op_readdir(&v->c, d->node, off, true, take_name, &b);
		for (i = 0; i < b.nr; i++) {
			off = b.n[i].off;
			see_name(v, d, &b.n[i]);
		}
		nr += b.nr;
		v->names += b.nr;
	} while (!err && b.nr && v->names < MAX_NAMES);
	tell(v, d->path, 'c', err, nr);
	err = op_lookup(&v->c, d->node, "..", 2, &e);
	tell(v, d->path, 'u', err, err ? 0 : e.attr.ino);
	if (!err)
		op_forget(v->c.fs, e.nodeid, 1);
}

static void see_statfs(struct view *v)
{
	struct op_statfs st;
	int err = op_statfs(&v->c, &st);
	uint64_t w[] = { st.blocks, st.bfree, st.bavail, st.files, st.ffree };

	tell(v, "", 'f', err, digest(v, 7, w, sizeof(w)));
}

static void see_all(struct view *v)
{
	struct op_entry root;
	int err = op_lookup(&v->c, PMEMFS_ROOT_INO, ".", 1, &root);
	struct dir d;

	see_statfs(v);
	tell(v, "", 'l', err, err ? 0 : attr_hash(v, &root.attr));
	if (!err)
		see_node(v, root.nodeid, "");
	while (v->nr_todo) {
		d = v->todo[--v->nr_todo];
		if (v->names < MAX_NAMES)
			see_dir(v, &d);
		op_forget(v->c.fs, d.node, 1);
		free(d.path);
	}
	v->res->endless = v->names >= MAX_NAMES;
	free(v->todo);
}

/* ---- surveys ----------------------------------------------------------- */

void survey_make(struct survey *sv, struct fs *fs)
{
	struct survey_result res = { 0 };
	struct view v = { .c = { .fs = fs, .pid = 1 }, .out = sv, .res = &res };

	memset(sv, 0, sizeof(*sv));
	see_all(&v);
	qsort(sv->answer, sv->nr, sizeof(*sv->answer), by_path);
}

void survey_free(struct survey *sv)
{
	for (size_t i = 0; i < sv->nr; i++)
		free(sv->answer[i].path);
	free(sv->answer);
}

void survey_check(const struct survey *ref, struct fs *fs, struct survey_result *res)
{
	struct view v = { .c = { .fs = fs, .pid = 1 }, .ref = ref, .res = res };

	memset(res, 0, sizeof(*res));
	see_all(&v);
}
