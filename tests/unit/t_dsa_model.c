/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_dsa_model.c - what the model shows of the rule, and what holds of the model
 *
 * Virtual time: the same figures on every machine, whatever it is doing.
 */
#include "tools/dsa_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/check_main.h"

#define KIB		1024u
#define MIB		(1024u * KIB)

/* With as many threads as requests, a few, and one. */
static const double threads[] = { 16, 4, 1 };

#define NR_TABLES	ARRAY_SIZE(threads)

static void fill(struct model m, struct model_table *t)
{
	for (size_t i = 0; i < NR_TABLES; i++) {
		m.threads = threads[i];
		model_fill(&m, &t[i]);
	}
}

/* Only auto depends on the rule. */
static void fill_auto(struct model m, struct model_table *t)
{
	for (size_t i = 0; i < NR_TABLES; i++) {
		m.threads = threads[i];
		for (unsigned s = 0; s < NR_MODEL_SIZES; s++)
			for (unsigned l = 0; l < NR_MODEL_LOADS; l++)
				model_run(&m, MODEL_AUTO, model_size(s), 1u << l,
					  &t[i].cell[s][l].by[MODEL_AUTO]);
	}
}

static void judge(const struct model_table *t, struct model_verdict *v)
{
	struct model_verdict one;

	model_judge(t, v);
	for (size_t i = 1; i < NR_TABLES; i++) {
		model_judge(&t[i], &one);
		if (one.worst < v->worst)
			v->worst = one.worst, v->size = one.size, v->load = one.load;
	}
}

static bool stands(const struct model_verdict *v)
{
	return v->worst >= 0.97 && v->cpu < 0.35;
}

START_TEST(auto_is_as_good_as_the_better_one_and_gives_the_cpu_back)
{
	struct model_table *t = calloc(NR_TABLES, sizeof(*t));
	struct model_verdict v;
	struct model m;

	model_defaults(&m);
	fill(m, t);
	judge(t, &v);
	free(t);
	ck_assert_msg(stands(&v), "%.3f at %zu x %u, %.3f of the CPU", v.worst,
		      model_size(v.size), 1u << v.load, v.cpu);
}
END_TEST

/* ---- rules that are broken ---------------------------------------------------- */

static bool never(const struct dsa_kind *k, const struct dsa_medium *m,
		  const struct dsa_load *l, size_t len, uint64_t min)
{
	(void)k, (void)m, (void)l, (void)len, (void)min;
	return false;
}

static bool always(const struct dsa_kind *k, const struct dsa_medium *m,
		   const struct dsa_load *l, size_t len, uint64_t min)
{
	(void)k, (void)m, (void)l, (void)len, (void)min;
	return true;
}

static bool size_alone(const struct dsa_kind *k, const struct dsa_medium *m,
		       const struct dsa_load *l, size_t len, uint64_t min)
{
	(void)k, (void)m, (void)l, (void)min;
	return len >= 32 * KIB;
}

static bool load_unseen(const struct dsa_kind *k, const struct dsa_medium *m,
			const struct dsa_load *l, size_t len, uint64_t min)
{
	(void)l;
	return dsa_policy_use(k, m, &(struct dsa_load){ 0 }, len, min);
}

static bool only_one(const struct dsa_kind *k, const struct dsa_medium *m,
		     const struct dsa_load *l, size_t len, uint64_t min)
{
	(void)k, (void)m, (void)len, (void)min;
	return !l->queue;
}

static bool only_when_idle(const struct dsa_kind *k, const struct dsa_medium *m,
			   const struct dsa_load *l, size_t len, uint64_t min)
{
	return !l->queue && dsa_policy_use(k, m, l, len, min);
}

static uint64_t no_nap(uint64_t eta, uint64_t late)
{
	(void)eta, (void)late;
	return 0;
}

START_TEST(a_broken_rule_shows)
{
	bool (*const rule[])(const struct dsa_kind *, const struct dsa_medium *,
			     const struct dsa_load *, size_t, uint64_t) = {
		never, always, size_alone, load_unseen, only_when_idle,
	};
	struct model_table *t = calloc(NR_TABLES, sizeof(*t));
	struct model_verdict v;
	struct model m;

	model_defaults(&m);
	fill(m, t);
	for (size_t i = 0; i < ARRAY_SIZE(rule); i++) {
		m.use = rule[i];
		fill_auto(m, t);
		judge(t, &v);
		ck_assert_msg(!stands(&v), "rule %zu: %.3f, %.3f of the CPU", i, v.worst, v.cpu);
	}
	free(t);
}
END_TEST

/* Polling to the end is what the device was to save. */
START_TEST(without_naps_nothing_is_given_back)
{
	struct model_result cpu, r;
	struct model m;

	model_defaults(&m);
	m.nap = no_nap;
	model_run(&m, MODEL_CPU, 2 * MIB, 16, &cpu);
	model_run(&m, MODEL_AUTO, 2 * MIB, 16, &r);
	ck_assert_msg(r.cpu > 0.9 * cpu.cpu, "%.3f of %.3f", r.cpu, cpu.cpu);
}
END_TEST

/* What the table says first is what the daemon goes by. */
START_TEST(the_daemon_has_the_figures_of_the_default_set)
{
	struct dsa_medium want = dsa_medium(true, true);
	struct model m;

	model_defaults(&m);
	ck_assert(!memcmp(&m.kind.latency, &dsa_kind_dsa.latency,
			  sizeof(m.kind) - offsetof(struct dsa_kind, latency)));
	ck_assert(!memcmp(&m.medium.cpu_rate, &want.cpu_rate,
			  sizeof(want) - offsetof(struct dsa_medium, cpu_rate)));
}
END_TEST

/* ---- the model itself ------------------------------------------------------------ */

static void near(double is, double want, double percent, const char *what)
{
	ck_assert_msg(fabs(is / want - 1) <= percent / 100, "%s: %g, not %g", what, is, want);
}

START_TEST(alone_is_arithmetic)
{
	struct model_result r;
	struct model m;
	double us;

	model_defaults(&m);
	model_run(&m, MODEL_CPU, 64 * KIB, 1, &r);
	near(r.rate, 3.5, 0.01, "CPU");
	near(r.latency, 65536 / 3.5, 0.01, "CPU, latency");
	near(r.cpu, 1.073741824 / 3.5, 0.01, "CPU, time");
	ck_assert(r.share <= 0);
	/* latency, bytes, submit, reap, flush; polled all the while */
	us = 1140 + 65536 / 13.9 + 100 + 50 + 1024 * 5;
	model_run(&m, MODEL_DEVICE, 64 * KIB, 1, &r);
	near(r.latency, us, 0.01, "device, latency");
	near(r.rate, 65536 / us, 0.01, "device");
	near(r.cpu, 1.073741824 * us / 65536, 0.01, "device, time");
	ck_assert(r.share >= 1);
	m.request = 7000;
	model_run(&m, MODEL_DEVICE, 64 * KIB, 1, &r);
	near(r.latency, us + 7000, 0.01, "with a request around it");
}
END_TEST

START_TEST(no_limit_is_passed)
{
	struct model_result r;
	struct model m;

	model_defaults(&m);
	model_run(&m, MODEL_CPU, MIB, 64, &r);
	near(r.rate, 13.9, 0.1, "many CPUs");
	near(r.cpu, 16 * 1.073741824 / 13.9, 0.1, "and all of them stalled");
	model_run(&m, MODEL_DEVICE, MIB, 64, &r);
	near(r.rate, 13.9, 1, "the memory");
	model_run(&m, MODEL_DEVICE, 4 * KIB, 64, &r);
	near(r.rate, 4096 / 790.0, 1, "descriptors of one engine");
	ck_assert(model_set(&m, "engines=2"));
	model_run(&m, MODEL_DEVICE, 4 * KIB, 64, &r);
	near(r.rate, 2 * 4096 / 790.0, 1, "of two");
	ck_assert(model_set(&m, "device_max=100"));
	model_inform(&m);
	model_run(&m, MODEL_DEVICE, MIB, 64, &r);
	near(r.rate, 29.9, 1, "the device");
	ck_assert(model_set(&m, "engine=2.5"));
	model_run(&m, MODEL_DEVICE, MIB, 64, &r);
	near(r.rate, 5, 1, "two slow engines");
	/* 64 KiB, one at a time through one slot, polled to the flush */
	ck_assert(model_set(&m, "slots=1") && model_set(&m, "threads=1"));
	model_run(&m, MODEL_DEVICE, 64 * KIB, 16, &r);
	near(r.rate, 65536 / (100 + 1140 + 65536 / 2.5 + 50 + 5120), 1, "one slot");
}
END_TEST

/* Half of what is expected, and half of the rest; then it is polled for. */
START_TEST(naps_are_paid_for)
{
	double flight = 1140 + 2097152 / 13.9, slept = 0, worked = 100 + 50 + 32768 * 5;
	struct model_result r;
	struct model m;

	model_defaults(&m);
	while ((flight - slept) / 2 >= 25000) {
		slept += (flight - slept) / 2 + 5000;
		worked += 3000;
	}
	model_run(&m, MODEL_DEVICE, 2 * MIB, 1, &r);
	near(r.cpu, 1.073741824 * (worked + flight - slept) / 2097152, 0.1, "time");
	near(r.latency, flight + 100 + 50 + 32768 * 5, 0.1, "latency");
	/* who comes late knows that others are first, and sleeps for them, too */
	model_run(&m, MODEL_DEVICE, 2 * MIB, 16, &r);
	ck_assert_msg(r.cpu < 1.073741824 * (163990 + 50000) / 2097152, "%g", r.cpu);
}
END_TEST

START_TEST(large_jobs_are_cut)
{
	struct model_result r;
	struct model m;

	model_defaults(&m);
	ck_assert(model_set(&m, "engine=2") && model_set(&m, "engines=2"));
	model_inform(&m);
	model_run(&m, MODEL_DEVICE, 2 * MIB, 1, &r);
	near(r.rate, 2097152 / (1140 + 2097152 / 2.0 + 150 + 32768 * 5), 0.1, "one piece");
	model_run(&m, MODEL_DEVICE, 4 * MIB, 1, &r);
	near(r.rate, 4194304 / (1140 + 2097152 / 2.0 + 150 + 65536 * 5), 1, "two");
}
END_TEST

/* Who is slower than an even share leaves the rest to the others. */
START_TEST(shares_of_the_memory)
{
	static const char *const set[] = { "cpu=0.5", "engine=0.5" };
	struct model_result r;
	struct model m;

	for (size_t i = 0; i < ARRAY_SIZE(set); i++) {
		model_defaults(&m);
		m.use = only_one;
		ck_assert(model_set(&m, "flush=0") && model_set(&m, "reap=0") &&
			  model_set(&m, "submit=0") && model_set(&m, set[i]));
		model_inform(&m);
		model_run(&m, MODEL_AUTO, MIB, i ? 16 : 2, &r);
		near(r.rate, 13.9, 3, "all");
		near(r.share, i ? 0.5 / 13.9 : 13.4 / 13.9, i ? 10 : 1, set[i]);
	}
}
END_TEST

/* A full queue is not waited for. */
START_TEST(full_means_the_cpu)
{
	struct model_result r;
	struct model m;

	model_defaults(&m);
	ck_assert(model_set(&m, "slots=4"));
	model_run(&m, MODEL_AUTO, MIB, 64, &r);
	ck_assert_msg(r.share > 0.01 && r.share < 0.9, "%g", r.share);
	near(r.rate, 13.9, 1, "auto");
}
END_TEST

START_TEST(faults_cost)
{
	struct model_result r, f;
	struct model m;

	model_defaults(&m);
	model_run(&m, MODEL_DEVICE, 64 * KIB, 1, &r);
	ck_assert(model_set(&m, "fault_every=2"));
	model_run(&m, MODEL_DEVICE, 64 * KIB, 1, &f);
	/* each other job: half of it by the CPU */
	near(f.share, 0.75, 1, "by the device");
	near(f.latency - r.latency, (4100 + 32768 / 3.5 - 32768 / 13.9 - 512 * 5) / 2, 1,
	     "the time it takes");
}
END_TEST

START_TEST(the_same_again)
{
	struct model_result a, b;
	struct model m;

	model_defaults(&m);
	model_run(&m, MODEL_AUTO, 256 * KIB, 32, &a);
	model_run(&m, MODEL_AUTO, 256 * KIB, 32, &b);
	ck_assert(!memcmp(&a, &b, sizeof(a)));
}
END_TEST

START_TEST(values_are_checked)
{
	static const char *const bad[] = {
		"", "engines", "engines=", "engines=0", "engines=1x", "nothing=1", "engine s=1",
		"latency=-1", "latency=nan", "engin=3", "threads=1000",
	};
	struct model m;

	model_defaults(&m);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!model_set(&m, bad[i]), "%s", bad[i]);
	ck_assert(model_set(&m, "flush=64"));
	ck_assert(m.medium.flush_byte >= 1 && m.medium.flush_byte <= 1);
	ck_assert(m.rule_medium.flush_byte < 1);
	model_inform(&m);
	ck_assert(m.rule_medium.flush_byte >= 1);
}
END_TEST

/* ---- ioatdma ---------------------------------------------------------------------- */

/*
 * The rates to 3 %, the CPU that was fitted to 1 %, the foretold to 15 %, but for
 * the largest writes of 16 tasks, which took twice the CPU that two tasks' figures
 * explain: there the model is wrong, and has to say so.
 */
START_TEST(ioatdma_is_reproduced)
{
	for (unsigned i = 0; i < NR_IOAT_ROWS; i++)
		for (unsigned reads = 0; reads < 2; reads++)
			for (enum model_mode by = MODEL_CPU; by <= MODEL_DEVICE; by++) {
				const struct ioat_row *row = &ioat_rows[i];
				const struct ioat_figures *is = &row->measured[reads][by];
				bool odd = row->len == 2 * MIB && row->tasks == 16 && !reads &&
					   by == MODEL_DEVICE;
				struct ioat_figures f;

				ioat_run(row, reads, by, &f);
				near(f.rate, is->rate, 3, "rate");
				near(f.cpu, is->cpu, ioat_was_fitted(row, by, true) ? 1 :
				     odd ? 50 : 15, "CPU");
			}
}
END_TEST

/* And the rule decides there as those who measured it would have liked. */
START_TEST(ioatdma_by_the_rule)
{
	for (unsigned i = 0; i < NR_IOAT_ROWS; i++)
		for (unsigned reads = 0; reads < 2; reads++) {
			struct ioat_figures f[NR_MODEL_MODES];
			enum model_mode best;

			for (enum model_mode by = 0; by < NR_MODEL_MODES; by++)
				ioat_run(&ioat_rows[i], reads, by, &f[by]);
			best = f[MODEL_CPU].rate > f[MODEL_DEVICE].rate ? MODEL_CPU : MODEL_DEVICE;
			near(f[MODEL_AUTO].rate, f[best].rate, 3, "rate");
			near(f[MODEL_AUTO].cpu, f[best].cpu, 3, "CPU");
		}
}
END_TEST

CHECK_MAIN("tools/dsa_model", auto_is_as_good_as_the_better_one_and_gives_the_cpu_back,
	   a_broken_rule_shows, without_naps_nothing_is_given_back,
	   the_daemon_has_the_figures_of_the_default_set,
	   alone_is_arithmetic, no_limit_is_passed, naps_are_paid_for, large_jobs_are_cut,
	   shares_of_the_memory, full_means_the_cpu, faults_cost,
	   the_same_again, values_are_checked, ioatdma_is_reproduced, ioatdma_by_the_rule)
