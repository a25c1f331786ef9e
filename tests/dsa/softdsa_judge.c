/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softdsa_judge.c - what a user of the device must not do
 *
 * Hardware forgives some of it on some days. Here it is told (Z4).
 */
#include <stdarg.h>
#include <string.h>

#include "base/bytes.h"
#include "dsa/softdsa_int.h"

void softdsa_complain(struct softdsa *d, const char *fmt, ...)
{
	char line[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (!d->violations++)
		memcpy(d->first, line, sizeof(line));
	if (d->violations <= 20)
		fprintf(stderr, "softdsa: %s\n", line);
}

unsigned softdsa_violations(const struct softdsa *d)
{
	return d->violations;
}

const char *softdsa_first(const struct softdsa *d)
{
	return d->first;
}

/* ---- a descriptor by itself --------------------------------------------------- */

#define FLAGS_ALWAYS	(IDXD_OP_FLAG_CRAV | IDXD_OP_FLAG_RCR)

/* Flags that an operation may have; hardware rejects others. */
static uint32_t flags_of(const struct softdsa *d, unsigned wq, const struct dsa_hw_desc *desc,
			 bool child)
{
	uint32_t flags = FLAGS_ALWAYS;

	if (child)
		flags |= IDXD_OP_FLAG_FENCE;
	switch (desc->opcode) {
	case DSA_OPCODE_MEMMOVE:
	case DSA_OPCODE_MEMFILL:
		flags |= IDXD_OP_FLAG_CC | IDXD_OP_FLAG_STORD;
		if (d->conf.readback)
			flags |= IDXD_OP_FLAG_DRDBK;
		if (d->conf.wq[wq].block_on_fault)
			flags |= IDXD_OP_FLAG_BOF;
		return flags;
	case DSA_OPCODE_CFLUSH:
		return flags | IDXD_OP_FLAG_CC;
	default:
		return flags;
	}
}

static bool known_op(unsigned op)
{
	return op <= DSA_OPCODE_COMPARE || op == DSA_OPCODE_CFLUSH;
}

static uint8_t wrong(struct softdsa *d, const struct dsa_hw_desc *desc, uint8_t status,
		     const char *what)
{
	softdsa_complain(d, "opcode %#x, flags %#x, size %u: %s", desc->opcode, desc->flags,
			 desc->xfer_size, what);
	return status;
}

/* What is zero in every operation that we know. */
static bool reserved_used(const struct dsa_hw_desc *desc)
{
	return desc->rsvd || desc->rsvd1 || desc->int_handle ||
	       !all_zero(desc->op_specific, sizeof(desc->op_specific));
}

static uint8_t judge_size(struct softdsa *d, unsigned wq, const struct dsa_hw_desc *desc)
{
	const struct softdsa_wq *q = &d->conf.wq[wq];

	if (desc->opcode == DSA_OPCODE_BATCH) {
		if (desc->desc_count < 2 || desc->desc_count > q->max_batch)
			return wrong(d, desc, DSA_COMP_DESC_CNT_ERANGE, "size of the batch");
		if (desc->desc_list_addr % SOFT_DESC)
			return wrong(d, desc, DSA_COMP_DESCLIST_ALIGN, "alignment of the list");
		return 0;
	}
	if (desc->opcode == DSA_OPCODE_NOOP || desc->opcode == DSA_OPCODE_DRAIN)
		return 0;
	if (!desc->xfer_size || desc->xfer_size > q->max_xfer)
		return wrong(d, desc, DSA_COMP_XFER_ERANGE, "size of the transfer");
	return 0;
}

static uint8_t judge_record(struct softdsa *d, const struct dsa_hw_desc *desc, bool child)
{
	if (!(desc->flags & IDXD_OP_FLAG_CRAV))
		return child ? 0 : wrong(d, desc, DSA_COMP_INVALID_FLAGS, "no record");
	if (desc->completion_addr % SOFT_RECORD || !desc->completion_addr)
		return wrong(d, desc, DSA_COMP_CRA_ALIGN, "alignment of the record");
	return 0;
}

static bool meet(struct soft_span a, struct soft_span b)
{
	return a.len && b.len && a.at < b.at + b.len && b.at < a.at + a.len;
}

uint8_t soft_judge(struct softdsa *d, unsigned wq, const struct dsa_hw_desc *desc, bool child)
{
	uint8_t status;

	if (desc->priv || desc->pasid)
		return wrong(d, desc, DSA_COMP_PRIV_BAD, "privilege or PASID set by a user");
	if (!known_op(desc->opcode) || (child && desc->opcode == DSA_OPCODE_BATCH))
		return wrong(d, desc, DSA_COMP_BAD_OPCODE, "opcode");
	if (desc->flags & ~flags_of(d, wq, desc, child))
		return wrong(d, desc, DSA_COMP_INVALID_FLAGS, "flags");
	if (reserved_used(desc))
		return wrong(d, desc, DSA_COMP_NOZERO_RESERVE, "a reserved field is not 0");
	status = judge_record(d, desc, child);
	if (!status)
		status = judge_size(d, wq, desc);
	if (!status && desc->opcode == DSA_OPCODE_MEMMOVE &&
	    meet(soft_src(desc), soft_dst(desc)))
		status = wrong(d, desc, DSA_COMP_OVERLAP_BUFFERS, "source meets destination");
	return status;
}

/* ---- beside others ------------------------------------------------------------- */

static struct soft_span record_of(const struct dsa_hw_desc *desc)
{
	bool is = desc->flags & IDXD_OP_FLAG_CRAV;

	return (struct soft_span){ desc->completion_addr, is ? SOFT_RECORD : 0 };
}

/* What one of them writes the other must not use. */
static const char *clash(const struct dsa_hw_desc *a, const struct dsa_hw_desc *b)
{
	if (meet(record_of(a), record_of(b)))
		return "the same record";
	if (meet(soft_dst(a), soft_dst(b)))
		return "the same destination";
	if (meet(soft_dst(a), soft_src(b)) || meet(soft_src(a), soft_dst(b)))
		return "one's source is the other's destination";
	if (meet(record_of(a), soft_src(b)) || meet(record_of(a), soft_dst(b)) ||
	    meet(soft_src(a), record_of(b)) || meet(soft_dst(a), record_of(b)))
		return "a record among the bytes";
	return NULL;
}

static const struct dsa_hw_desc *part(const struct soft_entry *e, unsigned i)
{
	return i ? &e->child[i - 1].d : &e->op.d;
}

static void judge_pair(struct softdsa *d, const struct dsa_hw_desc *a,
		       const struct dsa_hw_desc *b, const char *where)
{
	const char *what = clash(a, b);

	if (what)
		softdsa_complain(d, "two operations %s use %s", where, what);
}

static void judge_status(struct softdsa *d, const struct dsa_hw_desc *desc)
{
	uint8_t status = 0;

	if (!(desc->flags & IDXD_OP_FLAG_CRAV))
		return;
	if (soft_read(d, &status, desc->completion_addr, 1) != 1)
		softdsa_complain(d, "the record at %#llx cannot be read",
				 (unsigned long long)desc->completion_addr);
	if (status)
		softdsa_complain(d, "submitted with status %#x in the record", status);
}

void soft_judge_entry(struct softdsa *d, const struct soft_entry *e)
{
	for (unsigned i = 0; i <= e->nr_child; i++) {
		judge_status(d, part(e, i));
		for (unsigned k = 0; k < i; k++)
			judge_pair(d, part(e, i), part(e, k), "of a batch");
		for (unsigned o = 0; o < d->nr; o++)
			for (unsigned k = 0; k <= d->entry[o].nr_child; k++)
				judge_pair(d, part(e, i), part(&d->entry[o], k), "in flight");
	}
}

void soft_judge_sums(struct softdsa *d, const struct soft_op *op)
{
	if (soft_sum(d, soft_src(&op->d)) != op->src_sum)
		softdsa_complain(d, "the source of %u bytes was changed in flight",
				 op->d.xfer_size);
	if (soft_sum(d, soft_dst(&op->d)) != op->dst_sum)
		softdsa_complain(d, "the destination of %u bytes was changed in flight",
				 op->d.xfer_size);
}

bool softdsa_holds(struct softdsa *d, const void *p, size_t len)
{
	struct soft_span s = { (uintptr_t)p, len };
	bool held = false;

	pthread_mutex_lock(&d->lock);
	for (unsigned o = 0; o < d->nr; o++)
		for (unsigned k = 0; k <= d->entry[o].nr_child; k++) {
			const struct dsa_hw_desc *desc = part(&d->entry[o], k);

			held |= meet(s, soft_src(desc)) || meet(s, soft_dst(desc)) ||
				meet(s, record_of(desc));
		}
	pthread_mutex_unlock(&d->lock);
	return held;
}

/* ---- telling ---------------------------------------------------------------------- */

void softdsa_stats(struct softdsa *d, struct softdsa_stats *out)
{
	pthread_mutex_lock(&d->lock);
	*out = d->stats;
	pthread_mutex_unlock(&d->lock);
}

static void print_stats(const struct softdsa_stats *s, unsigned violations, FILE *out)
{
	const struct { const char *name; uint64_t n; } t[] = {
		{ "submitted", s->submitted }, { "executed", s->executed }, { "moves", s->moves },
		{ "bytes", s->bytes }, { "readbacks", s->readbacks }, { "batches", s->batches },
		{ "children", s->children }, { "faults", s->faults }, { "errors", s->errors },
		{ "full", s->full }, { "lost", s->lost }, { "never", s->never },
		{ "queued_max", s->queued_max }, { "violations", violations },
	};

	fprintf(out, "softdsa:");
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		fprintf(out, " %s=%llu", t[i].name, (unsigned long long)t[i].n);
	fprintf(out, "\n");
}

void softdsa_print(struct softdsa *d, FILE *out)
{
	struct softdsa_stats s;

	softdsa_stats(d, &s);
	print_stats(&s, d->violations, out);
	if (d->violations)
		fprintf(out, "softdsa: first: %s\n", d->first);
	fflush(out);
}
