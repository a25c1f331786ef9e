/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.c - what the soak's operations mean
 */
#include "soak/soak.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/falloc.h>

void slot_path(unsigned slot, char buf[16])
{
	if (slot < NAMES)
		snprintf(buf, 16, "n%u", slot % NAMES);
	else
		snprintf(buf, 16, "d%u/n%u", slot / NAMES % DIRS, slot % NAMES);
}

void dir_path(unsigned dir, char buf[16])
{
	snprintf(buf, 16, dir ? "d%u" : ".", dir % DIRS);
}

static uint64_t scramble(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Never zero: a zero byte is one that was not written. */
void seed_bytes(uint64_t seed, uint8_t *buf, size_t len)
{
	uint64_t w = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (i % 8 == 0)
			w = scramble(seed ^ i);
		buf[i] = (uint8_t)(w >> i % 8 * 8);
		buf[i] += !buf[i];
	}
}

void seed_target(uint64_t seed, char *buf, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = (char)('a' + scramble(seed ^ i) % 26);
}

/* ---- life ------------------------------------------------------------------ */

void model_init(struct model *m)
{
	memset(m, 0, sizeof(*m));
	m->dir[0] = true;
	for (unsigned i = 0; i < SLOTS; i++)
		m->slot[i] = -1;
}

void model_free(struct model *m)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		free(m->node[i].data);
		m->node[i].data = NULL;
	}
}

void model_copy(struct model *to, const struct model *from)
{
	*to = *from;
	for (unsigned i = 0; i < SLOTS; i++) {
		if (!from->node[i].data)
			continue;
		to->node[i].data = malloc(FILE_MAX);
		assert(to->node[i].data);
		memcpy(to->node[i].data, from->node[i].data, from->node[i].size);
	}
}

/* ---- nodes ------------------------------------------------------------------ */

static struct node *at(struct model *m, unsigned slot)
{
	return m->slot[slot] < 0 ? NULL : &m->node[m->slot[slot]];
}

static bool is_file(const struct model *m, unsigned slot)
{
	return m->slot[slot] >= 0 && !m->node[m->slot[slot]].symlink;
}

static bool can_make(const struct model *m, unsigned slot)
{
	return m->dir[slot / NAMES] && m->slot[slot] < 0;
}

static struct node *make(struct model *m, unsigned slot)
{
	int i = 0;

	while (m->node[i].links)
		i++;			/* there are as many nodes as slots */
	memset(&m->node[i], 0, sizeof(m->node[i]));
	m->node[i].links = 1;
	m->slot[slot] = i;
	return &m->node[i];
}

static struct node *make_file(struct model *m, const struct entry *e)
{
	struct node *n = make(m, e->a);

	n->mode = e->mode;
	n->data = malloc(FILE_MAX);
	assert(n->data);
	return n;
}

static void drop(struct model *m, unsigned slot)
{
	struct node *n = at(m, slot);

	m->slot[slot] = -1;
	if (!n || --n->links)
		return;
	free(n->data);
	n->data = NULL;
}

/* ---- bytes ------------------------------------------------------------------ */

static void resize(struct node *n, uint64_t size)
{
	if (size > n->size)
		memset(n->data + n->size, 0, size - n->size);
	n->size = (uint32_t)size;
	n->mtime_known = false;
}

static void put(struct node *n, uint64_t pos, uint64_t seed, uint32_t len)
{
	if (pos + len > n->size)
		resize(n, pos + len);
	seed_bytes(seed, n->data + pos, len);
	n->mtime_known = false;
}

static void fallocated(struct node *n, const struct entry *e)
{
	uint64_t end = e->pos + e->len, upto;

	if (!(e->mode & FALLOC_FL_KEEP_SIZE) && end > n->size)
		resize(n, end);
	upto = end < n->size ? end : n->size;
	if ((e->mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) && e->pos < upto)
		memset(n->data + e->pos, 0, upto - e->pos);
	n->mtime_known = false;
}

/* ---- operations -------------------------------------------------------------- */

bool model_allows(const struct model *m, const struct entry *e)
{
	bool file = e->a < SLOTS && is_file(m, e->a);
	uint32_t size = file ? m->node[m->slot[e->a]].size : 0;
	unsigned i;

	switch ((enum soak_op)e->op) {
	case OP_CREATE: case OP_TMPFILE: case OP_SYMLINK:
		return can_make(m, e->a);
	case OP_WRITE: case OP_FALLOCATE:
		return file && e->pos + e->len <= FILE_MAX;
	case OP_APPEND:
		return file && size + e->len <= FILE_MAX;
	case OP_MMAP:
		return file && e->pos + e->len <= size;
	case OP_TRUNCATE: case OP_FSYNC: case OP_READ: case OP_CHMOD: case OP_UTIME:
	case OP_SETXATTR:
		return file;
	case OP_REMOVEXATTR:
		return file && m->node[m->slot[e->a]].attr[e->b].set;
	case OP_RENAME:
		/* two names of one file: nothing would happen */
		return m->slot[e->a] >= 0 && m->dir[e->b / NAMES] && m->slot[e->a] != m->slot[e->b];
	case OP_EXCHANGE:
		return m->slot[e->a] >= 0 && m->slot[e->b] >= 0 && m->slot[e->a] != m->slot[e->b];
	case OP_LINK:
		return m->slot[e->a] >= 0 && can_make(m, e->b);
	case OP_UNLINK:
		return m->slot[e->a] >= 0;
	case OP_UNLINK_OPEN:
		return file && m->node[m->slot[e->a]].links == 1;
	case OP_MKDIR:
		return !m->dir[e->a];
	case OP_RMDIR:
		for (i = 0; i < NAMES; i++)
			if (m->slot[e->a * NAMES + i] >= 0)
				return false;
		return e->a && m->dir[e->a];
	case OP_MOVE_DIR:
		return e->a && e->b && m->dir[e->a] && !m->dir[e->b];
	default:
		return false;
	}
}

static void apply_name(struct model *m, const struct entry *e)
{
	int swap = m->slot[e->a];
	unsigned i;

	switch ((enum soak_op)e->op) {
	case OP_RENAME:
		drop(m, e->b);
		m->slot[e->b] = swap;
		m->slot[e->a] = -1;
		break;
	case OP_EXCHANGE:
		m->slot[e->a] = m->slot[e->b];
		m->slot[e->b] = swap;
		break;
	case OP_LINK:
		m->slot[e->b] = swap;
		m->node[swap].links++;
		break;
	case OP_UNLINK: case OP_UNLINK_OPEN:
		drop(m, e->a);
		break;
	case OP_MKDIR: case OP_RMDIR:
		m->dir[e->a] = e->op == OP_MKDIR;
		break;
	default:	/* OP_MOVE_DIR */
		m->dir[e->a] = false;
		m->dir[e->b] = true;
		for (i = 0; i < NAMES; i++) {
			m->slot[e->b * NAMES + i] = m->slot[e->a * NAMES + i];
			m->slot[e->a * NAMES + i] = -1;
		}
	}
}

static void apply_node(struct node *n, const struct entry *e)
{
	switch ((enum soak_op)e->op) {
	case OP_WRITE: case OP_MMAP:
		put(n, e->pos, e->seed, e->len);
		break;
	case OP_APPEND:
		put(n, n->size, e->seed, e->len);
		break;
	case OP_TRUNCATE:
		resize(n, e->len);
		break;
	case OP_FALLOCATE:
		fallocated(n, e);
		break;
	case OP_SETXATTR: case OP_REMOVEXATTR:
		n->attr[e->b] = (struct attr){ e->seed, e->len, e->op == OP_SETXATTR };
		break;
	case OP_CHMOD:
		n->mode = e->mode;
		break;
	case OP_UTIME:
		n->mtime = e->seed;
		n->mtime_known = true;
		break;
	default:	/* OP_FSYNC, OP_READ */
		break;
	}
}

void model_apply(struct model *m, const struct entry *e)
{
	struct node *n;

	switch ((enum soak_op)e->op) {
	case OP_CREATE:
		make_file(m, e);
		break;
	case OP_TMPFILE:
		put(make_file(m, e), 0, e->seed, e->len);
		break;
	case OP_SYMLINK:
		n = make(m, e->a);
		n->symlink = true;
		n->seed = e->seed;
		n->size = e->len;
		break;
	case OP_RENAME: case OP_EXCHANGE: case OP_LINK: case OP_UNLINK: case OP_UNLINK_OPEN:
	case OP_MKDIR: case OP_RMDIR: case OP_MOVE_DIR:
		apply_name(m, e);
		break;
	default:
		apply_node(at(m, e->a), e);
	}
}

struct node *model_mixes(struct model *m, const struct entry *e)
{
	switch ((enum soak_op)e->op) {
	case OP_WRITE: case OP_APPEND: case OP_MMAP: case OP_FALLOCATE:
		return at(m, e->a);
	default:
		return NULL;
	}
}
