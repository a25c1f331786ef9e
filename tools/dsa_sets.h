/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_sets.h - the parameters of the model, where they come from, and its table
 */
#ifndef TOOLS_DSA_SETS_H
#define TOOLS_DSA_SETS_H

#include "tools/dsa_model.h"

/* ---- Intel DSA beside persistent memory ---------------------------------------- */

struct model_param {
	const char *name, *unit;
	size_t at;		/* a double of struct model */
	double scale;		/* of the unit: what is stored is value * scale */
	double min, max, value;
	const char *source;
};

extern const struct model_param model_params[];
extern const unsigned nr_model_params;

void model_defaults(struct model *m);
double model_get(const struct model *m, const struct model_param *p);
/* "name=value"; false: there is no such name, or the value is not for it. */
bool model_set(struct model *m, const char *text);
/* Let the rule know what has been set; before, it has the daemon's figures. */
void model_inform(struct model *m);

#define NR_MODEL_SIZES	11u	/* 4 KiB << i */
#define NR_MODEL_LOADS	7u	/* 1 << i in flight */

static inline size_t model_size(unsigned i)
{
	return (size_t)4096 << i;
}

struct model_cell { struct model_result by[NR_MODEL_MODES]; };
struct model_table { struct model_cell cell[NR_MODEL_SIZES][NR_MODEL_LOADS]; };

void model_fill(const struct model *m, struct model_table *t);

struct model_verdict {
	double worst;		/* auto's bandwidth, of the better of the two others' */
	unsigned size, load;	/* in that cell */
	double cpu;		/* auto's CPU per GiB, of cpu-only's, at 2 MiB x 16 */
};
void model_judge(const struct model_table *t, struct model_verdict *v);

/* ---- ioatdma under the kernel's pmem driver, as its developers measured it --------- */

struct ioat_figures { double rate, cpu; };	/* MB/s, per cent of a CPU */

struct ioat_row {
	size_t len;
	unsigned tasks, depth;
	/* [reads][by the CPU, by the device] */
	struct ioat_figures measured[2][2];
};

#define NR_IOAT_ROWS	4u
extern const struct ioat_row ioat_rows[NR_IOAT_ROWS];

/* The fitted set for a row; its medium is that of reads or of writes. */
void ioat_set(const struct ioat_row *row, bool reads, struct model *m);
void ioat_run(const struct ioat_row *row, bool reads, enum model_mode mode,
	      struct ioat_figures *out);
/* Was this figure used to fit? If not, the model foretells it. */
bool ioat_was_fitted(const struct ioat_row *row, enum model_mode mode, bool cpu);

#endif
