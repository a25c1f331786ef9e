/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * space.c - where something runs out: the log, the pool, the inode table,
 * nodes of trees
 */
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>

#include "base/bytes.h"
#include "crash/loads.h"

#define BLK	4096ull

static void start(struct crash_load *l, const struct crash_setup *setup,
		  void (*run)(struct crash *, const struct crash_load *, unsigned))
{
	*l = (struct crash_load){ .setup = setup, .actors = 1, .run = run };
}

/* ---- the log ------------------------------------------------------------------- */

static const char *const log_ops[] = {
	"create", "write_append_blocks", "setxattr_larger", "rename_onto", "mkdir_in_e",
	"write_over_blocks", "unlink_xattr", "truncate_open",
};

static uint64_t logged(struct crash *c)
{
	struct fs_stats st;

	fs_get_stats(crash_ctx(c)->fs, &st);
	return st.record_bytes;
}

/*
 * Fill halves of the lane, then go on over the edge: into the second half, over
 * the first (which a checkpoint has to free), and around once more.
 */
static void run_log(struct crash *c, const struct crash_load *l, unsigned actor)
{
	static const struct cop fill = {
		.kind = COP_SETXATTR, .a = "f1", .b = "user.fill", .x = 500,
	};
	uint64_t half = crash_ctx(c)->fs->geo.lane_size / 2;

	(void)actor;
	crash_unseen(c, true);
	for (unsigned i = 0; logged(c) + 2500 < half * (l->op[0] + 1); i++)
		cop_do(c, &fill, 2000 + i);
	crash_unseen(c, false);
	for (unsigned i = 0; i < ARRAY_SIZE(log_ops); i++)
		cop_do(c, cop_named(log_ops[(i + l->op[1]) % ARRAY_SIZE(log_ops)]), i + 1);
}

bool get_log(uint64_t i, struct crash_load *l)
{
	if (i >= 4 * ARRAY_SIZE(log_ops))
		return false;
	start(l, &setup_plain, run_log);
	l->op[0] = (unsigned)(i / ARRAY_SIZE(log_ops));
	l->op[1] = i % ARRAY_SIZE(log_ops);
	snprintf(l->name, sizeof(l->name), "log/half_%u+%s", l->op[0] + 1, log_ops[l->op[1]]);
	return true;
}

/* ---- the pool -------------------------------------------------------------------- */

/* The file that takes it all has no bytes, so nobody has to compare them. */
void do_fill(struct crash *c, uint64_t leave)
{
	struct cop take = {
		.kind = COP_FALLOCATE, .a = "big", .flags = FALLOC_FL_KEEP_SIZE,
	};
	struct op_statfs st;

	do_create(c, "big");
	for (unsigned i = 0; i < 100; i++, take.x += take.y) {
		fs_checkpoint(crash_ctx(c)->fs);
		op_statfs(crash_ctx(c), &st);
		if (st.bavail <= leave)
			break;
		take.y = min64(st.bavail - leave, 128) * BLK;
		cop_do(c, &take, 0);
	}
}

static void fill_pool(struct crash *c, uint64_t leave)
{
	setup_plain.make(c);
	do_fill(c, leave);
}

static void make_full(struct crash *c) { fill_pool(c, 0); }
static void make_one_left(struct crash *c) { fill_pool(c, 1); }
static void make_three_left(struct crash *c) { fill_pool(c, 3); }

static const struct crash_setup full_setups[] = {
	{ .name = "full", .make = make_full },
	{ .name = "one_left", .make = make_one_left },
	{ .name = "three_left", .make = make_three_left },
};

/* Pairs of these: what frees, then what takes. */
static const char *const full_ops[] = {
	"create_in_d", "mkdir_in_e", "symlink_long", "write_first", "write_append_blocks",
	"write_1m", "setxattr_large", "setxattr_larger", "fallocate", "punch_block",
	"truncate_0", "unlink", "unlink_xattr", "rename_onto_across", "rmdir_sub",
	"removexattr_large", "open_unlink", "tmpfile_link",
};

/* From the middle of the one large extent: that needs a node. */
static const struct cop punch_big = {
	.kind = COP_FALLOCATE, .a = "big", .x = 301 * BLK + 100, .y = 20 * BLK,
	.flags = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
};

static void run_full(struct crash *c, const struct crash_load *l, unsigned actor)
{
	(void)actor;
	for (unsigned i = 1; i < 3; i++) {
		crash_op(c, i - 1);
		if (l->op[i] < ARRAY_SIZE(full_ops))
			cop_do(c, cop_named(full_ops[l->op[i]]), i);
		else
			cop_do(c, &punch_big, i);
	}
}

static const char *full_name(unsigned op)
{
	return op < ARRAY_SIZE(full_ops) ? full_ops[op] : "punch_big";
}

bool get_full(uint64_t i, struct crash_load *l)
{
	unsigned n = ARRAY_SIZE(full_ops) + 1;

	if (i >= (uint64_t)n * n * ARRAY_SIZE(full_setups))
		return false;
	start(l, &full_setups[i / (n * n)], run_full);
	l->op[1] = (unsigned)(i / n % n);
	l->op[2] = (unsigned)(i % n);
	snprintf(l->name, sizeof(l->name), "full/%s+%s+%s", l->setup->name,
		 full_name(l->op[1]), full_name(l->op[2]));
	return true;
}

/* ---- blocks that had another life (L4) -------------------------------------------------- */

static void make_reuse(struct crash *c)
{
	setup_plain.make(c);
	do_mkdir(c, "o");
	do_create(c, "o/a");
	do_create(c, "t");
	for (unsigned i = 0; i < 6; i++)
		do_write(c, "t", i * 2 * BLK, BLK, 40);
	do_fill(c, 0);
}

static const struct crash_setup setup_reuse = { .name = "reuse", .make = make_reuse };

/*
 * A record changes a node, another frees it, and then bytes are written, for which
 * there is no other place. Replay must not put the node's bytes on top of them.
 */
static const struct reuse {
	const char *name;
	struct cop op[5];
} reuses[] = {
	{ "xattr", {
		{ .kind = COP_SETXATTR, .a = "xa", .b = "user.small", .x = 200 },
		{ .kind = COP_UNLINK, .a = "xa" } } },
	{ "xattrs_removed", {
		{ .kind = COP_SETXATTR, .a = "xa", .b = "user.small", .x = 200 },
		{ .kind = COP_REMOVEXATTR, .a = "xa", .b = "user.large" },
		{ .kind = COP_REMOVEXATTR, .a = "xa", .b = "user.small" } } },
	{ "extents", {
		{ .kind = COP_TRUNCATE, .a = "t", .x = 9 * BLK },
		{ .kind = COP_TRUNCATE, .a = "t", .x = 0 } } },
	{ "extents_unlinked", {
		{ .kind = COP_TRUNCATE, .a = "t", .x = 9 * BLK },
		{ .kind = COP_UNLINK, .a = "t" } } },
	{ "names", {
		{ .kind = COP_RENAME, .a = "o/a", .b = "o/b" },
		{ .kind = COP_UNLINK, .a = "o/b" },
		{ .kind = COP_RMDIR, .a = "o" } } },
};

static const struct cop reuse_by[] = {
	{ .kind = COP_WRITE, .a = "f2", .x = 12365, .y = 9000 },
	{ .kind = COP_PIPE, .a = "f2", .x = 12365, .y = 90000 },
	{ .kind = COP_SETXATTR, .a = "f1", .b = "user.b", .x = 5000 },
	{ .kind = COP_SYMLINK, .a = "sl", .x = 3000 },
};

static void run_reuse(struct crash *c, const struct crash_load *l, unsigned actor)
{
	const struct reuse *r = &reuses[l->op[0]];
	unsigned i;

	(void)actor;
	for (i = 0; i < ARRAY_SIZE(r->op) && r->op[i].a; i++)
		cop_do(c, &r->op[i], i + 1);
	cop_do(c, &reuse_by[l->op[1]], i + 1);
}

bool get_reuse(uint64_t i, struct crash_load *l)
{
	static const char *const by[] = { "write", "pipe", "setxattr", "symlink" };
	unsigned n = ARRAY_SIZE(reuse_by);

	if (i >= n * ARRAY_SIZE(reuses))
		return false;
	start(l, &setup_reuse, run_reuse);
	l->op[0] = (unsigned)(i / n);
	l->op[1] = (unsigned)(i % n);
	snprintf(l->name, sizeof(l->name), "reuse/%s+%s", reuses[l->op[0]].name, by[l->op[1]]);
	return true;
}

/* ---- the inode table ---------------------------------------------------------------- */

static void make_inodes(struct crash *c)
{
	char name[16];
	struct fs_stats st;

	setup_plain.make(c);
	do_mkdir(c, "many");
	for (unsigned i = 0;; i++) {
		fs_get_stats(crash_ctx(c)->fs, &st);
		if (st.inodes_used >= PMEMFS_CHUNK_INODES - 1)
			break;
		snprintf(name, sizeof(name), "many/%u", i);
		do_create(c, name);
	}
}

static const struct crash_setup setup_inodes = { .name = "inodes", .make = make_inodes };

static const char *const grow_ops[] = {
	"create", "mkdir_in_e", "symlink_long", "tmpfile", "tmpfile_link", "whiteout",
	"mknod", "unlink_empty", "checkpoint",
};

static void run_grow(struct crash *c, const struct crash_load *l, unsigned actor)
{
	(void)actor;
	for (unsigned i = 0; i < 2; i++) {
		crash_op(c, i);
		cop_do(c, cop_named(grow_ops[l->op[i]]), i + 1);
	}
}

bool get_grow(uint64_t i, struct crash_load *l)
{
	unsigned n = ARRAY_SIZE(grow_ops);

	if (i >= (uint64_t)n * n)
		return false;
	start(l, &setup_inodes, run_grow);
	l->op[0] = (unsigned)(i / n);
	l->op[1] = (unsigned)(i % n);
	snprintf(l->name, sizeof(l->name), "grow/%s+%s", grow_ops[l->op[0]], grow_ops[l->op[1]]);
	return true;
}

/* ---- directories ----------------------------------------------------------------------- */

#define NR_NAMES	70u

/* Long names, so that few fit into a node. */
static void long_name(char *out, size_t size, const char *dir, unsigned i)
{
	snprintf(out, size, "%s/%04u-%0180u", dir, i * 7919 % 10007, i);
}

static void make_names(struct crash *c)
{
	char name[300];

	setup_plain.make(c);
	do_mkdir(c, "w");
	for (unsigned i = 0; i < NR_NAMES; i++) {
		long_name(name, sizeof(name), "w", i);
		do_create(c, name);
	}
}

static const struct crash_setup setup_names = { .name = "names", .make = make_names };

enum { NAMES_ADD, NAMES_REMOVE, NAMES_MOVE, NAMES_SWAP, NAMES_NR };

/* Leaves split, join, and the tree grows and shrinks, somewhere on the way. */
static void run_names(struct crash *c, const struct crash_load *l, unsigned actor)
{
	char a[300], b[300];
	struct cop op = { .a = a, .b = b, .x = 0644 };

	(void)actor;
	for (unsigned i = 0; i < NR_NAMES; i++) {
		long_name(a, sizeof(a), l->op[0] == NAMES_ADD ? "e" : "w", i);
		long_name(b, sizeof(b), "e", l->op[0] == NAMES_SWAP ? i + 1 : i);
		op.kind = l->op[0] == NAMES_ADD ? COP_CREATE :
			  l->op[0] == NAMES_REMOVE ? COP_UNLINK : COP_RENAME;
		op.flags = l->op[0] == NAMES_SWAP && i % 3 == 0 ? RENAME_WHITEOUT : 0;
		cop_do(c, &op, i + 1);
	}
}

bool get_names(uint64_t i, struct crash_load *l)
{
	static const char *const what[NAMES_NR] = { "add", "remove", "move", "whiteout" };

	if (i >= NAMES_NR)
		return false;
	start(l, &setup_names, run_names);
	l->op[0] = (unsigned)i;
	snprintf(l->name, sizeof(l->name), "names/%s", what[i]);
	return true;
}
