/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_dsa_policy.c - each sentence of the rule, and the published cases behind it
 */
#include "copy/dsa_policy.h"

#include "base/bytes.h"
#include "support/check_main.h"

#define KIB		1024u
#define MIB		(1024u * KIB)

static const struct dsa_load nobody;

static bool use(const struct dsa_kind *k, struct dsa_medium m, struct dsa_load l, size_t len)
{
	return dsa_policy_use(k, &m, &l, len, 0);
}

/* The smallest power of two that a request alone goes to the device with. */
static size_t first_alone(const struct dsa_kind *k, struct dsa_medium m)
{
	size_t len = 512;

	while (len <= 64 * MIB && !use(k, m, nobody, len))
		len *= 2;
	for (size_t more = len; more <= 64 * MIB; more *= 2)
		ck_assert_msg(use(k, m, nobody, more), "%zu does, %zu does not", len, more);
	return len;
}

/* Published: against memmove in DRAM, 32 KiB is the first size that never loses. */
START_TEST(alone_latency_decides)
{
	ck_assert_uint_eq(first_alone(&dsa_kind_dsa, dsa_medium(false, false)), 32 * KIB);
	ck_assert_uint_eq(first_alone(&dsa_kind_dsa, dsa_medium(true, true)), 16 * KIB);
	ck_assert_uint_eq(first_alone(&dsa_kind_dsa, dsa_medium(true, false)), 8 * KIB);
	/* copying to DRAM is as quick as flushing it, so there is nothing to win */
	ck_assert_uint_gt(first_alone(&dsa_kind_dsa, dsa_medium(false, true)), 64 * MIB);
	ck_assert(!use(&dsa_kind_dsa, dsa_medium(true, true), nobody, 0));
}
END_TEST

/* One thread with fifteen more to serve is worth more than the latency of one. */
START_TEST(waiting_requests_lower_the_cutoff)
{
	struct dsa_load l = { .waiting = 15 };

	ck_assert(!use(&dsa_kind_dsa, dsa_medium(true, true), nobody, 4 * KIB));
	ck_assert(use(&dsa_kind_dsa, dsa_medium(true, true), l, 4 * KIB));
	ck_assert(!use(&dsa_kind_dsa, dsa_medium(true, true), l, 2 * KIB));
	l = (struct dsa_load){ .queue = 15, .own = 15, .ahead = 15 * 4 * KIB };
	ck_assert(use(&dsa_kind_dsa, dsa_medium(true, true), l, 4 * KIB));
}
END_TEST

/* One of two is served while the other is under way, if that is for long enough. */
START_TEST(one_thread_with_two)
{
	struct dsa_load l = { .waiting = 1 };

	ck_assert(use(&dsa_kind_dsa, dsa_medium(true, true), l, 4 * KIB));
	ck_assert(!use(&dsa_kind_dsa, dsa_medium(false, true), l, 16 * KIB));
	ck_assert(use(&dsa_kind_dsa, dsa_medium(false, true), l, 64 * KIB));
}
END_TEST

/* Four jobs side by side take as long as each other, and nothing flows while all are flushed. */
START_TEST(engines_share_the_memory)
{
	struct dsa_load l = { .queue = 3 };
	struct dsa_kind four = dsa_kind_dsa;

	four.engines = 4;
	ck_assert(!use(&four, dsa_medium(true, true), l, 64 * KIB));
	ck_assert(use(&dsa_kind_dsa, dsa_medium(true, true), l, 64 * KIB));
	l.queue = 7;
	ck_assert(use(&four, dsa_medium(true, true), l, 64 * KIB));
}
END_TEST

/* Sixteen CPUs fill the memory with pieces of 4 KiB; one engine does not, four do. */
START_TEST(the_device_must_keep_up)
{
	static const struct dsa_load l[] = { { .serving = 15 }, { .queue = 15 } };
	struct dsa_kind four = dsa_kind_dsa;

	four.engines = 4;
	for (size_t i = 0; i < ARRAY_SIZE(l); i++) {
		ck_assert(!use(&dsa_kind_dsa, dsa_medium(true, true), l[i], 4 * KIB));
		ck_assert(use(&four, dsa_medium(true, true), l[i], 4 * KIB));
		ck_assert(use(&dsa_kind_dsa, dsa_medium(true, true), l[i], 64 * KIB));
	}
}
END_TEST

/* Beside others in DRAM the device does not finish sooner, but its CPU does. */
START_TEST(among_many_time_decides)
{
	struct dsa_load l = { .queue = 15 };
	struct dsa_medium m = dsa_medium(true, true);

	ck_assert(!use(&dsa_kind_dsa, dsa_medium(false, true), nobody, 2 * MIB));
	ck_assert(use(&dsa_kind_dsa, dsa_medium(false, true), l, 2 * MIB));
	m.flush_byte = 1.01 / m.cpu_rate;
	ck_assert(!use(&dsa_kind_dsa, m, l, 2 * MIB));
}
END_TEST

/* A cost that grows with the bytes but is not the CPU's own: the older device. */
START_TEST(another_kind_another_cutoff)
{
	struct dsa_kind slow = {
		.name = "slow", .latency = 9000, .engine_rate = 13.2, .device_rate = 30,
		.engines = 8, .submit = 9750, .cpu_byte = 0.107,
	};
	struct dsa_medium m = dsa_medium(true, false);

	ck_assert(!use(&slow, m, nobody, 64 * KIB));
	ck_assert(use(&slow, m, nobody, 2 * MIB));
	ck_assert(use(&dsa_kind_dsa, m, nobody, 64 * KIB));
	slow.cpu_byte = 1.01 / m.cpu_rate;
	ck_assert(!use(&slow, m, (struct dsa_load){ .queue = 15 }, 2 * MIB));
}
END_TEST

START_TEST(a_small_one_does_not_stand_behind_large_ones)
{
	struct dsa_load l = { .queue = 16, .ahead = 16 * 2 * MIB };

	ck_assert(use(&dsa_kind_dsa, dsa_medium(true, true), l, 2 * MIB));
	ck_assert(!use(&dsa_kind_dsa, dsa_medium(true, true), l, 64 * KIB));
	l.ahead = 16 * 64 * KIB;
	ck_assert(use(&dsa_kind_dsa, dsa_medium(true, true), l, 64 * KIB));
	/* however many there are */
	l = (struct dsa_load){ .queue = 1, .ahead = 2 * MIB };
	ck_assert(!use(&dsa_kind_dsa, dsa_medium(true, true), l, 64 * KIB));
	l = (struct dsa_load){ .queue = 1000, .ahead = 1000ull * 64 * KIB };
	ck_assert(use(&dsa_kind_dsa, dsa_medium(true, true), l, 64 * KIB));
}
END_TEST

START_TEST(the_administrator_replaces_the_rule)
{
	static const struct dsa_load l[] = { { 0 }, { .queue = 16, .ahead = 64 * MIB } };
	struct dsa_medium m = dsa_medium(false, true);

	for (size_t i = 0; i < ARRAY_SIZE(l); i++) {
		ck_assert(dsa_policy_use(&dsa_kind_dsa, &m, &l[i], 64 * KIB, 64 * KIB));
		ck_assert(!dsa_policy_use(&dsa_kind_dsa, &m, &l[i], 64 * KIB - 1, 64 * KIB));
		ck_assert(!dsa_policy_use(&dsa_kind_dsa, &m, &l[i], 0, 1));
	}
}
END_TEST

/* 1.14 us and 64 KiB at the slowest of engine, device and memory; what is ahead comes first. */
START_TEST(what_to_expect)
{
	struct dsa_medium m = dsa_medium(true, true);
	struct dsa_kind k = dsa_kind_dsa;
	uint64_t t = dsa_policy_expect(&dsa_kind_dsa, &m, 0, 64 * KIB);

	ck_assert_uint_ge(t, 5800);
	ck_assert_uint_le(t, 5900);
	ck_assert_uint_ge(dsa_policy_expect(&dsa_kind_dsa, &m, 2 * MIB, 64 * KIB), t + 150000);
	k.engine_rate = 1;
	ck_assert_uint_eq(dsa_policy_expect(&k, &m, 0, 64 * KIB), 1140 + 64 * KIB);
	k.engines = 4;
	ck_assert_uint_eq(dsa_policy_expect(&k, &m, 64 * KIB, 64 * KIB), 1140 + 80 * KIB);
	k.device_rate = 0.5;
	ck_assert_uint_eq(dsa_policy_expect(&k, &m, 0, 64 * KIB), 1140 + 128 * KIB);
}
END_TEST

/* Short waits are not slept through; no sleep ends after the job is expected. */
START_TEST(naps)
{
	uint64_t all = 0;

	ck_assert_uint_eq(dsa_policy_nap(0, 0), 0);
	ck_assert_uint_eq(dsa_policy_nap(49000, 0), 0);
	for (uint64_t eta = 50000; eta < 10000000; eta += 977) {
		ck_assert_uint_gt(dsa_policy_nap(eta, 0), 0);
		ck_assert_uint_lt(dsa_policy_nap(eta, 0), eta);
	}
	ck_assert_uint_eq(dsa_policy_nap(0, 90000), 0);
	/* overdue by a second: seldom looked at, and a little late at most */
	for (uint64_t late = 100000; late < 1000000000; late += dsa_policy_nap(0, late)) {
		ck_assert_uint_gt(dsa_policy_nap(0, late), 0);
		ck_assert_uint_le(dsa_policy_nap(0, late), late / 4);
		ck_assert_uint_le(++all, 200);
	}
}
END_TEST

CHECK_MAIN("copy/dsa_policy", alone_latency_decides, waiting_requests_lower_the_cutoff,
	   one_thread_with_two, engines_share_the_memory, the_device_must_keep_up,
	   among_many_time_decides, another_kind_another_cutoff,
	   a_small_one_does_not_stand_behind_large_ones, the_administrator_replaces_the_rule,
	   what_to_expect, naps)
