/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_dsa.c - pmemfs-bench dsa-model: what a copying device would be worth
 *
 * The tables are computed, in virtual time (dsa_model.c), from parameters that are
 * printed with them, each with its source. No device is looked for or used.
 *
 *   D1  The rule of `auto` is the one that the daemon uses: the same function.
 *   D2  Every output says that it is a model's.
 */
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "tools/bench.h"
#include "tools/dsa_sets.h"

static const char label[] = "a model, not a measurement";
static const char *const mode_name[NR_MODEL_MODES] = { "cpu-only", "dsa-only", "auto" };

/* ---- Intel DSA -------------------------------------------------------------------- */

static void size_name(size_t len, char *buf, size_t size)
{
	if (len < 1u << 20)
		snprintf(buf, size, "%zuK", len >> 10);
	else
		snprintf(buf, size, "%zuM", len >> 20);
}

static void print_params(const struct model *m)
{
	printf("Intel DSA and persistent memory: %s, in virtual time.\n\n%-12s %9s %-8s %s\n",
	       label, "parameter", "value", "unit", "source (--set parameter=value)");
	for (unsigned i = 0; i < nr_model_params; i++) {
		const struct model_param *p = &model_params[i];
		double v = model_get(m, p);

		printf("%-12s %9.10g %-8s %s\n", p->name, v, p->unit,
		       v > p->value || v < p->value ? "the command line" : p->source);
	}
}

static void print_cell(size_t len, unsigned in_flight, const struct model_result *r)
{
	char size[16];

	size_name(len, size, sizeof(size));
	printf("%5s %3u |", size, in_flight);
	for (unsigned i = 0; i < NR_MODEL_MODES; i++)
		printf(" %6.2f", r[i].rate);
	printf(" |");
	for (unsigned i = 0; i < NR_MODEL_MODES; i++)
		printf(" %8.1f", r[i].latency / 1000);
	printf(" |");
	for (unsigned i = 0; i < NR_MODEL_MODES; i++)
		printf(" %6.0f", r[i].cpu * 1000);
	printf(" | %4.0f %%\n", r[MODEL_AUTO].share * 100);
}

static void print_verdict(const struct model_table *t)
{
	struct model_verdict v;
	char size[16];

	model_judge(t, &v);
	size_name(model_size(v.size), size, sizeof(size));
	printf("\nBy this model auto has at least %.1f %% of the bandwidth of the better of the"
	       " two\n(least at %s x %u), and at 2M x 16 takes %.1f %% of the CPU that cpu-only"
	       " takes.\n", v.worst * 100, size, 1u << v.load, v.cpu * 100);
}

static void print_table(const struct model *m, const struct model_table *t)
{
	print_params(m);
	printf("\n in flight | %-20s | %-26s | %-20s | auto:\n size      |", "GB/s",
	       "us from arrival to reply", "CPU ms for a GiB");
	printf(" %6s %6s %6s | %8s %8s %8s | %6s %6s %6s | by dsa\n", "cpu", "dsa", "auto",
	       "cpu", "dsa", "auto", "cpu", "dsa", "auto");
	for (unsigned s = 0; s < NR_MODEL_SIZES; s++)
		for (unsigned l = 0; l < NR_MODEL_LOADS; l++)
			print_cell(model_size(s), 1u << l, t->cell[s][l].by);
	print_verdict(t);
}

static void add_number(struct json_object *o, const char *name, double v)
{
	json_object_object_add(o, name, json_object_new_double(v));
}

static void add_count(struct json_object *o, const char *name, size_t v)
{
	json_object_object_add(o, name, json_object_new_int64((int64_t)v));
}

static void add_text(struct json_object *o, const char *name, const char *v)
{
	json_object_object_add(o, name, json_object_new_string(v));
}

static void print_and_put(struct json_object *o)
{
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static struct json_object *json_params(const struct model *m)
{
	struct json_object *rows = json_object_new_array();

	for (unsigned i = 0; i < nr_model_params; i++) {
		struct json_object *row = json_object_new_object();

		add_text(row, "name", model_params[i].name);
		add_text(row, "unit", model_params[i].unit);
		add_number(row, "value", model_get(m, &model_params[i]));
		add_number(row, "default", model_params[i].value);
		add_text(row, "source", model_params[i].source);
		json_object_array_add(rows, row);
	}
	return rows;
}

static void json_cell(struct json_object *rows, size_t len, unsigned in_flight,
		      const struct model_result *r)
{
	for (unsigned i = 0; i < NR_MODEL_MODES; i++) {
		struct json_object *row = json_object_new_object();

		add_count(row, "size", len);
		add_count(row, "in_flight", in_flight);
		add_text(row, "copies", mode_name[i]);
		add_number(row, "gb_s", r[i].rate);
		add_number(row, "latency_us", r[i].latency / 1000);
		add_number(row, "latency_99_us", r[i].worst / 1000);
		add_number(row, "cpu_ms_gib", r[i].cpu * 1000);
		add_number(row, "by_device", r[i].share);
		json_object_array_add(rows, row);
	}
}

static void json_table(const struct model *m, const struct model_table *t)
{
	struct json_object *out = json_object_new_object(), *rows = json_object_new_array();
	struct model_verdict v;

	model_judge(t, &v);
	add_text(out, "kind", label);
	add_text(out, "device", "dsa");
	json_object_object_add(out, "parameters", json_params(m));
	for (unsigned s = 0; s < NR_MODEL_SIZES; s++)
		for (unsigned l = 0; l < NR_MODEL_LOADS; l++)
			json_cell(rows, model_size(s), 1u << l, t->cell[s][l].by);
	json_object_object_add(out, "results", rows);
	add_number(out, "auto_worst_bandwidth", v.worst);
	add_number(out, "auto_cpu_2m_16", v.cpu);
	print_and_put(out);
}

/* ---- ioatdma ---------------------------------------------------------------------- */

static double error(double model, double measured)
{
	return (model / measured - 1) * 100;
}

static void print_ioat_row(const struct ioat_row *row, bool reads)
{
	struct ioat_figures f[NR_MODEL_MODES];
	char size[16];

	size_name(row->len, size, sizeof(size));
	for (enum model_mode by = 0; by < NR_MODEL_MODES; by++)
		ioat_run(row, reads, by, &f[by]);
	for (enum model_mode by = MODEL_CPU; by <= MODEL_DEVICE; by++) {
		const struct ioat_figures *is = &row->measured[reads][by];

		printf("%4s x %2u %-5s %-3s | %7.0f %7.0f %+6.1f %% | %7.1f %7.1f %+6.1f %%%s",
		       size, row->tasks, reads ? "read" : "write",
		       by == MODEL_CPU ? "cpu" : "dma", is->rate, f[by].rate,
		       error(f[by].rate, is->rate), is->cpu, f[by].cpu,
		       error(f[by].cpu, is->cpu), ioat_was_fitted(row, by, true) ? " " : "*");
		if (by == MODEL_DEVICE)
			printf(" | auto: %5.0f, %6.1f", f[MODEL_AUTO].rate, f[MODEL_AUTO].cpu);
		putchar('\n');
	}
}

static void print_ioat(void)
{
	printf("ioatdma under the kernel's pmem driver: %s.\n"
	       "Measured: linux-nvdimm, 2017, DRAM in the role of pmem. The parameters are\n"
	       "fitted to all of it but the figures with *, which the model foretells.\n\n"
	       "%-18s | %-25s | %s\n%-18s | %7s %7s %9s | %7s %7s %9s\n", label,
	       "size x tasks", "MB/s", "per cent of a CPU", "", "is", "model", "error", "is",
	       "model", "error");
	for (unsigned i = 0; i < NR_IOAT_ROWS; i++)
		for (int reads = 1; reads >= 0; reads--)
			print_ioat_row(&ioat_rows[i], reads);
}

static void json_ioat_row(struct json_object *rows, const struct ioat_row *row, bool reads)
{
	for (enum model_mode by = MODEL_CPU; by < NR_MODEL_MODES; by++) {
		struct json_object *o = json_object_new_object();
		struct ioat_figures f;

		ioat_run(row, reads, by, &f);
		add_count(o, "size", row->len);
		add_count(o, "tasks", row->tasks);
		add_text(o, "operation", reads ? "read" : "write");
		add_text(o, "copies", mode_name[by]);
		add_number(o, "model_mb_s", f.rate);
		add_number(o, "model_cpu_percent", f.cpu);
		if (by != MODEL_AUTO) {
			add_number(o, "measured_mb_s", row->measured[reads][by].rate);
			add_number(o, "measured_cpu_percent", row->measured[reads][by].cpu);
			json_object_object_add(o, "cpu_was_fitted", json_object_new_boolean(
						       ioat_was_fitted(row, by, true)));
		}
		json_object_array_add(rows, o);
	}
}

static void json_ioat(void)
{
	struct json_object *out = json_object_new_object(), *rows = json_object_new_array();

	add_text(out, "kind", label);
	add_text(out, "device", "ioatdma");
	for (unsigned i = 0; i < NR_IOAT_ROWS; i++)
		for (int reads = 1; reads >= 0; reads--)
			json_ioat_row(rows, &ioat_rows[i], reads);
	json_object_object_add(out, "results", rows);
	print_and_put(out);
}

/* ---- the command -------------------------------------------------------------------- */

static void usage(FILE *f)
{
	fputs("usage: pmemfs-bench dsa-model [--json] [--set NAME=VALUE ...] [--informed]\n"
	      "       pmemfs-bench dsa-model [--json] --ioatdma\n"
	      "Compute, in virtual time, what copying by an Intel DSA would be worth: bandwidth,\n"
	      "latency and CPU time, by CPU, by device, and by the rule of the daemon. A model;\n"
	      "no device is used. Its parameters and their sources are printed with the table.\n\n"
	      "  --set NAME=VALUE  another value for a parameter\n"
	      "  --informed        the rule knows it, too; else it has the daemon's figures\n"
	      "  --ioatdma         an older device instead, beside what was measured of it\n"
	      "  --json            print JSON\n", f);
}

int bench_dsa_model(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'J' },
		{ "set", required_argument, NULL, 's' },
		{ "informed", no_argument, NULL, 'k' },
		{ "ioatdma", no_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	static struct model_table t;
	bool json = false, ioat = false, set = false, informed = false;
	struct model m;
	int opt;

	model_defaults(&m);
	optind = 0;
	while ((opt = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		json = json || opt == 'J';
		ioat = ioat || opt == 'i';
		informed = informed || opt == 'k';
		set = set || opt == 's' || opt == 'k';
		if (opt == 's' && !model_set(&m, optarg)) {
			log_err("%s: no such parameter, or not a value for it", optarg);
			return EXIT_USAGE;
		}
		if (opt == 'h' || opt == '?') {
			usage(opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
	}
	if (optind < argc || (ioat && set)) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (ioat) {
		json ? json_ioat() : print_ioat();
		return EXIT_OK;
	}
	if (informed)
		model_inform(&m);
	model_fill(&m, &t);
	json ? json_table(&m, &t) : print_table(&m, &t);
	return EXIT_OK;
}
