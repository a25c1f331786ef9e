/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softdsa_exec.c - what the software device does to memory
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "dsa/softdsa_int.h"

struct outcome {
	uint8_t status, result;
	uint32_t bytes;
	uint64_t fault;
};

/* ---- memory ------------------------------------------------------------------ */

#define PAGES		(SOFT_CHUNK / SOFT_PAGE + 1)

/* The kernel cuts a transfer short between elements only: one for each page. */
static unsigned by_pages(struct iovec *v, uint64_t at, size_t len)
{
	unsigned nr = 0;

	for (size_t n; len; at += n, len -= n) {
		n = min64(len, SOFT_PAGE - at % SOFT_PAGE);
		/* an address of another process, and no pointer of ours */
		v[nr++] = (struct iovec){ (void *)(uintptr_t)at, n };
	}
	return nr;
}

static pid_t whose(const struct softdsa *d)
{
	return d->conf.pid ? d->conf.pid : getpid();
}

static size_t got(ssize_t n)
{
	return n < 0 ? 0 : (size_t)n;
}

size_t soft_read(struct softdsa *d, void *to, uint64_t at, size_t len)
{
	struct iovec mine = { to, len }, v[PAGES];

	return got(process_vm_readv(whose(d), &mine, 1, v, by_pages(v, at, len), 0));
}

size_t soft_write(struct softdsa *d, uint64_t at, const void *from, size_t len)
{
	struct iovec mine = { NULL, len }, v[PAGES];

	memcpy(&mine.iov_base, &from, sizeof(from));	/* it is only read */
	return got(process_vm_writev(whose(d), &mine, 1, v, by_pages(v, at, len), 0));
}

/* ---- page tables ----------------------------------------------------------------- */

#define PRESENT		(1ull << 63)

void soft_pagemap_close(struct softdsa *d)
{
	if (d->pagemap >= 0)
		close(d->pagemap);
	d->pagemap = -1;
}

static bool open_pagemap(struct softdsa *d)
{
	char path[64];

	if (d->pagemap >= 0)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)whose(d));
	d->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	return d->pagemap >= 0;
}

/* Of len bytes, one chunk at the most: those before the first page without an entry. */
static size_t present(struct softdsa *d, uint64_t at, size_t len)
{
	uint64_t entry[PAGES], first = at / SOFT_PAGE, nr, i;

	if (!d->conf.present || !len || !open_pagemap(d))
		return len;
	nr = (at + len - 1) / SOFT_PAGE - first + 1;
	if (pread(d->pagemap, entry, nr * 8, (off_t)(first * 8)) != (ssize_t)(nr * 8))
		return len;
	for (i = 0; i < nr && entry[i] & PRESENT; i++)
		;
	return i ? min64(len, (first + i) * SOFT_PAGE - at) : 0;
}

/* What a device reads and writes. */
static size_t fetch(struct softdsa *d, void *to, uint64_t at, size_t len)
{
	return soft_read(d, to, at, present(d, at, len));
}

static size_t store(struct softdsa *d, uint64_t at, const void *from, size_t len)
{
	return soft_write(d, at, from, present(d, at, len));
}

uint64_t soft_sum(struct softdsa *d, struct soft_span s)
{
	uint64_t sum = 14695981039346656037ull, word;

	if (d->conf.lazy || d->conf.present)
		return 0;
	for (uint64_t done = 0, n; done < s.len; done += n) {
		n = soft_read(d, d->buf, s.at + done, min64(s.len - done, SOFT_CHUNK));
		if (!n)
			break;
		memset(d->buf + n, 0, align_up(n, 8) - n);
		for (size_t i = 0; i < n; i += 8) {
			memcpy(&word, d->buf + i, 8);
			sum = (sum ^ word) * 1099511628211ull;
			sum ^= sum >> 29;
		}
	}
	return sum;
}

struct soft_span soft_src(const struct dsa_hw_desc *d)
{
	switch (d->opcode) {
	case DSA_OPCODE_MEMMOVE:
	case DSA_OPCODE_COMPARE:
		return (struct soft_span){ d->src_addr, d->xfer_size };
	case DSA_OPCODE_BATCH:
		return (struct soft_span){ d->desc_list_addr, d->desc_count * SOFT_DESC };
	default:
		return (struct soft_span){ 0, 0 };
	}
}

struct soft_span soft_dst(const struct dsa_hw_desc *d)
{
	switch (d->opcode) {
	case DSA_OPCODE_MEMMOVE:
	case DSA_OPCODE_MEMFILL:
	case DSA_OPCODE_COMPARE:		/* only looked at, but by this name */
	case DSA_OPCODE_CFLUSH:
		return (struct soft_span){ d->dst_addr, d->xfer_size };
	default:
		return (struct soft_span){ 0, 0 };
	}
}

/* ---- records ----------------------------------------------------------------- */

/* Z1 */
static void record(struct softdsa *d, const struct dsa_hw_desc *desc, struct outcome o)
{
	struct dsa_completion_record r;
	uint8_t status = o.status;
	uint64_t at = desc->completion_addr;

	if (!(desc->flags & IDXD_OP_FLAG_CRAV))
		return;
	if (status == DSA_COMP_SUCCESS && !(desc->flags & IDXD_OP_FLAG_RCR))
		return;
	memset(&r, 0, sizeof(r));
	r.result = o.result;
	r.bytes_completed = o.bytes;
	r.fault_addr = o.fault;
	if (soft_write(d, at, &r, sizeof(r)) != sizeof(r) || soft_write(d, at, &status, 1) != 1)
		softdsa_complain(d, "the record at %#llx cannot be written",
				 (unsigned long long)at);
}

static void count(struct softdsa *d, const struct outcome *o)
{
	uint8_t code = o->status & DSA_COMP_STATUS_MASK;

	if (code == DSA_COMP_PAGE_FAULT_NOBOF || code == DSA_COMP_BATCH_PAGE_FAULT)
		d->stats.faults++;
	else if (code != DSA_COMP_SUCCESS && code != DSA_COMP_SUCCESS_PRED)
		d->stats.errors++;
}

/* ---- moving ------------------------------------------------------------------- */

/* Z2 */
static void spoil(struct softdsa *d, uint64_t at, uint64_t len)
{
	memset(d->buf, 0xd5, min64(len, SOFT_CHUNK));
	for (uint64_t n; len; at += n, len -= n) {
		n = soft_write(d, at, d->buf, min64(len, SOFT_CHUNK));
		if (!n)
			return;
	}
}

static void fault(struct outcome *o, bool write, uint64_t bytes, uint64_t addr)
{
	o->status = DSA_COMP_PAGE_FAULT_NOBOF | (write ? DSA_COMP_STATUS_WRITE : 0);
	o->bytes = (uint32_t)bytes;
	o->fault = addr;
}

/* Bytes [from, to) of it; false: a page was not there. */
static bool move(struct softdsa *d, const struct dsa_hw_desc *desc, uint64_t from, uint64_t to,
		 struct outcome *o)
{
	for (uint64_t n, r, w; from < to; from += n) {
		n = min64(to - from, SOFT_CHUNK);
		r = fetch(d, d->buf, desc->src_addr + from, n);
		w = r ? store(d, desc->dst_addr + from, d->buf, r) : 0;
		d->stats.bytes += w;
		if (w < n) {
			fault(o, w < r, from + w, (w < r ? desc->dst_addr : desc->src_addr) +
			      from + w);
			return false;
		}
	}
	return true;
}

/* A fault of the script: `at` bytes are done, at the front or (backward) the back. */
static void move_faulted(struct softdsa *d, const struct dsa_hw_desc *desc,
			 const struct soft_rule *r, struct outcome *o)
{
	uint64_t len = desc->xfer_size, at = min64(r->at, len - 1);
	uint64_t from = r->backward ? len - at : 0, end = r->backward ? len : at;

	if (!move(d, desc, from, end, o))
		return;
	spoil(d, desc->dst_addr + (r->backward ? 0 : at), len - at);
	fault(o, r->write, at, (r->write ? desc->dst_addr : desc->src_addr) +
	      (r->backward ? len - at - 1 : at));
	o->result = r->backward;
}

static void memmove_op(struct softdsa *d, const struct dsa_hw_desc *desc,
		       const struct soft_rule *r, struct outcome *o)
{
	d->stats.moves++;
	d->stats.readbacks += (desc->flags & IDXD_OP_FLAG_DRDBK) != 0;
	if (r && r->act == ACT_FAULT)
		move_faulted(d, desc, r, o);
	else
		move(d, desc, 0, desc->xfer_size, o);
}

static void fill_op(struct softdsa *d, const struct dsa_hw_desc *desc, struct outcome *o)
{
	uint64_t n, w;

	for (size_t i = 0; i < SOFT_CHUNK; i++)
		d->buf[i] = (uint8_t)(desc->pattern >> i % 8 * 8);
	for (uint64_t done = 0; done < desc->xfer_size; done += n) {
		n = min64(desc->xfer_size - done, SOFT_CHUNK);
		w = store(d, desc->dst_addr + done, d->buf, n);
		if (w < n) {
			fault(o, true, done + w, desc->dst_addr + done + w);
			return;
		}
	}
}

static void compare_op(struct softdsa *d, const struct dsa_hw_desc *desc, struct outcome *o)
{
	uint64_t n, a, b, i;

	for (uint64_t done = 0; done < desc->xfer_size; done += n) {
		n = min64(desc->xfer_size - done, SOFT_CHUNK);
		a = fetch(d, d->buf, desc->src_addr + done, n);
		b = fetch(d, d->other, desc->src2_addr + done, n);
		if (a < n || b < n) {
			i = min64(a, b);
			fault(o, false, done + i, (a <= b ? desc->src_addr : desc->src2_addr) +
			      done + i);
			return;
		}
		for (i = 0; i < n && d->buf[i] == d->other[i]; i++)
			;
		if (i < n) {
			o->result = 1;
			o->bytes = (uint32_t)(done + i);
			return;
		}
	}
}

/* ---- operations ----------------------------------------------------------------- */

/* One that is no batch. Returns its status. */
static uint8_t run(struct softdsa *d, unsigned wq, struct soft_op *op, bool child, bool dropped)
{
	struct outcome o = { .status = DSA_COMP_SUCCESS };
	const struct dsa_hw_desc *desc = &op->d;
	const struct soft_rule *r = dropped ? NULL : soft_at_execute(&d->script, wq, desc);
	uint8_t wrong = soft_judge(d, wq, desc, child);

	soft_judge_sums(d, op);
	if (wrong) {
		o.status = wrong;
	} else if (r && r->act == ACT_STATUS) {
		if (desc->opcode == DSA_OPCODE_MEMMOVE)
			spoil(d, desc->dst_addr, desc->xfer_size);
		o.status = (uint8_t)r->code;
	} else if (desc->opcode == DSA_OPCODE_MEMMOVE) {
		memmove_op(d, desc, r, &o);
	} else if (desc->opcode == DSA_OPCODE_MEMFILL) {
		fill_op(d, desc, &o);
	} else if (desc->opcode == DSA_OPCODE_COMPARE) {
		compare_op(d, desc, &o);
	}
	if (dropped)
		return o.status;
	count(d, &o);
	record(d, desc, o);
	return o.status;
}

static bool failed(uint8_t status)
{
	return status != DSA_COMP_SUCCESS && status != DSA_COMP_SUCCESS_PRED;
}

/* The list as it is now: that is what a device reads. */
static bool children(struct softdsa *d, struct soft_entry *e)
{
	struct dsa_hw_desc now;

	for (unsigned i = 0; i < e->nr_child; i++) {
		if (soft_read(d, &now, e->op.d.desc_list_addr + i * SOFT_DESC, SOFT_DESC) !=
		    SOFT_DESC)
			return false;
		if (memcmp(&now, &e->child[i].d, SOFT_DESC))
			softdsa_complain(d, "child %u was changed while its batch was in flight",
					 i);
		e->child[i].d = now;
	}
	return true;
}

/* Children [0, stop), one after the other; returns how many were carried out. */
static unsigned run_children(struct softdsa *d, struct soft_entry *e, unsigned stop, bool turned,
			     bool dropped, bool *bad)
{
	for (unsigned i = 0; i < stop; i++) {
		struct soft_op *op = &e->child[turned ? stop - 1 - i : i];

		if (!turned && *bad && op->d.flags & IDXD_OP_FLAG_FENCE)
			return i;	/* what is behind a failure's fence is not done */
		d->stats.children++;
		*bad |= failed(run(d, e->wq, op, true, dropped));
	}
	return stop;
}

static void run_batch(struct softdsa *d, struct soft_entry *e, bool dropped)
{
	const struct soft_rule *r = dropped ? NULL :
		soft_at_execute(&d->script, e->wq, &e->op.d);
	struct outcome o = { .status = DSA_COMP_SUCCESS };
	bool turned = d->script.window > 1, bad = false;
	uint8_t wrong = soft_judge(d, e->wq, &e->op.d, false);
	unsigned stop = e->nr_child;

	if (wrong || (r && r->act == ACT_STATUS)) {
		o.status = wrong ? wrong : (uint8_t)r->code;
		stop = 0;
	} else if (!children(d, e)) {
		o.status = DSA_COMP_BATCH_PAGE_FAULT;
		o.fault = e->op.d.desc_list_addr;
		stop = 0;
	} else if (r && r->act == ACT_LIST_FAULT) {
		stop = (unsigned)min64(r->at, e->nr_child - 1);
		o.status = DSA_COMP_BATCH_PAGE_FAULT;
		o.fault = e->op.d.desc_list_addr + stop * SOFT_DESC;
		turned = false;
	}
	o.bytes = run_children(d, e, stop, turned, dropped, &bad);
	d->stats.batches++;
	if (o.status == DSA_COMP_SUCCESS && bad)
		o.status = DSA_COMP_BATCH_FAIL;
	if (dropped)
		return;
	count(d, &o);
	record(d, &e->op.d, o);
}

void soft_execute(struct softdsa *d, struct soft_entry *e, bool dropped)
{
	d->stats.executed++;
	d->stats.never += dropped;
	if (e->nr_child)
		run_batch(d, e, dropped);
	else
		run(d, e->wq, &e->op, false, dropped);
}
