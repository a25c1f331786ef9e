/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_op_model.c - random calls on a file, compared with a plain array
 *
 * Remounts and crashes in between; every seed is a claim of its own, so that
 * a failure names what to run again.
 */
#include <linux/falloc.h>
#include <string.h>

#include "support/check_main.h"
#include "support/pool.h"

#define SIZE	(16ull << 20)

#define MODEL	(300 * 1024)
#define STEPS	4000u

static struct pool p;
static uint64_t f;
static uint8_t model[MODEL];
static uint64_t model_size;
static uint64_t rng;

static uint64_t rnd(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % n;
}

static void model_set(uint64_t pos, int byte, uint64_t len, uint64_t grow)
{
	memset(model + pos, byte, len);
	model_size = max64(model_size, grow);
}

static void random_write(void)
{
	uint64_t pos = rnd(MODEL), len = 1 + rnd(min64(MODEL - pos, rnd(2) ? 300 : 40000));
	int byte = 1 + (int)rnd(255);

	pool_fill(&p, f, pos, byte, len);
	model_set(pos, byte, len, pos + len);
}

static void random_truncate(void)
{
	uint64_t size = rnd(4) ? rnd(MODEL) : model_size - rnd(min64(model_size + 1, 5000));

	ck_assert_int_eq(pool_truncate(&p, f, size), 0);
	if (size < model_size)
		memset(model + size, 0, MODEL - size);
	model_size = size;
}

static void random_fallocate(void)
{
	static const uint32_t modes[] = {
		0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
	};
	uint32_t mode = modes[rnd(ARRAY_SIZE(modes))];
	uint64_t pos = rnd(MODEL), len = 1 + rnd(min64(MODEL - pos, rnd(2) ? 6000 : 60000));

	ck_assert_int_eq(op_fallocate(&p.c, f, pos, len, mode), 0);
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		memset(model + pos, 0, len);
	if (!(mode & FALLOC_FL_KEEP_SIZE))
		model_size = max64(model_size, pos + len);
}

static void compare(void)
{
	ck_assert_uint_eq(pool_attr(&p, f).size, model_size);
	pool_expect(&p, f, 0, model, model_size);
}

static void run_model(uint64_t seed, bool dirty, enum fs_data data)
{
	unsigned i;

	rng = seed;
	model_size = 0;
	memset(model, 0, sizeof(model));
	pool_make(&p, SIZE);
	pool_set_data(&p, data);
	f = pool_file(&p, ROOT, "f");
	if (dirty)
		pool_soil(&p, 0xee);
	for (i = 0; i < STEPS; i++) {
		switch (rnd(8)) {
		case 0: random_truncate(); break;
		case 1: case 2: random_fallocate(); break;
		default: random_write();
		}
		if (i % 16 == 0)
			compare();
		if (rnd(100) == 0) {
			rnd(2) ? pool_crash(&p) : pool_remount(&p);
			f = pool_find(&p, ROOT, "f");
			compare();
		}
		if (rnd(200) == 0)
			pool_verify(&p);
	}
	compare();
	pool_end(&p);
}

START_TEST(fresh_pool_1) { run_model(0x9e3779b97f4a7c15ull, false, FS_DATA_ORDERED); } END_TEST
START_TEST(fresh_pool_2) { run_model(0xbf58476d1ce4e5b9ull, false, FS_DATA_ORDERED); } END_TEST
START_TEST(fresh_pool_3) { run_model(0x94d049bb133111ebull, false, FS_DATA_ORDERED); } END_TEST
START_TEST(used_pool_1) { run_model(0x2545f4914f6cdd1dull, true, FS_DATA_ORDERED); } END_TEST
START_TEST(used_pool_2) { run_model(0xd1342543de82ef95ull, true, FS_DATA_ORDERED); } END_TEST
START_TEST(used_pool_3) { run_model(0xaf251af3b0f025b5ull, true, FS_DATA_ORDERED); } END_TEST
START_TEST(atomic_1) { run_model(0xda942042e4dd58b5ull, true, FS_DATA_ATOMIC); } END_TEST
START_TEST(atomic_2) { run_model(0xd2b74407b1ce6e93ull, true, FS_DATA_ATOMIC); } END_TEST

CHECK_MAIN("op/model", fresh_pool_1, fresh_pool_2, fresh_pool_3,
	   used_pool_1, used_pool_2, used_pool_3, atomic_1, atomic_2)
