/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts.c - recovery itself, and what makes and mends pools
 *
 * Pools that nobody unmounted, with logs in several lanes and orphans waiting;
 * mkfs over an old pool; a superblock written from its replica.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "crash/loads.h"
#include "meta/super.h"

#define BLK	4096ull
#define NEW_UUID	8

/* ---- pools with a log to replay ------------------------------------------------- */

static void make_busy(struct crash *c)
{
	static const char *const ops[] = {
		"create", "write_append_blocks", "rename_onto", "mkdir_in_e", "setxattr_large",
		"unlink_xattr", "truncate_hole", "symlink_long", "exchange_dirs",
	};

	setup_plain.make(c);
	for (unsigned i = 0; i < ARRAY_SIZE(ops); i++)
		cop_do(c, cop_named(ops[i]), 50 + i);
}

/* Unlinked while open, never named: on the lists when the daemon dies. */
static void make_orphans(struct crash *c)
{
	const struct op_ctx *ctx = crash_ctx(c);
	struct op_entry e;
	char name[16];

	setup_plain.make(c);
	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "o%u", i);
		do_create(c, name);
		do_write(c, name, i * BLK, 3 * BLK + i, 60 + i);
		if (op_lookup(ctx, PMEMFS_ROOT_INO, name, strlen(name), &e))
			continue;
		op_unlink(ctx, PMEMFS_ROOT_INO, name, strlen(name));
		op_tmpfile(ctx, PMEMFS_ROOT_INO, 0600, &e);
	}
}

/* A large truncation that the daemon did not live to finish (L9). */
static void make_half(struct crash *c)
{
	setup_plain.make(c);
	do_create(c, "h");
	for (unsigned i = 0; i < 400; i++)
		do_write(c, "h", i * 2 * BLK, BLK, 65);
	fs_checkpoint(crash_ctx(c)->fs);
	crash_stop_at_fence(c, 3);
	do_truncate(c, "h", 1000);
}

struct visitor { struct crash *c; unsigned nr; };

static void *one_visit(void *arg)
{
	struct visitor *v = arg;
	char name[16];

	snprintf(name, sizeof(name), "t%u", v->nr);
	do_create(v->c, name);
	do_write(v->c, name, 0, 5000, 70 + v->nr);
	cop_do(v->c, &(struct cop){ .kind = COP_LINK, .a = name, .b = "d/t" }, 0);
	cop_do(v->c, &(struct cop){ .kind = COP_UNLINK, .a = "d/t" }, 0);
	return NULL;
}

/* Each thread has a lane of its own, and its records depend on the others'. */
static void make_lanes(struct crash *c)
{
	setup_plain.make(c);
	for (unsigned i = 0; i < 5; i++) {
		struct visitor v = { c, i };
		pthread_t t;

		if (!pthread_create(&t, NULL, one_visit, &v))
			pthread_join(t, NULL);
	}
}

static const struct crash_setup busy[] = {
	{ .name = "busy", .make = make_busy, .dirty = true },
	{ .name = "orphans", .make = make_orphans, .dirty = true },
	{ .name = "lanes", .make = make_lanes, .dirty = true },
	{ .name = "lanes_2", .make = make_lanes, .dirty = true, .nr_lanes = 2 },
	{ .name = "lanes_7", .make = make_lanes, .dirty = true, .nr_lanes = 7 },
	{ .name = "lanes_12", .make = make_lanes, .dirty = true, .nr_lanes = 12 },
	{ .name = "clean", .make = make_busy },
	{ .name = "half", .make = make_half, .dirty = true },
};

static const struct cop grow[] = {
	{ .kind = COP_TRUNCATE, .a = "h", .x = 100 * BLK },
	{ .kind = COP_WRITE, .a = "h", .x = 300 * BLK + 5, .y = 5000 },
	{ .kind = COP_FALLOCATE, .a = "h", .x = 10 * BLK, .y = 20 * BLK },
	{ .kind = COP_LINK, .a = "h", .b = "e/h" },
	{ .kind = COP_UNLINK, .a = "h" },
	{ .kind = COP_OPEN_TRUNC, .a = "h" },
};

/* Before anybody has drained the list that the file is on. */
static void run_half(struct crash *c, const struct crash_load *l, unsigned actor)
{
	(void)actor;
	cop_do(c, &grow[l->op[0]], 1);
	cop_do(c, cop_named("create_in_d"), 2);
}

static void run_mount(struct crash *c, const struct crash_load *l, unsigned actor)
{
	(void)actor;
	(void)l;
	crash_begin(c, NULL);
	fs_drain(crash_ctx(c)->fs);
	crash_end(c);
	cop_do(c, cop_named("chmod_dir"), 1);
}

bool get_mount(uint64_t i, struct crash_load *l)
{
	if (i >= ARRAY_SIZE(busy) + ARRAY_SIZE(grow))
		return false;
	if (i >= ARRAY_SIZE(busy)) {
		i -= ARRAY_SIZE(busy);
		*l = (struct crash_load){
			.setup = &busy[ARRAY_SIZE(busy) - 1], .actors = 1, .run = run_half,
			.op = { (unsigned)i }, .flags = LOAD_ANY_BLOCKS,
		};
		snprintf(l->name, sizeof(l->name), "mount/half+%llu", (unsigned long long)i);
		return true;
	}
	*l = (struct crash_load){
		.setup = &busy[i], .actors = 1, .run = run_mount,
		.flags = LOAD_MOUNT | LOAD_DEPTH2 | LOAD_KILL | LOAD_AGAIN | LOAD_ANY_BLOCKS,
	};
	snprintf(l->name, sizeof(l->name), "mount/%s", busy[i].name);
	return true;
}

/* ---- making and mending (L21) ----------------------------------------------------- */

static int make_again(struct crash *c, struct pm *pm, uint64_t size)
{
	struct mkfs_params mk = {
		.nr_blocks = size / BLK, .root_mode = 0700, .time = 950000, .label = "again",
		.uuid = { NEW_UUID },
	};
	struct geometry geo;

	(void)c;
	return mkfs_pool(pm, &mk, &geo);
}

static int mkfs_again(struct crash *c, struct pm *pm)
{
	return make_again(c, pm, CRASH_SIZE);
}

/* On memory that is known to be zero. */
static int mkfs_zeroed(struct crash *c, struct pm *pm)
{
	struct mkfs_params mk = {
		.nr_blocks = CRASH_SIZE / BLK, .root_mode = 0700, .time = 950000,
		.uuid = { NEW_UUID }, .zeroed = true,
	};
	struct geometry geo;

	(void)c;
	return mkfs_pool(pm, &mk, &geo);
}

static int mkfs_smaller(struct crash *c, struct pm *pm)
{
	return make_again(c, pm, PMEMFS_MIN_POOL);
}

static int mend_primary(struct crash *c, struct pm *pm)
{
	(void)c;
	return super_repair(pm, 1);
}

static int mend_replica(struct crash *c, struct pm *pm)
{
	(void)c;
	return super_repair(pm, 0);
}

/*
 * A program wrote the replica anew and was killed before its fence: there it
 * is, but only for programs. Then somebody brings the primary up to it.
 */
static int mend_after_kill(struct crash *c, struct pm *pm)
{
	uint64_t last = CRASH_SIZE - BLK;
	struct pmemfs_super sb;

	memcpy(&sb, pm_at(pm, last, sizeof(sb)), sizeof(sb));
	sb.epoch = put64(get64(sb.epoch) + 1);
	memcpy(sb.label, "new label", 10);
	sb.crc = put32(seal_crc(&sb, sizeof(sb), 0));
	pm_write(pm, last, &sb, sizeof(sb));
	rec_death(crash_rec(c));
	return super_repair(pm, 1);
}

static void spoil_primary(uint8_t *pool, uint64_t size)
{
	(void)size;
	memset(pool, 0x55, 300);
}

static void spoil_replica(uint8_t *pool, uint64_t size)
{
	memset(pool + size - BLK, 0x55, 300);
}

static void spoil_all(uint8_t *pool, uint64_t size)
{
	memset(pool, 0, size);
}

static void make_small_tree(struct crash *c)
{
	do_create(c, "a");
	do_write(c, "a", 0, 5000, 1);
	do_mkdir(c, "d");
}

static const struct crash_setup made[] = {
	{ .name = "made", .make = make_small_tree },
	{ .name = "no_primary", .make = make_small_tree, .spoil = spoil_primary },
	{ .name = "no_replica", .make = make_small_tree, .spoil = spoil_replica },
	{ .name = "zeros", .spoil = spoil_all },
};

static const struct {
	const char *name;
	const struct crash_setup *setup;
	int (*raw)(struct crash *c, struct pm *pm);
	unsigned flags;
} raws[] = {
	{ "mkfs", &made[0], mkfs_again, LOAD_NO_POOL },
	{ "mkfs_busy", &busy[0], mkfs_again, LOAD_NO_POOL },
	{ "mkfs_zeroed", &made[3], mkfs_zeroed, LOAD_NO_POOL },
	{ "mkfs_smaller", &made[0], mkfs_smaller, LOAD_NO_POOL },
	{ "mend_label", &made[0], mend_after_kill, LOAD_ONE_SUPER },
	{ "mend_primary", &made[1], mend_primary, LOAD_ONE_SUPER },
	{ "mend_replica", &made[2], mend_replica, LOAD_ONE_SUPER },
	{ "mend_after_kill", &made[1], mend_after_kill, LOAD_NO_POOL },
};

bool get_raw(uint64_t i, struct crash_load *l)
{
	if (i >= ARRAY_SIZE(raws))
		return false;
	*l = (struct crash_load){
		.setup = raws[i].setup, .actors = 1, .raw = raws[i].raw,
		.flags = raws[i].flags | LOAD_AGAIN,
		.new_uuid = raws[i].flags & LOAD_NO_POOL ? NEW_UUID : 0,
	};
	snprintf(l->name, sizeof(l->name), "make/%s", raws[i].name);
	return true;
}
