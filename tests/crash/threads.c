/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * threads.c - two workers at once, in two lanes
 *
 * Each follows a script, on names of its own in directories of its own and in
 * a shared one, whose tree nodes, link count and times both change. Every
 * schedule with one switch, and some with many (crash_sched.c). No bytes are
 * overwritten here: what may be mixed is not known to the judge of two.
 */
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>

#include "base/bytes.h"
#include "crash/loads.h"

#define BLK	4096ull

#define SWITCHES	160u		/* 80 calls of either */
#define DICE		24u

/* '@' in a path is the worker's letter. */
static const struct script {
	const char *name;
	struct cop op[4];
} scripts[] = {
	{ "create", {
		{ .kind = COP_CREATE, .a = "s/@new", .x = 0644 },
		{ .kind = COP_WRITE, .a = "s/@new", .x = 10, .y = 5000 },
		{ .kind = COP_RENAME, .a = "s/@new", .b = "@/moved" } } },
	{ "remove", {
		{ .kind = COP_UNLINK, .a = "s/@2" },
		{ .kind = COP_RMDIR, .a = "s/@dir" },
		{ .kind = COP_UNLINK, .a = "@/f" } } },
	{ "write", {
		{ .kind = COP_WRITE, .a = "@/f", .x = 10000, .y = 9000 },
		{ .kind = COP_WRITE, .a = "s/@1", .x = 500, .y = 70 },
		{ .kind = COP_TRUNCATE, .a = "@/f", .x = 0 } } },
	{ "replace", {
		{ .kind = COP_RENAME, .a = "s/@1", .b = "s/@2" },
		{ .kind = COP_RENAME, .a = "@/f", .b = "s/@2", .flags = RENAME_EXCHANGE },
		{ .kind = COP_MKDIR, .a = "s/@d2" } } },
	{ "xattr", {
		{ .kind = COP_SETXATTR, .a = "@/f", .b = "user.a", .x = 5000 },
		{ .kind = COP_CHECKPOINT, .a = "" },
		{ .kind = COP_REMOVEXATTR, .a = "@/f", .b = "user.a" } } },
	{ "orphan", {
		{ .kind = COP_TMPFILE_LINK, .a = "s/@tmp" },
		{ .kind = COP_OPEN_UNLINK, .a = "@/f" } } },
};

static void fill_in(char *out, size_t size, const char *path, char letter)
{
	size_t i;

	for (i = 0; path[i] && i + 1 < size; i++)
		out[i] = path[i] == '@' ? letter : path[i];
	out[i] = '\0';
}

static void run_script(struct crash *c, const struct crash_load *l, unsigned actor)
{
	const struct script *s = l->arg;
	char a[64], b[64], letter = actor ? 'q' : 'p';

	s = &s[l->op[actor]];
	for (unsigned i = 0; i < ARRAY_SIZE(s->op) && s->op[i].a; i++) {
		struct cop op = s->op[i];

		fill_in(a, sizeof(a), op.a, letter);
		op.a = a;
		if (op.kind == COP_RENAME) {
			fill_in(b, sizeof(b), op.b, letter);
			op.b = b;
		}
		cop_do(c, &op, actor * 10 + i + 1);
	}
}

static void make_shared(struct crash *c)
{
	static const char *const own[] = { "p", "q" };
	char name[16];

	do_mkdir(c, "s");
	for (unsigned i = 0; i < 2; i++) {
		do_mkdir(c, own[i]);
		snprintf(name, sizeof(name), "%s/f", own[i]);
		do_create(c, name);
		do_write(c, name, 0, 10000, 80 + i);
		for (unsigned k = 1; k < 3; k++) {
			snprintf(name, sizeof(name), "s/%s%u", own[i], k);
			do_create(c, name);
			do_write(c, name, 0, 500, 80 + 10 * k + i);
		}
		snprintf(name, sizeof(name), "s/%sdir", own[i]);
		do_mkdir(c, name);
	}
}

static const struct crash_setup setup_shared = { .name = "shared", .make = make_shared };
static const struct crash_setup setup_shared_2 = {
	.name = "shared_2", .make = make_shared, .nr_lanes = 2,
};

/*
 * Two blocks are left. A large attribute takes them, is copied, and then finds no
 * node for its tree: what was copied must not land on what the other writes there.
 */
static void make_tight(struct crash *c)
{
	make_shared(c);
	do_fill(c, 2);
}

static const struct crash_setup setup_tight = { .name = "tight", .make = make_tight };

static const struct script abort_scripts[2] = {
	{ "abort", { { .kind = COP_SETXATTR, .a = "@/f", .b = "user.a", .x = 8000 } } },
	{ "write", { { .kind = COP_WRITE, .a = "s/@1", .x = 500, .y = 8000 } } },
};

/*
 * q's file ends where p's begins, and goes on there as soon as it can: not before
 * p's blocks are free for good (L3).
 */
static void make_next(struct crash *c)
{
	static const struct cop punch[] = {
		{ .kind = COP_FALLOCATE, .a = "big", .x = 100 * BLK, .y = 4 * BLK,
		  .flags = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE },
		{ .kind = COP_FALLOCATE, .a = "big", .x = 900 * BLK, .y = 4 * BLK,
		  .flags = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE },
	};

	make_shared(c);
	do_create(c, "q/h");
	do_create(c, "p/h");
	do_fill(c, 0);
	cop_do(c, &punch[0], 0);
	do_write(c, "q/h", 0, BLK, 91);
	do_write(c, "p/h", 0, 3 * BLK, 92);
	cop_do(c, &punch[1], 0);
}

static const struct crash_setup setup_next = { .name = "next", .make = make_next };

/* p frees, q takes. */
static const struct script next_scripts[] = {
	{ "truncate", { { .kind = COP_TRUNCATE, .a = "@/h", .x = 0 } } },
	{ "unlink", { { .kind = COP_UNLINK, .a = "@/h" } } },
	{ "replace", { { .kind = COP_RENAME, .a = "@/f", .b = "@/h" } } },
	{ "punch", { { .kind = COP_FALLOCATE, .a = "@/h", .x = 0, .y = 3 * BLK,
		       .flags = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE } } },
	{ "append", { { .kind = COP_WRITE, .a = "@/h", .x = BLK, .y = BLK } } },
};
#define NEXT_FREES	(ARRAY_SIZE(next_scripts) - 1)

/*
 * A full pool. q frees a node that its own record has changed, and needs the block;
 * p makes a checkpoint: not before that is done, in both slots, may q have it (L12).
 */
static void make_recycle(struct crash *c)
{
	make_shared(c);
	do_create(c, "q/t");
	for (unsigned i = 0; i < 6; i++)
		do_write(c, "q/t", i * 2 * BLK, BLK, 93);
	do_fill(c, 0);
}

static const struct crash_setup setup_recycle = { .name = "recycle", .make = make_recycle };

static const struct script recycle_scripts[2] = {
	{ "checkpoint", {
		{ .kind = COP_CHECKPOINT, .a = "" },
		{ .kind = COP_CHECKPOINT, .a = "" } } },
	{ "recycle", {
		{ .kind = COP_TRUNCATE, .a = "@/t", .x = 9 * BLK },
		{ .kind = COP_UNLINK, .a = "@/t" },
		{ .kind = COP_CHMOD, .a = "@/f", .x = 0600 },
		{ .kind = COP_WRITE, .a = "@/f", .x = 3 * BLK, .y = 30 * BLK } } },
};

/* q goes until it is about to need the block, p until it is in the middle of the
 * checkpoint, then q on: a square of such schedules. */
#define RECYCLE_SIDE	24u
#define RECYCLE_Q	28u
#define RECYCLE_P	4u

bool get_recycle(uint64_t i, struct crash_load *l)
{
	unsigned q = RECYCLE_Q + (unsigned)i / RECYCLE_SIDE;
	unsigned p = RECYCLE_P + (unsigned)i % RECYCLE_SIDE;

	if (q >= RECYCLE_Q + RECYCLE_SIDE)
		return false;
	*l = (struct crash_load){
		.setup = &setup_recycle, .actors = 2, .run = run_script, .op = { 0, 1 },
		.nr_ops = 2, .arg = recycle_scripts, .seed = CRASH_SCHEDULE_2(1u, q, p),
	};
	snprintf(l->name, sizeof(l->name), "recycle/checkpoint+%u+%u", q, p);
	return true;
}

#define NEXT_SWITCHES	40u

bool get_next(uint64_t i, struct crash_load *l)
{
	unsigned free = (unsigned)(i % NEXT_FREES), schedule = (unsigned)(i / NEXT_FREES);

	if (schedule >= NEXT_SWITCHES)
		return false;
	*l = (struct crash_load){
		.setup = &setup_next, .actors = 2, .run = run_script,
		.op = { free, NEXT_FREES }, .nr_ops = 2, .seed = schedule, .arg = next_scripts,
	};
	snprintf(l->name, sizeof(l->name), "next/%s+append+%u", next_scripts[free].name,
		 schedule);
	return true;
}

bool get_threads(uint64_t i, struct crash_load *l)
{
	unsigned n = ARRAY_SIZE(scripts), per = SWITCHES + DICE, at = (unsigned)(i % per);
	unsigned pair = (unsigned)(i / per);

	if (pair == n * n && at < 40) {
		*l = (struct crash_load){
			.setup = &setup_tight, .actors = 2, .run = run_script, .op = { 0, 1 },
			.nr_ops = 2, .seed = at, .arg = abort_scripts,
		};
		snprintf(l->name, sizeof(l->name), "threads/abort+write+%u", at);
		return true;
	}
	if (pair >= n * n)
		return false;
	*l = (struct crash_load){
		.setup = pair % 2 ? &setup_shared_2 : &setup_shared, .actors = 2,
		.run = run_script, .op = { pair / n, pair % n }, .nr_ops = 2, .arg = scripts,
		.seed = at < SWITCHES ? at : (1u << 20) + i,
	};
	snprintf(l->name, sizeof(l->name), "threads/%s+%s+%llu", scripts[pair / n].name,
		 scripts[pair % n].name, (unsigned long long)l->seed);
	return true;
}
