/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_repair.c - every problem has a recipe, every recipe a happy end, and
 * chance has one too
 *
 * T_REPAIR_ONLY=RECIPE, T_REPAIR_SEED=N: only that. T_REPAIR_SEEDS=N: so many.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsck/lab.h"
#include "fsck/recipes.h"
#include "support/check_main.h"

static bool told_first[LAB_NUMBERS];

static void one_recipe(const struct recipe *d)
{
	uint8_t *before = malloc(IMAGE_SIZE);
	struct repair_result res;
	struct repair *r;
	struct fs *fs;

	lab_start(d->end);
	d->damage(&lab);
	memcpy(before, lab.mem.buf, IMAGE_SIZE);
	r = lab_try(NULL, &res);
	memcpy(told_first, lab_told, sizeof(told_first));
	ck_assert_msg(lab_told[d->number], "%s: problem %u was not told", d->name, d->number);
	ck_assert_msg((res.ask == 0) == d->safe, "%s: is %ssafe", d->name, d->safe ? "not " : "");
	ck_assert_msg(!res.left && !res.never, "%s: there is no repair", d->name);
	ck_assert_msg(!memcmp(before, lab.mem.buf, IMAGE_SIZE), "%s: written too early", d->name);
	ck_assert_int_eq(repair_write(r), 0);
	repair_free(r);

	fs = lab_look(d->name);
	ck_assert_msg(image_whole(fs) == (T_ALL & ~d->lost), "%s: whole are %x, not %x", d->name,
		      image_whole(fs), T_ALL & ~d->lost);
	ck_assert_msg(d->found == -2 || image_found(fs) == d->found, "%s: found %d, not %d",
		      d->name, image_found(fs), d->found);
	ck_assert_msg(image_logged(fs) >= d->logged, "%s: %u files of the log, not %u", d->name,
		      image_logged(fs), d->logged);
	fs_close(fs);
	lab_again(d->name);
	free(before);
}

/* Told by no recipe: bad memory and a full pool (tests below), a bug. */
static bool needs_no_recipe(unsigned nr)
{
	return nr == PROBLEM_MEDIUM || nr == PROBLEM_NO_SPACE || nr == PROBLEM_UNKNOWN;
}

START_TEST(all_recipes)
{
	const char *only = getenv("T_REPAIR_ONLY");
	const struct problem_info *p;
	bool ever[LAB_NUMBERS] = { false };
	const struct recipe *d;
	unsigned i;

	lab_open();
	for (d = recipes; d->name; d++) {
		if (only && strcmp(only, d->name))
			continue;
		if (lab_prints())
			fprintf(stderr, "%s\n", d->name);
		one_recipe(d);
		for (i = 0; i < LAB_NUMBERS; i++)
			ever[i] |= told_first[i];
	}
	for (p = problem_table(); p->number && !only; p++)
		ck_assert_msg(ever[p->number] || needs_no_recipe(p->number),
			      "problem %u has no recipe", p->number);
}
END_TEST

/* ---- chance ------------------------------------------------------------------ */

static uint64_t state;

static uint64_t dice(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* Blocks of metadata, but for the lanes and the last superblock. */
static uint64_t meta_blk[4096];
static unsigned nr_meta;

static void find_meta(void)
{
	const struct pmemfs_inode *table = at(&lab, blk_off(PMEMFS_BLK_SYSTEM));
	uint64_t blk, c, chunks = get64(table->size) / (PMEMFS_CHUNK_BLOCKS * PMEMFS_BLOCK_SIZE);
	unsigned i;

	nr_meta = 0;
	for (blk = 1; blk < lab.geo.data_blk; blk++)
		if (blk < PMEMFS_BLK_LANES || blk >= lab.geo.groups_blk)
			for (i = 0; i < 8; i++)		/* few, so more often */
				meta_blk[nr_meta++] = blk;
	for (c = 0; c < chunks; c++)
		for (i = 0; i < PMEMFS_CHUNK_BLOCKS; i++)
			meta_blk[nr_meta++] = off_blk(ino_off(&lab, c * 256)) + i;
	for (blk = lab.geo.data_blk; blk < lab.geo.nr_blocks; blk++)
		if (get32(node_at(&lab, blk)->magic) == PMEMFS_NODE_MAGIC && is_marked(&lab, blk))
			meta_blk[nr_meta++] = blk;
}

static void spoil(uint8_t *p, size_t len)
{
	size_t i, n = 1 + dice(len < 64 ? len : 64), from = dice(len - n + 1);

	switch (dice(4)) {
	case 0:
		p[dice(len)] ^= (uint8_t)(1u << dice(8));
		break;
	case 1:
		for (i = 0; i < n; i++)
			p[from + i] = (uint8_t)dice(256);
		break;
	case 2:
		memset(p + from, 0, n);
		break;
	case 3:
		for (i = 0; i + 8 <= n; i += 8)
			save64(p + from + i, dice(lab.geo.nr_blocks + 100));
		break;
	}
}

/* Spoilt, and sealed again: a program with a bug. */
static void lie(uint64_t blk)
{
	struct pmemfs_node *n = node_at(&lab, blk);
	uint64_t off = blk_off(blk) + dice(16) * PMEMFS_INODE_SIZE;

	if (blk >= lab.geo.data_blk && get32(n->magic) == PMEMFS_NODE_MAGIC) {
		spoil((uint8_t *)n + 8, dice(2) ? 200 : PMEMFS_BLOCK_SIZE - 8);
		seal_node(&lab, blk);
	} else if (blk >= lab.geo.data_blk) {
		spoil(at(&lab, off + 4), PMEMFS_INODE_SEALED - 4);
		seal_at(&lab, off, PMEMFS_INODE_SEALED);
	} else {
		spoil(at(&lab, blk_off(blk)), 256);
	}
}

static void mishap(void)
{
	uint64_t blk = meta_blk[dice(nr_meta)], other = meta_blk[dice(nr_meta)];
	uint8_t *p = at(&lab, blk_off(blk)), keep[PMEMFS_BLOCK_SIZE];

	switch (dice(10)) {
	case 0:
		memset(p, (int)dice(2) * 0xff, PMEMFS_BLOCK_SIZE);
		break;
	case 1:			/* a misplaced write */
		memcpy(keep, p, sizeof(keep));
		memcpy(p, at(&lab, blk_off(other)), sizeof(keep));
		if (dice(2))
			memcpy(at(&lab, blk_off(other)), keep, sizeof(keep));
		break;
	case 2: case 3: case 4: case 5:
		lie(blk);
		break;
	default:
		spoil(p, dice(3) ? PMEMFS_BLOCK_SIZE : 300);
		break;
	}
}

static void one_seed(uint64_t seed)
{
	struct repair_result res;
	struct repair *r;
	char name[32];
	unsigned n;

	snprintf(name, sizeof(name), "seed %llu", (unsigned long long)seed);
	if (lab_prints())
		fprintf(stderr, "%s\n", name);
	lab_start(seed % 4 ? AT_REST : seed % 8 ? KILLED : POWER_CUT);
	state = seed * 0x9e3779b97f4a7c15ull + 1;
	for (n = 1 + (unsigned)dice(12); n; n--)
		mishap();
	r = lab_try(NULL, &res);
	ck_assert_msg(!res.left && !res.never, "%s: there is no repair", name);
	ck_assert_int_eq(repair_write(r), 0);
	repair_free(r);
	fs_close(lab_look(name));
	lab_again(name);
}

/* Any number of mishaps: what comes out is whole, and can be walked. */
START_TEST(chance)
{
	const char *s = getenv("T_REPAIR_SEEDS"), *only = getenv("T_REPAIR_SEED");
	uint64_t seed, nr = s ? strtoull(s, NULL, 10) : 150;

	lab_open();
	lab_start(AT_REST);
	find_meta();
	if (only)
		one_seed(strtoull(only, NULL, 10));
	for (seed = 1; seed <= nr && !only; seed++)
		one_seed(seed);
}
END_TEST

/* ---- a full pool ----------------------------------------------------------- */

static void fill_up(const struct op_ctx *c)
{
	uint64_t pos = 0, len = 4 << 20;
	struct op_entry e;

	ck_assert_int_eq(op_mknod(c, 1, "rest", 4, S_IFREG | 0644, 0, &e), 0);
	while (len >= PMEMFS_BLOCK_SIZE) {
		if (op_fallocate(c, e.nodeid, pos, len, 0))
			len /= 2;
		else
			pos += len;
	}
}

/* A copy that has no room is not made; everything else is repaired all the same. */
START_TEST(no_space)
{
	struct pmemfs_inode *a, *b;
	struct repair_result res;
	struct repair *r;
	struct fs *fs;
	struct op_ctx c = { .pid = 1 };
	struct op_entry e;

	lab_open();
	lab_start(AT_REST);
	c.fs = image_open(&lab, false);
	ck_assert_int_eq(op_mknod(&c, 1, "huge", 4, S_IFREG | 0644, 0, &e), 0);
	ck_assert_int_eq(op_fallocate(&c, e.nodeid, 0, 2 << 20, 0), 0);
	fill_up(&c);
	fs_close(c.fs);
	a = inode_of(&lab, "/huge");
	b = inode_of(&lab, "/dir/sub/deep");
	ck_assert_int_eq(a->root_kind, PMEMFS_ROOT_INLINE);
	a->root.extent[0].where = put64(get64(a->root.extent[0].where) & ~PMEMFS_EXT_UNWRITTEN);
	b->root.extent[0] = a->root.extent[0];
	seal_inode(&lab, a);
	seal_inode(&lab, b);
	r = lab_try(NULL, &res);
	ck_assert(lab_told[PROBLEM_NO_SPACE] && lab_told[PROBLEM_DOUBLE_DATA]);
	ck_assert_uint_eq(res.left, 0);
	ck_assert_int_eq(repair_write(r), 0);
	repair_free(r);
	fs = lab_look("no space");
	ck_assert_uint_eq(image_whole(fs), T_ALL & ~T_BIT(T_DEEP));
	fs_close(fs);
	lab_again("no space");
}
END_TEST

/* ---- bad memory ------------------------------------------------------------ */

static char file[64];
static bool medium_told;

static void on_told(void *arg, const struct repair_problem *p)
{
	(void)arg;
	medium_told |= p->number == PROBLEM_MEDIUM;
}

/* The scan has begun; what it will read is not there any more: SIGBUS. */
static void cut_file(void *arg, unsigned permille)
{
	(void)arg, (void)permille;
	ck_assert_int_eq(truncate(file, 65536), 0);
}

/* Memory that cannot be read is told, nothing is repaired, and nothing crashes. */
START_TEST(bad_memory)
{
	struct repair_options opt = {
		.path = file, .look = true, .fn = on_told, .progress = cut_file,
	};
	const char *dir = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	struct repair_result res;
	struct repair *r = NULL;
	int fd;

	lab_open();
	lab_start(AT_REST);
	snprintf(file, sizeof(file), "%s/t_repair.XXXXXX", dir);
	fd = mkstemp(file);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, lab.mem.buf, IMAGE_SIZE), IMAGE_SIZE);
	close(fd);
	pm_fault_install();
	ck_assert_int_eq(repair_try(&r, &opt, &res), -EIO);
	unlink(file);
	ck_assert(medium_told);
	ck_assert_uint_ge(res.never, 1);
	ck_assert_ptr_null(r);
}
END_TEST

CHECK_MAIN("repair", all_recipes, chance, no_space, bad_memory)
