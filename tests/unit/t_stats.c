/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_stats.c - histograms of time, and the numbers of a mount as JSON
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/options.h"
#include "fuse/session.h"
#include "fuse/stats.h"
#include "fuse/transport.h"
#include "support/check_main.h"
#include "support/pool.h"

START_TEST(a_bucket_is_a_quarter_wide)
{
	uint64_t low = 0, bound;

	for (unsigned b = 0; b < STATS_BUCKETS; b++) {
		bound = stats_bound(b);
		ck_assert_uint_gt(bound, low);
		ck_assert_uint_eq(stats_bucket(low), b);
		ck_assert_uint_eq(stats_bucket(bound - 1), b);
		if (b > 0 && b < STATS_BUCKETS - 1)
			ck_assert_uint_le(bound - low, low / 4);
		low = bound;
	}
	ck_assert_uint_eq(stats_bucket(UINT64_MAX), STATS_BUCKETS - 1);
	ck_assert_uint_gt(stats_bound(STATS_BUCKETS - 2), 30ull * 1000000000);
}
END_TEST

START_TEST(quantiles)
{
	struct stats_sum s = { .count = 0 };

	ck_assert_uint_eq(stats_quantile(&s, 500), 0);
	s.count = 1000;
	s.max = 999999;
	s.bucket[stats_bucket(1000)] = 500;
	s.bucket[stats_bucket(10000)] = 490;
	s.bucket[stats_bucket(999999)] = 10;
	ck_assert_uint_eq(stats_quantile(&s, 500), stats_bound(stats_bucket(1000)));
	ck_assert_uint_eq(stats_quantile(&s, 501), stats_bound(stats_bucket(10000)));
	ck_assert_uint_eq(stats_quantile(&s, 990), stats_bound(stats_bucket(10000)));
	ck_assert_uint_eq(stats_quantile(&s, 991), 999999);
	ck_assert_uint_eq(stats_quantile(&s, 1000), 999999);
}
END_TEST

START_TEST(a_note_is_found_again)
{
	struct stats_sum s;

	for (unsigned i = 0; i < 10; i++)
		stats_note(FUSE_READ, i ? 0 : -EIO, stats_clock() - 5000);
	stats_note(FUSE_READ, -ENOENT, stats_clock() - 1000000000);
	stats_note(UINT32_MAX, 0, stats_clock());
	stats_sum(FUSE_READ, &s);
	ck_assert_uint_eq(s.count, 11);
	ck_assert_uint_eq(s.errors, 2);
	ck_assert_uint_ge(s.max, 1000000000);
	ck_assert_uint_ge(s.total, 1000050000);
	ck_assert_uint_eq(stats_errors(EIO), 1);
	ck_assert_uint_eq(stats_errors(ENOSPC), 0);
	stats_sum(FUSE_WRITE, &s);
	ck_assert_uint_eq(s.count, 0);
	stats_sum(0, &s);			/* opcodes that nobody knows */
	ck_assert_uint_eq(s.count, 1);
}
END_TEST

/* J1 of stats_json.c, and that a label cannot end a string. */
START_TEST(json_fits)
{
	static char buf[STATS_MAX + 1];
	const struct transport tr = { .name = "memory" };
	struct options opt = { .dax = DAX_INODE };
	struct session s = { .opt = &opt, .transport = &tr, .nr_workers = 3 };
	struct pool pool;
	size_t len, less;

	for (uint32_t op = 0; op < FUSE_OPCODES; op++)
		for (unsigned b = 0; b < STATS_BUCKETS - 1; b++)
			stats_note(op, -ENOSPC, stats_clock() - stats_bound(b));
	pool_make(&pool, 32 << 20);
	s.fs = pool.fs;
	memcpy(pool.fs->geo.label, "a\"\\b\1", 6);
	len = stats_json(&s, buf, STATS_MAX);
	ck_assert_uint_gt(len, 0);
	ck_assert_uint_eq(strlen(buf), len);
	ck_assert_ptr_nonnull(strstr(buf, "\"label\":\"a\\u0022\\u005cb\\u0001\""));
	ck_assert_ptr_nonnull(strstr(buf, "\"histogram\":[1,"));
	ck_assert_ptr_nonnull(strstr(buf, "\"dax\":\"inode\""));
	less = stats_json(&s, buf, len - 1);
	ck_assert_uint_gt(less, 0);
	ck_assert_uint_lt(less, len / 2);
	ck_assert_ptr_null(strstr(buf, "histogram"));
	ck_assert_ptr_nonnull(strstr(buf, "\"p99_ns\""));
	ck_assert_uint_eq(stats_json(&s, buf, 100), 0);
	pool_end(&pool);
}
END_TEST

CHECK_MAIN("stats", a_bucket_is_a_quarter_wide, quantiles, a_note_is_found_again, json_fits)
