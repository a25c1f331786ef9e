/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crash_model.c - what the bytes of files must be, by our own reckoning
 *
 * The states that images are compared with are looked at through the program
 * under test. So that it cannot be wrong in the same way on both sides, the
 * bytes of every file are also kept here, by what was written, cut and zeroed,
 * and the live tree is held against them after every call.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "support/crash_int.h"

struct model_file {
	uint64_t node;
	uint8_t *data;
	size_t len;
};

static struct model_file *file_of(struct crash_model *m, uint64_t node)
{
	struct model_file *f;

	for (size_t i = 0; i < m->nr; i++)
		if (m->file[i].node == node)
			return &m->file[i];
	m->file = realloc(m->file, (m->nr + 1) * sizeof(*m->file));
	assert(m->file);
	f = &m->file[m->nr++];
	*f = (struct model_file){ .node = node };
	return f;
}

static void resize(struct model_file *f, size_t len)
{
	f->data = realloc(f->data, len + 1);
	assert(f->data);
	if (len > f->len)
		memset(f->data + f->len, 0, len - f->len);
	f->len = len;
}

void crash_model_write(struct crash *c, uint64_t node, uint64_t pos, const void *buf, size_t len)
{
	struct model_file *f = file_of(&c->model, node);

	if (!len)
		return;
	if (pos + len > f->len)
		resize(f, pos + len);
	memcpy(f->data + pos, buf, len);
}

void crash_model_size(struct crash *c, uint64_t node, uint64_t size)
{
	resize(file_of(&c->model, node), size);
}

void crash_model_zero(struct crash *c, uint64_t node, uint64_t from, uint64_t to)
{
	struct model_file *f = file_of(&c->model, node);

	if (from < min64(to, f->len))
		memset(f->data + from, 0, min64(to, f->len) - from);
}

uint64_t crash_model_len(struct crash *c, uint64_t node)
{
	return file_of(&c->model, node)->len;
}

void crash_model_free(struct crash_model *m)
{
	for (size_t i = 0; i < m->nr; i++)
		free(m->file[i].data);
	free(m->file);
	*m = (struct crash_model){ .nr = 0 };
}

void crash_model_copy(struct crash_model *to, const struct crash_model *from)
{
	crash_model_free(to);
	for (size_t i = 0; i < from->nr; i++) {
		struct model_file *f = file_of(to, from->file[i].node);

		resize(f, from->file[i].len);
		memcpy(f->data, from->file[i].data, f->len);
	}
}

void crash_model_check(struct crash *c, const struct tree_picture *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		const struct tree_node *n = &p->node[i];
		struct model_file *f;
		size_t at = 0;

		if (!S_ISREG(n->attr.mode))
			continue;
		f = file_of(&c->model, n->nodeid);
		while (at < n->len && at < f->len && n->data[at] == f->data[at])
			at++;
		if (n->len != f->len || at < f->len)
			crash_complain(c, "call %u left %s with %zu bytes and wrong ones from %zu "
				       "on, it should have %zu", c->actor[0].nr_calls, n->path,
				       n->len, at, f->len);
	}
}
