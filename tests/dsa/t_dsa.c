/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_dsa.c - the same bytes by every way into the pool, whatever the device does
 *
 * Every way of submission under every trouble; what is judged: rig.h.
 */
#include "base/bytes.h"
#include "dsa/rig.h"
#include "support/check_main.h"

/* ---- by every way, whatever happens ------------------------------------------------------- */

static const struct trouble {
	const char *script;
	bool hard;			/* the queue goes off */
} troubles[] = {
	{ "", false },
	{ "reorder window=8", false },
	{ "delay ns=300000 every=3", false },
	{ "fault at=0 every=2 dir=write", false },
	{ "fault at=0 every=2 dir=read", false },
	{ "fault at=1 every=3 dir=write\nfault at=4096 every=2 dir=read", false },
	{ "fault at=65535 every=2 dir=write", false },
	{ "fault at=1000 every=2 dir=write backward", false },
	{ "fault at=8192 dir=write", true },		/* all of them */
	{ "full for=3 every=4", false },
	{ "full for=500 nth=5", false },
	{ "status code=0x20 every=7", true },
	{ "status code=0x11 nth=3", true },
	{ "status code=0x22 min=65537", true },
	{ "status code=0x04 every=5", true },
	{ "status code=0x41 every=5", true },		/* of no known kind */
	{ "status code=0x9f nth=2", true },
	{ "status code=0x21 op=move every=3\nreorder window=4", true },
	{ "status code=0x20 op=batch every=2", true },
	{ "list-fault at=1 every=2", false },
	{ "list-fault at=0 every=3\nfault at=100 every=5 dir=write", false },
	{ "never nth=7", true },
	{ "never every=9 times=3\nreorder window=3", true },
	{ "halt nth=5 ns=3000000000", true },
	{ "halt nth=20", true },
	{ "disable nth=6", true },
	{ "random seed=1 per=5", true },
	{ "random seed=2 per=30 hard\nreorder window=5", true },
};

static void try_trouble(const struct way *w, const struct trouble *t)
{
	static const unsigned depths[] = { 1, 4, 16, 32 };
	unsigned depth = depths[dice % 4], got;
	struct dsa_stats st;

	open_way(w, t->script, &any_size);
	got = work(24, depth, LONGEST);
	dsa_stats(dsa, &st);
	ck_assert_msg(got, "%s: the device got nothing", what);
	ck_assert_msg(st.inflight == 0 && st.inflight_max <= depth, "%s: counters", what);
	/* once it is well, it has work again */
	softdsa_well(sys.dev);
	for (unsigned i = 0; t->hard && i < 10 && !dsa_wants(port, 65536); i++) {
		sys.now += DSA_BACKOFF_MAX;
		dsa_wants(port, 65536);
		while (softdsa_step(sys.dev))
			;
	}
	ck_assert_msg(work(4, 2, 300000), "%s: does not come back", what);
	close_way();
}

static void try_way(const struct way *w)
{
	mem = (struct pm_mem){ .size = SIZE };
	open_pool(&pm_backend_mem, &mem);
	dice = 12345 + (uint64_t)(w - ways);
	for (unsigned i = 0; i < ARRAY_SIZE(troubles); i++) {
		dice = dice * 31 + i;
		try_trouble(w, &troubles[i]);
	}
	close_pool();
}

START_TEST(by_movdir64b) { try_way(&ways[0]); } END_TEST
START_TEST(by_movdir64b_in_batches) { try_way(&ways[1]); } END_TEST
START_TEST(by_enqcmd) { try_way(&ways[2]); } END_TEST
START_TEST(by_enqcmd_in_batches) { try_way(&ways[3]); } END_TEST
START_TEST(by_write_dedicated) { try_way(&ways[4]); } END_TEST
START_TEST(by_write_in_pieces) { try_way(&ways[5]); } END_TEST
START_TEST(by_write_shared) { try_way(&ways[6]); } END_TEST

CHECK_MAIN("copy/dsa", by_movdir64b, by_movdir64b_in_batches, by_enqcmd, by_enqcmd_in_batches,
	   by_write_dedicated, by_write_in_pieces, by_write_shared)
