/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shapes.c - what is done to a file, for files of every shape
 *
 * Atomicity and bytes must not depend on how an inode happens to keep its
 * blocks, so each operation meets each shape, at places that matter: inside a
 * block, across blocks, extents and leaves, at the end, beyond it.
 */
#include <linux/falloc.h>
#include <string.h>

#include "base/bytes.h"
#include "crash/loads.h"

#define BLK	4096ull
#define KEEP	FALLOC_FL_KEEP_SIZE
#define PUNCH	(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

/* ---- shapes ---------------------------------------------------------------- */

static void others(struct crash *c)
{
	do_create(c, "g");
	do_write(c, "g", 0, 3 * BLK, 900);
	do_create(c, "f");
}

static void make_empty(struct crash *c)
{
	others(c);
}

static void make_block(struct crash *c)
{
	others(c);
	do_write(c, "f", 0, 1000, 901);
}

/* Every second block of the file, so no two are one extent. */
static void scattered(struct crash *c, unsigned extents)
{
	others(c);
	for (unsigned i = 0; i < extents; i++)
		do_write(c, "f", i * 2 * BLK, BLK - (i + 1 == extents ? 1000 : 0), 902);
}

static void make_inline_full(struct crash *c) { scattered(c, 4); }
static void make_tree(struct crash *c) { scattered(c, 5); }
static void make_leaf_full(struct crash *c) { scattered(c, 203); }
static void make_deep(struct crash *c) { scattered(c, 300); }

static void make_hole(struct crash *c)
{
	others(c);
	do_write(c, "f", 0, BLK + 100, 903);
	do_write(c, "f", 20 * BLK + 200, BLK + 100, 903);
}

static void make_unwritten(struct crash *c)
{
	static const struct cop space = {
		.kind = COP_FALLOCATE, .a = "f", .x = 0, .y = 8 * BLK,
	};

	others(c);
	cop_do(c, &space, 0);
	do_write(c, "f", 3 * BLK, 2 * BLK, 904);
}

static void make_kept(struct crash *c)
{
	static const struct cop space = {
		.kind = COP_FALLOCATE, .a = "f", .x = 0, .y = 8 * BLK, .flags = KEEP,
	};

	others(c);
	do_write(c, "f", 0, 2 * BLK + 1000, 905);
	cop_do(c, &space, 0);
}

static void make_huge(struct crash *c)
{
	others(c);
	do_write(c, "f", 0, 1 << 20, 906);
	do_write(c, "f", 1 << 20, (1 << 20) + 5000, 906);
}

/* A size that lies inside a block whose rest holds what was there before. */
static void make_cut(struct crash *c)
{
	others(c);
	do_write(c, "f", 0, 3 * BLK, 907);
	do_truncate(c, "f", BLK + 1001);
}

static const struct shape {
	struct crash_setup setup;
	uint64_t size;
} shapes[] = {
	{ { .name = "empty", .make = make_empty }, 0 },
	{ { .name = "block", .make = make_block }, 1000 },
	{ { .name = "inline_full", .make = make_inline_full }, 7 * BLK - 1000 },
	{ { .name = "tree", .make = make_tree }, 9 * BLK - 1000 },
	{ { .name = "leaf_full", .make = make_leaf_full }, 405 * BLK - 1000 },
	{ { .name = "deep", .make = make_deep }, 599 * BLK - 1000 },
	{ { .name = "hole", .make = make_hole }, 21 * BLK + 300 },
	{ { .name = "unwritten", .make = make_unwritten }, 8 * BLK },
	{ { .name = "kept", .make = make_kept }, 2 * BLK + 1000 },
	{ { .name = "huge", .make = make_huge }, (2 << 20) + 5000 },
	{ { .name = "cut", .make = make_cut }, BLK + 1001 },
};

bool shape_at(unsigned i, const struct crash_setup **setup, uint64_t *size)
{
	if (i >= ARRAY_SIZE(shapes))
		return false;
	*setup = &shapes[i].setup;
	*size = shapes[i].size;
	return true;
}

/* ---- what is done to them ------------------------------------------------------ */

enum where { AT, MIDDLE, END };		/* of the file; MIDDLE is a block's start */

static const struct doing {
	const char *name;
	enum cop_kind kind;
	enum where from;
	int64_t off;
	enum where to;			/* END: until the end, and off2 more */
	int64_t len;
	uint32_t flags;
} doings[] = {
	{ "over_1", COP_WRITE, MIDDLE, 500, AT, 1, 0 },
	{ "over_7", COP_WRITE, MIDDLE, BLK - 4, AT, 7, 0 },
	{ "over_63", COP_WRITE, MIDDLE, 129, AT, 63, 0 },
	{ "over_65", COP_WRITE, MIDDLE, 127, AT, 65, 0 },
	{ "over_block", COP_WRITE, MIDDLE, 0, AT, BLK, 0 },
	{ "over_blocks", COP_WRITE, MIDDLE, 100, AT, 2 * BLK, 0 },
	{ "over_start", COP_WRITE, AT, 1, AT, 5 * BLK, 0 },
	{ "over_end", COP_WRITE, END, -700, AT, 2000, 0 },
	{ "over_all", COP_WRITE, AT, 0, END, 0, 0 },
	{ "append_1", COP_WRITE, END, 0, AT, 1, 0 },
	{ "append_7", COP_WRITE, END, 0, AT, 7, 0 },
	{ "append_65", COP_WRITE, END, 0, AT, 65, 0 },
	{ "append_blocks", COP_WRITE, END, 0, AT, 3 * BLK, 0 },
	{ "append_1m", COP_WRITE, END, 0, AT, 1 << 20, 0 },
	{ "beyond_63", COP_WRITE, END, 2 * BLK + 100, AT, 63, 0 },
	{ "sparse", COP_WRITE, END, 50 << 20, AT, BLK, 0 },
	{ "pipe_over", COP_PIPE, MIDDLE, 1000, AT, 5000, 0 },
	{ "pipe_append", COP_PIPE, END, 0, AT, 5000, 0 },
	{ "truncate_0", COP_TRUNCATE, AT, 0, AT, 0, 0 },
	{ "truncate_middle", COP_TRUNCATE, MIDDLE, 0, AT, 0, 0 },
	{ "truncate_inside", COP_TRUNCATE, MIDDLE, 1001, AT, 0, 0 },
	{ "truncate_less", COP_TRUNCATE, END, -1, AT, 0, 0 },
	{ "truncate_more", COP_TRUNCATE, END, 1001, AT, 0, 0 },
	{ "truncate_far", COP_TRUNCATE, END, 30 << 20, AT, 0, 0 },
	{ "punch_block", COP_FALLOCATE, MIDDLE, 0, AT, BLK, PUNCH },
	{ "punch_inside", COP_FALLOCATE, MIDDLE, 100, AT, 900, PUNCH },
	{ "punch_across", COP_FALLOCATE, MIDDLE, 100, AT, 5 * BLK, PUNCH },
	{ "punch_all", COP_FALLOCATE, AT, 0, END, BLK, PUNCH },
	{ "zero_block", COP_FALLOCATE, MIDDLE, 0, AT, BLK, FALLOC_FL_ZERO_RANGE },
	{ "zero_across", COP_FALLOCATE, MIDDLE, 100, AT, 5 * BLK, FALLOC_FL_ZERO_RANGE },
	{ "zero_more", COP_FALLOCATE, END, -500, AT, 3 * BLK, FALLOC_FL_ZERO_RANGE },
	{ "space", COP_FALLOCATE, AT, 0, END, 5 * BLK + 1, 0 },
	{ "space_keep", COP_FALLOCATE, END, 0, AT, 9 * BLK, KEEP },
	{ "unlink", COP_UNLINK, AT, 0, AT, 0, 0 },
	{ "open_unlink", COP_OPEN_UNLINK, AT, 0, AT, 0, 0 },
	{ "open_trunc", COP_OPEN_TRUNC, AT, 0, AT, 0, 0 },
};

static uint64_t place(enum where w, int64_t off, uint64_t size)
{
	uint64_t at = w == AT ? 0 : w == END ? size : align_down(size / 2, 2 * BLK);

	return off < 0 && at < (uint64_t)-off ? 0 : at + (uint64_t)off;
}

static void run_shape(struct crash *c, const struct crash_load *l, unsigned actor)
{
	const struct shape *s = &shapes[l->op[0]];
	const struct doing *d = &doings[l->op[1]];
	struct cop op = { .kind = d->kind, .a = "f", .flags = d->flags };

	(void)actor;
	op.x = place(d->from, d->off, s->size);
	op.y = place(d->to, d->len, s->size);
	crash_op(c, 0);
	if (d->to != END || op.y > op.x)
		cop_do(c, &op, 1);
}

bool get_shape(uint64_t i, struct crash_load *l)
{
	unsigned s = (unsigned)(i / ARRAY_SIZE(doings)), d = i % ARRAY_SIZE(doings);

	if (s >= ARRAY_SIZE(shapes))
		return false;
	*l = (struct crash_load){
		.setup = &shapes[s].setup, .actors = 1, .run = run_shape, .op = { s, d },
		.nr_ops = 2,
	};
	snprintf(l->name, sizeof(l->name), "shape/%s+%s", shapes[s].setup.name, doings[d].name);
	return true;
}

/* With data=atomic: the writes, which come first in the table. */
bool get_atomic(uint64_t i, struct crash_load *l)
{
	unsigned writes = 0, s, d;

	while (doings[writes].kind == COP_WRITE || doings[writes].kind == COP_PIPE)
		writes++;
	s = (unsigned)(i / writes);
	d = (unsigned)(i % writes);
	if (!get_shape((uint64_t)s * ARRAY_SIZE(doings) + d, l))
		return false;
	l->flags |= LOAD_ATOMIC | LOAD_KILL;
	snprintf(l->name, sizeof(l->name), "atomic/%s+%s", shapes[s].setup.name, doings[d].name);
	return true;
}

/* ---- every edge ------------------------------------------------------------------ */

/* Around a block's start in the middle of the file, and around its end. */
static const int64_t edge_at[] = { -1, 0, 1, 7, 63, 64, 65, BLK - 1 };
static const uint64_t edge_len[] = { 1, 7, 63, 65, BLK - 1, BLK, BLK + 1, 2 * BLK + 7 };

static void run_edge(struct crash *c, const struct crash_load *l, unsigned actor)
{
	uint64_t size = shapes[l->op[0]].size;
	struct cop op = { .kind = COP_WRITE, .a = "f" };

	(void)actor;
	op.x = place(l->op[3] ? END : MIDDLE, edge_at[l->op[1]], size);
	op.y = edge_len[l->op[2]];
	cop_do(c, &op, 1);
}

/* data=atomic and data=ordered in turn. */
bool get_edge(uint64_t i, struct crash_load *l)
{
	static const char *const where[] = { "middle", "end" };
	unsigned nr[5], radix[5] = { 2, ARRAY_SIZE(edge_len), ARRAY_SIZE(edge_at), 2,
				     ARRAY_SIZE(shapes) };

	for (unsigned k = 0; k < 5; k++) {
		nr[k] = (unsigned)(i % radix[k]);
		i /= radix[k];
	}
	if (i)
		return false;
	*l = (struct crash_load){
		.setup = &shapes[nr[4]].setup, .actors = 1, .run = run_edge,
		.op = { nr[4], nr[2], nr[1], nr[3] }, .nr_ops = 4,
		.flags = nr[0] ? 0 : LOAD_ATOMIC,
	};
	snprintf(l->name, sizeof(l->name), "edge/%s+%s%+lld+%llu+%s", shapes[nr[4]].setup.name,
		 where[nr[3]], (long long)edge_at[nr[2]], (unsigned long long)edge_len[nr[1]],
		 nr[0] ? "ordered" : "atomic");
	return true;
}
