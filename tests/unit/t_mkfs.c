/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_mkfs.c - cut mkfs and the mending of a superblock anywhere (L21)
 *
 * The claim: whatever a loss of power leaves is no pool, or a pool on which
 * the verifier finds nothing but a superblock copy that can be rewritten. And
 * mending a copy never loses the other.
 */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "meta/super.h"
#include "meta/verify.h"
#include "support/check_main.h"
#include "support/pm_mem.h"
#include "support/pm_record.h"

#define SIZE	(16ull << 20)
#define IMAGES	8u			/* none, all, two corners, random ones */

static struct pm_mem mem, cut;
static struct pm_rec *rec;
static struct pm *pm;
static uint32_t kinds;

static void quiet(enum log_level lvl, const char *line)
{
	(void)lvl;
	(void)line;
}

static void begin(void)
{
	struct pm_config cfg = { .backend = &pm_backend_record, .granularity = -1 };

	log_to(quiet);
	mem = (struct pm_mem){ .size = SIZE };
	cut = (struct pm_mem){ .size = SIZE, .buf = pm_mem_map(SIZE) };
	rec = rec_new(&pm_backend_mem, &mem);
	cfg.backend_arg = rec;
	ck_assert_int_eq(pm_open(&pm, "mem", &cfg), 0);
}

static void end(void)
{
	pm_close(pm);
	rec_free(rec);
	pm_mem_free(&mem);
	pm_mem_unmap(cut.buf, SIZE);
}

static void make(uint8_t uuid, bool zeroed, const char *label)
{
	struct mkfs_params mk = { .nr_blocks = SIZE / 4096, .time = 1, .zeroed = zeroed };
	struct geometry geo;

	mk.uuid[0] = uuid;
	strncpy(mk.label, label, PMEMFS_LABEL_MAX);
	ck_assert_int_eq(mkfs_pool(pm, &mk, &geo), 0);
}

static void on_problem(void *arg, const struct verify_problem *p)
{
	(void)arg;
	kinds |= 1u << p->kind;
}

/* The uuid of the pool in the image, 0: it is none; -1: a bad one. */
static int image_pool(void)
{
	struct pm_config cfg = { .backend = &pm_backend_mem, .backend_arg = &cut,
				 .granularity = -1 };
	struct fs fs = { .pm = NULL };
	struct verify_result res;
	const char *bad;
	int which, uuid = 0;

	ck_assert_int_eq(pm_open(&fs.pm, "cut", &cfg), 0);
	if (!super_read(fs.pm, &fs.geo, &which, &bad)) {
		kinds = 0;
		ck_assert_int_eq(verify_fs(&fs, on_problem, NULL, NULL, &res), 0);
		uuid = kinds & ~(1u << VERIFY_SUPER) ? -1 : fs.geo.uuid[0];
		ck_assert_msg(uuid != 2 || which == 1 || !bad, "a primary alone");
	}
	pm_close(fs.pm);
	return uuid;
}

/* Only what goes to one end of the pool has arrived. */
static void one_end(const struct rec_walk *w, bool primary, uint8_t *image)
{
	struct rec_line line;
	size_t i;

	rec_walk_image(w, REC_NONE, 0, image);
	for (i = 0; i < rec_walk_nr_pending(w); i++) {
		line = rec_walk_pending(w, i);
		if (primary ? line.off < 4096 : line.off >= SIZE - 4096)
			rec_walk_patch(w, i, line.mask, image);
	}
}

static void image_nr(const struct rec_walk *w, size_t event, unsigned k)
{
	if (k < 2)
		rec_walk_image(w, k ? REC_ALL : REC_NONE, 0, cut.buf);
	else if (k < 4)
		one_end(w, k == 2, cut.buf);
	else
		rec_walk_image(w, REC_RANDOM, event * IMAGES + k, cut.buf);
}

/* Call fn for images in front of every event behind `from`. */
static void cut_everywhere(size_t from, void (*fn)(size_t event))
{
	struct rec_walk *w = rec_walk_new(rec);
	unsigned k;
	size_t i;

	for (i = from; i <= rec_now(rec); i++) {
		rec_walk_to(w, i);
		for (k = 0; k < IMAGES; k++) {
			image_nr(w, i, k);
			fn(i);
		}
	}
	rec_walk_free(w);
}

static unsigned old_pools, no_pools, new_pools;
static size_t first_fence;

static void old_or_none_or_new(size_t event)
{
	int uuid = image_pool();

	ck_assert_msg(uuid >= 0, "a broken pool in front of event %zu", event);
	ck_assert_msg(uuid != 1 || event <= first_fence,
		      "the old pool in front of event %zu", event);
	old_pools += uuid == 1;
	no_pools += uuid == 0;
	new_pools += uuid == 2;
}

static size_t find_fence(size_t i)
{
	while (rec_at(rec, i)->kind != REC_FENCE)
		i++;
	return i;
}

START_TEST(mkfs_over_a_pool)
{
	size_t from;

	begin();
	make(1, true, "old");
	rec_restart(rec);
	from = rec_now(rec);
	make(2, false, "new");
	first_fence = find_fence(from);
	cut_everywhere(from, old_or_none_or_new);
	ck_assert_uint_gt(old_pools, 0);
	ck_assert_uint_gt(no_pools, 0);
	ck_assert_uint_gt(new_pools, 0);
	end();
}
END_TEST

static void none_or_new(size_t event)
{
	int uuid = image_pool();

	ck_assert_msg(uuid == 0 || uuid == 2, "pool %d in front of event %zu", uuid, event);
}

START_TEST(mkfs_on_nothing)
{
	begin();
	make(2, true, "new");
	cut_everywhere(0, none_or_new);
	end();
}
END_TEST

static void still_there(size_t event)
{
	ck_assert_msg(image_pool() == 1, "lost in front of event %zu", event);
}

START_TEST(mending_loses_nothing)
{
	struct pmemfs_super sb;
	size_t from;
	int good;

	for (good = 0; good < 2; good++) {
		begin();
		make(1, true, "pool");
		sb = *(const struct pmemfs_super *)pm_at(pm, 0, sizeof(sb));
		sb.epoch = put64(2);
		sb.crc = put32(seal_crc(&sb, sizeof(sb), 0));
		rec_restart(rec);
		pm_zero(pm, good ? 0 : SIZE - 4096, 4096);
		/* stored again and not flushed: as a killed program leaves it */
		pm_write(pm, good ? SIZE - 4096 : 0, &sb, sizeof(sb));
		from = rec_now(rec);
		ck_assert_int_eq(super_repair(pm, good), 0);
		cut_everywhere(find_fence(from) + 1, still_there);
		ck_assert(!memcmp(pm_at(pm, 0, 4096), pm_at(pm, SIZE - 4096, 4096), 4096));
		end();
	}
}
END_TEST

/* A fence that fails ends it: no superblock is sealed over what may be lost. */
START_TEST(mkfs_stops_at_a_failed_fence)
{
	struct mkfs_params mk = { .nr_blocks = SIZE / 4096, .zeroed = true };
	struct geometry geo;
	unsigned n;

	for (n = 1; n <= 4; n++) {
		begin();
		rec_fail_fence(rec, n);
		ck_assert_int_eq(mkfs_pool(pm, &mk, &geo), -EIO);
		end();
	}
}
END_TEST

CHECK_MAIN("mkfs", mkfs_over_a_pool, mkfs_on_nothing, mending_loses_nothing,
	   mkfs_stops_at_a_failed_fence)
