/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_sets.c - the parameters of the model, where they come from, and its table
 *
 * "assumed" is said where nothing is published. The second set is fitted to the
 * table that kernel developers made of ioatdma, under the pmem block driver with
 * DRAM in the role of pmem; it has a parameter for nearly every figure it is fitted
 * to, so that what it shows is that a model of this form can be made to agree,
 * and, by the figures that were left out of the fit, where it does not.
 */
#include "tools/dsa_sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* ---- Intel DSA beside persistent memory ---------------------------------------- */

#define AT(field)	offsetof(struct model, field)
#define LIGHT		"LightDSA's raw data (DRAM to DRAM, one engine): "
#define OPTANE		"published for six Optane DIMMs: "

const struct model_param model_params[] = {
	{ "latency", "ns", AT(kind.latency), 1, 0, 1e9, 1140, LIGHT "1.14 us + n / 30.7 GB/s" },
	{ "engine", "GB/s", AT(kind.engine_rate), 1, 0.01, 1e4, 30.7, "the same" },
	{ "hold", "ns", AT(kind.hold), 1, 0, 1e9, 790,
	  LIGHT "4 KiB, 128 in flight, no batches, 0.79 us each" },
	{ "device", "GB/s", AT(kind.device_rate), 1, 0.01, 1e4, 29.9,
	  LIGHT "four engines with batches, 29.8 to 29.9" },
	{ "engines", "", AT(kind.engines), 1, 1, MODEL_MAX_ENGINES, 1,
	  "as in those measurements; the device has four" },
	{ "submit", "ns", AT(kind.submit), 1, 0, 1e9, 100,
	  "assumed: ENQCMD is said to take 60 to 100" },
	{ "reap", "ns", AT(kind.reap), 1, 0, 1e9, 50, "assumed" },
	{ "slots", "jobs", AT(slots), 1, 1, 1e6, 128,
	  "one queue with all entries of the device, as DTO configures it" },
	{ "transfer", "bytes", AT(max_transfer), 1, 4096, 1e12, 2097152,
	  "the kernel's default for a work queue" },
	{ "cpu", "GB/s", AT(medium.cpu_rate), 1, 0.01, 1e4, 3.5,
	  OPTANE "the maximum is reached by four threads (DRAM: 9.3, LightDSA)" },
	{ "cpu_max", "GB/s", AT(medium.cpu_max), 1, 0.01, 1e4, 13.9,
	  OPTANE "the maximum of writing (DRAM: 20.9, ioatdma's table)" },
	{ "device_max", "GB/s", AT(medium.device_max), 1, 0.01, 1e4, 13.9,
	  "assumed: as for CPUs, nothing is published (DRAM: 30.7)" },
	{ "flush", "ns/line", AT(medium.flush_byte), 1.0 / 64, 0, 1e6, 5,
	  "assumed: clwb of lines not in the cache; 1.5 to 3.3 measured, DRAM on an AMD EPYC" },
	{ "threads", "", AT(threads), 1, 1, MODEL_MAX_THREADS, 16,
	  "assumed: that serve, each on its CPU" },
	{ "request", "ns", AT(request), 1, 0, 1e9, 0,
	  "the same for all three, so 0 shows the copies alone" },
	{ "wake", "ns", AT(wake), 1, 0, 1e9, 3000, "assumed: CPU time to sleep and wake up" },
	{ "wake_late", "ns", AT(wake_late), 1, 0, 1e9, 5000,
	  "assumed, with the least timer slack; the kernel's default is 50000" },
	{ "fault_every", "jobs", AT(fault_every), 1, 0, 1e9, 0,
	  "0: none, the pages have been touched" },
	{ "fault", "ns", AT(fault), 1, 0, 1e9, 4100,
	  LIGHT "1 GiB with minor faults in 1.08 s" },
};

const unsigned nr_model_params = ARRAY_SIZE(model_params);

static double *place(struct model *m, const struct model_param *p)
{
	return (double *)((char *)m + p->at);
}

double model_get(const struct model *m, const struct model_param *p)
{
	double v;

	memcpy(&v, (const char *)m + p->at, sizeof(v));
	return v / p->scale;
}

void model_defaults(struct model *m)
{
	*m = (struct model){ .kind.name = "dsa", .medium.name = "pmem",
			     .use = dsa_policy_use, .nap = dsa_policy_nap };
	for (unsigned i = 0; i < nr_model_params; i++)
		*place(m, &model_params[i]) = model_params[i].value * model_params[i].scale;
	m->rule_kind = dsa_kind_dsa;
	m->rule_medium = dsa_medium(true, true);
}

void model_inform(struct model *m)
{
	m->rule_kind = m->kind;
	m->rule_medium = m->medium;
}

bool model_set(struct model *m, const char *text)
{
	const char *eq = strchr(text, '=');
	char *end;
	double v;

	for (unsigned i = 0; eq && i < nr_model_params; i++) {
		const struct model_param *p = &model_params[i];

		if (strlen(p->name) != (size_t)(eq - text) ||
		    strncmp(p->name, text, (size_t)(eq - text)) != 0)
			continue;
		v = strtod(eq + 1, &end);
		if (end == eq + 1 || *end || !(v >= p->min && v <= p->max))
			return false;
		*place(m, p) = v * p->scale;
		return true;
	}
	return false;
}

void model_fill(const struct model *m, struct model_table *t)
{
	for (unsigned s = 0; s < NR_MODEL_SIZES; s++)
		for (unsigned l = 0; l < NR_MODEL_LOADS; l++)
			for (enum model_mode by = 0; by < NR_MODEL_MODES; by++)
				model_run(m, by, model_size(s), 1u << l, &t->cell[s][l].by[by]);
}

void model_judge(const struct model_table *t, struct model_verdict *v)
{
	const struct model_cell *c = &t->cell[9][4];

	_Static_assert((4096u << 9) == 2u << 20 && 1u << 4 == 16, "2 MiB x 16");
	v->worst = 1e9;
	for (unsigned s = 0; s < NR_MODEL_SIZES; s++)
		for (unsigned l = 0; l < NR_MODEL_LOADS; l++) {
			const struct model_result *r = t->cell[s][l].by;
			double best = r[MODEL_CPU].rate > r[MODEL_DEVICE].rate ?
				      r[MODEL_CPU].rate : r[MODEL_DEVICE].rate;

			if (r[MODEL_AUTO].rate / best >= v->worst)
				continue;
			v->worst = r[MODEL_AUTO].rate / best;
			v->size = s;
			v->load = l;
		}
	v->cpu = c->by[MODEL_AUTO].cpu / c->by[MODEL_CPU].cpu;
}

/* ---- ioatdma ----------------------------------------------------------------------- */

/* linux-nvdimm, July and August 2017: Skylake Xeon, fio 2.21. */
const struct ioat_row ioat_rows[NR_IOAT_ROWS] = {
	{ 65536, 1, 1, { { { 3552, 100 }, { 2173, 54 } }, { { 7631, 99.7 }, { 2415, 54 } } } },
	{ 65536, 16, 16, { { { 20900, 1589 }, { 23400, 585 } },
			   { { 36800, 1593 }, { 29100, 607 } } } },
	{ 2097152, 1, 1, { { { 3579, 100 }, { 5211, 58.3 } },
			   { { 6013, 99.3 }, { 7986, 59.3 } } } },
	{ 2097152, 16, 16, { { { 14100, 1594 }, { 20400, 446.9 } },
			     { { 18100, 1588 }, { 21300, 180.9 } } } },
};

/*
 * Fitted: the CPU time of a request and of its bytes (pages pinned and mapped) to the
 * CPU of one task; latency and rate of a channel to its bandwidth; the rates of a CPU, and
 * what the memory takes from 16 CPUs and from 8 channels, each once for buffers
 * that fit the CPU's cache and once for those that do not, directly.
 */
void ioat_set(const struct ioat_row *row, bool reads, struct model *m)
{
	static const double rate[2] = { 13.2, 21.5 }, cpu_byte[2] = { 0.1075, 0.0694 };
	static const struct dsa_medium media[2][2] = {
		{ { "write, not cached", 3.58, 14.1, 20.4, 0 }, { "write", 3.55, 20.9, 23.4, 0 } },
		{ { "read, not cached", 6.01, 18.1, 21.3, 0 }, { "read", 7.63, 36.8, 29.1, 0 } },
	};

	*m = (struct model){
		.kind = { .name = "ioatdma", .latency = 9200, .engine_rate = rate[reads],
			  .device_rate = 1e4, .engines = 8, .submit = 9700,
			  .cpu_byte = cpu_byte[reads] },
		.medium = media[reads][row->len <= 1u << 20],
		.threads = row->tasks, .slots = 1024, .max_transfer = 2u << 20,
		.interrupts = true, .use = dsa_policy_use, .nap = dsa_policy_nap,
	};
	model_inform(m);
}

void ioat_run(const struct ioat_row *row, bool reads, enum model_mode mode,
	      struct ioat_figures *out)
{
	struct model_result r;
	struct model m;

	ioat_set(row, reads, &m);
	model_run(&m, mode, row->len, row->tasks * row->depth, &r);
	out->rate = r.rate * 1000;
	out->cpu = r.cpu * r.rate * 1e9 / (1u << 30) * 100;
}

bool ioat_was_fitted(const struct ioat_row *row, enum model_mode mode, bool cpu)
{
	return !cpu || (mode == MODEL_DEVICE && row->tasks == 1);
}
