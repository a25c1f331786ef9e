/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_super.c - a superblock is checked field by field, and there are two
 *
 * mkfs writes nothing but what it must, both copies carry the same, either
 * is enough, the newer wins, and no field can be changed unnoticed or to a
 * value that does not fit the others.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "meta/super.h"
#include "pm/pm.h"
#include "support/pm_mem.h"

static struct pm_mem mem;
static struct pm *pm;
static struct geometry geo;
static struct mkfs_params mk;

static void quiet(enum log_level lvl, const char *line)
{
	(void)lvl;
	(void)line;
}

static void open_mem(uint64_t size)
{
	struct pm_config cfg = { .backend = &pm_backend_mem, .backend_arg = &mem,
				 .granularity = -1 };

	mem.size = size;
	ck_assert_int_eq(pm_open(&pm, "mem", &cfg), 0);
}

static void setup(void)
{
	log_to(quiet);
	memset(&mem, 0, sizeof(mem));
	mk = (struct mkfs_params){ .nr_blocks = 4096, .label = "label", .time = 1,
				   .zeroed = true };
	open_mem(16 << 20);
	ck_assert_int_eq(mkfs_pool(pm, &mk, &geo), 0);
}

static void teardown(void)
{
	pm_close(pm);
	pm_mem_free(&mem);
}

static struct pmemfs_super *copy(int which)
{
	uint64_t blk = which ? geo.nr_blocks - 1 : 0;

	return (struct pmemfs_super *)((uint8_t *)mem.buf + blk_off(blk));
}

static void seal(struct pmemfs_super *sb)
{
	sb->crc = put32(seal_crc(sb, sizeof(*sb), 0));
}

static int read_super(int *which, const char **bad)
{
	struct geometry g;

	return super_read(pm, &g, which, bad);
}

/* ---- geometry ----------------------------------------------------------- */

START_TEST(geometry_fits)
{
	static const uint64_t blocks[] = {
		4096, 4097, 16383, 16384, 32768, 32769, 262143, 262144, 1000001,
		1ull << 24, (1ull << 24) + 1, 1ull << 34,
	};
	struct mkfs_params p = { .nr_blocks = blocks[_i] };
	struct geometry g;

	ck_assert_int_eq(mkfs_geometry(&p, &g), 0);
	ck_assert_uint_eq(g.nr_groups, DIV_UP(g.nr_blocks, PMEMFS_GROUP_BLOCKS));
	ck_assert_uint_eq(g.lanes_blk, PMEMFS_BLK_LANES);
	ck_assert_uint_eq(g.groups_blk, 8 + (uint64_t)g.nr_lanes * g.lane_size / 4096);
	ck_assert_uint_ge(blk_off(g.bitmap_blk - g.groups_blk), g.nr_groups * 16ull);
	ck_assert_uint_eq(g.data_blk, g.bitmap_blk + g.nr_groups);
	ck_assert_uint_lt(g.data_blk, g.nr_blocks / 2);
	ck_assert_uint_ge(g.reserve, 128);
	ck_assert_uint_le(g.reserve, 8192);
	ck_assert_uint_eq(g.nr_lanes, blocks[_i] < 16384 ? 4 : blocks[_i] < 262144 ? 8 : 16);
}
END_TEST

START_TEST(geometry_refuses)
{
	struct mkfs_params p = { .nr_blocks = 4095 };
	struct geometry g;

	ck_assert_int_eq(mkfs_geometry(&p, &g), -EINVAL);
	p.nr_blocks = (1ull << 34) + 1;
	ck_assert_int_eq(mkfs_geometry(&p, &g), -EINVAL);
	p = (struct mkfs_params){ .nr_blocks = 4096, .nr_lanes = 1 };
	ck_assert_int_eq(mkfs_geometry(&p, &g), -EINVAL);
	p = (struct mkfs_params){ .nr_blocks = 4096, .nr_lanes = 256 };
	ck_assert_int_eq(mkfs_geometry(&p, &g), -EINVAL);
	p = (struct mkfs_params){ .nr_blocks = 4096, .lane_size = (256 << 10) + 4096 };
	ck_assert_int_eq(mkfs_geometry(&p, &g), -EINVAL);
}
END_TEST

/* ---- mkfs --------------------------------------------------------------- */

START_TEST(fresh)
{
	const char *bad = "x";
	struct geometry g;
	bool foreign;
	int which;

	ck_assert_ptr_null(super_check(copy(0), pm_size(pm), &foreign));
	ck_assert(!foreign);
	ck_assert_int_eq(memcmp(copy(0), copy(1), sizeof(struct pmemfs_super)), 0);
	ck_assert_int_eq(super_read(pm, &g, &which, &bad), 0);
	ck_assert_int_eq(which, 0);
	ck_assert_ptr_null(bad);
	ck_assert_int_eq(memcmp(&g, &geo, sizeof(g)), 0);
	ck_assert_str_eq(g.label, "label");
}
END_TEST

/* A label may use every byte of its field. */
START_TEST(label_full)
{
	const char *bad;
	struct geometry g;
	int which;

	memset(mk.label, 'x', PMEMFS_LABEL_MAX);
	ck_assert_int_eq(mkfs_pool(pm, &mk, &g), 0);
	ck_assert_int_eq(super_read(pm, &g, &which, &bad), 0);
	ck_assert_uint_eq(strlen(g.label), PMEMFS_LABEL_MAX);
}
END_TEST

/* On a pool full of noise the metadata area is the same as on a fresh one. */
START_TEST(noise_does_not_show)
{
	uint64_t len = blk_off(geo.data_blk + PMEMFS_CHUNK_BLOCKS), off;
	uint8_t *first = malloc(len), *now = mem.buf;

	ck_assert_ptr_nonnull(first);
	memcpy(first, mem.buf, len);
	memset(mem.buf, 0xa5, mem.size);
	mk.zeroed = false;
	ck_assert_int_eq(mkfs_pool(pm, &mk, &geo), 0);
	/* superblock and slots carry new random keys */
	for (off = blk_off(PMEMFS_BLK_SYSTEM); off < len; off++)
		ck_assert_msg(first[off] == now[off], "byte %llu differs",
			      (unsigned long long)off);
	free(first);
}
END_TEST

/* A pool of 64 GiB that reads as zero is made by touching very little. */
START_TEST(sparse_is_cheap)
{
	struct pm_stats a, b;

	pm_close(pm);
	pm_mem_free(&mem);
	memset(&mem, 0, sizeof(mem));
	open_mem(64ull << 30);
	mk.nr_blocks = (64ull << 30) / 4096;
	pm_get_stats(pm, &a);
	ck_assert_int_eq(mkfs_pool(pm, &mk, &geo), 0);
	pm_get_stats(pm, &b);
	ck_assert_uint_lt(b.copied_bytes - a.copied_bytes, 256 << 10);
	ck_assert_uint_eq(b.fences - a.fences, 4);
}
END_TEST

/* ---- which copy --------------------------------------------------------- */

START_TEST(either_is_enough)
{
	const char *bad;
	int which;

	memset(copy(_i), 0, 4096);
	ck_assert_int_eq(read_super(&which, &bad), 0);
	ck_assert_int_eq(which, !_i);
	ck_assert_ptr_nonnull(bad);
	ck_assert_int_eq(super_repair(pm, which), 0);
	ck_assert_int_eq(read_super(&which, &bad), 0);
	ck_assert_ptr_null(bad);
	ck_assert_int_eq(memcmp(copy(0), copy(1), 4096), 0);
}
END_TEST

START_TEST(newer_wins)
{
	const char *bad;
	int which;

	copy(_i)->epoch = put64(2);
	seal(copy(_i));
	ck_assert_int_eq(read_super(&which, &bad), 0);
	ck_assert_int_eq(which, _i);
	ck_assert_str_eq(bad, "older than the other copy");
}
END_TEST

START_TEST(same_epoch_differs)
{
	const char *bad;
	int which;

	copy(1)->label[0] = 'L';
	seal(copy(1));
	ck_assert_int_eq(read_super(&which, &bad), 0);
	ck_assert_int_eq(which, 0);
	ck_assert_str_eq(bad, "differs from the other copy");
}
END_TEST

START_TEST(neither)
{
	const char *bad;
	int which;

	copy(0)->uuid[0] ^= 1;
	copy(1)->uuid[0] ^= 1;
	ck_assert_int_eq(read_super(&which, &bad), -EUCLEAN);
	memset(copy(0), 0, 4096);
	ck_assert_int_eq(read_super(&which, &bad), -EUCLEAN);
	memset(copy(1), 0, 4096);
	ck_assert_int_eq(read_super(&which, &bad), -EMEDIUMTYPE);
}
END_TEST

START_TEST(newer_format)
{
	const char *bad;
	int which, i;

	for (i = 0; i < 2; i++) {
		copy(i)->version = put32(2);
		seal(copy(i));
	}
	ck_assert_int_eq(read_super(&which, &bad), -EPROTONOSUPPORT);
	for (i = 0; i < 2; i++) {
		copy(i)->version = put32(1);
		copy(i)->incompat = put32(0x80);
		seal(copy(i));
	}
	ck_assert_int_eq(read_super(&which, &bad), -EPROTONOSUPPORT);
}
END_TEST

/* A file that has grown is as good as before; one that was cut is not. */
START_TEST(size_changes)
{
	const char *bad;
	bool foreign;
	int which;

	ck_assert_ptr_nonnull(super_check(copy(0), mem.size - 4096, &foreign));
	ck_assert(!foreign);
	pm_close(pm);
	pm_mem_free(&mem);
	memset(&mem, 0, sizeof(mem));
	open_mem(20 << 20);
	ck_assert_int_eq(mkfs_pool(pm, &mk, &geo), 0);
	ck_assert_int_eq(read_super(&which, &bad), 0);
	ck_assert_ptr_null(bad);
	/* the primary is torn: the replica is found where it says */
	copy(0)->uuid[0] ^= 1;
	ck_assert_int_eq(read_super(&which, &bad), 0);
	ck_assert_int_eq(which, 1);
}
END_TEST

/* An older, longer pool leaves no replica behind that could come back. */
START_TEST(old_replica_is_gone)
{
	struct mkfs_params small = { .nr_blocks = 4096, .time = 1 };
	const char *bad;
	int which;

	pm_close(pm);
	pm_mem_free(&mem);
	memset(&mem, 0, sizeof(mem));
	open_mem(32 << 20);
	mk.nr_blocks = 8192;
	ck_assert_int_eq(mkfs_pool(pm, &mk, &geo), 0);
	ck_assert_int_eq(mkfs_pool(pm, &small, &geo), 0);
	memset(copy(0), 0, 4096);
	ck_assert_int_eq(read_super(&which, &bad), -EMEDIUMTYPE);
}
END_TEST

/* ---- fields against each other ------------------------------------------ */

static void f_block_size(struct pmemfs_super *s) { s->block_size = put32(512); }
static void f_few(struct pmemfs_super *s) { s->nr_blocks = put64(4095); }
static void f_many(struct pmemfs_super *s) { s->nr_blocks = put64(4097); }
static void f_huge(struct pmemfs_super *s) { s->nr_blocks = put64(~0ull); }
static void f_lanes_blk(struct pmemfs_super *s) { s->lanes_blk = put64(9); }
static void f_nr_lanes(struct pmemfs_super *s) { s->nr_lanes = put32(1); }
static void f_nr_lanes2(struct pmemfs_super *s) { s->nr_lanes = put32(5); }
static void f_nr_lanes3(struct pmemfs_super *s) { s->nr_lanes = put32(0xffffffff); }
static void f_lane_size(struct pmemfs_super *s) { s->lane_size = put32(0); }
static void f_lane_size2(struct pmemfs_super *s) { s->lane_size = put32((256 << 10) + 64); }
static void f_lane_size3(struct pmemfs_super *s) { s->lane_size = put32(0xffffe000); }
static void f_groups(struct pmemfs_super *s) { s->groups_blk = put64(7); }
static void f_groups2(struct pmemfs_super *s) { s->groups_blk = put64(~0ull); }
static void f_bitmap(struct pmemfs_super *s) { s->bitmap_blk = put64(0); }
static void f_data(struct pmemfs_super *s) { s->data_blk = put64(1); }
static void f_data2(struct pmemfs_super *s) { s->data_blk = put64(~0ull); }
static void f_reserve(struct pmemfs_super *s) { s->reserve = put64(~0ull); }
static void f_root(struct pmemfs_super *s) { s->root_reserve = put64(1ull << 40); }
static void f_zero0(struct pmemfs_super *s) { s->zero0[6] = 1; }
static void f_owners(struct pmemfs_super *s) { s->owners_blk = put64(300); }
static void f_owners2(struct pmemfs_super *s) { s->owners_len = put64(1); }
static void f_label(struct pmemfs_super *s) { s->label[63] = 'x'; }
static void f_sparse(struct pmemfs_super *s) { s->sparse = 2; }
static void f_zero(struct pmemfs_super *s) { s->zero[3863] = 1; }
static void f_all_lanes(struct pmemfs_super *s)
{
	/* consistent, but the lanes alone are larger than the pool */
	s->nr_lanes = put32(256);
	s->lane_size = put32(16 << 20);
	s->groups_blk = put64(8 + 1048576);
	s->bitmap_blk = put64(9 + 1048576);
	s->data_blk = put64(10 + 1048576);
}

static void (*const fields[])(struct pmemfs_super *) = {
	f_block_size, f_few, f_many, f_huge, f_lanes_blk, f_nr_lanes, f_nr_lanes2,
	f_nr_lanes3, f_lane_size, f_lane_size2, f_lane_size3, f_groups, f_groups2,
	f_bitmap, f_data, f_data2, f_reserve, f_owners, f_owners2, f_label, f_sparse,
	f_zero, f_zero0, f_root, f_all_lanes,
};

START_TEST(field_is_checked)
{
	bool foreign;

	fields[_i](copy(0));
	seal(copy(0));
	ck_assert_ptr_nonnull(super_check(copy(0), pm_size(pm), &foreign));
	ck_assert(!foreign);
}
END_TEST

START_TEST(any_bit)
{
	uint8_t *raw = (uint8_t *)copy(0);
	unsigned i;
	bool foreign;

	for (i = 0; i < 4096; i++) {
		raw[i] ^= (uint8_t)(1u << i % 8);
		ck_assert_msg(super_check(copy(0), pm_size(pm), &foreign), "byte %u", i);
		raw[i] ^= (uint8_t)(1u << i % 8);
	}
}
END_TEST

/* Resealed noise: never accepted as something that does not fit the pool. */
START_TEST(sealed_noise)
{
	unsigned seed = 1, i, k;
	struct pmemfs_super good = *copy(0), *sb = copy(0);
	bool foreign;

	for (i = 0; i < 20000; i++) {
		*sb = good;
		for (k = 0; k < 3; k++)
			((uint8_t *)sb)[16 + rand_r(&seed) % 201] = (uint8_t)rand_r(&seed);
		seal(sb);
		if (super_check(sb, pm_size(pm), &foreign))
			continue;
		ck_assert_uint_le(get64(sb->nr_blocks), 4096);
		ck_assert_uint_lt(get64(sb->data_blk), get64(sb->nr_blocks));
		ck_assert_uint_eq(get64(sb->bitmap_blk), get64(good.bitmap_blk));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("super");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, geometry_fits, 0, 12);
	tcase_add_test(tc, geometry_refuses);
	tcase_add_test(tc, fresh);
	tcase_add_test(tc, label_full);
	tcase_add_test(tc, noise_does_not_show);
	tcase_add_test(tc, sparse_is_cheap);
	tcase_add_loop_test(tc, either_is_enough, 0, 2);
	tcase_add_loop_test(tc, newer_wins, 0, 2);
	tcase_add_test(tc, same_epoch_differs);
	tcase_add_test(tc, neither);
	tcase_add_test(tc, newer_format);
	tcase_add_test(tc, size_changes);
	tcase_add_test(tc, old_replica_is_gone);
	tcase_add_loop_test(tc, field_is_checked, 0, (int)ARRAY_SIZE(fields));
	tcase_add_test(tc, any_bit);
	tcase_add_test(tc, sealed_noise);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
