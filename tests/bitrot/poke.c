/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * poke.c - change a little of everything in a pool that may be damaged
 *
 * poke() finds its objects by the names of the specimen, and does what it can
 * with them; raze() removes what it finds. Only that they end is of interest.
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>

#include "bitrot/survey.h"
#include "copy/copy.h"
#include "meta/fs.h"
#include "op/op.h"

struct poker {
	struct op_ctx c;
	uint64_t state;
};

static uint32_t dice(struct poker *p, uint32_t n)
{
	p->state = p->state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(p->state >> 33) % n;
}

static const char *some_name(struct poker *p)
{
	static const char *const name[] = {
		"empty", "inline", "inline4", "tree", "cut", "hole", "unwritten", "hard",
		"deep", "gone", "dir", "big", "deepdir", "a", "emptydir", "link6", "link64",
		"link65", "link4095", "attrs", "many", "deepattrs", "new", "last", "poke",
	};

	return name[dice(p, sizeof(name) / sizeof(name[0]))];
}

/* 0: there is none. */
static uint64_t look(struct poker *p, const char *name)
{
	struct op_entry e;

	return op_lookup(&p->c, PMEMFS_ROOT_INO, name, strlen(name), &e) ? 0 : e.nodeid;
}

static void bytes(struct poker *p, uint64_t n, uint64_t pos, size_t len)
{
	static uint8_t buf[16384];
	struct payload pl = payload_mem(buf, len);
	size_t done;

	op_write(&p->c, n, pos, &pl, dice(p, 4) ? 0 : OP_WRITE_KILL_PRIV, &done);
}

static void poke_file(struct poker *p, uint64_t n)
{
	static const uint32_t mode[] = {
		0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_ZERO_RANGE,
	};
	uint64_t pos = (uint64_t)dice(p, 50) * 3000;
	struct op_setattr in = { .valid = OP_SET_SIZE | OP_SET_MODE, .mode = 04755,
				 .size = pos };
	struct op_attr out;

	switch (dice(p, 4)) {
	case 0:
		bytes(p, n, pos, 1 + dice(p, 16384));
		break;
	case 1:
		op_setattr(&p->c, n, &in, &out);
		break;
	default:
		op_fallocate(&p->c, n, pos, 1 + dice(p, 60000), mode[dice(p, 4)]);
	}
}

static void poke_attrs(struct poker *p, uint64_t n)
{
	static const char *const name[] = {
		"user.small", "user.blocks", "user.inline", "user.poke", "user.deep3",
		"user.deep7", "trusted.number.11", "security.capability",
	};
	static const uint8_t val[9000] = { 1 };
	const char *a = name[dice(p, sizeof(name) / sizeof(name[0]))];

	if (dice(p, 3))
		op_setxattr(&p->c, n, a, val, dice(p, 2) ? dice(p, 300) : dice(p, 9000), 0);
	else
		op_removexattr(&p->c, n, a);
}

static void poke_names(struct poker *p, uint64_t n, const char *name)
{
	static const uint32_t flags[] = {
		0, 0, RENAME_EXCHANGE, RENAME_NOREPLACE, RENAME_WHITEOUT,
	};
	const char *to = some_name(p), *dir = some_name(p);
	uint64_t d = dice(p, 2) ? look(p, dir) : 0;
	struct op_entry e;

	switch (dice(p, 4)) {
	case 0:
		op_rename(&p->c, PMEMFS_ROOT_INO, name, strlen(name), d ? d : PMEMFS_ROOT_INO,
			  to, strlen(to), flags[dice(p, 5)]);
		break;
	case 1:
		if (!op_link(&p->c, n, d ? d : PMEMFS_ROOT_INO, "poke", 4, &e))
			op_forget(p->c.fs, e.nodeid, 1);
		break;
	case 2:
		op_unlink(&p->c, PMEMFS_ROOT_INO, name, strlen(name));
		break;
	case 3:
		op_rmdir(&p->c, PMEMFS_ROOT_INO, name, strlen(name));
		break;
	}
	if (d)
		op_forget(p->c.fs, d, 1);
}

static void poke_new(struct poker *p)
{
	static char target[4000];
	uint64_t dir = dice(p, 2) ? look(p, some_name(p)) : 0;
	uint64_t parent = dir ? dir : PMEMFS_ROOT_INO;
	char name[201] = "poke";
	struct op_entry e;
	int err = -1;

	memset(target, 't', sizeof(target));
	memset(name + 4, 'a' + (int)dice(p, 26), dice(p, 196));
	switch (dice(p, 4)) {
	case 0:
		err = op_mknod(&p->c, parent, name, strlen(name), S_IFREG | 0644, 0, &e);
		break;
	case 1:
		err = op_mkdir(&p->c, parent, name, strlen(name), 0755, &e);
		break;
	case 2:
		err = op_symlink(&p->c, parent, name, strlen(name), target,
				 1 + dice(p, sizeof(target)), &e);
		break;
	case 3:
		err = op_tmpfile(&p->c, parent, 0600, &e);
		break;
	}
	if (!err) {
		bytes(p, e.nodeid, dice(p, 20000), 1 + dice(p, 16384));
		op_forget(p->c.fs, e.nodeid, 1);
	}
	if (dir)
		op_forget(p->c.fs, dir, 1);
}

void poke(struct fs *fs, uint64_t seed)
{
	struct poker p = { .c = { .fs = fs, .pid = 1 }, .state = seed * 2 + 1 };
	const char *name;
	uint64_t n;

	for (unsigned i = 0; i < 60; i++) {
		if (i == 40)
			fs_drain(fs);
		name = some_name(&p);
		n = look(&p, name);
		if (!n || dice(&p, 5) == 0)
			poke_new(&p);
		else if (dice(&p, 3) == 0)
			poke_names(&p, n, name);
		else if (dice(&p, 2))
			poke_attrs(&p, n);
		else
			poke_file(&p, n);
		if (n)
			op_forget(fs, n, 1);
	}
	fs_checkpoint(fs);
}

/* ---- removing ---------------------------------------------------------- */

#define DEPTH	12u
#define REMOVE	600u			/* names; a hostile pool may have many */

struct one { char name[256]; size_t len; uint64_t off; };

static bool take_one(void *arg, const struct op_dirent *d, const struct op_entry *e)
{
	struct one *o = arg;

	(void)e;
	if (o->len)
		return false;
	o->off = d->off;
	if (d->off < PMEMFS_DIR_MIN_KEY)
		return true;
	o->len = d->len < 255 ? d->len : 255;
	memcpy(o->name, d->name, o->len);
	return true;
}

/* The first name behind off; false: there is none. */
static bool one_name(struct op_ctx *c, uint64_t dir, uint64_t off, struct one *o)
{
	memset(o, 0, sizeof(*o));
	o->off = off;
	return !op_readdir(c, dir, off, false, take_one, o) && o->len;
}

struct level { uint64_t node, off, entered; };

/* Into the directory of that name, the first time it is met. */
static bool enter(struct op_ctx *c, struct level *l, const struct one *o)
{
	struct op_entry e;

	if (o->off == l->entered || op_lookup(c, l->node, o->name, o->len, &e))
		return false;
	if (!S_ISDIR(e.attr.mode)) {
		op_forget(c->fs, e.nodeid, 1);
		return false;
	}
	l->entered = o->off;
	l->off = o->off - 1;		/* to be met again, and removed */
	l[1] = (struct level){ .node = e.nodeid };
	return true;
}

/* What cannot be removed is left, and the walk goes on behind it. */
void raze(struct fs *fs)
{
	struct level way[DEPTH] = { { .node = PMEMFS_ROOT_INO } };
	struct op_ctx c = { .fs = fs, .pid = 1 };
	unsigned d = 0, left = REMOVE;
	struct one o;

	while (left--) {
		if (!one_name(&c, way[d].node, way[d].off, &o)) {
			if (!d)
				break;
			op_forget(fs, way[d--].node, 1);
		} else if (op_unlink(&c, way[d].node, o.name, o.len) &&
			   op_rmdir(&c, way[d].node, o.name, o.len)) {
			if (d + 1 < DEPTH && enter(&c, &way[d], &o))
				d++;
			else
				way[d].off = o.off;
		}
	}
	while (d)
		op_forget(fs, way[d--].node, 1);
	fs_drain(fs);
	fs_checkpoint(fs);
}
